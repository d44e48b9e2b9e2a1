// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>

#include "tensoa/core/error.hpp"
#include "tensoa/soa/view.hpp"

namespace tensoa {

/// Rows [offset, offset + length) of a view, as a view of the same type: what a mini-batch is bound
/// by. O(columns), nothing is copied.
///
///     for (std::size_t at = 0; at < hits.size(); at += kBatch) {
///       const auto batch = slice(hits, at, std::min(kBatch, hits.size() - at));
///     }
///
/// Row 0 of the slice is row `offset` of the view; scalars, pitches and lease stay. The columns of a
/// slice start where they may, not on lines of kAlignment bytes.
/// *Lifetime*: as of the view.
/// @throws BindingError when the view has fewer rows than offset + length
template <class Columns, template <template <class> class> class Layout, bool kConst>
BasicView<Columns, Layout, kConst> slice(const BasicView<Columns, Layout, kConst>& view,
                                         std::size_t offset, std::size_t length) {
  if (offset > view.size_ || length > view.size_ - offset) {
    throw BindingError("slice: " + std::to_string(length) + " rows from row " +
                       std::to_string(offset) + " on are not in a view of " +
                       std::to_string(view.size_) +
                       " rows; offset + length may be its size at most");
  }
  const auto move = [offset]<class C>(C column) {
    if constexpr (!std::same_as<typename C::Row, NoRow>) column.data_ += offset;
    return column;
  };
  return {detail::map_columns(view.columns(), move), length, view.capacity_ - offset, view.device_,
          view.lease_};
}

}  // namespace tensoa
