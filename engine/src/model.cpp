// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/model.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <mutex>
#include <utility>

#include "tensoa/core/device_guard.hpp"
#include "tensoa/core/error.hpp"
#include "verified_run.hpp"

namespace tensoa::detail {

struct AnyModel::Shared {
  using Loaded = std::shared_ptr<const Engine>;

  /// The engine of one device.
  struct Deployment {
    std::mutex mutex;
    /// The load in progress, or the one that succeeded: those who come while it runs wait for it and
    /// share its outcome. Not valid where nobody has asked yet, or the last load failed.
    std::shared_future<Loaded> load;
    std::atomic<const Engine*> ready{nullptr};  ///< of `load`, for calls that need no lock
  };

  std::filesystem::path path;
  ModelOptions options;
  EngineKind kind;
  std::array<Deployment, kMaxDevices> deployments;

  const Engine& load_on(Device device, Deployment& deployment);
};

const Engine& AnyModel::Shared::load_on(Device device, Deployment& deployment) {
  std::promise<Loaded> mine;
  std::shared_future<Loaded> load;
  bool is_mine = false;
  {
    const std::lock_guard lock(deployment.mutex);
    is_mine = !deployment.load.valid();
    if (is_mine) deployment.load = mine.get_future().share();
    load = deployment.load;
  }
  if (is_mine) {
    try {
      const DeviceGuard current(device);  // what libraries set up belongs there
      Loaded engine = kind.load(path, device, options);
      deployment.ready.store(engine.get(), std::memory_order_release);
      mine.set_value(std::move(engine));
    } catch (...) {
      {
        const std::lock_guard lock(deployment.mutex);
        deployment.load = {};  // first, so that whoever has seen the failure can try again
      }
      mine.set_exception(std::current_exception());
    }
  }
  return *load.get();
}

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
  const Matched matched = match_names(binding.match, binding.inputs, signature.inputs);
  if (!matched.by_name) {
    if (binding.inputs.size() < signature.required_inputs ||
        binding.inputs.size() > signature.inputs.size()) {
      fail(std::to_string(binding.inputs.size()) + " blocks");
    }
    if (const BoundBlock* block = matched.misplaced) {
      fail("block \"" + block->name + "\" as number " +
           std::to_string(block - binding.inputs.data() + 1) +
           "; name all blocks as their arguments, which may then stand in any order, or rename "
           "this one, or ask for Match::kByOrder");
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
  const std::size_t place = place_of(device);
  if (place < shared_->deployments.size()) {
    Shared::Deployment& deployment = shared_->deployments[place];
    const Engine* const engine = deployment.ready.load(std::memory_order_acquire);
    if (engine != nullptr) return *engine;
  }
  require_available(device);
  return shared_->load_on(device, shared_->deployments[place]);
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
