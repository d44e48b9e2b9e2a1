// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tensoa/engine/model_metadata.hpp"

namespace tensoa::detail {

bool goes_by_name(Match match, std::span<const BoundBlock> blocks,
                  std::span<const std::string> names) {
  if (match != Match::kAuto) return match == Match::kByName;
  const bool is_in_order =
      blocks.size() <= names.size() &&
      std::ranges::equal(blocks, names.first(blocks.size()), {}, &BoundBlock::name);
  return !is_in_order && std::ranges::all_of(blocks, [&](const BoundBlock& block) {
    return std::ranges::find(names, block.name) != names.end();
  });
}

const BoundBlock* find_misplaced(Match match, std::span<const BoundBlock> blocks,
                                 std::span<const std::string> names) {
  if (match != Match::kAuto || goes_by_name(match, blocks, names)) return nullptr;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto place = std::ranges::find(names, blocks[i].name);
    if (place != names.end() && place != names.begin() + static_cast<std::ptrdiff_t>(i)) {
      return &blocks[i];
    }
  }
  return nullptr;
}

}  // namespace tensoa::detail
