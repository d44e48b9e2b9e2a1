// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "forest/reference.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/forest/ensemble.hpp"
#include "tensoa/forest/readers.hpp"

// Any bytes as a tree file of each kind, and as a forest of a package: refused with a LoadError that is one line, or an
// ensemble that is whole, can be written and read again, and gives margins in a bounded time.

namespace {

using namespace tensoa;

void check(const forest::Ensemble& ensemble) {
  forest::require_whole(ensemble, "");
  const std::string bytes = forest::to_bytes(ensemble);
  if (forest::to_bytes(forest::from_bytes(bytes, "")) != bytes) std::abort();
  if (ensemble.columns > 10'000) return;  // memory of a row, not of the model
  for (const double x : {0.0, -1.5, 3.0, std::numeric_limits<double>::quiet_NaN()}) {
    test::margins(ensemble, std::vector<double>(ensemble.columns, x));
  }
}

template <class Read>
void expect_ensemble_or_load_error(const Read& read) {
  try {
    check(read());
  } catch (const LoadError& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  forest::kind_of(bytes);
  const std::array<forest::ReadOptions, 3> all_options = {
      {{}, {.rounds = 1}, {.best_iteration = true}}};
  for (const forest::ReadOptions& options : all_options) {
    expect_ensemble_or_load_error([&] { return forest::read_xgboost_json(bytes, "", options); });
    expect_ensemble_or_load_error([&] { return forest::read_xgboost_ubjson(bytes, "", options); });
    expect_ensemble_or_load_error([&] { return forest::read_xgboost_binary(bytes, "", options); });
    expect_ensemble_or_load_error([&] { return forest::read_lightgbm(bytes, "", options); });
  }
  expect_ensemble_or_load_error([&] { return forest::from_bytes(bytes, ""); });
  return 0;
}
