// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/result_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "tensoa/core/device.hpp"
#include "tensoa/core/version.hpp"

namespace tensoa::bench {
namespace {

/// The model name of the first processor, as the kernel says it.
std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

nlohmann::json machine() {
  nlohmann::json gpus = nlohmann::json::array();
  for (int i = 0; i < device_count(DeviceKind::kCuda); ++i)
    gpus.push_back(device_name(Device::cuda(i)));
  return {{"cpu", cpu_name()}, {"cores", std::thread::hardware_concurrency()}, {"gpus", gpus}};
}

nlohmann::json to_json(const ResultRow& row) {
  nlohmann::json object{
      {"variant", row.variant}, {"device", row.device}, {"n", row.n}, {"threads", row.threads}};
  if (!row.model.empty()) object["model"] = row.model;
  if (!row.stage.empty()) object["stage"] = row.stage;
  if (row.columns) object["columns"] = *row.columns;
  if (row.timing) {
    object["median_us"] = row.timing->median_us;
    object["min_us"] = row.timing->min_us;
    object["max_us"] = row.timing->max_us;
  }
  if (row.bytes_copied) object["bytes_copied"] = *row.bytes_copied;
  if (row.max_abs_error) object["max_abs_error"] = *row.max_abs_error;
  if (row.max_rel_error) object["max_rel_error"] = *row.max_rel_error;
  if (row.flips) object["flips"] = *row.flips;
  if (row.ratio) {
    object["baseline"] = row.baseline;
    object["ratio"] = *row.ratio;
  }
  for (const auto& [name, value] : row.more.items()) object[name] = value;
  return object;
}

}  // namespace

Timing summarize(std::vector<double> microseconds) {
  std::sort(microseconds.begin(), microseconds.end());
  const std::size_t middle = microseconds.size() / 2;
  const double median = microseconds.size() % 2 == 1
                            ? microseconds[middle]
                            : (microseconds[middle - 1] + microseconds[middle]) / 2;
  return {median, microseconds.front(), microseconds.back()};
}

nlohmann::json result_file(const std::string& bench, const std::string& command,
                           const std::string& torch, const std::vector<ResultRow>& rows) {
  nlohmann::json array = nlohmann::json::array();
  for (const ResultRow& row : rows) array.push_back(to_json(row));
  return {{"bench", bench},
          {"command", command},
          {"machine", machine()},
          {"versions", {{"tensoa", kVersion}, {"torch", torch}, {"compiler", __VERSION__}}},
          {"rows", array}};
}

std::string table_of(const std::vector<ResultRow>& rows) {
  const bool has_columns =
      std::any_of(rows.begin(), rows.end(), [](const ResultRow& row) { return row.columns; });
  const bool has_models = std::any_of(rows.begin(), rows.end(),
                                      [](const ResultRow& row) { return !row.model.empty(); });
  const bool has_threads =
      std::any_of(rows.begin(), rows.end(), [](const ResultRow& row) { return row.threads > 1; });
  std::string text = has_models ? fmt::format("{:<14} ", "model") : "";
  text += fmt::format("{:<16} {:<10} {:<8} {:>9}", "variant", "stage", "device", "n");
  if (has_columns) text += fmt::format(" {:>8}", "columns");
  if (has_threads) text += fmt::format(" {:>8}", "threads");
  text += fmt::format(" {:>12} {:>12} {:>12} {:>12} {:>7}\n", "median us", "min us", "max us",
                      "bytes", "ratio");
  for (const ResultRow& row : rows) {
    if (has_models) text += fmt::format("{:<14} ", row.model);
    text += fmt::format("{:<16} {:<10} {:<8} {:>9}", row.variant, row.stage, row.device, row.n);
    if (has_columns) text += fmt::format(" {:>8}", row.columns ? std::to_string(*row.columns) : "");
    if (has_threads) text += fmt::format(" {:>8}", row.threads);
    if (row.timing) {
      for (const double us : {row.timing->median_us, row.timing->min_us, row.timing->max_us}) {
        text += fmt::format(" {:>12.{}f}", us, us < 10 ? 4 : 1);  // to a tenth of a nanosecond
      }
    }
    text += row.bytes_copied ? fmt::format(" {:>12}", *row.bytes_copied)
            : row.timing     ? fmt::format(" {:>12}", "")
                             : "";
    if (row.ratio) text += fmt::format(" {:>7.2f}", *row.ratio);
    if (row.max_abs_error) text += fmt::format("  max abs error {:.1e}", *row.max_abs_error);
    if (row.max_rel_error) text += fmt::format("  relative L2 error {:.1e}", *row.max_rel_error);
    for (const auto& [name, value] : row.more.items()) {
      text += "  " + name + ' ' +
              (value.is_string()         ? value.get<std::string>()
               : value.is_number_float() ? fmt::format("{:.4g}", value.get<double>())
                                         : value.dump());
    }
    if (row.flips) text += fmt::format("  {} change side of 0.5", *row.flips);
    text += '\n';
  }
  return text;
}

}  // namespace tensoa::bench
