// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "aligned.hpp"
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
  static constexpr Word kOnes = static_cast<Word>((1U << kHalf) - 1);  ///< no feature has this number
  static constexpr std::uint32_t kMostBins = kOnes - 1U;
  static constexpr std::uint32_t kMissing = kOnes;

  static Word of(std::uint32_t bin, std::uint32_t feature) noexcept {
    const std::uint32_t upper = bin == kMissingBin ? kMissing : bin;
    return static_cast<Word>(upper << kHalf | feature);
  }
  static Word of_row(std::uint32_t bin) noexcept { return of(bin, kOnes); }

  /// A node whose answer does not matter; a row has a word for it.
  static constexpr Word kAny = static_cast<Word>(~Word{0});
};

/// Trees that are followed together.
struct RowGroup {
  static constexpr std::uint32_t kTrees = 8;

  bool is_packed = true;     ///< full arrays of one depth, else one tree of Followed
  std::uint32_t first = 0;   ///< tree
  std::uint32_t trees = 0;
  std::uint32_t depth = 1;
  std::uint32_t nodes = 0;   ///< in `narrow` or `wide`: 2^depth for each tree
  std::uint32_t leaves = 0;  ///< in `leaves`: the same
};

/// Whether nodes of the ensemble fit PackedNode.
bool can_be_packed(const Questions& questions);

struct RowTables {
  RowTables(const Ensemble& ensemble, const Questions& questions, const std::vector<TreeShape>& shapes);

  bool is_narrow = false;  ///< at most 254 features, and bins of each
  std::vector<RowGroup> groups;
  AlignedVector<std::uint16_t> narrow;
  AlignedVector<std::uint32_t> wide;
  std::vector<std::uint32_t> leaves;  ///< first values in Ensemble::leaf_values
  AlignedVector<float> float_leaves;    ///< of leaves with a single value: these, where sums are float32
  AlignedVector<double> double_leaves;  ///< where they are float64
};

}  // namespace tensoa::forest
