// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "served_model.hpp"

#include <memory>
#include <utility>

#include "api_errors.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/triton/model_config.hpp"
#include "tensoa/triton/served_file.hpp"

namespace tensoa::triton {
namespace {

struct DeleteMessage {
  void operator()(TRITONSERVER_Message* message) const noexcept {
    log_failure(TRITONSERVER_MessageDelete(message), "TRITONSERVER_MessageDelete");
  }
};
using OwnedMessage = std::unique_ptr<TRITONSERVER_Message, DeleteMessage>;

std::uint64_t version_of(TRITONBACKEND_Model* model) {
  std::uint64_t version = 0;
  require_ok(TRITONBACKEND_ModelVersion(model, &version), "the version of the model");
  return version;
}

std::filesystem::path file_of(TRITONBACKEND_Model* model) {
  int type = 0;
  const char* folder = nullptr;
  require_ok(TRITONBACKEND_ModelRepository(model, &type, &folder), "the folder of the model");
  return model_file_in(std::filesystem::path(folder) / std::to_string(version_of(model)));
}

std::string subject_of(const std::filesystem::path& file) {
  return "model " + file.string() + ": ";
}

Wire wire_in(const std::filesystem::path& file) {
  const package::ModelDescription description = package::inspect(file);
  require_without_torch(description, subject_of(file));
  return wire_of(description, subject_of(file));
}

std::string config_of(TRITONBACKEND_Model* model) {
  TRITONSERVER_Message* message = nullptr;
  require_ok(TRITONBACKEND_ModelConfig(model, 1, &message), "the configuration of the model");
  const OwnedMessage owned(message);
  return text_of(message);
}

void complete_config(TRITONBACKEND_Model* model, const Wire& wire, const std::string& subject) {
  bool is_wanted = false;
  require_ok(TRITONBACKEND_ModelAutoCompleteConfig(model, &is_wanted),
             "whether to complete the configuration");
  if (!is_wanted) return;
  const std::string json = completed_config(wire, config_of(model), subject);
  TRITONSERVER_Message* message = nullptr;
  require_ok(TRITONSERVER_MessageNewFromSerializedJson(&message, json.data(), json.size()),
             "the completed configuration");
  const OwnedMessage owned(message);
  require_ok(TRITONBACKEND_ModelSetConfig(model, 1, message), "setting the configuration");
}

}  // namespace

std::string text_of(TRITONSERVER_Message* message) {
  const char* bytes = nullptr;
  std::size_t size = 0;
  require_ok(TRITONSERVER_MessageSerializeToJson(message, &bytes, &size), "reading a message");
  return bytes == nullptr ? std::string() : std::string(bytes, size);
}

ServedModel::ServedModel(TRITONBACKEND_Model* model)
    : file_(file_of(model)),
      checksum_(checksum_of_file(file_)),
      wire_(wire_in(file_)),
      model_(file_, CompilationType::kAny, {}) {
  const std::string subject = subject_of(file_);
  complete_config(model, wire_, subject);
  require_config(wire_, config_of(model), checksum_, version_of(model), subject);
}

}  // namespace tensoa::triton
