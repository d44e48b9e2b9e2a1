// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/metrics.hpp"

namespace tensoa::track {

EdgeCounts compare_edges(ConstView<Edge> edges, float min_score) {
  EdgeCounts counts;
  counts.edges = edges.size();
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const std::size_t is_true = edges.truth[e] != 0 ? 1 : 0;
    const std::size_t is_selected = edges.score[e] >= min_score ? 1 : 0;
    counts.true_edges += is_true;
    counts.selected += is_selected;
    counts.true_selected += is_true & is_selected;
  }
  return counts;
}

}  // namespace tensoa::track
