// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tensoa/columnar/number_type.hpp"

namespace tensoa::columnar {

namespace detail {
struct ChunkRows;  ///< in src/chunk_rows.hpp
}

/// Whether numbers may lose digits on the way from a file to a column.
enum class Rounding : bool { kRefused, kAllowed };

/// Memory for numbers that a chunk does not have as they are needed. Only grows.
struct NumberMemory {
  std::vector<std::byte> bytes;
  std::size_t copied = 0;  ///< bytes that were written here, of all calls together
};

/// Row `i` of a column of lists is the numbers [offsets[i], offsets[i + 1]).
struct ListNumbers {
  const std::byte* numbers = nullptr;
  std::vector<std::int64_t> offsets;  ///< one more than rows
};

/// Some rows of a table file: the columns that were asked for, in that order.
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
  /// @throws InputError that names file, row and column: a null, a list, an integer that does not fit, a
  /// conversion that loses digits where it is refused, or that is impossible
  /// *Lifetime*: as long as the chunk and `memory`, which the next call overwrites
  const std::byte* numbers(std::size_t column, DType dtype, Rounding rounding,
                           NumberMemory& memory) const;

  /// The same of a column of lists.
  ListNumbers lists(std::size_t column, DType dtype, Rounding rounding, NumberMemory& memory) const;

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
