// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/model.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "tensoa/core/error.hpp"

namespace tensoa::detail {

struct AnyModel::Shared {
  /// The engine of one device; its mutex is held while it loads, so that only those who need it
  /// wait.
  struct Deployment {
    std::mutex mutex;
    std::shared_ptr<const Engine> engine;
  };

  std::filesystem::path path;
  ModelOptions options;
  EngineKind kind;
  std::mutex mutex;
  std::map<Device, Deployment> deployments;
};

AnyModel::AnyModel(std::filesystem::path path, CompilationType compilation, ModelOptions options) {
  std::error_code status;
  if (!std::filesystem::is_regular_file(path, status)) {
    throw LoadError(
        "model " + path.string() + ": " +
        (std::filesystem::exists(path, status) ? "is not a file" : "there is no such file"));
  }
  EngineKind kind = find_engine(path, compilation);
  shared_ = std::make_shared<Shared>();
  shared_->path = std::move(path);
  shared_->options = options;
  shared_->kind = std::move(kind);
}

const std::filesystem::path& AnyModel::path() const noexcept { return shared_->path; }

const Engine& AnyModel::deploy(Device device) const {
  Shared::Deployment* deployment = nullptr;
  {
    const std::lock_guard lock(shared_->mutex);
    deployment = &shared_->deployments[device];
  }
  const std::lock_guard lock(deployment->mutex);
  if (deployment->engine == nullptr) {
    require_available(device);
    deployment->engine = shared_->kind.load(shared_->path, device, shared_->options);
  }
  return *deployment->engine;
}

CopyReport AnyModel::run(const Queue& queue, const Binding& binding) const {
  for (const auto* blocks : {&binding.inputs, &binding.outputs}) {
    if (blocks->empty() || blocks->front().tensor.device == queue.device()) continue;
    throw BindingError("block \"" + blocks->front().name + "\" lies on " +
                       to_string(blocks->front().tensor.device) + ", the queue belongs to " +
                       to_string(queue.device()) + "; run where the data is");
  }
  const Engine& engine = deploy(queue.device());
  const Signature& signature = engine.signature();
  if (binding.inputs.size() < signature.required_inputs ||
      binding.inputs.size() > signature.inputs.size()) {
    std::string names;
    for (const std::string& name : signature.inputs) names += (names.empty() ? "" : ", ") + name;
    throw BindingError("model " + shared_->path.string() + " takes " +
                       std::to_string(signature.inputs.size()) + " inputs (" + names + "), got " +
                       std::to_string(binding.inputs.size()) + " blocks");
  }
  if (binding.is_empty()) return {};
  return engine.run(queue, binding);
}

}  // namespace tensoa::detail
