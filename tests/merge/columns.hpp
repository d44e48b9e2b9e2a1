// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace tensoa::merge {

/// The first n rows of a column of a view.
template <class Column>
auto list(const Column& column, std::size_t n) {
  return std::vector(column.data(), column.data() + n);
}

}  // namespace tensoa::merge
