// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/triton/model_config.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tensoa/core/error.hpp"
#include "tensoa/package/published.hpp"

namespace tensoa::triton {
namespace {

using nlohmann::json;

std::string config_type(const WireBlock& block) {
  return "TYPE_" + std::string(kserve_name(block.dtype()));
}

/// Triton writes 64-bit integers in JSON as strings.
std::int64_t integer_of(const json& value) {
  if (value.is_string()) return std::stoll(value.get<std::string>());
  return value.get<std::int64_t>();
}

std::int64_t max_batch_of(const json& config) {
  const auto found = config.find("max_batch_size");
  return found == config.end() ? 0 : integer_of(*found);
}

json tensor_config(const WireBlock& block) {
  return {{"name", block.name()}, {"data_type", config_type(block)}, {"dims", {block.planes, -1}}};
}

const json* tensor_called(const json& tensors, const std::string& name) {
  for (const json& tensor : tensors) {
    if (tensor.value("name", "") == name) return &tensor;
  }
  return nullptr;
}

[[noreturn]] void fail_tensors(const std::string& subject, const std::string& key,
                               const std::string& what) {
  throw LoadError(subject + "the Triton configuration has " + what + "; remove the " + key +
                  " entries from config.pbtxt, and the back-end adds them, or write it with "
                  "`tensoa deploy`");
}

void require_tensor(const WireBlock& block, const json& tensors, const std::string& key,
                    const std::string& subject) {
  const json* tensor = tensor_called(tensors, block.name());
  const std::string what = key + " \"" + block.name() + "\"";
  if (tensor == nullptr) fail_tensors(subject, key, "no " + what);
  std::vector<std::int64_t> dims;
  for (const json& dim : tensor->value("dims", json::array())) dims.push_back(integer_of(dim));
  const std::vector<std::int64_t> expected{block.planes, -1};
  const std::string type = tensor->value("data_type", "");
  if (type != config_type(block) || dims != expected) {
    fail_tensors(subject, key,
                 what + " as " + type + " " + json(dims).dump() + ", expected " +
                     config_type(block) + " " + json(expected).dump());
  }
  if (key == "input" && !tensor->value("allow_ragged_batch", false)) {
    fail_tensors(subject, key,
                 what +
                     " without allow_ragged_batch, expected allow_ragged_batch: true, because the "
                     "requests of a batch have different numbers of rows");
  }
}

void require_tensors_of(const std::vector<WireBlock>& blocks, const json& config,
                        const std::string& key, const std::string& subject) {
  const json tensors = config.value(key, json::array());
  if (tensors.size() != blocks.size()) {
    fail_tensors(subject, key,
                 std::to_string(tensors.size()) + " " + key + " entries, expected the " +
                     std::to_string(blocks.size()) + " of the model");
  }
  for (const WireBlock& block : blocks) require_tensor(block, tensors, key, subject);
}

json parsed_config(std::string_view config, const std::string& subject) {
  try {
    return json::parse(config);
  } catch (const json::exception& error) {
    throw LoadError(subject + "the Triton configuration cannot be read: " + error.what());
  }
}

}  // namespace

std::string completed_config(const Wire& wire, std::string_view config,
                             const std::string& subject) {
  const json before = parsed_config(config, subject);
  const std::int64_t max_batch = max_batch_of(before);
  if (max_batch < 0) {
    throw LoadError(subject + "max_batch_size is " + std::to_string(max_batch) +
                    ", expected 1 or more, or none");
  }
  json completed{{"name", before.value("name", "")},
                 {"max_batch_size", max_batch > 0 ? max_batch : kMaxBatch},
                 {"dynamic_batching", json::object()}};
  for (const WireBlock& block : wire.inputs) {
    json tensor = tensor_config(block);
    tensor["allow_ragged_batch"] = true;
    completed["input"].push_back(std::move(tensor));
  }
  for (const WireBlock& block : wire.outputs) completed["output"].push_back(tensor_config(block));
  return completed.dump();
}

void require_config(const Wire& wire, std::string_view text, const std::string& checksum,
                    std::uint64_t version, const std::string& subject) {
  const json config = parsed_config(text, subject);
  try {
    if (max_batch_of(config) < 1) {
      throw LoadError(subject + "the Triton configuration has max_batch_size " +
                      std::to_string(max_batch_of(config)) +
                      ", expected 1 or more: tensors are [1, planes, n]; write it with `tensoa "
                      "deploy`, or start the server without --disable-auto-complete-config");
    }
    require_tensors_of(wire.inputs, config, "input", subject);
    require_tensors_of(wire.outputs, config, "output", subject);
  } catch (const json::exception& error) {
    throw LoadError(subject + "the Triton configuration cannot be read: " + error.what());
  }
  const std::string expected = config_parameter(text, package::kChecksumParameter);
  const std::string of_version = config_parameter(text, kVersionParameter);
  const bool is_of_this = of_version.empty() || of_version == std::to_string(version);
  if (!expected.empty() && is_of_this && expected != checksum) {
    throw LoadError(subject + "has the checksum " + checksum + ", config.pbtxt expects " +
                    expected + " (" + package::kChecksumParameter +
                    "): the file was changed after it was deployed; deploy it again");
  }
}

std::string config_parameter(std::string_view config, const std::string& key) {
  const json all = json::parse(config, nullptr, false);
  const json::json_pointer place("/parameters/" + key + "/string_value");
  if (all.is_discarded() || !all.contains(place) || !all[place].is_string()) return {};
  return all[place].get<std::string>();
}

std::string config_pbtxt(const Wire& wire, const std::string& name, const std::string& checksum,
                         std::uint64_t version) {
  std::string text = "name: \"" + name +
                     "\"\nbackend: \"tensoa\"\nmax_batch_size: " + std::to_string(kMaxBatch) + '\n';
  const auto add = [&](const char* key, const WireBlock& block, const char* more) {
    text += std::string(key) + " [ { name: \"" + block.name() +
            "\" data_type: " + config_type(block) + " dims: [ " + std::to_string(block.planes) +
            ", -1 ]" + more + " } ]\n";
  };
  for (const WireBlock& block : wire.inputs) add("input", block, " allow_ragged_batch: true");
  for (const WireBlock& block : wire.outputs) add("output", block, "");
  text += "dynamic_batching { }\n";
  const auto parameter = [&](const char* key, const std::string& value) {
    text += std::string("parameters { key: \"") + key + "\" value { string_value: \"" + value +
            "\" } }\n";
  };
  parameter(package::kChecksumParameter, checksum);
  parameter(kVersionParameter, std::to_string(version));
  return text;
}

}  // namespace tensoa::triton
