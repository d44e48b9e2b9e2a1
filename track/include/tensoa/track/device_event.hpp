// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tensoa/core/memory.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/track/event.hpp"
#include "tensoa/track/graph_cuts.hpp"
#include "tensoa/track/graph_kernels.hpp"
#include "tensoa/track/metrics.hpp"
#include "tensoa/track/track_kernels.hpp"

namespace tensoa::track {

/// What DeviceEvent::find_tracks() tells beside the tracks themselves.
struct FoundTracks {
  std::size_t tracks = 0;
  EdgeCounts edges;            ///< of the column `truth`, at TrackOptions::min_score
  std::size_t bad_scores = 0;  ///< edges whose score is NaN or outside [0, 1]
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
/// *Ownership*: keeps its memory, on the device and pinned, which only grows.
/// *Stream order*: everything is enqueued on the queue; each of the two functions waits for it once,
/// at its end: for the number of edges, and for the tracks.
/// *Threads*: one object per thread.
class DeviceEvent {
 public:
  /// Whether this build has kernels for such a device: always for the CPU, for GPUs where a compiler
  /// for them was found.
  static bool is_supported(Device device) noexcept;

  /// @throws ConfigError when a cut is negative or not finite; DeviceError when the device is not
  /// there or not supported
  explicit DeviceEvent(const Queue& queue, const GraphCuts& cuts = {},
                       const TrackOptions& options = {});

  /// Takes over the hits and finds the candidate edges, the same ones in the same order as
  /// GraphBuilder, with the same columns to the bit. The node features of hits() and all columns of
  /// edges() but `score` are then enqueued.
  /// @param hits [n_hits] on the host; read until the function returns
  /// @return the number of edges
  /// @throws InputError when a coordinate is NaN or infinite; DeviceError
  std::size_t build_graph(ConstView<Hit> hits);

  /// On the device: r_scaled, phi_scaled, z_scaled of the event. The other columns mean nothing.
  const PortableCollection<Hit>& hits() const noexcept { return hits_; }

  /// On the device: the edges of the event.
  const PortableCollection<Edge>& edges() const noexcept { return edges_; }
  PortableCollection<Edge>& edges() noexcept { return edges_; }

  /// Joins the hits of edges by their `score`, as TrackFinder does.
  /// @param hits [n_hits] on the host, those of build_graph(); `track_id` is written, unless there
  /// are bad scores
  /// @throws ConfigError for another number of hits; InputError when an edge names a hit that is not
  /// there; DeviceError
  FoundTracks find_tracks(View<Hit> hits);

  /// Bytes of the event that went up and came down.
  std::size_t bytes_to_device() const noexcept { return bytes_to_device_; }
  std::size_t bytes_to_host() const noexcept { return bytes_to_host_; }

 private:
  struct Block;

  void make_room(std::size_t n_hits);
  Block on_device() const;
  Block on_host() const;
  template <class Step>
  void run(const Step& step);
  void copy(const Block& from, const Block& to, std::size_t first, std::size_t last);
  [[noreturn]] void refuse_edge(std::size_t edge);

  Queue queue_;
  GraphCuts cuts_;
  TrackOptions options_;
  bool is_busy_ = false;  ///< the queue may still use the memory
  std::size_t capacity_ = 0;
  std::size_t bytes_to_device_ = 0;
  std::size_t bytes_to_host_ = 0;

  Buffer device_block_;
  PinnedBuffer host_block_;
  PortableCollection<Hit> hits_;
  PortableCollection<HitWork> work_;
  PortableCollection<GroupWork> groups_;
  Buffer keys_;     ///< HitKey [n_hits]
  Buffer buckets_;  ///< Bucket [n_hits]
  Buffer ends_;     ///< std::int64_t [n_hits * kLanes]
  Buffer scratch_;
  PortableCollection<FoundEdge> found_;
  PortableCollection<Edge> edges_;
};

}  // namespace tensoa::track
