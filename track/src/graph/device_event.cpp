// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/device_event.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "graph/checks.hpp"
#include "graph/device_kernels.hpp"
#include "grow.hpp"
#include "recorded_work.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/events/impl/serial_launcher.hpp"

namespace tensoa::track {
namespace {

// The columns of a hit that are copied to the GPU.
template <template <class> class F>
struct HitInput {
  F<std::int64_t> particle_id;
  F<float> x, y, z;
  F<std::int32_t> layer;
};

struct EventStatus {
  GraphStatus graph;
  TrackStatus tracks;
};
static_assert(sizeof(EventStatus) <= kAlignment && std::is_trivially_copyable_v<EventStatus>);

/// Rows for n hits and one at least that is none: few different numbers, so that few graphs serve all events.
std::size_t rows_for(std::size_t n) {
  const std::size_t step = std::max<std::size_t>(64, std::bit_floor(n) / 8);
  return (n / step + 1) * step;
}

}  // namespace

/// Graphs of events, by their rows and whether scores are counted.
struct DeviceEvent::Recordings {
  struct Recording {
    std::optional<events::RecordedWork> work;  ///< from the second event on
    CopyReport copies;
    std::size_t bytes_to_device, bytes_to_host;
  };

  /// The network runs over these numbers of rows: where one is larger than before, it may take other memory.
  void run_over(std::size_t rows, std::size_t edge_rows) {
    if (rows <= most_rows && edge_rows <= most_edge_rows) return;
    all.clear();
    most_rows = std::max(most_rows, rows);
    most_edge_rows = std::max(most_edge_rows, edge_rows);
  }

  void use(const std::shared_ptr<const void>& used) {
    if (used == uses) return;
    all.clear();
    uses = used;
  }

  std::shared_ptr<const void> uses;  // before the graphs, so that it goes after them
  std::size_t most_rows = 0, most_edge_rows = 0;
  std::map<std::pair<std::size_t, bool>, Recording> all;
};

// The copies between host and device: counts of scores, track_id, status, hits, one after the other, so
// that the last two go up, and the others, with or without the first, come down, in one piece. There is
// one of it on each side.
struct DeviceEvent::Staging {
  std::byte* data;
  std::size_t n;
  Device device;

  static std::size_t track_id_at() { return plane_bytes(sizeof(EdgeAuc::Counts), 1); }
  std::size_t status_at() const { return track_id_at() + plane_bytes(sizeof(std::int64_t), n); }
  std::size_t hits_at() const { return status_at() + kAlignment; }
  std::size_t end() const { return hits_at() + MemoryPlan<HitInput>(n).bytes; }

  EdgeAuc::Counts* score_counts() const { return reinterpret_cast<EdgeAuc::Counts*>(data); }
  std::int64_t* track_id() const { return reinterpret_cast<std::int64_t*>(data + track_id_at()); }
  EventStatus* status() const { return reinterpret_cast<EventStatus*>(data + status_at()); }
  View<HitInput> hits() const { return view_at<HitInput>(data + hits_at(), n, device); }
};

bool DeviceEvent::is_supported(Device device) noexcept {
  return device.is_cpu() || detail::gpu_has_kernels();
}

DeviceEvent::DeviceEvent(const Queue& queue, const GraphRules& rules, const TrackOptions& options,
                         std::size_t edge_capacity)
    : queue_(queue),
      rules_((require_rules(rules), rules)),
      layers_(rules, queue),
      options_(options),
      room_(edge_capacity),
      hits_(0, queue.device()),
      work_(0, queue.device()),
      groups_(0, queue.device()),
      edges_(0, queue.device()),
      recordings_(std::make_unique<Recordings>()) {
  detail::require_track_options(options);
  if (!queue.device().is_cpu()) static_cast<void>(detail::gpu_scratch_bytes(queue, 1));
}

DeviceEvent::~DeviceEvent() = default;  // freeing its memory waits for what is enqueued
DeviceEvent::DeviceEvent(DeviceEvent&&) noexcept = default;
DeviceEvent& DeviceEvent::operator=(DeviceEvent&&) noexcept = default;

template <class Step>
void DeviceEvent::run(const Step& step) {
  if (queue_.device().is_cpu()) {
    step.run(events::SerialLauncher{});
  } else {
    detail::gpu_run(queue_, {scratch_.data(), scratch_.size()}, step);
  }
}

void DeviceEvent::make_room(std::size_t rows) {
  const Device device = queue_.device();
  if (rows > capacity_) {
    const std::size_t capacity = events::grown(capacity_, rows);
    recordings_->all.clear();
    capacity_ = 0;
    const std::size_t bytes = Staging{nullptr, capacity, device}.end();
    device_block_ = {};
    device_block_ = Buffer(device, bytes);
    host_block_ = {};
    host_block_ = PinnedBuffer(device, bytes);
    keys_ = {};
    keys_ = Buffer(device, 2 * capacity * sizeof(HitKey));
    buckets_ = {};
    buckets_ = Buffer(device, capacity * sizeof(Bucket));
    pairs_ = {};
    pairs_ = Buffer(
        device, std::min(capacity, BucketPairs::kMost) * BucketPairs::kMost * sizeof(std::int32_t));
    if (!device.is_cpu()) {
      scratch_ = {};
      scratch_ = Buffer(device, detail::gpu_scratch_bytes(queue_, capacity));
    }
    capacity_ = capacity;
  }
  if (capacity_ > 0) make_targets_room(std::max(capacity_ * width(), edges_again_));
  events::make_room(hits_, rows);
  events::make_room(work_, rows);
  events::make_room(groups_, rows);
}

DeviceEvent::Staging DeviceEvent::on_device() const {
  return {device_block_.data(), work_.size(), queue_.device()};
}

DeviceEvent::Staging DeviceEvent::on_host() const {
  return {host_block_.data(), work_.size(), Device::cpu()};
}

void DeviceEvent::require_started(Started expected, const char* finish, const char* start) const {
  if (started_ == expected) return;
  throw ConfigError(std::string("DeviceEvent::") + finish + ": got a call without " + start +
                    " before it");
}

/// The copied columns, and the node features.
View<Hit> DeviceEvent::columns() {
  const View<HitInput> input = on_device().hits();
  View<Hit> columns = hits_.view();
  columns.particle_id = input.particle_id;
  columns.x = input.x;
  columns.y = input.y;
  columns.z = input.z;
  columns.layer = input.layer;
  return columns;
}

std::size_t DeviceEvent::most_width() const {
  return std::max(kMostSlots / capacity_, std::size_t{1});
}

std::size_t DeviceEvent::width() const { return std::min(width_, most_width()); }

/// @return false: that is too much for all hits
bool DeviceEvent::widen(std::size_t width) {
  if (width > most_width()) return false;
  recordings_->all.clear();
  width_ = std::bit_ceil(width);
  return true;
}

void DeviceEvent::make_targets_room(std::size_t targets) {
  if (targets_.size() >= targets * sizeof(std::int32_t)) return;
  recordings_->all.clear();
  targets_ = {};
  targets_ = Buffer(queue_.device(), targets * sizeof(std::int32_t));
}

TargetSlots DeviceEvent::slots(std::size_t width) const {
  return {reinterpret_cast<std::int32_t*>(targets_.data()), targets_.size() / sizeof(std::int32_t),
          width};
}

TargetSearch DeviceEvent::search() {
  return search_by(rules_, layers_.table(), work_.view(),
                   reinterpret_cast<Bucket*>(buckets_.data()));
}

BucketPairs DeviceEvent::pairs() const {
  return {reinterpret_cast<std::int32_t*>(pairs_.data()), &on_device().status()->graph};
}

/// Of the hits that are in the staging memory here; the number of edges is then on its way where the
/// host needs it.
void DeviceEvent::find_targets() {
  const Staging here = on_host();
  const Staging there = on_device();
  is_busy_ = true;
  copy(here, there, here.status_at(), here.end());
  slots_ = slots(width());
  run(detail::FindStep{columns(), search(), reinterpret_cast<HitKey*>(keys_.data()),
                       reinterpret_cast<HitKey*>(keys_.data()) + capacity_,
                       reinterpret_cast<Bucket*>(buckets_.data()), pairs(), slots_,
                       &there.status()->graph});
  if (std::exchange(edges_again_, 0) > 0) find_targets_again();
  if (!room_.is_fixed()) copy(there, here, here.status_at(), here.hits_at());
}

/// Where their number is known, and too much for slots of one width.
void DeviceEvent::find_targets_again() {
  slots_ = slots(0);
  run(detail::FindAgainStep{search(), pairs(), slots_, &on_device().status()->graph});
}

/// The hits to where they go up from, and nothing known of the event.
void DeviceEvent::stage(ConstView<Hit> hits) {
  const std::size_t n = hits.size();
  detail::require_countable(n);
  if (is_busy_) queue_.wait();  // the event before was given up
  is_busy_ = false;
  edges_.resize(0);  // there is no event where this fails
  work_.resize(0);
  started_ = Started::kNothing;
  n_hits_ = 0;
  make_room(n == 0 || !room_.is_fixed() ? n : rows_for(n));
  n_hits_ = n;
  bytes_to_device_ = 0;
  bytes_to_host_ = 0;
  if (n == 0) return;

  const View<HitInput> input = on_host().hits();
  std::copy_n(hits.particle_id.data(), n, input.particle_id.data());
  std::copy_n(hits.x.data(), n, input.x.data());
  std::copy_n(hits.y.data(), n, input.y.data());
  std::copy_n(hits.z.data(), n, input.z.data());
  std::copy_n(hits.layer.data(), n, input.layer.data());
  expect_hits();
}

void DeviceEvent::expect_hits() {
  new (on_host().status()) EventStatus{};
  on_host().status()->graph.hits = n_hits_;
}

void DeviceEvent::start_graph(ConstView<Hit> hits) {
  stage(hits);
  started_ = Started::kGraph;
  if (n_hits_ > 0) find_targets();
}

std::size_t DeviceEvent::finish_graph() {
  require_started(Started::kGraph, "finish_graph", "start_graph");
  const bool is_counted = n_hits_ > 0 && !room_.is_fixed();
  const GraphStatus& status = on_host().status()->graph;
  if (is_counted) {
    queue_.wait();
    is_busy_ = false;
    if (status.width > 0) {
      is_busy_ = true;
      if (widen(status.width)) {  // once: there is room for those of the events to come, too
        make_targets_room(capacity_ * width());
        expect_hits();
        find_targets();
        queue_.wait();
        is_busy_ = false;
      } else {
        make_targets_room(static_cast<std::size_t>(status.edges));
        find_targets_again();
      }
    }
  }
  started_ = Started::kNothing;
  if (n_hits_ == 0) return 0;
  if (is_counted) detail::require_usable(status, on_host().hits().layer.data());

  const std::size_t rows = is_counted ? static_cast<std::size_t>(status.edges) : room_.take();
  return fill_edges(rows);
}

std::size_t DeviceEvent::fill_edges(std::size_t rows) {
  recordings_->run_over(work_.size(), rows);
  events::make_room(edges_, rows);
  if (group_edges_.size() < rows * sizeof(GroupEdge)) {
    group_edges_ = {};
    group_edges_ = Buffer(queue_.device(), edges_.capacity() * sizeof(GroupEdge));
  }
  if (rows > 0) {
    is_busy_ = true;
    run(detail::FillStep{
        {columns(), work_.view(), edges_.view()}, slots_, &on_device().status()->graph});
  }
  return rows;
}

void DeviceEvent::start_tracks(bool counts_scores) {
  if (started_ == Started::kGraph) {
    throw ConfigError(
        "DeviceEvent::start_tracks: got a call before finish_graph, which makes the edges");
  }
  started_ = Started::kTracks;
  counts_scores_ = counts_scores && n_hits_ > 0;
  if (n_hits_ > 0) enqueue_tracks();
}

void DeviceEvent::enqueue_tracks() {
  const Staging here = on_host();
  const Staging there = on_device();
  is_busy_ = true;
  run(detail::TrackStep{groups_.view(),
                        columns(),
                        {edges_.const_view(), &there.status()->graph},
                        options_,
                        reinterpret_cast<GroupEdge*>(group_edges_.data()),
                        there.track_id(),
                        &there.status()->tracks,
                        {.are_compared = true,
                         .score_counts = counts_scores_ ? there.score_counts()->data() : nullptr}});
  copy(there, here, counts_scores_ ? 0 : Staging::track_id_at(), here.hits_at());
}

void DeviceEvent::enqueue_event(const std::function<CopyReport()>& network) {
  find_targets();
  copies_ = fill_edges(room_.take()) > 0 ? network() : CopyReport();
  enqueue_tracks();
}

void DeviceEvent::run_event(ConstView<Hit> hits, const std::function<CopyReport()>& network,
                            const std::shared_ptr<const void>& recordable, bool counts_scores) {
  if (!room_.is_fixed()) {
    throw ConfigError(
        "DeviceEvent::run_event: got an event without an edge capacity, expected one with rows for "
        "its edges; call start_graph() and those after it");
  }
  stage(hits);
  copies_ = {};
  counts_scores_ = counts_scores && n_hits_ > 0;
  if (n_hits_ > 0) enqueue_whole(network, recordable);
  started_ = Started::kTracks;
}

void DeviceEvent::enqueue_whole(const std::function<CopyReport()>& network,
                                const std::shared_ptr<const void>& recordable) {
  recordings_->use(recordable);
  const std::pair key(work_.size(), counts_scores_);
  const bool is_again = room_.is_larger() || edges_again_ > 0;
  const auto found = recordings_->all.find(key);
  if (is_again || found == recordings_->all.end()) {
    enqueue_event(network);
    const bool can_record =
        recordable != nullptr && events::RecordedWork::is_supported(queue_.device());
    if (can_record && !is_again) recordings_->all.try_emplace(key);
    return;
  }
  Recordings::Recording& recording = found->second;
  if (!recording.work) {
    recording.work.emplace(queue_, [&] { enqueue_event(network); });
    recording.copies = copies_;
    recording.bytes_to_device = bytes_to_device_;
    recording.bytes_to_host = bytes_to_host_;
  }
  is_busy_ = true;
  edges_.resize(room_.take());
  recording.work->enqueue(queue_);
  copies_ = recording.copies;
  bytes_to_device_ = recording.bytes_to_device;
  bytes_to_host_ = recording.bytes_to_host;
  ++launched_as_graph_;
}

FoundTracks DeviceEvent::finish_tracks(View<Hit> hits) {
  require_started(Started::kTracks, "finish_tracks", "start_tracks");
  const std::size_t n = n_hits_;
  if (hits.size() != n) {
    throw ConfigError("DeviceEvent: got " + std::to_string(hits.size()) +
                      " hits for the tracks, expected the " + std::to_string(n) + " of the graph");
  }
  if (is_busy_) queue_.wait();
  is_busy_ = false;
  started_ = Started::kNothing;
  if (n == 0) return {};

  const Staging here = on_host();
  if (room_.is_fixed()) {
    const GraphStatus& graph = here.status()->graph;
    detail::require_usable(graph, here.hits().layer.data());
    const auto n_edges = static_cast<std::size_t>(graph.edges);
    if (n_edges > edges_.size() || graph.width > 0) {
      room_.make_room(n_edges);
      if (graph.width > 0 && !widen(graph.width)) edges_again_ = n_edges;
      return {.edges = {.edges = n_edges}, .is_complete = false};
    }
    edges_.resize(n_edges);
  }
  const TrackStatus& status = here.status()->tracks;
  if (status.bad_edge != TrackStatus::kNone) refuse_edge(status.bad_edge);
  FoundTracks found{.tracks = static_cast<std::size_t>(status.tracks),
                    .edges = {.edges = edges_.size(),
                              .true_edges = status.true_edges,
                              .selected = status.selected,
                              .true_selected = status.true_selected},
                    .bad_scores = status.bad_scores};
  if (counts_scores_) found.score_counts = here.score_counts();
  if (found.bad_scores == 0) std::copy_n(here.track_id(), n, hits.track_id.data());
  return found;
}

void DeviceEvent::refuse_edge(std::size_t edge) {
  std::int64_t source = 0;
  std::int64_t target = 0;
  const ConstView<Edge> edges = edges_.const_view();
  copy_bytes(queue_, &source, Device::cpu(), &edges.source.data()[edge], queue_.device(),
             sizeof source);
  copy_bytes(queue_, &target, Device::cpu(), &edges.target.data()[edge], queue_.device(),
             sizeof target);
  queue_.wait();
  detail::refuse_edge(edge, source, target, n_hits_);
}

void DeviceEvent::copy(const Staging& from, const Staging& to, std::size_t first,
                       std::size_t last) {
  copy_bytes(queue_, to.data + first, to.device, from.data + first, from.device, last - first);
  (from.data == host_block_.data() ? bytes_to_device_ : bytes_to_host_) += last - first;
}

}  // namespace tensoa::track
