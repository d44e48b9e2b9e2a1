// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tensoa/engine/model.hpp"
#include "tensoa/track/event.hpp"

namespace tensoa::bench {

/// The scores of the same weights and the same columns, all arithmetic in float64 on the CPU.
/// @param model with its weights in float64 (pytorch::TorchScriptOptions)
std::vector<double> scores_in_float64(const Model<>& model, ConstView<track::Hit> hits,
                                      ConstView<track::Edge> edges);

/// How far numbers are from a reference.
struct Errors {
  double max_abs = 0;
  double relative = 0;    ///< ||a - b|| / ||b||
  std::size_t flips = 0;  ///< numbers that change side of 0.5
};

Errors errors_of(std::span<const float> numbers, std::span<const double> reference);

}  // namespace tensoa::bench
