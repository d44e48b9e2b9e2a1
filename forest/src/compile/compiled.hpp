// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "compile/block_tables.hpp"
#include "compile/followed.hpp"
#include "compile/questions.hpp"
#include "compile/row_tables.hpp"
#include "compile/tree_shape.hpp"
#include "tensoa/forest/ensemble.hpp"

namespace tensoa::forest {

/// Everything that calls read.
struct Compiled {
  Compiled(const Ensemble& of, std::span<const DType> dtypes, bool for_gpu);

  Ensemble ensemble;  ///< without its nodes
  std::vector<float> float_leaf_values;

  std::vector<TreeShape> shapes;
  Questions questions;
  Followed followed;
  BlockTables blocks;
  RowTables rows;
  std::vector<std::vector<std::uint32_t>> features_of;  ///< of each used column
  bool follows_in_blocks = false;
};

/// Of numbers in both precisions those in the precision of the sums.
template <class Sum>
const Sum* choose(const auto& floats, const auto& doubles) {
  if constexpr (std::is_same_v<Sum, float>) {
    return floats.data();
  } else {
    return doubles.data();
  }
}

}  // namespace tensoa::forest
