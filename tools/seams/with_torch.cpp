// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "seams/torch_seam.hpp"
#include "seams/torch_tools.hpp"
#include "tensoa/pytorch/at_need.hpp"

namespace tensoa::tools {

MemoryOfCall memory_of_call(Device device, const std::function<void()>& call) {
  if (!pytorch::torch_is_open()) return memory_without_torch(device, call);
  static const auto& torch =
      *static_cast<const TorchTools*>(pytorch::find_in_torch_library("tensoa_torch_tools"));
  return torch.memory_of_call(device, call);
}

}  // namespace tensoa::tools
