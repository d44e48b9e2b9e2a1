// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/trace.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "tensoa/core/memory_budget.hpp"

namespace tensoa::sched {
namespace {

struct Span {
  const std::string* module;
  std::size_t event;
  Trace::Clock::time_point begin;
  Trace::Clock::time_point end;
  std::size_t slot;
};

struct Memory {
  Device device;
  std::size_t bytes;
  Trace::Clock::time_point time;
};

struct OfThread {
  std::vector<Span> parts;    ///< on this thread
  std::vector<Span> modules;  ///< on the rows of slots
  std::vector<Memory> memory;
};

constexpr int kThreads = 1;  // the groups of rows, "processes" in the format
constexpr int kSlots = 2;
constexpr int kMemory = 3;

double microseconds(Trace::Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

/// A record that cannot be kept does not end an event.
template <class Add>
void or_leave_out(const Add& add) noexcept {
  try {
    add();
  } catch (const std::exception&) {
    return;
  }
}

nlohmann::json name_of(const char* what, int group, std::size_t row, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", group}, {"tid", row}, {"args", {{"name", name}}}};
}

}  // namespace

struct Trace::Impl {
  Clock::time_point start = Clock::now();
  tbb::enumerable_thread_specific<OfThread> threads;
};

Trace::Trace() : impl_(std::make_unique<Impl>()) {}
Trace::~Trace() = default;

void Trace::add_part(const std::string& module, std::size_t event,
                     Clock::time_point begin) noexcept {
  or_leave_out([&] {
    impl_->threads.local().parts.push_back({&module, event, begin, Clock::now(), 0});
  });
}

void Trace::add_module(const std::string& module, std::size_t event, std::size_t slot,
                       Clock::time_point begin) noexcept {
  or_leave_out([&] {
    impl_->threads.local().modules.push_back({&module, event, begin, Clock::now(), slot});
  });
}

void Trace::add_memory(Device device) noexcept {
  or_leave_out([&] {
    impl_->threads.local().memory.push_back({device, memory_figures(device).all.now, Clock::now()});
  });
}

std::string Trace::to_json() const {
  nlohmann::json events = nlohmann::json::array();
  const auto add = [&](const Span& span, int group, std::size_t row) {
    events.push_back({{"ph", "X"},
                      {"name", *span.module},
                      {"pid", group},
                      {"tid", row},
                      {"ts", microseconds(span.begin - impl_->start)},
                      {"dur", microseconds(span.end - span.begin)},
                      {"args", {{"event", span.event}}}});
  };
  events.push_back(name_of("process_name", kThreads, 0, "threads"));
  events.push_back(name_of("process_name", kSlots, 0, "events in flight"));
  events.push_back(name_of("process_name", kMemory, 0, "memory that tensoa holds"));
  std::size_t thread = 0;
  for (const OfThread& of : impl_->threads) {
    events.push_back(name_of("thread_name", kThreads, thread, "thread " + std::to_string(thread)));
    for (const Span& span : of.parts) add(span, kThreads, thread);
    for (const Span& span : of.modules) add(span, kSlots, span.slot);
    for (const Memory& memory : of.memory) {
      events.push_back({{"ph", "C"},
                        {"name", to_string(memory.device)},
                        {"pid", kMemory},
                        {"ts", microseconds(memory.time - impl_->start)},
                        {"args", {{"bytes", memory.bytes}}}});
    }
    ++thread;
  }
  return nlohmann::json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}.dump() +
         '\n';
}

}  // namespace tensoa::sched
