// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "tensoa/events/impl/arithmetic.hpp"
#include "tensoa/track/graph_rules.hpp"

/// @file
/// The learned part of the candidate graph: +, -, *, / and sqrt in float32, the same bits on CPU and GPU.

namespace tensoa::track {

/// A hit of a pair, mm.
struct PairHit {
  float x, y, z, r;
};

/// The features of a pair for PairFilter; all but the lengths have no unit.
///
/// The circle through both hits and the beam line has the curvature k = 2 sin(dphi) / d, d the distance
/// across the beam; s = (2 / k) arcsin(k r / 2) is the length of its arc to a hit, by the series to r^7.
/// Along it z is a straight line: z = z0 + s cot(theta). Curvatures count without sign and z by the side
/// that the hits lie on, so that mirrored pairs score alike.
TENSOA_HOST_DEVICE inline std::array<float, PairFilter::kInputs> pair_features(
    const PairHit& source, const PairHit& target) {
  constexpr float kLeast = 1e-3F;  // mm; no division by 0
  const float dx = target.x - source.x;
  const float dy = target.y - source.y;
  const float dz = target.z - source.z;
  const float across = std::sqrt(dx * dx + dy * dy);
  const float sine =
      (source.x * target.y - source.y * target.x) / std::max(source.r * target.r, kLeast);
  const float curvature = 2 * std::abs(sine) / std::max(across, kLeast);
  const auto arc = [curvature](float r) {
    const float half = curvature * r / 2;
    const float u = std::min(half * half, 1.0F);
    return r * (1 + u * (1.0F / 6 + u * (3.0F / 40 + u * (15.0F / 336))));
  };
  const float s = arc(source.r);
  const float cotangent = dz / std::max(arc(target.r) - s, 1.0F);
  const float z0 = source.z - s * cotangent;
  const float side = source.z + target.z < 0 ? -1.0F : 1.0F;
  return {curvature * 200,        side * cotangent / std::sqrt(1 + std::abs(cotangent)),
          side * z0 / 100,        source.r / 500,
          target.r / 500,         side * source.z / 1000,
          side * target.z / 1000, std::sqrt(across * across + dz * dz) / 300};
}

/// Whether the pair stays; where its score is not a number, it does.
TENSOA_HOST_DEVICE inline bool passes(const PairFilter& filter, const PairHit& source,
                                      const PairHit& target) {
  const std::array<float, PairFilter::kInputs> features = pair_features(source, target);
  float hidden[PairFilter::kHidden];
  for (std::size_t h = 0; h < PairFilter::kHidden; ++h) hidden[h] = filter.hidden_bias[h];
  for (std::size_t i = 0; i < PairFilter::kInputs; ++i) {
    for (std::size_t h = 0; h < PairFilter::kHidden; ++h) {
      hidden[h] += filter.hidden_weight[i][h] * features[i];
    }
  }
  float score = filter.bias;
  for (std::size_t h = 0; h < PairFilter::kHidden; ++h) {
    score += filter.weight[h] * (hidden[h] > 0 ? hidden[h] : 0);
  }
  return !(score < 0);
}

}  // namespace tensoa::track
