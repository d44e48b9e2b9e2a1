// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensoa/soa/bound_block.hpp"
#include "tensoa/soa/impl/soa_metadata.hpp"
#include "tensoa/soa/memory_plan.hpp"
#include "tensoa/soa/records.hpp"
#include "tensoa/soa/view.hpp"

/// @file
/// Which columns make which tensor.

namespace tensoa {

/// The named blocks over one or more collections, each with its own number of rows; the inputs or
/// the outputs of a model.
///
///     SoAMetadata<Hit, Edge> inputs(n_hits, n_edges);
///     inputs.append_block("x", hits.x(), hits.y(), hits.z());            // [n_hits, 3]
///     inputs.append_block(BlockShape::kColumns, "edge_index",
///                         edges.source(), edges.target());               // [2, n_edges]
///     inputs.append_block(Repack{DType::kF32}, "mixed",
///                         hits.z(), hits.layer());                       // [n_hits, 2], a copy
///
/// The order of the blocks is the order of the model's arguments, unless ModelMetadata requests
/// names. Only addresses are kept, no data.
/// *Lifetime*: the collections must outlive the metadata and all work that uses it; a call on
/// columns of a collection that is gone is a BindingError.
template <template <template <class> class> class... Layouts>
class SoAMetadata {
  static_assert(
      ((std::size_t{0} + ... + detail::kCountOf<Layouts, Layouts...>) == sizeof...(Layouts)),
      "SoAMetadata<…>: each layout stands there once; a second collection of a layout needs "
      "a separate layout (a Sub of the first)");

 public:
  /// @param sizes rows of each collection, in the order of the layouts
  /// @throws BindingError for a number below 0 or above 2^48
  template <std::integral... Sizes>
    requires(sizeof...(Sizes) == sizeof...(Layouts))
  explicit SoAMetadata(Sizes... sizes) : sizes_{detail::checked_rows(sizes)...} {}

  /// Adds a tensor of shape [n, k, …] over k equally spaced columns of one layout, kind and dtype;
  /// nothing is copied (`bind` in bound_block.hpp has all shapes).
  /// @throws BindingError, also for a name that is there already
  template <template <template <class> class> class Layout, std::same_as<Record<Layout>>... More>
  void append_block(std::string_view name, const Record<Layout>& first, const More&... more) {
    append(block_of<Layout>(name, BlockForm::kInPlace), nullptr, first, more...);
  }

  /// The same with a choice of shape.
  template <template <template <class> class> class Layout, std::same_as<Record<Layout>>... More>
  void append_block(BlockShape shape, std::string_view name, const Record<Layout>& first,
                    const More&... more) {
    BoundBlock block = block_of<Layout>(name, BlockForm::kInPlace);
    block.shape = shape;
    append(std::move(block), nullptr, first, more...);
  }

  /// Adds a packed copy [n, k, …] of any columns of one layout and shape, whatever their distances;
  /// of several dtypes where `repack` has the one of the model. Scalars may stand among plain
  /// columns. As an output: the model's tensor is taken apart into the columns.
  /// @throws BindingError, as above
  template <template <template <class> class> class Layout, std::same_as<Record<Layout>>... More>
  void append_block(Repack repack, std::string_view name, const Record<Layout>& first,
                    const More&... more) {
    BoundBlock block = block_of<Layout>(name, BlockForm::kRepacked);
    block.tensor.dtype = repack.dtype.value_or(first.column.info.dtype);
    block.converts = repack.dtype.has_value();
    append(std::move(block), nullptr, first, more...);
  }

  /// Anything else than records of one layout, which an ellipsis is the last to be chosen for.
  template <class Records = void>
  void append_block(std::string_view, ...) {
    static_assert(
        !std::is_void_v<Records>,
        "append_block takes records of one layout: auto hits = collection.view().records(); "
        "then append_block(name, hits.x(), hits.y())");
  }
  template <class Records = void>
  void append_block(BlockShape, std::string_view name, ...) {
    append_block<Records>(name);
  }
  template <class Records = void>
  void append_block(Repack, std::string_view name, ...) {
    append_block<Records>(name);
  }

  /// Adds ragged data as a dense tensor [n_groups, length, k, …], a copy: element [g, i] is row i of
  /// group g, zero where the group has no such row; of longer groups the first `length` rows.
  /// @param offsets column of n_groups + 1 int32 or int64 in a collection of n_groups rows: group g
  ///     is the rows [offsets[g], offsets[g + 1]) of the values' collection. (The last one lies behind
  ///     the rows: `copy` takes it along between collections of one capacity.) On the CPU they are
  ///     checked when the model runs; on a GPU they are held inside the collection.
  /// @param length rows of each group in the tensor
  /// @throws BindingError, as above; when the offsets are not integers, their collection has no
  ///     room for the last one, or the tensor would be larger than any memory
  template <template <template <class> class> class Groups,
            template <template <class> class> class Layout, std::integral Length,
            std::same_as<Record<Layout>>... More>
  void append_padded(std::string_view name, const Record<Groups>& offsets, Length length,
                     const Record<Layout>& first, const More&... more) {
    BoundBlock block = block_of<Layout>(name, BlockForm::kPadded);
    block.tensor.size_of_dim[1] = static_cast<std::int64_t>(detail::checked_rows(length));
    append(with_offsets(std::move(block), offsets), &offsets.column, first, more...);
  }

  /// Adds the mask of such a tensor: bool [n_groups, length], true where a row is there. Offsets and
  /// errors as above.
  template <template <template <class> class> class Groups, std::integral Length>
  void append_mask(std::string_view name, const Record<Groups>& offsets, Length length) {
    BoundBlock block = block_of<Groups>(name, BlockForm::kMask);
    block.tensor.size_of_dim[1] = static_cast<std::int64_t>(detail::checked_rows(length));
    append(with_offsets(std::move(block), offsets), &offsets.column);
  }

  /// Adds the group of each row of a collection of `Layout`: int64 [n], as graph libraries expect it
  /// ("batch" in PyTorch Geometric). Rows before the first group belong to -1, rows after the last
  /// to n_groups. Offsets and errors as above.
  template <template <template <class> class> class Layout,
            template <template <class> class> class Groups>
  void append_segments(std::string_view name, const Record<Groups>& offsets) {
    append(with_offsets(block_of<Layout>(name, BlockForm::kSegments), offsets), &offsets.column);
  }

  std::span<const BoundBlock> blocks() const noexcept { return blocks_; }

 private:
  template <template <template <class> class> class Layout>
  static constexpr std::size_t position_of() {
    static_assert(
        (detail::kIsSameLayout<Layout, Layouts> || ...),
        "append_block: the column belongs to a layout that is not one of this SoAMetadata's");
    constexpr std::array<bool, sizeof...(Layouts)> kIs{detail::kIsSameLayout<Layout, Layouts>...};
    std::size_t position = 0;
    while (position + 1 < kIs.size() && !kIs[position]) ++position;
    return position;
  }

  template <template <template <class> class> class Layout>
  static BoundBlock block_of(std::string_view name, BlockForm form) {
    BoundBlock block;
    block.name = name;
    block.form = form;
    block.collection = position_of<Layout>();
    return block;
  }

  template <template <template <class> class> class Groups>
  static BoundBlock with_offsets(BoundBlock block, const Record<Groups>& offsets) {
    block.offsets = detail::bound_column(offsets);
    block.offsets_collection = position_of<Groups>();
    return block;
  }

  template <template <template <class> class> class... Of>
  void append(BoundBlock block, const ColumnRecord* offsets, const Record<Of>&... records) {
    const std::array<ColumnRecord, sizeof...(Of)> columns{records.column...};
    (block.columns.push_back(detail::bound_column(records)), ...);
    const std::size_t rows = sizes_[block.collection];
    const std::size_t groups = sizes_[block.offsets_collection];
    tensoa::append_block(blocks_, std::move(block), columns, rows, offsets, groups);
  }

  friend struct detail::JoinedBlocks;

  template <template <template <class> class> class... Of>
  void take(const SoAMetadata<Of...>& other, std::size_t first) {
    for (BoundBlock block : other.blocks()) {
      detail::require_new_name(blocks_, block);
      block.collection += first;
      block.offsets_collection += first;
      blocks_.push_back(std::move(block));
    }
  }

  std::array<std::size_t, sizeof...(Layouts)> sizes_;
  std::vector<BoundBlock> blocks_;
};

/// The short form for one block, with the rows of the view that its columns come from:
///
///     bind("x", hits.x(), hits.y(), hits.z())
///     bind(BlockShape::kColumns, "edge_index", edges.source(), edges.target())
///
/// Several make one description, in their order:
///
///     bind(bind("x", hits.x(), hits.y(), hits.z()),
///          bind(BlockShape::kColumns, "edge_index", edges.source(), edges.target()),
///          bind("edge_attr", edges.dr(), edges.dphi()))
///
/// @throws BindingError, as append_block
template <
    std::convertible_to<std::string_view> Name,  // a better match than std::bind, of a std::string
    template <template <class> class> class Layout, std::same_as<Record<Layout>>... More>
SoAMetadata<Layout> bind(Name&& name, const Record<Layout>& first, const More&... more) {
  SoAMetadata<Layout> block(first.column.size);
  block.append_block(name, first, more...);
  return block;
}

/// The same for all columns of a view, in declaration order: `bind("x", hits.const_view())`.
template <std::convertible_to<std::string_view> Name, class Columns,
          template <template <class> class> class Layout, bool kConst>
SoAMetadata<Layout> bind(Name&& name, BasicView<Columns, Layout, kConst> view) {
  SoAMetadata<Layout> block(view.size());
  std::apply([&](const auto&... columns) { block.append_block(name, Record<Layout>{columns}...); },
             column_records(view));
  return block;
}

/// The same with a choice of shape, or a packed copy.
template <class How, template <template <class> class> class Layout,
          std::same_as<Record<Layout>>... More>
  requires(std::same_as<How, BlockShape> || std::same_as<How, Repack>)
SoAMetadata<Layout> bind(How how, std::string_view name, const Record<Layout>& first,
                         const More&... more) {
  SoAMetadata<Layout> block(first.column.size);
  block.append_block(how, name, first, more...);
  return block;
}

/// @throws BindingError for a name that is there twice, and for views of one layout with other numbers of rows
template <template <template <class> class> class... First,
          template <template <class> class> class Second, class... More>
auto bind(const SoAMetadata<First...>& first, const SoAMetadata<Second>& second,
          const More&... more) {
  if constexpr (sizeof...(More) == 0) {
    return detail::JoinedBlocks::of(first, second);
  } else {
    return bind(detail::JoinedBlocks::of(first, second), more...);
  }
}

}  // namespace tensoa
