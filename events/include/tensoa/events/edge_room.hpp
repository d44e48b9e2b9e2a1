// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tensoa::events {

/// Rows for the edges of one event after another, where nothing waits for their number: the same number for each event. An event that
/// has more edges is done again, with the rows that it needs.
///
/// With such room, an event on a device has nodes that are none, one at least, and the rows beyond its edges go from the last
/// of these to itself. Their columns but the score are 0, as are those of such nodes: whatever a network makes of them stays there,
/// if it sends messages along edges, as those of PyTorch Geometric do. One with means or norms over all nodes or
/// edges (BatchNorm in training, GraphNorm, a global pooling) sees them: do not use it so.
class EdgeRoom {
 public:
  /// @param capacity 0: rows are made when the edges are counted
  explicit EdgeRoom(std::size_t capacity) : capacity_(capacity), next_(capacity) {}

  bool is_fixed() const noexcept { return capacity_ > 0; }

  /// Whether the event that comes is one that is done again.
  bool is_larger() const noexcept { return next_ != capacity_; }

  /// Rows of the event that comes.
  std::size_t take() noexcept { return std::exchange(next_, capacity_); }

  /// The event that comes is the same again.
  void make_room(std::size_t n_edges) noexcept { next_ = std::max(n_edges, capacity_); }

 private:
  std::size_t capacity_;
  std::size_t next_;
};

}  // namespace tensoa::events
