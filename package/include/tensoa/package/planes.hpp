// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensoa/core/queue.hpp"
#include "tensoa/core/tensor_view.hpp"
#include "tensoa/engine/describe.hpp"

namespace tensoa::package {

/// Where a block lies in one call: plane p begins `p * pitch` elements after `first`. Planes ascend and
/// do not lie on each other: the pitch is the number of rows at least. Without rows, or of a single
/// plane, it may be anything from 0 on.
struct BlockMemory {
  std::byte* first;
  std::int64_t pitch;
  std::int64_t rows;
};

inline std::int64_t rows_of(const BoundBlock& block) {
  return block.tensor.size_of_dim[block.row_dimension()];
}

/// The planes that a block was described to have: all that follows from the description, once.
/// Members with a parameter of a block expect one that is as described (difference()).
class PlanesOfBlock {
 public:
  explicit PlanesOfBlock(BlockDescription description);

  const BlockDescription& description() const noexcept { return description_; }

  /// Sets `planes` to those of `block` where its columns lie. Allocates nothing.
  /// @return false where they are not the planes of one ascending pitch, as columns in foreign memory may be;
  /// `planes` is then not changed
  bool in_place(const BoundBlock& block, BlockMemory& planes) const noexcept {
    if (!is_side_by_side_ || block.form != BlockForm::kInPlace) return find(block, planes);
    const TensorView& tensor = block.tensor;
    const std::size_t row_dimension = block.row_dimension();
    const std::int64_t rows = tensor.size_of_dim[row_dimension];
    const std::int64_t pitch = count_ > 1 ? tensor.stride_of_dim[1 - row_dimension] : 0;
    if (count_ > 1 && pitch < rows) return false;
    planes.first = static_cast<std::byte*>(tensor.data);
    planes.pitch = pitch;
    planes.rows = rows;
    return true;
  }

  /// Bytes of memory in which planes of `rows` rows find place (packed()).
  std::size_t packed_bytes(std::int64_t rows) const noexcept;

  /// Planes of `rows` rows in memory of packed_bytes(rows) bytes.
  BlockMemory packed(std::byte* memory, std::int64_t rows) const noexcept;

  /// Copies the columns of `block`, wherever they lie, to `to`, in the order of `queue`.
  /// @return the bytes of its columns @throws DeviceError
  std::size_t gather(const Queue& queue, const BoundBlock& block, const BlockMemory& to) const;

  /// The same from planes to columns.
  std::size_t scatter(const Queue& queue, const BlockMemory& from, const BoundBlock& block) const;

  /// Whether rows of the two share memory. Single planes are compared only where the extents overlap.
  bool overlap(const BlockMemory& mine, const PlanesOfBlock& other,
               const BlockMemory& theirs) const noexcept {
    return extent(mine).overlaps(other.extent(theirs)) && planes_overlap(mine, other, theirs);
  }

 private:
  /// in_place(), of any block.
  bool find(const BoundBlock& block, BlockMemory& planes) const noexcept;

  /// Bytes of one plane that has `rows` rows; scalars have one element for all.
  std::int64_t bytes(std::int64_t rows) const noexcept {
    return (is_scalar_ && rows > 1 ? 1 : rows) * element_size_;
  }

  std::byte* address(const BlockMemory& planes, std::int64_t place) const noexcept {
    return planes.first + place * planes.pitch * element_size_;
  }

  Extent extent_of_plane(const BlockMemory& planes, std::int64_t place) const noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(address(planes, place));
    return {begin, begin + static_cast<std::uintptr_t>(bytes(planes.rows))};
  }

  /// From the first byte of the first plane to the end of the last.
  Extent extent(const BlockMemory& planes) const noexcept {
    return {reinterpret_cast<std::uintptr_t>(planes.first),
            extent_of_plane(planes, count_ - 1).end};
  }

  /// overlap(), where the extents overlap.
  bool planes_overlap(const BlockMemory& mine, const PlanesOfBlock& other,
                      const BlockMemory& theirs) const noexcept;

  /// Whether `visit(p)` is true for the place of any plane of the block's columns.
  template <class Visit>
  bool any_plane(const Visit& visit) const;

  /// The planes of one column, as a tensor [planes, rows].
  TensorView column(std::byte* first, std::int64_t pitch, std::int64_t rows,
                    Device device) const noexcept;

  /// Column `i` where the caller has it, and in `planes`.
  TensorView bound_column(const BoundBlock& block, std::size_t i, std::int64_t rows) const noexcept;
  TensorView column_of(const BlockMemory& planes, std::size_t i, Device device) const noexcept;

  BlockDescription description_;
  std::int64_t element_size_;
  int element_shift_;       ///< its logarithm
  std::int64_t each_;       ///< planes of one column
  std::int64_t count_ = 0;  ///< from the first plane to the last; other columns may lie between
  std::size_t next_ = 0;    ///< the first column at another place than column 0; 0: no such column
  std::int64_t next_distance_ = 0;  ///< planes from column 0 to that one
  bool is_next_adjacent_ = false;   ///< next_distance_ is 1
  bool is_scalar_;                  ///< the columns
  bool is_side_by_side_ = false;    ///< plain columns, of which number i is plane i
  std::int64_t step_ = 0;           ///< planes from one column to the next, where they are even
  bool is_evenly_spaced_ = true;    ///< the columns, as described
};

}  // namespace tensoa::package
