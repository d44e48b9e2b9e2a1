// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iterator>
#include <map>
#include <optional>

namespace tensoa::remote {

/// `bytes` rounded up to a multiple of `unit`.
constexpr std::size_t whole(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// Which stretches of a region are free.
class Stretches {
 public:
  explicit Stretches(std::size_t bytes) : free_{{0, bytes}} {}

  /// The place of `bytes` bytes in the shortest stretch that has them.
  std::optional<std::size_t> take(std::size_t bytes) {
    auto best = free_.end();
    for (auto stretch = free_.begin(); stretch != free_.end(); ++stretch) {
      if (stretch->second < bytes) continue;
      if (best == free_.end() || stretch->second < best->second) best = stretch;
    }
    if (best == free_.end()) return std::nullopt;
    const auto [place, length] = *best;
    free_.erase(best);
    if (length > bytes) free_[place + bytes] = length - bytes;
    return place;
  }

  void give_back(std::size_t place, std::size_t bytes) {
    const auto [stretch, is_new] = free_.emplace(place, bytes);
    if (const auto next = std::next(stretch);
        next != free_.end() && stretch->first + stretch->second == next->first) {
      stretch->second += next->second;
      free_.erase(next);
    }
    if (stretch == free_.begin()) return;
    if (const auto before = std::prev(stretch); before->first + before->second == stretch->first) {
      before->second += stretch->second;
      free_.erase(stretch);
    }
  }

 private:
  std::map<std::size_t, std::size_t> free_;  ///< length by place
};

}  // namespace tensoa::remote
