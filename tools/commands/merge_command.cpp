// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <span>

#include "event_run.hpp"
#include "tensoa/merge/event_source.hpp"
#include "tensoa/merge/metrics.hpp"
#include "tensoa/merge/pipeline.hpp"
#include "tensoa/merge/report.hpp"
#include "tensoa/merge/writer.hpp"

namespace tensoa::tools {
namespace {

/// Figures of events that add up.
struct MergeFigures : EventFigures {
  std::size_t clusters = 0;
  std::size_t fragments = 0;
  std::size_t edges = 0;
  std::size_t merged = 0;
  std::size_t events_with_truth = 0;
  events::EdgeCounts edge_counts;
  events::EdgeAuc edge_auc;
  merge::MergeCounts merge_counts;
  events::ScoreHistogram scores;

  MergeFigures& operator+=(const MergeFigures& other) {
    EventFigures::operator+=(other);
    clusters += other.clusters;
    fragments += other.fragments;
    edges += other.edges;
    merged += other.merged;
    events_with_truth += other.events_with_truth;
    edge_counts += other.edge_counts;
    edge_auc += other.edge_auc;
    merge_counts += other.merge_counts;
    scores.merge(other.scores);
    return *this;
  }
};

struct MergeSummary : MergeFigures, RunSummary {};

nlohmann::json to_json(const MergeSummary& summary) {
  const merge::MergeCounts& counts = summary.merge_counts;
  const bool has_truth = summary.events_with_truth > 0;
  const auto with_truth = [&](auto value) {
    return has_truth ? nlohmann::json(value) : nlohmann::json();
  };
  const auto ratio = [&](std::optional<double> value) {
    return has_truth ? or_null(value) : nlohmann::json();
  };
  nlohmann::json json = to_json(summary, summary);
  json.update({{"clusters", summary.clusters},
               {"fragments", summary.fragments},
               {"edges", summary.edges},
               {"merged", summary.merged},
               {"true_edges", with_truth(summary.edge_counts.true_edges)},
               {"edge_auc", ratio(summary.edge_auc.value())},
               {"edge_efficiency", ratio(summary.edge_counts.efficiency())},
               {"edge_purity", ratio(summary.edge_counts.purity())},
               {"showers", with_truth(counts.showers)},
               {"shower_efficiency", ratio(counts.shower_efficiency())},
               {"fragments_that_count", with_truth(counts.fragments)},
               {"merge_efficiency", ratio(counts.efficiency())},
               {"energy_purity", ratio(counts.purity())},
               {"energy_response", ratio(counts.response())},
               {"energy_resolution", ratio(counts.resolution())}});
  return json;
}

std::string to_table(const MergeSummary& summary) {
  const merge::MergeCounts& counts = summary.merge_counts;
  std::string text = stage_table(summary, summary, summary.edges);
  text += fmt::format(
      "{} event{} on {}: {} clusters in {} fragments, {} candidate edges, {} merged particles\n",
      summary.events, summary.events == 1 ? "" : "s", summary.device, grouped(summary.clusters),
      grouped(summary.fragments), grouped(summary.edges), grouped(summary.merged));
  text += moved_lines(summary) + again_line(summary);
  if (summary.events_with_truth > 0) {
    const std::optional<double> auc = summary.edge_auc.value();
    text += fmt::format(
        "against the truth, cut at {:g}: edge AUC {}; of {} fragments with 5 % of a shower of 10 "
        "GeV "
        "or more {} are joined rightly; energy purity {}, response {}, resolution {}\n",
        summary.min_score, auc ? fmt::format("{:.4f}", *auc) : "–", grouped(counts.fragments),
        percent(counts.efficiency()), percent(counts.purity()), percent(counts.response()),
        percent(counts.resolution()));
  }
  return text + failed_line(summary);
}

class MergeApp {
 public:
  using Source = merge::EventSource;
  using Pipeline = merge::MergePipeline;
  using Summary = MergeSummary;
  struct Outcome {
    merge::Event event;
    MergeFigures figures;
  };
  static constexpr const char* kModule = "merge";
  static constexpr const char* kDoing = "merging";
  static constexpr std::size_t kMostShown = merge::kMaxReportEvents;

  explicit MergeApp(const EventCall& call)
      : options_{.min_score = call.min_score,
                 .edge_auc = true,
                 .keep_edges = !call.report.empty(),
                 .edge_capacity = call.edge_capacity} {}

  static std::vector<Source> find_events(const std::vector<std::string>& inputs) {
    return merge::find_events(inputs);
  }

  static Summary summary() { return {}; }
  static std::string graph_identity() { return ""; }

  /// On a CPU nothing waits, and rows that are not edges are only work.
  Pipeline pipeline(const Model<>& model, const Queue& queue) const {
    merge::PipelineOptions options = options_;
    if (queue.device().is_cpu()) options.edge_capacity = 0;
    return {model, queue, options};
  }

  static Outcome take(Pipeline& pipeline, double read_seconds, bool) {
    merge::ProcessedEvent done = pipeline.take();
    done.seconds.read = read_seconds;
    MergeFigures figures;
    figures.events = 1;
    figures.clusters = done.event.clusters.size();
    figures.fragments = done.event.fragments.size();
    figures.edges = done.edges;
    figures.merged = done.merged;
    figures.seconds = done.seconds;
    figures.moved = done.moved;
    figures.again = done.passes > 1 ? 1 : 0;
    const auto edges = pipeline.edges().const_view();
    const std::span scores(edges.score.data(), edges.size());
    if (done.event.has_truth) {
      figures.events_with_truth = 1;
      figures.edge_counts = done.edge_counts;
      figures.edge_auc = done.edge_auc;
      figures.merge_counts = merge::count_merged(done.event);
      figures.scores.add(scores, std::span(edges.truth.data(), edges.size()));
    } else {
      figures.scores.add(scores);
    }
    return {std::move(done.event), std::move(figures)};
  }

  void open_output(const std::string& path) { output_.emplace(path); }
  void append(const Outcome& outcome) { output_->append(outcome.event); }
  void finish_output() { output_->finish(); }

  static std::string report_page(const std::string& json, const std::vector<Outcome>& shown,
                                 const Summary& summary) {
    std::vector<const merge::Event*> events;
    events.reserve(shown.size());
    for (const Outcome& one : shown) events.push_back(&one.event);
    return merge::report_page(json, events, summary.scores, summary.merge_counts);
  }

 private:
  merge::PipelineOptions options_;
  std::optional<merge::MergeWriter> output_;
};

}  // namespace

void add_merge_command(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "merge", "Calorimeter fragments to particles: candidate graph, network, joined fragments");
  auto call = std::make_shared<EventCall>();
  call->model = cli::default_model("merge");
  call->min_score = merge::PipelineOptions{}.min_score;
  add_event_options(
      *command, *call,
      "Event files (Parquet, Arrow), folders of them, or "
      "generate:EVENTS[:SEED[:PARTICLES[:PILE_UP]]]",
      "forward(x, edge_index, edge_attr) -> scores",
      "Each fragment joins the one of more energy to which its edge scores best, if that is at "
      "least this score (0 to 1)",
      "Write event, fragment_id, x, y, z, energy, layer, merged_id of all clusters to this .csv or "
      ".parquet file");
  command->callback(
      [call, &action] { action = [call] { return EventRun<MergeApp, EventCall>(*call).run(); }; });
}

}  // namespace tensoa::tools
