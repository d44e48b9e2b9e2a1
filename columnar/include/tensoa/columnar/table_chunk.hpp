// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tensoa/columnar/number_type.hpp"

namespace tensoa::columnar {

namespace detail {
class ChunkRows;  ///< in src/arrow_library.hpp
}

/// Whether numbers may lose digits on the way from a file to a column.
enum class Rounding : bool { kRefused, kAllowed };

/// The changes that are allowed to numbers on the way from a file to a column.
struct NumberRules {
  Rounding rounding = Rounding::kRefused;
  /// The value for a null, and for NaN where integers are read, in columns whose type holds() it.
  /// Nothing: it is an error.
  std::optional<double> null_value = {};
};

/// Why a row has no number of the type that a column needs.
enum class FaultKind : std::uint8_t {
  kNull,      ///< or NaN where integers are read, which tables without nulls have in its place
  kNotWhole,  ///< where integers are read
  kInexact,  ///< the same: from 2^53 on a double, from 2^24 on a float may be another whole number, rounded
  kOutOfRange,  ///< the type does not hold it
};

/// A row that cannot be read.
struct RowFault {
  std::size_t row = 0;  ///< of the chunk
  FaultKind kind = FaultKind::kNull;
  std::string value;  ///< as text; empty for a null
};

/// Returns "is null", "is 1.5, which is not a whole number", …
std::string to_string(const RowFault& fault, DType dtype);

/// Memory for numbers that a chunk does not have as they are needed. Only grows.
struct NumberMemory {
  std::vector<std::byte> bytes;
  std::shared_ptr<const void> unpacked;  ///< numbers of a dictionary, side by side
  std::size_t copied = 0;                ///< bytes that were written here, of all calls together
};

/// Row `i` of a column of lists is the numbers [offsets[i], offsets[i + 1]).
struct ListNumbers {
  const std::byte* numbers = nullptr;
  std::vector<std::int64_t> offsets;  ///< one more than rows
};

/// Some rows of a table file: the columns that were requested, in that order.
///
/// A cheap handle: copies and slices share the memory of the columns, and keep it. The memory does not change.
/// *Threads*: const members may be called from any number of threads.
class TableChunk {
 public:
  explicit TableChunk(std::shared_ptr<const detail::ChunkRows> rows) : rows_(std::move(rows)) {}

  std::size_t rows() const noexcept;

  /// The number of the first row in its file, from 0.
  std::uint64_t first_row() const noexcept;

  std::size_t columns() const noexcept;

  /// Returns where the numbers of a column lie, side by side: in the chunk itself where they are there as
  /// `dtype`, aligned to their size; else converted, in `memory`.
  /// @param column position among the columns
  /// @throws InputError that names file, row and column: the first of faults(), a list, a conversion that loses
  /// digits where it is refused, or that is impossible
  /// *Lifetime*: as long as the chunk and `memory`, which the next call overwrites
  const std::byte* numbers(std::size_t column, DType dtype, const NumberRules& rules,
                           NumberMemory& memory) const;

  /// The same of a column of lists. A list that is null is a fault whatever the rules: its length is not known.
  ListNumbers lists(std::size_t column, DType dtype, const NumberRules& rules,
                    NumberMemory& memory) const;

  /// Returns the rows for which numbers(), or lists(), throws, each once and in order.
  /// @throws InputError as they do for what no row can change
  std::vector<RowFault> faults(std::size_t column, DType dtype, const NumberRules& rules) const;

  /// Returns for each row 1, or 0 where the column is null; nothing where it is null nowhere.
  std::vector<std::uint8_t> validity(std::size_t column) const;

  /// Returns how many elements the list of each row has; of one that is null 0.
  /// @throws InputError for a column without lists
  std::vector<std::int64_t> lengths(std::size_t column) const;

  /// Returns the rows [first, first + count). Copies nothing.
  TableChunk slice(std::size_t first, std::size_t count) const;

  /// Returns these columns. Copies nothing.
  TableChunk select(std::span<const std::size_t> columns) const;

  /// Returns a copy of the rows whose element of `keep` is not 0.
  /// @param keep one for each row
  TableChunk filter(std::span<const std::uint8_t> keep) const;

  /// Returns the rows of several chunks of the same columns, one after another: of one chunk itself, of
  /// several a copy.
  /// @param chunks one at least
  static TableChunk concatenate(std::span<const TableChunk> chunks);

  const detail::ChunkRows& get() const noexcept { return *rows_; }

 private:
  std::shared_ptr<const detail::ChunkRows> rows_;
};

}  // namespace tensoa::columnar
