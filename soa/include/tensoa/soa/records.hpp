// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensoa/core/device.hpp"
#include "tensoa/core/lease.hpp"
#include "tensoa/soa/fields.hpp"

/// @file
/// Records: what is known of a column when it is bound to a model, with the layout it belongs to as
/// part of the type.

namespace tensoa {

/// One column, type-erased. A plain value; the data is not copied and must outlive it.
struct ColumnRecord {
  void* data;
  std::size_t pitch;     ///< elements from one plane to the next; 0 for plain columns and scalars
  std::size_t size;      ///< rows exposed by the view it came from
  std::size_t capacity;  ///< rows that the memory has room for
  FieldInfo info;
  Device device;
  std::uint32_t field;  ///< position among the layout's fields
  bool read_only;       ///< came from a const view
  Lease lease = {};     ///< of the collection
};

/// A ColumnRecord with its layout as a type, so that a column of another layout is a compile error in
/// append_block. `records.x()` returns the record itself.
template <template <template <class> class> class Layout>
struct Record {
  ColumnRecord column;

  constexpr const Record& operator()() const noexcept { return *this; }
};

namespace detail {

template <template <template <class> class> class Layout, class Field>
struct RecordOf {
  using Type = Record<Layout>;
};
template <template <template <class> class> class Layout>
struct RecordPolicy {
  template <class Field>
  using Type = typename RecordOf<Layout, Field>::Type;
};
template <template <template <class> class> class Layout,
          template <template <class> class> class Inner>
struct RecordOf<Layout, Sub<Inner>> {
  using Type = Inner<RecordPolicy<Layout>::template Type>;
};

}  // namespace detail

/// The records of a layout: one callable member for each field, with the field's name. Those of a
/// Sub belong to the whole layout: `records.origin.vertex()` is a Record<Hit>.
template <template <template <class> class> class Layout>
using Records = Layout<detail::RecordPolicy<Layout>::template Type>;

}  // namespace tensoa
