// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "infer_run.hpp"

namespace tensoa::tools {

std::uint64_t InferSummary::rows_skipped() const {
  std::uint64_t all = 0;
  for (const SkippedOfFile& file : skipped) {
    for (const SkippedRows& one : file.rows) all += one.rows;
  }
  return all;
}

bool InferSummary::lacks_rows() const {
  if (!lost.empty()) return true;
  for (const SkippedOfFile& file : skipped) {
    for (const SkippedRows& one : file.rows) {
      if (!one.is_null || !skips_nulls) return true;
    }
  }
  return false;
}

std::string to_table(const InferSummary& summary) {
  std::string text;
  for (const std::string& conversion : summary.conversions) {
    text += "converted " + conversion + '\n';
  }
  const double all = summary.read_seconds + summary.infer_seconds + summary.write_seconds;
  text += fmt::format("{:<12} {:>10} {:>7}\n", "stage", "seconds", "share");
  const auto add_stage = [&](const char* name, double seconds) {
    text += fmt::format("{:<12} {:>10.3f} {:>6.1f}%\n", name, seconds,
                        all > 0 ? 100 * seconds / all : 0.0);
  };
  add_stage("read", summary.read_seconds);
  add_stage("infer", summary.infer_seconds);
  add_stage("write", summary.write_seconds);
  text += fmt::format(
      "{:<12} {:>10.3f}  with {} thread{}: {:.0f} rows/s\n", "wall clock", summary.wall_seconds,
      summary.threads, summary.threads == 1 ? "" : "s",
      summary.wall_seconds > 0 ? static_cast<double>(summary.rows) / summary.wall_seconds : 0.0);
  text += fmt::format("{} rows of {} file{} on {}, {} written\n", summary.rows, summary.files,
                      summary.files == 1 ? "" : "s", summary.device, summary.rows_kept);
  if (summary.given && *summary.given != summary.row_dependence.answer) {
    text += fmt::format("rows: {}, as --rows says; of the model: {}\n", name_of(*summary.given),
                        to_string(summary.row_dependence));
  }
  text += fmt::format("copied: {} B by conversions; for the model {}\n", summary.copies.converted,
                      to_string(summary.copies.model));
  if (!summary.lost.empty()) {
    std::uint64_t rows = 0;
    std::size_t unknown = 0;
    for (const LostRows& lost : summary.lost) {
      rows += lost.rows.value_or(0);
      unknown += lost.rows ? 0 : 1;
    }
    text += fmt::format("lost: {} rows", rows);
    if (unknown > 0) {
      text += fmt::format(", and what follows in {} file{}", unknown, unknown == 1 ? "" : "s");
    }
    text += '\n';
  }
  if (!summary.skipped.empty()) text += fmt::format("skipped: {} rows\n", summary.rows_skipped());
  for (const SkippedOfFile& file : summary.skipped) {
    for (const SkippedRows& rows : file.rows) {
      text += fmt::format("  {}: {}\n", file.path, to_string(rows));
    }
  }
  if (!summary.skipped.empty() || !summary.lost.empty()) {
    text += summary.row_numbers.empty()
                ? "the rows that are written have no numbers (--no-row-numbers)\n"
                : fmt::format("the column {} has the numbers of the rows that are written\n",
                              summary.row_numbers);
  }
  const auto guessed = std::ranges::find(summary.numbered, false, &NumberedFile::is_exact);
  if (guessed != summary.numbered.end() && !summary.row_numbers.empty()) {
    text += fmt::format(
        "from {} on, numbers count only the rows of earlier files that were read: {} is its "
        "first\n",
        guessed->path, guessed->first);
  }
  if (summary.replaces)
    text += fmt::format("{}: replaces the file that was there\n", summary.output);
  return text;
}

nlohmann::ordered_json to_json(const InferSummary& summary) {
  nlohmann::ordered_json lost = nlohmann::ordered_json::array();
  for (const LostRows& rows : summary.lost) {
    lost.push_back({{"file", rows.path},
                    {"first_row", rows.first_row},
                    {"rows", rows.rows ? nlohmann::ordered_json(*rows.rows) : nullptr},
                    {"error", rows.message}});
  }
  nlohmann::ordered_json skipped = nlohmann::ordered_json::array();
  for (const SkippedOfFile& file : summary.skipped) {
    for (const SkippedRows& one : file.rows) {
      nlohmann::ordered_json rows = nlohmann::ordered_json::array();
      nlohmann::ordered_json values = nlohmann::ordered_json::array();
      for (const auto& [row, value] : one.first) {
        rows.push_back(row);
        values.push_back(value.empty() ? nlohmann::ordered_json(nullptr)
                                       : nlohmann::ordered_json(value));
      }
      skipped.push_back({{"file", file.path},
                         {"reason", one.reason},
                         {"rows", one.rows},
                         {"groups", one.groups},
                         {"faults", one.faults},
                         {"first_rows", rows},
                         {"first_values", values}});
    }
  }
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
  for (const NumberedFile& file : summary.numbered) {
    inputs.push_back(
        {{"file", file.path}, {"first_number", file.first}, {"is_exact", file.is_exact}});
  }
  const auto per_second = [&](double seconds) {
    return seconds > 0 ? static_cast<double>(summary.rows) / seconds : 0.0;
  };
  return {
      {"model", summary.model},
      {"device", summary.device},
      {"unit", summary.unit},
      {"row_dependence",
       {{"answer", name_of(summary.row_dependence.answer)},
        {"reason", summary.row_dependence.reason},
        {"rows", summary.given ? nlohmann::ordered_json(name_of(*summary.given)) : nullptr}}},
      {"threads", summary.threads},
      {"files", summary.files},
      {"rows", summary.rows},
      {"rows_kept", summary.rows_kept},
      {"rows_skipped", summary.rows_skipped()},
      {"row_numbers", summary.row_numbers.empty() ? nlohmann::ordered_json(nullptr)
                                                  : nlohmann::ordered_json(summary.row_numbers)},
      {"inputs", inputs},
      {"seconds", summary.wall_seconds},
      {"rows_per_s", per_second(summary.wall_seconds)},
      {"stage_seconds",
       {{"read", summary.read_seconds},
        {"infer", summary.infer_seconds},
        {"write", summary.write_seconds}}},
      {"busy_seconds", summary.busy_seconds},
      {"bytes_copied",
       {{"converted", summary.copies.converted},
        {"model_in", summary.copies.model.bytes_in},
        {"model_out", summary.copies.model.bytes_out},
        {"to_device", summary.copies.to_device},
        {"from_device", summary.copies.from_device}}},
      {"peak_memory_bytes", summary.peak_memory},
      {"conversions", summary.conversions},
      {"lost", lost},
      {"skipped", skipped}};
}

}  // namespace tensoa::tools
