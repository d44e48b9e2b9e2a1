// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tensoa/core/dtype.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/forest/ensemble.hpp"

namespace tensoa::forest {

struct Compiled;
class GpuForest;

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

/// An ensemble compiled for a device and columns of certain dtypes: a few milliseconds, without a compiler.
///
/// Rows are worked on in blocks. Every column becomes bins once for all trees; every test that occurs, whatever
/// the number of trees it stands in, becomes one bit a row; trees combine these bits, 64 to 512 rows at a time.
/// Few rows, and trees that are too large for that, follow the nodes; so does a GPU, eight trees of a row in each
/// thread. Which of them runs never changes a bit of a margin: thresholds are exact in the dtype of the column,
/// leaves are added in the order of the trees. (Answers of a GPU with a link may differ in the last bit.)
///
/// *Threads*: run() is safe from any number of threads; rows that are shared among threads give the same bits.
class Forest {
 public:
  /// @param columns one dtype for each column of the ensemble
  /// @throws ConfigError for another number of dtypes; for a GPU where this build has no kernels for it, and for
  ///     more columns that are tested and outputs than 1 280 together; DeviceError
  Forest(const Ensemble& ensemble, std::span<const DType> columns, Device device = Device::cpu());
  ~Forest();
  Forest(const Forest&) = delete;
  Forest& operator=(const Forest&) = delete;

  Device device() const noexcept;
  std::size_t columns() const noexcept;
  std::size_t outputs() const noexcept;

  /// Writes the answers of `rows` rows. Reads and writes columns where they lie; on a GPU in the order of `queue`,
  /// without waiting, with one kernel.
  /// @param queue of the device
  /// @param columns,answers on the device, of the dtypes given to the constructor; one for each output. An answer
  ///     may lie on the column of a feature, row on row, and must not otherwise share memory with one.
  /// @throws DeviceError; ConfigError for a queue of another device
  void run(const Queue& queue, std::span<const Column> columns,
           std::span<const AnswerColumn> answers, std::int64_t rows) const;

  /// The numbers of the columns' distinct tests and of trees in each form: for benchmarks and `tensoa inspect`.
  struct Shape {
    std::size_t tests = 0;     ///< distinct ones: bits a row
    std::size_t full = 0;      ///< trees as selections, level by level
    std::size_t ragged = 0;    ///< trees as masks of the rows that reach a node
    std::size_t followed = 0;  ///< trees of more than 256 leaves, node by node
  };
  Shape shape() const noexcept;

 private:
  Device device_;
  std::unique_ptr<const Compiled> compiled_;
  std::unique_ptr<const GpuForest> gpu_;  ///< none on the CPU
};

}  // namespace tensoa::forest
