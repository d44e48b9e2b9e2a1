// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/wire_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kserve/datatypes.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/describe.hpp"
#include "tensoa/package/published.hpp"

namespace tensoa::remote {
namespace {

bool fits(std::span<const std::int64_t> got, std::span<const std::int64_t> expected) {
  return std::ranges::equal(got, expected,
                            [](auto mine, auto theirs) { return theirs < 0 || mine == theirs; });
}

/// That of the tensor, or of the columns, which tensoa's back-end converts itself.
/// @throws BindingError where the server takes neither
DType wire_dtype(const BoundBlock& block, WireOrder order, const WireTensor& expected,
                 const std::string& subject) {
  const auto is_expected = [&](DType dtype) { return expected.datatype == kserve_name(dtype); };
  if (is_expected(block.tensor.dtype)) return block.tensor.dtype;
  const std::span<const TensorView> columns = block.memory();
  if (order == WireOrder::kPlanes && block.form == BlockForm::kRepacked && !columns.empty() &&
      std::ranges::all_of(columns, is_expected, &TensorView::dtype)) {
    return columns.front().dtype;
  }
  throw BindingError(subject + to_string(block) + " is " +
                     std::string(kserve_name(block.tensor.dtype)) + ", the server's \"" +
                     expected.name + "\" is " + tensor_type(expected.datatype, expected.sizes) +
                     "; bind columns of that type, or request a conversion (Repack)");
}

/// Planes travel in the order of the columns, so others would be taken for those that the model reads.
/// @param served the blocks of the same side, which has one for each tensor
void require_columns(const BoundBlock& block, const std::string& name,
                     const std::vector<BlockDescription>& served, const std::string& subject) {
  const auto expected = std::ranges::find(served, name, &BlockDescription::name);
  const std::string differs = difference_of_columns(*expected, block.columns);
  if (differs.empty()) return;
  throw BindingError(subject + "was made for other columns: " + to_string(block) + ": " + differs +
                     "; bind the columns that `tensoa inspect URL` prints");
}

}  // namespace

Signature signature_of(const ModelMetadataReply& metadata) {
  Signature signature;
  for (const WireTensor& input : metadata.inputs) {
    signature.inputs.push_back({.name = input.name, .dtype = dtype_of(input.datatype)});
  }
  signature.required_inputs = signature.inputs.size();
  for (const WireTensor& output : metadata.outputs) {
    signature.outputs.push_back({.name = output.name, .dtype = dtype_of(output.datatype)});
  }
  return signature;
}

WirePlan plan_for(const Binding& binding, const ServedModel& model, const std::string& subject) {
  const ModelMetadataReply& metadata = model.metadata;
  WirePlan plan;
  if (is_tensoa(metadata)) plan.order = WireOrder::kPlanes;
  const Signature signature = signature_of(metadata);
  plan.inputs = match_arguments(binding, signature, subject.substr(0, subject.size() - 2));
  if (binding.outputs.size() > metadata.outputs.size()) {
    throw BindingError(subject + "gives " + std::to_string(metadata.outputs.size()) +
                       " outputs, got " + std::to_string(binding.outputs.size()) +
                       " output blocks");
  }
  const auto place_of = [&](const BoundBlock& block) {
    const auto found = std::ranges::find(metadata.outputs, block.name, &WireTensor::name);
    return static_cast<std::size_t>(found - metadata.outputs.begin());
  };
  // A server returns the outputs that the request names, so some may be left out: by name.
  const bool by_name = binding.match != Match::kByOrder &&
                       std::ranges::all_of(binding.outputs, [&](const BoundBlock& block) {
                         return place_of(block) < metadata.outputs.size();
                       });
  if (!by_name &&
      (binding.match == Match::kByName || binding.outputs.size() != metadata.outputs.size())) {
    std::string names;
    for (const WireTensor& output : metadata.outputs) {
      names += (names.empty() ? "" : ", ") + output.name;
    }
    throw BindingError(subject + "its outputs are " + names +
                       "; name the output blocks so, or give one for each in this order");
  }
  for (std::size_t i = 0; i < binding.outputs.size(); ++i) {
    plan.outputs.push_back(by_name ? place_of(binding.outputs[i]) : i);
  }
  const auto match = [&](const BoundBlock& block, const WireTensor& expected,
                         std::vector<BlockDescription> BindingDescription::*served,
                         package::NamedColumns least) {
    const DType dtype = wire_dtype(block, plan.order, expected, subject);
    wire_sizes(block, plan.order, expected, subject);
    if (model.published && model.published->named >= least) {
      require_columns(block, expected.name, *model.published->model.binding.*served, subject);
    }
    return dtype;
  };
  using package::NamedColumns;
  for (std::size_t i = 0; i < binding.inputs.size(); ++i) {
    plan.input_dtypes.push_back(match(binding.inputs[i], metadata.inputs[plan.inputs[i]],
                                      &BindingDescription::inputs, NamedColumns::kInputs));
  }
  for (std::size_t i = 0; i < binding.outputs.size(); ++i) {
    plan.output_dtypes.push_back(match(binding.outputs[i], metadata.outputs[plan.outputs[i]],
                                       &BindingDescription::outputs, NamedColumns::kAll));
  }
  return plan;
}

std::vector<std::int64_t> wire_sizes(const BoundBlock& block, WireOrder order,
                                     const WireTensor& expected, const std::string& subject) {
  if (order == WireOrder::kPlanes) {
    std::int64_t planes = 1;
    for (std::size_t dim = 0; dim < block.tensor.rank; ++dim) {
      if (dim != block.row_dimension()) planes *= block.tensor.size_of_dim[dim];
    }
    const bool is_scalar = !block.columns.empty() && block.columns.front().info.is_scalar();
    const std::int64_t rows = block.tensor.size_of_dim[block.row_dimension()];
    if (expected.sizes.size() == 3 && expected.sizes[1] == planes) {
      return {1, planes, is_scalar ? std::min<std::int64_t>(rows, 1) : rows};
    }
    throw BindingError(subject + to_string(block) + " has " + std::to_string(planes) +
                       " planes, the server's \"" + expected.name + "\" is " +
                       tensor_type(expected.datatype, expected.sizes) +
                       "; bind the columns that the package was made for");
  }
  const std::span<const std::int64_t> sizes = block.tensor.sizes();
  std::vector<std::int64_t> with_one{1};
  with_one.insert(with_one.end(), sizes.begin(), sizes.end());
  const std::span<const std::int64_t> all(with_one);
  const bool ends_with_one = !sizes.empty() && sizes.back() == 1;
  for (const std::span<const std::int64_t> tried :
       {sizes, all, ends_with_one ? sizes.first(sizes.size() - 1) : sizes,
        ends_with_one ? all.first(all.size() - 1) : all}) {
    if (fits(tried, expected.sizes)) return {tried.begin(), tried.end()};
  }
  throw BindingError(subject + to_string(block) + " is " +
                     tensor_type(kserve_name(block.tensor.dtype), sizes) + ", the server's \"" +
                     expected.name + "\" is " + tensor_type(expected.datatype, expected.sizes) +
                     "; bind the columns that the model was made for");
}

bool same_but_for_ones(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  const auto without_ones = [](std::vector<std::int64_t> sizes) {
    std::erase(sizes, 1);
    return sizes;
  };
  return without_ones(a) == without_ones(b);
}

}  // namespace tensoa::remote
