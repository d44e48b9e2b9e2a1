// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "figures_in_words.hpp"
#include "tensoa/core/driver_calls.hpp"
#include "tensoa/events/run_figures.hpp"
#include "tensoa/sched/module_graph.hpp"

// The summary of commands that run events through a network.

namespace tensoa::tools {

/// Figures of events that add up, whatever the application.
struct EventFigures {
  std::size_t events = 0;
  events::StageSeconds seconds;  ///< summed over threads
  events::ScoreReport moved;
  std::size_t again = 0;  ///< events with more edges than --edge-capacity

  EventFigures& operator+=(const EventFigures& other);
};

/// A run over events, whatever the application.
struct RunSummary {
  std::string device;
  std::string model;
  float min_score = 0;
  int threads = 1;
  std::string wait;        ///< of --wait
  int in_flight = 1;       ///< events begun and not finished, at most
  std::size_t failed = 0;  ///< events that are not in the figures
  double wall_seconds = 0;
  std::vector<sched::RunTotals::OfDevice> devices;
  std::vector<DriverCalls> driver_calls;  ///< of each device
  std::size_t rerun = 0;                  ///< events that ran again after their device was lost
  std::size_t thread_moves = 0;           ///< as sched::RunTotals has them, and the next
  std::size_t lock_waits = 0;
  LatencyHistogram latency;
  nlohmann::json servers = nlohmann::json::array();  ///< of the model, see ServiceRun::figures()

  /// Stores the counts of the scheduler.
  void take(const sched::RunTotals& totals);
};

/// The members of `--json` that all applications have.
/// @param last the name of the stage after inference; empty where it is a part of that
nlohmann::json to_json(const EventFigures& figures, const RunSummary& run,
                       const std::string& last = "");

/// The table of stages, wall clock and latency.
std::string stage_table(const EventFigures& figures, const RunSummary& run, std::size_t edges,
                        const std::string& last = "");

/// The bytes that were copied and moved, and the numbers of events that were done again and that failed.
std::string moved_lines(const EventFigures& figures);
std::string again_line(const EventFigures& figures);
std::string failed_line(const RunSummary& run);

}  // namespace tensoa::tools
