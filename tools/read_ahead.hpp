// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tbb/task_group.h>

#include <atomic>
#include <chrono>
#include <utility>

#include "tensoa/events/event_source.hpp"

namespace tensoa::tools {

/// Decodes what the files of events have next, in tasks of the caller's arena.
class ReadAhead {
 public:
  /// Waits for the tasks; to be made inside the arena.
  class WaitsAtEnd {
   public:
    explicit WaitsAtEnd(ReadAhead& of) : of_(of) {}
    WaitsAtEnd(const WaitsAtEnd&) = delete;
    WaitsAtEnd& operator=(const WaitsAtEnd&) = delete;
    ~WaitsAtEnd() { of_.tasks_.wait(); }

   private:
    ReadAhead& of_;
  };

  /// Before `source` is read. *Threads*: any.
  void after(const events::EventSource& source) {
    auto work = source.read_ahead();
    if (!work) return;
    tasks_.run([this, work = std::move(work)] {
      const auto begin = std::chrono::steady_clock::now();
      work();
      nanoseconds_ += (std::chrono::steady_clock::now() - begin).count();
    });
  }

  /// Of all tasks that have ended.
  double seconds() const { return 1e-9 * static_cast<double>(nanoseconds_.load()); }

 private:
  tbb::task_group tasks_;
  std::atomic<std::chrono::nanoseconds::rep> nanoseconds_ = 0;
};

}  // namespace tensoa::tools
