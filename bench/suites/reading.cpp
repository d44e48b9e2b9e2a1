// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <vector>

#include "bench/harness.hpp"
#include "bench/suites/suites.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/own_library.hpp"
#include "tensoa/track/event_source.hpp"

namespace tensoa::bench {
namespace {

constexpr double kShortestUs = 100'000;

/// In peers/arrow_reading.cpp. @return bytes
using ReadWithArrow = std::size_t (*)(const std::string& path);

ReadWithArrow find_arrow() {
  std::string why;
  void* const found =
      find_in_own_library("libtensoa_bench_arrow.so", "tensoa_bench_read_with_arrow", why);
  if (found != nullptr) return reinterpret_cast<ReadWithArrow>(found);
  throw LoadError("reading: libtensoa_bench_arrow.so is expected next to the program: " + why);
}

}  // namespace

std::vector<ResultRow> bench_reading(const BenchOptions& options) {
  const ReadWithArrow read = find_arrow();
  std::vector<ResultRow> rows;
  for (const std::string& path : options.inputs) {
    const std::size_t bytes = read(path);
    std::size_t events = 0;
    std::size_t hits = 0;
    std::vector<Variant> variants{{"arrow",
                                   [&](std::size_t calls) {
                                     for (std::size_t i = 0; i < calls; ++i) read(path);
                                     return std::size_t{0};
                                   }},
                                  {"events",
                                   [&](std::size_t calls) {
                                     for (std::size_t i = 0; i < calls; ++i) {
                                       events = hits = 0;
                                       for (const auto& source : track::find_events(path)) {
                                         hits += source.read().hits.size();
                                         ++events;
                                       }
                                     }
                                     return std::size_t{0};
                                   },
                                   "arrow"}};
    run_in_turns(variants, options.repeats, kShortestUs, process_clock);
    const std::size_t first = rows.size();
    for (const Variant& variant : variants) {
      ResultRow row;
      row.model = std::filesystem::path(path).extension().string();
      row.variant = variant.name;
      row.stage = "read";
      row.device = "cpu";
      row.n = hits;
      row.timing = summarize(variant.times);
      row.baseline = variant.baseline;
      row.more["events"] = events;
      row.more["bytes"] = bytes;
      row.more["ns_per_byte"] = 1000 * row.timing->median_us / static_cast<double>(bytes);
      rows.push_back(std::move(row));
    }
    set_ratios(rows, first);
  }
  return rows;
}

}  // namespace tensoa::bench
