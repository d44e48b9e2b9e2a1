// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/log.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tensoa {
namespace {

std::string last_message;  // NOLINT(cert-err58-cpp)

TEST(Log, GoesToTheSinkAndNowhereElse) {
  log(LogLevel::kWarning, "dropped");
  const LogSink before =
      set_log_sink([](LogLevel, std::string_view message) { last_message = message; });
  EXPECT_EQ(before, nullptr);
  log(LogLevel::kInfo, "hello");
  EXPECT_EQ(last_message, "hello");
  set_log_sink(nullptr);
  log(LogLevel::kInfo, "dropped too");
  EXPECT_EQ(last_message, "hello");
}

}  // namespace
}  // namespace tensoa
