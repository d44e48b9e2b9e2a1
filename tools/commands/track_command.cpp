// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <utility>

#include "event_run.hpp"
#include "tensoa/package/sha256.hpp"
#include "tensoa/track/report.hpp"
#include "tensoa/track/writer.hpp"
#include "track_summary.hpp"

namespace tensoa::tools {
namespace {

struct TrackCall : EventCall {
  std::string graph;
  bool graph_on_host = false;
  bool cuda_graph = false;
};

class TrackApp {
 public:
  using Source = track::EventSource;
  using Pipeline = track::TrackPipeline;
  using Summary = TrackSummary;
  struct Outcome {
    std::string name;
    PortableCollection<track::Hit> hits{0, Device::cpu()};
    bool has_truth = false;
    TrackFigures figures;
    /// For the report: the pipeline goes on to the next event.
    std::optional<PortableCollection<track::Edge>> edges;
  };
  static constexpr const char* kModule = "track";
  static constexpr const char* kDoing = "tracking";
  static constexpr std::size_t kMostShown = track::kMaxReportEvents;

  explicit TrackApp(const TrackCall& call)
      : graph_rules_(call.graph.empty() ? track::graph_rules_beside(call.model).string()
                                        : call.graph),
        options_{.graph = graph_rules_.empty() ? track::GraphRules()
                                               : track::read_graph_rules(graph_rules_),
                 .tracks = {.min_score = call.min_score},
                 .graph_on_host = call.graph_on_host,
                 .edge_auc = true,
                 .keep_edges = !call.report.empty(),
                 .edge_capacity = call.edge_capacity,
                 .cuda_graph = call.cuda_graph} {}

  static std::vector<Source> find_events(const std::vector<std::string>& inputs) {
    return track::find_events(inputs);
  }

  Summary summary() const {
    Summary summary;
    summary.graph = graph_rules_;
    summary.edge_capacity = options_.edge_capacity;
    return summary;
  }
  std::string graph_identity() const {
    return graph_rules_.empty() ? "" : package::checksum_of_file(graph_rules_);
  }

  Pipeline pipeline(const Model<>& model, const Queue& queue) const {
    return {model, queue, options_};
  }

  static Outcome take(Pipeline& pipeline, double read_seconds, bool is_shown) {
    track::ProcessedEvent done = pipeline.take();
    done.seconds.read = read_seconds;
    const PortableCollection<track::Edge>& edges = pipeline.edges();
    TrackFigures figures = figures_of(done, edges.const_view());
    Outcome outcome{std::move(done.event.name),
                    std::move(done.event.hits),
                    done.event.has_truth,
                    std::move(figures),
                    {}};
    if (is_shown) {
      outcome.edges.emplace(edges.size(), Device::cpu());
      copy(Queue(Device::cpu()), edges, *outcome.edges);
    }
    return outcome;
  }

  void open_output(const std::string& path) { tracks_.emplace(path); }
  void append(const Outcome& outcome) { tracks_->append(outcome.name, outcome.hits.const_view()); }
  void finish_output() { tracks_->finish(); }

  static std::string report_page(const std::string& json, const std::vector<Outcome>& shown,
                                 const Summary& summary) {
    std::vector<track::ReportEvent> events;
    events.reserve(shown.size());
    for (const Outcome& one : shown) {
      events.push_back({.name = one.name,
                        .hits = one.hits.const_view(),
                        .edges = one.edges->const_view(),
                        .has_truth = one.has_truth});
    }
    return track::report_page(json, events, summary.scores);
  }

 private:
  std::string graph_rules_;  ///< their file; empty: the cuts that are built in
  track::PipelineOptions options_;
  std::optional<track::TrackWriter> tracks_;
};

}  // namespace

void add_track_command(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "track", "Tracker hits to tracks: candidate graph, network, connected hits");
  auto call = std::make_shared<TrackCall>();
  call->model = cli::default_model();
  add_event_options(*command, *call,
                    "Event files (CSV, Parquet, Arrow), folders of them, or "
                    "generate:EVENTS[:SEED[:PARTICLES]]",
                    "forward(x, edge_index[, edge_attr]) -> scores",
                    "Edges of at least this score (0 to 1) join their hits",
                    "Write event, hit_id, x, y, z, track_id to this .csv or .parquet file");
  command->add_option(
      "--graph", call->graph,
      "Rules for candidate edges, of tensoa.tracking.graph_rules (JSON); default: MODEL.graph.json "
      "next to MODEL.pt or MODEL.pt2, where it exists, else built-in cuts");
  command->add_flag("--graph-on-host", call->graph_on_host,
                    "On a GPU: build the graph and find the tracks on the host, not on the device");
  command
      ->add_flag("--cuda-graph", call->cuda_graph,
                 "With --edge-capacity: launch each event as one CUDA graph, where the model is a "
                 "fused package; "
                 "faster for one event at a time, not for several")
      ->needs("--edge-capacity");
  command->callback(
      [call, &action] { action = [call] { return EventRun<TrackApp, TrackCall>(*call).run(); }; });
}

}  // namespace tensoa::tools
