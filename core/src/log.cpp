// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/log.hpp"

#include <atomic>

namespace tensoa {
namespace {

std::atomic<LogSink> current_sink{nullptr};

}  // namespace

LogSink set_log_sink(LogSink sink) noexcept { return current_sink.exchange(sink); }

void log(LogLevel level, std::string_view message) {
  if (const LogSink sink = current_sink.load()) sink(level, message);
}

}  // namespace tensoa
