// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/model.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "tensoa/core/error.hpp"
#include "verified_run.hpp"

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

  /// The engines that are there, for calls that need no lock: the CPU's, then those of the first
  /// CUDA devices.
  std::array<std::atomic<const Engine*>, 65> ready{};

  std::atomic<const Engine*>* ready_on(Device device) {
    if (device.is_cpu()) return ready.data();
    const auto slot = static_cast<std::size_t>(device.index);  // huge for an index below 0
    return slot < ready.size() - 1 ? &ready[slot + 1] : nullptr;
  }
};

namespace {

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void require_on(const Device& device, const std::vector<BoundBlock>& blocks) {
  if (blocks.empty() || blocks.front().tensor.device == device) return;
  throw BindingError("block \"" + blocks.front().name + "\" lies on " +
                     to_string(blocks.front().tensor.device) + ", the queue belongs to " +
                     to_string(device) + "; run where the data is");
}

void require_arguments(const Binding& binding, const Signature& signature,
                       const std::filesystem::path& path) {
  const auto fail = [&](const std::string& got) {
    throw BindingError("model " + path.string() + " takes " +
                       std::to_string(signature.inputs.size()) + " inputs (" +
                       list_of(signature.inputs) + "), got " + got);
  };
  if (binding.match == Match::kByOrder) {
    if (binding.inputs.size() < signature.required_inputs ||
        binding.inputs.size() > signature.inputs.size()) {
      fail(std::to_string(binding.inputs.size()) + " blocks");
    }
    return;
  }
  const auto has_block = [&](const std::string& name) {
    return std::any_of(binding.inputs.begin(), binding.inputs.end(),
                       [&](const BoundBlock& block) { return block.name == name; });
  };
  for (const BoundBlock& block : binding.inputs) {
    if (std::find(signature.inputs.begin(), signature.inputs.end(), block.name) ==
        signature.inputs.end()) {
      fail("a block called \"" + block.name +
           "\"; name blocks as the arguments, or match by order");
    }
  }
  for (std::size_t i = 0; i < signature.required_inputs; ++i) {
    if (!has_block(signature.inputs[i])) {
      fail("no block called \"" + signature.inputs[i] + "\", which has no default");
    }
  }
}

}  // namespace

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
  std::atomic<const Engine*>* ready = shared_->ready_on(device);
  if (ready != nullptr) {
    if (const Engine* engine = ready->load(std::memory_order_acquire)) return *engine;
  }
  Shared::Deployment* deployment = nullptr;
  {
    const std::lock_guard lock(shared_->mutex);
    deployment = &shared_->deployments[device];
  }
  const std::lock_guard lock(deployment->mutex);
  if (deployment->engine == nullptr) {
    require_available(device);
    deployment->engine = shared_->kind.load(shared_->path, device, shared_->options);
    if (ready != nullptr) ready->store(deployment->engine.get(), std::memory_order_release);
  }
  return *deployment->engine;
}

const Engine& AnyModel::engine_for(const Queue& queue, const Binding& binding) const {
  require_on(queue.device(), binding.inputs);
  require_on(queue.device(), binding.outputs);
  require_live(binding);
  const Engine& engine = deploy(queue.device());
  require_arguments(binding, engine.signature(), shared_->path);
  return engine;
}

void AnyModel::warm_up(const Queue& queue, const Binding& binding) const {
  const Engine& engine = engine_for(queue, binding);
  if (!binding.is_empty()) engine.warm_up(queue, binding);
}

CopyReport AnyModel::run(const Queue& queue, const Binding& binding) const {
  const Engine& engine = engine_for(queue, binding);
  if (binding.is_empty()) return {};
  if (verifies_inputs()) {
    return verified_run(engine, queue, binding, "model " + shared_->path.string() + ": ");
  }
  return engine.run(queue, binding);
}

CopyReport AnyModel::run_batches(const Queue& queue, const Binding& binding,
                                 std::size_t rows) const {
  if (rows == 0) throw ConfigError("Model::forward_batches: batches of 0 rows; expected 1 or more");
  require_live(binding);
  const std::size_t all = rows_of(binding);
  Binding batch = binding;
  batch.accepted_by.start();
  CopyReport copies;
  for (std::size_t first = 0; first < all; first += rows) {
    take_rows(binding, first, std::min(rows, all - first), batch);
    copies += run(queue, batch);
  }
  return copies;
}

}  // namespace tensoa::detail
