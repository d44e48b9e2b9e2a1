// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "tensoa/core/queue.hpp"

namespace tensoa::package {

/// Objects that each call has to itself while it runs, and that the next call on its queue, which
/// comes after it in the queue's order, finds again. Calls on one queue at the same time have one
/// each. The CPU counts as one queue. The handle of its stream identifies a queue; no handle is used
/// again while work of the stream that had it is pending (docs/decisions/0027-stream-handles.md).
///
/// A list that only grows, of entries that are taken with one atomic exchange: no lock, and no
/// allocation once each of the calls that run at the same time has one. What each call writes lies in a
/// separate cache line, so that other calls that walk along the list find it in their caches.
/// *Threads*: safe.
template <class T>
class PerQueue {
  static constexpr std::size_t kCacheLine = 64;

  struct alignas(kCacheLine) Entry {
    std::unique_ptr<T> object;
    std::atomic<void*> stream;
    Entry* next;
    alignas(kCacheLine) std::atomic<bool> is_taken;
  };

 public:
  PerQueue() = default;
  PerQueue(const PerQueue&) = delete;
  PerQueue& operator=(const PerQueue&) = delete;
  ~PerQueue() {
    for (Entry* entry = first_.load(); entry != nullptr;) delete std::exchange(entry, entry->next);
  }

  /// The object of one call, given back at the end.
  class Loan {
   public:
    /// @param make returns a std::unique_ptr<T> where no object is there for the queue
    template <class Make>
    Loan(PerQueue& pool, const Queue& queue, const Make& make)
        : entry_(pool.take(queue.native_handle(), make)) {}
    ~Loan() { entry_->is_taken.store(false, std::memory_order_release); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

    T& operator*() const noexcept { return *entry_->object; }
    T* operator->() const noexcept { return entry_->object.get(); }

   private:
    Entry* entry_;
  };

  /// A loan of an object that is made by itself. Taken out when it is first used: calls that do not
  /// need one take none.
  class LoanWhenNeeded {
   public:
    /// `pool` and `queue` must outlive it.
    LoanWhenNeeded(PerQueue& pool, const Queue& queue) noexcept : pool_(&pool), queue_(&queue) {}

    T& operator*() {
      if (!loan_) loan_.emplace(*pool_, *queue_, [] { return std::make_unique<T>(); });
      return **loan_;
    }
    T* operator->() { return &**this; }

   private:
    PerQueue* pool_;
    const Queue* queue_;
    std::optional<Loan> loan_;
  };

  /// Keeps an object for the first queue that needs one.
  void add(std::unique_ptr<T> object) { push(std::move(object), kAnyStream, false); }

 private:
  static constexpr void* kAnyStream = nullptr;  // that of the CPU, too

  static bool take(Entry& entry) noexcept {
    return !entry.is_taken.load(std::memory_order_relaxed) &&
           !entry.is_taken.exchange(true, std::memory_order_acquire);
  }

  template <class Make>
  Entry* take(void* stream, const Make& make) {
    for (void* const wanted : {stream, kAnyStream}) {
      for (Entry* entry = first_.load(std::memory_order_acquire); entry != nullptr;
           entry = entry->next) {
        if (entry->stream.load(std::memory_order_relaxed) != wanted || !take(*entry)) continue;
        if (entry->stream.load(std::memory_order_relaxed) == wanted) {
          if (wanted != stream) entry->stream.store(stream, std::memory_order_relaxed);
          return entry;
        }
        entry->is_taken.store(false, std::memory_order_release);  // another queue was first
      }
    }
    return push(make(), stream, true);
  }

  Entry* push(std::unique_ptr<T> object, void* stream, bool is_taken) {
    auto* const entry =
        new Entry{std::move(object), stream, first_.load(std::memory_order_relaxed), is_taken};
    while (!first_.compare_exchange_weak(entry->next, entry, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    }
    return entry;
  }

  std::atomic<Entry*> first_{nullptr};
};

}  // namespace tensoa::package
