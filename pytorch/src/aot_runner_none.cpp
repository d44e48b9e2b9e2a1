// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "aot_runner.hpp"
#include "program.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/pytorch/engines.hpp"

namespace tensoa::pytorch {

std::string gpu_architecture_of(Device device) {
  throw LoadError("packages for " + to_string(device) +
                  " cannot be loaded: tensoa was built without CUDA");
}

std::unique_ptr<AotRunner> make_gpu_runner(const std::filesystem::path& /*library*/,
                                           Device device) {
  static_cast<void>(gpu_architecture_of(device));
  return nullptr;
}

std::unique_ptr<Program> make_fused_gpu_program(const Package& /*package*/, Device device,
                                                bool /*with_graphs*/) {
  static_cast<void>(gpu_architecture_of(device));
  return nullptr;
}

}  // namespace tensoa::pytorch
