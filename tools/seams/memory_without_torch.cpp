// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "seams/torch_seam.hpp"
#include "tensoa/core/memory_budget.hpp"

namespace tensoa::tools {

MemoryOfCall memory_without_torch(Device device, const std::function<void()>& call) {
  call();
  const MemoryFigures all = memory_figures(device);
  const auto now = [&](MemoryPurpose purpose) { return all.of(purpose).now; };
  MemoryOfCall memory{.weights = now(MemoryPurpose::kWeights),
                      .workspaces = now(MemoryPurpose::kWorkspaces),
                      .activations = 0,
                      .collections = now(MemoryPurpose::kCollections),
                      .peak = 0,
                      .budget = all.budget,
                      .torch_holds = 0};
  for (const MemoryPurpose purpose : {MemoryPurpose::kCollections, MemoryPurpose::kWeights,
                                      MemoryPurpose::kWorkspaces, MemoryPurpose::kPinned}) {
    memory.peak += all.of(purpose).peak;
  }
  return memory;
}

}  // namespace tensoa::tools
