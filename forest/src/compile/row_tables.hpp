// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "compile/followed.hpp"
#include "compile/questions.hpp"
#include "compile/tree_shape.hpp"
#include "kernels/aligned.hpp"
#include "tensoa/forest/ensemble.hpp"

// An ensemble for single rows: 8 neighbouring trees are evaluated at the same time, to wait for their memory together.

namespace tensoa::forest {

/// A node in one word: the bin that it tests for in the upper bits, its feature in the lower kFeatureBits. Of a row, the
/// word of a feature is its bin and ones: a node is below it where the answer is yes, which is one comparison.
template <class OneWord, unsigned kFeatureBits = 4 * sizeof(OneWord)>
struct PackedNode {
  using Word = OneWord;

  static constexpr unsigned kHalf = kFeatureBits;
  static constexpr Word kOnes =
      static_cast<Word>((1U << kHalf) - 1);  ///< no feature has this number
  static constexpr std::uint32_t kMissing = static_cast<Word>(static_cast<Word>(~Word{0}) >> kHalf);
  static constexpr std::uint32_t kMostBins = kMissing - 1U;

  static constexpr Word of(std::uint32_t bin, std::uint32_t feature) noexcept {
    const std::uint32_t upper = bin == kMissingBin ? kMissing : bin;
    return static_cast<Word>(upper << kHalf | feature);
  }
  static constexpr Word of_row(std::uint32_t bin) noexcept { return of(bin, kOnes); }

  /// A node whose answer does not matter; a row has a word for it.
  static constexpr Word kAny = static_cast<Word>(~Word{0});
};

using NarrowNode = PackedNode<std::uint16_t>;    ///< up to 253 features with 254 bins each
using SplitNode = PackedNode<std::uint16_t, 6>;  ///< up to 61 features with 1 022 bins each
using WideNode = PackedNode<std::uint32_t>;
enum class NodeKind : std::uint8_t { kNarrow, kSplit, kWide };

/// Trees that are followed together.
struct RowGroup {
  static constexpr std::uint32_t kTrees = Followed::kTogether;

  bool is_packed = true;    ///< full arrays of one depth, else trees of Followed
  std::uint32_t first = 0;  ///< tree
  std::uint32_t trees = 0;
  std::uint32_t depth = 1;
  std::uint32_t nodes = 0;  ///< in the packed nodes, and leaves in `leaves`: 2^depth for each tree
};

/// On a GPU a search has this many places at most; columns of more thresholds are not simple.
inline constexpr std::size_t kGpuSearch = 256;

/// A column of float32 without tests for sets or zeros.
struct SimpleColumn {
  std::uint32_t column;  ///< of the ensemble
  std::uint32_t levels;  ///< of a search
  std::uint32_t table;   ///< level l at [2^l, 2^(l+1)) after this, in RowTables::searches
  std::uint32_t left;    ///< feature whose missing values go left, or one that no node reads
  std::uint32_t right;
};

/// Whether nodes of the ensemble fit PackedNode.
bool can_be_packed(const Questions& questions);

struct RowTables {
  RowTables(const Ensemble& ensemble, const Questions& questions,
            const std::vector<TreeShape>& shapes, const Followed& followed, bool for_gpu);

  NodeKind kind;  ///< of the packed nodes: they are in `narrow`, `split` or `wide`
  std::vector<SimpleColumn> simple;
  std::vector<float> searches;
  std::vector<std::uint32_t> general;  ///< the other used columns
  std::vector<RowGroup> groups;
  AlignedVector<NarrowNode::Word> narrow;
  AlignedVector<SplitNode::Word> split;
  AlignedVector<WideNode::Word> wide;
  std::vector<std::uint32_t> leaves;  ///< first values in Ensemble::leaf_values
  AlignedVector<float>
      float_leaves;  ///< of leaves with a single value: these, where sums are float32
  AlignedVector<double> double_leaves;  ///< where they are float64

 private:
  void add_columns(const Questions& questions, bool for_gpu);
};

}  // namespace tensoa::forest
