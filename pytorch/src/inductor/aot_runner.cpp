// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "inductor/aot_runner.hpp"

#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner_cpu.h>

#include <cstddef>

#include "inductor/runner_of_weights.hpp"
#include "runtime/tensors.hpp"

namespace tensoa::pytorch {
namespace {

/// Lets libraries that are loaded later see the names of this process's C++ library, as they do in a program of C++, but not in
/// a module of Python. Some compilers link a copy of it into each program (as g++ -static-libstdc++ does), and a process crashes
/// where it uses parts of both.
void show_standard_library() {
  [[maybe_unused]] static void* const library =
      dlopen("libstdc++.so.6", RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

}  // namespace

AotWeights weights_to_share(const AotRunner& runner, Device device) {
  const auto by_name_in_model = runner.extract_constants_map(/*use_inactive=*/false);
  AotWeights weights;
  for (const auto& [name, name_in_model] : runner.getConstantNamesToOriginalFQNs()) {
    const auto found = by_name_in_model.find(name_in_model);
    if (found == by_name_in_model.end() || found->second.device() != to_torch(device)) return {};
    weights.emplace(name, found->second);
  }
  return weights;
}

/// Twice, because a runner has two sets of which one is in use: a call fails on the second one (torch 2.11 requires
/// the state of the first whichever is in use).
void exchange_weights(AotRunner& runner, AotWeights& weights) {
  for (int set = 0; set < 2; ++set) {
    runner.update_constant_buffer(weights, /*use_inactive=*/true, /*validate_full_updates=*/true,
                                  /*user_managed=*/true);
    runner.swap_constant_buffer();
    runner.free_inactive_constant_buffer();
  }
}

std::unique_ptr<AotRunner> make_runner(const std::filesystem::path& library, Device device,
                                       AotWeights& weights) {
  show_standard_library();
  if (!device.is_cpu()) return make_gpu_runner(library, device, weights);
  return make_runner_of<torch::inductor::AOTIModelContainerRunnerCpu>(
      weights, library.string(), /*num_models=*/std::size_t{1});
}

}  // namespace tensoa::pytorch
