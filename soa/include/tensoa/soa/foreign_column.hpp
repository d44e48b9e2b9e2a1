// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

#include "tensoa/soa/memory_plan.hpp"
#include "tensoa/soa/view.hpp"

/// @file
/// For code that makes views over the memory of another library, as interop/ does for tensors and Arrow arrays:
/// describe each column, check them together, make the view. foreign_view.hpp does all three for C++ types.

namespace tensoa {

/// Where one column lies in foreign memory. Counts are signed, so that a negative one is reported, not wrapped.
struct ForeignColumn {
  /// The source does not store their number.
  static constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

  void* data = nullptr;
  std::int64_t rows = kUnbounded;      ///< of each plane
  std::int64_t elements = kUnbounded;  ///< of all planes and the space between them
  std::int64_t pitch = 0;              ///< elements from one plane to the next
  std::int64_t inner_stride = 1;       ///< elements from one row to the next
  std::int64_t planes = -1;            ///< -1: not known
  std::int64_t element_rows = 0;       ///< of one element; 0: not known
  std::int64_t element_columns = 0;    ///< of one element; 0: not known
  bool row_major = false;
};

/// Checks columns against the fields of a layout: addresses, alignment, strides, sizes, overlap.
/// @param caller begins the messages
/// @param columns one for each field, in declaration order
/// @param n rows that each column must have
/// @throws BindingError that names the field
void check_foreign_columns(std::string_view caller, std::span<const ForeignColumn> columns,
                           std::span<const FieldInfo> fields,
                           std::span<const std::string_view> names, std::int64_t n);

namespace detail {

/// Where the columns of no rows lie; never written.
template <std::size_t kBytes>
alignas(kAlignment) inline constexpr std::array<std::byte, kBytes> kNoRows{};

/// Gives the columns of no rows the places of an empty collection.
template <template <template <class> class> class Layout, std::size_t kCount>
constexpr void place_no_rows(std::array<ForeignColumn, kCount>& columns) noexcept {
  constexpr MemoryPlan<Layout> kPlan(0);
  for (std::size_t field = 0; field < kCount; ++field) {
    const FieldInfo& info = kFieldInfo<Layout>[field];
    if (info.kind == ColumnKind::kScalar && columns[field].data != nullptr) continue;
    columns[field].data =
        const_cast<std::byte*>(kNoRows<kPlan.bytes>.data()) + kPlan.offset_of[field];
    columns[field].pitch = static_cast<std::int64_t>(pitch_of(info.element_size(), 0));
  }
}

}  // namespace detail

/// Returns a view over columns that were checked.
///
///     view_over(std::type_identity<ConstView<Hit>>{}, columns, n, device)
///
/// @param type View<Layout> or ConstView<Layout>
/// @param columns one for each field, in declaration order; of a view without rows they may be null
/// @param lease of the memory, where its owner ends one; a call on the view is refused then
/// *Lifetime*: the memory must outlive the view.
template <class Columns, template <template <class> class> class Layout, bool kConst>
constexpr BasicView<Columns, Layout, kConst> view_over(
    [[maybe_unused]] std::type_identity<BasicView<Columns, Layout, kConst>> type,
    std::array<ForeignColumn, kFieldCount<Layout>> columns, std::size_t rows, Device device,
    Lease lease = {}) {
  if (rows == 0) detail::place_no_rows<Layout>(columns);
  const ForeignColumn* field = columns.data();
  const auto place = [&field](auto column) {
    column.data_ = static_cast<decltype(column.data_)>(field->data);
    if constexpr (requires { column.pitch_; }) {
      column.pitch_ = static_cast<std::size_t>(field->pitch);
    }
    ++field;
    return column;
  };
  return {detail::map_columns(Columns{}, place), rows, rows, device, lease};
}

}  // namespace tensoa
