// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/harness.hpp"

namespace tensoa::bench {

void run_in_turns(std::vector<Variant>& variants, int turns, double shortest_us) {
  const auto batch = [](Variant& variant) {
    Stopwatch watch;
    variant.bytes_copied = variant.run(variant.calls);
    return watch.lap();
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
      if (rows[k].variant == rows[i].baseline && rows[k].stage == rows[i].stage)
        rows[i].ratio = rows[k].timing->median_us / rows[i].timing->median_us;
    }
  }
}

}  // namespace tensoa::bench
