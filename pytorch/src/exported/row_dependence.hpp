// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "exported/program.hpp"
#include "tensoa/engine/row_dependence.hpp"

namespace tensoa::pytorch::exported {

/// Whether rows depend on each other, and in which dimension they lie.
struct ProgramRows {
  RowDependence dependence;
  std::vector<std::optional<std::size_t>> of_inputs;  ///< none: it has no rows
  std::vector<std::size_t> of_outputs;                ///< where they are independent
};

/// Rows are what a program leaves open: an input has one open size at most, and inputs of one symbol are one
/// collection.
ProgramRows rows_of(const Program& program);

}  // namespace tensoa::pytorch::exported
