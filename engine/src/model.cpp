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
    /// share its outcome. Not valid before the first call, and after a load that failed.
    std::shared_future<Loaded> load;
    std::atomic<const Engine*> ready{nullptr};  ///< of `load`, for calls that need no lock
  };

  Shared(ModelLocation where, std::shared_ptr<const EngineLoader> by, ModelOptions with)
      : location(std::move(where)), loader(std::move(by)), options(std::move(with)) {}

  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> next{1};
    return next++;
  }

  const Engine& load_on(Device device, Deployment& deployment);

  std::string subject() const { return "model " + location.text() + ": "; }

  ModelLocation location;
  std::shared_ptr<const EngineLoader> loader;
  ModelOptions options;
  std::uint64_t number = next_number();  ///< no other model of the process ever has it
  std::array<Deployment, kMaxDevices> deployments;
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
      Loaded engine = loader->load(location, device, options);
      deployment.ready.store(engine.get(), std::memory_order_release);
      mine.set_value(std::move(engine));
    } catch (...) {
      {
        const std::lock_guard lock(deployment.mutex);
        deployment.load = {};  // first, so that a caller that has seen the failure can try again
      }
      mine.set_exception(std::current_exception());
    }
  }
  return *load.get();
}

namespace {

void require_on(const Device& device, const std::vector<BoundBlock>& blocks) {
  if (blocks.empty() || blocks.front().tensor.device == device) return;
  throw BindingError("block \"" + blocks.front().name + "\" lies on " +
                     to_string(blocks.front().tensor.device) + ", the queue belongs to " +
                     to_string(device) + "; run where the data is");
}

void require_options(const EngineLoader& loader, const ModelLocation& location,
                     const ModelOptions& options) {
  for (const ModelOptions::Entry& entry : options.entries()) {
    if (loader.takes(entry.type)) continue;
    throw LoadError("model " + location.text() + ": got options of " + std::string(entry.of) +
                    ", the engine that loads it is " + std::string(loader.name()) +
                    "; leave them out, or give those of that engine");
  }
}

}  // namespace

AnyModel::AnyModel(ModelLocation location, CompilationType compilation, ModelOptions options) {
  std::shared_ptr<const EngineLoader> loader = find_loader(location, compilation);
  require_options(*loader, location, options);
  shared_ = std::make_shared<Shared>(std::move(location), std::move(loader), std::move(options));
}

const ModelLocation& AnyModel::location() const noexcept { return shared_->location; }

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

std::shared_ptr<const Prepared> AnyModel::prepare(const Engine& engine,
                                                  const Binding& binding) const {
  require_live(binding);
  return engine.prepare(binding, engine.match(binding, "model " + shared_->location.text()));
}

Planned AnyModel::plan(Binding binding) const {
  const Device device = binding.device();
  std::shared_ptr<const Prepared> prepared = prepare(deploy(device), binding);
  return {std::move(binding), std::move(prepared), shared_->number, device};
}

const Engine& AnyModel::engine_for(const Queue& queue, const Planned& plan) const {
  if (plan.model != shared_->number) {
    throw ConfigError(shared_->subject() +
                      "got a plan that another model made, expected one of its own: "
                      "model.plan(metadata)");
  }
  if (plan.device != queue.device()) {
    require_on(queue.device(), plan.binding.inputs);
    require_on(queue.device(), plan.binding.outputs);
    throw BindingError(shared_->subject() + "the plan was made for " + to_string(plan.device) +
                       ", the queue belongs to " + to_string(queue.device()));
  }
  require_live(plan.binding);
  return *shared_->deployments[place_of(plan.device)].ready.load(std::memory_order_acquire);
}

CopyReport AnyModel::run_on(const Engine& engine, const Queue& queue, const Binding& binding,
                            const Prepared& prepared) const {
  if (binding.is_empty()) return {};
  if (verifies_inputs()) {
    return verified_run(engine, queue, binding, prepared, shared_->subject());
  }
  return engine.run(queue, binding, prepared);
}

CopyReport AnyModel::run(const Queue& queue, const Binding& binding) const {
  require_on(queue.device(), binding.inputs);
  require_on(queue.device(), binding.outputs);
  const Engine& engine = deploy(queue.device());
  return run_on(engine, queue, binding, *prepare(engine, binding));
}

CopyReport AnyModel::run(const Queue& queue, const Planned& plan) const {
  return run_on(engine_for(queue, plan), queue, plan.binding, *plan.prepared);
}

void AnyModel::submit(const Queue& queue, const Planned& plan, Completion completion) const {
  if (!completion) throw ConfigError(shared_->subject() + "submit: got no function to call");
  const Engine& engine = engine_for(queue, plan);
  if (!plan.binding.is_empty() && !verifies_inputs()) {
    return engine.submit(queue, plan.binding, *plan.prepared, std::move(completion));
  }
  CopyReport report;
  try {
    report = run_on(engine, queue, plan.binding, *plan.prepared);
  } catch (...) {
    return completion(current_failure());
  }
  complete_after(queue, report, std::move(completion));
}

void AnyModel::warm_up(const Queue& queue, const Planned& plan) const {
  const Engine& engine = engine_for(queue, plan);
  if (!plan.binding.is_empty()) engine.warm_up(queue, plan.binding, *plan.prepared);
}

CopyReport AnyModel::run_batches(const Queue& queue, const Planned& plan, std::size_t rows) const {
  if (rows == 0) throw ConfigError("Model::forward_batches: batches of 0 rows; expected 1 or more");
  const Engine& engine = engine_for(queue, plan);
  const std::size_t all = rows_of(plan.binding);
  Binding batch = plan.binding;
  CopyReport copies;
  for (std::size_t first = 0; first < all; first += rows) {
    take_rows(plan.binding, first, std::min(rows, all - first), batch);
    copies += run_on(engine, queue, batch, *plan.prepared);
  }
  return copies;
}

}  // namespace tensoa::detail
