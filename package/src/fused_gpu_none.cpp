// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "fused.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/package/impl/fused_gpu_part.hpp"

namespace tensoa::package {

std::string gpu_architecture_of(Device device) {
  throw LoadError("packages for " + to_string(device) +
                  " cannot be loaded: tensoa was built without CUDA");
}

std::unique_ptr<Program> make_fused_gpu_program(const Package& /*package*/,
                                                const FusedDescription& /*fused*/,
                                                std::string_view /*code*/, Device device,
                                                bool /*with_graphs*/) {
  static_cast<void>(gpu_architecture_of(device));
  return nullptr;
}

std::unique_ptr<FusedGpuPart> load_fused_gpu_part(const Package& /*package*/,
                                                  const FusedPart& /*part*/, Device device) {
  static_cast<void>(gpu_architecture_of(device));
  return nullptr;
}

}  // namespace tensoa::package
