// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "io/hit_checks.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

namespace tensoa::track::detail {

std::optional<std::int32_t> layer_of(std::int32_t volume_id, std::int32_t layer_id) {
  constexpr std::int32_t kLayersOfVolume = 1000;
  constexpr std::int32_t kMostVolumes = 1'000'000;
  if (volume_id < 0 || volume_id > kMostVolumes) return std::nullopt;
  if (layer_id < 0 || layer_id >= kLayersOfVolume) return std::nullopt;
  return volume_id * kLayersOfVolume + layer_id;
}

std::string layer_message(std::int32_t volume_id, std::int32_t layer_id) {
  return "got volume_id " + std::to_string(volume_id) + " and layer_id " +
         std::to_string(layer_id) + ", expected 0 to 1000000 and 0 to 999";
}

void require_unique_ids(const std::string& file, const View<Hit>& hits) {
  const std::span there(hits.hit_id.data(), hits.size());
  // In most files they rise.
  if (std::ranges::is_sorted(there, std::ranges::less_equal())) return;
  std::vector<std::int64_t> ids(there.begin(), there.end());
  std::sort(ids.begin(), ids.end());
  if (const auto twice = std::adjacent_find(ids.begin(), ids.end()); twice != ids.end()) {
    throw InputError(file + ": hit_id " + std::to_string(*twice) +
                     " is duplicated; expected unique hit_id");
  }
}

}  // namespace tensoa::track::detail
