// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "torchscript/results.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "runtime/tensors.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/arguments.hpp"

namespace tensoa::pytorch {
namespace {

/// As Python writes it: "float", "List[Tensor]".
std::string name_of_type(const c10::IValue& value) { return value.type()->annotation_str(); }

/// Collects the tensors of what a model gave, in order.
struct Collector {
  const std::string& subject;
  std::vector<ResultName> names = {};
  std::vector<at::Tensor> tensors = {};

  void add(ResultName name, at::Tensor tensor) {
    names.push_back(std::move(name));
    tensors.push_back(std::move(tensor));
  }

  void collect(const c10::IValue& value, std::optional<std::string> name = {}) {
    if (value.isTensor()) {
      const bool is_member = name.has_value();
      add({std::move(name), is_member}, value.toTensor());
    } else if (value.isTuple()) {
      collect_tuple(value.toTupleRef());
    } else if (value.isTensorList()) {
      for (const at::Tensor& member : value.toTensorVector()) add({}, member);
    } else if (value.isList()) {
      for (const c10::IValue& member : value.toListRef()) collect(member);
    } else if (value.isGenericDict()) {
      for (const auto& entry : value.toGenericDict()) {
        if (!entry.key().isString() || !entry.value().isTensor()) {
          throw BindingError(subject + "forward gives a dict of " + name_of_type(entry.key()) +
                             " to " + name_of_type(entry.value()) + "; expected str to Tensor");
        }
        add({entry.key().toStringRef(), false}, entry.value().toTensor());
      }
    } else {
      throw BindingError(subject + "forward gives a " + name_of_type(value) +
                         "; expected a tensor, or a tuple, list or dict of tensors");
    }
  }

  void collect_tuple(const c10::ivalue::Tuple& tuple) {
    const auto& members = tuple.elements();
    const auto schema = tuple.type()->schema();  // a named tuple has one
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (schema) {
        collect(members[i], schema->arguments()[i].name());
      } else {
        collect(members[i]);
      }
    }
  }
};

std::string list_of(const std::vector<BoundBlock>& blocks) {
  std::string text;
  for (const BoundBlock& block : blocks) text += (text.empty() ? "" : ", ") + block.name;
  return text;
}

/// Whether members of named tuples go to the blocks of their names: each is there, and once.
bool members_go_by_name(const std::vector<ResultName>& results,
                        const std::vector<BoundBlock>& blocks, Match match) {
  if (match != Match::kAuto) return match == Match::kByName;
  return std::ranges::all_of(results, [&](const ResultName& result) {
    return !result.is_member ||
           (std::ranges::find(blocks, *result.name, &BoundBlock::name) != blocks.end() &&
            std::ranges::count(results, result.name, &ResultName::name) == 1);
  });
}

/// @param types of the results, where they are known
[[noreturn]] void refuse_count(const std::vector<ResultName>& results,
                               const std::vector<BoundBlock>& blocks, const std::string& subject,
                               const std::string& types) {
  std::string names;
  for (const ResultName& result : results) {
    if (result.name) names += (names.empty() ? "; the outputs are called " : ", ") + *result.name;
  }
  throw BindingError(subject + "gives " + std::to_string(results.size()) + " outputs, got " +
                     std::to_string(blocks.size()) + " output blocks (" + list_of(blocks) + ')' +
                     names + types + "; append one block for each output");
}

}  // namespace

std::vector<std::size_t> results_of_blocks(const std::vector<ResultName>& results,
                                           const std::vector<BoundBlock>& blocks, Match match,
                                           const std::string& subject) {
  if (results.size() != blocks.size()) {
    refuse_count(results, blocks, subject, "");
  }
  const bool by_name = members_go_by_name(results, blocks, match);
  const auto has_place = [&](const ResultName& result) {
    return result.name && (by_name || !result.is_member);
  };
  const auto is_one_of_blocks = [&](const ResultName& result) {
    return result.name && std::ranges::count(results, result.name, &ResultName::name) == 1 &&
           std::ranges::find(blocks, *result.name, &BoundBlock::name) != blocks.end();
  };
  const std::size_t none = results.size();
  std::vector<std::size_t> arranged(blocks.size(), none);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ResultName& result = results[i];
    if (!has_place(result)) continue;
    const auto block = std::ranges::find(blocks, *result.name, &BoundBlock::name);
    if (block == blocks.end()) {
      throw BindingError(subject + "gives an output called \"" + *result.name +
                         "\", got output blocks called " + list_of(blocks) +
                         "; name them as the outputs");
    }
    std::size_t& place = arranged[static_cast<std::size_t>(block - blocks.begin())];
    if (place != none) {
      throw BindingError(subject + "gives two outputs called \"" + *result.name + '"');
    }
    place = i;
  }
  auto place = arranged.begin();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ResultName& result = results[i];
    if (has_place(result)) continue;
    while (*place != none) ++place;
    *place = i;
    const BoundBlock& block = blocks[static_cast<std::size_t>(place - arranged.begin())];
    if (match == Match::kAuto && result.name != block.name && is_one_of_blocks(result)) {
      throw BindingError(subject + "gives \"" + *result.name + "\" in the place of " +
                         to_string(block) + ", got output blocks called " + list_of(blocks) +
                         "; name them all as the outputs, none of them, or request "
                         "Match::kByOrder");
    }
  }
  return arranged;
}

bool sizes_fit(at::IntArrayRef got, const BoundBlock& block) {
  const auto sizes = block.tensor.sizes();
  const bool is_one_column = sizes.size() == 2 && sizes[1] == 1 && block.columns.size() == 1;
  return got == at::IntArrayRef(sizes.data(), sizes.size()) ||
         (is_one_column && got.size() == 1 && got[0] == sizes[0]) ||
         (is_one_column && got.empty() && sizes[0] == 1);
}

void require_fitting(const at::Tensor& result, const BoundBlock& block,
                     const std::string& subject) {
  if (sizes_fit(result.sizes(), block) && result.layout() == c10::kStrided &&
      result.scalar_type() == to_torch(block.tensor.dtype) &&
      result.device() == to_torch(block.tensor.device)) {
    return;
  }
  throw BindingError(subject + "gives " + describe(result) + " for output " + to_string(block) +
                     ", which is " + to_string(block.tensor) +
                     "; bind a block of that shape, dtype and device, or change what forward "
                     "returns");
}

namespace {

/// Whether the memory of the block's columns may be that of the tensor.
bool overlaps(const at::Tensor& tensor, const BoundBlock& block) {
  const Extent extent =
      extent_of(tensor.const_data_ptr(), {tensor.sizes().data(), tensor.sizes().size()},
                {tensor.strides().data(), tensor.strides().size()},
                static_cast<std::size_t>(tensor.element_size()));
  return std::ranges::any_of(
      block.memory(), [&](const TensorView& column) { return extent.overlaps(extent_of(column)); });
}

/// The memory of a result; `shape` has its sizes, dtype and device.
TensorView view_of(const at::Tensor& result, TensorView shape) {
  shape.data = const_cast<void*>(result.const_data_ptr());  // read only
  std::ranges::copy(result.strides(), shape.stride_of_dim.begin());
  return shape;
}

void write(const Queue& queue, const at::Tensor& result, const BoundBlock& block,
           CopyReport& copies) {
  const at::Tensor shaped =
      result.view(at::IntArrayRef(block.tensor.size_of_dim.data(), block.tensor.rank));
  if (block.form == BlockForm::kInPlace) {
    wrap(block.tensor).copy_(shaped, /*non_blocking=*/true);
    copies.add_out(block.tensor.bytes(), CopyReason::kOwnOutput);
    return;
  }
  write_columns(queue, view_of(shaped.resolve_neg(), block.tensor), block, copies);
}

}  // namespace

std::vector<at::Tensor> results_for(const c10::IValue& value, const Binding& binding,
                                    const std::string& subject) {
  Collector collector{subject};
  collector.collect(value);
  if (collector.tensors.size() != binding.outputs.size()) {
    std::string types;
    for (const at::Tensor& tensor : collector.tensors) {
      types += (types.empty() ? "; the outputs are " : ", ") + describe(tensor);
    }
    refuse_count(collector.names, binding.outputs, subject, types);
  }
  std::vector<at::Tensor> arranged;
  for (const std::size_t i :
       results_of_blocks(collector.names, binding.outputs, binding.match, subject)) {
    arranged.push_back(std::move(collector.tensors[i]));
    require_fitting(arranged.back(), binding.outputs[arranged.size() - 1], subject);
  }
  return arranged;
}

void write_results(const Queue& queue, std::vector<at::Tensor> results, const Binding& binding,
                   CopyReport& copies) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) continue;
    const auto written_by_then = std::span(binding.outputs).first(i + 1);
    if (std::ranges::any_of(written_by_then,
                            [&](const BoundBlock& block) { return overlaps(results[i], block); })) {
      results[i] = results[i].clone();
      copies.add_out(static_cast<std::size_t>(results[i].nbytes()), CopyReason::kOverlap);
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].defined()) write(queue, results[i], binding.outputs[i], copies);
  }
}

}  // namespace tensoa::pytorch
