// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tensoa::bench {

/// Microseconds of repeated runs.
struct Timing {
  double median_us = 0;
  double min_us = 0;
  double max_us = 0;
};

/// @param microseconds one entry a run, at least one
Timing summarize(std::vector<double> microseconds);

/// One measured variant; what has no meaning for it stays empty and is left out of the file.
struct ResultRow {
  std::string model;    ///< which, where a benchmark has several: "mlp"
  std::string variant;  ///< a stable name: "jit_copy", "pack", "host_roundtrip"
  std::string stage;    ///< part of the variant, "total" for all of it
  std::string device;
  std::size_t n = 0;
  std::optional<std::size_t> columns;
  int threads = 1;
  std::optional<Timing> timing;
  std::optional<std::size_t> bytes_copied;
  std::optional<double> max_abs_error;
  std::optional<double> max_rel_error;
  std::optional<std::size_t> flips;  ///< edges that change side of 0.5
  std::string baseline;              ///< variant that ratio compares with
  std::optional<double> ratio;       ///< baseline's median / this one's: more is better
  /// Further figures by their names.
  nlohmann::ordered_json more = nlohmann::ordered_json::object();
};

/// The output of `tensoa-bench NAME`: {"bench", "command", "machine", "versions", "rows"}.
/// @param torch its version; empty without it
nlohmann::json result_file(const std::string& bench, const std::string& command,
                           const std::string& torch, const std::vector<ResultRow>& rows);

/// The rows as a table for people.
std::string table_of(const std::vector<ResultRow>& rows);

}  // namespace tensoa::bench
