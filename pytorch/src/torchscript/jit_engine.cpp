// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "torchscript/jit_engine.hpp"

#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "runtime/stream_guard.hpp"
#include "runtime/tensors.hpp"
#include "runtime/threads.hpp"
#include "runtime/torch_memory.hpp"
#include "tensoa/core/device_errors.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/log.hpp"
#include "torchscript/arguments.hpp"
#include "torchscript/jit_file.hpp"
#include "torchscript/mutation_analysis.hpp"
#include "torchscript/results.hpp"
#include "torchscript/row_dependence.hpp"
#include "torchscript/scratch.hpp"

namespace tensoa::pytorch {
namespace {

/// Configures torch, once. The profiling executor is off: it would record the first events, compile
/// for their shapes and compile again for others (measured: 1.2 to 1.6 times slower on events that
/// differ in size, and a first event of 0.3 s on a GPU); the frozen graph is optimized already.
void configure_torch() {
  pin_torch_to_one_thread();
  static const bool kIsOff = (torch::jit::getProfilingMode() = false, true);
  static_cast<void>(kIsOff);
}

/// Whether the graph starts its own tasks (torch.jit.fork).
bool has_forks(const torch::jit::Block& block) {
  return std::ranges::any_of(block.nodes(), [](const torch::jit::Node* node) {
    return node->kind() == c10::prim::fork ||
           std::ranges::any_of(node->blocks(), [](const auto* inner) { return has_forks(*inner); });
  });
}

/// Whether the graph asks whether its module is in training.
bool depends_on_training(const torch::jit::Block& block) {
  return std::ranges::any_of(block.nodes(), [](const torch::jit::Node* node) {
    return (node->kind() == c10::prim::GetAttr && node->s(c10::attr::name) == "training") ||
           std::ranges::any_of(node->blocks(),
                               [](const auto* inner) { return depends_on_training(*inner); });
  });
}

/// The first part of a model that is in training, and is another function then; empty where none is.
std::string part_in_training(const torch::jit::Module& model) {
  for (const auto& [path, part] : model.named_modules()) {
    if (!part.hasattr("training") || !part.is_training()) continue;
    for (const torch::jit::Method& method : part.get_methods()) {
      if (!depends_on_training(*method.graph()->block())) continue;
      return path.empty() ? "it" : "its part " + path;
    }
  }
  return {};
}

std::size_t weight_bytes(const torch::jit::Module& module) {
  std::size_t bytes = 0;
  for (const at::Tensor& tensor : module.parameters()) bytes += tensor.nbytes();
  for (const at::Tensor& tensor : module.buffers()) bytes += tensor.nbytes();
  return bytes;
}

/// For messages: what tells most about the columns that a model expects. Empty where it has no weights.
struct FirstWeights {
  explicit FirstWeights(const torch::jit::Module& module) {
    for (const auto& [path, tensor] : module.named_parameters()) {
      name = path;
      type = pytorch::describe(tensor);
      if (tensor.is_floating_point()) dtype = tensor.scalar_type();
      return;
    }
  }

  std::string name = {};
  std::string type = {};
  std::optional<c10::ScalarType> dtype = {};
};

/// `; the first weights of the model: layers.0.weight float32[64, 3] on cpu`, and what to do where they are of another
/// dtype than a block.
std::string compared_with(const FirstWeights& weights, const Binding& binding) {
  if (weights.name.empty()) return {};
  std::string text = "; the first weights of the model: " + weights.name + ' ' + weights.type;
  for (const BoundBlock& block : binding.inputs) {
    const c10::ScalarType bound = to_torch(block.tensor.dtype);
    if (!weights.dtype || !c10::isFloatingType(bound) || bound == *weights.dtype) continue;
    const auto ours = from_torch(*weights.dtype);
    return text + ", but block \"" + block.name + "\" is " +
           std::string(name_of(block.tensor.dtype)) + "; make the columns " +
           (ours ? std::string(name_of(*ours)) : "of their dtype") +
           ", or convert the weights with pytorch::TorchScriptOptions::dtype";
  }
  return text;
}

/// Converts weights and buffers of floating point; indices and masks stay what they are.
void convert(torch::jit::Module& module, c10::ScalarType dtype) {
  const auto convert_all = [dtype](const auto& tensors) {
    for (const at::Tensor& tensor : tensors) {
      if (tensor.is_floating_point()) tensor.set_data(tensor.to(dtype));
    }
  };
  convert_all(module.parameters());
  convert_all(module.buffers());
}

Signature signature_of(const torch::jit::Method& forward, const std::string& subject) {
  Signature signature;
  const std::vector<c10::Argument>& arguments = forward.function().getSchema().arguments();
  for (std::size_t i = 1; i < arguments.size(); ++i) {  // 0 is the module itself
    const c10::Argument& argument = arguments[i];
    const bool takes_tensor = argument.type()->kind() == c10::TypeKind::TensorType ||
                              argument.type()->isSubtypeOf(*c10::OptionalType::ofTensor());
    if (!takes_tensor) {
      if (argument.default_value()) break;  // it keeps its default, and so do those after it
      throw LoadError(subject + "forward takes " + argument.type()->annotation_str() + " " +
                      argument.name() + "; expected tensors only");
    }
    signature.inputs.push_back({.name = argument.name()});
    if (!argument.default_value()) signature.required_inputs = signature.inputs.size();
  }
  return signature;
}

class JitEngine final : public Engine {
 public:
  JitEngine(std::string subject, torch::jit::Module module, Signature signature,
            FirstWeights first_weights, std::vector<bool> written, bool has_forks,
            std::unique_ptr<WeightsInTorch> weights)
      : subject_(std::move(subject)),
        weights_(std::move(weights)),
        module_(std::move(module)),
        forward_(module_.get_method("forward")),
        signature_(std::move(signature)),
        first_weights_(std::move(first_weights)),
        written_(std::move(written)),
        has_forks_(has_forks) {}

  /// Waits for the device: what is enqueued reads the weights, and torch hands memory that is free to
  /// others immediately.
  ~JitEngine() override { wait_for_device(weights_->device()); }
  JitEngine(const JitEngine&) = delete;
  JitEngine& operator=(const JitEngine&) = delete;

  const Signature& signature() const noexcept override { return signature_; }

  RowDependence row_dependence(const Binding& binding, const Prepared& prepared) const override {
    configure_torch();
    return pytorch::row_dependence(module_, binding, prepared.arguments());
  }

  CopyReport run(const Queue& queue, const Binding& binding,
                 const Prepared& prepared) const override {
    configure_torch();
    forget_allocation_failure();
    const c10::InferenceMode no_gradients;
    // The frozen graph that was proven runs: passes that rely on torch's alias analysis may
    // replace `x + 0` by x where a loop writes the sum.
    const torch::jit::GraphOptimizerEnabledGuard as_frozen(false);
    const StreamGuard on_queue(queue);
    CopyReport copies;
    try {
      ScratchPool::LoanWhenNeeded scratch(scratch_, queue);
      const c10::IValue value =
          call(arguments_of(queue, binding, prepared.arguments(), scratch, copies));
      write_results(queue, results_for(value, binding, subject_), binding, copies);
    } catch (const DeviceError& error) {
      rethrow(error, subject_ + "failed while running: ");
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw_if_allocation_failed(subject_ + "failed while running: ");
      throw_if_lost(queue, subject_ + "failed while running: ");
      throw EngineError(subject_ + "failed while running: " + short_message(error) +
                        describe_inputs(binding) + compared_with(first_weights_, binding));
    }
    return copies;
  }

 private:
  c10::IValue call(std::vector<c10::IValue> arguments) const {
    if (!has_forks_) return forward_(std::move(arguments));
    // Tasks run where they are started: a thread of torch's would have another stream.
    const auto result = forward_.run_async(std::move(arguments), {},
                                           [](const std::function<void()>& task) { task(); });
    result->wait();
    return result->value();
  }

  /// @param places of each input block the number of its argument
  std::vector<c10::IValue> arguments_of(const Queue& queue, const Binding& binding,
                                        const std::vector<std::size_t>& places,
                                        ScratchPool::LoanWhenNeeded& scratch,
                                        CopyReport& copies) const {
    // Up to the last that has a block; those without one keep their defaults.
    const std::size_t count = places.empty() ? 0 : *std::ranges::max_element(places) + 1;
    std::vector<c10::IValue> arguments(count);
    if (count > places.size()) {
      const auto& schema = forward_.function().getSchema().arguments();
      for (std::size_t i = 0; i < count; ++i) {
        arguments[i] = schema[i + 1].default_value().value_or(c10::IValue());
      }
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      arguments[places[i]] =
          argument_of(queue, binding.inputs[i], written_[places[i]], i, scratch, copies);
    }
    return arguments;
  }

  std::string subject_;  ///< "model FILE: ", the beginning of messages
  std::unique_ptr<WeightsInTorch> weights_;
  torch::jit::Module module_;
  mutable torch::jit::Method forward_;  // calling it does not change it
  Signature signature_;
  FirstWeights first_weights_;
  std::vector<bool> written_;  ///< by argument
  bool has_forks_;
  mutable ScratchPool scratch_;
};

}  // namespace

std::shared_ptr<const Engine> load_jit_engine(const std::filesystem::path& path, Device device,
                                              const TorchScriptOptions& options) {
  configure_torch();
  const std::string subject = subject_of(path);
  std::shared_ptr<const Engine> engine;
  with_jit_file(path, [&](torch::jit::Module& module) {
    if (const std::string part = part_in_training(module); !part.empty()) {
      log(LogLevel::kWarning, subject + part +
                                  " was saved in training mode; it runs in evaluation, as after "
                                  "module.eval(): dropout does nothing, batch norms use their "
                                  "running means");
    }
    module.eval();
    Signature signature = signature_of(module.get_method("forward"), subject);
    if (options.dtype) convert(module, to_torch(*options.dtype));
    FirstWeights first_weights(module);
    auto weights = std::make_unique<WeightsInTorch>(device, weight_bytes(module));
    const WithinBudget within_budget(device);
    module.to(to_torch(device));
    module = frozen(module);
    // It works on a stream of torch's, which the queues of calls do not wait for.
    wait_for_device(device);
    const auto graph = module.get_method("forward").graph();
    const MutationAnalysis mutations(*graph);
    if (!mutations.state_writer().empty()) {
      throw LoadError(subject + "forward changes the model (an attribute or a buffer) by " +
                      mutations.state_writer() +
                      "; expected a model that keeps nothing between calls");
    }
    engine = std::make_shared<JitEngine>(subject, std::move(module), std::move(signature),
                                         std::move(first_weights), mutations.to_arguments(),
                                         has_forks(*graph->block()), std::move(weights));
  });
  return engine;
}

}  // namespace tensoa::pytorch
