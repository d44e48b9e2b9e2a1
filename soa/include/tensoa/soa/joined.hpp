// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "tensoa/soa/slice.hpp"

namespace tensoa {

/// One view over the rows of several views of one collection, where each begins with the row after the last
/// one of the view before it: events that lie one after another, for one call of a model (sched/batcher.hpp).
/// O(columns · views), nothing is copied.
/// @return nothing where they lie in any other way, and without views
/// *Lifetime*: as of the views.
template <class Columns, template <template <class> class> class Layout, bool kConst>
std::optional<BasicView<Columns, Layout, kConst>> joined(
    std::span<const BasicView<Columns, Layout, kConst>> views) {
  static_assert(std::has_unique_object_representations_v<Columns>, "compared as bytes");
  if (views.empty()) return std::nullopt;
  auto all = views.front();
  for (const auto& view : views.subspan(1)) {
    if (view.device_ != all.device_ || view.size_ > all.capacity_ - all.size_) return std::nullopt;
    auto longer = all;
    longer.size_ += view.size_;
    const auto expected = slice(longer, all.size_, view.size_);
    if (std::memcmp(&expected.columns(), &view.columns(), sizeof(Columns)) != 0) {
      return std::nullopt;
    }
    all = longer;
  }
  return all;
}

}  // namespace tensoa
