// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensoa/core/memory.hpp"
#include "tensoa/engine/model.hpp"

namespace tensoa::bench {

/// The form of a packed block.
enum class Packed : std::uint8_t {
  kRows,    ///< row-major: what TorchScript and ONNX Runtime take
  kPlanes,  ///< columns side by side: what packages take; they do not read rows
};

/// The same sizes with the planes side by side: rows are next to each other.
TensorView as_planes(TensorView view, std::size_t row_dimension);

/// The way without this library, with all memory kept from call to call, pinned where a GPU
/// copies from and to it: columns to the host, packed there by one thread, the packed blocks to the
/// device, and the same back for the answers. Planes come down as they are packed. On the CPU the
/// transfers fall away. The one baseline of all benchmarks that call it `pack` or `host_roundtrip`.
///
/// Or packed on the device: one step to the packed blocks, and one back.
///
/// Each step returns the bytes that it copied. *Threads*: one at a time.
class PackingBaseline {
 public:
  /// @param columns what would be bound; the columns must outlive this
  PackingBaseline(const Queue& queue, const Binding& columns, Packed form = Packed::kRows);

  /// Input columns to the host; waits.
  std::size_t to_host();
  /// Packed blocks in host memory.
  std::size_t pack();
  /// Packed blocks to the device; only enqueued.
  std::size_t to_device();
  /// Packed outputs to the columns; waits.
  std::size_t bring_back();

  /// Input columns to packed blocks on the device; only enqueued.
  std::size_t pack_on_device();
  /// Packed outputs to the columns, on the device; only enqueued.
  std::size_t unpack_on_device();

  /// The packed blocks as a model takes them, on the device of the queue.
  const Binding& rows() const noexcept { return rows_; }

  /// All of it around one call of a model.
  std::size_t run(const Model<>& model);

 private:
  /// A block on its ways.
  struct Staged {
    TensorView columns;          ///< where they lie
    TensorView columns_in_host;  ///< planes side by side; on the CPU as `columns`
    TensorView rows_in_host;     ///< of packed planes on a GPU as `columns_in_host`
    TensorView rows;             ///< on the CPU as `rows_in_host`
  };

  bool on_cpu() const { return queue_.device().is_cpu(); }
  bool lands_packed() const { return form_ == Packed::kPlanes && !on_cpu(); }
  TensorView allocate(TensorView view, Device device);
  Staged stage(BoundBlock& block);

  Queue queue_;
  Binding rows_;
  Packed form_;
  std::vector<Buffer> memory_;
  std::vector<PinnedBuffer> host_memory_;
  std::vector<Staged> inputs_;
  std::vector<Staged> outputs_;
};

}  // namespace tensoa::bench
