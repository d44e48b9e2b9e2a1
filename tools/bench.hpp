// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "result_file.hpp"
#include "tensoa/core/device.hpp"

namespace tensoa::tools {

/// What a benchmark is told.
struct BenchOptions {
  std::vector<std::string> inputs = {"generate:1"};                 ///< over events
  std::string model;                                                ///< over events
  std::vector<std::size_t> rows = {1, 1'000, 100'000, 10'000'000};  ///< of `binding`
  std::string device = "auto";
  int repeats = 10;
};

/// The road through host copies and row-major packing beside ours, on the same events, stage by
/// stage. On the CPU the packing road is `pack`; on a GPU, where the columns lie in device memory,
/// it is `host_roundtrip`.
std::vector<ResultRow> bench_path(const BenchOptions& options);

/// The scores of the model on the CPU, and on the GPU where there is one, against a float64
/// evaluation of the same file.
std::vector<ResultRow> bench_accuracy(const BenchOptions& options);

/// Tensors over columns where they lie, made and bound again, beside the bare library call and the
/// packing roads; on the CPU, and on the GPU where there is one.
std::vector<ResultRow> bench_binding(const BenchOptions& options);

/// Microseconds since the last `lap` or since it was made.
class Stopwatch {
 public:
  double lap() {
    const Clock::time_point now = Clock::now();
    return std::chrono::duration<double, std::micro>(now - std::exchange(last_, now)).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

}  // namespace tensoa::tools
