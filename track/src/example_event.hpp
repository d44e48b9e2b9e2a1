// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensoa/track/event.hpp"

namespace tensoa::track::detail {

/// The smallest event that says something: three hits of one straight track from the beam line and
/// one next to it, so that features and their differences are not all 0.
inline Event example_event() {
  struct Point {
    float x, y, z;
    std::int32_t layer;
  };
  constexpr std::array<Point, 4> kPoints{
      {{30, 5, 10, 0}, {60, 10, 20, 0}, {90, 15, 30, 0}, {62, 8, 23, 0}}};
  Event event;
  event.hits = PortableCollection<Hit>(kPoints.size(), Device::cpu());
  const View<Hit> hits = event.hits.view();
  for (std::size_t i = 0; i < kPoints.size(); ++i) {
    hits.x[i] = kPoints[i].x;
    hits.y[i] = kPoints[i].y;
    hits.z[i] = kPoints[i].z;
    hits.layer[i] = kPoints[i].layer;
    hits.hit_id[i] = hits.particle_id[i] = 0;
    hits.track_id[i] = -1;
  }
  return event;
}

}  // namespace tensoa::track::detail
