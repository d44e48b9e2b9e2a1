// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "aligned.hpp"
#include "block_tables.hpp"
#include "followed.hpp"
#include "questions.hpp"
#include "tensoa/forest/ensemble.hpp"
#include "tree_shape.hpp"

// An ensemble as single rows are evaluated: up to 8 neighbouring trees at once, so that their memory is waited for together.

namespace tensoa::forest {

/// A node in one word: the bin that it asks for in the upper half, its feature in the lower one. Of a row, the
/// word of a feature is its bin and ones: a node is below it where the answer is yes, which is one comparison.
template <class Word>
struct PackedNode {
  static constexpr unsigned kHalf = 4 * sizeof(Word);
  static constexpr Word kOnes =
      static_cast<Word>((1U << kHalf) - 1);  ///< no feature has this number
  static constexpr std::uint32_t kMostBins = kOnes - 1U;
  static constexpr std::uint32_t kMissing = kOnes;

  static constexpr Word of(std::uint32_t bin, std::uint32_t feature) noexcept {
    const std::uint32_t upper = bin == kMissingBin ? kMissing : bin;
    return static_cast<Word>(upper << kHalf | feature);
  }
  static constexpr Word of_row(std::uint32_t bin) noexcept { return of(bin, kOnes); }

  /// A node whose answer does not matter; a row has a word for it.
  static constexpr Word kAny = static_cast<Word>(~Word{0});
};

/// Trees that are followed together.
struct RowGroup {
  static constexpr std::uint32_t kTrees = 8;

  bool is_packed = true;    ///< full arrays of one depth, else trees of Followed
  std::uint32_t first = 0;  ///< tree
  std::uint32_t trees = 0;
  std::uint32_t depth = 1;
  std::uint32_t nodes =
      0;  ///< in `narrow` or `wide`, and leaves in `leaves`: 2^depth for each tree
};

/// A column of float32 with one page of thresholds, and no tests for sets or zeros.
struct SimpleColumn {
  std::uint32_t column;  ///< of the ensemble
  std::uint32_t levels;  ///< of a search
  std::uint32_t table;   ///< level l at [2^l, 2^(l+1)) after this, in BlockTables::searches
  std::uint32_t left;    ///< feature whose missing values go left, or one that no node asks for
  std::uint32_t right;
};

/// Whether nodes of the ensemble fit PackedNode.
bool can_be_packed(const Questions& questions);

struct RowTables {
  RowTables(const Ensemble& ensemble, const Questions& questions,
            const std::vector<TreeShape>& shapes, const BlockTables& blocks, bool wide_rows);

  bool is_narrow = false;  ///< few features, and at most 254 bins of each
  std::vector<SimpleColumn> simple;
  std::vector<std::uint32_t> general;  ///< the other used columns
  std::vector<RowGroup> groups;
  AlignedVector<std::uint16_t> narrow;
  AlignedVector<std::uint32_t> wide;
  std::vector<std::uint32_t> leaves;  ///< first values in Ensemble::leaf_values
  AlignedVector<float>
      float_leaves;  ///< of leaves with a single value: these, where sums are float32
  AlignedVector<double> double_leaves;  ///< where they are float64

 private:
  void add_columns(const Questions& questions, const BlockTables& blocks, bool wide_rows);
};

}  // namespace tensoa::forest
