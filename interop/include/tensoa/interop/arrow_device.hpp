// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tensoa/core/lease.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/soa/foreign_view.hpp"

struct ArrowDeviceArray;
struct ArrowSchema;

/// @file
/// Collections to and from Arrow (pyarrow, pandas, Polars, DuckDB, cuDF) in one process, without a
/// copy, by the Arrow C device data interface. On the host its first member is the ArrowArray of the
/// older C data interface.
///
/// | in the layout | in Arrow |
/// | --- | --- |
/// | n rows | one struct array (a record batch) of length n, without nulls |
/// | plain column `x` | child "x": int8 to int64, uint8, halffloat, float, double |
/// | vector `u` | children "u.0", "u.1", …: Arrow's lists are row by row, planes are not |
/// | matrix `m` | children "m.0.0", "m.1.0", …: "m.row.column", in the order of the planes |
/// | `x` of a `Sub` member `end` | child "end.x" |
/// | scalars | a second struct array, of one row: Arrow has no broadcast |
/// | bool | extension type "arrow.bool8" over int8: Arrow's own bools are single bits |
/// | bfloat16 | extension type "tensoa.bfloat16" over uint16: Arrow has none |
///
/// Ownership: as Arrow has it. Each array and each child that is moved out of it keeps the owner
/// alive until it is released. Arrow data is immutable: importers get const views, and what the
/// owner of an exported collection writes later, importers see.

namespace tensoa::interop {

/// The two structures of one exchange. The caller's own memory; for an import as the exporter filled
/// them, for an export empty.
struct ArrowBatch {
  ArrowDeviceArray* array = nullptr;
  ArrowSchema* schema = nullptr;
};

namespace detail {

enum class ArrowPart : bool { kRows, kScalars };

void export_columns(std::span<const ColumnRecord> columns, std::span<const std::string_view> names,
                    std::size_t size, ArrowPart part, std::shared_ptr<const void> owner,
                    const Queue& producer, const ArrowBatch& out);

template <class Columns, template <template <class> class> class Layout, bool kConst>
void export_view(const BasicView<Columns, Layout, kConst>& view, ArrowPart part,
                 std::shared_ptr<const void> owner, const Queue& producer, const ArrowBatch& out) {
  export_columns(column_records(view), kFieldNames<Layout>, view.size(), part, std::move(owner),
                 producer, out);
}

struct ArrowColumns {
  std::size_t size;
  Device device;
  Lease lease;
  std::shared_ptr<const void> owner;
};

ArrowColumns import_columns(const Queue& consumer, const ArrowBatch& rows,
                            const ArrowBatch& scalars, std::span<const FieldInfo> fields,
                            std::span<const std::string_view> names,
                            std::span<ForeignColumn> places);

}  // namespace detail

/// The rows of a view or const view as a struct array, O(columns).
/// @param owner released with the last part of the array; an empty pointer promises that the memory
/// outlives all importers
/// @param producer the queue that writes the columns; of their device
/// @param out filled; what it held before is not released
/// *Stream order*: on CUDA `sync_event` is the end of all that `producer` has been given; importers
/// wait for it.
/// @throws DeviceError when `producer` belongs to another device; ConfigError without `out`; then
/// `out` is as before
template <class Columns, template <template <class> class> class Layout, bool kConst>
void to_arrow(const BasicView<Columns, Layout, kConst>& view, std::shared_ptr<const void> owner,
              const Queue& producer, const ArrowBatch& out) {
  detail::export_view(view, detail::ArrowPart::kRows, std::move(owner), producer, out);
}

/// The scalars of a view or const view as a struct array of one row; otherwise like to_arrow.
template <class Columns, template <template <class> class> class Layout, bool kConst>
void scalars_to_arrow(const BasicView<Columns, Layout, kConst>& view,
                      std::shared_ptr<const void> owner, const Queue& producer,
                      const ArrowBatch& out) {
  detail::export_view(view, detail::ArrowPart::kScalars, std::move(owner), producer, out);
}

/// Columns of another library.
/// *Lifetime*: the memory lives until the last copy of `owner` is gone, which may be handed on
/// (to_arrow and to_dlpack accept it); the view's lease ends with it. On CUDA let go only when the
/// work that you enqueued is done.
template <template <template <class> class> class Layout>
struct ImportedColumns {
  ConstView<Layout> view;
  std::shared_ptr<const void> owner;
};

/// The columns of `Layout` over a struct array, found by name in any order; other children are left
/// alone. Takes both batches over, also when it throws: they are released exactly once, and marked
/// as released in the caller's memory.
///
/// The planes of a vector or matrix must lie at equal distances, as a collection has them. A batch
/// without rows needs no memory.
/// @param consumer the queue that will use the columns; of their device
/// @param rows a batch as to_arrow makes it, or of another library; slices too
/// @param scalars needed when the layout has scalars: one row, as scalars_to_arrow makes it
/// *Stream order*: what `consumer` is given from now on starts after the exporter's `sync_event`.
/// @throws InputError naming the column: missing or twice, of another type, with nulls, dictionary
/// encoded, shorter than the batch, misaligned; ConfigError for a batch that is not there or
/// released; DeviceError when `consumer` belongs to another device
template <template <template <class> class> class Layout>
ImportedColumns<Layout> from_arrow(const Queue& consumer, const ArrowBatch& rows,
                                   const ArrowBatch& scalars = {}) {
  std::array<ForeignColumn, kFieldCount<Layout>> places;
  detail::ArrowColumns found = detail::import_columns(consumer, rows, scalars, kFieldInfo<Layout>,
                                                      kFieldNames<Layout>, places);
  return {tensoa::view_over(std::type_identity<ConstView<Layout>>{}, places, found.size,
                            found.device, found.lease),
          std::move(found.owner)};
}

}  // namespace tensoa::interop
