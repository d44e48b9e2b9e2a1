// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "arena.hpp"
#include "command.hpp"
#include "progress_bar.hpp"
#include "read_ahead.hpp"
#include "resume_file.hpp"
#include "seams/remote_seam.hpp"
#include "seconds.hpp"
#include "signals.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/output_file.hpp"
#include "tensoa/package/sha256.hpp"
#include "tensoa/sched/metrics.hpp"
#include "tensoa/sched/module_graph.hpp"
#include "tensoa/sched/trace.hpp"
#include "tensoa/track/report.hpp"
#include "tensoa/track/writer.hpp"
#include "track_summary.hpp"

namespace tensoa::tools {
namespace {

constexpr double kMetricsSeconds = 10;  ///< Prometheus' scrapers ask every 15 to 60 s

struct TrackCall {
  std::vector<std::string> inputs;
  std::string model = default_model();
  std::string graph;
  ServerOptions servers;
  std::vector<std::string> devices = {"auto"};
  int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::size_t streams = 0;
  float min_score = 0.5F;
  bool graph_on_host = false;
  std::size_t edge_capacity = 0;
  std::string output;
  std::string report;
  std::string json;
  std::string trace;
  std::string metrics;
  std::string resume;
};

/// An event before it goes to the pipeline.
struct ReadEvent {
  track::Event event;
  double seconds = 0;  ///< of reading
};

/// An event that is done.
struct Outcome {
  std::string name;
  PortableCollection<track::Hit> hits{0, Device::cpu()};
  bool has_truth = false;
  TrackFigures figures;
  /// For the report: the pipeline goes on to the next event.
  std::optional<PortableCollection<track::Edge>> edges;
};

/// @throws ConfigError when a file is to be written twice, or over an input.
void require_different_files(const TrackCall& call) {
  std::vector<std::string> files = call.inputs;
  for (const std::string& output :
       {call.output, call.report, call.json, call.trace, call.metrics}) {
    if (output.empty()) continue;
    for (const std::string& other : files) {
      std::error_code ignored;
      const bool is_same = other == output || std::filesystem::equivalent(other, output, ignored);
      const bool is_special = std::filesystem::exists(output, ignored) &&
                              !std::filesystem::is_regular_file(output, ignored);
      if (is_same && !is_special) {
        throw ConfigError(output +
                          " is named twice, and would be overwritten; expected different files");
      }
    }
    files.push_back(output);
  }
}

std::vector<Device> devices_of(const std::vector<std::string>& names) {
  std::vector<Device> devices;
  devices.reserve(names.size());
  for (const std::string& name : names) devices.push_back(parse_device(name));
  return devices;
}

std::string listed(const std::vector<Device>& devices) {
  std::string list;
  for (const Device device : devices) list += (list.empty() ? "" : ",") + to_string(device);
  return list;
}

/// One run over all events of the call.
class TrackRun {
 public:
  explicit TrackRun(const TrackCall& call)
      : call_(call),
        devices_(devices_of(call.devices)),
        model_(require_model(call.model), options_for(call.model, call.servers)),
        model_identity_(identity_of_model(call.model, call.servers.fallback,
                                          options_for(call.model, call.servers))),
        graph_rules_(call.graph.empty() ? track::graph_rules_beside(call.model).string()
                                        : call.graph),
        options_{.graph = graph_rules_.empty() ? track::GraphRules()
                                               : track::read_graph_rules(graph_rules_),
                 .tracks = {.min_score = call.min_score},
                 .graph_on_host = call.graph_on_host,
                 .edge_auc = true,
                 .keep_edges = !call.report.empty(),
                 .edge_capacity = call.edge_capacity},
        wants_edges_(!call.report.empty()) {
    if (!(call.min_score >= 0 && call.min_score <= 1)) {
      throw ConfigError(fmt::format("--cut: got {}, expected 0 to 1", call.min_score));
    }
    sources_ = track::find_events(call.inputs);
    if (!call.resume.empty()) resume();
    require_different_files(call);
    for (const Device device : devices_) totals_.devices.push_back({.device = device});
    // What cannot be written is found before the work is done.
    if (!call.output.empty()) tracks_.emplace(call.output);
    if (!call.report.empty()) report_.emplace(call.report);
    if (!call.json.empty()) json_.emplace(call.json);
    if (!call.trace.empty()) trace_file_.emplace(call.trace);
    if (!call.metrics.empty()) write_metrics();
    if (call.report == kStdout || call.json == kStdout) figures_ = stderr;
    if (report_ || json_) service_.emplace(call.model, options_for(call.model, call.servers));
    const std::size_t events = sources_.size() - first_;
    summary_.device = listed(devices_);
    summary_.model = call.model;
    summary_.graph = graph_rules_;
    summary_.min_score = call.min_score;
    summary_.threads = std::clamp(static_cast<int>(events), 1, std::max(1, call.threads));
    const std::size_t streams =
        call.streams > 0 ? call.streams : 2 * static_cast<std::size_t>(summary_.threads);
    summary_.in_flight = static_cast<int>(std::clamp<std::size_t>(events, 1, streams));
  }

  int run() {
    sched::ModuleGraph graph;
    sched::Trace trace;
    declare(graph);
    const auto start = std::chrono::steady_clock::now();
    bar_.emplace("tracking", sources_.size() - first_);
    totals_ = in_arena(summary_.threads, [&] {
      const ReadAhead::WaitsAtEnd waits(read_ahead_);
      return graph.run({.devices = devices_,
                        .in_flight = static_cast<std::size_t>(summary_.in_flight),
                        .trace = trace_file_ ? &trace : nullptr});
    });
    summary_.take(totals_);
    summary_.seconds.read += read_ahead_.seconds();
    bar_.reset();
    summary_.wall_seconds = seconds_since(start);
    if (summary_.events > 0) write_files();
    if (trace_file_) write_file(*trace_file_, trace.to_json());
    if (!call_.metrics.empty()) write_metrics();
    fmt::print(figures_, "{}", to_table(summary_));
    if (GracefulStop::signal() != 0) {
      std::fflush(figures_);
      leave_progress();
      GracefulStop::end_by_signal();
    }
    return summary_.failed == 0 ? kSuccess : kBadInput;
  }

 private:
  // [event]
  /// The way of an event: its file, its hits, its tracks, the sink.
  void declare(sched::ModuleGraph& graph) {
    using sched::EventView;
    const auto source = graph.data<const track::EventSource*>("source");
    const auto event = graph.data<std::unique_ptr<ReadEvent>>("event");
    const auto outcome = graph.data<std::unique_ptr<Outcome>>("outcome");
    const auto pipeline = graph.data<track::TrackPipeline>("pipeline", [&](const Queue& queue) {
      return track::TrackPipeline(model_, queue, options_);
    });
    graph.source(writes(source), [this, source, next = first_](EventView view) mutable {
      if (next == sources_.size() || GracefulStop::signal() != 0) return false;
      view.write(source) = &sources_[next++];
      return true;
    });
    graph.module("read", reads(source), writes(event), [=, this](EventView view) {
      read_ahead_.after(*view.read(source));
      const auto begin = std::chrono::steady_clock::now();
      view.write(event) = std::make_unique<ReadEvent>(view.read(source)->read());
      view.write(event)->seconds = seconds_since(begin);
    });
    graph.module("track", reads(event), writes(pipeline, outcome),
                 [=, this](EventView view) -> sched::Task {
                   track::TrackPipeline& steps = view.write(pipeline);
                   steps.begin(std::move(view.read(event)->event));
                   while (steps.step()) co_await sched::done(steps.queue());
                   view.write(outcome) = outcome_of(steps, view.read(event)->seconds);
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

  std::unique_ptr<Outcome> outcome_of(track::TrackPipeline& pipeline, double read_seconds) {
    track::ProcessedEvent done = pipeline.take();
    done.seconds.read = read_seconds;
    const PortableCollection<track::Edge>& edges = pipeline.edges();
    TrackFigures figures = figures_of(done, edges.const_view());
    auto outcome = std::make_unique<Outcome>(Outcome{std::move(done.event.name),
                                                     std::move(done.event.hits),
                                                     done.event.has_truth,
                                                     std::move(figures),
                                                     {}});
    if (wants_edges_) {
      outcome->edges.emplace(edges.size(), Device::cpu());
      copy(Queue(Device::cpu()), edges, *outcome->edges);
    }
    return outcome;
  }

  /// An event is over. What the graph counts itself is known at the end of the run.
  void count(Device device) {
    bar_->advance(to_string(device));
    if (call_.metrics.empty()) return;
    ++std::ranges::find(totals_.devices, device, &sched::RunTotals::OfDevice::device)->events;
    if (seconds_since(metrics_written_) < kMetricsSeconds) return;
    metrics_written_ = std::chrono::steady_clock::now();
    try {
      write_metrics();
    } catch (const OutputError&
                 error) {  // no reason to end the run; the file at its end must be written
      bar_->clear();
      fmt::print(stderr, "tensoa: {}\n", error.what());
    }
  }

  void write_metrics() {
    write_file(call_.metrics, sched::prometheus_text(totals_) + service_metrics());
  }

  /// A run from which no event came out leaves no files.
  void write_files() {
    if (tracks_) tracks_->finish();
    if (!report_ && !json_) return;
    summary_.servers = service_->figures();
    const std::string json =
        to_json(summary_).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
    if (report_) {
      std::vector<track::ReportEvent> events;
      events.reserve(shown_.size());
      for (const Outcome& shown : shown_) {
        events.push_back({.name = shown.name,
                          .hits = shown.hits.const_view(),
                          .edges = shown.edges->const_view(),
                          .has_truth = shown.has_truth});
      }
      write_file(*report_, track::report_page(json, events, summary_.scores));
    }
    if (json_) write_file(*json_, json);
  }

  void finish(Outcome& outcome) {
    summary_ += outcome.figures;
    if (tracks_) tracks_->append(outcome.name, outcome.hits.const_view());
    if (wants_edges_) {
      shown_.push_back(std::move(outcome));
      wants_edges_ = shown_.size() < track::kMaxReportEvents;
    }
  }

  RunIdentity identity() const {
    return {.model = model_identity_,
            .graph = graph_rules_.empty() ? "" : package::checksum_of_file(graph_rules_),
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

  /// For --resume, beside the first output.
  void leave_progress() {
    const std::size_t done = first_ + summary_.events + summary_.failed;
    fmt::print(stderr, "tensoa: {} of {} events are done", done, sources_.size());
    const auto is_file = [](const std::string& path) { return !path.empty() && path != kStdout; };
    const std::string outputs[] = {call_.output, call_.report, call_.json};
    const auto beside = std::ranges::find_if(outputs, is_file);
    if (done == sources_.size() || beside == std::end(outputs)) {
      fmt::print(stderr, "\n");
      return;
    }
    write_resume_file(*beside + ".resume", {.done = done, .run = identity()});
    fmt::print(stderr,
               "; the same command with --resume {}.resume and other outputs does the rest\n",
               *beside);
  }

  const GracefulStop stop_;  ///< before any output is begun
  const TrackCall& call_;
  std::vector<Device> devices_;
  Model<> model_;
  std::string model_identity_;  ///< of the file when the run begins
  std::string graph_rules_;     ///< their file; empty: the cuts that are built in
  track::PipelineOptions options_;
  std::vector<track::EventSource> sources_;
  ReadAhead read_ahead_;
  std::size_t first_ = 0;  ///< to be done
  std::optional<ProgressBar> bar_;
  std::optional<track::TrackWriter> tracks_;
  std::optional<OutputFile> report_;
  std::optional<OutputFile> json_;
  std::optional<OutputFile> trace_file_;
  std::optional<ServiceRun> service_;  ///< where its figures are written
  std::FILE* figures_ = stdout;
  TrackSummary summary_;
  sched::RunTotals totals_;  ///< so far
  std::chrono::steady_clock::time_point metrics_written_ = std::chrono::steady_clock::now();
  std::atomic<bool> wants_edges_;  ///< the report shows further events
  std::vector<Outcome> shown_;     ///< in the report
};

}  // namespace

void add_track_command(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "track", "Tracker hits to tracks: candidate graph, network, connected hits");
  auto call = std::make_shared<TrackCall>();
  command
      ->add_option("INPUT", call->inputs,
                   "Event files (CSV, Parquet, Arrow), folders of them, or "
                   "generate:EVENTS[:SEED[:PARTICLES]]")
      ->required();
  command
      ->add_option(
          "--model", call->model,
          "A package or program of torch.export (both .pt2), TorchScript file (.pt) or the "
          "URL of a model on servers: forward(x, edge_index[, edge_attr]) -> scores")
      ->capture_default_str();
  command->add_option(
      "--graph", call->graph,
      "Which pairs of hits are candidate edges: rules of tensoa.tracking.graph_rules (JSON); "
      "default: "
      "MODEL.graph.json beside MODEL.pt or MODEL.pt2, where it is, else cuts that are built in");
  command
      ->add_option("--device,--devices", call->devices,
                   "auto, cpu or cuda:N, or several: cpu,cuda:0,cuda:1; each event goes where it "
                   "is expected to be "
                   "done first")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--threads", call->threads, "Threads that work on events")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      ->add_option("--streams", call->streams,
                   "Events in flight on each device, each with a queue and memory of its own; "
                   "default: two for "
                   "each thread")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--cut", call->min_score,
                   "Edges of at least this score (0 to 1) join their hits")
      ->capture_default_str();
  command->add_flag("--graph-on-host", call->graph_on_host,
                    "On a GPU: build the graph and find the tracks on the host, not on the device");
  command->add_option(
      "--edge-capacity", call->edge_capacity,
      "On a GPU: room for so many edges, so that nothing waits for their number; for networks that "
      "pass messages along edges, without means or norms over all of them. An event with more is "
      "done twice");
  add_path_option(*command, "--output", call->output,
                  "Write event, hit_id, x, y, z, track_id to this .csv or .parquet file");
  add_path_option(*command, "--report", call->report,
                  "Write the run as one HTML page; - for stdout, the table is then on stderr");
  add_path_option(*command, "--json", call->json,
                  "Write the figures of the run; - for stdout, the table is then on stderr");
  add_path_option(*command, "--metrics", call->metrics,
                  fmt::format("Write counters for Prometheus to this file, again every {:.0f} s",
                              kMetricsSeconds));
  add_path_option(*command, "--trace", call->trace,
                  "Write what ran when and where, for https://ui.perfetto.dev");
  add_server_options(*command, call->servers);
  add_fallback_option(*command, call->servers);
  command->add_option(
      "--resume", call->resume,
      "Do the rest of a run that was stopped with Ctrl-C: the file that it left; the model, the "
      "graph rules, the cut and the inputs are the same");
  command->callback([call, &action] { action = [call] { return TrackRun(*call).run(); }; });
}

}  // namespace tensoa::tools
