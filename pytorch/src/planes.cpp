// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "planes.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "tensoa/core/error.hpp"

namespace tensoa::pytorch {
namespace {

/// The dimension of a block in place that counts columns, of several.
std::size_t column_dimension(const BoundBlock& block) { return 1 - block.row_dimension(); }

std::byte* address_of(const BoundBlock& block, std::size_t i, std::int64_t element_size) {
  if (block.form == BlockForm::kRepacked) return static_cast<std::byte*>(block.sources[i].data);
  const std::int64_t step =
      i == 0 ? 0 : block.tensor.stride_of_dim[column_dimension(block)] * element_size;
  return static_cast<std::byte*>(block.tensor.data) + static_cast<std::int64_t>(i) * step;
}

}  // namespace

PlanesOfBlock::PlanesOfBlock(BlockDescription description)
    : description_(std::move(description)),
      element_size_(static_cast<std::int64_t>(description_.element.element_size())) {
  const std::vector<ColumnDescription>& columns = description_.columns;
  if (columns.size() > 1) step_ = std::int64_t{columns[1].plane} - columns[0].plane;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    is_evenly_spaced_ = is_evenly_spaced_ && std::int64_t{columns[i].plane} - columns[0].plane ==
                                                 static_cast<std::int64_t>(i) * step_;
  }
  for_each_plane([&](std::int64_t place) { count_ = std::max(count_, place + 1); });
}

std::int64_t PlanesOfBlock::bytes(std::int64_t rows) const noexcept {
  const bool is_scalar = description_.element.kind == ColumnKind::kScalar;
  return (is_scalar ? std::min<std::int64_t>(rows, 1) : rows) * element_size_;
}

Planes PlanesOfBlock::of(const BoundBlock& block) const {
  const std::vector<ColumnDescription>& columns = description_.columns;
  const bool is_repacked = block.form == BlockForm::kRepacked;
  std::int64_t pitch = 0;
  if (description_.element.has_planes()) {
    const std::size_t dim = !is_repacked && columns.size() > 1 ? 2 : 1;
    pitch = (is_repacked ? block.sources.front() : block.tensor).stride_of_dim[dim];
  } else if (step_ != 0) {
    const std::int64_t distance =
        is_repacked ? (address_of(block, 1, element_size_) - address_of(block, 0, element_size_)) /
                          element_size_
                    : block.tensor.stride_of_dim[column_dimension(block)];
    pitch = step_ == 1 ? distance : distance / step_;
  }
  std::byte* const first =
      address_of(block, 0, element_size_) - columns[0].plane * pitch * element_size_;
  const bool is_proven =
      !is_repacked && is_evenly_spaced_ &&
      (columns.size() == 1 || block.tensor.stride_of_dim[column_dimension(block)] == step_ * pitch);
  for (std::size_t i = 1; !is_proven && i < columns.size(); ++i) {
    const std::byte* const expected = first + columns[i].plane * pitch * element_size_;
    if (address_of(block, i, element_size_) == expected) continue;
    throw BindingError(to_string(block) + ": column " + columns[i].name + " does not lie " +
                       std::to_string(std::int64_t{columns[i].plane} - columns[0].plane) +
                       " planes after " + columns[0].name +
                       ", as the package was made for; use a PortableCollection of the layout that "
                       "was described, or export for this one");
  }
  return {first, pitch, rows_of(block)};
}

Extent PlanesOfBlock::extent_of_plane(const Planes& planes, std::int64_t place) const noexcept {
  const auto begin =
      reinterpret_cast<std::uintptr_t>(planes.first + place * planes.pitch * element_size_);
  return {begin, begin + static_cast<std::uintptr_t>(bytes(planes.rows))};
}

Extent PlanesOfBlock::extent(const Planes& planes) const noexcept {
  return {reinterpret_cast<std::uintptr_t>(planes.first), extent_of_plane(planes, count_ - 1).end};
}

bool PlanesOfBlock::overlap(const Planes& mine, const PlanesOfBlock& other,
                            const Planes& theirs) const noexcept {
  if (!extent(mine).overlaps(other.extent(theirs))) return false;
  bool found = false;
  for_each_plane([&](std::int64_t place) {
    const Extent plane = extent_of_plane(mine, place);
    other.for_each_plane([&](std::int64_t other_place) {
      found = found || plane.overlaps(other.extent_of_plane(theirs, other_place));
    });
  });
  return found;
}

}  // namespace tensoa::pytorch
