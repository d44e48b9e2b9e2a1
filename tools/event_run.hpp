// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "arena.hpp"
#include "cli/signals.hpp"
#include "command.hpp"
#include "progress_bar.hpp"
#include "read_ahead.hpp"
#include "resume_file.hpp"
#include "run_summary.hpp"
#include "seams/remote_seam.hpp"
#include "seconds.hpp"
#include "tensoa/core/driver_calls.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/output_file.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/sched/metrics.hpp"
#include "tensoa/sched/module_graph.hpp"
#include "tensoa/sched/trace.hpp"
#include "tensoa/sched/waiting.hpp"

namespace tensoa::tools {

/// The options of a command that runs events through a network.
struct EventCall {
  std::vector<std::string> inputs;
  std::string model;
  ServerOptions servers;
  std::vector<std::string> devices = {"auto"};
  int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::size_t streams = 0;
  std::string wait = "polling";
  bool is_placed_by_number = false;
  std::size_t edge_capacity = 0;
  float min_score = 0.5F;
  std::string output;
  std::string report;
  std::string json;
  std::string trace;
  std::string metrics;
  std::string resume;
};

/// Adds the options that all such commands have, in the order of their help. `call` must outlive the command.
/// @param inputs, output, cut what these options are, for the help
void add_event_options(CLI::App& command, EventCall& call, const std::string& inputs,
                       const std::string& model, const std::string& cut, const std::string& output);

/// @throws ConfigError when a file is to be written twice, or over an input, and for a cut outside 0 to 1
void require_call(const EventCall& call);

/// @throws ConfigError for a device that is named twice
std::vector<Device> devices_of(const std::vector<std::string>& names);

/// The way of --wait. @param in_flight events, on all devices
std::unique_ptr<sched::Waiting> waiting_of(const std::string& wait, std::size_t in_flight);
std::string listed(const std::vector<Device>& devices);

/// One run over all events of a call. App says what an event is:
///
///     struct App {
///       using Source = …;     // an events::SourceOf
///       using Pipeline = …;   // with begin(event), step(), queue()
///       using Outcome = …;    // of an event that is done: `name`, and what the functions here use
///       using Summary = …;    // EventFigures that += those of an outcome, and a RunSummary
///       static constexpr const char* kModule = "merge";
///       static constexpr const char* kDoing = "merging";
///       static constexpr std::size_t kMostShown = 3;   // events in the report
///       App(const Call&);
///       std::vector<Source> find_events(…) const;
///       Summary summary() const;              // of no events yet
///       std::string graph_identity() const;   // RunIdentity::graph
///       Pipeline pipeline(const Model<>&, const Queue&) const;
///       Outcome take(Pipeline&, double read_seconds, bool is_shown) const;
///       void open_output(path); void append(Outcome&); void finish_output();
///       std::string report_page(json, const std::vector<Outcome>&, const Summary&) const;
///     };
///
/// and, for the Summary: to_json(), to_table().
template <class App, class Call>
class EventRun {
 public:
  explicit EventRun(const Call& call)
      : call_(call),
        devices_(devices_of(call.devices)),
        app_(call),
        model_(cli::require_model(call.model), options_for(call.model, call.servers)),
        model_identity_(identity_of_model(call.model, call.servers.fallback,
                                          options_for(call.model, call.servers))),
        is_shown_(!call.report.empty()) {
    require_call(call);
    sources_ = app_.find_events(call.inputs);
    if (!call.resume.empty()) resume();
    for (const Device device : devices_) totals_.devices.push_back({.device = device});
    // An output that cannot be written is found before the work is done.
    if (!call.output.empty()) app_.open_output(call.output);
    if (!call.report.empty()) report_.emplace(call.report);
    if (!call.json.empty()) json_.emplace(call.json);
    if (!call.trace.empty()) trace_file_.emplace(call.trace);
    if (!call.metrics.empty()) write_metrics();
    if (call.report == kStdout || call.json == kStdout) figures_ = stderr;
    if (report_ || json_) service_.emplace(call.model, options_for(call.model, call.servers));
    const std::size_t events = sources_.size() - first_;
    summary_.device = listed(devices_);
    summary_.model = call.model;
    summary_.min_score = call.min_score;
    summary_.threads = std::clamp(static_cast<int>(events), 1, std::max(1, call.threads));
    summary_.wait = call.wait;
    const bool has_gpu = !std::ranges::all_of(devices_, &Device::is_cpu);
    const std::size_t streams =
        call.streams > 0
            ? call.streams
            : std::min(2 * static_cast<std::size_t>(summary_.threads),
                       has_gpu ? kMostStreams : std::numeric_limits<std::size_t>::max());
    summary_.in_flight = static_cast<int>(std::clamp<std::size_t>(events, 1, streams));
  }

  int run() {
    sched::ModuleGraph graph;
    sched::Trace trace;
    declare(graph);
    const auto start = std::chrono::steady_clock::now();
    bar_.emplace(App::kDoing, sources_.size() - first_);
    const auto waiting =
        waiting_of(call_.wait, static_cast<std::size_t>(summary_.in_flight) * devices_.size());
    count_driver_calls(json_ || trace_file_);
    totals_ = in_arena(summary_.threads, [&] {
      const ReadAhead::WaitsAtEnd waits(read_ahead_);
      return graph.run({.devices = devices_,
                        .is_placed_by_number = call_.is_placed_by_number,
                        .in_flight = static_cast<std::size_t>(summary_.in_flight),
                        .ended = kMostEnded,
                        .waiting = waiting.get(),
                        .trace = trace_file_ ? &trace : nullptr});
    });
    count_driver_calls(false);
    summary_.take(totals_);
    summary_.seconds.read += read_ahead_.seconds();
    bar_.reset();
    summary_.wall_seconds = seconds_since(start);
    if (summary_.events > 0) write_files();
    if (trace_file_) write_file(*trace_file_, trace.to_json());
    if (!call_.metrics.empty()) write_metrics();
    fmt::print(figures_, "{}", to_table(summary_));
    if (cli::GracefulStop::signal() != 0) {
      std::fflush(figures_);
      leave_progress();
      cli::GracefulStop::end_by_signal();
    }
    return summary_.failed == 0 ? kSuccess : kBadInput;
  }

 private:
  using Source = typename App::Source;
  using Pipeline = typename App::Pipeline;
  using Outcome = typename App::Outcome;

  static constexpr double kMetricsSeconds = 10;  ///< Prometheus' scrapers ask every 15 to 60 s
  /// More events in flight do not make a GPU faster, and each takes memory there and some milliseconds at the start.
  static constexpr std::size_t kMostStreams = 16;
  static constexpr std::size_t kMostEnded =
      64;  ///< outcomes that wait for that of an event before them

  // [event]
  /// The way of an event: its file, its columns, its answer, the sink.
  void declare(sched::ModuleGraph& graph) {
    using sched::EventView;
    struct ReadEvent {
      decltype(std::declval<Source>().read()) event;
      double seconds = 0;  ///< of reading
    };
    const auto source = graph.data<const Source*>("source");
    const auto event = graph.data<std::unique_ptr<ReadEvent>>("event");
    const auto outcome = graph.data<std::unique_ptr<Outcome>>("outcome");
    const auto pipeline = graph.data<Pipeline>(
        "pipeline", [&](const Queue& queue) { return app_.pipeline(model_, queue); });
    graph.source(writes(source), [this, source, next = first_](EventView view) mutable {
      if (next == sources_.size() || cli::GracefulStop::signal() != 0) return false;
      view.write(source) = &sources_[next++];
      return true;
    });
    graph.module("read", reads(source), writes(event), [=, this](EventView view) {
      read_ahead_.after(*view.read(source));
      const auto begin = std::chrono::steady_clock::now();
      view.write(event) = std::make_unique<ReadEvent>(ReadEvent{view.read(source)->read()});
      view.write(event)->seconds = seconds_since(begin);
    });
    graph.module(App::kModule, reads(event), writes(pipeline, outcome),
                 [=, this](EventView view) -> sched::Task {
                   Pipeline& steps = view.write(pipeline);
                   steps.begin(std::move(view.read(event)->event));
                   while (steps.step()) co_await sched::done(steps.queue());
                   view.write(outcome) = std::make_unique<Outcome>(
                       app_.take(steps, view.read(event)->seconds, is_shown_));
                 });
    graph.sink(
        "write", reads(source, outcome), sched::Order::kInput,
        [=, this](EventView view) {
          finish(*view.read(outcome));
          count(view.device());
        },
        [=, this](EventView view, const sched::EventFailure& failure) {
          ++summary_.failed;
          bar_->clear();
          ++totals_.failed;
          fmt::print(stderr, "tensoa: event {}: {}\n", view.read(source)->name(), failure.message);
          count(view.device());
        });
  }
  // [/event]

  /// An event is over. What the graph counts itself is known at the end of the run.
  void count(Device device) {
    bar_->advance(to_string(device));
    if (call_.metrics.empty()) return;
    ++std::ranges::find(totals_.devices, device, &sched::RunTotals::OfDevice::device)->events;
    if (seconds_since(metrics_written_) < kMetricsSeconds) return;
    metrics_written_ = std::chrono::steady_clock::now();
    try {
      write_metrics();
    } catch (
        const OutputError& error) {  // no reason to end the run; that at its end must be written
      bar_->clear();
      fmt::print(stderr, "tensoa: {}\n", error.what());
    }
  }

  void write_metrics() {
    write_file(call_.metrics, sched::prometheus_text(totals_) + service_metrics());
  }

  /// A run from which no event came out leaves no files.
  void write_files() {
    if (!call_.output.empty()) app_.finish_output();
    if (!report_ && !json_) return;
    summary_.servers = service_->figures();
    const std::string json =
        to_json(summary_).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
    if (report_) write_file(*report_, app_.report_page(json, shown_, summary_));
    if (json_) write_file(*json_, json);
  }

  void finish(Outcome& outcome) {
    summary_ += outcome.figures;
    if (!call_.output.empty()) app_.append(outcome);
    if (is_shown_) {
      shown_.push_back(std::move(outcome));
      is_shown_ = shown_.size() < App::kMostShown;
    }
  }

  RunIdentity identity() const {
    return {.model = model_identity_,
            .graph = app_.graph_identity(),
            .min_score = call_.min_score,
            .events = sources_.size(),
            .inputs = identity_of_inputs(sources_)};
  }

  /// Continues after the events of a run that was stopped.
  void resume() {
    for (const std::string& output : {call_.output, call_.report, call_.json}) {
      if (output + ".resume" != call_.resume) continue;
      throw ConfigError("--resume: " + output +
                        " has the first part, and would be overwritten; expected another file");
    }
    const RunProgress progress = read_resume_file(call_.resume);
    require_same_run(call_.resume, progress.run, identity());
    first_ = progress.done;
  }

  /// For --resume, next to the first output.
  void leave_progress() {
    const std::size_t done = first_ + summary_.events + summary_.failed;
    fmt::print(stderr, "tensoa: {} of {} events are done", done, sources_.size());
    const auto is_file = [](const std::string& path) { return !path.empty() && path != kStdout; };
    const std::string outputs[] = {call_.output, call_.report, call_.json};
    const auto first = std::ranges::find_if(outputs, is_file);
    if (done == sources_.size() || first == std::end(outputs)) {
      fmt::print(stderr, "\n");
      return;
    }
    write_resume_file(*first + ".resume", {.done = done, .run = identity()});
    fmt::print(stderr,
               "; the same command with --resume {}.resume and other outputs does the rest\n",
               *first);
  }

  const cli::GracefulStop stop_;  ///< before any output is begun
  const Call& call_;
  std::vector<Device> devices_;
  App app_;
  Model<> model_;
  std::string model_identity_;  ///< of the file when the run begins
  std::vector<Source> sources_;
  ReadAhead read_ahead_;
  std::size_t first_ = 0;  ///< to be done
  std::optional<ProgressBar> bar_;
  std::optional<OutputFile> report_;
  std::optional<OutputFile> json_;
  std::optional<OutputFile> trace_file_;
  std::optional<ServiceRun> service_;  ///< where its figures are written
  std::FILE* figures_ = stdout;
  typename App::Summary summary_ = app_.summary();
  sched::RunTotals totals_;  ///< so far
  std::chrono::steady_clock::time_point metrics_written_ = std::chrono::steady_clock::now();
  std::atomic<bool> is_shown_;  ///< the report shows further events
  std::vector<Outcome> shown_;  ///< in the report
};

}  // namespace tensoa::tools
