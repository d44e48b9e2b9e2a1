// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tensoa/core/log.hpp"

namespace tensoa::test {

/// Warnings, while it lives.
class Warnings {
 public:
  Warnings() {
    all().clear();
    before_ = set_log_sink([](LogLevel level, std::string_view message) {
      const std::lock_guard lock(mutex());
      if (level == LogLevel::kWarning) all().emplace_back(message);
    });
  }
  ~Warnings() { set_log_sink(before_); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;
  static std::vector<std::string>& all() {
    static std::vector<std::string> the_warnings;
    return the_warnings;
  }

  /// All so far, a line each.
  static std::string text() {
    const std::lock_guard lock(mutex());
    std::string text;
    for (const std::string& warning : all()) text += warning + '\n';
    return text;
  }

 private:
  static std::mutex& mutex() {
    static std::mutex the_mutex;
    return the_mutex;
  }

  LogSink before_;
};

}  // namespace tensoa::test
