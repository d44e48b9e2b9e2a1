// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "tensoa/core/memory.hpp"
#include "tensoa/engine/model.hpp"

namespace tensoa::bench {

/// What users do without this library, with all memory kept from call to call: columns to the host,
/// packed there row by row, the rows to the device, and the same back for the answers. On the CPU the
/// transfers fall away. The one baseline of all benchmarks that call it `pack` or `host_roundtrip`.
///
/// Each step returns the bytes that it copied. *Threads*: one at a time.
class PackingBaseline {
 public:
  /// @param columns what would be bound; the columns must outlive this
  PackingBaseline(const Queue& queue, const Binding& columns);

  /// Input columns to the host; waits.
  std::size_t to_host();
  /// Rows in host memory.
  std::size_t pack();
  /// Rows to the device; only enqueued.
  std::size_t to_device();
  /// Output rows to the columns; waits.
  std::size_t bring_back();

  /// The rows as a model takes them: row-major, on the device of the queue.
  const Binding& rows() const noexcept { return rows_; }

  /// All of it around one call of a model.
  std::size_t run(const Model<>& model);

 private:
  /// A block on its ways.
  struct Staged {
    TensorView columns;          ///< where they lie
    TensorView columns_in_host;  ///< planes side by side; on the CPU as `columns`
    TensorView rows_in_host;
    TensorView rows;  ///< on the CPU as `rows_in_host`
  };

  bool on_cpu() const { return queue_.device().is_cpu(); }
  TensorView allocate(TensorView view, Device device);
  Staged stage(BoundBlock& block);

  Queue queue_;
  Binding rows_;
  std::vector<Buffer> memory_;
  std::vector<Staged> inputs_;
  std::vector<Staged> outputs_;
};

}  // namespace tensoa::bench
