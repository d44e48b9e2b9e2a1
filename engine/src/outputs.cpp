// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "outputs.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

/// Whether the rows of a tensor lie side by side, as in all columns. Tensors of the caller's own
/// making may be row-major.
bool has_dense_rows(const TensorView& tensor, std::size_t row_dim) {
  return row_dim < tensor.rank &&
         (tensor.stride_of_dim[row_dim] == 1 || tensor.size_of_dim[row_dim] == 1);
}

/// Visits the planes of a tensor with dense rows: the rows of one column or component, which lie side by side.
/// @return whether `visit` said so of any
template <class Visit>
bool any_plane(const TensorView& tensor, std::size_t row_dim, const Visit& visit) {
  const std::size_t element = size_of(tensor.dtype);
  const auto bytes = static_cast<std::uintptr_t>(tensor.size_of_dim[row_dim]) * element;
  std::array<std::int64_t, kMaxRank> index{};
  for (;;) {
    std::int64_t offset = 0;
    for (std::size_t dim = 0; dim < tensor.rank; ++dim) {
      offset += index[dim] * tensor.stride_of_dim[dim];
    }
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(tensor.data) +
                                 static_cast<std::uintptr_t>(offset) * element;
    if (visit(Extent{begin, begin + bytes})) return true;
    std::size_t dim = 0;
    while (dim < tensor.rank && (dim == row_dim || ++index[dim] == tensor.size_of_dim[dim])) {
      index[dim++] = 0;
    }
    if (dim == tensor.rank) return false;
  }
}

/// Of tensors without dense rows the stretch from first to last element decides.
bool share_memory(const TensorView& a, std::size_t row_dim_of_a, const TensorView& b,
                  std::size_t row_dim_of_b) {
  if (!extent_of(a).overlaps(extent_of(b))) return false;
  if (!has_dense_rows(a, row_dim_of_a) || !has_dense_rows(b, row_dim_of_b)) return true;
  return any_plane(a, row_dim_of_a, [&](const Extent& plane) {
    return any_plane(b, row_dim_of_b, [&](const Extent& other) { return plane.overlaps(other); });
  });
}

/// Whether elements of one tensor lie on each other, as those of hand-made views can.
bool folds_on_itself(const TensorView& tensor, std::size_t row_dim) {
  if (tensor.elements() == 0) return false;
  // Sorted from the closest to the farthest, each dimension steps over all that lies inside it?
  struct Step {
    std::int64_t stride;
    std::int64_t size;
  };
  std::array<Step, kMaxRank> steps{};
  std::size_t count = 0;
  for (std::size_t dim = 0; dim < tensor.rank; ++dim) {
    if (tensor.size_of_dim[dim] == 1) continue;
    std::size_t at = count++;
    for (; at > 0 && steps[at - 1].stride > tensor.stride_of_dim[dim]; --at) {
      steps[at] = steps[at - 1];
    }
    steps[at] = {tensor.stride_of_dim[dim], tensor.size_of_dim[dim]};
  }
  std::int64_t reach = 1;
  const bool is_nested = std::ranges::all_of(std::span(steps).first(count), [&](const Step& step) {
    const bool steps_over = step.stride >= reach;
    reach += step.stride * (step.size - 1);
    return steps_over;
  });
  if (is_nested || !has_dense_rows(tensor, row_dim)) return !is_nested;
  return any_plane(tensor, row_dim, [&](const Extent& plane) {
    int found = 0;  // the plane itself, and then others
    return any_plane(tensor, row_dim, [&](const Extent& other) {
      found += plane.overlaps(other) ? 1 : 0;
      return found > 1;
    });
  });
}

/// @throws BindingError when a tensor of `block` shares memory with one that comes before it
void require_apart(const std::vector<BoundBlock>& outputs, const BoundBlock& block,
                   const TensorView& tensor) {
  for (const BoundBlock& other : outputs) {
    for (const TensorView& before : other.memory()) {
      if (&before == &tensor) return;
      if (!share_memory(tensor, block.row_dimension(), before, other.row_dimension())) continue;
      throw BindingError((&block == &other ? to_string(block) + ": two of its columns"
                                           : to_string(other) + " and " + to_string(block)) +
                         " are written to the same memory; outputs need columns of their own");
    }
  }
}

}  // namespace

void require_apart(const std::vector<BoundBlock>& outputs) {
  Extent so_far{std::numeric_limits<std::uintptr_t>::max(), 0};  // most outputs lie outside
  for (const BoundBlock& block : outputs) {
    for (const TensorView& tensor : block.memory()) {
      if (folds_on_itself(tensor, block.row_dimension())) {
        throw BindingError(to_string(block) +
                           ": the planes of an output lie on each other; its pitch must be the "
                           "number of rows at least");
      }
      const Extent extent = extent_of(tensor);
      if (extent.overlaps(so_far)) require_apart(outputs, block, tensor);
      so_far = {std::min(so_far.begin, extent.begin), std::max(so_far.end, extent.end)};
    }
  }
}

}  // namespace tensoa
