// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/torch_memory.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::pytorch {

bool torch_uses_gpus() noexcept { return false; }

void replace_torch_allocator(TorchAllocator /*allocator*/) {
  throw ConfigError(
      "set_torch_allocator: this build of tensoa uses a libtorch without CUDA, which allocates on "
      "the CPU only");
}

void release_gpu_memory(Device /*device*/) {}
TorchMemory gpu_memory(Device /*device*/) { return {}; }
void reset_gpu_peak(Device /*device*/) {}

WithinBudget::WithinBudget(Device /*device*/) {}
WithinBudget::~WithinBudget() = default;

}  // namespace tensoa::pytorch
