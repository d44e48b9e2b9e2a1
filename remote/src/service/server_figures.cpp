// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/remote/server_figures.hpp"

#include <algorithm>
#include <future>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "kserve/messages.hpp"
#include "service/service.hpp"
#include "service/status.hpp"
#include "tensoa/core/prometheus.hpp"
#include "tensoa/engine/location.hpp"

namespace tensoa::remote {
namespace {

using Replies = std::span<const std::span<const std::byte>>;

std::string text_of(const CallStatus& status) {
  return name_of_code(status.code) + (status.message.empty() ? "" : ", " + status.message);
}

/// The figures of one server, in two calls one after the other.
class Question : public std::enable_shared_from_this<Question> {
 public:
  Question(std::shared_ptr<Service> service, const std::string& address,
           std::shared_ptr<Connection> connection)
      : service_(std::move(service)), connection_(std::move(connection)) {
    figures_.model = service_->location();
    figures_.server = address;
  }

  std::future<ServerFigures> ask() {
    const auto deadline = Clock::now() + service_->options().attempt_deadline;
    const auto message = std::make_shared<Payload>();
    message->append(encode_model(service_->url().model, service_->url().version));
    connection_->call(
        kModelReady, message, deadline,
        [self = shared_from_this(), message, deadline](const CallStatus& status, Replies reply) {
          if (self->is_ready(status, reply)) self->count(message, deadline);
        });
    return done_.get_future();
  }

 private:
  bool is_ready(const CallStatus& status, Replies reply) {
    try {
      figures_.is_ready = status.is_ok() && decode_ready(protobuf::Bytes(reply));
    } catch (const protobuf::DecodeError&) {
      figures_.error = "sent a reply that cannot be read";
    }
    if (figures_.is_ready) return true;
    if (!status.is_ok()) figures_.error = text_of(status);
    if (figures_.error.empty()) figures_.error = "the model is not ready";
    done_.set_value(std::move(figures_));
    return false;
  }

  /// The connection is there now, so the time is that of a call.
  void count(std::shared_ptr<const Payload> message, Clock::time_point deadline) {
    const Clock::time_point start = Clock::now();
    connection_->call(kModelStatistics, std::move(message), deadline,
                      [self = shared_from_this(), start](const CallStatus& status, Replies reply) {
                        ServerFigures& figures = self->figures_;
                        figures.round_trip = Clock::now() - start;
                        if (!status.is_ok()) figures.error = "no statistics: " + text_of(status);
                        try {
                          if (status.is_ok())
                            figures.counts = decode_statistics(protobuf::Bytes(reply));
                        } catch (const protobuf::DecodeError& error) {
                          figures.error = std::string("no statistics: ") + error.what;
                        }
                        self->done_.set_value(std::move(figures));
                      });
  }

  std::shared_ptr<Service> service_;
  std::shared_ptr<Connection> connection_;
  ServerFigures figures_;
  std::promise<ServerFigures> done_;
};

}  // namespace

InferenceCounts InferenceCounts::operator-(const InferenceCounts& before) const noexcept {
  const bool is_restarted = requests < before.requests || failures < before.failures ||
                            rows < before.rows || executions < before.executions ||
                            queue < before.queue || compute < before.compute;
  if (is_restarted) return *this;
  return {.requests = requests - before.requests,
          .failures = failures - before.failures,
          .rows = rows - before.rows,
          .executions = executions - before.executions,
          .queue = queue - before.queue,
          .compute_input = compute_input - before.compute_input,
          .compute = compute - before.compute,
          .compute_output = compute_output - before.compute_output};
}

std::vector<ServerFigures> server_figures(const std::string& url, const Options& options) {
  // Kept with its connections: opening one is not what a call costs.
  const std::shared_ptr<Service> service = Service::make(ModelLocation(url), options);
  service->look_up(Clock::now() + service->options().attempt_deadline);
  std::vector<std::future<ServerFigures>> answers;
  for (const auto& [address, connection] : service->servers().connections()) {
    answers.push_back(std::make_shared<Question>(service, address, connection)->ask());
  }
  std::vector<ServerFigures> figures;
  figures.reserve(answers.size());
  for (auto& answer : answers) figures.push_back(answer.get());
  return figures;
}

std::optional<LatencySplit> split(const InferenceCounts& counts, std::chrono::nanoseconds latency) {
  if (counts.requests == 0) return std::nullopt;
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto requests = static_cast<std::int64_t>(std::min(counts.requests, kMost));
  LatencySplit split{
      .queue = counts.queue / requests,
      .compute = (counts.compute_input + counts.compute + counts.compute_output) / requests};
  split.rest = std::max(latency - split.queue - split.compute, std::chrono::nanoseconds(0));
  return split;
}

std::string prometheus_text(std::span<const ServerFigures> servers) {
  PrometheusText text;
  const auto sample = [&](std::string_view name, const ServerFigures& server, double value) {
    text.sample(name, {{"model", server.model}, {"server", server.server}}, value);
  };
  const auto seconds = [](std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
  };
  text.family("tensoa_server_ready", "gauge", "1 where the server says that the model is ready.");
  for (const ServerFigures& server : servers) {
    sample("tensoa_server_ready", server, server.is_ready ? 1 : 0);
  }
  text.family("tensoa_server_round_trip_seconds", "gauge", "Of a call without tensors.");
  for (const ServerFigures& server : servers) {
    if (server.is_ready)
      sample("tensoa_server_round_trip_seconds", server, seconds(server.round_trip));
  }
  const auto counter = [&](std::string_view name, std::string_view help, const auto& value) {
    text.family(name, "counter", help);
    for (const ServerFigures& server : servers) {
      if (server.counts) sample(name, server, value(*server.counts));
    }
  };
  const auto count = [&](std::string_view name, std::string_view help,
                         std::uint64_t InferenceCounts::*member) {
    counter(name, help, [&](const auto& counts) { return static_cast<double>(counts.*member); });
  };
  count("tensoa_server_requests_total", "Requests that succeeded.", &InferenceCounts::requests);
  count("tensoa_server_failures_total", "Requests that failed.", &InferenceCounts::failures);
  count("tensoa_server_rows_total", "Rows that were computed.", &InferenceCounts::rows);
  count("tensoa_server_executions_total", "Batches that were computed.",
        &InferenceCounts::executions);
  counter("tensoa_server_queue_seconds_total", "Time of requests in the queue.",
          [&](const auto& counts) { return seconds(counts.queue); });
  counter("tensoa_server_compute_seconds_total", "Time of requests in the model.",
          [&](const auto& counts) {
            return seconds(counts.compute_input + counts.compute + counts.compute_output);
          });
  return text.text();
}

}  // namespace tensoa::remote
