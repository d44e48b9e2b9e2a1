// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/planes.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "tensoa/core/memory.hpp"
#include "tensoa/core/strided_copy.hpp"

namespace tensoa::package {
namespace {

/// The dimension of a block in place that counts columns, of several.
std::size_t column_dimension(const BoundBlock& block) { return 1 - block.row_dimension(); }

bool is_repacked(const BoundBlock& block) { return block.form == BlockForm::kRepacked; }

std::byte* address_of(const BoundBlock& block, std::size_t i, std::int64_t element_size) {
  if (is_repacked(block)) return static_cast<std::byte*>(block.sources[i].data);
  const std::int64_t step =
      i == 0 ? 0 : block.tensor.stride_of_dim[column_dimension(block)] * element_size;
  return static_cast<std::byte*>(block.tensor.data) + static_cast<std::int64_t>(i) * step;
}

/// Elements from one plane of a column to the next, of a vector or matrix.
std::int64_t pitch_of(const BoundBlock& block, std::size_t i) {
  if (is_repacked(block)) return block.sources[i].stride_of_dim[1];
  return block.tensor.stride_of_dim[block.columns.size() > 1 ? 2 : 1];
}

}  // namespace

PlanesOfBlock::PlanesOfBlock(BlockDescription description)
    : description_(std::move(description)),
      element_size_(static_cast<std::int64_t>(description_.element.element_size())),
      element_shift_(std::countr_zero(description_.element.element_size())),
      each_(static_cast<std::int64_t>(description_.element.planes())),
      is_scalar_(description_.element.kind == ColumnKind::kScalar) {
  const std::vector<ColumnDescription>& columns = description_.columns;
  const auto distance = [&](std::size_t i) {
    return std::int64_t{columns[i].plane} - columns[0].plane;
  };
  if (columns.size() > 1) step_ = distance(1);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (next_ == 0 && distance(i) != 0) next_ = i;
    is_evenly_spaced_ = is_evenly_spaced_ && distance(i) == static_cast<std::int64_t>(i) * step_;
    count_ = std::max(count_, columns[i].plane + each_);
  }
  next_distance_ = distance(next_);
  is_next_adjacent_ = next_distance_ == 1;
  is_side_by_side_ = description_.element.kind == ColumnKind::kPlain && is_evenly_spaced_ &&
                     columns[0].plane == 0 && (columns.size() == 1 || step_ == 1);
}

bool PlanesOfBlock::find(const BoundBlock& block, BlockMemory& planes) const noexcept {
  const std::vector<ColumnDescription>& columns = description_.columns;
  std::byte* const first_column = address_of(block, 0, element_size_);
  const std::int64_t rows = rows_of(block);
  std::int64_t pitch = 0;
  if (each_ > 1) {
    pitch = pitch_of(block, 0);
  } else if (next_ != 0) {
    const std::int64_t distance =  // in elements, which all columns are aligned to
        is_repacked(block)
            ? (address_of(block, next_, element_size_) - first_column) >> element_shift_
            : block.tensor.stride_of_dim[column_dimension(block)] *
                  static_cast<std::int64_t>(next_);
    // Not by next_distance_ == 1: the compiler replaces x / 1 by x, and always divides.
    pitch = is_next_adjacent_ ? distance : distance / next_distance_;
  }
  if (count_ > 1 && pitch * element_size_ < bytes(rows)) return false;
  std::byte* const first = first_column - columns[0].plane * pitch * element_size_;
  // One distance for all columns, in place; each has its own where it was to be repacked.
  if (!is_repacked(block) && is_evenly_spaced_) {
    const bool is_even =
        columns.size() == 1 || block.tensor.stride_of_dim[column_dimension(block)] == step_ * pitch;
    if (!is_even) return false;
  } else {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (address_of(block, i, element_size_) != first + columns[i].plane * pitch * element_size_) {
        return false;
      }
      if (each_ > 1 && pitch_of(block, i) != pitch) return false;
    }
  }
  // Member by member: a copy of what has just been written would wait for its stores.
  planes.first = first;
  planes.pitch = pitch;
  planes.rows = rows;
  return true;
}

std::size_t PlanesOfBlock::packed_bytes(std::int64_t rows) const noexcept {
  return static_cast<std::size_t>(count_ * packed(nullptr, rows).pitch * element_size_);
}

BlockMemory PlanesOfBlock::packed(std::byte* memory, std::int64_t rows) const noexcept {
  constexpr auto kLine = static_cast<std::int64_t>(kAlignment);
  return {memory, (bytes(rows) + kLine - 1) / kLine * kLine / element_size_, rows};
}

template <class Visit>
bool PlanesOfBlock::any_plane(const Visit& visit) const {
  return std::ranges::any_of(description_.columns, [&](const ColumnDescription& column) {
    for (std::int64_t i = 0; i < each_; ++i) {
      if (visit(column.plane + i)) return true;
    }
    return false;
  });
}

TensorView PlanesOfBlock::column(std::byte* first, std::int64_t pitch, std::int64_t rows,
                                 Device device) const noexcept {
  TensorView planes{
      .data = first, .dtype = description_.element.dtype, .device = device, .rank = 2};
  planes.size_of_dim = {each_, bytes(rows) / element_size_};
  planes.stride_of_dim = {pitch, 1};
  return planes;
}

TensorView PlanesOfBlock::bound_column(const BoundBlock& block, std::size_t i,
                                       std::int64_t rows) const noexcept {
  const std::int64_t pitch = each_ > 1 ? pitch_of(block, i) : 0;
  return column(address_of(block, i, element_size_), pitch, rows, block.tensor.device);
}

TensorView PlanesOfBlock::column_of(const BlockMemory& planes, std::size_t i,
                                    Device device) const noexcept {
  return column(address(planes, description_.columns[i].plane), planes.pitch, planes.rows, device);
}

std::size_t PlanesOfBlock::gather(const Queue& queue, const BoundBlock& block,
                                  const BlockMemory& to) const {
  return strided_copies(queue, description_.columns.size(), [&](std::size_t i) {
    return TensorCopy{column_of(to, i, block.tensor.device), bound_column(block, i, to.rows)};
  });
}

std::size_t PlanesOfBlock::scatter(const Queue& queue, const BlockMemory& from,
                                   const BoundBlock& block) const {
  return strided_copies(queue, description_.columns.size(), [&](std::size_t i) {
    return TensorCopy{bound_column(block, i, from.rows), column_of(from, i, block.tensor.device)};
  });
}

bool PlanesOfBlock::planes_overlap(const BlockMemory& mine, const PlanesOfBlock& other,
                                   const BlockMemory& theirs) const noexcept {
  return any_plane([&](std::int64_t place) {
    const Extent plane = extent_of_plane(mine, place);
    return other.any_plane([&](std::int64_t other_place) {
      return plane.overlaps(other.extent_of_plane(theirs, other_place));
    });
  });
}

}  // namespace tensoa::package
