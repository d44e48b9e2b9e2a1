// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/remote_engine.hpp"

#include <atomic>
#include <filesystem>
#include <future>
#include <new>
#include <utility>

#include "engine/infer_call.hpp"
#include "engine/wire_plan.hpp"
#include "service/registry.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/loader.hpp"
#include "tensoa/package/file_kind.hpp"
#include "tensoa/package/sha256.hpp"
#include "transport/forked.hpp"

namespace tensoa::remote {
namespace {

/// The analysis of the binding, here and by the fallback.
class RemotePrepared final : public Prepared {
 public:
  RemotePrepared(std::vector<std::size_t> arguments, std::shared_ptr<const KeptPlan> plan,
                 std::shared_ptr<const Prepared> local)
      : Prepared(std::move(arguments)), plan_(std::move(plan)), local_(std::move(local)) {}

  /// nullptr where no server had answered.
  const std::shared_ptr<const KeptPlan>& plan() const noexcept { return plan_; }

  const std::shared_ptr<const Prepared>& local() const noexcept { return local_; }

 private:
  std::shared_ptr<const KeptPlan> plan_;
  std::shared_ptr<const Prepared> local_;
};

/// A completion that is called once: by the first caller, else by the last owner, with an error.
class OnceCompleted {
 public:
  OnceCompleted(Completion completion, std::string subject)
      : completion_(std::move(completion)), subject_(std::move(subject)) {}
  ~OnceCompleted() {
    complete(Result<CopyReport>::failure(
        EngineError(subject_ + "the fallback did not run: remote::Options::run_fallback dropped "
                               "the function that it got, expected one call")));
  }
  OnceCompleted(const OnceCompleted&) = delete;
  OnceCompleted& operator=(const OnceCompleted&) = delete;

  void complete(Result<CopyReport> result) {
    if (Completion mine = take()) mine(std::move(result));
  }

  /// Empty after the first time.
  Completion take() {
    if (is_taken_.test_and_set()) return {};
    return std::move(completion_);
  }

 private:
  Completion completion_;
  std::string subject_;
  std::atomic_flag is_taken_;
};

class RemoteEngine final : public Engine {
 public:
  /// @param pool nullptr for the CPU
  RemoteEngine(std::shared_ptr<Service> service, std::shared_ptr<const Engine> fallback,
               std::shared_ptr<PinnedPool> pool)
      : service_(std::move(service)), fallback_(std::move(fallback)), pool_(std::move(pool)) {
    const auto model = service_->model();
    has_answer_ = model != nullptr;
    signature_ = has_answer_ ? signature_of(model->metadata) : fallback_->signature();
  }
  ~RemoteEngine() override {
    if (is_forked()) {
      static_cast<void>(new (std::nothrow) std::shared_ptr(std::move(service_)));  // never freed
    } else {
      service_->wait_for_calls();
    }
  }
  RemoteEngine(const RemoteEngine&) = delete;
  RemoteEngine& operator=(const RemoteEngine&) = delete;

  const Signature& signature() const noexcept override { return signature_; }

  std::vector<std::size_t> match(const Binding& binding,
                                 const std::string& subject) const override {
    return has_answer_ ? Engine::match(binding, subject) : fallback_->match(binding, subject);
  }

  std::shared_ptr<const Prepared> prepare(const Binding& binding,
                                          std::vector<std::size_t> arguments) const override {
    std::shared_ptr<const KeptPlan> plan;
    if (auto model = service_->model()) {
      WirePlan made = plan_for(binding, *model, service_->subject());
      plan = std::make_shared<const KeptPlan>(KeptPlan{std::move(model), std::move(made)});
    }
    std::shared_ptr<const Prepared> local;
    if (fallback_) {
      const std::string subject = "model " + service_->options().fallback;
      local = fallback_->prepare(binding, fallback_->match(binding, subject));
    }
    return std::make_shared<const RemotePrepared>(std::move(arguments), std::move(plan),
                                                  std::move(local));
  }

  /// As the servers publish it, or else the fallback, which is the same model by the word of the user.
  RowDependence row_dependence(const Binding& binding, const Prepared& prepared) const override {
    const auto& mine = static_cast<const RemotePrepared&>(prepared);
    const bool is_published = mine.plan() != nullptr && mine.plan()->model->published;
    if (is_published) return mine.plan()->model->published->model.row_dependence;
    if (fallback_) return fallback_->row_dependence(binding, *mine.local());
    return {RowDependence::Answer::kUnknown, "its servers do not state it"};
  }

  CopyReport run(const Queue& queue, const Binding& binding,
                 const Prepared& prepared) const override {
    const auto promise = std::make_shared<std::promise<Result<CopyReport>>>();
    std::future<Result<CopyReport>> done = promise->get_future();
    submit(queue, binding, prepared,
           [promise](Result<CopyReport> result) { promise->set_value(std::move(result)); });
    return done.get().value();
  }

  void submit(const Queue& queue, const Binding& binding, const Prepared& prepared,
              Completion completion) const override {
    if (is_forked()) {
      return completion(Result<CopyReport>::failure(EngineError(service_->subject() + kForked)));
    }
    std::unique_ptr<DeviceColumns> device;
    if (pool_) device = std::make_unique<DeviceColumns>(queue, binding, pool_);
    infer(service_, binding, static_cast<const RemotePrepared&>(prepared).plan(), std::move(device),
          fallback_for(queue, binding, prepared), std::move(completion));
  }

 private:
  RunLocally fallback_for(const Queue& queue, const Binding& binding,
                          const Prepared& prepared) const {
    if (!fallback_) return {};
    return [this, queue, binding, local = static_cast<const RemotePrepared&>(prepared).local()](
               Completion completion) mutable {
      const auto once = std::make_shared<OnceCompleted>(std::move(completion), service_->subject());
      auto call = [this, queue, binding, local, once] {
        if (Completion mine = once->take()) {
          fallback_->submit(queue, binding, *local, std::move(mine));
        }
      };
      const auto& run = service_->options().run_fallback;
      if (!run) return call();
      try {
        run(std::move(call));
      } catch (...) {
        once->complete(current_failure());
      }
    };
  }

  std::shared_ptr<Service> service_;
  std::shared_ptr<const Engine> fallback_;
  std::shared_ptr<PinnedPool> pool_;
  bool
      has_answer_;  ///< of a server, when it was loaded; else what it takes is what the fallback takes
  Signature signature_;
};

/// @throws LoadError, DeviceError
std::shared_ptr<const Engine> load_fallback(const Options& options, Device device) {
  if (options.fallback.empty()) return nullptr;
  const ModelLocation location(options.fallback);
  return find_loader(location)->load(location, device, {});
}

/// SHA-256 of the fallback where it is a package, which is what servers have then; else empty.
std::string checksum_of_fallback(const Options& options) {
  const std::filesystem::path file(options.fallback);
  if (options.fallback.empty() || package::kind_of_file(file) != package::FileKind::kPackage) {
    return {};
  }
  return package::checksum_of_file(file);
}

}  // namespace

std::shared_ptr<const Engine> load_remote_engine(const ModelLocation& location, Device device,
                                                 const Options& options) {
  std::shared_ptr<const Engine> fallback = load_fallback(options, device);
  const std::shared_ptr<Service> service = Service::make(location, options);
  const std::string checksum = checksum_of_fallback(options);
  if (!options.checksum.empty() && !checksum.empty() && options.checksum != checksum) {
    throw LoadError(service->subject() + "its servers must have the checksum " + options.checksum +
                    ", the fallback " + options.fallback + " has " + checksum +
                    "; expected one model: give the file that the servers have");
  }
  service->expect_fallback(checksum);
  try {
    service->load();
  } catch (const ServiceError&) {
    if (!fallback) throw;
    service->probe_until_loaded();
  }
  remember(service);
  return std::make_shared<RemoteEngine>(
      service, std::move(fallback),
      device.is_cpu() ? nullptr : std::make_shared<PinnedPool>(device));
}

}  // namespace tensoa::remote
