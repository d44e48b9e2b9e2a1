// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "tensoa/soa/fields.hpp"

namespace tensoa {

/// Returns the name of a plane of a column: "x", of a vector "u.0", of a matrix "m.ROW.COLUMN".
inline std::string plane_name(std::string column, const FieldInfo& element, std::size_t plane) {
  if (!element.has_planes()) return column;
  if (element.kind == ColumnKind::kVector) return column + '.' + std::to_string(plane);
  return column + '.' + std::to_string(plane % element.rows) + '.' +
         std::to_string(plane / element.rows);
}

}  // namespace tensoa
