// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/harness.hpp"

#include <ctime>

namespace tensoa::bench {
namespace {

double read(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

}  // namespace

double wall_clock() { return read(CLOCK_MONOTONIC); }

double process_clock() { return read(CLOCK_PROCESS_CPUTIME_ID); }

double thread_clock() { return read(CLOCK_THREAD_CPUTIME_ID); }

void run_in_turns(std::vector<Variant>& variants, int turns, double shortest_us, ReadClock clock) {
  const auto batch = [clock](Variant& variant) {
    const double start = clock();
    variant.bytes_copied = variant.run(variant.calls);
    return clock() - start;
  };
  for (Variant& variant : variants) {
    batch(variant);
    while (batch(variant) < shortest_us) variant.calls *= 2;
  }
  for (int turn = 0; turn < turns; ++turn) {
    for (std::size_t i = 0; i < variants.size(); ++i) {
      Variant& variant = variants[turn % 2 == 0 ? i : variants.size() - 1 - i];
      const double time = batch(variant);
      variant.times.push_back(time / (static_cast<double>(variant.calls) * variant.parts));
    }
  }
}

void set_ratios(std::vector<ResultRow>& rows, std::size_t first) {
  for (std::size_t i = first; i < rows.size(); ++i) {
    for (std::size_t k = first; k < rows.size(); ++k) {
      if (rows[k].variant == rows[i].baseline && rows[k].stage == rows[i].stage &&
          rows[k].model == rows[i].model)
        rows[i].ratio = rows[k].timing->median_us / rows[i].timing->median_us;
    }
  }
}

}  // namespace tensoa::bench
