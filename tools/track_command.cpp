// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "command.hpp"
#include "progress_bar.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/output_file.hpp"
#include "tensoa/sched/event_loop.hpp"
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

/// What the finishing of an event needs: the event itself, or why it failed, and copies of its
/// edges' columns where the pipeline of its thread goes on to the next event.
struct Outcome {
  std::string error;
  std::optional<ProcessedEvent> done;
  std::optional<PortableCollection<track::Edge>> edges;
};

track::ReportEvent report_event(const ProcessedEvent& done, ConstView<track::Edge> edges) {
  const auto column = []<class T>(const PlainColumn<const T>& values, std::size_t n) {
    return std::vector<T>(values.data(), values.data() + n);
  };
  const auto rows = [&](const PlainColumn<const std::int64_t>& values, std::size_t n) {
    return std::vector<std::int32_t>(values.data(), values.data() + n);
  };
  const auto hits = done.event.hits.const_view();
  return {.name = done.event.name,
          .x = column(hits.x, hits.size()),
          .y = column(hits.y, hits.size()),
          .z = column(hits.z, hits.size()),
          .track_id = rows(hits.track_id, hits.size()),
          .particle_id = column(hits.particle_id, hits.size()),
          .source = rows(edges.source, edges.size()),
          .target = rows(edges.target, edges.size()),
          .score = column(edges.score, edges.size()),
          .truth = column(edges.truth, edges.size()),
          .has_truth = done.event.has_truth};
}

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
                 .edge_capacity = call.edge_capacity} {
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
    outcomes_.resize(static_cast<std::size_t>(summary_.in_flight));
    const auto start = std::chrono::steady_clock::now();
    {
      ProgressBar bar("tracking", sources_.size());
      sched::run_events(
          sources_.size(), summary_.threads, summary_.in_flight,
          [&](std::size_t event, std::size_t slot) { work(event, slot); },
          [&](std::size_t event) { finish(event, bar); });
    }
    summary_.wall_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (summary_.events > 0) write_files();
    fmt::print(figures_, "{}", to_table(summary_));
    return summary_.failed == 0 ? kRight : kBadInput;
  }

 private:
  /// A run from which no event came out leaves no files.
  void write_files() {
    if (tracks_) tracks_->finish();
    if (!report_ && !json_) return;
    const std::string json =
        to_json(summary_).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
    if (report_) write_file(*report_, track::report_page(json, report_events_, summary_.scores));
    if (json_) write_file(*json_, json);
  }

  void work(std::size_t event, std::size_t slot) {
    Outcome& outcome = outcomes_[event % outcomes_.size()];
    track::TrackPipeline& pipeline = *pipelines_[slot];
    try {
      outcome.done = pipeline.process(sources_[event]);
      const auto& edges = pipeline.edges();
      outcome.edges.emplace(edges.size(), Device::cpu());
      copy(Queue(Device::cpu()), edges, *outcome.edges);
    } catch (const Error& error) {
      outcome.error = error.what();
      outcome.done.reset();
    } catch (const std::bad_alloc&) {
      outcome.error = kNoMemory;
      outcome.done.reset();
    }
  }

  void finish(std::size_t event, ProgressBar& bar) {
    const Outcome outcome = std::exchange(outcomes_[event % outcomes_.size()], {});
    if (outcome.done) {
      const auto edges = outcome.edges->const_view();
      summary_.add(*outcome.done, edges);
      if (tracks_) tracks_->append(outcome.done->event.name, outcome.done->event.hits.const_view());
      if (report_ && report_events_.size() < track::kMaxReportEvents) {
        report_events_.push_back(report_event(*outcome.done, edges));
      }
    } else {
      ++summary_.failed;
      bar.clear();
      fmt::print(stderr, "tensoa: event {}: {}\n", sources_[event].name(), outcome.error);
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
  std::vector<Outcome> outcomes_;  ///< a ring: run_events has at most that many under way
  std::vector<track::ReportEvent> report_events_;
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
