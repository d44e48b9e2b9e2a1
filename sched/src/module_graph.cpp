// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/module_graph.hpp"

#include <algorithm>
#include <optional>

#include "declared.hpp"
#include "module_run.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::sched {
namespace detail {
namespace {

std::string quoted(const std::string& name) { return '"' + name + '"'; }

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + quoted(name);
  return list.empty() ? "none" : list;
}

bool contains(const std::vector<std::size_t>& data, std::size_t datum) {
  return std::ranges::find(data, datum) != data.end();
}

/// The modules that no order can run, of which each waits for another one of them.
std::vector<std::size_t> stuck(const std::vector<ModuleNode>& modules) {
  std::vector<std::size_t> waits_for;
  std::vector<std::size_t> ready;
  for (const ModuleNode& module : modules) {
    if (module.waits_for == 0) ready.push_back(waits_for.size());
    waits_for.push_back(module.waits_for);
  }
  while (!ready.empty()) {
    const std::size_t done = ready.back();
    ready.pop_back();
    for (const std::size_t next : modules[done].next) {
      if (--waits_for[next] == 0) ready.push_back(next);
    }
  }
  std::vector<std::size_t> left;
  for (std::size_t module = 0; module < modules.size(); ++module) {
    if (waits_for[module] > 0) left.push_back(module);
  }
  return left;
}

/// One circle among modules that are stuck, as "a" → "b" → "a".
std::string circle(const std::vector<ModuleNode>& modules, const std::vector<std::size_t>& left) {
  // From any of them back to one that it waits for, until one comes again.
  std::vector<std::size_t> path{left.front()};
  while (true) {
    const auto before = std::ranges::find_if(
        left, [&](std::size_t module) { return contains(modules[module].next, path.back()); });
    const auto first = std::ranges::find(path, *before);
    const bool is_closed = first != path.end();
    if (is_closed) path.erase(path.begin(), first);
    path.push_back(*before);
    if (is_closed) break;
  }
  std::string text;
  for (auto module = path.rbegin(); module != path.rend(); ++module) {
    text += (text.empty() ? "" : " → ") + quoted(modules[*module].name);
  }
  return text;
}

}  // namespace

void Declared::connect() {
  if (!next_event) throw ConfigError("ModuleGraph: there is no source; add one with source()");
  std::vector<std::optional<std::size_t>> writer(data.size());
  const std::size_t by_source = modules.size();
  const auto name_of = [&](std::size_t module) {
    return module == by_source ? "the source" : quoted(modules[module].name);
  };
  const auto add_writer = [&](const std::vector<std::size_t>& writes, std::size_t module) {
    for (const std::size_t datum : writes) {
      if (writer[datum]) {
        throw ConfigError("ModuleGraph: " + quoted(data[datum].name) + " is written by " +
                          name_of(*writer[datum]) + " and by " + name_of(module) +
                          "; expected one writer, let one of them write another datum");
      }
      writer[datum] = module;
    }
  };
  add_writer(source.writes, by_source);
  for (std::size_t module = 0; module < modules.size(); ++module) {
    add_writer(modules[module].writes, module);
    modules[module].next.clear();
    modules[module].waits_for = 0;
  }
  const auto require_writer = [&](const ModuleNode& reader, std::size_t datum) {
    if (writer[datum]) return;
    std::vector<std::string> there;
    for (std::size_t other = 0; other < data.size(); ++other) {
      if (writer[other]) there.push_back(data[other].name);
    }
    throw ConfigError("ModuleGraph: " + quoted(reader.name) + " reads " + quoted(data[datum].name) +
                      ", which nothing writes; written are " + listed(there));
  };
  for (std::size_t module = 0; module < modules.size(); ++module) {
    for (const std::size_t datum : modules[module].reads) {
      require_writer(modules[module], datum);
      if (*writer[datum] == by_source) continue;
      std::vector<std::size_t>& next = modules[*writer[datum]].next;
      if (contains(next, module)) continue;
      next.push_back(module);
      ++modules[module].waits_for;
    }
  }
  for (const SinkNode& sink : sinks) {
    for (const std::size_t datum : sink.reads) require_writer(sink, datum);
  }
  if (const auto left = stuck(modules); !left.empty()) {
    throw ConfigError("ModuleGraph: modules wait for each other: " + circle(modules, left) +
                      "; let none read what depends on what it writes");
  }
}

void* access(const EventSlot& slot, const ModuleNode& module, std::size_t datum, bool writes) {
  if (!contains(module.writes, datum) && (writes || !contains(module.reads, datum))) {
    throw ConfigError("module " + quoted(module.name) + (writes ? " writes" : " reads") +
                      " datum number " + std::to_string(datum) +
                      " without declaring it; add it to its " + (writes ? "writes()" : "reads()"));
  }
  return slot.data[datum].get();
}

}  // namespace detail

ModuleGraph::ModuleGraph() : declared_(std::make_unique<detail::Declared>()) {}
ModuleGraph::~ModuleGraph() = default;

std::size_t ModuleGraph::add_datum(const std::string& name,
                                   std::function<detail::Object(const Queue&)> make,
                                   bool has_maker) {
  for (const auto& other : declared_->data) {
    if (other.name == name) {
      throw ConfigError("ModuleGraph: two data are called " + detail::quoted(name) +
                        "; give one another name");
    }
  }
  declared_->data.push_back({name, std::move(make), has_maker});
  return declared_->data.size() - 1;
}

void ModuleGraph::source(Writes writes, std::function<bool(EventView)> next) {
  if (declared_->next_event) throw ConfigError("ModuleGraph: there is a source; expected one");
  if (!next) throw ConfigError("ModuleGraph: the source is not a function (it is empty)");
  declared_->source.name = "source";
  declared_->source.writes = std::move(writes.data);
  declared_->next_event = std::move(next);
}

void ModuleGraph::add_module(const std::string& name, Reads reads, Writes writes,
                             std::function<void(EventView)> call,
                             std::function<Task(EventView)> task) {
  for (const detail::ModuleNode& other : declared_->modules) {
    if (other.name == name) {
      throw ConfigError("ModuleGraph: two modules are called " + detail::quoted(name) +
                        "; give one another name");
    }
  }
  detail::ModuleNode& module = declared_->modules.emplace_back();
  module.name = name;
  module.reads = std::move(reads.data);
  module.writes = std::move(writes.data);
  module.call = std::move(call);
  module.task = std::move(task);
}

void ModuleGraph::sink(const std::string& name, Reads reads, Order order,
                       std::function<void(EventView)> on_event,
                       std::function<void(EventView, const EventFailure&)> on_failure) {
  if (!on_event) throw ConfigError("ModuleGraph: got no function for sink " + detail::quoted(name));
  detail::SinkNode& sink = declared_->sinks.emplace_back();
  sink.name = name;
  sink.reads = std::move(reads.data);
  sink.call = std::move(on_event);
  sink.order = order;
  sink.on_failure = std::move(on_failure);
}

void ModuleGraph::check() const { declared_->connect(); }

RunTotals ModuleGraph::run(const RunOptions& options) {
  declared_->connect();
  return detail::ModuleRun(*declared_, options).run();
}

}  // namespace tensoa::sched
