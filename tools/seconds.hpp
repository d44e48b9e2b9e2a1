// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace tensoa::tools {

inline double seconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return seconds_of(std::chrono::steady_clock::now() - start);
}

}  // namespace tensoa::tools
