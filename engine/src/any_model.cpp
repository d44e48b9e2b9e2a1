// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/any_model.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "calls_in_flight.hpp"
#include "tensoa/core/device_guard.hpp"
#include "tensoa/core/error.hpp"
#include "verified_run.hpp"

namespace tensoa {

struct AnyModel::Shared {
  using Loaded = std::shared_ptr<const Engine>;

  /// The engine of one device.
  struct Deployment {
    std::mutex mutex;
    /// The load in progress, or the one that succeeded: those who come while it runs wait for it and
    /// share its outcome. Not valid before the first call, and after a load that failed.
    std::shared_future<Loaded> load;
    std::atomic<const Engine*> ready{nullptr};  ///< of `load`, for calls that need no lock
    std::optional<Signature> signature;         ///< of the first engine, and of all that replace it
    Device device;
  };

  Shared(ModelLocation where, std::shared_ptr<const EngineLoader> by, ModelOptions with)
      : location(std::move(where)),
        source(location),
        loader(std::move(by)),
        options(std::move(with)) {}

  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> next{1};
    return next++;
  }

  void load_on(Device device, Deployment& deployment);
  void reload(const ModelLocation& from);
  Loaded load_from(const ModelLocation& from, Device device) const;

  std::string subject() const { return "model " + location.text() + ": "; }

  ModelLocation location;
  /// Held while engines are loaded: shared by the first load on a device, alone by a reload.
  std::shared_mutex loading;
  ModelLocation source;  ///< of the engines, guarded by `loading`
  detail::CallsInFlight calls;
  std::shared_ptr<const EngineLoader> loader;
  ModelOptions options;
  std::uint64_t number = next_number();  ///< no other model of the process ever has it
  std::array<Deployment, kMaxDevices> deployments;
};

AnyModel::Shared::Loaded AnyModel::Shared::load_from(const ModelLocation& from,
                                                     Device device) const {
  const DeviceGuard current(device);  // what libraries set up belongs there
  return loader->load(from, device, options);
}

void AnyModel::Shared::load_on(Device device, Deployment& deployment) {
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
      const std::shared_lock no_reload(loading);
      Loaded engine = load_from(source, device);
      deployment.device = device;
      deployment.signature = engine->signature();
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
  load.get();
}

void AnyModel::Shared::reload(const ModelLocation& from) {
  struct Replacement {
    Deployment* deployment;
    Loaded engine;
    std::shared_future<Loaded> load;
  };
  const std::unique_lock alone(loading);
  std::vector<Replacement> replacements;
  std::exception_ptr lost;
  for (Deployment& deployment : deployments) {
    if (deployment.ready.load() == nullptr) continue;
    Loaded engine;
    try {
      engine = load_from(from, deployment.device);
    } catch (const DeviceLostError&) {
      lost =
          std::current_exception();  // calls there fail anyway; the other devices get the weights
      continue;
    }
    const std::string differs = detail::difference(*deployment.signature, engine->signature());
    if (!differs.empty()) {
      throw LoadError("model " + from.text() + ": is not a program of " + location.text() +
                      " with other weights: " + differs +
                      "; reload a file of the same program, or make another Model of this one");
    }
    std::promise<Loaded> loaded;
    loaded.set_value(engine);
    replacements.push_back({&deployment, std::move(engine), loaded.get_future().share()});
  }
  if (lost && replacements.empty()) std::rethrow_exception(lost);
  source = from;
  for (Replacement& replacement : replacements) {
    const std::lock_guard lock(replacement.deployment->mutex);
    replacement.deployment->ready.store(replacement.engine.get());
    std::swap(replacement.load, replacement.deployment->load);
  }
  calls.wait_for_earlier();  // then `replacements` frees the old engines
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

/// The engine of a device where the model is loaded, which stays as long as this does.
class AnyModel::Call {
 public:
  Call(Shared& shared, Device device) noexcept
      : in_flight_(shared.calls),
        engine_(*shared.deployments[place_of(device)].ready.load(std::memory_order_seq_cst)) {}

  const Engine& engine() const noexcept { return engine_; }

 private:
  detail::CallsInFlight::Call in_flight_;
  const Engine& engine_;
};

const Signature& AnyModel::deploy(Device device) const {
  const std::size_t place = place_of(device);
  if (place >= shared_->deployments.size() ||
      shared_->deployments[place].ready.load(std::memory_order_acquire) == nullptr) {
    require_available(device);
    shared_->load_on(device, shared_->deployments[place]);
  }
  return *shared_->deployments[place].signature;
}

void AnyModel::reload(const ModelLocation& location) const {
  const std::string subject = "model " + location.text() + ": ";
  if (location.is_url() || shared_->location.is_url()) {
    throw LoadError(subject + "cannot replace the weights of " + shared_->location.text() +
                    ": a server reloads its models itself; expected two files");
  }
  const std::shared_ptr<const EngineLoader> loader = find_loader(location);
  if (loader->name() != shared_->loader->name()) {
    throw LoadError(subject + "is loaded by the engine " + std::string(loader->name()) + ", " +
                    shared_->location.text() + " by " + std::string(shared_->loader->name()) +
                    "; reload a file of the same kind, or make another Model of this one");
  }
  shared_->reload(location);
}

std::shared_ptr<const Prepared> AnyModel::prepare(const Engine& engine,
                                                  const Binding& binding) const {
  detail::require_live(binding);
  return engine.prepare(binding, engine.match(binding, "model " + shared_->location.text()));
}

Planned AnyModel::plan(Binding binding) const {
  const Device device = binding.device();
  deploy(device);
  std::shared_ptr<const Prepared> prepared = prepare(Call(*shared_, device).engine(), binding);
  return {std::move(binding), std::move(prepared), shared_->number, device};
}

RowDependence AnyModel::row_dependence(const Binding& binding) const {
  const Device device = binding.device();
  deploy(device);
  const Call call(*shared_, device);
  return call.engine().row_dependence(binding, *prepare(call.engine(), binding));
}

std::shared_ptr<const Engine> AnyModel::recordable(Device device) const {
  deploy(device);
  if (detail::verifies_inputs()) return nullptr;
  Shared::Deployment& deployment = shared_->deployments[place_of(device)];
  const std::lock_guard lock(deployment.mutex);
  Shared::Loaded engine = deployment.load.get();
  return engine->can_be_recorded() ? engine : nullptr;
}

void AnyModel::require_planned_for(const Queue& queue, const Planned& plan) const {
  if (plan.model != shared_->number) {
    throw ConfigError(shared_->subject() +
                      "got a plan that another model made, expected its own: "
                      "model.plan(metadata)");
  }
  if (plan.device != queue.device()) {
    require_on(queue.device(), plan.binding.inputs);
    require_on(queue.device(), plan.binding.outputs);
    throw BindingError(shared_->subject() + "the plan was made for " + to_string(plan.device) +
                       ", the queue belongs to " + to_string(queue.device()));
  }
  detail::require_live(plan.binding);
}

CopyReport AnyModel::run_on(const Engine& engine, const Queue& queue, const Binding& binding,
                            const Prepared& prepared) const {
  if (binding.is_empty()) return {};
  if (detail::verifies_inputs()) {
    return detail::verified_run(engine, queue, binding, prepared, shared_->subject());
  }
  return engine.run(queue, binding, prepared);
}

CopyReport AnyModel::run(const Queue& queue, const Binding& binding) const {
  require_on(queue.device(), binding.inputs);
  require_on(queue.device(), binding.outputs);
  deploy(queue.device());
  const Call call(*shared_, queue.device());
  return run_on(call.engine(), queue, binding, *prepare(call.engine(), binding));
}

CopyReport AnyModel::run(const Queue& queue, const Planned& plan) const {
  require_planned_for(queue, plan);
  const Call call(*shared_, plan.device);
  return run_on(call.engine(), queue, plan.binding, *plan.prepared);
}

void AnyModel::submit(const Queue& queue, const Planned& plan, Completion completion) const {
  if (!completion) throw ConfigError(shared_->subject() + "submit: got no function to call");
  require_planned_for(queue, plan);
  const std::shared_ptr<Shared> kept = shared_;  // the model may go once the completion is called
  const Call call(*kept, plan.device);
  if (!plan.binding.is_empty() && !detail::verifies_inputs()) {
    return call.engine().submit(queue, plan.binding, *plan.prepared, std::move(completion));
  }
  CopyReport report;
  try {
    report = run_on(call.engine(), queue, plan.binding, *plan.prepared);
  } catch (...) {
    return completion(current_failure());
  }
  complete_after(queue, report, std::move(completion));
}

void AnyModel::warm_up(const Queue& queue, const Planned& plan) const {
  require_planned_for(queue, plan);
  const Call call(*shared_, plan.device);
  if (!plan.binding.is_empty()) call.engine().warm_up(queue, plan.binding, *plan.prepared);
}

CopyReport AnyModel::run_batches(const Queue& queue, const Planned& plan, std::size_t rows) const {
  if (rows == 0) throw ConfigError("Model::forward_batches: batches of 0 rows; expected 1 or more");
  require_planned_for(queue, plan);
  const Call call(*shared_, plan.device);
  const std::size_t all = detail::rows_of(plan.binding);
  Binding batch = plan.binding;
  CopyReport copies;
  for (std::size_t first = 0; first < all; first += rows) {
    take_rows(plan.binding, first, std::min(rows, all - first), batch);
    copies += run_on(call.engine(), queue, batch, *plan.prepared);
  }
  return copies;
}

}  // namespace tensoa
