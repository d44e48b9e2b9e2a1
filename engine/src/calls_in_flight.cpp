// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "calls_in_flight.hpp"

#include <chrono>
#include <thread>

namespace tensoa::detail {

void CallsInFlight::wait_for(const Set& set) noexcept {
  constexpr std::chrono::microseconds kBetweenLooks{20};
  for (const Count& shard : set) {
    while (shard.count.load() != 0) std::this_thread::sleep_for(kBetweenLooks);
  }
}

void CallsInFlight::wait_for_earlier() noexcept {
  const std::size_t before = current_.load();
  // A call may have read `current_` before the last change of it, and count only now.
  wait_for(sets_[1 - before]);
  current_.store(1 - before);
  wait_for(sets_[before]);
}

}  // namespace tensoa::detail
