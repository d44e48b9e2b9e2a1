// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "call.hpp"
#include "compile/followed.hpp"
#include "compile/row_tables.hpp"

namespace tensoa::forest {

/// Rows one by one.
template <class Sum>
class RowCall : Call<Sum> {
 public:
  RowCall(const Compiled& forest, std::span<const Column> columns,
          std::span<const AnswerColumn> answers)
      : Call<Sum>(forest, columns, answers, 1), rows_(forest.rows) {
    // One more, for the feature that no node asks.
    Workspace::at_least(this->mine_.bins, forest.questions.features.size() + 1);
    this->n_ = 1;
  }

  void run(std::int64_t rows) {
    std::array<NarrowNode::Word, NarrowNode::kOnes + 1> words;
    for (this->first_ = 0; this->first_ < rows; ++this->first_) {
      this->begin_sums();
      if (rows_.kind == NodeKind::kNarrow) {
        row<NarrowNode>(words.data(), rows_.narrow.data());
      } else if (rows_.kind == NodeKind::kSplit) {
        row<SplitNode>(words.data(), rows_.split.data());
      } else {
        // Trees that cannot be packed may ask more features than nodes have numbers for.
        const std::size_t most =
            std::max<std::size_t>(WideNode::kOnes, this->forest_.questions.features.size());
        row<WideNode>(Workspace::at_least(this->mine_.wide_row, most + 1), rows_.wide.data());
      }
      this->end_sums();
    }
  }

 private:
  /// @param words memory for one word a feature
  template <class Packed, class Word = typename Packed::Word>
  void row(Word* words, const Word* nodes) {
    for (const std::uint32_t used : rows_.general) {
      this->in_domain(used, [&]<class Value>(Value value) {
        read_values(this->caller_column(used), this->first_, 1, &value);
        this->bins_of_column(used, &value);
      });
      for (const std::uint32_t f : this->forest_.features_of[used]) {
        words[f] = Packed::of_row(this->mine_.bins[f]);
      }
    }
    for (const SimpleColumn& column : rows_.simple) pack<Packed>(column, words);
    words[Packed::kOnes] = 0;
    for (const RowGroup& group : rows_.groups) {
      if (!group.is_packed) {
        add_followed(group);
      } else if (group.trees == RowGroup::kTrees) {
        add_group<Packed, RowGroup::kTrees>(group, nodes, words);
      } else {
        RowGroup one = group;
        for (std::uint32_t i = 0; i < group.trees;
             ++i, ++one.first, one.nodes += 1U << group.depth) {
          add_group<Packed, 1>(one, nodes, words);
        }
      }
    }
  }

  template <class Packed, class Word = typename Packed::Word>
  void pack(const SimpleColumn& column, Word* words) {
    const Column& from = this->columns_[column.column];
    const float value = *(reinterpret_cast<const float*>(from.first) + this->first_ * from.stride);
    const float* const table = rows_.searches.data() + column.table;
    unsigned place = 1;
    for (unsigned level = 0; level < column.levels; ++level) {
      place += place + (value >= table[place] ? 1U : 0U);
    }
    const std::uint32_t bin = place - (1U << column.levels);
    const bool is_number = value == value;
    set<Packed>(words, column.left, is_number ? bin : 0);
    set<Packed>(words, column.right, is_number ? bin : kMissingBin);
  }

  template <class Packed, class Word = typename Packed::Word>
  void set(Word* words, std::uint32_t feature, std::uint32_t bin) {
    this->mine_.bins[feature] = bin;
    words[feature] = Packed::of_row(bin);
  }

  template <class Packed, int kTrees, class Word = typename Packed::Word>
  void add_group(const RowGroup& group, const Word* nodes, const Word* words) {
    using Add = void (RowCall::*)(const RowGroup&, const Word*, const Word*);
    static constexpr Add kOfDepth[] = {
        &RowCall::add_trees<1, kTrees, Packed>, &RowCall::add_trees<2, kTrees, Packed>,
        &RowCall::add_trees<3, kTrees, Packed>, &RowCall::add_trees<4, kTrees, Packed>,
        &RowCall::add_trees<5, kTrees, Packed>, &RowCall::add_trees<6, kTrees, Packed>,
        &RowCall::add_trees<7, kTrees, Packed>, &RowCall::add_trees<8, kTrees, Packed>};
    (this->*kOfDepth[group.depth - 1])(group, nodes, words);
  }

  template <int kDepth, int kTrees, class Packed, class Word = typename Packed::Word>
  void add_trees(const RowGroup& group, const Word* nodes, const Word* words) {
    constexpr std::size_t kNodes = std::size_t{1} << kDepth;
    const Word* const roots = nodes + group.nodes;
    std::size_t at[kTrees];
#pragma GCC unroll 8
    for (int i = 0; i < kTrees; ++i) at[i] = 1;
#pragma GCC unroll 8
    for (int level = 0; level < kDepth; ++level) {
#pragma GCC unroll 8
      for (int i = 0; i < kTrees; ++i) {
        const Word node = roots[static_cast<std::size_t>(i) * kNodes + at[i]];
        at[i] += at[i] + (node < words[node & Packed::kOnes] ? 1U : 0U);
      }
    }
    const std::size_t first_leaf = group.nodes - kNodes;
    if (this->ensemble_.leaf_size == 1) {
      const Sum* const leaves = choose<Sum>(rows_.float_leaves, rows_.double_leaves) + first_leaf;
      if (this->ensemble_.outputs == 1) {
        Sum sum = *this->sums(0);
#pragma GCC unroll 8
        for (int i = 0; i < kTrees; ++i)
          sum += leaves[static_cast<std::size_t>(i) * kNodes + at[i]];
        *this->sums(0) = sum;
        return;
      }
      for (std::size_t i = 0; i < kTrees; ++i) {
        *this->sums(this->ensemble_.trees[group.first + i].output) += leaves[i * kNodes + at[i]];
      }
      return;
    }
    for (std::size_t i = 0; i < kTrees; ++i) {
      add_leaf(this->ensemble_.trees[group.first + i].output,
               rows_.leaves[first_leaf + i * kNodes + at[i]]);
    }
  }

  void add_followed(const RowGroup& group) {
    const Followed& followed = this->forest_.followed;
    const FollowedNode* const nodes = followed.nodes.data();
    const std::uint32_t* const bins = this->mine_.bins.data();
    std::uint32_t at[RowGroup::kTrees];
    for (std::uint32_t i = 0; i < group.trees; ++i) {
      at[i] = followed.trees[followed.of_tree[group.first + i]].root;
    }
    if (group.trees == RowGroup::kTrees) {
      follow<RowGroup::kTrees, Lanes::kTrees>(nodes, group.depth, bins, 1, at);
    } else {
      for (std::uint32_t i = 0; i < group.trees; ++i) {
        follow<1, Lanes::kTrees>(nodes, group.depth, bins, 1, at + i);
      }
    }
    for (std::uint32_t i = 0; i < group.trees; ++i) {
      add_leaf(this->ensemble_.trees[group.first + i].output, nodes[at[i]].right);
    }
  }

  void add_leaf(std::uint32_t output, std::uint32_t leaf) {
    const Sum* const values = this->leaf_values() + leaf;
    for (std::size_t k = 0; k < this->ensemble_.leaf_size; ++k)
      *this->sums(output + k) += values[k];
  }

  const RowTables& rows_;
};

}  // namespace tensoa::forest
