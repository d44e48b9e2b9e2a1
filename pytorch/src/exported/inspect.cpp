// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/inspect.hpp"

#include <map>

#include "exported/exported_engine.hpp"
#include "exported/memory.hpp"
#include "exported/program_file.hpp"
#include "exported/row_dependence.hpp"
#include "exported/signature.hpp"
#include "runtime/threads.hpp"
#include "tensoa/core/error.hpp"
#include "torchscript/jit_file.hpp"

namespace tensoa::pytorch {
namespace {

package::ArgumentDescription described_spec(const TensorSpec& spec) {
  package::ArgumentDescription argument;
  argument.name = spec.name;
  argument.type = spec.type();
  return argument;
}

}  // namespace

package::ModelDescription inspect_exported(const std::filesystem::path& path) {
  pin_torch_to_one_thread();
  const std::string subject = subject_of(path);
  try {
    const exported::ProgramFile file(path);
    const exported::Program program = exported::read_program(file.program(), c10::kCPU);
    const exported::Memory memory(program);
    const exported::ProgramSignature signature(program, memory);
    package::ModelDescription model;
    model.row_dependence = exported::rows_of(program).dependence;
    model.proof = "data flow of the exported graph";
    model.format = "torch.export " + exported::format_of(file.program());
    model.torch = program.torch;
    model.bytes = file.bytes();
    model.weights = model.weight_bytes = 0;
    for (const exported::Weight& weight : program.weights) {
      const at::Tensor tensor = file.tensor(weight.name);
      *model.weights += static_cast<std::size_t>(tensor.numel());
      *model.weight_bytes += tensor.nbytes();
    }
    for (std::size_t i = 0; i < signature.signature().inputs.size(); ++i) {
      model.inputs.push_back(described_spec(signature.signature().inputs[i]));
      model.inputs.back().may_be_written = signature.may_be_written(i);
    }
    for (const TensorSpec& output : signature.signature().outputs) {
      model.outputs.push_back(described_spec(output));
    }
    std::map<std::string, std::size_t> operators;
    for (const exported::Node& node : program.nodes) ++operators[node.target];
    for (const auto& [name, count] : operators) model.operators.emplace_back(name, count);
    return model;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw LoadError(subject +
                    "is a program of torch.export that cannot be loaded: " + short_message(error));
  }
}

}  // namespace tensoa::pytorch
