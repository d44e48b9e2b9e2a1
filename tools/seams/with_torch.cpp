// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>

#include "seams/torch_seam.hpp"
#include "seams/torch_tools.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/forest/engines.hpp"
#include "tensoa/onnx/engines.hpp"
#include "tensoa/pytorch/at_need.hpp"
#include "tensoa/pytorch/options.hpp"

namespace tensoa {
namespace tools {
namespace {

/// @throws std::runtime_error that says what is missing
const TorchTools& torch() {
  static const auto& found =
      *static_cast<const TorchTools*>(pytorch::find_in_torch_library("tensoa_torch_tools"));
  return found;
}

}  // namespace

void register_engines() {
  forest::register_engines();
  onnx::register_engines();
  pytorch::register_engines_at_need();
}

std::string torch_version() { return pytorch::torch_at_need_version(); }

MemoryOfCall memory_of_call(Device device, const std::function<void()>& call) {
  return pytorch::torch_is_open() ? torch().memory_of_call(device, call)
                                  : memory_without_torch(device, call);
}

}  // namespace tools

namespace bench {

void require_torch() {
  try {
    tools::torch();
  } catch (const std::runtime_error& error) {
    throw ConfigError(std::string("bench binding: ") + error.what());
  }
}

std::size_t make_tensors(TensorMaking making, const TensorView& view, std::size_t count) {
  return tools::torch().make_tensors(making, view, count);
}

ModelOptions in_float64() { return pytorch::TorchScriptOptions{.dtype = DType::kF64}; }

}  // namespace bench
}  // namespace tensoa
