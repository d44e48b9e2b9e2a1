// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "seams/torch_seam.hpp"
#include "tensoa/forest/engines.hpp"
#include "tensoa/pytorch/engines.hpp"
#include "tensoa/pytorch/runtime.hpp"

namespace tensoa::tools {

void register_engines() {
  forest::register_engines();
  pytorch::register_engines();
}

std::string torch_version() { return pytorch::torch_version(); }

MemoryOfCall memory_of_call(Device device, const std::function<void()>& call) {
  pytorch::reset_torch_peak(device);
  const std::size_t activations = pytorch::activations_of(device, call);
  const pytorch::ModelMemory all = pytorch::model_memory(device);
  return {.weights = all.weights,
          .workspaces = all.workspaces,
          .activations = activations,
          .collections = all.collections,
          .peak = all.peak + (device.is_cpu() ? activations : 0),
          .budget = all.budget,
          .torch_holds = pytorch::torch_memory(device).held};
}

}  // namespace tensoa::tools
