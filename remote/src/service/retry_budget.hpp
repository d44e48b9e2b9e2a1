// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace tensoa::remote {

/// Bounds the additional load that repeated calls make: a failure takes a whole token, a success gives back a
/// tenth, and calls are repeated while more than half of the tokens are left (gRPC's retry throttling, gRFC A6).
/// *Threads*: safe.
class RetryBudget {
 public:
  /// @param failures without successes, after which calls are not repeated
  explicit RetryBudget(int failures) : most_(20 * failures), tenths_(most_) {}

  void note_success() noexcept { add(1); }

  /// @return whether the call may be repeated
  bool note_failure() noexcept { return add(-10) > most_ / 2; }

 private:
  int add(int tenths) noexcept {
    int before = tenths_.load();
    int after = 0;
    do {
      after = before + tenths;
      if (after > most_) after = most_;
      if (after < 0) after = 0;
    } while (!tenths_.compare_exchange_weak(before, after));
    return after;
  }

  int most_;
  std::atomic<int> tenths_;
};

}  // namespace tensoa::remote
