// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compile/followed.hpp"
#include "compile/questions.hpp"
#include "kernels/aligned.hpp"
#include "kernels/block_kernels.hpp"
#include "tensoa/forest/ensemble.hpp"

// An ensemble as blocks of rows are evaluated: pages of thresholds, distinct tests, and trees that combine tests.

namespace tensoa::forest {

/// Neighbouring thresholds of a column, and the questions about them.
struct Page {
  /// Bins that nodes test, in the order of their tests.
  struct Questioned {
    Missing missing;
    std::uint32_t first_test;
    std::vector<std::uint8_t> bins;
  };

  std::uint32_t first = 0;  ///< threshold of the column
  std::uint32_t size = 0;
  int levels = 1;  ///< of a search
  std::uint32_t table =
      0;  ///< of 256 floats, in BlockTables::searches; columns of other domains have none
  std::vector<Questioned> questioned;
};

/// A test for a set.
struct SetTest {
  std::uint32_t feature;  ///< in Questions::features
  std::uint32_t test;
};

struct BlockTree {
  enum class Form : std::uint8_t {
    kFull,      ///< a selection on each level
    kRagged,    ///< masks of the rows that reach a node
    kFollowed,  ///< node by node
  };

  Form form = Form::kFull;
  std::uint8_t planes = 1;  ///< bits of the number of a leaf
  std::uint32_t first =
      0;  ///< in `nodes` or `reach_nodes`; of followed ones their number in Followed
  std::uint32_t size = 0;   ///< kRagged: inner nodes
  std::uint32_t slots = 0;  ///< kRagged: in slots_of_planes
  ReachPlanes ends{};       ///< kRagged
  std::uint32_t leaves =
      0;  ///< in the tables of leaves, one after another for each value of a leaf
  std::uint32_t leaf_stride = 0;  ///< from one of them to the next
  std::uint32_t output = 0;
};

struct BlockTables {
  BlockTables(const Ensemble& ensemble, const Questions& questions,
              const std::vector<TreeShape>& shapes, const Followed& followed);

  std::uint32_t tests = 1;               ///< distinct ones; test 0 is never true
  std::vector<std::vector<Page>> pages;  ///< of each used column
  AlignedVector<float> searches;
  std::vector<SetTest> set_tests;
  std::vector<BlockTree> trees;
  std::vector<std::uint32_t> nodes;
  std::vector<ReachNode> reach_nodes;
  std::vector<std::uint16_t> slots_of_planes;
  std::uint32_t most_slots = 0;
  AlignedVector<float> float_leaves;    ///< where sums are float32
  AlignedVector<double> double_leaves;  ///< where they are float64
};

}  // namespace tensoa::forest
