// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "results.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "arguments.hpp"
#include "tensoa/core/error.hpp"
#include "tensors.hpp"

namespace tensoa::pytorch {
namespace {

struct Result {
  std::string name;  ///< empty where the model has none
  at::Tensor tensor;
};

/// All tensors of what a model gave, in order, and how they are named.
struct Results {
  std::vector<Result> all;
  bool are_of_a_dict = false;
};

void collect(const c10::IValue& value, const std::string& name, Results& results,
             const std::string& subject) {
  if (value.isTensor()) {
    results.all.push_back({name, value.toTensor()});
  } else if (value.isTuple()) {
    const auto& members = value.toTupleRef().elements();
    const auto type = value.type()->cast<c10::TupleType>();
    const auto& schema = type->schema();  // a named tuple has one
    for (std::size_t i = 0; i < members.size(); ++i) {
      collect(members[i], schema ? schema->arguments()[i].name() : std::string(), results, subject);
    }
  } else if (value.isTensorList()) {
    for (const at::Tensor& member : value.toTensorVector()) results.all.push_back({{}, member});
  } else if (value.isList()) {
    for (const c10::IValue& member : value.toListRef()) collect(member, {}, results, subject);
  } else if (value.isGenericDict()) {
    results.are_of_a_dict = true;
    for (const auto& entry : value.toGenericDict()) {
      if (!entry.key().isString() || !entry.value().isTensor()) {
        throw BindingError(subject + "forward gives a dict of " + entry.key().tagKind() + " to " +
                           entry.value().tagKind() + "; expected names to tensors");
      }
      results.all.push_back({entry.key().toStringRef(), entry.value().toTensor()});
    }
  } else {
    throw BindingError(subject + "forward gives a " + value.tagKind() +
                       "; expected a tensor, or a tuple, list or dict of tensors");
  }
}

std::string list_of(const std::vector<Result>& results) {
  std::string text;
  for (const Result& result : results) {
    text += (text.empty() ? "" : ", ") + (result.name.empty() ? "?" : result.name);
  }
  return text;
}

/// The results in the order of the output blocks.
std::vector<at::Tensor> arrange(Results results, const Binding& binding,
                                const std::string& subject) {
  if (results.all.size() != binding.outputs.size()) {
    throw BindingError(subject + "gives " + std::to_string(results.all.size()) + " outputs, got " +
                       std::to_string(binding.outputs.size()) + " output blocks");
  }
  const bool have_names =
      std::ranges::none_of(results.all, [](const Result& result) { return result.name.empty(); });
  const bool by_name = results.are_of_a_dict || (binding.match == Match::kByName && have_names);
  std::vector<at::Tensor> arranged;
  for (std::size_t i = 0; i < binding.outputs.size(); ++i) {
    Result* found = &results.all[i];
    if (by_name) {
      const auto same = std::ranges::find(results.all, binding.outputs[i].name, &Result::name);
      if (same == results.all.end()) {
        throw BindingError(subject + "gives no output called \"" + binding.outputs[i].name +
                           "\"; it gives " + list_of(results.all) + "; name the output blocks so");
      }
      found = &*same;
    }
    arranged.push_back(found->tensor);
  }
  return arranged;
}

void require_fitting(const at::Tensor& result, const BoundBlock& block,
                     const std::string& subject) {
  const auto sizes = block.tensor.sizes();
  const at::IntArrayRef got = result.sizes();
  const bool is_one_column = sizes.size() == 2 && sizes[1] == 1 && block.columns.size() == 1;
  const bool fits = got == at::IntArrayRef(sizes.data(), sizes.size()) ||
                    (is_one_column && got.size() == 1 && got[0] == sizes[0]) ||
                    (is_one_column && got.empty() && sizes[0] == 1);
  if (fits && result.scalar_type() == to_torch(block.tensor.dtype) &&
      result.device() == to_torch(block.tensor.device)) {
    return;
  }
  throw BindingError(subject + "gives " + describe(result) + " for output " + to_string(block) +
                     ", which is " + to_string(block.tensor));
}

/// From the first byte of a tensor to the one after its last.
struct Extent {
  const std::byte* begin;
  const std::byte* end;

  bool overlaps(const Extent& other) const { return begin < other.end && other.begin < end; }
};

Extent extent_of(const void* data, at::IntArrayRef sizes, at::IntArrayRef strides,
                 std::size_t element_size) {
  const auto* begin = static_cast<const std::byte*>(data);
  std::int64_t elements = 1;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    if (sizes[dim] == 0) return {begin, begin};
    elements += (sizes[dim] - 1) * strides[dim];
  }
  return {begin, begin + static_cast<std::size_t>(elements) * element_size};
}

Extent extent_of(const at::Tensor& tensor) {
  return extent_of(tensor.const_data_ptr(), tensor.sizes(), tensor.strides(),
                   static_cast<std::size_t>(tensor.element_size()));
}

Extent extent_of(const TensorView& view) {
  return extent_of(view.data, {view.size_of_dim.data(), view.rank},
                   {view.stride_of_dim.data(), view.rank}, size_of(view.dtype));
}

/// Whether the memory of the block's columns may be that of the tensor.
bool overlaps(const at::Tensor& tensor, const BoundBlock& block) {
  const Extent extent = extent_of(tensor);
  if (block.form == BlockForm::kInPlace) return extent.overlaps(extent_of(block.tensor));
  return std::ranges::any_of(
      block.sources, [&](const TensorView& column) { return extent.overlaps(extent_of(column)); });
}

void write(const at::Tensor& result, const BoundBlock& block, CopyReport& copies) {
  const at::Tensor shaped =
      result.view(at::IntArrayRef(block.tensor.size_of_dim.data(), block.tensor.rank));
  if (block.form == BlockForm::kInPlace) {
    wrap(block.tensor).copy_(shaped, /*non_blocking=*/true);
    copies.add_out(block.tensor.bytes(), CopyReason::kOwnOutput);
    return;
  }
  for (std::size_t i = 0; i < block.sources.size(); ++i) {
    wrap(block.sources[i]).copy_(column_of(block, shaped, i), /*non_blocking=*/true);
    copies.add_out(block.sources[i].bytes(), CopyReason::kRepack);
  }
}

}  // namespace

std::vector<at::Tensor> results_for(const c10::IValue& value, const Binding& binding,
                                    const std::string& subject) {
  Results results;
  collect(value, {}, results, subject);
  std::vector<at::Tensor> arranged = arrange(std::move(results), binding, subject);
  for (std::size_t i = 0; i < arranged.size(); ++i) {
    require_fitting(arranged[i], binding.outputs[i], subject);
  }
  return arranged;
}

void write_results(std::vector<at::Tensor> results, const Binding& binding, CopyReport& copies) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto written_by_then = std::span(binding.outputs).first(i + 1);
    if (std::ranges::any_of(written_by_then,
                            [&](const BoundBlock& block) { return overlaps(results[i], block); })) {
      results[i] = results[i].clone();
      copies.add_out(static_cast<std::size_t>(results[i].nbytes()), CopyReason::kOverlap);
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) write(results[i], binding.outputs[i], copies);
}

}  // namespace tensoa::pytorch
