// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tensoa/core/memory.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/track/graph_rules.hpp"
#include "tensoa/track/impl/hit_buckets.hpp"

namespace tensoa::track {

/// A LayerMap in the memory of a device.
class LayerMemory {
 public:
  /// Waits for the queue where there is a map.
  /// @param rules that require_rules() accepts
  LayerMemory(const GraphRules& rules, const Queue& queue) {
    if (!rules.layer_map) return;
    const LayerMap& map = *rules.layer_map;
    size_ = map.layers.size();
    std::vector<std::byte> bytes(ids_bytes() + size_ * size_);
    if (bytes.empty()) return;
    std::memcpy(bytes.data(), map.layers.data(), ids_bytes());
    const auto number_of = [&](std::int32_t layer) {
      return static_cast<std::size_t>(std::ranges::lower_bound(map.layers, layer) -
                                      map.layers.begin());
    };
    for (const auto& [source, target] : map.pairs) {
      bytes[ids_bytes() + number_of(source) * size_ + number_of(target)] = std::byte{1};
    }
    memory_ = Buffer(queue.device(), bytes.size());
    copy_bytes(queue, memory_.data(), queue.device(), bytes.data(), Device::cpu(), bytes.size());
    queue.wait();
  }

  LayerTable table() const {
    return {reinterpret_cast<const std::int32_t*>(memory_.data()),
            reinterpret_cast<const std::uint8_t*>(memory_.data()) + ids_bytes(), size_};
  }

 private:
  std::size_t ids_bytes() const { return size_ * sizeof(std::int32_t); }

  std::size_t size_ = 0;
  Buffer memory_;
};

}  // namespace tensoa::track
