// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensoa/core/impl/cpp20.hpp"  // first

#include <cstdint>
#include <string_view>

namespace tensoa {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning };

/// Receives the library's messages; may be called from any thread.
using LogSink = void (*)(LogLevel level, std::string_view message);

/// Sends the library's messages to `sink`; nullptr (the default) drops them. The library itself
/// never prints. @return the sink before.
LogSink set_log_sink(LogSink sink) noexcept;

/// Hands one message to the sink. Cheap without a sink.
void log(LogLevel level, std::string_view message);

}  // namespace tensoa
