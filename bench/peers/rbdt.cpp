// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// A C interface of TMVA::Experimental::RBDT of ROOT 6.32 or newer. forest.py compiles it with RBDT.cxx.

#include <ROOT/RVec.hxx>
#include <TMVA/RBDT.hxx>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

using TMVA::Experimental::RBDT;

extern "C" {

/// @param dump XGBoost's text dump of features f0, f1, … @param base the margin that the trees start from
/// @return never deleted
void* rbdt_load(const char* dump, std::size_t columns, float base) {
  constexpr int kOneOutput = 1;
  constexpr bool kAsProbability = false;
  std::vector<std::string> features;
  for (std::size_t i = 0; i < columns; ++i) features.push_back("f" + std::to_string(i));
  return std::make_unique<RBDT>(RBDT::LoadText(dump, features, kOneOutput, kAsProbability, base))
      .release();
}

/// A view of each row, which copies nothing: RBDT's call of a matrix allocates memory for each number.
void rbdt_run(const void* forest, const float* rows, std::int64_t n, std::size_t columns,
              float* answers) {
  const auto& evaluate = *static_cast<const RBDT*>(forest);
  for (std::int64_t row = 0; row < n; ++row, rows += columns) {
    const ROOT::RVec<float> one(const_cast<float*>(rows), columns);
    answers[row] = evaluate.Compute(one)[0];
  }
}
}
