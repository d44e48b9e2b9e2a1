// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "infer_columns.hpp"
#include "tensoa/columnar/table_chunk.hpp"

// Rows that a model does not get, because it has no numbers of them.

namespace tensoa::tools {

/// Rows of a file that are left out for one reason.
struct SkippedRows {
  std::string reason;    ///< "the column pt is null"
  bool is_null = false;  ///< the reason is one that `--null skip` accepts
  std::uint64_t rows = 0;
  std::uint64_t groups = 0;  ///< where a row takes its group with it
  std::uint64_t faults = 0;  ///< rows with this reason: fewer than `rows` where there are groups
  /// The first of these: their number in the file, and the value.
  std::vector<std::pair<std::uint64_t, std::string>> first;
};

/// Adds what another chunk skipped, of the same file and after it.
void add(std::vector<SkippedRows>& all, const std::vector<SkippedRows>& more);

/// Returns "4 rows are skipped: the column pt is null (rows 17, 4711, 5000 and 90000)".
std::string to_string(const SkippedRows& skipped);

/// The rows of a chunk that a model can get.
struct UsableRows {
  std::vector<std::uint8_t> is_usable;  ///< for each row of the chunk
  std::vector<SkippedRows> skipped;     ///< the others; nothing where there are none
};

/// @param groups where the groups begin of which each is one call, and where the last one ends; a row that
/// cannot be used takes its group with it. Empty: rows are independent
/// @throws InputError for what no row can change
UsableRows usable_rows(const columnar::TableChunk& chunk, const InferColumns& columns,
                       const columnar::NumberRules& rules, std::span<const std::int64_t> groups);

}  // namespace tensoa::tools
