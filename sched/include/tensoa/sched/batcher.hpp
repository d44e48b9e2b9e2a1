// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tensoa/sched/impl/batch_gate.hpp"
#include "tensoa/sched/task.hpp"

/// @file
/// Several small events in one call of a model.

namespace tensoa::sched {

/// Gathers what tasks of different events have to do, and does it together.
///
/// For events that are too small for one call each: up to some hundred rows, where these may lie one after another.
/// Events then wait for each other, and columns that lie apart have to be gathered, which on a GPU costs more than it
/// saves (docs/scheduling.md has figures).
///
///     sched::Batcher<Inference> batcher(
///         {.rows = 4'096, .items = 8, .latency = 100us},
///         [&](std::span<Inference* const> batch) -> sched::Task {
///           co_await infer(model, batch);     // one call; writes the answers of each
///         });
///     graph.module("infer", reads(points), writes(answers),
///                  [&](sched::EventView event) -> sched::Task {
///                    Inference mine{event.queue(), event.read(points), event.write(answers)};
///                    co_await batcher.join(mine, mine.points.size());
///                  });
///
/// The Batcher copies nothing: the function of the caller finds the items where they are. Where their rows
/// follow each other in the same columns, tensoa::joined() (soa/joined.hpp) is one view over all of them;
/// else it gathers them into other columns. On a GPU it runs on a queue of one of the items, and makes
/// that wait for the queues that wrote the others (Queue::wait_for).
///
/// *Errors*: where the function throws, each item of the batch is run again in a separate batch, so that
/// those alone fail that cannot be done; their join() throws what that run threw.
/// *Lifetime*: must outlive the tasks that join. *Threads*: any.
template <class Item>
class Batcher {
 public:
  /// Does a batch, in the scheduler of the item that came first. The items, at least one, live until it ends.
  using Run = std::function<Task(std::span<Item* const> batch)>;

  /// @throws ConfigError for limits of 0 rows or items, a negative latency, and without a function
  Batcher(BatchLimits limits, Run run)
      : gate_(std::make_shared<detail::BatchGate>(limits, run != nullptr)), run_(std::move(run)) {}

  /// Returns when the item is done: `co_await batcher.join(item, rows)`.
  /// @throws what the function throws for a batch of this item alone
  Task join(Item& item, std::size_t rows) {
    const detail::BatchGate::Entered entered = gate_->enter(&item, rows);
    const std::shared_ptr<detail::Batch> batch = entered.batch;
    // Waits with names: g++ 12 destroys an aggregate twice that is made where it is awaited.
    if (!entered.is_first) {
      const detail::BatchDone done{gate_, batch};
      co_await done;
    } else {
      const detail::BatchClosed closed{gate_, batch};
      co_await closed;
      try {
        std::vector<Item*> items;
        for (void* const one : batch->items) items.push_back(static_cast<Item*>(one));
        co_await run_(items);
      } catch (...) {
        batch->failure = std::current_exception();
      }
      gate_->finish(*batch);
    }
    if (!batch->failure) co_return;
    if (batch->items.size() == 1) std::rethrow_exception(batch->failure);
    Item* const alone[] = {&item};
    co_await run_(alone);
  }

  /// What was done so far, without runs of items alone after an error.
  BatchCounts counts() const { return gate_->counts(); }

 private:
  std::shared_ptr<detail::BatchGate> gate_;
  Run run_;
};

}  // namespace tensoa::sched
