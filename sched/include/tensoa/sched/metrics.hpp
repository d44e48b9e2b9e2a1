// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tensoa/sched/module_graph.hpp"

namespace tensoa::sched {

/// What a run has done, in the text format of Prometheus, for a collector of text files or a page of your own:
///     tensoa_events_total{device}                     events that ended there, failed ones among them
///     tensoa_events_failed_total, tensoa_events_rerun_total
///     tensoa_device_lost{device}                      1 where it was taken out
///     tensoa_event_latency_seconds{quantile}          from the source to the end of the modules
///     tensoa_memory_bytes{device,purpose}             what tensoa holds there now (memory_figures)
///     tensoa_memory_peak_bytes{device,purpose}        and held at most
/// *Threads*: safe.
std::string prometheus_text(const RunTotals& totals);

}  // namespace tensoa::sched
