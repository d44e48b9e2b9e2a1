// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The kernels of trees on the host, for GPUs of the device double: the threads of a block one after another, phase by phase, each
// block in memory of the size that a kernel requests.

#include <cstddef>
#include <span>
#include <vector>

#include "gpu/gpu_block.hpp"
#include "gpu/gpu_kernels.hpp"

namespace tensoa::forest {

GpuLimits prepare_gpu_kernels(Device /*device*/) {
  return {.multiprocessors = 4, .shared_bytes = std::size_t{100} << 10U};
}

template <class Sum>
void launch(const Queue& /*queue*/, const GpuTables<Sum>& tables, GpuLayout layout,
            std::span<const GpuPlace> places, std::int64_t rows) {
  for (std::int64_t row = 0; row < rows; row += layout.rows) {
    std::vector<std::byte> shared(
        shared_bytes<Sum>(tables.all_features, tables.all_outputs, layout));
    GpuBlock<Sum> block(tables, layout, places.data(), rows, shared.data());
    const auto all_threads = [&](const auto& phase) {
      for (std::uint32_t thread = 0; thread < layout.threads(); ++thread) phase(thread);
    };
    all_threads([&](std::uint32_t thread) { block.begin(row, thread); });
    if (layout.lanes == 1) {
      for (std::uint32_t i = 0; i < tables.all_simple; i += block.kSearches) {
        all_threads([&](std::uint32_t thread) { block.bring_searches(i, thread); });
        all_threads([&](std::uint32_t thread) { block.search_brought(row, i, thread); });
      }
      for (const GpuChunk& chunk : std::span(tables.chunks, tables.all_chunks)) {
        all_threads([&](std::uint32_t thread) { block.bring(chunk, thread); });
        all_threads([&](std::uint32_t thread) { block.follow_chunk(chunk, thread); });
      }
    } else {
      all_threads([&](std::uint32_t thread) { block.search_all(row, thread); });
      for (std::uint32_t group = 0; group < tables.all_groups; group += layout.lanes) {
        all_threads([&](std::uint32_t thread) { block.follow_group(group, thread); });
        all_threads([&](std::uint32_t thread) { block.add(group, thread); });
      }
    }
    all_threads([&](std::uint32_t thread) { block.end(row, thread); });
  }
}

template void launch(const Queue&, const GpuTables<float>&, GpuLayout, std::span<const GpuPlace>,
                     std::int64_t);
template void launch(const Queue&, const GpuTables<double>&, GpuLayout, std::span<const GpuPlace>,
                     std::int64_t);

}  // namespace tensoa::forest
