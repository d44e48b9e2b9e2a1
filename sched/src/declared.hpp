// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tensoa/sched/module_graph.hpp"

namespace tensoa::sched::detail {

/// A module, the source or a sink, with what it declared.
struct ModuleNode {
  std::string name;
  std::vector<std::size_t> reads;
  std::vector<std::size_t> writes;
  std::function<void(EventView)> call;  ///< one of the two
  std::function<Task(EventView)> task;

  std::vector<std::size_t> next;  ///< modules that read what this one writes; set by connect()
  std::size_t waits_for = 0;      ///< modules before this one
};

struct SinkNode : ModuleNode {
  Order order = Order::kInput;
  std::function<void(EventView, const EventFailure&)> on_failure;
};

struct Declared {
  struct OfDatum {
    std::string name;
    std::function<Object(const Queue&)> make;
    bool has_maker = false;  ///< made by a function of the caller, which may keep the queue
  };

  std::vector<OfDatum> data;
  ModuleNode source;
  std::function<bool(EventView)> next_event;
  std::vector<ModuleNode> modules;
  std::vector<SinkNode> sinks;

  /// Fills ModuleNode::next and waits_for. @throws ConfigError as ModuleGraph::check
  void connect();
};

}  // namespace tensoa::sched::detail
