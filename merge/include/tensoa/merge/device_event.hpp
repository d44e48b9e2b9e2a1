// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensoa/core/memory.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/events/edge_room.hpp"
#include "tensoa/events/scores.hpp"
#include "tensoa/merge/event.hpp"
#include "tensoa/merge/impl/link_search.hpp"
#include "tensoa/track/impl/hit_groups.hpp"

namespace tensoa::merge {

/// The result of DeviceEvent::finish_merge().
struct MergedFragments {
  std::size_t merged = 0;      ///< particles
  events::EdgeCounts edges;    ///< of the column `truth`, at the smallest score that joins
  std::size_t bad_scores = 0;  ///< edges whose score is NaN or outside [0, 1]
  bool is_complete = true;     ///< false: more edges than there was room for; begin again
  /// Of the scores, where requested. *Lifetime*: until the next start.
  const events::EdgeAuc::Counts* score_counts = nullptr;
};

/// One event after another whose node features, candidate edges and merged particles are made on the
/// device of a queue, between them a network of the caller's:
///
///     DeviceEvent on_device(queue);
///     on_device.start_graph(event);
///     on_device.finish_graph();                                     // waits for the number of edges
///     scorer.enqueue(on_device.nodes(), on_device.edges());         // the network fills `score`
///     on_device.start_merge(0.5F);
///     const MergedFragments merged = on_device.finish_merge(event); // waits; fills `merged_id`
///
/// On a GPU clusters and fragments go up, and two copies come down: the number of edges; merged_id (8 bytes
/// a fragment) with the counts of edges and scores. On a CPU queue the same kernels run in the calling
/// thread on the columns of the event, and nothing is copied.
///
/// With an *edge capacity* the device goes on without the host: edges() has that many rows, the edges in the first of
/// them, and nodes() one more than there are fragments (events::EdgeRoom). An event with more edges is to be
/// done again from start_graph(), which has room for all of them this once.
///
/// *Ownership*: keeps its memory, which only grows.
/// *Lifetime*: the event must stay where it is until finish_merge().
/// *Stream order*: everything is enqueued on the queue; each finish waits for it once, that of the graph with an edge
/// capacity not at all.
/// *Threads*: one at a time.
class DeviceEvent {
 public:
  /// Whether this build has kernels for such a device: always for the CPU.
  static bool is_supported(Device device) noexcept;

  /// @throws ConfigError when a cut is negative or not finite; DeviceError when the device is not there
  /// or not supported
  /// @param edge_capacity rows for edges, fewer than 2^32 - 1; 0: the number of edges, for which finish_graph() waits
  explicit DeviceEvent(const Queue& queue, const LinkCuts& cuts = {},
                       std::size_t edge_capacity = 0);

  /// Begins an event. One that was not finished is given up.
  /// @throws InputError for 2^31 fragments or more; DeviceError
  void start_graph(Event& event);

  /// Fills the edges but their scores.
  /// @return the rows of edges(): their number, or with an edge capacity at least that; 0 without fragments
  /// @throws ConfigError where no graph was started; InputError for 2^32 - 1 edges or more; DeviceError
  std::size_t finish_graph();

  /// On the device, after finish_graph().
  const PortableCollection<Node>& nodes() const noexcept { return nodes_; }
  const PortableCollection<Edge>& edges() const noexcept { return edges_; }
  PortableCollection<Edge>& edges() noexcept { return edges_; }

  /// Joins each fragment to the one of more energy to which it has the edge of highest score, if that is at
  /// least `min_score`; of equal scores the first edge.
  /// @param counts_scores for an EdgeAuc of the column `truth`: 23 KiB more come down
  /// @throws ConfigError before finish_graph()
  void start_merge(float min_score, bool counts_scores = false);

  /// Fills merged_id of the fragments of the event, unless there are bad scores or it is not complete. edges() then has
  /// no rows that are none.
  /// @throws ConfigError where nothing was started
  MergedFragments finish_merge(Event& event);

  /// Bytes of the event that went up and came down.
  std::size_t bytes_to_device() const noexcept { return bytes_to_device_; }
  std::size_t bytes_to_host() const noexcept { return bytes_to_host_; }

 private:
  struct Answer;

  /// The step that was started and not finished.
  enum class Started : std::uint8_t { kNothing, kGraph, kEdges, kMerge };

  void require_started(Started expected, const char* what) const;
  void make_room(std::size_t n_clusters, std::size_t n_fragments);
  Answer on_device() const;
  Answer on_host() const;
  template <class Step>
  void run(const Step& step);
  void copy_down(std::size_t first, std::size_t last);

  Queue queue_;
  events::EdgeRoom room_;
  Started started_ = Started::kNothing;
  bool is_busy_ = false;  ///< the queue may still use the memory
  bool counts_scores_ = false;
  std::size_t bytes_to_device_ = 0;
  std::size_t bytes_to_host_ = 0;

  LinkSearch search_{};  ///< of this event
  PortableCollection<Cluster> clusters_;
  PortableCollection<Fragment> fragments_;
  PortableCollection<Node> nodes_;
  PortableCollection<LinkWork> work_;
  PortableCollection<track::GroupWork> groups_;
  PortableCollection<Edge> edges_;
  Buffer keys_;  ///< FragmentKey [2 * n_fragments]: as they come, and sorted; then BestEdges::best
  Buffer scratch_;
  Buffer answer_;  ///< on a GPU; what comes down of it lies in pinned memory
  PinnedBuffer host_answer_;
};

}  // namespace tensoa::merge
