// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "row_tables.hpp"

#include <algorithm>

#include "thresholds.hpp"

namespace tensoa::forest {
namespace {

template <class Word>
bool fits(const Questions& questions) {
  using Packed = PackedNode<Word>;
  const auto has_few = [](const UsedColumn& column) { return column.size() <= Packed::kMostBins; };
  return questions.features.size() + 1 < Packed::kOnes &&
         std::ranges::all_of(questions.columns, has_few);
}

template <class Word>
class Packer {
 public:
  Packer(const Ensemble& ensemble, const Questions& questions, AlignedVector<Word>& nodes,
         std::vector<std::uint32_t>& leaves)
      : ensemble_(ensemble), questions_(questions), nodes_(nodes), leaves_(leaves) {}

  void add(const Tree& tree, std::uint32_t depth) {
    tree_ = &tree;
    depth_ = depth;
    first_ = nodes_.size();
    nodes_.resize(first_ + (std::size_t{1} << depth), PackedNode<Word>::kAny);
    leaves_.resize(nodes_.size());
    fill(0, 1, depth);
  }

 private:
  void fill(std::uint32_t i, std::size_t place, std::uint32_t levels) {
    const Node& node = ensemble_.nodes[tree_->first_node + i];
    if (levels == 0) {
      leaves_[first_ + place - (std::size_t{1} << depth_)] = node.left;
      return;
    }
    if (!node.is_leaf()) {
      const Question& question = questions_.of_node[tree_->first_node + i];
      nodes_[first_ + place] = PackedNode<Word>::of(question.bin, question.feature);
    }
    fill(node.is_leaf() ? i : node.left, 2 * place, levels - 1);
    fill(node.is_leaf() ? i : node.right, 2 * place + 1, levels - 1);
  }

  const Ensemble& ensemble_;
  const Questions& questions_;
  AlignedVector<Word>& nodes_;
  std::vector<std::uint32_t>& leaves_;
  const Tree* tree_ = nullptr;
  std::uint32_t depth_ = 0;
  std::size_t first_ = 0;
};

/// Where a search of a block's page finds all bins of a column: its thresholds are float32, on one page, and missing values
/// are not numbers.
bool is_simple(const Questions& questions, const BlockTables& blocks, std::uint32_t used) {
  const UsedColumn& column = questions.columns[used];
  const std::vector<Page>& pages = blocks.pages[used];
  if (column.dtype != DType::kF32 || pages.size() != 1 || pages[0].size != column.size())
    return false;
  return std::ranges::none_of(questions.features, [&](const Feature& feature) {
    return feature.column == used && (feature.is_set() || zero_is_missing(feature.missing));
  });
}

}  // namespace

bool can_be_packed(const Questions& questions) { return fits<std::uint32_t>(questions); }

RowTables::RowTables(const Ensemble& ensemble, const Questions& questions,
                     const std::vector<TreeShape>& shapes, const BlockTables& blocks,
                     bool wide_rows)
    : is_narrow(!wide_rows && fits<std::uint16_t>(questions)) {
  const auto trees = static_cast<std::uint32_t>(ensemble.trees.size());
  const bool can_pack = can_be_packed(questions);
  Packer narrow_packer(ensemble, questions, narrow, leaves);
  Packer wide_packer(ensemble, questions, wide, leaves);
  for (std::uint32_t t = 0; t < trees;) {
    RowGroup group{.is_packed = can_pack && shapes[t].depth <= kDeepestFull, .first = t};
    group.nodes = static_cast<std::uint32_t>(leaves.size());
    const auto belongs = [&](std::uint32_t tree) {
      return group.is_packed == (can_pack && shapes[tree].depth <= kDeepestFull);
    };
    for (; t < trees && group.trees < RowGroup::kTrees && belongs(t); ++t) {
      group.depth = std::max(group.depth, shapes[t].depth);
      ++group.trees;
    }
    for (std::uint32_t i = group.first; i < t && group.is_packed; ++i) {
      if (is_narrow) {
        narrow_packer.add(ensemble.trees[i], group.depth);
      } else {
        wide_packer.add(ensemble.trees[i], group.depth);
      }
    }
    groups.push_back(group);
  }
  add_columns(questions, blocks, wide_rows);
  if (ensemble.leaf_size != 1) return;
  for (const std::uint32_t leaf : leaves) {
    if (ensemble.sums == Precision::kFloat32) {
      float_leaves.push_back(static_cast<float>(ensemble.leaf_values[leaf]));
    } else {
      double_leaves.push_back(ensemble.leaf_values[leaf]);
    }
  }
}

void RowTables::add_columns(const Questions& questions, const BlockTables& blocks, bool wide_rows) {
  // On the CPU trees that are followed need the bins of all columns, on a GPU they take the words.
  const bool may_be_simple =
      can_be_packed(questions) && (wide_rows || std::ranges::all_of(groups, &RowGroup::is_packed));
  const auto unused = static_cast<std::uint32_t>(questions.features.size());
  for (std::uint32_t used = 0; used < questions.columns.size(); ++used) {
    if (!may_be_simple || !is_simple(questions, blocks, used)) {
      general.push_back(used);
      continue;
    }
    const Page& page = blocks.pages[used][0];
    SimpleColumn column{questions.columns[used].column, static_cast<std::uint32_t>(page.levels),
                        page.table, unused, unused};
    for (std::uint32_t f = 0; f < questions.features.size(); ++f) {
      if (questions.features[f].column != used) continue;
      (missing_goes_right(questions.features[f].missing) ? column.right : column.left) = f;
    }
    simple.push_back(column);
  }
}

}  // namespace tensoa::forest
