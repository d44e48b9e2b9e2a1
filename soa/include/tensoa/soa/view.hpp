// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "tensoa/core/lease.hpp"
#include "tensoa/soa/columns.hpp"
#include "tensoa/soa/records.hpp"

/// @file
/// A view is the user's layout as columns, plus the geometry. Trivially copyable: kernels take it
/// by value.
///
/// The columns of a collection's view stay as the collection made them: plans rely on their distances.
/// A view of columns of one's own choice is made by foreign_view.
///
/// *Lifetime*: a view borrows the memory of a collection (or of the caller) and must not outlive
/// it.
/// *Threads*: a view is a value; reading and writing through it is as safe as through the pointers
/// it holds.

namespace tensoa {
namespace detail {

constexpr bool is_reserved_name(std::string_view name) {
  constexpr std::string_view kReserved[] = {"size",    "capacity", "device",
                                            "columns", "records",  "capacity_",
                                            "size_",   "device_",  "lease_"};
  return std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved);
}

// A free function, because a name in the scope of the view could shadow a column of the user's.
template <template <template <class> class> class Layout, bool kConst, class Columns>
constexpr Records<Layout> make_records(const Columns& columns, std::size_t size,
                                       std::size_t capacity, Device device, Lease lease) noexcept {
  std::uint32_t field = 0;
  return map_fields<RecordPolicy<Layout>::template Type>(columns, [&](const auto& column) {
    using Value = std::remove_const_t<std::remove_pointer_t<decltype(column.data())>>;
    ColumnRecord record{const_cast<Value*>(column.data()),
                        0,
                        size,
                        capacity,
                        kFieldInfo<Layout>[field],
                        device,
                        field,
                        kConst,
                        lease};
    if constexpr (requires { column.pitch_; }) record.pitch = column.pitch_;
    ++field;
    return Record<Layout>{record};
  });
}

}  // namespace detail

/// What View and ConstView have in common; write code for both as a template over its arguments.
template <class Columns, template <template <class> class> class Layout, bool kConst>
struct BasicView : Columns {
  static_assert(std::none_of(kMemberNames<Layout>.begin(), kMemberNames<Layout>.end(),
                             detail::is_reserved_name),
                "a layout's field may not be called size, capacity, device, columns or records, "
                "which are functions of its view, nor size_, capacity_, device_ or lease_, which "
                "are its data");

  std::size_t size_;
  std::size_t capacity_;
  Device device_;
  Lease lease_ = {};  ///< of the collection; live for ever over memory that is not the library's

  /// Rows that the view exposes.
  constexpr std::size_t size() const noexcept { return size_; }

  /// Rows that the memory has room for; size() <= capacity().
  constexpr std::size_t capacity() const noexcept { return capacity_; }

  constexpr Device device() const noexcept { return device_; }

  /// The columns alone.
  constexpr const Columns& columns() const noexcept { return *this; }

  /// Address, pitch, kind, dtype and device of every column: the arguments of append_block.
  constexpr Records<Layout> records() const noexcept {
    return detail::make_records<Layout, kConst>(columns(), size_, capacity_, device_, lease_);
  }
};

/// The columns of a collection, writable: `v.x[i]`, `row(v, i)`, `v.size()`, `v.records()`.
template <template <template <class> class> class Layout>
using View = BasicView<Layout<Column>, Layout, false>;

/// The same over const data. A model that is not proven to leave its inputs alone gets a copy of
/// it.
template <template <template <class> class> class Layout>
using ConstView = BasicView<Layout<ConstColumn>, Layout, true>;

/// The records of all fields of a view, in declaration order, for code that does not need the layout in their types.
template <class Columns, template <template <class> class> class Layout, bool kConst>
constexpr std::array<ColumnRecord, kFieldCount<Layout>> column_records(
    const BasicView<Columns, Layout, kConst>& view) noexcept {
  std::array<ColumnRecord, kFieldCount<Layout>> columns{};
  detail::map_fields<detail::RecordPolicy<Layout>::template Type>(
      view.records(), [&columns](const Record<Layout>& record) {
        columns[record.column.field] = record.column;
        return record;
      });
  return columns;
}

}  // namespace tensoa
