// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "inductor/aot_runner.hpp"
#include "inductor/captured_graph.hpp"
#include "runtime/torch_memory.hpp"
#include "tensoa/core/error.hpp"

// All that cuda/ has, for a libtorch without CUDA.

namespace tensoa::pytorch {
namespace {

[[noreturn]] void refuse_graphs() { throw DeviceError("this build of tensoa has no CUDA graphs"); }

}  // namespace

// ---- inductor/aot_runner.hpp

std::unique_ptr<AotRunner> make_gpu_runner(const std::filesystem::path& /*library*/, Device device,
                                           AotWeights& /*weights*/) {
  throw LoadError("programs of TorchInductor for " + to_string(device) +
                  " cannot be loaded: this libtorch is for the CPU only");
}

// ---- inductor/captured_graph.hpp

struct CapturedGraph::Captured {};

CapturedGraph::CapturedGraph(const Queue& /*queue*/, const std::function<void()>& /*work*/) {
  refuse_graphs();
}
CapturedGraph::~CapturedGraph() = default;
void CapturedGraph::replay(const Queue& /*queue*/) const { refuse_graphs(); }

// ---- runtime/torch_memory.hpp

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
