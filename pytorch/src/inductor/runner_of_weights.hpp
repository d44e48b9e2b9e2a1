// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/DynamicLibrary.h>

#include <memory>
#include <type_traits>

#include "inductor/aot_runner.hpp"

namespace tensoa::pytorch {

/// Lets a runner read `weights`, and frees its own.
void exchange_weights(AotRunner& runner, AotWeights& weights);

/// Made with weights, for calls one after another: what torch itself makes with weights takes locks and records
/// events in each call.
template <class Runner>
class RunnerOfWeights final : public Runner {
 public:
  template <class... Arguments>
  explicit RunnerOfWeights(Arguments&... arguments) : Runner(arguments...) {
    this->run_func_ = reinterpret_cast<decltype(this->run_func_)>(
        this->model_so_->sym("AOTInductorModelContainerRunSingleThreaded"));
  }
};

/// A Runner of these arguments. Torch 2.15 can make one with weights; in 2.11 it loads its own first.
template <class Runner, class... Arguments>
std::unique_ptr<AotRunner> make_runner_of(AotWeights& weights, const Arguments&... arguments) {
  if constexpr (std::is_constructible_v<Runner, const Arguments&..., AotWeights&>) {
    if (!weights.empty()) {
      return std::make_unique<RunnerOfWeights<Runner>>(arguments..., weights);
    }
  }
  auto runner = std::make_unique<Runner>(arguments..., /*run_single_threaded=*/true);
  if (!weights.empty()) exchange_weights(*runner, weights);
  return runner;
}

}  // namespace tensoa::pytorch
