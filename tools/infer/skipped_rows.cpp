// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "skipped_rows.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace tensoa::tools {
namespace {

constexpr std::size_t kMostRows = 10;

using columnar::FaultKind;

std::string reason_of(const std::string& column, FaultKind kind, DType dtype) {
  const std::string subject = "the column " + column;
  switch (kind) {
    case FaultKind::kNull:
      return subject + " is null";
    case FaultKind::kNotWhole:
      return subject + " is not a whole number, which " + std::string(name_of(dtype)) + " needs";
    case FaultKind::kInexact:
      return subject + " is so large that floating point has not every whole number, which " +
             std::string(name_of(dtype)) + " needs; --convert takes what is there";
    case FaultKind::kOutOfRange:
      break;
  }
  return subject + " has a number that " + std::string(name_of(dtype)) + " does not hold";
}

class Finding {
 public:
  Finding(const columnar::TableChunk& chunk, std::span<const std::int64_t> groups)
      : chunk_(chunk), groups_(groups) {
    found_.is_usable.assign(chunk.rows(), 1);
  }

  bool is_usable(std::size_t row) const { return found_.is_usable[row] != 0; }

  void skip(std::size_t row, const std::string& reason, bool is_null, std::string value) {
    if (!is_usable(row)) return;
    SkippedRows one{.reason = reason,
                    .is_null = is_null,
                    .rows = 1,
                    .faults = 1,
                    .first = {{chunk_.first_row() + row, std::move(value)}}};
    std::size_t begin = row;
    std::size_t end = row + 1;
    if (!groups_.empty()) {
      const auto after = std::ranges::upper_bound(groups_, static_cast<std::int64_t>(row));
      begin = static_cast<std::size_t>(*(after - 1));
      end = static_cast<std::size_t>(*after);
      one.groups = 1;
      one.rows = end - begin;
    }
    std::fill(found_.is_usable.begin() + static_cast<std::ptrdiff_t>(begin),
              found_.is_usable.begin() + static_cast<std::ptrdiff_t>(end), std::uint8_t{0});
    add(found_.skipped, {std::move(one)});
  }

  UsableRows take() { return std::move(found_); }

 private:
  const columnar::TableChunk& chunk_;
  std::span<const std::int64_t> groups_;
  UsableRows found_;
};

/// Lists of one collection whose lengths differ.
void skip_unequal_lists(const columnar::TableChunk& chunk, const InferColumns& columns,
                        Finding& finding) {
  std::vector<std::vector<std::int64_t>> expected(columns.collections);
  for (const InputSource& input : columns.inputs) {
    if (input.block.element.is_scalar()) continue;
    for (const std::size_t column : input.columns) {
      const std::vector<std::int64_t> lengths = chunk.lengths(column);
      std::vector<std::int64_t>& others = expected[input.collection];
      if (others.empty()) others = lengths;
      for (std::size_t row = 0; row < lengths.size(); ++row) {
        if (lengths[row] == others[row]) continue;
        finding.skip(row,
                     "the list in " + columns.read.columns[column] +
                         " is not as long as those of the other columns of block " +
                         input.block.name,
                     false, fmt::format("{} elements, not {}", lengths[row], others[row]));
      }
    }
  }
}

}  // namespace

void add(std::vector<SkippedRows>& all, const std::vector<SkippedRows>& more) {
  for (const SkippedRows& one : more) {
    auto same = std::ranges::find(all, one.reason, &SkippedRows::reason);
    if (same == all.end()) {
      all.push_back(one);
      continue;
    }
    same->rows += one.rows;
    same->groups += one.groups;
    same->faults += one.faults;
    for (const auto& row : one.first) {
      if (same->first.size() < kMostRows) same->first.push_back(row);
    }
  }
}

std::string to_string(const SkippedRows& skipped) {
  const auto counted = [](std::uint64_t n, const char* what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  std::string rows;
  for (const auto& [row, value] : skipped.first) {
    rows += fmt::format("{}{}{}", rows.empty() ? "" : ", ", row, value.empty() ? "" : ": " + value);
  }
  if (skipped.faults > skipped.first.size()) {
    rows += fmt::format(", … and {} more", skipped.faults - skipped.first.size());
  }
  return fmt::format("{}{} skipped: {} ({} {})", counted(skipped.rows, "row"),
                     (skipped.groups > 0 ? " of " + counted(skipped.groups, "group") : "") +
                         (skipped.rows == 1 ? " is" : " are"),
                     skipped.reason, skipped.faults == 1 ? "row" : "rows", rows);
}

UsableRows usable_rows(const columnar::TableChunk& chunk, const InferColumns& columns,
                       const columnar::NumberRules& rules, std::span<const std::int64_t> groups) {
  Finding finding(chunk, groups);
  for (const InputSource& input : columns.inputs) {
    const DType dtype = input.block.element.dtype;
    for (const std::size_t column : input.columns) {
      std::map<FaultKind, std::string> reasons;
      for (columnar::RowFault& fault : chunk.faults(column, dtype, rules)) {
        std::string& reason = reasons[fault.kind];
        if (reason.empty()) reason = reason_of(columns.read.columns[column], fault.kind, dtype);
        finding.skip(fault.row, reason, fault.kind == FaultKind::kNull, std::move(fault.value));
      }
    }
  }
  if (columns.unit == CallUnit::kLists) skip_unequal_lists(chunk, columns, finding);
  return finding.take();
}

}  // namespace tensoa::tools
