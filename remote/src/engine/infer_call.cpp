// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/infer_call.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <random>
#include <vector>

#include "engine/reply.hpp"
#include "engine/request.hpp"
#include "shared/sharing.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/log.hpp"

namespace tensoa::remote {
namespace {

/// A random share of a pause, so that the clients of a farm do not come back together ("full jitter", but not
/// below a half).
Clock::duration with_jitter(Clock::duration pause) {
  thread_local std::minstd_rand random(std::random_device{}());
  return pause / 2 + pause * static_cast<int>(random() % 1024) / 2048;
}

/// Callers cut the rows of a model whose rows are independent into several calls.
/// @throws BindingError where those of the next model are not
void require_rows(const ServedModel& model, const ServedModel& next, const std::string& subject) {
  const auto are_independent = [](const ServedModel& served) {
    return served.published && served.published->model.row_dependence.are_independent();
  };
  if (!are_independent(model) || are_independent(next)) return;
  const RowDependence rows =
      next.published ? next.published->model.row_dependence : RowDependence();
  throw BindingError(subject +
                     "its rows are not independent of each other, as those of the model " +
                     "before were: " + to_string(rows) + "; load the model again");
}

/// One call, from the first attempt to its completion. Owned by the attempt or pause that it is in.
class InferCall final : public std::enable_shared_from_this<InferCall> {
 public:
  InferCall(std::shared_ptr<Service> service, std::shared_ptr<const KeptPlan> plan,
            std::unique_ptr<DeviceColumns> device, RunLocally fallback, Completion completion)
      : service_(std::move(service)),
        course_{.kept = std::move(plan)},
        device_(std::move(device)),
        deadline_(Clock::now() + service_->options().deadline),
        fallback_(std::move(fallback)),
        completion_(std::move(completion)) {}

  void start(const Binding& binding) noexcept {
    try {
      std::shared_ptr<const ServedModel> model = service_->model();
      if (model == nullptr) {
        return fail(ServiceError(service_->subject() +
                                     "no servers have answered yet, and agreed on a model; " +
                                     advice_for({kUnavailable, {}}),
                                 kUnavailable, {}, true));
      }
      if (course_.kept == nullptr || course_.kept->model != model) {
        WirePlan plan = plan_for(binding, *model, service_->subject());
        if (course_.kept) require_rows(*course_.kept->model, *model, service_->subject());
        course_.kept =
            std::make_shared<const KeptPlan>(KeptPlan{std::move(model), std::move(plan)});
      }
      const ModelMetadataReply& metadata = course_.kept->model->metadata;
      if (device_) {
        course_.sharing = device_->find_sharing(metadata, course_.kept->plan, service_->subject());
      } else {
        course_.sharing = find_sharing(binding, metadata, course_.kept->plan);
      }
      const bool may_follow = service_->options().on_new_version == OnNewVersion::kFollow;
      if (course_.sharing || may_follow) {
        binding_ = binding;  // which request is made depends on the server
      } else if (!device_) {
        binding_.outputs = binding.outputs;
      }
      // On a device, requests are made when the columns are where servers get them.
      if (!device_ && !course_.sharing) make(course_.wire, binding, nullptr);
      attempt();
    } catch (...) {
      complete(detail::current_failure());
    }
  }

 private:
  /// A request, and the bytes that were copied for it.
  struct Request {
    std::shared_ptr<const Payload> payload = {};
    CopyReport copies = {};
  };

  /// All that belongs to the model that the call is for: replaced as a whole where the call goes on with another.
  struct Course {
    std::shared_ptr<const KeptPlan> kept;  ///< nullptr until start()
    Sharing sharing = {};                  ///< none after an attempt that was given up
    Request wire = {};
    Request shared = {};
    CopyReport copies = {};  ///< of the request that was sent last
    bool is_shared = false;  ///< whether that was `shared`
    bool has_lost = false;   ///< whether a server did not know the region
    std::vector<Server*> tried = {};
    std::vector<Server*> refused = {};  ///< of `tried`: have the model and will not take the call
    bool is_request_wrong = true;       ///< all of `refused` say so
    std::optional<ServiceError> failure = {};  ///< of the last attempt; or of the last that refused
    bool has_asked = false;                    ///< servers with other models once more
    int attempts = 0;
  };

  void make(Request& request, const Binding& binding, const Sharing* sharing) {
    if (request.payload != nullptr) return;
    request.payload = make_request(*service_, *course_.kept, binding, sharing, request.copies);
  }

  void attempt() {
    Server* const taken =
        service_->servers().take(course_.kept->model.get(), course_.tried, course_.refused);
    if (taken == nullptr) return give_up();
    ++course_.attempts;
    Server& server = *taken;
    course_.tried.push_back(&server);
    if (course_.sharing && server.registrations.begin(*course_.sharing.region)) {
      register_region(server);
    } else {
      send(server);
    }
  }

  /// Asks the server to take the shared memory, then sends the call in the way that is left.
  void register_region(Server& server) {
    const auto message = std::make_shared<Payload>();
    message->append(course_.sharing.region->registration());
    const auto deadline = std::min(deadline_, Clock::now() + service_->options().attempt_deadline);
    server.connection->call(course_.sharing.region->protocol().register_method, message, deadline,
                            [self = shared_from_this(), &server](const CallStatus& status, auto) {
                              const SharedRegion& region = *self->course_.sharing.region;
                              if (server.registrations.end(region, status))
                                self->warn_of_refusal(server, status);
                              if (server.registrations.has(region)) {
                                self->course_.sharing.region->note_registered(server.address,
                                                                              server.connection);
                              }
                              self->guarded([&] { self->send(server); });
                            });
  }

  void warn_of_refusal(const Server& server, const CallStatus& status) const {
    const SharingProtocol& protocol = course_.sharing.region->protocol();
    log(LogLevel::kWarning, service_->subject() + "server " + server.address + " does not take " +
                                protocol.name + ": " + name_of_code(status.code) + ", " +
                                status.message + "; columns go by the wire. " + protocol.advice);
  }

  static DeviceColumns::Way way(bool is_shared) noexcept {
    return is_shared ? DeviceColumns::Way::kRegion : DeviceColumns::Way::kWire;
  }

  /// Calls `next` in a completion thread when the queue of the columns has done its work; completes the call
  /// where that failed. A thread of the driver, which must free no queue, only passes the call on.
  /// @param taken a server that is given back where the queue failed, or none
  template <class Next>
  void after_queue(Server* taken, Next next) {
    service_->begin_call();  // keeps the service until the thread of the driver has left it
    try {
      device_->queue().when_settled(
          [self = shared_from_this(), taken, next](std::exception_ptr failure) mutable {
            Service& service = *self->service_;
            service.transport().after({}, [self = std::move(self), taken, next, failure] {
              if (failure) {
                if (taken != nullptr) self->service_->servers().release(*taken, Outcome::kUnused);
                return self->complete(Result<CopyReport>::failure(failure));
              }
              self->guarded([&] { next(*self); });
            });
            service.end_call();
          });
    } catch (...) {
      service_->end_call();
      throw;
    }
  }

  void send(Server& server) {
    const bool is_shared = course_.sharing && server.registrations.has(*course_.sharing.region);
    Request& request = is_shared ? course_.shared : course_.wire;
    try {
      if (device_ && !device_->is_staged(way(is_shared))) {
        device_->stage(way(is_shared));
        return after_queue(&server, [&server](InferCall& self) { self.send_staged(server); });
      }
      if (device_) {
        make(request, device_->in_host_memory(), is_shared ? &course_.sharing : nullptr);
      } else {
        make(request, binding_, is_shared ? &course_.sharing : nullptr);
      }
    } catch (...) {
      service_->servers().release(server, Outcome::kUnused);
      throw;
    }
    course_.is_shared = is_shared;
    course_.copies = request.copies;
    if (device_) course_.copies += device_->copies(way(is_shared));
    server.counters.note_sent(request.payload->size(), course_.attempts > 1);
    const Clock::time_point start = Clock::now();
    const auto deadline = std::min(deadline_, start + service_->options().attempt_deadline);
    server.connection->call(kModelInfer, request.payload, deadline,
                            [self = shared_from_this(), &server, start](
                                const CallStatus& status, std::span<const protobuf::Piece> reply) {
                              self->answered(server, start, status, reply);
                            });
  }

  /// The deadline is that of the caller, who also waits for the queue.
  void send_staged(Server& server) {
    if (Clock::now() < deadline_) return send(server);
    service_->servers().release(server, Outcome::kUnused);
    const auto deadline = std::to_string(service_->options().deadline.count());
    fail(ServiceError(
        service_->subject() +
            "the work before it on the queue of its columns took longer than the deadline of " +
            deadline +
            " ms, expected to end before; nothing was sent; give the call more time "
            "(remote::Options::deadline), "
            "or the queue less work",
        kDeadlineExceeded, {}, true));
  }

  void answered(Server& server, Clock::time_point start, const CallStatus& status,
                std::span<const protobuf::Piece> reply) noexcept {
    try {
      if (!status.is_ok()) return failed(server, status);
      if (course_.is_shared && !device_ &&
          !is_still_there(course_.sharing, binding_.outputs, course_.kept->plan)) {
        service_->servers().release(server, Outcome::kUnused);
        return repeat_by_wire();
      }
      take_reply(server, start, reply);
    } catch (...) {
      complete(detail::current_failure());
    }
  }

  void take_reply(Server& server, Clock::time_point start, std::span<const protobuf::Piece> reply) {
    try {
      write_outputs(reply, *course_.kept,
                    device_ ? device_->in_host_memory().outputs : binding_.outputs,
                    course_.is_shared ? &course_.sharing : nullptr, course_.copies);
    } catch (const ReplyError& error) {
      server.counters.note_failure(kInternal);
      const ServiceError what = service_->error(error.what, kInternal, server.address);
      if (!service_->servers().is_suspect(server)) {
        log(LogLevel::kWarning,
            std::string(what.what()) + "; it gets no calls until a probe succeeds");
      }
      return refused(server, what, false);
    } catch (...) {
      service_->servers().release(server, Outcome::kUnused);
      throw;
    }
    service_->servers().release(server, Outcome::kAnswered);
    if (course_.is_shared) server.registrations.confirm(*course_.sharing.region);
    std::size_t bytes = 0;
    for (const protobuf::Piece& piece : reply) bytes += piece.size();
    server.counters.note_success(bytes, Clock::now() - start);
    service_->budget().note_success();
    if (!device_) return complete(course_.copies);
    device_->write_back(way(course_.is_shared), course_.copies);
    after_queue(nullptr, [](InferCall& self) { self.complete(self.course_.copies); });
  }

  void failed(Server& server, const CallStatus& status) {
    const Verdict verdict = verdict_of(status);
    server.counters.note_failure(status.code);
    if (course_.is_shared && concerns_shared_memory(status)) {
      service_->servers().release(server, Outcome::kUnused);
      return lost_region(server);
    }
    const ServiceError error = service_->error(status, server, course_.attempts);
    if (verdict == Verdict::kRefused) {
      return refused(server, error, status.code == kInvalidArgument);
    }
    service_->servers().release(server, Outcome::kFailed);
    if (course_.is_shared && !was_not_taken(status)) {
      leave_outputs();
      if (verdict == Verdict::kElsewhere) server.registrations.lose(*course_.sharing.region);
      course_.sharing = {};
    }
    if (course_.refused.empty()) course_.failure = error;
    const Retry& retry = service_->options().retry;
    const bool has_budget = service_->budget().note_failure();
    const Clock::duration pause = next_pause();
    if (!has_budget || course_.attempts >= retry.attempts || Clock::now() + pause >= deadline_) {
      return give_up();
    }
    service_->transport().after(pause, [self = shared_from_this()] { self->repeat(); });
  }

  /// The server does not take the request, or its answer is none. It may have another model by now: so it is asked, and the call
  /// goes on elsewhere.
  /// @param may_be_the_request that is wrong, where the model is still the same
  void refused(Server& server, const ServiceError& error, bool may_be_the_request) {
    service_->servers().suspect(server);
    const auto deadline = std::min(deadline_, Clock::now() + service_->options().attempt_deadline);
    service_->ask(
        server, deadline,
        [self = shared_from_this(), &server, error, may_be_the_request](const CallStatus& answer) {
          self->guarded(
              [&] { self->go_elsewhere(server, error, may_be_the_request && answer.is_ok()); });
        });
  }

  void go_elsewhere(Server& server, const ServiceError& error, bool is_about_the_request) {
    const bool has_model = service_->servers().model_of(server) == course_.kept->model;
    service_->servers().release(server, Outcome::kUnused);
    if (has_model) {
      course_.refused.push_back(&server);
      course_.is_request_wrong = course_.is_request_wrong && is_about_the_request;
    }
    if (has_model || !course_.failure) course_.failure = error;
    if (course_.attempts >= service_->options().retry.attempts) return give_up();
    attempt();
  }

  /// No server is left for the call, or no time.
  void give_up() {
    const bool has_time = Clock::now() < deadline_;
    if (has_time && !course_.has_asked && service_->is_replaced(*course_.kept->model)) {
      course_.has_asked = true;
      return service_->ask_others([self = shared_from_this()] { self->repeat(); });
    }
    if (auto next =
            has_time && !has_followed_ ? service_->successor(course_.kept->model) : nullptr) {
      return go_on_with(std::move(next));
    }
    const bool is_replaced = service_->is_replaced(*course_.kept->model);
    const ServiceError error = is_replaced || !course_.failure
                                   ? service_->error_of_models(*course_.kept->model)
                                   : *course_.failure;
    const bool is_forbidden =
        is_replaced && service_->options().on_new_version == OnNewVersion::kFail;
    // What all servers of the model call wrong is wrong here too.
    const bool is_wrong = !is_replaced && !course_.refused.empty() && course_.is_request_wrong &&
                          service_->are_all_with(*course_.kept->model, course_.refused);
    if (is_forbidden || is_wrong) return complete(Result<CopyReport>::failure(error));
    fail(error);
  }

  void go_on_with(std::shared_ptr<const ServedModel> next) {
    const std::string subject =
        service_->subject() + "the servers have a new model, " + next->summary() + ": ";
    WirePlan plan = plan_for(binding_, *next, subject);
    require_rows(*course_.kept->model, *next, subject);
    service_->follow(course_.kept->model, next);
    course_ = {.kept =
                   std::make_shared<const KeptPlan>(KeptPlan{std::move(next), std::move(plan)})};
    has_followed_ = true;
    attempt();
  }

  void leave_outputs() {
    if (device_) {
      device_->abandon();
    } else {
      remote::leave_outputs(course_.sharing, binding_.outputs);
    }
  }

  /// The server was restarted, or is several: the region is registered again, once in a call.
  void lost_region(Server& server) {
    server.registrations.lose(*course_.sharing.region);
    if (course_.has_lost) return repeat_by_wire();
    course_.has_lost = true;
    repeat_now();
  }

  void repeat_by_wire() {
    course_.sharing = {};
    repeat_now();
  }

  /// What shared memory costs does not count as an attempt.
  void repeat_now() {
    --course_.attempts;
    course_.tried.pop_back();
    service_->transport().after({}, [self = shared_from_this()] { self->repeat(); });
  }

  void repeat() noexcept {
    guarded([&] { attempt(); });
  }

  template <class Do>
  void guarded(const Do& act) noexcept {
    try {
      act();
    } catch (...) {
      complete(detail::current_failure());
    }
  }

  /// None before the first attempt elsewhere.
  Clock::duration next_pause() {
    if (course_.attempts < static_cast<int>(service_->servers().all().size())) return {};
    const Retry& retry = service_->options().retry;
    const int doublings = std::min(course_.attempts - 1, 20);
    return with_jitter(
        std::min<Clock::duration>(retry.first_pause * (1 << doublings), retry.longest_pause));
  }

  /// The service did not answer.
  void fail(const ServiceError& error) noexcept {
    if (!fallback_ || !service_->may_fall_back()) {
      return complete(Result<CopyReport>::failure(error));
    }
    leave_device();
    const RunLocally run = std::move(fallback_);
    run([self = shared_from_this()](Result<CopyReport> result) {
      self->complete(std::move(result));
    });
  }

  /// Before a thread of the driver, or the caller, goes on: what is freed here may wait for the GPU.
  void leave_device() noexcept {
    course_.sharing = {};
    device_.reset();
  }

  void complete(Result<CopyReport> result) noexcept {
    leave_device();
    const std::shared_ptr<Service> service = service_;
    completion_(std::move(result));
    service->end_call();
  }

  std::shared_ptr<Service> service_;
  Course course_;
  std::unique_ptr<DeviceColumns> device_;  ///< nullptr: the columns are in host memory
  Clock::time_point deadline_;
  RunLocally fallback_;
  Completion completion_;
  Binding binding_;            ///< its inputs only where a request may be made later
  bool has_followed_ = false;  ///< to a new model
};

}  // namespace

void infer(const std::shared_ptr<Service>& service, const Binding& binding,
           std::shared_ptr<const KeptPlan> plan, std::unique_ptr<DeviceColumns> device,
           RunLocally fallback, Completion completion) {
  service->begin_call();
  std::make_shared<InferCall>(service, std::move(plan), std::move(device), std::move(fallback),
                              std::move(completion))
      ->start(binding);
}

}  // namespace tensoa::remote
