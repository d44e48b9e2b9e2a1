// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/metrics.hpp"

#include "tensoa/core/memory_budget.hpp"
#include "tensoa/core/prometheus.hpp"

namespace tensoa::sched {
namespace {

void add_memory(PrometheusText& text, const RunTotals& totals, const char* name, const char* help,
                std::size_t MemoryFigures::Figure::*figure) {
  text.family(name, "gauge", help);
  for (const RunTotals::OfDevice& device : totals.devices) {
    const MemoryFigures figures = memory_figures(device.device);
    for (std::size_t purpose = 0; purpose < kMemoryPurposes; ++purpose) {
      text.sample(name,
                  {{"device", to_string(device.device)},
                   {"purpose", name_of(static_cast<MemoryPurpose>(purpose))}},
                  static_cast<double>(figures.of_purpose[purpose].*figure));
    }
  }
}

}  // namespace

std::string prometheus_text(const RunTotals& totals) {
  PrometheusText text;
  text.family("tensoa_events_total", "counter", "Events that ended, by device.");
  for (const RunTotals::OfDevice& device : totals.devices) {
    text.sample("tensoa_events_total", {{"device", to_string(device.device)}},
                static_cast<double>(device.events));
  }
  text.family("tensoa_events_failed_total", "counter", "Events that ended in an error.");
  text.sample("tensoa_events_failed_total", {}, static_cast<double>(totals.failed));
  text.family("tensoa_events_rerun_total", "counter",
              "Events that ran again after their device was lost.");
  text.sample("tensoa_events_rerun_total", {}, static_cast<double>(totals.rerun));
  text.family("tensoa_device_lost", "gauge", "1 where the device was taken out during the run.");
  for (const RunTotals::OfDevice& device : totals.devices) {
    text.sample("tensoa_device_lost", {{"device", to_string(device.device)}},
                device.is_lost ? 1 : 0);
  }
  text.family("tensoa_event_latency_seconds", "summary",
              "From the source to the end of the modules of an event.");
  text.summary("tensoa_event_latency_seconds", {}, totals.latency);
  add_memory(text, totals, "tensoa_memory_bytes", "What tensoa holds on a device now.",
             &MemoryFigures::Figure::now);
  add_memory(text, totals, "tensoa_memory_peak_bytes", "What tensoa held on a device at most.",
             &MemoryFigures::Figure::peak);
  return text.text();
}

}  // namespace tensoa::sched
