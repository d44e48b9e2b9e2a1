// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/row_dependence.hpp"

namespace tensoa {

std::string_view name_of(RowDependence::Answer answer) noexcept {
  switch (answer) {
    case RowDependence::Answer::kIndependent:
      return "independent";
    case RowDependence::Answer::kDependent:
      return "dependent";
    case RowDependence::Answer::kUnknown:
      break;
  }
  return "unknown";
}

std::string to_string(const RowDependence& rows) {
  return std::string(name_of(rows.answer)) + (rows.reason.empty() ? "" : ": " + rows.reason);
}

}  // namespace tensoa
