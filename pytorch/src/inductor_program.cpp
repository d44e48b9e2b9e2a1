// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <c10/core/InferenceMode.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner_cpu.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aot_runner.hpp"
#include "package.hpp"
#include "per_queue.hpp"
#include "program.hpp"
#include "stream_guard.hpp"
#include "tensors.hpp"
#include "threads.hpp"

namespace tensoa::pytorch {
namespace {

/// An argument: some planes of a block, as a tensor [planes, rows].
struct Argument {
  PackageArgument planes;
  std::size_t block;
  DType dtype;
  bool is_scalar;  ///< all rows are one element
};

/// One container for each queue, because a container is not made for calls at the same time (but for
/// its pool, which locks twice a call and records events). All read the weights of the first.
class InductorProgram final : public Program {
 public:
  InductorProgram(const Package& package, Device device)
      : library_(package.library), device_(device) {
    const std::size_t inputs = package.binding.inputs.size();
    for (std::size_t i = 0; i < package.arguments.size(); ++i) {
      const FieldInfo& element = i < inputs ? package.binding.inputs[i].element
                                            : package.binding.outputs[i - inputs].element;
      for (const PackageArgument& planes : package.arguments[i]) {
        arguments_.push_back({planes, i, element.dtype, element.kind == ColumnKind::kScalar});
      }
    }
    std::unique_ptr<Container> first = load();
    weights_ = first->runner->extract_constants_map(/*use_inactive=*/false);
    containers_.add(std::move(first));
  }

  void run(const Queue& queue, std::span<const Planes> blocks) override {
    hold_torch_threads();
    const c10::InferenceMode no_gradients;
    const StreamGuard on_queue(queue);
    const PerQueue<Container>::Loan container(containers_, queue, [this] { return load(); });
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const Argument& argument = arguments_[i];
      wrap_again(container->arguments[i], view_of(argument, blocks[argument.block]));
    }
    container->runner->run(container->arguments, queue.native_handle());
  }

 private:
  struct Container {
    std::unique_ptr<AotRunner> runner;
    std::vector<at::Tensor> arguments;  ///< of the last call
  };

  TensorView view_of(const Argument& argument, const Planes& block) const {
    const PackageArgument& planes = argument.planes;
    const auto plane_bytes = block.pitch * static_cast<std::int64_t>(size_of(argument.dtype));
    TensorView view{.data = block.first + planes.first * plane_bytes,
                    .dtype = argument.dtype,
                    .device = device_};
    view.rank = 2;
    view.size_of_dim = {planes.planes, block.rows};
    view.stride_of_dim = {planes.planes > 1 ? planes.step * block.pitch : block.rows,
                          argument.is_scalar ? 0 : 1};
    return view;
  }

  /// Torch is not ready for loads at the same time, of whatever packages.
  std::unique_ptr<Container> load() const {
    static std::mutex one_load;
    const std::lock_guard lock(one_load);
    std::unique_ptr<AotRunner> runner;
    if (device_.is_cpu()) {
      runner = std::make_unique<torch::inductor::AOTIModelContainerRunnerCpu>(
          library_.string(), /*num_models=*/1, /*run_single_threaded=*/true);
    } else {
      runner = make_gpu_runner(library_, device_);
    }
    share_weights(*runner);
    return std::make_unique<Container>(
        Container{std::move(runner), std::vector<at::Tensor>(arguments_.size())});
  }

  /// Lets a container read the weights of the first, and frees its own. Twice, because it has two
  /// sets of which one is in use: a call fails on the second one (torch 2.11 asks for the state of the
  /// first whichever is in use).
  void share_weights(AotRunner& runner) const {
    if (weights_.empty()) return;                         // it is the first
    std::unordered_map<std::string, at::Tensor> weights;  // by the names in the code
    for (const auto& [name, name_in_model] : runner.getConstantNamesToOriginalFQNs()) {
      const auto found = weights_.find(name_in_model);
      if (found == weights_.end() || found->second.device() != to_torch(device_)) {
        return;  // torch exchanges all of one device, or none
      }
      weights.emplace(name, found->second);
    }
    for (int set = 0; set < 2; ++set) {
      runner.update_constant_buffer(weights, /*use_inactive=*/true, /*validate_full_updates=*/true,
                                    /*user_managed=*/true);
      runner.swap_constant_buffer();
      runner.free_inactive_constant_buffer();
    }
  }

  std::filesystem::path library_;
  Device device_;
  std::vector<Argument> arguments_;
  std::unordered_map<std::string, at::Tensor> weights_;  ///< views of the first container's
  PerQueue<Container> containers_;
};

}  // namespace

std::unique_ptr<Program> make_inductor_program(const Package& package, Device device) {
  return std::make_unique<InductorProgram>(package, device);
}

}  // namespace tensoa::pytorch
