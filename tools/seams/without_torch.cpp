// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "seams/torch_seam.hpp"
#include "tensoa/forest/engines.hpp"
#include "tensoa/onnx/engines.hpp"

namespace tensoa::tools {

void register_engines() {
  forest::register_engines();
  onnx::register_engines();
}

std::string torch_version() { return {}; }

MemoryOfCall memory_of_call(Device device, const std::function<void()>& call) {
  return memory_without_torch(device, call);
}

}  // namespace tensoa::tools
