// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "arena.hpp"
#include "command.hpp"
#include "progress_bar.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/output_file.hpp"
#include "tensoa/sched/event_pipeline.hpp"
#include "tensoa/sched/wait.hpp"
#include "tensoa/track/report.hpp"
#include "tensoa/track/writer.hpp"
#include "track_summary.hpp"

namespace tensoa::tools {
namespace {

using track::ProcessedEvent;

struct TrackCall {
  std::vector<std::string> inputs;
  std::string model = default_model();
  std::string device = "auto";
  int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  int events_per_thread = 2;
  float min_score = 0.5F;
  bool graph_on_host = false;
  std::size_t edge_capacity = 0;
  std::string output;
  std::string report;
  std::string json;
};

/// An event that is done.
struct Outcome {
  track::Event event;
  TrackFigures figures;
  /// For the report: the pipeline goes on to the next event.
  std::optional<PortableCollection<track::Edge>> edges;
};

/// @throws ConfigError when a file is to be written twice, or over an input.
void require_different_files(const TrackCall& call) {
  std::vector<std::string> files = call.inputs;
  for (const std::string& output : {call.output, call.report, call.json}) {
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

/// One run over all events of the call.
class TrackRun {
 public:
  explicit TrackRun(const TrackCall& call)
      : device_(parse_device(call.device)),
        model_(require_model(call.model)),
        options_{.tracks = {.min_score = call.min_score},
                 .graph_on_host = call.graph_on_host,
                 .keep_edges = !call.report.empty() || !call.json.empty(),
                 .edge_capacity = call.edge_capacity},
        wants_edges_(!call.report.empty()) {
    if (!(call.min_score >= 0 && call.min_score <= 1)) {
      throw ConfigError(fmt::format("--cut: got {}, expected 0 to 1", call.min_score));
    }
    sources_ = track::find_events(call.inputs);
    require_different_files(call);
    // What cannot be written is found before the work is done.
    if (!call.output.empty()) tracks_.emplace(call.output);
    if (!call.report.empty()) report_.emplace(call.report);
    if (!call.json.empty()) json_.emplace(call.json);
    if (call.report == kStdout || call.json == kStdout) figures_ = stderr;
    summary_.device = to_string(device_);
    summary_.model = call.model;
    summary_.min_score = call.min_score;
    summary_.threads = std::clamp(static_cast<int>(sources_.size()), 1, std::max(1, call.threads));
    summary_.in_flight = std::min(summary_.threads * call.events_per_thread,
                                  std::max(summary_.threads, static_cast<int>(sources_.size())));
  }

  int run() {
    // A model that does not fit is an error of the call, not of every event.
    const bool is_suspended = track::TrackPipeline::stays_on(device_, options_);
    if (is_suspended) options_.wait = sched::wait_suspended;
    const int slots = is_suspended ? summary_.in_flight : summary_.threads;
    for (int slot = 0; slot < slots; ++slot) {
      pipelines_.push_back(
          std::make_unique<track::TrackPipeline>(model_, Queue(device_), options_));
    }
    const auto start = std::chrono::steady_clock::now();
    {
      ProgressBar bar("tracking", sources_.size());
      in_arena(summary_.threads, [&] {
        return sched::run_events(
            [next = sources_.begin(), end = sources_.end()]() mutable {
              return next < end ? std::optional(&*next++) : std::nullopt;
            },
            [&](const track::EventSource* source, std::size_t slot) {
              return work(*source, *pipelines_[slot]);
            },
            [&](const track::EventSource* source, Result<Outcome> outcome) {
              finish(*source, std::move(outcome), bar);
            },
            {.in_flight = static_cast<std::size_t>(summary_.in_flight)});
      });
    }
    summary_.wall_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (summary_.events > 0) write_files();
    fmt::print(figures_, "{}", to_table(summary_));
    return summary_.failed == 0 ? kSuccess : kBadInput;
  }

 private:
  /// A run from which no event came out leaves no files.
  void write_files() {
    if (tracks_) tracks_->finish();
    if (!report_ && !json_) return;
    const std::string json =
        to_json(summary_).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
    if (report_) {
      std::vector<track::ReportEvent> events;
      events.reserve(shown_.size());
      for (const auto& [event, figures, edges] : shown_) {
        events.push_back({.name = event.name,
                          .hits = event.hits.const_view(),
                          .edges = edges->const_view(),
                          .has_truth = event.has_truth});
      }
      write_file(*report_, track::report_page(json, events, summary_.scores));
    }
    if (json_) write_file(*json_, json);
  }

  Outcome work(const track::EventSource& source, track::TrackPipeline& pipeline) {
    track::ProcessedEvent done = pipeline.process(source);
    const PortableCollection<track::Edge>& edges = pipeline.edges();
    TrackFigures figures = figures_of(done, edges.const_view());
    Outcome outcome{std::move(done.event), std::move(figures), {}};
    if (wants_edges_) {
      outcome.edges.emplace(edges.size(), Device::cpu());
      copy(Queue(Device::cpu()), edges, *outcome.edges);
    }
    return outcome;
  }

  void finish(const track::EventSource& source, Result<Outcome> result, ProgressBar& bar) {
    if (result) {
      summary_ += result->figures;
      if (tracks_) tracks_->append(result->event.name, result->event.hits.const_view());
      if (wants_edges_) {
        shown_.push_back(std::move(*result));
        wants_edges_ = shown_.size() < track::kMaxReportEvents;
      }
    } else {
      ++summary_.failed;
      bar.clear();
      fmt::print(stderr, "tensoa: event {}: {}\n", source.name(), result.message());
    }
    bar.advance();
  }

  Device device_;
  Model<> model_;
  track::PipelineOptions options_;
  std::vector<track::EventSource> sources_;
  std::optional<track::TrackWriter> tracks_;
  std::optional<OutputFile> report_;
  std::optional<OutputFile> json_;
  std::FILE* figures_ = stdout;
  TrackSummary summary_;
  std::vector<std::unique_ptr<track::TrackPipeline>> pipelines_;  ///< by slot
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
                   "Event files, folders of them, or generate:EVENTS[:SEED[:PARTICLES]]")
      ->required();
  command
      ->add_option(
          "--model", call->model,
          "TorchScript file or package (.pt2): forward(x, edge_index[, edge_attr]) -> scores")
      ->capture_default_str();
  command->add_option("--device", call->device, "auto, cpu or cuda:N")->capture_default_str();
  command->add_option("--threads", call->threads, "Threads that work on events")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      ->add_option("--events-per-thread", call->events_per_thread,
                   "Events begun and not finished; on a GPU each has a queue, and a thread takes "
                   "another one while its event waits for the GPU")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
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
  command->callback([call, &action] { action = [call] { return TrackRun(*call).run(); }; });
}

}  // namespace tensoa::tools
