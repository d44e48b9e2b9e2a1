// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tensoa/core/dtype.hpp"
#include "tensoa/forest/ensemble.hpp"

namespace tensoa::forest {

struct Compiled;

/// A column of the caller: row r is the element `r * stride` after `first`.
struct Column {
  const std::byte* first = nullptr;
  std::int64_t stride = 1;  ///< in elements
  DType dtype = DType::kF32;
};

/// A column for answers, float32 or float64.
struct AnswerColumn {
  std::byte* first = nullptr;
  std::int64_t stride = 1;  ///< in elements
  DType dtype = DType::kF32;
};

/// An ensemble compiled for columns of certain dtypes: a few milliseconds, without a compiler.
///
/// Rows are worked on in blocks. Every column becomes bins once for all trees; every test that occurs, whatever
/// the number of trees it stands in, becomes one bit a row; trees combine these bits, 64 to 512 rows at a time.
/// Few rows, and trees that are too large for that, follow the nodes. Which of them runs never changes a bit of
/// an answer: thresholds are exact in the dtype of the column, leaves are added in the order of the trees.
///
/// *Threads*: run() is safe from any number of threads; rows that are shared among threads give the same bits.
class Forest {
 public:
  /// @param columns one dtype for each column of the ensemble
  /// @throws ConfigError for another number of dtypes
  Forest(const Ensemble& ensemble, std::span<const DType> columns);
  ~Forest();
  Forest(const Forest&) = delete;
  Forest& operator=(const Forest&) = delete;

  std::size_t columns() const noexcept;
  std::size_t outputs() const noexcept;

  /// Writes the answers of `rows` rows. Reads and writes columns where they lie.
  /// @param columns,answers on the CPU, of the dtypes given to the constructor; one for each output. An answer
  ///     may lie on the column of a feature, row on row, and must not otherwise share memory with one.
  void run(std::span<const Column> columns, std::span<const AnswerColumn> answers,
           std::int64_t rows) const;

  /// How many of the columns' distinct tests and trees take which form: for benchmarks and `tensoa inspect`.
  struct Shape {
    std::size_t tests = 0;     ///< distinct ones: bits a row
    std::size_t full = 0;      ///< trees as selections, level by level
    std::size_t ragged = 0;    ///< trees as masks of the rows that reach a node
    std::size_t followed = 0;  ///< trees of more than 256 leaves, node by node
  };
  Shape shape() const noexcept;

 private:
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace tensoa::forest
