// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "torchscript/inspect.hpp"

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/api/module.h>

#include <system_error>

#include "runtime/threads.hpp"
#include "torchscript/jit_file.hpp"
#include "torchscript/mutation_analysis.hpp"

namespace tensoa::pytorch {
namespace {

using package::ArgumentDescription;
using package::ModelDescription;

std::vector<ArgumentDescription> described(const std::vector<c10::Argument>& arguments,
                                           std::size_t first) {
  std::vector<ArgumentDescription> all;
  for (std::size_t i = first; i < arguments.size(); ++i) {
    ArgumentDescription& argument = all.emplace_back();
    argument.name = arguments[i].name();
    argument.type = arguments[i].type()->annotation_str();
  }
  return all;
}

}  // namespace

package::ModelDescription inspect_torchscript(const std::filesystem::path& path) {
  pin_torch_to_one_thread();
  ModelDescription model;
  model.row_dependence.reason = "a TorchScript file does not state the sizes of its columns";
  model.proof = "data flow of the frozen graph";
  with_jit_file(path, [&](torch::jit::Module& module) {
    const auto count = [&](const auto& tensors) {
      for (const at::Tensor& tensor : tensors) {
        *model.weights += static_cast<std::size_t>(tensor.numel());
        *model.weight_bytes += tensor.nbytes();
      }
    };
    model.weights = model.weight_bytes = 0;
    count(module.parameters());
    count(module.buffers());
    const c10::FunctionSchema schema = module.get_method("forward").function().getSchema();
    model.inputs = described(schema.arguments(), 1);  // 0 is the module itself
    model.outputs = described(schema.returns(), 0);
    module.eval();
    const MutationAnalysis mutations(*frozen(module).get_method("forward").graph());
    const std::vector<bool>& written = mutations.to_arguments();
    for (std::size_t i = 0; i < model.inputs.size(); ++i) {
      model.inputs[i].may_be_written = written[i];
    }
    model.keeps_state = !mutations.state_writer().empty();
  });
  caffe2::serialize::PyTorchStreamReader archive(path.string());
  model.format = "TorchScript " + std::to_string(archive.version());
  std::error_code failure;
  model.bytes = std::filesystem::file_size(path, failure);
  return model;
}

}  // namespace tensoa::pytorch
