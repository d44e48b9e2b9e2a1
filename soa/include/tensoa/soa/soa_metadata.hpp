// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensoa/core/tensor_view.hpp"
#include "tensoa/soa/records.hpp"

/// @file
/// Which columns make which tensor.

namespace tensoa {

/// How the columns of a block become the dimensions of its tensor.
enum class BlockShape : std::uint8_t {
  kRows,     ///< [n, k, …]: one row of the tensor is one row of the collection
  kColumns,  ///< [k, n]: one row of the tensor is one column of the collection, plain columns only
};

/// One named tensor over equally spaced columns of one collection.
struct BoundBlock {
  std::string name;
  BlockShape shape = BlockShape::kRows;
  std::size_t collection = 0;            ///< position of the layout in the SoAMetadata
  std::vector<std::uint32_t> fields;     ///< the columns, as positions in the layout
  std::vector<std::string> field_names;  ///< for messages
  TensorView tensor;
};

/// The strided tensor over columns of one kind and dtype that lie at equal distances. O(columns),
/// copies nothing.
///
/// | columns | shape | strides in elements (s: distance of columns, P: pitch of planes) |
/// | --- | --- | --- |
/// | k plain | [n, k] (kColumns: [k, n]) | (1, s) (kColumns: (s, 1)) |
/// | k scalars | [n, k] | (0, s): broadcast over the rows |
/// | 1 vector of R; k vectors | [n, R]; [n, k, R] | (1, P); (1, s, P) |
/// | 1 matrix R x C; k matrices | [n, R, C]; [n, k, R, C] | (1, P, R P); (1, s, P, R P) |
///
/// @param n rows of the tensor, at most the capacity of the columns
/// @throws BindingError naming `block` and its columns: kinds, dtypes or shapes differ, the
/// distances are not equal, n is beyond the capacity, or a data pointer is not aligned to its
/// element size.
TensorView bind_columns(std::span<const ColumnRecord> columns, std::size_t n,
                        const BoundBlock& block);

namespace detail {

[[noreturn]] void throw_impossible_rows(const std::string& rows);

template <std::integral Rows>
std::size_t checked_rows(Rows rows) {
  if (!std::in_range<std::size_t>(rows)) throw_impossible_rows(std::to_string(rows));
  return static_cast<std::size_t>(rows);
}

/// Binds `columns` and appends the block. @throws BindingError, also for a name that is there
/// already
void append_block(std::vector<BoundBlock>& blocks, BoundBlock block,
                  std::span<const ColumnRecord> columns, std::size_t n);

}  // namespace detail

/// The named blocks over one or more collections, each with its own number of rows; the inputs or
/// the outputs of a model.
///
///     SoAMetadata<Hit, Edge> inputs(n_hits, n_edges);
///     inputs.append_block("x", hits.x(), hits.y(), hits.z());  // [n_hits, 3]
///     inputs.append_block(BlockShape::kColumns, "edge_index",
///                         edges.source(), edges.target());     // [2, n_edges]
///
/// The order of the blocks is the order of the model's arguments. Only addresses are kept, no data.
/// *Lifetime*: the collections must outlive the metadata and all work that uses it.
template <template <template <class> class> class... Layouts>
class SoAMetadata {
 public:
  /// @param sizes rows of each collection, in the order of the layouts
  /// @throws BindingError for a negative number
  template <std::integral... Sizes>
    requires(sizeof...(Sizes) == sizeof...(Layouts))
  explicit SoAMetadata(Sizes... sizes) : sizes_{detail::checked_rows(sizes)...} {}

  /// Adds a tensor of shape [n, k] over k columns of one layout (bind_columns has all shapes).
  /// @throws BindingError, also for a name that is there already
  template <template <template <class> class> class Layout, std::same_as<Record<Layout>>... More>
  void append_block(std::string_view name, const Record<Layout>& first, const More&... more) {
    append_block(BlockShape::kRows, name, first, more...);
  }

  /// The same with a choice of shape.
  template <template <template <class> class> class Layout, std::same_as<Record<Layout>>... More>
  void append_block(BlockShape shape, std::string_view name, const Record<Layout>& first,
                    const More&... more) {
    static_assert(
        (is_same_layout<Layout, Layouts> || ...),
        "append_block: the column belongs to a layout that is not one of this SoAMetadata's");
    const ColumnRecord columns[] = {first.column, more.column...};
    constexpr std::size_t kCollection = position_of<Layout>();
    BoundBlock block{std::string(name), shape, kCollection, {}, {}, {}};
    for (const ColumnRecord& column : columns) {
      block.fields.push_back(column.field);
      block.field_names.emplace_back(kFieldNames<Layout>[column.field]);
    }
    detail::append_block(blocks_, std::move(block), columns, sizes_[kCollection]);
  }

  std::span<const BoundBlock> blocks() const noexcept { return blocks_; }

 private:
  template <template <template <class> class> class A, template <template <class> class> class B>
  static constexpr bool is_same_layout = std::is_same_v<A<detail::Pointer>, B<detail::Pointer>>;

  template <template <template <class> class> class Layout>
  static constexpr std::size_t position_of() {
    constexpr std::array<bool, sizeof...(Layouts)> kIs{is_same_layout<Layout, Layouts>...};
    std::size_t position = 0;
    while (!kIs[position]) ++position;
    return position;
  }

  std::array<std::size_t, sizeof...(Layouts)> sizes_;
  std::vector<BoundBlock> blocks_;
};

}  // namespace tensoa
