// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tensoa/engine/copy_report.hpp"

namespace tensoa::events {

/// Wall-clock seconds of the stages, of one event or summed over many. Where the event stays on the
/// device, `graph` ends with the number of edges, and `infer` is all that follows; the
/// time that other events run while this one waits is included.
struct StageSeconds {
  double read = 0;
  double graph = 0;
  double infer = 0;
  double answer = 0;  ///< of making tracks, or whatever the scores are for

  StageSeconds& operator+=(const StageSeconds& other) noexcept {
    read += other.read;
    graph += other.graph;
    infer += other.infer;
    answer += other.answer;
    return *this;
  }
};

/// The bytes that one event moved: copies are those of the model (CopyReport), transfers those between host
/// and device.
struct ScoreReport {
  CopyReport copies;
  std::size_t bytes_to_device = 0;
  std::size_t bytes_to_host = 0;

  ScoreReport& operator+=(const ScoreReport& other) noexcept {
    copies += other.copies;
    bytes_to_device += other.bytes_to_device;
    bytes_to_host += other.bytes_to_host;
    return *this;
  }
};

}  // namespace tensoa::events
