// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tensoa/columnar/table_chunk.hpp"

// Numbers of Arrow's arrays as those of a column.

namespace tensoa::columnar {

/// An element of an array that is not a number of the type that was requested.
struct NumberFault {
  std::int64_t number = 0;  ///< of the element
  FaultKind kind = FaultKind::kNull;
  std::string value;
};

/// Writes the numbers of an array of numbers, which conversion() can make `to`.
/// @param is_exact every number of the array's type is one of that type
/// @return whether all of them are numbers of that type; else what was written is not to be used
bool convert(const arrow::Array& array, DType to, const NumberRules& rules, bool is_exact,
             std::byte* memory);

/// Returns all elements for which convert() returns false, in order.
std::vector<NumberFault> faults_of(const arrow::Array& array, DType to, const NumberRules& rules);

}  // namespace tensoa::columnar
