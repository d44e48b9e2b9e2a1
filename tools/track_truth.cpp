// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "track_truth.hpp"

#include <fmt/core.h>

#include <cstddef>
#include <optional>
#include <utility>

#include "figures_in_words.hpp"

namespace tensoa::tools {
namespace {

using nlohmann::json;
using track::ParticleCounts;
using track::TrackCounts;

json to_json(const ParticleCounts& counts, bool has_edges) {
  const auto interval = counts.interval();
  const auto with_edges = [&](const json& value) { return has_edges ? value : json(); };
  return {
      {"particles", counts.particles},
      {"found", counts.found},
      {"efficiency", or_null(counts.efficiency())},
      {"efficiency_low", interval ? json(interval->low) : json()},
      {"efficiency_high", interval ? json(interval->high) : json()},
      {"with_edges", with_edges(counts.with_edges)},
      {"findable", with_edges(counts.findable)},
      {"findable_found", with_edges(counts.findable_found)},
      {"ceiling", with_edges(or_null(counts.ceiling()))},
      {"technical_efficiency", with_edges(or_null(counts.technical_efficiency()))},
  };
}

json to_json(const track::CategoryCounts& counts, bool has_particles, bool has_edges) {
  json members = json::object();
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const track::Category& category = track::kCategories[c];
    json& member = members[std::string(category.name)];
    if (category.min_pt > 0 && !has_particles) continue;
    member = to_json(counts[c], has_edges);
    member["min_hits"] = category.min_hits;
    member["min_pt"] = category.min_pt;
  }
  return members;
}

json to_json(const track::EfficiencyBins& bins, bool has_edges) {
  json lists = {{"edges", bins.edges()}, {"outside", to_json(bins.outside(), has_edges)}};
  for (const ParticleCounts& counts : bins.bins()) {
    const json bin = to_json(counts, has_edges);
    for (const auto& [name, value] : bin.items()) lists[name].push_back(value);
  }
  return lists;
}

json definitions() {
  return {
      {"found",
       "A particle is found when one track has more than half of the particle's hits, and "
       "more than half of the track's hits are the particle's (double majority)."},
      {"efficiency", fmt::format("Efficiency: found particles of all particles with at least {} "
                                 "hits that pass the cuts of their category.",
                                 track::kMinHits)},
      {"primary", fmt::format("Primary particles have charge and are produced at most {:g} mm from "
                              "the beam line, in the transverse plane.",
                              track::kPrimaryRadius)},
      {"fake",
       "A track is matched when more than half of its hits are of one particle; else it is "
       "a fake. Fake rate: fakes of all tracks."},
      {"duplicate",
       "Of the matched tracks of one particle all but one are duplicates. Duplicate "
       "rate: duplicates of all tracks."},
      {"ceiling",
       fmt::format("Ceiling of the candidate graph: particles of which the true candidate edges "
                   "alone connect more than half of the hits, and at least {}, of all particles.",
                   track::kMinHits)},
      {"technical_efficiency",
       "Technical efficiency: found particles of those that the candidate graph allows."},
      {"interval", "Errors: score interval of Wilson, one standard deviation (68.27 %)."},
  };
}

/// The efficiencies of a kind of particles, and their ceilings.
std::string line_of(const char* kind, const track::CategoryCounts& counts, bool has_particles) {
  std::string text = fmt::format("{} particles found:", kind);
  const char* separator = " ";
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const track::Category& category = track::kCategories[c];
    if (category.min_pt > 0 && !has_particles) continue;
    const std::string cut = category.min_pt > 0 ? fmt::format("pT >= {:g} GeV", category.min_pt)
                                                : fmt::format(">= {} hits", category.min_hits);
    text += fmt::format("{}{} {}", std::exchange(separator, ", "), cut,
                        percent(counts[c].efficiency()));
    if (counts[c].with_edges > 0)
      text += fmt::format(" (ceiling {})", percent(counts[c].ceiling()));
  }
  return text + '\n';
}

}  // namespace

json to_json(const TrackCounts& counts) {
  const bool has_particles = counts.events_with_particles > 0;
  const bool has_edges = counts.events_with_edges > 0;
  const auto with_particles = [&](json value) { return has_particles ? std::move(value) : json(); };
  return {
      {"definitions", definitions()},
      {"events", counts.events},
      {"events_with_particles", counts.events_with_particles},
      {"events_with_edges", counts.events_with_edges},
      {"tracks", counts.tracks},
      {"fakes", counts.fakes},
      {"duplicates", counts.duplicates},
      {"fake_rate", or_null(counts.fake_rate())},
      {"duplicate_rate", or_null(counts.duplicate_rate())},
      {"all", to_json(counts.all, has_particles, has_edges)},
      {"primary", with_particles(to_json(counts.primary, has_particles, has_edges))},
      {"against_pt", with_particles(to_json(counts.against_pt, has_edges))},
      {"against_eta", with_particles(to_json(counts.against_eta, has_edges))},
      {"unlisted", counts.unlisted},
      {"notes", notes_of(counts)},
  };
}

std::vector<std::string> notes_of(const TrackCounts& counts) {
  std::vector<std::string> notes;
  if (counts.events_with_particles < counts.events) {
    notes.push_back(fmt::format(
        "{} of {} events with truth have no particle table: which of their particles are primary, "
        "and their transverse momenta, are not known",
        counts.events - counts.events_with_particles, counts.events));
  }
  if (counts.unlisted > 0) {
    notes.push_back(
        fmt::format("not in the particle table of their event: {} of {} particles with at least {} "
                    "hits; they count with all particles, without a cut on pT",
                    counts.unlisted, counts.all.front().particles, track::kMinHits));
  }
  if (counts.events_with_edges < counts.events) {
    notes.push_back(fmt::format(
        "ceiling of the candidate graph: not computed for {} of {} events, whose edges stayed on "
        "the device; --report or --graph-on-host brings them to the host",
        counts.events - counts.events_with_edges, counts.events));
  }
  return notes;
}

std::string to_lines(const TrackCounts& counts) {
  std::string text = fmt::format("tracks: {} fake, {} duplicate\n", percent(counts.fake_rate()),
                                 percent(counts.duplicate_rate()));
  const bool has_particles = counts.events_with_particles > 0;
  text +=
      has_particles ? line_of("primary", counts.primary, true) : line_of("all", counts.all, false);
  for (const std::string& note : notes_of(counts)) text += note + '\n';
  return text;
}

}  // namespace tensoa::tools
