// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "tensoa/soa/columns.hpp"

namespace tensoa::interop::detail {

/// Where a column of somebody else's lies.
struct ForeignColumn {
  void* data = nullptr;
  std::size_t pitch = 0;  ///< elements from one plane to the next
};

/// A layout's columns, `Layout<Column>` or `Layout<ConstColumn>`, at these places, one for each
/// field.
template <class Columns>
Columns assemble(std::span<const ForeignColumn> places) {
  auto place = places.begin();
  return tensoa::detail::map_columns(Columns{}, [&place](auto column) {
    column.data_ = static_cast<decltype(column.data_)>(place->data);
    if constexpr (requires { column.pitch_; }) column.pitch_ = place->pitch;
    ++place;
    return column;
  });
}

}  // namespace tensoa::interop::detail
