// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// A C interface of FastForest (github.com/guitargeek/XGBoost-FastForest), which is what TMVA's RBDT runs since ROOT 6.32.
// forest.py compiles it with its sources.

#include <fastforest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

extern "C" {

/// @param dump XGBoost's text dump of features f0, f1, …, with FastForest's line base_score=[…]
/// @return never deleted
void* fastforest_load(const char* dump, std::size_t columns) {
  std::vector<std::string> features;
  for (std::size_t i = 0; i < columns; ++i) features.push_back("f" + std::to_string(i));
  return std::make_unique<fastforest::FastForest>(fastforest::load_txt(dump, features)).release();
}

void fastforest_run(const void* forest, const float* rows, std::int64_t n, std::size_t columns,
                    float* answers) {
  const auto& evaluate = *static_cast<const fastforest::FastForest*>(forest);
  for (std::int64_t row = 0; row < n; ++row, rows += columns) answers[row] = evaluate(rows);
}
}
