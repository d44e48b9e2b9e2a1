// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "tensoa/core/error.hpp"
#include "tensoa/engine/plan.hpp"

namespace tensoa {
namespace {

/// The tensors over the columns of a block.
std::span<const TensorView> memory_of(const BoundBlock& block) {
  if (block.form == BlockForm::kInPlace) return {&block.tensor, 1};
  return block.sources;
}

std::size_t row_dimension(const BoundBlock& block) {
  return block.shape == BlockShape::kColumns ? 1 : 0;
}

/// Whether several rows would be written to one place.
bool is_scalar_for_rows(const BoundBlock& block) {
  return std::ranges::any_of(memory_of(block), [](const TensorView& tensor) {
    return tensor.rank > 0 && tensor.stride_of_dim[0] == 0 && tensor.size_of_dim[0] > 1;
  });
}

// ---- outputs that would be written over each other

/// Addresses of something that is written.
struct Extent {
  std::uintptr_t begin;
  std::uintptr_t end;

  bool overlaps(const Extent& other) const {
    return std::max(begin, other.begin) < std::min(end, other.end);
  }
};

/// From the first element to the last; most outputs differ in that already.
Extent extent_of(const TensorView& tensor) {
  const auto begin = reinterpret_cast<std::uintptr_t>(tensor.data);
  std::int64_t elements = 1;
  for (std::size_t dim = 0; dim < tensor.rank; ++dim) {
    if (tensor.size_of_dim[dim] == 0) return {begin, begin};
    elements += (tensor.size_of_dim[dim] - 1) * tensor.stride_of_dim[dim];
  }
  return {begin, begin + static_cast<std::uintptr_t>(elements) * size_of(tensor.dtype)};
}

/// Visits the planes of a tensor: the rows of one column or component, which lie side by side.
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

bool share_memory(const TensorView& a, std::size_t row_dim_of_a, const TensorView& b,
                  std::size_t row_dim_of_b) {
  if (!extent_of(a).overlaps(extent_of(b))) return false;
  return any_plane(a, row_dim_of_a, [&](const Extent& plane) {
    return any_plane(b, row_dim_of_b, [&](const Extent& other) { return plane.overlaps(other); });
  });
}

/// Whether planes of one tensor lie on each other, as those of hand-made views can.
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
    if (dim == row_dim || tensor.size_of_dim[dim] == 1) continue;
    std::size_t at = count++;
    for (; at > 0 && steps[at - 1].stride > tensor.stride_of_dim[dim]; --at) {
      steps[at] = steps[at - 1];
    }
    steps[at] = {tensor.stride_of_dim[dim], tensor.size_of_dim[dim]};
  }
  std::int64_t reach = tensor.size_of_dim[row_dim];
  const bool is_nested = std::ranges::all_of(std::span(steps).first(count), [&](const Step& step) {
    const bool steps_over = step.stride >= reach;
    reach += step.stride * (step.size - 1);
    return steps_over;
  });
  if (is_nested) return false;
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
    for (const TensorView& before : memory_of(other)) {
      if (&before == &tensor) return;
      if (!share_memory(tensor, row_dimension(block), before, row_dimension(other))) continue;
      throw BindingError((&block == &other ? to_string(block) + ": two of its columns"
                                           : to_string(other) + " and " + to_string(block)) +
                         " are written to the same memory; outputs need columns of their own");
    }
  }
}

void require_apart(const std::vector<BoundBlock>& outputs) {
  Extent so_far{std::numeric_limits<std::uintptr_t>::max(), 0};  // most outputs lie outside
  for (const BoundBlock& block : outputs) {
    for (const TensorView& tensor : memory_of(block)) {
      if (folds_on_itself(tensor, row_dimension(block))) {
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

}  // namespace

bool Binding::is_empty() const noexcept {
  return !outputs.empty() &&
         std::all_of(outputs.begin(), outputs.end(),
                     [](const BoundBlock& block) { return block.tensor.elements() == 0; });
}

void check(const Binding& binding) {
  const BoundBlock* first = nullptr;
  for (const auto* blocks : {&binding.inputs, &binding.outputs}) {
    for (const BoundBlock& block : *blocks) {
      if (first == nullptr) first = &block;
      if (block.tensor.device != first->tensor.device) {
        throw BindingError("block \"" + block.name + "\" lies on " +
                           to_string(block.tensor.device) + ", block \"" + first->name + "\" on " +
                           to_string(first->tensor.device) +
                           "; all blocks of a call lie on one device");
      }
    }
  }
  for (const BoundBlock& block : binding.outputs) {
    if (block.offsets) {
      throw BindingError(to_string(block) +
                         ": ragged forms (padded, mask, segments) are for inputs; an output is a "
                         "block of columns");
    }
    if (block.tensor.read_only) {
      throw BindingError(
          "block \"" + block.name +
          "\": an output is bound to a const view; use view() instead of const_view()");
    }
    if (is_scalar_for_rows(block)) {
      throw BindingError("block \"" + block.name +
                         "\": an output is bound to a scalar, which cannot hold " +
                         std::to_string(block.tensor.size_of_dim[0]) + " rows; use a column");
    }
  }
  require_apart(binding.outputs);
}

namespace {

/// `tensor` over `count` of its rows from `first` on.
TensorView rows_of(TensorView tensor, std::size_t dim, std::size_t first, std::size_t count) {
  tensor.size_of_dim[dim] = static_cast<std::int64_t>(count);
  if (tensor.data != nullptr) {
    const std::int64_t elements = static_cast<std::int64_t>(first) * tensor.stride_of_dim[dim];
    tensor.data = static_cast<std::byte*>(tensor.data) +
                  elements * static_cast<std::int64_t>(size_of(tensor.dtype));
  }
  return tensor;
}

}  // namespace

std::size_t rows_of(const Binding& binding) {
  const BoundBlock* first = nullptr;
  for (const auto* blocks : {&binding.inputs, &binding.outputs}) {
    for (const BoundBlock& block : *blocks) {
      if (block.form == BlockForm::kSegments) {
        throw BindingError(to_string(block) +
                           ": the groups of all rows have no batches of their own; use one call");
      }
      if (first == nullptr) first = &block;
      const std::int64_t rows = block.tensor.size_of_dim[row_dimension(block)];
      const std::int64_t expected = first->tensor.size_of_dim[row_dimension(*first)];
      if (rows == expected) continue;
      throw BindingError(to_string(block) + " has " + std::to_string(rows) + " rows, " +
                         to_string(*first) + " has " + std::to_string(expected) +
                         "; batches need blocks of equal length");
    }
  }
  return first == nullptr
             ? 0
             : static_cast<std::size_t>(first->tensor.size_of_dim[row_dimension(*first)]);
}

void take_rows(const Binding& all, std::size_t first, std::size_t count, Binding& batch) {
  const auto take = [&](const std::vector<BoundBlock>& from, std::vector<BoundBlock>& to) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      const BoundBlock& block = from[i];
      to[i].tensor = rows_of(block.tensor, row_dimension(block), first, count);
      if (block.form == BlockForm::kRepacked) {
        for (std::size_t k = 0; k < block.sources.size(); ++k) {
          to[i].sources[k] = rows_of(block.sources[k], 0, first, count);
        }
      } else if (block.offsets) {
        to[i].sources.back() = rows_of(block.sources.back(), 0, first, count + 1);
      }
    }
  };
  take(all.inputs, batch.inputs);
  take(all.outputs, batch.outputs);
}

void require_live(const Binding& binding) {
  if (!binding.is_bound) {
    throw BindingError("the last rebind of this plan failed; rebind it before the next call");
  }
  for (const auto* blocks : {&binding.inputs, &binding.outputs}) {
    for (const BoundBlock& block : *blocks) {
      if (block.lease.is_live() && block.offsets_lease.is_live()) continue;
      throw BindingError(to_string(block) +
                         ": the collection that it was bound to is gone (destroyed, or another was "
                         "moved into it); rebind the plan, or keep the collection until the call");
    }
  }
}

namespace detail {

void rebind(Binding& binding, std::span<const ViewReference> views) {
  binding.is_bound = false;
  for (BoundBlock& block : binding.inputs) {
    bind(block, views[block.collection], views[block.offsets_collection]);
  }
  const std::span<const ViewReference> of_outputs = views.subspan(binding.input_collections);
  for (BoundBlock& block : binding.outputs) {
    bind(block, of_outputs[block.collection], of_outputs[block.offsets_collection]);
  }
  check(binding);
  binding.is_bound = true;
}

}  // namespace detail
}  // namespace tensoa
