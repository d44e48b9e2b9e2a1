// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "tensoa/events/scores.hpp"
#include "tensoa/track/event.hpp"

/// @file
/// How good the scores of edges are, where there is truth (track_counts.hpp: how good the tracks are).
/// All figures add up over events with +=; a ratio without a denominator is std::nullopt.

namespace tensoa::track {

using events::CutPoint;
using events::EdgeAuc;
using events::EdgeCounts;
using events::ScoreHistogram;

/// The edges of an event against the truth; an edge is selected as TrackFinder does it.
EdgeCounts compare_edges(ConstView<Edge> edges, float min_score);

}  // namespace tensoa::track
