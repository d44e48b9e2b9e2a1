// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "track_summary.hpp"

#include <fmt/core.h>

#include <optional>
#include <span>

#include "figures_in_words.hpp"
#include "track_truth.hpp"

namespace tensoa::tools {
namespace {

std::string auc_of(const TrackSummary& summary) {
  const std::optional<double> auc = summary.edge_auc.value();
  return auc ? fmt::format("{:.4f}", *auc) : "–";
}

}  // namespace

TrackFigures& TrackFigures::operator+=(const TrackFigures& other) {
  EventFigures::operator+=(other);
  hits += other.hits;
  edges += other.edges;
  tracks += other.tracks;
  cuda_graphs += other.cuda_graphs;
  events_with_truth += other.events_with_truth;
  edge_counts += other.edge_counts;
  edge_auc += other.edge_auc;
  track_counts += other.track_counts;
  scores.merge(other.scores);
  return *this;
}

TrackFigures figures_of(const track::ProcessedEvent& done, ConstView<track::Edge> edges) {
  TrackFigures figures;
  figures.events = 1;
  figures.hits = done.event.hits.size();
  figures.edges = done.edges;
  figures.tracks = done.tracks;
  figures.again = done.passes > 1 ? 1 : 0;
  figures.cuda_graphs = done.as_cuda_graph ? 1 : 0;
  figures.seconds = done.seconds;
  figures.moved = done.moved;
  const std::span scores(edges.score.data(), edges.size());
  if (!done.event.has_truth) {
    figures.scores.add(scores);
    return figures;
  }
  figures.events_with_truth = 1;
  figures.edge_counts = done.edge_counts;
  figures.edge_auc = done.edge_auc;
  const bool has_edges = edges.size() == done.edges;
  figures.track_counts =
      track::count_tracks(done.event.hits.const_view(), done.event.particles.const_view(),
                          has_edges ? std::optional(edges) : std::nullopt);
  figures.scores.add(scores, std::span(edges.truth.data(), edges.size()));
  return figures;
}

nlohmann::json to_json(const TrackSummary& summary) {
  const bool has_truth = summary.events_with_truth > 0;
  const auto with_truth = [&](std::optional<double> value) {
    return has_truth ? or_null(value) : nlohmann::json();
  };
  nlohmann::json json = to_json(summary, summary, "tracks");
  json.update({
      {"hits", summary.hits},
      {"edges", summary.edges},
      {"true_edges", has_truth ? nlohmann::json(summary.edge_counts.true_edges) : nlohmann::json()},
      {"edge_auc", with_truth(summary.edge_auc.value())},
      {"edge_efficiency", with_truth(summary.edge_counts.efficiency())},
      {"edge_purity", with_truth(summary.edge_counts.purity())},
      {"tracks", summary.tracks},
      {"cuda_graphs", summary.cuda_graphs},
      {"track_efficiency", with_truth(summary.track_counts.efficiency())},
      {"tracks_against_truth", has_truth ? to_json(summary.track_counts) : nlohmann::json()},
      {"graph_rules", summary.graph.empty() ? nlohmann::json() : nlohmann::json(summary.graph)},
  });
  return json;
}

std::string to_table(const TrackSummary& summary) {
  std::string text = stage_table(summary, summary, summary.edges, "tracks");
  text += fmt::format("{} event{} on {}: {} hits, {} candidate edges, {} tracks\n", summary.events,
                      summary.events == 1 ? "" : "s", summary.device, grouped(summary.hits),
                      grouped(summary.edges), grouped(summary.tracks));
  text += fmt::format("candidate edges by {}\n",
                      summary.graph.empty() ? "cuts that are built in" : summary.graph);
  if (summary.edge_capacity > 0) {
    text += fmt::format("room for {} edges: {} of {} events launched as one CUDA graph\n",
                        grouped(summary.edge_capacity), summary.cuda_graphs, summary.events);
  }
  text += moved_lines(summary) + again_line(summary);
  if (summary.events_with_truth > 0) {
    text += fmt::format(
        "against the truth, cut at {:g}: edge AUC {}, edge efficiency {}, purity {}; track "
        "efficiency {}\n",
        summary.min_score, auc_of(summary), percent(summary.edge_counts.efficiency()),
        percent(summary.edge_counts.purity()), percent(summary.track_counts.efficiency()));
    text += to_lines(summary.track_counts);
  }
  return text + failed_line(summary);
}

}  // namespace tensoa::tools
