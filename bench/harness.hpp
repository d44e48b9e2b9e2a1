// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/result_file.hpp"

namespace tensoa::bench {

/// One way to do the work of a benchmark.
struct Variant {
  std::string name;
  std::function<std::size_t(std::size_t calls)> run;  ///< @return bytes that its last call copied
  std::string baseline = {};
  double parts = 1;       ///< the number that one call counts as
  std::size_t calls = 1;  ///< of one batch
  std::size_t bytes_copied = 0;
  std::vector<double> times = {};  ///< microseconds a part, one entry a batch
};

/// Returns microseconds of a clock.
using ReadClock = double (*)();

double wall_clock();
double process_clock();  ///< processor time of all threads of the process
double thread_clock();   ///< processor time of the thread that asks

/// Runs the variants in turns, in both orders, in batches that take `shortest_us` at least.
void run_in_turns(std::vector<Variant>& variants, int turns, double shortest_us,
                  ReadClock clock = wall_clock);

/// Sets the ratio of each row that has a baseline: to the row of that variant in [first, end) that is
/// of the same stage and model.
void set_ratios(std::vector<ResultRow>& rows, std::size_t first);

/// Microseconds since the last `lap` or since it was made.
class Stopwatch {
 public:
  explicit Stopwatch(ReadClock clock = wall_clock) : clock_(clock), last_(clock()) {}

  double lap() {
    const double now = clock_();
    return now - std::exchange(last_, now);
  }

 private:
  ReadClock clock_;
  double last_;
};

}  // namespace tensoa::bench
