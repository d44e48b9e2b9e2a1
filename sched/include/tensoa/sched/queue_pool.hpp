// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "tensoa/core/device.hpp"
#include "tensoa/core/queue.hpp"

namespace tensoa::sched {

/// A fixed number of queues of one device that live as long as the process works on events. A cheap
/// handle: copies lend the same queues. Engines keep memory for each stream that they have seen (torch's
/// caching allocator, workspaces of cuBLAS and of packages), so a queue for each event would take more
/// and more.
///
///     sched::QueuePool queues(Device::cuda(0), 4);
///     …
///     const auto queue = queues.take();      // in the thread that works on the event
///     model.forward(*queue, plan);
///
/// A thread gets the queue that it had last where that is free, since cuBLAS keeps a workspace for
/// each pair of thread and stream; else the one that was given back longest ago, whose work is most
/// likely done. A queue may be given back while its work is under way: the next loan's work comes
/// after it.
/// *Lifetime*: loans may outlive the pool.
/// *Threads*: safe.
class QueuePool {
  struct State;
  struct Entry;

 public:
  /// Makes all the queues; none is made later.
  /// @param queues at least 1
  /// @throws ConfigError for 0 queues; DeviceError when the device is not there or gives no stream
  QueuePool(Device device, std::size_t queues);

  // A move is a copy, as for Queue: there is no pool without queues.
  QueuePool(const QueuePool&) noexcept = default;
  QueuePool& operator=(const QueuePool&) noexcept = default;
  ~QueuePool() = default;

  /// A queue that nobody else has, given back with the object. Move-only. What was moved from may
  /// only be destroyed or assigned to.
  class Loan {
   public:
    ~Loan() { give_back(); }
    Loan(Loan&& other) noexcept;
    Loan& operator=(Loan&& other) noexcept;
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

    const Queue& operator*() const noexcept;
    const Queue* operator->() const noexcept { return &**this; }

   private:
    friend class QueuePool;
    Loan(std::shared_ptr<State> state, Entry& entry) noexcept;
    void give_back() noexcept;

    std::shared_ptr<State> state_;
    Entry* entry_ = nullptr;
  };

  /// A queue, as soon as one is free: blocks the calling thread until then, and for ever where the
  /// calling thread itself has them all.
  [[nodiscard]] Loan take();

  /// A queue, or none where none is free now. Never blocks.
  [[nodiscard]] std::optional<Loan> try_take();

  Device device() const noexcept;
  std::size_t size() const noexcept;  ///< queues, free or not

 private:
  std::shared_ptr<State> state_;
};

}  // namespace tensoa::sched
