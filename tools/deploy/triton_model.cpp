// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "deploy/triton_model.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "deploy/python_variant.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/describe.hpp"
#include "tensoa/engine/signature.hpp"
#include "tensoa/package/described_columns.hpp"
#include "tensoa/package/file_kind.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/package/published.hpp"
#include "tensoa/package/sha256.hpp"
#include "tensoa/triton/model_config.hpp"
#include "tensoa/triton/served_file.hpp"
#include "tensoa/triton/wire.hpp"

namespace tensoa::tools {
namespace {

namespace fs = std::filesystem;

enum class Kind { kOurs, kTorchScript, kOnnx };

std::string subject_of(const std::string& model) { return "model " + model + ": "; }

Kind kind_of(const std::string& model) {
  std::error_code ignored;
  if (!fs::is_regular_file(model, ignored)) {
    throw LoadError(subject_of(model) + (fs::exists(model, ignored) ? "is not a file, expected one"
                                                                    : "there is no such file"));
  }
  const package::FileKind kind = package::kind_of_file(model);
  if (kind == package::FileKind::kTorchScript) return Kind::kTorchScript;
  if (kind == package::FileKind::kOnnx) return Kind::kOnnx;
  return Kind::kOurs;
}

const BindingDescription& require_binding(const std::optional<BindingDescription>& binding,
                                          const std::string& model, const char* what) {
  if (binding) return *binding;
  throw InputError(subject_of(model) + what +
                   " does not state its columns; give the binding that the program writes with "
                   "describe(metadata): --binding FILE (docs/binding.md)");
}

/// Of --version-policy as Triton spells it.
std::string policy_text(const std::string& policy) {
  if (policy == "all") return "version_policy: { all { } }\n";
  if (policy == "latest") return "version_policy: { latest { num_versions: 1 } }\n";
  return "version_policy: { specific { versions: [ " + policy + " ] } }\n";
}

NewFile config_file(const TritonModelCall& call, const std::string& text) {
  return {.place = "config.pbtxt",
          .text = kDeployMark + " (docs/triton.md)\n" + text + policy_text(call.version_policy)};
}

/// The numbers of "1,3"; none where it is something else.
std::vector<std::uint64_t> numbers_in(const std::string& list) {
  std::vector<std::uint64_t> numbers;
  std::stringstream stream(list + ',');
  for (std::string number; std::getline(stream, number, ',');) {
    constexpr std::size_t kDigits = 10;
    const bool is_right = !number.empty() && number.size() <= kDigits &&
                          std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
    if (!is_right) return {};
    numbers.push_back(std::stoull(number));
  }
  return numbers;
}

std::string listed(const std::vector<std::uint64_t>& versions) {
  std::string text;
  for (const std::uint64_t version : versions) {
    text += (text.empty() ? "" : ", ") + std::to_string(version);
  }
  return text;
}

/// The lines of a configuration that describe tensors.
std::vector<std::string> tensors_in(std::istream& config) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(config, line);) {
    if (line.starts_with("input ") || line.starts_with("output ")) lines.push_back(line);
  }
  return lines;
}

fs::path in_version(const TritonModelCall& call, const std::string& name) {
  return fs::path(std::to_string(call.version)) / name;
}

std::string head(const TritonModelCall& call, const char* backend) {
  return fmt::format("name: \"{}\"\nbackend: \"{}\"\nmax_batch_size: 0\n", call.name, backend);
}

std::string parameters(const TritonModelCall& call) {
  return fmt::format(
      "parameters {{ key: \"{}\" value {{ string_value: \"{}\" }} }}\n"
      "parameters {{ key: \"{}\" value {{ string_value: \"{}\" }} }}\n",
      package::kChecksumParameter, package::checksum_of_file(call.model), triton::kVersionParameter,
      call.version);
}

/// One line of a tensor of Triton's back-end for TorchScript, which numbers them.
std::string numbered(const char* key, std::size_t number, const BlockDescription& block) {
  const TensorSpec spec = spec_of(block);
  std::string dims;
  for (const std::int64_t size : *spec.sizes) {
    dims += (dims.empty() ? "" : ", ") + std::to_string(size == kAnySize ? -1 : size);
  }
  return fmt::format("{} [ {{ name: \"{}__{}\" data_type: TYPE_{} dims: [ {} ] }} ]  # {}\n", key,
                     key[0] == 'i' ? "INPUT" : "OUTPUT", number, triton::kserve_name(block.dtype),
                     dims, block.name);
}

std::vector<NewFile> torchscript(const TritonModelCall& call, const BindingDescription& binding) {
  std::string text = head(call, "pytorch");
  for (std::size_t i = 0; i < binding.inputs.size(); ++i) {
    text += numbered("input", i, binding.inputs[i]);
  }
  for (std::size_t i = 0; i < binding.outputs.size(); ++i) {
    text += numbered("output", i, binding.outputs[i]);
  }
  return {config_file(call, text + parameters(call)),
          {.place = in_version(call, "model.pt"), .copy_of = call.model}};
}

std::vector<NewFile> onnx(const TritonModelCall& call) {
  return {config_file(call, fmt::format("name: \"{}\"\nbackend: \"onnxruntime\"\n", call.name) +
                                "# The server adds inputs and outputs from the file.\n" +
                                parameters(call)),
          {.place = in_version(call, "model.onnx"), .copy_of = call.model}};
}

package::ModelDescription as_model(const BindingDescription& binding) {
  package::ModelDescription model;
  model.binding = binding;
  for (const BlockDescription& block : binding.inputs) {
    model.inputs.push_back(package::argument_of(block, block.collection));
  }
  for (const BlockDescription& block : binding.outputs) {
    model.outputs.push_back(package::argument_of(block, block.collection));
  }
  return model;
}

std::vector<NewFile> python(const TritonModelCall& call, Kind kind,
                            const BindingDescription& binding) {
  const triton::Wire wire = triton::wire_of(as_model(binding), subject_of(call.model));
  std::string text =
      triton::config_pbtxt(wire, call.name, package::checksum_of_file(call.model), call.version);
  const std::string ours = "backend: \"tensoa\"";
  text.replace(text.find(ours), ours.size(), "backend: \"python\"");
  const char* file = kind == Kind::kOnnx ? "model.onnx" : "model.pt";
  return {config_file(call, text),
          {.place = in_version(call, "model.py"), .text = kPythonVariant},
          {.place = in_version(call, "binding.json"), .text = to_json(binding)},
          {.place = in_version(call, file), .copy_of = call.model}};
}

std::vector<NewFile> ours(const TritonModelCall& call) {
  const package::ModelDescription description = package::inspect(call.model);
  triton::require_without_torch(description, subject_of(call.model));
  const triton::Wire wire = triton::wire_of(description, subject_of(call.model));
  const std::string ending = fs::path(call.model).extension().string();
  return {
      config_file(call, triton::config_pbtxt(wire, call.name, package::checksum_of_file(call.model),
                                             call.version)),
      {.place = in_version(call, "model" + ending), .copy_of = call.model}};
}

}  // namespace

std::vector<std::uint64_t> served_versions(const TritonModelCall& call,
                                           const std::vector<std::uint64_t>& kept) {
  std::vector<std::uint64_t> there = kept;
  there.push_back(call.version);
  std::ranges::sort(there);
  there.erase(std::ranges::unique(there).begin(), there.end());
  if (call.version_policy == "all") return there;
  if (call.version_policy == "latest") return {there.back()};
  std::vector<std::uint64_t> served = numbers_in(call.version_policy);
  if (served.empty()) {
    throw InputError("--version-policy: got \"" + call.version_policy +
                     "\", expected all, latest, or versions: 1,3");
  }
  std::ranges::sort(served);
  for (const std::uint64_t version : served) {
    if (std::ranges::find(there, version) != there.end()) continue;
    throw InputError("--version-policy: got version " + std::to_string(version) +
                     ", expected some of those that are there: " + listed(there));
  }
  return served;
}

void require_same_tensors(const TritonModelCall& call, const std::vector<NewFile>& files,
                          const fs::path& before, const std::vector<std::uint64_t>& served) {
  std::ifstream old(before);
  std::istringstream text(files.front().text);
  if (!old || served == std::vector{call.version} || tensors_in(old) == tensors_in(text)) return;
  throw InputError(before.string() + ": has other inputs or outputs than " + call.model +
                   ", and Triton has one description of them for the versions " + listed(served) +
                   "; serve this one alone by --version-policy " + std::to_string(call.version) +
                   ", or give it a separate --name");
}

std::vector<NewFile> triton_model(const TritonModelCall& call) {
  const Kind kind = kind_of(call.model);
  std::optional<BindingDescription> binding;
  if (!call.binding.empty()) binding = package::read_binding(call.binding);
  if (kind == Kind::kOurs) {
    if (call.is_python) {
      throw InputError(subject_of(call.model) +
                       "got a package or tree file for --variant python, expected a TorchScript "
                       "or ONNX file: the program in it is native code that the back-end "
                       "\"tensoa\" runs; leave --variant out");
    }
    if (binding) {
      throw InputError(subject_of(call.model) +
                       "states which columns it reads; leave --binding out");
    }
    return ours(call);
  }
  const char* what = kind == Kind::kOnnx ? "an ONNX file" : "a TorchScript file";
  if (call.is_python) return python(call, kind, require_binding(binding, call.model, what));
  if (kind == Kind::kOnnx) return onnx(call);
  return torchscript(call, require_binding(binding, call.model, what));
}

}  // namespace tensoa::tools
