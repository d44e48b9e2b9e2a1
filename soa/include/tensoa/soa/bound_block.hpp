// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensoa/core/lease.hpp"
#include "tensoa/core/tensor_view.hpp"
#include "tensoa/soa/records.hpp"

/// @file
/// One named tensor over columns: what SoAMetadata makes, Plan rebinds and engines read.

namespace tensoa {

/// How the columns of a block become the dimensions of its tensor.
enum class BlockShape : std::uint8_t {
  kRows,     ///< [n, k, …]: one row of the tensor is one row of the collection
  kColumns,  ///< [k, n]: one row of the tensor is one column of the collection, plain columns only
};

/// How the elements of a block's tensor come from its columns.
enum class BlockForm : std::uint8_t {
  kInPlace,   ///< they are the columns: nothing is copied
  kRepacked,  ///< a packed copy of any columns, converted to one dtype (Repack)
  kPadded,    ///< [groups, length, k]: the rows of each group, filled up with zeros
  kMask,      ///< [groups, length] bool: which rows of a padded tensor are there
  kSegments,  ///< [rows] int64: the group that each row belongs to
};

/// Requests a packed copy instead of a view: of columns that are not equally spaced, of columns of
/// several dtypes, or of another dtype than the model wants. Inputs are gathered before the call,
/// outputs scattered after it; the CopyReport counts the bytes.
struct Repack {
  std::optional<DType> dtype = {};  ///< of the tensor; without one that of the columns
};

/// One column of a block: all that does not change from event to event.
struct BoundColumn {
  std::string name;
  std::uint32_t field;  ///< position in the layout
  std::uint32_t place;  ///< in bytes, where the column lies in a view of the layout
  std::uint32_t line;   ///< of its first plane in a collection without rows (MemoryPlan)
  FieldInfo info;
};

/// One named tensor over columns of one collection, or, for ragged forms, of two.
struct BoundBlock {
  std::string name;
  BlockShape shape = BlockShape::kRows;
  BlockForm form = BlockForm::kInPlace;
  std::size_t collection = 0;  ///< position of the layout in the SoAMetadata
  std::vector<BoundColumn> columns;
  bool is_evenly_spaced = false;  ///< in every collection of the layout, see BoundColumn::line
  bool converts = false;          ///< kRepacked: the tensor's dtype was requested

  /// The tensor that the model sees. In place: over the columns' memory. Other forms: its shape and
  /// dtype, row-major, without memory; the engine makes it from `sources`.
  TensorView tensor;

  /// kRepacked: each column alone, [n], [n, R] or [n, R, C]. kPadded: the rows [n, k], and the
  /// offsets. kMask, kSegments: the offsets. These are [groups + 1], int32 or int64, side by side.
  std::vector<TensorView> sources;

  /// Of kPadded, kMask and kSegments: group g is the rows [offsets[g], offsets[g + 1]).
  std::optional<BoundColumn> offsets;
  std::size_t offsets_collection = 0;

  Lease lease;          ///< of the collection
  Lease offsets_lease;  ///< of the collection of the offsets

  /// The tensors over memory of collections.
  std::span<const TensorView> memory() const noexcept {
    return form == BlockForm::kInPlace ? std::span(&tensor, 1) : std::span(sources);
  }

  /// The dimension of the tensor that counts rows (of padded forms: groups).
  std::size_t row_dimension() const noexcept { return shape == BlockShape::kColumns ? 1 : 0; }
};

/// `block "features" (columns x, y, z)`: for messages.
std::string to_string(const BoundBlock& block);

/// The records of all columns of a view, and their places in it: how a block is bound to another
/// event. A plain value; the view must outlive it.
struct ViewReference {
  const std::byte* columns;  ///< the view, as bytes; BoundColumn::place counts from here
  std::size_t size;
  std::size_t capacity;
  Device device;
  bool read_only;
  Lease lease;
};

/// Binds `block` to columns of other memory: addresses, pitches, number of rows and device. O(1) for
/// the view of a collection, whose distances follow from the layout; O(columns of the block) for
/// views over foreign memory. Allocates nothing.
///
/// In place, the tensor over columns of one kind and dtype that lie at equal distances is
///
/// | columns | shape | strides in elements (s: distance of columns, P: pitch of planes) |
/// | --- | --- | --- |
/// | k plain | [n, k] (kColumns: [k, n]) | (1, s) (kColumns: (s, 1)) |
/// | k scalars | [n, k] | (0, s): broadcast over the rows |
/// | 1 vector of R; k vectors | [n, R]; [n, k, R] | (1, P); (1, s, P) |
/// | 1 matrix R x C; k matrices | [n, R, C]; [n, k, R, C] | (1, P, R P); (1, s, P, R P) |
///
/// A repacked tensor has the same shape.
/// @param view of the block's collection, with the number of rows that the tensor shall have
/// @param offsets of the collection of the offsets, for the ragged forms; else not used
/// @throws BindingError naming the block and its columns: distances or pitches are not equal, there
/// are more rows than the memory has room for, memory is missing, gone, or not aligned to its
/// element size.
void bind(BoundBlock& block, const ViewReference& view, const ViewReference& offsets);

/// SoAMetadata::append_block for columns that are known at run time only: checks the kinds, dtypes and shapes of the
/// columns, binds the block and appends it.
/// @param columns the columns of the block; none for the forms that only have offsets
/// @param rows of the tensor; for kSegments the rows of the collection that is grouped
/// @param offsets of the ragged forms, with `groups` groups; else nullptr
/// @throws BindingError, also for a name that is there already
void append_block(std::vector<BoundBlock>& blocks, BoundBlock block,
                  std::span<const ColumnRecord> columns, std::size_t rows,
                  const ColumnRecord* offsets, std::size_t groups);

namespace detail {

/// @throws BindingError for a block whose name is there already
void require_new_name(const std::vector<BoundBlock>& blocks, const BoundBlock& block);

}  // namespace detail
}  // namespace tensoa
