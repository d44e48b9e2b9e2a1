// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "tensoa/core/memory.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/engine/copy_report.hpp"
#include "tensoa/events/edge_room.hpp"
#include "tensoa/track/event.hpp"
#include "tensoa/track/graph_builder.hpp"
#include "tensoa/track/impl/edge_search.hpp"
#include "tensoa/track/impl/hit_buckets.hpp"
#include "tensoa/track/impl/hit_groups.hpp"
#include "tensoa/track/impl/layer_memory.hpp"
#include "tensoa/track/metrics.hpp"
#include "tensoa/track/tracks.hpp"

namespace tensoa::track {

/// Results of DeviceEvent::find_tracks() in addition to the tracks.
struct FoundTracks {
  std::size_t tracks = 0;
  EdgeCounts edges;            ///< of the column `truth`, at TrackOptions::min_score
  std::size_t bad_scores = 0;  ///< edges whose score is NaN or outside [0, 1]
  bool is_complete = true;     ///< false: more edges than there was room for; begin again
  /// Of the scores, where requested. *Lifetime*: until the next start.
  const EdgeAuc::Counts* score_counts = nullptr;
};

/// One event after another whose graph and tracks are made on the device of a queue, between them a
/// network of the caller's:
///
///     DeviceEvent event(queue);
///     event.build_graph(hits.const_view());              // edges and node features, on the device
///     scorer.enqueue(event.hits(), event.edges());       // the network fills `score`
///     const FoundTracks found = event.find_tracks(hits.view());  // fills `track_id` on the host
///
/// Per event one copy goes up (24 bytes a hit: x, y, z, layer, particle_id) and two come down: a
/// status of 128 bytes with the number of edges, and track_id (8 bytes a hit) with the status. All
/// three lie in pinned memory. On a CPU queue the same kernels run in the calling thread; GraphBuilder
/// and TrackFinder are faster there.
///
/// Each of the two functions is a start, which only enqueues, and a finish, which waits for the queue
/// and continues. A caller with other work to do calls the finish when the queue is done; the finish then
/// does not wait:
///
///     event.start_graph(hits.const_view());
///     queue.when_done([&] { scheduler.go_on_with(…); });         // or sched::wait_suspended(queue)
///     …
///     event.finish_graph();
///     scorer.enqueue(event.hits(), event.edges());
///     event.start_tracks();
///     queue.when_done([&] { scheduler.go_on_with(…); });
///     …
///     const FoundTracks found = event.finish_tracks(hits.view());
///
/// With an *edge capacity* nothing waits for the number of edges: edges() has that many rows, the edges
/// in the first of them, in the same order, and hits() has up to an eighth more rows than there are hits, at least one
/// more (events::EdgeRoom describes the others, and the networks that may see them). find_tracks() skips
/// them, and where an event has more edges than rows, none is lost: the result shows it, and the event must be
/// done again from build_graph(), which has rows for all of them this once.
///
/// The whole of such an event can then be launched in one call, as a CUDA graph, with run_event(): numbers of hits and edges
/// are read on the device, so that one graph serves all events with the same number of rows.
///
/// *Ownership*: keeps its memory, on the device and pinned, which only grows.
/// *Stream order*: everything is enqueued on the queue; each finish waits for it once: for the number of
/// edges, and for the tracks. A start waits after an event that was given up, and frees memory, which
/// waits, where the event is larger than those before.
/// *Threads*: one at a time.
class DeviceEvent {
 public:
  /// Whether this build has kernels for such a device: always for the CPU, for GPUs where a compiler
  /// for them was found.
  static bool is_supported(Device device) noexcept;

  /// @throws ConfigError as require_rules() and TrackFinder; DeviceError when the device is not there or not
  /// supported
  /// @param edge_capacity rows for edges; 0: the number of edges, for which build_graph() waits
  explicit DeviceEvent(const Queue& queue, const GraphRules& rules = {},
                       const TrackOptions& options = {}, std::size_t edge_capacity = 0);
  ~DeviceEvent();
  DeviceEvent(DeviceEvent&&) noexcept;
  DeviceEvent& operator=(DeviceEvent&&) noexcept;

  /// Takes over the hits and finds the candidate edges, the same ones in the same order as
  /// GraphBuilder, with the same columns to the bit. The node features of hits() and all columns of
  /// edges() but `score` are then enqueued.
  /// @param hits [n_hits] on the host; read until the function returns
  /// @return the rows of edges(): the number of edges or, with an edge capacity, that capacity, or the edges
  /// of the event that was done again; 0 without hits
  /// @throws InputError when a coordinate is NaN or infinite or a layer is not in the layer map, with an
  /// edge capacity only in find_tracks(); DeviceError
  std::size_t build_graph(ConstView<Hit> hits) {
    start_graph(hits);
    return finish_graph();
  }

  /// The first half of build_graph(): as far as the number of edges, which is on its way.
  /// @param hits read until the function returns
  void start_graph(ConstView<Hit> hits);
  /// The second half. @throws ConfigError where no graph was started; as build_graph()
  std::size_t finish_graph();

  /// On the device: r_scaled, phi_scaled, z_scaled of the event. The other columns mean nothing.
  const PortableCollection<Hit>& hits() const noexcept { return hits_; }

  /// On the device: the edges of the event; after find_tracks() without the rows that are none.
  const PortableCollection<Edge>& edges() const noexcept { return edges_; }
  PortableCollection<Edge>& edges() noexcept { return edges_; }

  /// Joins the hits of edges by their `score`, as TrackFinder does.
  /// @param hits [n_hits] on the host, those of build_graph(); `track_id` is written, unless there
  /// are bad scores
  /// @param counts_scores for an EdgeAuc of the column `truth`: 23 KiB more come down
  /// @throws ConfigError for another number of hits; InputError when an edge names a hit that is not
  /// there; DeviceError
  FoundTracks find_tracks(View<Hit> hits, bool counts_scores = false) {
    start_tracks(counts_scores);
    return finish_tracks(hits);
  }

  /// The first half of find_tracks(): the tracks are on their way.
  /// @throws ConfigError between start_graph() and finish_graph()
  void start_tracks(bool counts_scores = false);
  /// The second half. @throws ConfigError where no tracks were started; as find_tracks()
  FoundTracks finish_tracks(View<Hit> hits);

  /// With an edge capacity: start_graph(), finish_graph(), `network` and start_tracks() as one; finish_tracks() follows.
  ///
  /// Where `recordable` is there, the second event with the same number of rows is recorded as a CUDA graph; it and later ones are
  /// launched by one call of the driver; the first one, and those that are done again, enqueue each kernel. Nothing else
  /// runs the network on the queue: with more rows, it would replace memory that the graphs use.
  /// @param network enqueues what fills `score`; where it is recorded, it neither waits nor allocates. Not called for an event
  /// that is launched as a graph
  /// @param recordable what `network` uses (Model::recordable), kept with the graphs; another one drops them. nullptr: nothing is
  /// recorded, as on a CPU
  /// @throws ConfigError without an edge capacity; as the others
  void run_event(ConstView<Hit> hits, const std::function<CopyReport()>& network,
                 const std::shared_ptr<const void>& recordable, bool counts_scores = false);

  /// The report of `network` for the last run_event(), or when it was recorded.
  const CopyReport& copies() const noexcept { return copies_; }

  /// Events that run_event() launched as one graph.
  std::size_t launched_as_graph() const noexcept { return launched_as_graph_; }

  /// Bytes of the event that went up and came down.
  std::size_t bytes_to_device() const noexcept { return bytes_to_device_; }
  std::size_t bytes_to_host() const noexcept { return bytes_to_host_; }

 private:
  struct Staging;
  struct Recordings;

  static constexpr std::size_t kMostSlots = std::size_t{1} << 24U;  ///< 64 MiB

  /// The step that was started and not finished.
  enum class Started : std::uint8_t { kNothing, kGraph, kTracks };

  void require_started(Started expected, const char* finish, const char* start) const;
  void make_room(std::size_t rows);
  void stage(ConstView<Hit> hits);
  void expect_hits();
  std::size_t fill_edges(std::size_t rows);
  void enqueue_event(const std::function<CopyReport()>& network);
  void enqueue_whole(const std::function<CopyReport()>& network,
                     const std::shared_ptr<const void>& recordable);
  void enqueue_tracks();
  Staging on_device() const;
  Staging on_host() const;
  View<Hit> columns();
  std::size_t most_width() const;
  std::size_t width() const;
  bool widen(std::size_t width);
  void make_targets_room(std::size_t targets);
  TargetSlots slots(std::size_t width) const;
  TargetSearch search();
  BucketPairs pairs() const;
  void find_targets();
  void find_targets_again();
  template <class Step>
  void run(const Step& step);
  void copy(const Staging& from, const Staging& to, std::size_t first, std::size_t last);
  [[noreturn]] void refuse_edge(std::size_t edge);

  Queue queue_;
  GraphRules rules_;
  LayerMemory layers_;
  TrackOptions options_;
  events::EdgeRoom room_;
  Started started_ = Started::kNothing;
  bool is_busy_ = false;    ///< the queue may still use the memory
  std::size_t n_hits_ = 0;  ///< of this event; rows beyond them are none
  std::size_t capacity_ = 0;
  std::size_t bytes_to_device_ = 0;
  std::size_t bytes_to_host_ = 0;

  Buffer device_block_;
  PinnedBuffer host_block_;
  bool counts_scores_ = false;  ///< of this event
  PortableCollection<Hit> hits_;
  PortableCollection<HitWork> work_;
  PortableCollection<GroupWork> groups_;
  Buffer keys_;          ///< HitKey [2 * n_hits]: as they come, and sorted
  Buffer buckets_;       ///< Bucket [n_hits]
  Buffer pairs_;         ///< BucketPairs::targets
  Buffer targets_;       ///< TargetSlots::rows
  TargetSlots slots_{};  ///< of this event
  Buffer group_edges_;   ///< GroupEdge, one for each edge
  /// Of slots, if they are not too many; it grows once a hit has more targets.
  std::size_t width_ = 128;
  /// Of an event that is done again, and has too many targets of one hit for slots of one width.
  std::size_t edges_again_ = 0;
  Buffer scratch_;
  PortableCollection<Edge> edges_;
  CopyReport copies_;
  std::size_t launched_as_graph_ = 0;
  std::unique_ptr<Recordings> recordings_;
};

}  // namespace tensoa::track
