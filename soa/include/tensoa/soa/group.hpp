// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <utility>

#include "tensoa/core/error.hpp"
#include "tensoa/soa/slice.hpp"

namespace tensoa {

/// The rows of one group of ragged data, as a view: rows [offsets[g], offsets[g + 1]).
///
///     for (std::size_t t = 0; t < tracks.size(); ++t) {
///       const auto hits_of_track = group(hits, tracks.first_hit, t);
///     }
///
/// O(columns), nothing is copied. For a model that takes all groups in one call, see
/// SoAMetadata::append_padded and append_segments.
/// @param offsets column of one entry more than there are groups, of any integer type; in memory
///     that the host can read
/// *Lifetime*: as of the view.
/// @throws BindingError when the offsets of the group are negative, descending, or lead out of the
/// view
template <class SomeView, std::integral Offset>
SomeView group(const SomeView& view, const PlainColumn<Offset>& offsets, std::size_t g) {
  const auto begin = offsets[g];
  const auto end = offsets[g + 1];
  if (!std::in_range<std::size_t>(begin) || !std::in_range<std::size_t>(end) || end < begin ||
      static_cast<std::size_t>(end) > view.size_) {
    throw BindingError("group " + std::to_string(g) + ": rows " + std::to_string(begin) + " to " +
                       std::to_string(end) + " are not in a view of " + std::to_string(view.size_) +
                       " rows; expected ascending offsets inside it");
  }
  return slice(view, static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

}  // namespace tensoa
