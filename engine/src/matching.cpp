// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tensoa/engine/model_metadata.hpp"

namespace tensoa::detail {

Matched match_names(Match match, std::span<const BoundBlock> blocks,
                    std::span<const std::string> names) {
  if (match != Match::kAuto) return {match == Match::kByName, nullptr};
  const bool is_in_order =
      blocks.size() <= names.size() &&
      std::ranges::equal(blocks, names.first(blocks.size()), {}, &BoundBlock::name);
  if (is_in_order) return {false, nullptr};
  const BoundBlock* misplaced = nullptr;
  bool by_name = true;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto place = std::ranges::find(names, blocks[i].name);
    by_name = by_name && place != names.end();
    const bool is_misplaced =
        place != names.end() && place != names.begin() + static_cast<std::ptrdiff_t>(i);
    if (is_misplaced && misplaced == nullptr) misplaced = &blocks[i];
  }
  return {by_name, by_name ? nullptr : misplaced};
}

}  // namespace tensoa::detail
