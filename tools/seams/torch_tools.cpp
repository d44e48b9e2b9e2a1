// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "seams/torch_tools.hpp"

#include "tensoa/pytorch/runtime.hpp"

// Part of libtensoa_torch.so. Its names are local to this file: those of the program would override exported ones.

namespace tensoa::tools {
namespace {

MemoryOfCall measure_memory(Device device, const std::function<void()>& call) {
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

}  // namespace
}  // namespace tensoa::tools

extern "C" __attribute__((visibility("default")))
const tensoa::tools::TorchTools tensoa_torch_tools{
    .memory_of_call = tensoa::tools::measure_memory,
};
