// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>

#include "seams/torch_at_need.hpp"
#include "seams/torch_seam.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/forest/engines.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/pytorch/options.hpp"

namespace tensoa {
namespace tools {

void register_engines() {
  forest::register_engines();
  package::register_engines();
  register_torch_at_need();
}

MemoryOfCall memory_of_call(Device device, const std::function<void()>& call) {
  return torch_is_loaded() ? torch().memory_of_call(device, call)
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
