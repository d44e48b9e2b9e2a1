// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tensoa::detail {

/// Counts the calls that use the engines of a model, so that an engine that was replaced goes when the last call
/// with it has returned. A call costs two atomic additions to a counter that few threads share.
///
/// There are two sets of counters. Calls that begin while wait_for_earlier() waits count in the other set, so that
/// it ends however many calls come.
class CallsInFlight {
 public:
  /// A call, from before it reads which engine it uses until it needs the engine no more.
  class Call {
   public:
    explicit Call(CallsInFlight& calls) noexcept
        : count_(&calls.sets_[calls.current_.load()][shard()].count) {
      count_->fetch_add(1);
    }
    ~Call() { count_->fetch_sub(1); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    std::atomic<std::int64_t>* count_;
  };

  /// Waits until all calls that began before this have ended. One thread at a time.
  void wait_for_earlier() noexcept;

 private:
  static constexpr std::size_t kShards = 16;

  struct alignas(64) Count {
    std::atomic<std::int64_t> count{0};
  };
  using Set = std::array<Count, kShards>;

  static std::size_t shard() noexcept {
    static std::atomic<std::size_t> next{0};
    thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed) % kShards;
    return mine;
  }

  static void wait_for(const Set& set) noexcept;

  std::array<Set, 2> sets_;
  std::atomic<std::size_t> current_{0};
};

}  // namespace tensoa::detail
