// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/merge/device_event.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "graph/device_kernels.hpp"
#include "grow.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/events/impl/serial_launcher.hpp"

namespace tensoa::merge {
namespace {

using events::make_room;

struct EventStatus {
  track::TrackStatus groups;
  LinkStatus links;
};
static_assert(sizeof(EventStatus) <= kAlignment && std::is_trivially_copyable_v<EventStatus>);

void require_cut(const char* name, double value) {
  if (std::isfinite(value) && value >= 0) return;
  throw ConfigError("link cut " + std::string(name) + ": got " + std::to_string(value) +
                    ", expected a finite number that is not negative");
}

/// The kernels count edges from the end in 32 bits.
void require_countable(std::size_t n_edges) {
  if (n_edges < BestEdges::kLast) return;
  throw InputError("event of " + std::to_string(n_edges) +
                   " candidate edges, expected fewer than 2^32 - 1");
}

}  // namespace

// The copies to the host, one after the other: counts of scores, status, merged_id. The status alone comes first.
struct DeviceEvent::Answer {
  std::byte* data;

  static constexpr std::size_t kStatusAt = plane_bytes(sizeof(events::EdgeAuc::Counts), 1);
  static constexpr std::size_t kMergedAt = kStatusAt + kAlignment;
  static std::size_t end(std::size_t n) { return kMergedAt + n * sizeof(std::int64_t); }

  events::EdgeAuc::Counts* score_counts() const {
    return reinterpret_cast<events::EdgeAuc::Counts*>(data);
  }
  EventStatus* status() const { return reinterpret_cast<EventStatus*>(data + kStatusAt); }
  std::int64_t* merged_id() const { return reinterpret_cast<std::int64_t*>(data + kMergedAt); }
};

bool DeviceEvent::is_supported(Device device) noexcept {
  return device.is_cpu() || detail::gpu_has_kernels();
}

DeviceEvent::DeviceEvent(const Queue& queue, const LinkCuts& cuts, std::size_t edge_capacity)
    : queue_(queue),
      room_(edge_capacity),
      clusters_(0, queue.device()),
      fragments_(0, queue.device()),
      nodes_(0, queue.device()),
      work_(0, queue.device()),
      groups_(0, queue.device()),
      edges_(0, queue.device()) {
  require_cut("max_transverse", cuts.max_transverse);
  require_cut("max_gap", cuts.max_gap);
  require_countable(edge_capacity);
  search_.cuts = cuts;
  if (!queue.device().is_cpu()) static_cast<void>(detail::gpu_scratch_bytes(queue, 1));
}

template <class Step>
void DeviceEvent::run(const Step& step) {
  is_busy_ = true;
  if (queue_.device().is_cpu()) {
    step.run(events::SerialLauncher{});
  } else {
    detail::gpu_run(queue_, {scratch_.data(), scratch_.size()}, step);
  }
}

void DeviceEvent::make_room(std::size_t n_clusters, std::size_t n_fragments) {
  const Device device = queue_.device();
  const bool grows = n_fragments > work_.capacity();
  merge::make_room(nodes_, n_fragments + 1);
  nodes_.resize(n_fragments);
  merge::make_room(work_, n_fragments);
  merge::make_room(groups_, n_fragments);
  if (grows) {
    const std::size_t capacity = work_.capacity();
    keys_ = {};
    keys_ = Buffer(device, 2 * capacity * sizeof(FragmentKey));
    host_answer_ = {};
    host_answer_ = PinnedBuffer(device, Answer::end(capacity));
    if (!device.is_cpu()) {
      answer_ = {};
      answer_ = Buffer(device, Answer::end(capacity));
      scratch_ = {};
      scratch_ = Buffer(device, detail::gpu_scratch_bytes(queue_, capacity));
    }
  }
  if (device.is_cpu()) return;
  merge::make_room(clusters_, n_clusters);
  merge::make_room(fragments_, n_fragments);
}

DeviceEvent::Answer DeviceEvent::on_host() const { return {host_answer_.data()}; }

DeviceEvent::Answer DeviceEvent::on_device() const {
  return queue_.device().is_cpu() ? on_host() : Answer{answer_.data()};
}

void DeviceEvent::require_started(Started expected, const char* what) const {
  if (started_ == expected) return;
  throw ConfigError(std::string("DeviceEvent::") + what +
                    ": got a call out of turn, expected start_graph, finish_graph, start_merge, "
                    "finish_merge");
}

void DeviceEvent::start_graph(Event& event) {
  const std::size_t n = event.fragments.size();
  if (n > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw InputError("event of " + std::to_string(n) + " fragments, expected fewer than 2^31");
  }
  if (is_busy_) queue_.wait();  // the event before was given up
  is_busy_ = false;
  started_ = Started::kNothing;
  edges_.resize(0);
  make_room(event.clusters.size(), n);
  bytes_to_device_ = bytes_to_host_ = 0;
  started_ = Started::kGraph;
  if (n == 0) return;

  const bool is_here = queue_.device().is_cpu();
  if (!is_here) {
    is_busy_ = true;
    bytes_to_device_ =
        copy(queue_, event.clusters, clusters_) + copy(queue_, event.fragments, fragments_);
  }
  search_.clusters = is_here ? event.clusters.view() : clusters_.view();
  search_.fragments = is_here ? event.fragments.view() : fragments_.view();
  search_.nodes = nodes_.view();
  search_.keys = reinterpret_cast<FragmentKey*>(keys_.data());
  search_.sorted = search_.keys + work_.capacity();
  search_.work = work_.view();
  search_.status = &on_device().status()->links;
  run(detail::FindStep{search_});
  if (!room_.is_fixed()) copy_down(Answer::kStatusAt, Answer::kMergedAt);
}

std::size_t DeviceEvent::finish_graph() {
  require_started(Started::kGraph, "finish_graph");
  const std::size_t n = work_.size();
  if (n > 0 && !room_.is_fixed()) {
    queue_.wait();
    is_busy_ = false;
  }
  started_ = Started::kEdges;
  if (n == 0) return 0;
  const std::size_t rows =
      room_.is_fixed() ? room_.take() : static_cast<std::size_t>(on_host().status()->links.edges);
  require_countable(rows);
  merge::make_room(edges_, rows);
  if (room_.is_fixed()) nodes_.resize(n + 1);
  if (rows > 0) run(detail::FillStep{search_, edges_.view(), nodes_.view()});
  return rows;
}

void DeviceEvent::start_merge(float min_score, bool counts_scores) {
  require_started(Started::kEdges, "start_merge");
  started_ = Started::kMerge;
  counts_scores_ = counts_scores && work_.size() > 0;
  if (work_.size() == 0) return;
  const Answer there = on_device();
  const BestEdges best{edges_.const_view(), nodes_.view(),
                       reinterpret_cast<std::uint64_t*>(keys_.data()), min_score,
                       &there.status()->links};
  run(detail::JoinStep{groups_.view(), best, there.merged_id(), &there.status()->groups,
                       counts_scores_ ? there.score_counts()->data() : nullptr});
  copy_down(counts_scores_ ? 0 : Answer::kStatusAt, Answer::end(work_.size()));
}

MergedFragments DeviceEvent::finish_merge(Event& event) {
  require_started(Started::kMerge, "finish_merge");
  const std::size_t n = work_.size();
  if (event.fragments.size() != n) {
    throw ConfigError("DeviceEvent::finish_merge: got an event of " +
                      std::to_string(event.fragments.size()) + " fragments, expected the one of " +
                      std::to_string(n) + " that was started");
  }
  if (is_busy_) queue_.wait();
  is_busy_ = false;
  started_ = Started::kNothing;
  if (n == 0) return {};
  const auto n_edges = static_cast<std::size_t>(on_host().status()->links.edges);
  if (n_edges > edges_.size()) {
    require_countable(n_edges);
    room_.make_room(n_edges);
    return {.edges = {.edges = n_edges}, .is_complete = false};
  }
  edges_.resize(n_edges);
  nodes_.resize(n);
  const track::TrackStatus& status = on_host().status()->groups;
  MergedFragments found{.merged = static_cast<std::size_t>(status.tracks),
                        .edges = {.edges = edges_.size(),
                                  .true_edges = status.true_edges,
                                  .selected = status.selected,
                                  .true_selected = status.true_selected},
                        .bad_scores = status.bad_scores};
  if (counts_scores_) found.score_counts = on_host().score_counts();
  if (found.bad_scores == 0) {
    std::copy_n(on_host().merged_id(), n, event.fragments.view().merged_id.data());
  }
  return found;
}

void DeviceEvent::copy_down(std::size_t first, std::size_t last) {
  if (queue_.device().is_cpu()) return;
  copy_bytes(queue_, on_host().data + first, Device::cpu(), on_device().data + first,
             queue_.device(), last - first);
  bytes_to_host_ += last - first;
}

}  // namespace tensoa::merge
