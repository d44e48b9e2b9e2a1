// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tensoa/core/queue.hpp"

// What the templates of module_graph.hpp need.

namespace tensoa::sched::detail {

struct Declared;
struct ModuleNode;
class ModuleRun;

/// An object of any type.
using Object = std::unique_ptr<void, void (*)(void*)>;

/// An event in flight, as modules see it.
struct EventSlot {
  EventSlot(std::size_t its_index, const Queue& its_queue) : index(its_index), queue(its_queue) {}

  std::size_t index;
  Queue queue;
  std::size_t number = 0;
  std::vector<Object> data;  ///< by Datum::index()
};

/// @throws ConfigError where `module` did not declare it
void* access(const EventSlot& slot, const ModuleNode& module, std::size_t datum, bool writes);

}  // namespace tensoa::sched::detail
