// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/tracks.hpp"

#include <string>
#include <vector>

#include "graph/checks.hpp"
#include "grow.hpp"
#include "tensoa/events/impl/serial_launcher.hpp"
#include "tensoa/track/impl/track_groups.hpp"

namespace tensoa::track {

struct TrackFinder::Workspace {
  PortableCollection<GroupWork> groups{0, Device::cpu()};
  std::vector<GroupEdge> edges;
};

TrackFinder::TrackFinder(const TrackOptions& options)
    : options_(options), work_(std::make_unique<Workspace>()) {
  detail::require_track_options(options);
}
TrackFinder::~TrackFinder() = default;
TrackFinder::TrackFinder(TrackFinder&&) noexcept = default;
TrackFinder& TrackFinder::operator=(TrackFinder&&) noexcept = default;

std::size_t TrackFinder::find(View<Hit> hits, ConstView<Edge> edges) {
  detail::require_countable(hits.size());
  PortableCollection<GroupWork>& groups = work_->groups;
  events::make_room(groups, hits.size());
  detail::require_countable(edges.size(), "edges");
  work_->edges.resize(edges.size());
  TrackStatus status;
  join_hits(events::SerialLauncher{}, groups.view(), hits, {edges}, options_, &status);
  if (status.bad_edge != TrackStatus::kNone) {
    detail::refuse_edge(status.bad_edge, edges.source[status.bad_edge],
                        edges.target[status.bad_edge], hits.size());
  }
  split_groups(events::SerialLauncher{}, groups.view(), hits, {edges}, options_,
               work_->edges.data(), hits.track_id.data(), &status);
  return static_cast<std::size_t>(status.tracks);
}

}  // namespace tensoa::track
