// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/infer_call.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "engine/reply.hpp"
#include "engine/request.hpp"
#include "service/option_names.hpp"
#include "shared/sharing.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/log.hpp"

namespace tensoa::remote {
namespace {

/// Between two attempts while it is not known which server has the model.
constexpr Clock::duration kFirstDoubt = std::chrono::milliseconds(5);
constexpr Clock::duration kLongestDoubt = std::chrono::milliseconds(80);

std::uint_fast32_t draw() {
  thread_local std::minstd_rand random(std::random_device{}());
  return random();
}

/// A random share of a pause, so that the clients of a farm do not come back together ("full jitter", but not
/// below a half).
Clock::duration with_jitter(Clock::duration pause) {
  return pause / 2 + pause * static_cast<int>(draw() % 1024) / 2048;
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
      complete(current_failure());
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
    bool has_lost = false;   ///< whether a server answered that the region is unknown
    std::vector<Server*> tried = {};
    std::vector<Server*> refused = {};    ///< of `tried`: have the model and will not take the call
    bool is_request_wrong = true;         ///< all of `refused` say so
    bool is_last_of_request = false;      ///< the last one does
    bool has_repeated = false;            ///< a request that one server alone called wrong
    std::vector<Server*> denied_by = {};  ///< have another model, and were asked which
    std::optional<ServiceError> failure = {};  ///< of the last attempt; or of the last that refused
    bool has_asked = false;                    ///< servers with other models once more
    int doubts = 0;                            ///< how often no server was known to have the model
    int attempts = 0;
  };

  void make(Request& request, const Binding& binding, const Sharing* sharing) {
    if (request.payload != nullptr) return;
    request.payload = make_request(*service_, *course_.kept, binding, sharing, request.copies);
  }

  void attempt() {
    Server* const taken =
        service_->servers().take(course_.kept->model.get(), course_.tried, course_.refused);
    if (taken == nullptr) return no_server();
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
            deadline + " ms, expected to end before; nothing was sent; give the call more time" +
            with_option(" (", "deadline", ")") + ", or the queue less work",
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
      complete(current_failure());
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
      return refused(server, what, error.is_of_another ? Refusal::kOfModel : Refusal::kOfServer);
    } catch (...) {
      service_->servers().release(server, Outcome::kUnused);
      throw;
    }
    service_->servers().release(server, Outcome::kAnswered, course_.kept->model);
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
    if (course_.is_shared && !was_not_taken(status)) {
      leave_outputs();
      if (verdict == Verdict::kElsewhere) server.registrations.lose(*course_.sharing.region);
      course_.sharing = {};
    }
    // Plans are compared with the tensors of their model, so one that is refused for them has met another.
    const bool has_other_tensors =
        !course_.kept->model->checksum.empty() && is_about_tensors(status);
    if (verdict == Verdict::kAnother || has_other_tensors) return denied(server, error);
    if (verdict == Verdict::kRefused) {
      return refused(server, error,
                     status.code == kInvalidArgument ? Refusal::kOfRequest : Refusal::kOfServer);
    }
    service_->servers().release(server, Outcome::kFailed);
    // Where models are in doubt the deadline ends the last of many attempts; what raised the doubt is the reason.
    const bool is_cut_short =
        course_.doubts > 0 && course_.failure.has_value() && Clock::now() >= deadline_;
    if (course_.refused.empty() && !is_cut_short) course_.failure = error;
    if (const auto pause = pause_after_failure()) {
      return service_->transport().after(*pause, [self = shared_from_this()] { self->repeat(); });
    }
    give_up();
  }

  /// Before the next attempt; none where there may be no other.
  std::optional<Clock::duration> pause_after_failure() {
    const bool has_budget = service_->budget().note_failure();
    const Clock::duration pause = next_pause();
    const bool may_repeat = has_budget && course_.attempts < service_->options().retry.attempts &&
                            Clock::now() + pause < deadline_;
    return may_repeat ? std::optional(pause) : std::nullopt;
  }

  /// The verdict on a server that reports the model as ready, and does not answer.
  enum class Refusal {
    kOfRequest,  ///< the request may be wrong
    kOfServer,   ///< the server fails
    kOfModel,    ///< it has computed another: servers behind the same address may have the model
  };

  /// The server does not take the request, or its answer is none. It may have another model by now: so it is asked, and the call
  /// goes on elsewhere.
  void refused(Server& server, const ServiceError& error, Refusal refusal) {
    service_->servers().suspect(server);
    ask(server, [self = shared_from_this(), &server, error, refusal](const CallStatus& answer) {
      self->go_elsewhere(server, error, refusal, answer.is_ok());
    });
  }

  template <class Done>
  void ask(Server& server, Done done) {
    const auto deadline = std::min(deadline_, Clock::now() + service_->options().attempt_deadline);
    service_->ask(server, deadline, [self = shared_from_this(), done](const CallStatus& answer) {
      self->guarded([&] { done(answer); });
    });
  }

  void go_elsewhere(Server& server, const ServiceError& error, Refusal refusal, bool has_answered) {
    if (has_answered && refusal == Refusal::kOfModel) {
      service_->servers().deny(server, course_.kept->model.get());
      return go_on_in_doubt(server, error);
    }
    const bool has_model = service_->servers().model_of(server) == course_.kept->model;
    service_->servers().release(server, Outcome::kUnused);
    if (has_model) {
      course_.refused.push_back(&server);
      course_.is_last_of_request = refusal == Refusal::kOfRequest;
      course_.is_request_wrong =
          course_.is_request_wrong && has_answered && refusal == Refusal::kOfRequest;
    }
    if (has_model || !course_.failure) course_.failure = error;
    if (course_.attempts >= service_->options().retry.attempts) return give_up();
    attempt();
  }

  /// A server that had the model has refused the call without computing it, because it has another. Which one is asked once: that keeps
  /// the calls to come away from it. But where an address leads to several servers, the next one may have the model still.
  void denied(Server& server, const ServiceError& error) {
    service_->servers().deny(server, course_.kept->model.get());
    if (std::ranges::find(course_.denied_by, &server) != course_.denied_by.end()) {
      return go_on_in_doubt(server, error);
    }
    course_.denied_by.push_back(&server);
    ask(server, [self = shared_from_this(), &server, error](const CallStatus& answer) {
      if (!answer.is_ok()) self->service_->servers().suspect(server);
      self->go_on_in_doubt(server, error);
    });
  }

  /// A call that was not computed because of another model does not count as an attempt: the deadline ends it.
  void go_on_in_doubt(Server& server, const ServiceError& error) {
    service_->servers().release(server, Outcome::kUnused);
    if (course_.refused.empty()) course_.failure = error;
    --course_.attempts;
    const auto pause = pause_of_doubt();
    if (!pause) return give_up();
    // Not each time, and not in turn: a proxy that goes through its servers in turn would answer the same ones with the same.
    if (draw() % 2 == 0) return ask_others_after(*pause);
    service_->transport().after(*pause, [self = shared_from_this()] { self->repeat(); });
  }

  /// No server has the model, of those that have said so and have not refused the call.
  void no_server() {
    std::optional<Clock::duration> pause;
    switch (best_standing()) {
      case Standing::kHasAnother:
        break;
      case Standing::kHasIt:
        if (!course_.refused.empty() && !is_one_word_against_the_request()) break;
        pause = pause_of_doubt();  // or it has said so a moment ago
        if (!pause || course_.refused.empty()) break;
        course_.has_repeated = true;
        course_.refused.clear();
        course_.tried.clear();
        break;
      case Standing::kNotSaid:
        pause = pause_of_doubt();
        break;
      case Standing::kFails:
        ++course_.attempts;
        pause = pause_after_failure();
        break;
    }
    if (!pause) return give_up();
    ask_others_after(*pause);
  }

  /// Columns were compared with the model when they were bound, so the server may be wrong: it gets the call again, once.
  bool is_one_word_against_the_request() const {
    return course_.refused.size() == 1 && course_.is_last_of_request && !course_.has_repeated;
  }

  /// Where still no server has the model by then.
  void ask_others_after(Clock::duration pause) {
    service_->transport().after(pause, [self = shared_from_this()] {
      if (self->best_standing() == Standing::kHasIt) return self->repeat();
      self->guarded([&] { self->ask_others(); });
    });
  }

  /// None before the first question, then as long as the answers may need to change.
  std::optional<Clock::duration> pause_of_doubt() {
    const Clock::duration pause =
        course_.doubts == 0
            ? Clock::duration::zero()
            : with_jitter(std::min<Clock::duration>(
                  kFirstDoubt * (1 << std::min(course_.doubts - 1, 10)), kLongestDoubt));
    ++course_.doubts;
    return Clock::now() + pause < deadline_ ? std::optional(pause) : std::nullopt;
  }

  void ask_others() {
    service_->ask_others(deadline_, [self = shared_from_this()] { self->repeat(); });
  }

  Standing best_standing() const {
    return service_->servers().best_standing(course_.kept->model.get(), course_.refused);
  }

  /// No attempt is left, no server or no time.
  void give_up() {
    const Standing best = best_standing();
    switch (best) {
      case Standing::kHasAnother:
        if (Clock::now() >= deadline_) break;
        if (!std::exchange(course_.has_asked, true)) return ask_others();
        if (auto next = has_followed_ ? nullptr : service_->successor(course_.kept->model)) {
          return go_on_with(std::move(next));
        }
        break;
      case Standing::kHasIt:  // so other models are none of the call's business
      case Standing::kNotSaid:
      case Standing::kFails:
        break;
    }
    const bool is_replaced = best == Standing::kHasAnother;
    const ServiceError error = is_replaced       ? service_->error_of_models(*course_.kept->model)
                               : course_.failure ? *course_.failure
                                                 : service_->error_of_silence(*course_.kept->model);
    const bool is_forbidden =
        is_replaced && service_->options().on_new_version == OnNewVersion::kFail;
    // An error of all servers of the model is an error here too.
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

  /// An attempt that failed because of shared memory does not count.
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
      complete(current_failure());
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
