// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/infer_call.hpp"

#include <algorithm>
#include <exception>
#include <random>
#include <vector>

#include "engine/reply.hpp"
#include "engine/request.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::remote {
namespace {

/// A random share of a pause, so that the clients of a farm do not come back together ("full jitter", but not
/// below a half).
Clock::duration with_jitter(Clock::duration pause) {
  thread_local std::minstd_rand random(std::random_device{}());
  return pause / 2 + pause * static_cast<int>(random() % 1024) / 2048;
}

/// One call, from the first attempt to its completion. Owned by the attempt or pause that it is in.
class InferCall final : public std::enable_shared_from_this<InferCall> {
 public:
  InferCall(std::shared_ptr<Service> service, RunLocally fallback, Completion completion)
      : service_(std::move(service)),
        deadline_(Clock::now() + service_->options().deadline),
        fallback_(std::move(fallback)),
        completion_(std::move(completion)) {}

  void start(const Binding& binding) noexcept {
    try {
      metadata_ = service_->metadata();
      if (metadata_ == nullptr) {
        return fail(ServiceError(
            service_->subject() + "no server has answered yet; " + advice_for(kUnavailable),
            kUnavailable, {}, true));
      }
      plan_ = plan_for(binding, *metadata_, service_->subject());
      outputs_ = binding.outputs;
      request_ = make_request(*service_, *metadata_, plan_, binding, copies_);
      attempt();
    } catch (...) {
      complete(detail::current_failure());
    }
  }

 private:
  void attempt() {
    ++attempts_;
    Server& server = service_->servers().take(tried_);
    tried_.push_back(&server);
    server.counters.note_sent(request_->size(), attempts_ > 1);
    const Clock::time_point start = Clock::now();
    const auto deadline = std::min(deadline_, start + service_->options().attempt_deadline);
    server.connection->call(kModelInfer, request_, deadline,
                            [self = shared_from_this(), &server, start](
                                const CallStatus& status, std::span<const protobuf::Piece> reply) {
                              self->answered(server, start, status, reply);
                            });
  }

  void answered(Server& server, Clock::time_point start, const CallStatus& status,
                std::span<const protobuf::Piece> reply) noexcept {
    try {
      if (!status.is_ok()) return failed(server, status);
      service_->servers().release(server, false);
      std::size_t bytes = 0;
      for (const protobuf::Piece& piece : reply) bytes += piece.size();
      write_outputs(reply, *metadata_, plan_, outputs_, copies_);
      server.counters.note_success(bytes, Clock::now() - start);
      service_->budget().note_success();
      complete(copies_);
    } catch (const ReplyError& error) {
      server.counters.note_failure(kInternal);
      fail(service_->error(error.what, kInternal, server.address));
    } catch (...) {
      complete(detail::current_failure());
    }
  }

  void failed(Server& server, const CallStatus& status) {
    const Verdict verdict = verdict_of(status);
    server.counters.note_failure(status.code);
    service_->servers().release(server, verdict == Verdict::kElsewhere);
    const ServiceError error = service_->error(status, server, attempts_);
    if (verdict == Verdict::kFinal) {
      // What is wrong with the request is wrong here too.
      if (status.code == kInvalidArgument) return complete(Result<CopyReport>::failure(error));
      return fail(error);
    }
    const Retry& retry = service_->options().retry;
    const bool has_budget = service_->budget().note_failure();
    const Clock::duration pause = next_pause();
    if (!has_budget || attempts_ >= retry.attempts || Clock::now() + pause >= deadline_) {
      return fail(error);
    }
    service_->transport().after(pause, [self = shared_from_this()] { self->repeat(); });
  }

  void repeat() noexcept {
    try {
      attempt();
    } catch (...) {
      complete(detail::current_failure());
    }
  }

  /// None before the first attempt elsewhere.
  Clock::duration next_pause() {
    if (attempts_ < static_cast<int>(service_->servers().all().size())) return {};
    const Retry& retry = service_->options().retry;
    const int doublings = std::min(attempts_ - 1, 20);
    return with_jitter(
        std::min<Clock::duration>(retry.first_pause * (1 << doublings), retry.longest_pause));
  }

  /// The service did not answer.
  void fail(const ServiceError& error) noexcept {
    if (!fallback_) return complete(Result<CopyReport>::failure(error));
    const RunLocally run = std::move(fallback_);
    run([self = shared_from_this()](Result<CopyReport> result) {
      self->complete(std::move(result));
    });
  }

  void complete(Result<CopyReport> result) noexcept {
    const std::shared_ptr<Service> service = service_;
    completion_(std::move(result));
    service->end_call();
  }

  std::shared_ptr<Service> service_;
  Clock::time_point deadline_;
  RunLocally fallback_;
  Completion completion_;
  std::shared_ptr<const ModelMetadataReply> metadata_;
  WirePlan plan_;
  std::vector<BoundBlock> outputs_;
  std::shared_ptr<const Payload> request_;
  CopyReport copies_;  ///< of the request
  std::vector<Server*> tried_;
  int attempts_ = 0;
};

}  // namespace

void infer(const std::shared_ptr<Service>& service, const Binding& binding, RunLocally fallback,
           Completion completion) {
  service->begin_call();
  std::make_shared<InferCall>(service, std::move(fallback), std::move(completion))->start(binding);
}

}  // namespace tensoa::remote
