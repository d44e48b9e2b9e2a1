// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/pytorch/inspect.hpp"

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/api/module.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "jit_file.hpp"
#include "manifest.hpp"
#include "sha256.hpp"
#include "tensoa/core/error.hpp"
#include "threads.hpp"
#include "writes.hpp"

namespace tensoa::pytorch {
namespace {

using caffe2::serialize::PyTorchStreamReader;
using nlohmann::json;

// ---- TorchScript

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

ModelDescription inspect_jit_file(const std::filesystem::path& path) {
  ModelDescription model;
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
    const torch::jit::Module frozen = torch::jit::freeze(module);
    const Writes writes(*frozen.get_method("forward").graph());
    const std::vector<bool>& written = writes.to_arguments();
    for (std::size_t i = 0; i < model.inputs.size(); ++i) {
      model.inputs[i].may_be_written = written[i];
    }
    model.keeps_state = !writes.state_writer().empty();
  });
  PyTorchStreamReader archive(path.string());
  model.format = "TorchScript " + std::to_string(archive.version());
  return model;
}

// ---- packages

constexpr std::string_view kMark = "tensoa sha256 ";  // before the digits, at the end of the file
constexpr std::size_t kDigits = 64;
constexpr int kNewestSchema = 2;

/// The whole file, once its checksum is found right.
std::string checked_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw LoadError(subject_of(path) + "cannot be read");
  const std::string_view all = bytes;
  const std::size_t tail = kMark.size() + kDigits;
  if (all.size() < tail || all.substr(all.size() - tail, kMark.size()) != kMark) {
    throw LoadError(subject_of(path) +
                    "is not a package of tensoa, or was cut off: its checksum is missing (expected "
                    "a file written by python -m tensoa.export)");
  }
  if (sha256(all.substr(0, all.size() - kDigits)) != all.substr(all.size() - kDigits)) {
    throw LoadError(subject_of(path) +
                    "its checksum is wrong: it was changed or damaged; export or copy it again");
  }
  return bytes;
}

/// "float32[n0, 3]" for rows "n0".
std::string type_of(const BlockDescription& block, const std::string& rows) {
  std::vector<std::string> sizes{rows};
  if (block.shape == BlockShape::kColumns) {
    sizes = {std::to_string(block.columns.size()), rows};
  } else {
    if (!block.element.has_planes() || block.columns.size() > 1) {
      sizes.push_back(std::to_string(block.columns.size()));
    }
    if (block.element.has_planes()) sizes.push_back(std::to_string(block.element.rows));
    if (block.element.kind == ColumnKind::kMatrix) {
      sizes.push_back(std::to_string(block.element.columns));
    }
  }
  std::string text(name_of(block.dtype));
  for (const std::string& size : sizes) text += (&size == &sizes.front() ? "[" : ", ") + size;
  return text + ']';
}

ArgumentDescription described(const BlockDescription& block, std::optional<std::size_t> collection,
                              std::size_t rows) {
  const std::string count = collection ? 'n' + std::to_string(*collection) : std::to_string(rows);
  return {block.name, type_of(block, count), block, collection, rows};
}

void describe_blocks(ModelDescription& model, const json& manifest) {
  model.binding = parse_binding(manifest.at("binding").dump());
  model.match = model.binding->match;
  const std::vector<std::size_t> collections = collections_in(manifest, *model.binding);
  for (std::size_t i = 0; i < collections.size(); ++i) {
    model.inputs.push_back(described(model.binding->inputs[i], collections[i], 0));
  }
  for (std::size_t i = 0; i < model.binding->outputs.size(); ++i) {
    const json& rule = manifest.at("rows").at(i);
    const bool follows = rule.contains("collection");
    model.outputs.push_back(
        described(model.binding->outputs[i],
                  follows ? std::optional(rule["collection"].get<std::size_t>()) : std::nullopt,
                  follows ? 0 : rule.at("rows").get<std::size_t>()));
  }
}

void describe_fused(ModelDescription& model, const json& fused, PyTorchStreamReader& archive) {
  model.fused_stages = fused.at("stages").get<std::vector<std::string>>();
  if (fused.contains("deterministic")) model.is_deterministic = fused["deterministic"].get<bool>();
  const auto add = [&](const json& variant, const char* name) {
    model.programs.push_back(
        {.kind = "fused",
         .name = variant.at(name).get<std::string>(),
         .status = variant.at("status").get<std::string>(),
         .cpu_flags = variant.value("cpu_flags", std::vector<std::string>{}),
         .bytes = archive.getRecordSize(variant.at("file").get<std::string>())});
  };
  for (const json& variant : fused.value("cpu", json::array())) add(variant, "name");
  if (!fused.contains("cuda")) return;
  for (const json& code : fused.at("cuda").at("code")) add(code, "architecture");
}

/// The program of TorchInductor, if there is one.
void describe_inductor(ModelDescription& model, const json& manifest,
                       PyTorchStreamReader& archive) {
  std::size_t bytes = 0;
  bool is_there = false;
  for (const std::string& name : archive.getAllRecords()) {
    if (!name.starts_with("data/aotinductor/")) continue;
    bytes += archive.getRecordSize(name);
    is_there = is_there || name.ends_with(".so");
  }
  if (!is_there) return;
  model.programs.push_back(
      {.kind = "AOTInductor",
       .name = model.gpu_architecture.empty() ? model.machine : model.gpu_architecture,
       .status =
           manifest.at("checks").empty() && model.gpu_checks.empty() ? "built, not run" : "checked",
       .cpu_flags = manifest.at("cpu_flags").get<std::vector<std::string>>(),
       .bytes = bytes});
}

void describe_gpu_checks(ModelDescription& model, const json& checks) {
  for (const json& check : checks) {
    GpuCheckDescription& last = model.gpu_checks.emplace_back();
    last.architecture = check.at("architecture").get<std::string>();
    last.gpu = check.at("gpu").get<std::string>();
    last.error = check.at("relative_error").get<std::map<std::string, double>>();
    const json& graphs = check.at("cuda_graphs");
    last.has_graphs = graphs.is_boolean() && graphs.get<bool>();
    if (graphs.is_string()) last.why_no_graphs = graphs.get<std::string>();
  }
}

/// `action(manifest, archive)` on a package.
template <class Action>
void with_package(const std::filesystem::path& path, const Action& action) {
  std::istringstream bytes(checked_bytes(path));
  try {
    PyTorchStreamReader archive(&bytes);
    const json manifest = manifest_of(archive);
    const int schema = manifest.at("schema").get<int>();
    if (schema < 1 || schema > kNewestSchema) {
      throw LoadError(subject_of(path) + "its format is " + std::to_string(schema) +
                      ", this version of tensoa reads " + std::to_string(kNewestSchema) +
                      "; export it again");
    }
    action(manifest, archive);
  } catch (const LoadError&) {
    throw;
  } catch (const std::exception& error) {
    const std::string reason = short_message(error);
    throw LoadError(subject_of(path) + "is not a package that this version can read: " +
                    reason.substr(0, reason.find(". ")));
  }
}

ModelDescription inspect_package(const std::filesystem::path& path) {
  ModelDescription model;
  model.compilation = CompilationType::kAheadOfTime;
  model.proof = "torch.export: the program writes its outputs and nothing else";
  with_package(path, [&](const json& manifest, PyTorchStreamReader& archive) {
    model.format = "package " + manifest["schema"].dump();
    model.target = manifest.at("target").get<std::string>();
    model.machine = manifest.at("machine").get<std::string>();
    model.gpu_architecture = manifest.value("gpu_architecture", "");
    model.torch = manifest.at("torch").get<std::string>();
    describe_blocks(model, manifest);
    if (manifest.contains("fused")) describe_fused(model, manifest["fused"], archive);
    describe_gpu_checks(model, manifest.value("gpu_checks", json::array()));
    describe_inductor(model, manifest, archive);
    for (const json& check : manifest.at("checks")) {
      using Errors = std::map<std::string, double>;
      model.checks.push_back({check.at("rows").get<std::vector<std::size_t>>(),
                              check.value("numbers", "normal"),
                              check.at("relative_error").get<Errors>(),
                              check.at("relative_error_eager").get<Errors>()});
    }
  });
  return model;
}

/// Hands out the bytes of a record one after another.
class Pieces {
 public:
  explicit Pieces(std::string_view bytes) : left_(bytes) {}

  template <class T>
  std::vector<T> next(std::size_t bytes) {
    if (bytes > left_.size()) throw std::runtime_error("its recorded results are cut off");
    std::vector<T> values(bytes / sizeof(T));
    std::copy_n(left_.data(), bytes, reinterpret_cast<char*>(values.data()));
    left_.remove_prefix(bytes);
    return values;
  }

 private:
  std::string_view left_;
};

RecordedResults::Case recorded_case(std::string_view record, const json& text,
                                    const ModelDescription& model) {
  RecordedResults::Case one;
  one.rows = text.at("rows").get<std::size_t>();
  const std::size_t rows = one.rows;
  Pieces pieces(record);
  const auto planes = [](const ArgumentDescription& argument) {
    return argument.block->columns.size() * argument.block->element.planes();
  };
  const auto rows_of = [&](const ArgumentDescription& argument) {
    return argument.collection ? rows * (1 + 2 * *argument.collection) : argument.rows;
  };
  for (const ArgumentDescription& input : model.inputs) {
    const FieldInfo& element = input.block->element;
    const std::size_t line =
        element.is_scalar() ? std::min<std::size_t>(rows_of(input), 1) : rows_of(input);
    one.inputs.push_back(pieces.next<std::byte>(planes(input) * line * element.element_size()));
  }
  for (const ArgumentDescription& output : model.outputs) {
    one.outputs.push_back(pieces.next<double>(planes(output) * rows_of(output) * sizeof(double)));
  }
  one.numbers = text.value("numbers", one.numbers);
  one.tolerances = text.value("tolerances", one.tolerances);
  for (std::size_t i = 0; i < one.tolerances.size(); ++i) {
    if (i >= model.outputs.size() || one.tolerances[i].size() != planes(model.outputs[i])) {
      throw std::runtime_error("its recorded tolerances are not those of its output columns");
    }
  }
  return one;
}

}  // namespace

ModelDescription inspect(const std::filesystem::path& path) {
  hold_torch_threads();
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) {
    throw LoadError(subject_of(path) + (std::filesystem::exists(path, failure)
                                            ? "is not a file"
                                            : "there is no such file"));
  }
  ModelDescription model =
      path.extension() == ".pt2" ? inspect_package(path) : inspect_jit_file(path);
  model.bytes = std::filesystem::file_size(path, failure);
  return model;
}

std::optional<RecordedResults> recorded_results(const std::filesystem::path& path) {
  const ModelDescription model = inspect(path);
  if (!model.binding) return std::nullopt;
  std::optional<RecordedResults> results;
  with_package(path, [&](const json& manifest, PyTorchStreamReader& archive) {
    if (!manifest.contains("recorded")) return;
    const json& recorded = manifest["recorded"];
    results.emplace().tolerance = recorded.at("tolerance").get<double>();
    for (const json& one : recorded.at("cases")) {
      const auto [data, size] = archive.getRecord(one.at("file").get<std::string>());
      results->cases.push_back(
          recorded_case({static_cast<const char*>(data.get()), size}, one, model));
    }
  });
  return results;
}

}  // namespace tensoa::pytorch
