// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "seams/torch_library.hpp"

#include "inductor/inductor_program.hpp"
#include "tensoa/pytorch/engines.hpp"
#include "tensoa/pytorch/runtime.hpp"

// libtensoa_torch.so. Names of its own are local to this file: the program's would take their place.

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
const tensoa::tools::TorchLibrary tensoa_torch_library{
    .register_engines = tensoa::pytorch::register_engines,
    .load_inductor = tensoa::pytorch::load_inductor_program,
    .memory_of_call = tensoa::tools::measure_memory,
    .make_tensors = tensoa::bench::make_tensors,
};
