// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "seams/torch_seam.hpp"

namespace tensoa::tools {

MemoryOfCall memory_of_call(Device device, const std::function<void()>& call) {
  return memory_without_torch(device, call);
}

}  // namespace tensoa::tools
