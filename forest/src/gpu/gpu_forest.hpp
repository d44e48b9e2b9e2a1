// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "compile/compiled.hpp"
#include "gpu/gpu_kernels.hpp"
#include "tensoa/forest/forest.hpp"

namespace tensoa::forest {

/// The layout that fills the GPU: the fewer rows there are, the more threads share the trees of a row.
/// @param row_bytes of memory that a row takes, and `lane_bytes` for each lane of it
GpuLayout layout_for(std::int64_t rows, std::uint32_t groups, const GpuLimits& limits,
                     std::size_t row_bytes, std::size_t lane_bytes);

/// An ensemble on a GPU.
class GpuForest {
 public:
  virtual ~GpuForest() = default;

  /// As Forest::run.
  virtual void run(const Queue& queue, std::span<const Column> columns,
                   std::span<const AnswerColumn> answers, std::int64_t rows) const = 0;
};

/// Copies the tables to `device`, and waits for that. @throws ConfigError, DeviceError
std::unique_ptr<const GpuForest> make_gpu_forest(const Compiled& forest, Device device);

}  // namespace tensoa::forest
