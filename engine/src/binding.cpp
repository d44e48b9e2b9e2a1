// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "outputs.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/plan.hpp"

namespace tensoa {
namespace {

/// Whether several rows would be written to one place.
bool is_scalar_for_rows(const BoundBlock& block) {
  return std::ranges::any_of(block.memory(), [](const TensorView& tensor) {
    return tensor.rank > 0 && tensor.stride_of_dim[0] == 0 && tensor.size_of_dim[0] > 1;
  });
}

}  // namespace

bool Binding::is_empty() const noexcept {
  return !outputs.empty() &&
         std::all_of(outputs.begin(), outputs.end(),
                     [](const BoundBlock& block) { return block.tensor.elements() == 0; });
}

Device Binding::device() const noexcept {
  if (!inputs.empty()) return inputs.front().tensor.device;
  return outputs.empty() ? Device::cpu() : outputs.front().tensor.device;
}

void require_valid(const Binding& binding) {
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
    if (block.tensor.read_only || std::ranges::any_of(block.memory(), &TensorView::read_only)) {
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

/// Whether the elements, packed or as they lie, can be counted in 63 bits of bytes.
bool can_be_counted(const TensorView& tensor) {
  TensorView packed = tensor;
  std::int64_t bytes = 1;  // elements from the first to the last, first
  bool is_too_large = !make_row_major(packed);
  for (std::size_t dim = 0; dim < tensor.rank; ++dim) {
    const std::int64_t steps = std::max<std::int64_t>(tensor.size_of_dim[dim] - 1, 0);
    std::int64_t reach = 0;
    is_too_large |= __builtin_mul_overflow(steps, tensor.stride_of_dim[dim], &reach);
    is_too_large |= __builtin_add_overflow(bytes, reach, &bytes);
  }
  const auto element = static_cast<std::int64_t>(size_of(tensor.dtype));
  return !is_too_large && !__builtin_mul_overflow(bytes, element, &bytes);
}

/// The error in the dimensions of a tensor, or nothing.
std::string problem_of_dimensions(const TensorView& tensor) {
  if (tensor.rank == 0 || tensor.rank > kMaxRank) {
    return "has " + std::to_string(tensor.rank) + " dimensions, expected 1 to " +
           std::to_string(kMaxRank);
  }
  for (std::size_t dim = 0; dim < tensor.rank; ++dim) {
    const auto least = [&](const char* what, std::int64_t got) {
      return std::string("has the ") + what + ' ' + std::to_string(got) + " in dimension " +
             std::to_string(dim) + ", expected 0 or more";
    };
    if (tensor.size_of_dim[dim] < 0) return least("size", tensor.size_of_dim[dim]);
    if (tensor.stride_of_dim[dim] < 0) return least("stride", tensor.stride_of_dim[dim]);
  }
  if (!can_be_counted(tensor)) {
    return "is " + to_string(tensor) + ", more than 2^63 bytes from its first to its last element";
  }
  return {};
}

/// The error in a tensor over memory, or nothing.
std::string problem_of(const TensorView& tensor) {
  if (std::string problem = problem_of_dimensions(tensor); !problem.empty()) return problem;
  if (tensor.elements() > 0 && tensor.data == nullptr) return "has elements, but no memory";
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % size_of(tensor.dtype) != 0) {
    return "lies in memory that is not aligned to its element size of " +
           std::to_string(size_of(tensor.dtype)) + " bytes";
  }
  return {};
}

/// Sources that a block of this form has.
std::size_t sources_of(const BoundBlock& block) {
  switch (block.form) {
    case BlockForm::kInPlace:
      return 0;
    case BlockForm::kRepacked:
      return block.columns.size();
    case BlockForm::kPadded:
      return 2;
    case BlockForm::kMask:
    case BlockForm::kSegments:
      break;
  }
  return 1;
}

[[noreturn]] void fail(const BoundBlock& block, const std::string& what) {
  throw BindingError(to_string(block) + ": " + what);
}

/// Checks of all forms: the number of tensors of the form, possible dimensions, all on one
/// device.
void require_tensors(const BoundBlock& block) {
  const bool is_ragged = block.form != BlockForm::kInPlace && block.form != BlockForm::kRepacked;
  if (block.sources.size() != sources_of(block) || block.offsets.has_value() != is_ragged) {
    fail(block, "has " + std::to_string(block.sources.size()) + " sources and " +
                    (block.offsets ? "" : "no ") + "offsets, expected " +
                    std::to_string(sources_of(block)) + " and " + (is_ragged ? "" : "no ") +
                    "offsets for a block of its form (BoundBlock::form)");
  }
  if (block.form != BlockForm::kInPlace && block.shape != BlockShape::kRows) {
    fail(block,
         "its shape is BlockShape::kColumns, expected kRows: only tensors in place are [k, n]");
  }
  if (block.tensor.rank <= block.row_dimension()) {
    fail(block, "its tensor has " + std::to_string(block.tensor.rank) + " dimensions, expected " +
                    std::to_string(block.row_dimension() + 1) +
                    " or more for a block of its shape");
  }
  if (const std::string problem = problem_of_dimensions(block.tensor); !problem.empty()) {
    fail(block, "its tensor " + problem);
  }
  for (const TensorView& tensor : block.memory()) {
    const std::string problem = problem_of(tensor);
    if (!problem.empty()) fail(block, "a tensor over its memory " + problem);
    if (tensor.device == block.tensor.device) continue;
    fail(block, "a tensor over its memory lies on " + to_string(tensor.device) + ", the block on " +
                    to_string(block.tensor.device));
  }
}

// ---- how the tensors of one block belong together

/// "float32[10, 2]"
std::string type_of(DType dtype, std::span<const std::int64_t> sizes) {
  std::string text;
  for (const std::int64_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return std::string(name_of(dtype)) + '[' + text + ']';
}

std::string type_of(const TensorView& tensor) { return type_of(tensor.dtype, tensor.sizes()); }

/// Of a repacked block each source is its column of the tensor: [n, …] of [n, k, …], or of one column
/// of [n, …].
void require_columns(const BoundBlock& block) {
  if (block.columns.empty()) fail(block, "has no columns, expected 1 or more to make a copy of");
  for (std::size_t i = 0; i < block.sources.size(); ++i) {
    const TensorView& source = block.sources[i];
    TensorView expected = block.tensor;
    expected.dtype = block.columns[i].info.dtype;
    const bool is_one_of_several = expected.rank > 1 && expected.rank > source.rank &&
                                   std::cmp_equal(expected.size_of_dim[1], block.columns.size());
    if (is_one_of_several) {
      std::shift_left(expected.size_of_dim.begin() + 1, expected.size_of_dim.end(), 1);
      --expected.rank;
    }
    if ((is_one_of_several || block.columns.size() == 1) && source.dtype == expected.dtype &&
        std::ranges::equal(source.sizes(), expected.sizes())) {
      continue;
    }
    fail(block, "its source of column " + block.columns[i].name + " is " + type_of(source) +
                    ", expected " + std::string(name_of(expected.dtype)) +
                    " and the sizes of one of " + std::to_string(block.columns.size()) +
                    " columns of its tensor " + type_of(block.tensor));
  }
}

/// Numbers that say where each group begins, and where the last one ends.
/// @param groups how many; nothing where the tensor does not say
void require_offsets(const BoundBlock& block, std::optional<std::int64_t> groups) {
  const TensorView& offsets = block.sources.back();
  const bool is_index = offsets.dtype == DType::kI32 || offsets.dtype == DType::kI64;
  const std::int64_t got = offsets.size_of_dim[0] - 1;
  const bool is_dense = got < 1 || offsets.stride_of_dim[0] == 1;
  if (is_index && offsets.rank == 1 && is_dense && got >= 0 && got == groups.value_or(got)) return;
  fail(block, "its offsets " + block.offsets->name + " are " + type_of(offsets) +
                  (is_dense ? "" : " with the stride " + std::to_string(offsets.stride_of_dim[0])) +
                  ", expected int32 or int64, one dimension, side by side, " +
                  (groups ? "one more than the " + std::to_string(*groups) + " groups of its tensor"
                          : "one or more"));
}

void require_type(const BoundBlock& block, const char* form, DType dtype, std::size_t rank) {
  if (block.tensor.dtype == dtype && block.tensor.rank == rank) return;
  fail(block, "its tensor is " + type_of(block.tensor) + ", expected " +
                  std::string(name_of(dtype)) + " of " + std::to_string(rank) +
                  (rank == 1 ? " dimension for " : " dimensions for ") + form);
}

/// Of a padded block: [groups, length, …] over rows of […], side by side.
void require_padded(const BoundBlock& block) {
  const TensorView& tensor = block.tensor;
  const TensorView& values = block.sources.front();
  if (values.size_of_dim[0] > 1 && values.stride_of_dim[0] != 1) {
    fail(block, "its values have the stride " + std::to_string(values.stride_of_dim[0]) +
                    " from one row to the next, expected 1");
  }
  if (tensor.dtype == values.dtype && tensor.rank == values.rank + 1 &&
      std::ranges::equal(tensor.sizes().subspan(2), values.sizes().subspan(1))) {
    return;
  }
  fail(block, "its tensor is " + type_of(tensor) + ", its values " + type_of(values) +
                  "; expected [groups, length, …] of their dtype, with the sizes of a row for …");
}

void require_sources(const BoundBlock& block) {
  switch (block.form) {
    case BlockForm::kInPlace:
      return;
    case BlockForm::kRepacked:
      return require_columns(block);
    case BlockForm::kPadded:
      require_padded(block);
      return require_offsets(block, block.tensor.size_of_dim[0]);
    case BlockForm::kMask:
      require_type(block, "a mask", DType::kBool, 2);
      return require_offsets(block, block.tensor.size_of_dim[0]);
    case BlockForm::kSegments:
      require_type(block, "segments", DType::kI64, 1);
      return require_offsets(block, std::nullopt);
  }
}

}  // namespace

void require_valid_tensors(const Binding& binding) {
  for (const auto* blocks : {&binding.inputs, &binding.outputs}) {
    for (const BoundBlock& block : *blocks) {
      require_tensors(block);
      require_sources(block);
    }
  }
  require_valid(binding);
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

std::size_t detail::rows_of(const Binding& binding) {
  const BoundBlock* first = nullptr;
  for (const auto* blocks : {&binding.inputs, &binding.outputs}) {
    for (const BoundBlock& block : *blocks) {
      if (block.form == BlockForm::kSegments) {
        throw BindingError(to_string(block) +
                           ": the groups of all rows have no batches of their own; use one call");
      }
      if (first == nullptr) first = &block;
      const std::int64_t rows = block.tensor.size_of_dim[block.row_dimension()];
      const std::int64_t expected = first->tensor.size_of_dim[first->row_dimension()];
      if (rows == expected) continue;
      throw BindingError(to_string(block) + " has " + std::to_string(rows) + " rows, " +
                         to_string(*first) + " has " + std::to_string(expected) +
                         "; batches need blocks of equal length");
    }
  }
  return first == nullptr
             ? 0
             : static_cast<std::size_t>(first->tensor.size_of_dim[first->row_dimension()]);
}

void take_rows(const Binding& all, std::size_t first, std::size_t count, Binding& batch) {
  const auto take = [&](const std::vector<BoundBlock>& from, std::vector<BoundBlock>& to) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      const BoundBlock& block = from[i];
      to[i].tensor = rows_of(block.tensor, block.row_dimension(), first, count);
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

namespace detail {
namespace {

void require_live(const std::vector<BoundBlock>& blocks) {
  for (const BoundBlock& block : blocks) {
    if (block.lease.is_current() && block.offsets_lease.is_current()) [[likely]] {
      continue;
    }
    if (block.lease.is_live() && block.offsets_lease.is_live()) {
      throw BindingError(to_string(block) +
                         ": its collection was resized after it was bound; rebind the plan (of a "
                         "call without one: bind view() again)");
    }
    throw BindingError(to_string(block) +
                       ": the collection that it was bound to is gone (destroyed, or another was "
                       "moved into it); rebind the plan, or keep the collection until the call");
  }
}

}  // namespace

void require_live(const Binding& binding) {
  if (!binding.is_bound) {
    throw BindingError("the last rebind of this plan failed; rebind it before the next call");
  }
  require_live(binding.inputs);
  require_live(binding.outputs);
}

namespace {

/// The collections that `block` refers to: `action(collection, lease, are_offsets)`.
template <class Action>
void for_each_collection(const BoundBlock& block, const Action& action) {
  if (!block.columns.empty()) action(block.collection, block.lease, false);
  if (block.offsets) action(block.offsets_collection, block.offsets_lease, true);
}

}  // namespace

void require_one_collection_each(const Binding& binding) {
  for (const auto* blocks : {&binding.inputs, &binding.outputs}) {
    for (const BoundBlock& first : *blocks) {
      for_each_collection(first, [&](std::size_t collection, const Lease& lease, bool) {
        for (const BoundBlock& block : *blocks) {
          for_each_collection(block, [&](std::size_t other, const Lease& its, bool are_offsets) {
            if (other != collection || its == lease) return;
            throw BindingError(
                "a plan cannot be rebound: " + to_string(first) + " and " +
                (&block == &first && are_offsets ? "its offsets " + block.offsets->name
                                                 : to_string(block)) +
                " lie in two collections of one layout; give the second a separate layout (one "
                "with a Sub of the first)");
          });
        }
      });
    }
  }
}

}  // namespace detail

void rebind(Binding& binding, std::span<const ViewReference> views) {
  binding.is_bound = false;
  for (BoundBlock& block : binding.inputs) {
    bind(block, views[block.collection], views[block.offsets_collection]);
  }
  const std::span<const ViewReference> of_outputs = views.subspan(binding.input_collections);
  for (BoundBlock& block : binding.outputs) {
    bind(block, of_outputs[block.collection], of_outputs[block.offsets_collection]);
  }
  require_valid(binding);
  binding.is_bound = true;
}

void rebind(Planned& plan, std::span<const ViewReference> views) {
  rebind(plan.binding, views);
  const Device device = plan.binding.device();
  if (device == plan.device) return;
  plan.binding.is_bound = false;
  throw BindingError("the plan was made for " + to_string(plan.device) + ", the views lie on " +
                     to_string(device) + "; make one for that device: model.plan(plan, views…)");
}

}  // namespace tensoa
