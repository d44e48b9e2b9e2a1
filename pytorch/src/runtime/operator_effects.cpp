// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/operator_effects.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/normalize_ops.h>

#include <algorithm>
#include <memory>

namespace tensoa::pytorch {
namespace {

template <class Range>
bool contains(const Range& names, std::string_view name) {
  return std::ranges::find(names, name) != std::ranges::end(names);
}

/// Operators that are made of others, and whose results are new tensors all the same: those after
/// which networks write in place. A name that is missing here costs a copy in TorchScript, and in a
/// program of torch.export a refusal where the result would be written.
constexpr std::string_view kFresh[] = {
    "aten::adaptive_avg_pool1d",
    "aten::adaptive_avg_pool2d",
    "aten::adaptive_avg_pool3d",
    "aten::avg_pool1d",
    "aten::batch_norm",
    "aten::bilinear",
    "aten::conv1d",
    "aten::conv2d",
    "aten::conv3d",
    "aten::conv_transpose1d",
    "aten::conv_transpose2d",
    "aten::conv_transpose3d",
    "aten::group_norm",
    "aten::gru",
    "aten::instance_norm",
    "aten::layer_norm",
    "aten::linear",
    "aten::log_softmax",
    "aten::lstm",
    "aten::matmul",
    "aten::max_pool1d",
    "aten::max_pool2d",
    "aten::max_pool3d",
    "aten::rms_norm",
    "aten::scaled_dot_product_attention",
    "aten::softmax",
    "aten::square",
    "aten::where",
};

/// Operators with kernels of their own whose results may lie in their arguments.
constexpr std::string_view kShares[] = {
    "_c10d_functional::wait_tensor",
    "_c10d_functional::wait_tensors",
    "aten::_lazy_clone",
    "aten::_nested_compute_contiguous_strides_offsets",
    "aten::_nested_tensor_from_tensor_list",
    "aten::_sparse_coo_tensor_with_dims_and_tensors",
    "aten::_unsafe_view",
    "aten::dequantize",
    "aten::lift",
    "aten::set",
    "aten::set_",
    "aten::set_data",
    "aten::shallow_copy_data_",
    "aten::sparse_compressed_tensor",
    "aten::unsafe_split",
    "aten::unsafe_split_with_sizes",
    "inductor::_alloc_from_pool",
    "inductor::_reinterpret_tensor",
    "onednn::qconv2d_pointwise",
    "onednn::qlinear_pointwise",
    "quantized::conv2d_add",
    "quantized::conv2d_add_relu",
    "quantized::dropout",
};

/// Operators after which a tensor lies in the memory of another argument: under all of its names.
constexpr std::string_view kRebinds[] = {
    "aten::_cudnn_rnn_flatten_weight",
    "aten::set_",
    "aten::set_data",
    "aten::shallow_copy_data_",
};

constexpr HiddenWrite kHiddenWrites[] = {
    {"aten::_batch_norm_impl_index", {"running_mean", "running_var"}, "training"},
    {"aten::batch_norm", {"running_mean", "running_var"}, "training"},
    {"aten::batch_norm_gather_stats", {"running_mean", "running_var"}},
    {"aten::batch_norm_gather_stats_with_counts", {"running_mean", "running_var"}},
    {"aten::batch_norm_update_stats", {"running_mean", "running_var"}},
    {"aten::cov", {"self"}},  // of one observation with a weight
    {"aten::cudnn_batch_norm", {"running_mean", "running_var"}, "training"},
    {"aten::instance_norm", {"running_mean", "running_var"}, "use_input_stats"},
    {"aten::miopen_batch_norm", {"running_mean", "running_var"}, "training"},
    {"aten::native_batch_norm", {"running_mean", "running_var"}, "training"},
    {"aten::_cudnn_rnn", {"dropout_state"}, "train"},
    {"aten::_cudnn_rnn_backward", {"dropout_state"}},
    {"aten::_cudnn_rnn_flatten_weight", {"weight_arr"}},
    {"aten::miopen_rnn", {"dropout_state"}, "train"},
    {"aten::miopen_rnn_backward", {"dropout_state"}},
    {"onednn::qconv2d_pointwise", {"qaccum"}},
    {"onednn::qlinear_pointwise", {"other"}},
    {"quantized::conv2d_add", {"qaccum"}},
    {"quantized::conv2d_add_relu", {"qaccum"}},
};

bool says_what_it_shares(const c10::FunctionSchema& schema) {
  return std::ranges::any_of(
      schema.returns(), [](const c10::Argument& result) { return result.alias_info() != nullptr; });
}

bool is_made_of_others(const c10::OperatorHandle& known) {
  return known.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

/// Whether an operator is another name of one with its own kernels, as subtract is of sub: torch
/// has these names from NumPy, and a pass of TorchScript that replaces them.
bool is_another_name(const c10::FunctionSchema& schema) {
  const auto graph = std::make_shared<torch::jit::Graph>();
  graph->insertNode(graph->create(c10::Symbol::fromQualString(schema.name()), 0));
  torch::jit::NormalizeOps(graph);
  const auto found = c10::Dispatcher::singleton().findSchema(
      {graph->nodes().begin()->kind().toQualString(), schema.overload_name()});
  return found && !is_made_of_others(*found) && !says_what_it_shares(found->schema());
}

}  // namespace

bool is_annotated_write(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

OperatorEffects::OperatorEffects(const c10::FunctionSchema& schema) {
  const std::string_view name = schema.name();
  const auto known =
      c10::Dispatcher::singleton().findSchema({schema.name(), schema.overload_name()});
  is_known = known.has_value();
  // Operators that are made of others give back an argument where nothing is left to do: conversion
  // to the same type, dropout in evaluation, an einsum that transposes.
  shares = contains(kShares, name) || name.find("unpack") != std::string_view::npos ||
           (known && !says_what_it_shares(schema) && !contains(kFresh, name) &&
            is_made_of_others(*known) && !is_another_name(schema));
  shares_first = name == "aten::type_as" || name == "aten::align_as";
  writes_all = known && name.ends_with('_') && !name.ends_with("__") &&
               std::ranges::none_of(schema.arguments(), is_annotated_write);
  rebinds = contains(kRebinds, name);
  const auto found = std::ranges::find(kHiddenWrites, name, &HiddenWrite::name);
  if (found != std::ranges::end(kHiddenWrites)) hidden = &*found;
}

bool is_hidden_write(const HiddenWrite& hidden, std::string_view argument) {
  return contains(hidden.arguments, argument);
}

bool may_alias(const c10::AliasInfo* result, const c10::AliasInfo* argument) {
  if (result == nullptr) return false;
  if (result->isWildcardBefore() || !result->containedTypes().empty()) return true;
  return argument != nullptr &&
         (!argument->containedTypes().empty() ||
          std::ranges::any_of(result->beforeSets(), [argument](const c10::Symbol& set) {
            return argument->beforeSets().contains(set);
          }));
}

}  // namespace tensoa::pytorch
