// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "served_model.hpp"

#include <sys/stat.h>

#include <memory>
#include <utility>

#include "api_errors.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/package/file_kind.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/package/published.hpp"
#include "tensoa/package/sha256.hpp"
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

package::ModelDescription description_of(const std::filesystem::path& file) {
  package::ModelDescription description = package::inspect(file);
  require_without_torch(description, subject_of(file));
  return description;
}

/// Trees take columns by name where their file has names, packages always.
package::NamedColumns named_columns(const std::filesystem::path& file,
                                    const package::ModelDescription& description) {
  if (package::kind_of_file(file) == package::FileKind::kPackage) {
    return package::NamedColumns::kAll;
  }
  return description.match == Match::kByName ? package::NamedColumns::kInputs
                                             : package::NamedColumns::kNone;
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
      stamp_(stamp_of(file_)),
      checksum_(package::checksum_of_file(file_)),
      model_(file_, CompilationType::kAny, {}) {
  const std::string subject = subject_of(file_);
  const package::ModelDescription description = description_of(file_);
  wire_ = wire_of(description, subject);
  published_ = package::to_json({checksum_, named_columns(file_, description), description});
  complete_config(model, wire_, subject);
  require_config(wire_, config_of(model), checksum_, version_of(model), subject);
}

ServedModel::Stamp ServedModel::stamp_of(const std::filesystem::path& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) throw LoadError(subject_of(file) + "cannot be read");
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

void ServedModel::require_unchanged() const {
  if (stamp_of(file_) == stamp_) return;
  throw LoadError(subject_of(file_) +
                  "was changed while the server loaded it; expected a file that is exchanged as a "
                  "whole, with its folder (`tensoa deploy`); load the model again");
}

}  // namespace tensoa::triton
