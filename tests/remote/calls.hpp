// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/process_threads.hpp"
#include "tensoa/core/latency.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/remote/service_error.hpp"
#include "tensoa/soa/portable_collection.hpp"

/// @file
/// Calls of models on servers: what they read and write, how they fail, and many of them in flight.

namespace tensoa::test {

/// A variable of the environment; empty where it is not set.
inline std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The error of a call, which must fail.
template <class Call>
remote::ServiceError failure_of(const Call& call) {
  try {
    call();
  } catch (const remote::ServiceError& error) {
    return error;
  }
  throw std::runtime_error("the call succeeded");
}

// ---- columns

template <template <class> class F>
struct OneColumn {
  F<float> x;
};

/// The column of a block "x", and that of an output "y".
inline ModelMetadata<OneColumn, OneColumn> metadata_of(PortableCollection<OneColumn>& in,
                                                       PortableCollection<OneColumn>& out) {
  SoAMetadata<OneColumn> inputs(in.size());
  inputs.append_block("x", in.view().records().x());
  SoAMetadata<OneColumn> outputs(out.size());
  outputs.append_block("y", out.view().records().x());
  return ModelMetadata(inputs, outputs);
}

template <template <class> class F>
struct Hits {
  F<float> x, y, z;
};

template <template <class> class F>
struct Scores {
  F<float> a, b, c;
};

/// Rows of three numbers, a block "x", and of two or three results, "y".
struct Event {
  static constexpr float kUntouched = -77;

  explicit Event(std::size_t rows, bool has_three_results = true)
      : hits(rows, Device::cpu()), scores(rows, Device::cpu()), has_c(has_three_results) {
    clear();
  }

  /// With numbers from -1 to 1, and two results: for the networks of the test bench.
  static Event drawn(std::size_t rows, unsigned seed) {
    Event event(rows, false);
    std::mt19937 random(seed);
    const auto draw = [&] { return static_cast<float>(random() % 2001) / 1000 - 1; };
    for (std::size_t i = 0; i < rows; ++i) {
      event.hits.view().x[i] = draw();
      event.hits.view().y[i] = draw();
      event.hits.view().z[i] = draw();
    }
    return event;
  }

  void clear() {
    const auto out = scores.view();
    for (std::size_t i = 0; i < scores.size(); ++i) out.a[i] = out.b[i] = out.c[i] = kUntouched;
  }

  bool is_untouched() const {
    const auto out = scores.const_view();
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (out.a[i] != kUntouched || out.b[i] != kUntouched || out.c[i] != kUntouched) return false;
    }
    return true;
  }

  /// Whether a, b, c are x, y, z times this.
  bool is_multiplied_by(float scale) const {
    const auto in = hits.const_view();
    const auto out = scores.const_view();
    for (std::size_t i = 0; i < hits.size(); ++i) {
      if (out.a[i] != scale * in.x[i] || out.b[i] != scale * in.y[i] ||
          out.c[i] != scale * in.z[i]) {
        return false;
      }
    }
    return true;
  }

  /// @param output the block of the results
  ModelMetadata<Hits, Scores> metadata(const std::string& output = "y") {
    auto in = hits.view().records();
    SoAMetadata<Hits> inputs(hits.size());
    inputs.append_block("x", in.x(), in.y(), in.z());
    auto out = scores.view().records();
    SoAMetadata<Scores> outputs(scores.size());
    if (has_c) {
      outputs.append_block(output, out.a(), out.b(), out.c());
    } else {
      outputs.append_block(output, out.a(), out.b());
    }
    return ModelMetadata(inputs, outputs);
  }

  PortableCollection<Hits> hits;
  PortableCollection<Scores> scores;
  bool has_c;
};

// ---- many calls

/// Keeps a call of each slot in flight, until stop().
template <class Slot>
class CallsInFlight {
 public:
  /// @param start begins the call of a slot
  /// @param finish gets the slot of a call that was completed, and the result; one at a time
  CallsInFlight(std::vector<Slot> slots, std::function<void(Slot&, Completion)> start,
                std::function<void(Slot&, const Result<CopyReport>&)> finish)
      : start_(std::move(start)), finish_(std::move(finish)) {
    for (Slot& slot : slots) calls_.push_back({std::move(slot)});
    thread_ = std::thread([this] { run(); });
  }
  ~CallsInFlight() { stop(); }
  CallsInFlight(const CallsInFlight&) = delete;
  CallsInFlight& operator=(const CallsInFlight&) = delete;

  /// Starts no more. Waits for those that were started, half a minute at most.
  void stop() {
    if (!thread_.joinable()) return;
    is_over_ = true;
    thread_.join();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(30), [&] { return answered_ == started_; });
  }

  // Once it is stopped
  std::size_t started() const { return started_; }
  std::size_t answered() const { return answered_; }

  /// "latency ms: p50 1.5 p99 …".
  std::string latency() const {
    std::ostringstream text;
    text << "latency ms:";
    for (const auto& [name, share] :
         {std::pair{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}, {"most", 1.}}) {
      const std::chrono::duration<double, std::milli> time = latency_.percentile(share);
      text << ' ' << name << ' ' << time.count();
    }
    return text.str();
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Call {
    Slot slot;
    bool is_free = true;
    Clock::time_point start = {};
  };

  void run() {
    while (!is_over_) {
      std::unique_lock lock(mutex_);
      auto free = calls_.end();
      changed_.wait(lock, [&] {
        free = std::ranges::find(calls_, true, &Call::is_free);
        return free != calls_.end();
      });
      free->is_free = false;
      ++started_;
      lock.unlock();
      free->start = Clock::now();
      start_(free->slot, [this, &call = *free](const Result<CopyReport>& result) {
        const std::lock_guard guard(mutex_);
        ++answered_;
        latency_.add(Clock::now() - call.start);
        finish_(call.slot, result);
        call.is_free = true;
        changed_.notify_all();
      });
    }
  }

  std::function<void(Slot&, Completion)> start_;
  std::function<void(Slot&, const Result<CopyReport>&)> finish_;
  std::vector<Call> calls_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t started_ = 0;
  std::size_t answered_ = 0;
  LatencyHistogram latency_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

/// Rounds of a test that kills servers, and what they leave behind.
struct Rounds {
  int count = 0;
  std::size_t memory_after_two = 0;  ///< bytes
  std::size_t memory_at_end = 0;

  bool is_memory_flat() const {
    return count <= 2 || memory_at_end <= memory_after_two + (std::size_t{16} << 20U);
  }

  std::string memory() const {
    return "resident MiB " + std::to_string(memory_after_two >> 20U) + " after two rounds, " +
           std::to_string(memory_at_end >> 20U) + " at the end";
  }
};

/// For how long `make soak-service` repeats rounds; empty: one round.
inline std::string kill_seconds() { return environment("TENSOA_TEST_KILL_SECONDS"); }

/// @param round returns whether another one makes sense
template <class Round>
Rounds repeat(const Round& round) {
  const std::string given = kill_seconds();
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(given.empty() ? 0 : std::stoi(given));
  Rounds rounds;
  bool goes_on = true;
  while (goes_on) {
    goes_on = round() && std::chrono::steady_clock::now() < end;
    if (++rounds.count == 2) rounds.memory_after_two = resident_bytes();
  }
  rounds.memory_at_end = resident_bytes();
  return rounds;
}

}  // namespace tensoa::test
