// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "jit_engine.hpp"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/runtime/jit_exception.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>

#include "stream_guard.hpp"
#include "tensoa/core/error.hpp"
#include "tensors.hpp"

namespace tensoa::pytorch {
namespace {

/// What torch is told once. Its inter-op pool stays at one thread. The profiling executor is off:
/// it would record the first events, compile for their shapes and compile again for others
/// (measured: 1.2 to 1.6 times slower on events that differ in size, and a first event of 0.3 s on
/// a GPU); the frozen graph is optimized already.
void configure_torch() {
  static std::once_flag process;
  std::call_once(process, [] {
    try {
      at::set_num_interop_threads(1);
    } catch (const c10::Error&) {  // too late: the host program has chosen its own number
    }
    torch::jit::getProfilingMode() = false;
  });
  // The intra-op pool is a property of the calling thread.
  thread_local const bool kHeld = (at::set_num_threads(1), true);
  static_cast<void>(kHeld);
}

/// The line that says what went wrong: torch wraps it into tracebacks of the interpreter and of
/// C++.
std::string short_message(const std::exception& error) {
  std::string text = error.what();
  if (const auto* torch_error = dynamic_cast<const c10::Error*>(&error))
    text = torch_error->what_without_backtrace();
  if (const auto* raised = dynamic_cast<const torch::jit::JITException*>(&error)) {
    text = raised->getOriginalMsg().value_or(text);
  }
  constexpr std::string_view kMark = "RuntimeError: ";
  const std::size_t mark = text.rfind(kMark);
  const std::size_t begin = mark == std::string::npos ? 0 : mark + kMark.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

/// Whether the frozen graph is proven to leave each of its inputs as it is. Conservative: what
/// alias analysis cannot follow counts as written.
std::vector<bool> inputs_written(const torch::jit::Graph& graph,
                                 const torch::jit::AliasDb& aliases) {
  std::vector<bool> written;
  for (const torch::jit::Value* input : graph.inputs().slice(1))
    written.push_back(aliases.hasWriters(input));
  return written;
}

/// Whether a call leaves anything behind in the module: then it is no function of its inputs,
/// threads would race for it, and it might keep tensors over columns that are gone by the next
/// call.
bool keeps_state(const torch::jit::Block& block, const torch::jit::AliasDb& aliases) {
  for (const torch::jit::Node* node : block.nodes()) {
    if (node->kind() == c10::prim::SetAttr) return true;
    if (node->kind() == c10::prim::GetAttr && aliases.hasWriters(node->output())) return true;
    for (const torch::jit::Block* inner : node->blocks()) {
      if (keeps_state(*inner, aliases)) return true;
    }
  }
  return false;
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
    signature.inputs.push_back(argument.name());
    if (!argument.default_value()) signature.required_inputs = signature.inputs.size();
  }
  return signature;
}

/// The tensors of a result: itself, or the members of a tuple or list, in order.
void collect(const c10::IValue& value, std::vector<at::Tensor>& tensors,
             const std::string& subject) {
  if (value.isTensor()) {
    tensors.push_back(value.toTensor());
  } else if (value.isTuple()) {
    for (const c10::IValue& member : value.toTupleRef().elements())
      collect(member, tensors, subject);
  } else if (value.isTensorList()) {
    for (const at::Tensor& member : value.toTensorVector()) tensors.push_back(member);
  } else {
    throw BindingError(subject + "forward gives a " + value.tagKind() +
                       "; expected a tensor, or a tuple or list of tensors");
  }
}

/// From the first byte of a tensor to the one after its last.
struct Extent {
  const std::byte* begin;
  const std::byte* end;

  bool overlaps(const Extent& other) const { return begin < other.end && other.begin < end; }
};

Extent extent_of(const void* data, at::IntArrayRef sizes, at::IntArrayRef strides,
                 std::size_t element_size) {
  const auto* begin = static_cast<const std::byte*>(data);
  std::int64_t elements = 1;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    if (sizes[dim] == 0) return {begin, begin};
    elements += (sizes[dim] - 1) * strides[dim];
  }
  return {begin, begin + static_cast<std::size_t>(elements) * element_size};
}

Extent extent_of(const at::Tensor& tensor) {
  return extent_of(tensor.const_data_ptr(), tensor.sizes(), tensor.strides(),
                   static_cast<std::size_t>(tensor.element_size()));
}

Extent extent_of(const TensorView& view) {
  return extent_of(view.data, {view.size_of_dim.data(), view.rank},
                   {view.stride_of_dim.data(), view.rank}, size_of(view.dtype));
}

class JitEngine final : public Engine {
 public:
  JitEngine(std::string subject, torch::jit::Module module, Signature signature,
            std::vector<bool> written)
      : subject_(std::move(subject)),
        module_(std::move(module)),
        forward_(module_.get_method("forward")),
        signature_(std::move(signature)),
        written_(std::move(written)) {}

  const Signature& signature() const noexcept override { return signature_; }

  CopyReport run(const Queue& queue, const Binding& binding) const override {
    configure_torch();
    const c10::InferenceMode no_gradients;
    const StreamGuard on_queue(queue);
    CopyReport copies;
    try {
      std::vector<at::Tensor> results;
      collect(forward_(bind_inputs(binding, copies)), results, subject_);
      require_fitting(results, binding);
      set_aside(results, binding, copies);
      for (std::size_t i = 0; i < results.size(); ++i) {
        const TensorView& target = binding.outputs[i].tensor;
        wrap(target).copy_(results[i].view(at::IntArrayRef(target.size_of_dim.data(), target.rank)),
                           /*non_blocking=*/true);
        copies.bytes_out += target.bytes();
      }
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw EngineError(subject_ + "failed while running: " + short_message(error));
    }
    return copies;
  }

 private:
  std::vector<c10::IValue> bind_inputs(const Binding& binding, CopyReport& copies) const {
    std::vector<c10::IValue> arguments;
    arguments.reserve(binding.inputs.size());
    for (std::size_t i = 0; i < binding.inputs.size(); ++i) {
      at::Tensor tensor = wrap(binding.inputs[i].tensor);
      if (written_[i]) {
        tensor = tensor.clone();
        copies.bytes_in += binding.inputs[i].tensor.bytes();
      }
      arguments.emplace_back(std::move(tensor));
    }
    return arguments;
  }

  /// All outputs are checked before the first is written.
  void require_fitting(const std::vector<at::Tensor>& results, const Binding& binding) const {
    if (results.size() != binding.outputs.size()) {
      throw BindingError(subject_ + "gives " + std::to_string(results.size()) + " outputs, got " +
                         std::to_string(binding.outputs.size()) + " output blocks");
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const BoundBlock& block = binding.outputs[i];
      const auto sizes = block.tensor.sizes();
      const bool is_one_column = sizes.size() == 2 && block.fields.size() == 1;
      const at::IntArrayRef got = results[i].sizes();
      const bool fits = got == at::IntArrayRef(sizes.data(), sizes.size()) ||
                        (is_one_column && got.size() == 1 && got[0] == sizes[0]) ||
                        (is_one_column && got.empty() && sizes[0] == 1);
      if (!fits || results[i].scalar_type() != to_torch(block.tensor.dtype) ||
          results[i].device() != to_torch(block.tensor.device)) {
        throw BindingError(subject_ + "gives " + describe(results[i]) + " for output block \"" +
                           block.name + "\", which is " + to_string(block.tensor));
      }
    }
  }

  /// A result may lie in the caller's columns (a model that returns an input, or a part of it).
  /// Where an output is written over them before or while it is read, it is copied first.
  static void set_aside(std::vector<at::Tensor>& results, const Binding& binding,
                        CopyReport& copies) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Extent result = extent_of(results[i]);
      for (std::size_t k = 0; k <= i; ++k) {
        if (!result.overlaps(extent_of(binding.outputs[k].tensor))) continue;
        results[i] = results[i].clone();
        copies.bytes_out += binding.outputs[i].tensor.bytes();
        break;
      }
    }
  }

  std::string subject_;  ///< "model FILE: ", the beginning of messages
  torch::jit::Module module_;
  mutable torch::jit::Method forward_;  // calling it does not change it
  Signature signature_;
  std::vector<bool> written_;  ///< by input, see inputs_written
};

}  // namespace

std::shared_ptr<const Engine> load_jit_engine(const std::filesystem::path& path, Device device,
                                              const ModelOptions& options) {
  configure_torch();
  const std::string subject = "model " + path.string() + ": ";
  try {
    torch::jit::Module module = torch::jit::load(path.string(), c10::kCPU);
    module.eval();
    if (!module.find_method("forward")) throw LoadError(subject + "has no forward method");
    Signature signature = signature_of(module.get_method("forward"), subject);
    if (options.dtype) convert(module, to_torch(*options.dtype));
    module.to(to_torch(device));
    module = torch::jit::freeze(module);
    const auto graph = module.get_method("forward").graph();
    const torch::jit::AliasDb aliases(graph, /*isFrozen=*/true);
    if (keeps_state(*graph->block(), aliases)) {
      throw LoadError(subject +
                      "forward changes the model (an attribute or a buffer); expected a model that "
                      "keeps nothing between calls");
    }
    return std::make_shared<JitEngine>(subject, std::move(module), std::move(signature),
                                       inputs_written(*graph, aliases));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    const std::string reason = short_message(error);
    throw LoadError(subject +
                    "is not a TorchScript file that this libtorch can load (expected one written "
                    "by torch.jit.save): " +
                    reason.substr(0, reason.find(". ")));  // advice of torch's archive follows
  }
}

}  // namespace tensoa::pytorch
