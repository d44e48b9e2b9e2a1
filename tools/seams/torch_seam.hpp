// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "tensoa/core/device.hpp"

// What the program needs from torch: a seam. with_torch.cpp, which opens torch at need, or without_torch.cpp is linked.

namespace tensoa::tools {

/// The memory of models on one device, in bytes, as pytorch::ModelMemory.
struct MemoryOfCall {
  std::size_t weights = 0;
  std::size_t workspaces = 0;
  std::size_t activations = 0;
  std::size_t collections = 0;
  std::size_t peak = 0;
  std::size_t budget = 0;
  std::size_t torch_holds = 0;  ///< of a GPU
};

/// Runs `call`, and looks at what models have then, and what they needed meanwhile.
MemoryOfCall memory_of_call(Device device, const std::function<void()>& call);

/// The same of a process that has not loaded torch.
MemoryOfCall memory_without_torch(Device device, const std::function<void()>& call);

}  // namespace tensoa::tools
