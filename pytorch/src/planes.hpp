// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensoa/core/tensor_view.hpp"
#include "tensoa/engine/describe.hpp"

namespace tensoa::pytorch {

/// Where a block lies in one call: plane p begins `p * pitch` elements after `first`.
struct Planes {
  std::byte* first;
  std::int64_t pitch;
  std::int64_t rows;
};

inline std::int64_t rows_of(const BoundBlock& block) {
  return block.tensor.size_of_dim[block.row_dimension()];
}

/// The planes that a block was described to have: all that follows from the description, once.
class PlanesOfBlock {
 public:
  explicit PlanesOfBlock(BlockDescription description);

  const BlockDescription& description() const noexcept { return description_; }

  /// Planes from the first one to the last; columns that are not of the block may lie between.
  std::int64_t count() const noexcept { return count_; }

  /// Bytes of one plane that has `rows` rows; scalars have one element for all.
  std::int64_t bytes(std::int64_t rows) const noexcept;

  /// The planes of `block`, which is as described (difference()). Allocates nothing.
  /// @throws BindingError where its columns are no planes of one pitch, as in foreign memory
  Planes of(const BoundBlock& block) const;

  /// From the first byte of the first plane to the end of the last.
  Extent extent(const Planes& planes) const noexcept;

  /// Whether rows of the two share memory. Asks for the single planes only where their extents do.
  bool overlap(const Planes& mine, const PlanesOfBlock& other, const Planes& theirs) const noexcept;

  /// `action(p)` with the place of each plane of the block's columns.
  template <class Action>
  void for_each_plane(const Action& action) const {
    const auto each = static_cast<std::int64_t>(description_.element.planes());
    for (const ColumnDescription& column : description_.columns) {
      for (std::int64_t i = 0; i < each; ++i) action(column.plane + i);
    }
  }

 private:
  Extent extent_of_plane(const Planes& planes, std::int64_t place) const noexcept;

  BlockDescription description_;
  std::int64_t element_size_;
  std::int64_t count_ = 0;
  std::int64_t step_ = 0;         ///< planes from one column to the next, where they are even
  bool is_evenly_spaced_ = true;  ///< the columns, as described
};

}  // namespace tensoa::pytorch
