// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "track_summary.hpp"

#include <fmt/core.h>

#include <optional>
#include <span>

#include "figures_in_words.hpp"
#include "seconds.hpp"
#include "track_truth.hpp"

namespace tensoa::tools {
namespace {

/// Summed over threads: more than the wall clock where they work at the same time.
double all_stages(const TrackSummary& summary) {
  const track::StageSeconds& seconds = summary.seconds;
  return seconds.read + seconds.graph + seconds.infer + seconds.tracks;
}

std::string auc_of(const TrackSummary& summary) {
  const std::optional<double> auc = summary.edge_auc.value();
  return auc ? fmt::format("{:.4f}", *auc) : "–";
}

}  // namespace

TrackFigures& TrackFigures::operator+=(const TrackFigures& other) {
  events += other.events;
  hits += other.hits;
  edges += other.edges;
  tracks += other.tracks;
  seconds += other.seconds;
  moved += other.moved;
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
  nlohmann::json devices = nlohmann::json::array();
  for (const auto& device : summary.devices) {
    devices.push_back({{"device", to_string(device.device)},
                       {"events", device.events},
                       {"is_lost", device.is_lost}});
  }
  return {
      {"events", summary.events},
      {"failed", summary.failed},
      {"hits", summary.hits},
      {"edges", summary.edges},
      {"true_edges", has_truth ? nlohmann::json(summary.edge_counts.true_edges) : nlohmann::json()},
      {"edge_auc", with_truth(summary.edge_auc.value())},
      {"edge_efficiency", with_truth(summary.edge_counts.efficiency())},
      {"edge_purity", with_truth(summary.edge_counts.purity())},
      {"tracks", summary.tracks},
      {"track_efficiency", with_truth(summary.track_counts.efficiency())},
      {"tracks_against_truth", has_truth ? to_json(summary.track_counts) : nlohmann::json()},
      {"score_cut", summary.min_score},
      {"seconds",
       {{"read", summary.seconds.read},
        {"graph", summary.seconds.graph},
        {"infer", summary.seconds.infer},
        {"tracks", summary.seconds.tracks},
        {"all_stages", all_stages(summary)},
        {"wall_clock", summary.wall_seconds},
        {"latency_p50", seconds_of(summary.latency.percentile(0.5))},
        {"latency_p99", seconds_of(summary.latency.percentile(0.99))},
        {"latency_p999", seconds_of(summary.latency.percentile(0.999))}}},
      {"copies",
       {{"bytes_in", summary.moved.copies.bytes_in},
        {"bytes_out", summary.moved.copies.bytes_out}}},
      {"transfers",
       {{"bytes_to_device", summary.moved.bytes_to_device},
        {"bytes_to_host", summary.moved.bytes_to_host}}},
      {"threads", summary.threads},
      {"in_flight", summary.in_flight},
      {"device", summary.device},
      {"devices", devices},
      {"rerun", summary.rerun},
      {"model", summary.model},
      {"graph_rules", summary.graph.empty() ? nlohmann::json() : nlohmann::json(summary.graph)},
      {"servers", summary.servers},
  };
}

void TrackSummary::take(const sched::RunTotals& totals) {
  devices = totals.devices;
  rerun = totals.rerun;
  latency = totals.latency;
}

std::string to_table(const TrackSummary& summary) {
  const track::StageSeconds& seconds = summary.seconds;
  const double busy = all_stages(summary);
  const double events = static_cast<double>(summary.events);
  std::string text =
      fmt::format("{:<12} {:>10} {:>12} {:>7}\n", "stage", "seconds", "ms/event", "share");
  const auto add_stage = [&](const char* name, double value) {
    text +=
        fmt::format("{:<12} {:>10.3f} {:>12.2f} {:>6.1f}%\n", name, value,
                    events > 0 ? 1e3 * value / events : 0.0, busy > 0 ? 100 * value / busy : 0.0);
  };
  add_stage("read", seconds.read);
  add_stage("build graph", seconds.graph);
  add_stage("infer", seconds.infer);
  add_stage("tracks", seconds.tracks);
  add_stage("all stages", busy);
  text += fmt::format("{:<12} {:>10.3f}  with {} thread{}: {:.2f} events/s, {:.0f} edges/s\n\n",
                      "wall clock", summary.wall_seconds, summary.threads,
                      summary.threads == 1 ? "" : "s", events / summary.wall_seconds,
                      static_cast<double>(summary.edges) / summary.wall_seconds);
  text += fmt::format("latency p50 {:.1f} ms, p99 {:.1f} ms, p99.9 {:.1f} ms",
                      1e3 * seconds_of(summary.latency.percentile(0.5)),
                      1e3 * seconds_of(summary.latency.percentile(0.99)),
                      1e3 * seconds_of(summary.latency.percentile(0.999)));
  if (summary.devices.size() > 1) {
    for (const auto& device : summary.devices) {
      text += fmt::format("; {}: {} events{}", to_string(device.device), device.events,
                          device.is_lost ? ", then lost" : "");
    }
  }
  text += '\n';
  text += fmt::format("{} event{} on {}: {} hits, {} candidate edges, {} tracks\n", summary.events,
                      summary.events == 1 ? "" : "s", summary.device, grouped(summary.hits),
                      grouped(summary.edges), grouped(summary.tracks));
  text += fmt::format("candidate edges by {}\n",
                      summary.graph.empty() ? "cuts that are built in" : summary.graph);
  text += fmt::format("copied for the network: {} in, {} out", bytes(summary.moved.copies.bytes_in),
                      bytes(summary.moved.copies.bytes_out));
  if (summary.moved.bytes_to_device > 0) {
    text += fmt::format("; to the device {}, back {}", bytes(summary.moved.bytes_to_device),
                        bytes(summary.moved.bytes_to_host));
  }
  text += '\n';
  if (summary.events_with_truth > 0) {
    text += fmt::format(
        "against the truth, cut at {:g}: edge AUC {}, edge efficiency {}, purity {}; track "
        "efficiency {}\n",
        summary.min_score, auc_of(summary), percent(summary.edge_counts.efficiency()),
        percent(summary.edge_counts.purity()), percent(summary.track_counts.efficiency()));
    text += to_lines(summary.track_counts);
  }
  if (summary.failed > 0) {
    text += fmt::format("{} event{} failed and left out\n", summary.failed,
                        summary.failed == 1 ? "" : "s");
  }
  return text;
}

}  // namespace tensoa::tools
