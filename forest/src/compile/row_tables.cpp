// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "compile/row_tables.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <span>
#include <variant>

#include "compile/thresholds.hpp"

namespace tensoa::forest {
namespace {

template <class Packed>
bool fits(const Questions& questions) {
  const auto has_few = [](const UsedColumn& column) { return column.size() <= Packed::kMostBins; };
  return questions.features.size() + 1 < Packed::kOnes &&
         std::ranges::all_of(questions.columns, has_few);
}

template <class Packed>
class Packer {
  using Nodes = AlignedVector<typename Packed::Word>;

 public:
  Packer(const Ensemble& ensemble, const Questions& questions, Nodes& nodes,
         std::vector<std::uint32_t>& leaves)
      : ensemble_(ensemble), questions_(questions), nodes_(nodes), leaves_(leaves) {}

  void add(const Tree& tree, std::uint32_t depth) {
    tree_ = &tree;
    depth_ = depth;
    first_ = nodes_.size();
    nodes_.resize(first_ + (std::size_t{1} << depth), Packed::kAny);
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
      nodes_[first_ + place] = Packed::of(question.bin, question.feature);
    }
    fill(node.is_leaf() ? i : node.left, 2 * place, levels - 1);
    fill(node.is_leaf() ? i : node.right, 2 * place + 1, levels - 1);
  }

  const Ensemble& ensemble_;
  const Questions& questions_;
  Nodes& nodes_;
  std::vector<std::uint32_t>& leaves_;
  const Tree* tree_ = nullptr;
  std::uint32_t depth_ = 0;
  std::size_t first_ = 0;
};

std::vector<bool> simple_columns(const Questions& questions) {
  std::vector<bool> are_simple;
  for (const UsedColumn& column : questions.columns)
    are_simple.push_back(column.dtype == DType::kF32);
  for (const Feature& feature : questions.features) {
    if (feature.is_set() || zero_is_missing(feature.missing)) are_simple[feature.column] = false;
  }
  return are_simple;
}

/// Appends the thresholds below `node` of a search, level by level; NaN, which no value reaches, fills the last one up.
std::size_t add_search(std::span<const float> thresholds, std::size_t next, float* table,
                       std::size_t node, std::size_t end) {
  if (node >= end) return next;
  next = add_search(thresholds, next, table, 2 * node, end);
  table[node] =
      next < thresholds.size() ? thresholds[next] : std::numeric_limits<float>::quiet_NaN();
  return add_search(thresholds, next + 1, table, 2 * node + 1, end);
}

}  // namespace

bool can_be_packed(const Questions& questions) { return fits<WideNode>(questions); }

RowTables::RowTables(const Ensemble& ensemble, const Questions& questions,
                     const std::vector<TreeShape>& shapes, const Followed& followed, bool for_gpu)
    : kind(for_gpu                       ? NodeKind::kWide
           : fits<NarrowNode>(questions) ? NodeKind::kNarrow
           : fits<SplitNode>(questions)  ? NodeKind::kSplit
                                         : NodeKind::kWide) {
  const auto trees = static_cast<std::uint32_t>(ensemble.trees.size());
  Packer<NarrowNode> narrow_packer(ensemble, questions, narrow, leaves);
  Packer<SplitNode> split_packer(ensemble, questions, split, leaves);
  Packer<WideNode> wide_packer(ensemble, questions, wide, leaves);
  for (std::uint32_t t = 0; t < trees; t += RowGroup::kTrees) {
    RowGroup group{.first = t, .trees = std::min(RowGroup::kTrees, trees - t)};
    group.nodes = static_cast<std::uint32_t>(leaves.size());
    group.is_packed = followed.of_tree[t] == Followed::kNotFollowed;
    for (std::uint32_t i = t; i < t + group.trees; ++i)
      group.depth = std::max(group.depth, shapes[i].depth);
    for (std::uint32_t i = t; i < t + group.trees && group.is_packed; ++i) {
      if (kind == NodeKind::kNarrow) {
        narrow_packer.add(ensemble.trees[i], group.depth);
      } else if (kind == NodeKind::kSplit) {
        split_packer.add(ensemble.trees[i], group.depth);
      } else {
        wide_packer.add(ensemble.trees[i], group.depth);
      }
    }
    groups.push_back(group);
  }
  add_columns(questions, for_gpu);
  if (ensemble.leaf_size != 1) return;
  for (const std::uint32_t leaf : leaves) {
    if (ensemble.sums == Precision::kFloat32) {
      float_leaves.push_back(static_cast<float>(ensemble.leaf_values[leaf]));
    } else {
      double_leaves.push_back(ensemble.leaf_values[leaf]);
    }
  }
}

void RowTables::add_columns(const Questions& questions, bool for_gpu) {
  std::vector<bool> are_simple = simple_columns(questions);
  // A GPU takes words of packed nodes only, and searches of one size.
  for (std::size_t used = 0; used < are_simple.size() && for_gpu; ++used) {
    are_simple[used] =
        are_simple[used] && can_be_packed(questions) && questions.columns[used].size() < kGpuSearch;
  }
  const auto unused = static_cast<std::uint32_t>(questions.features.size());
  std::vector<std::size_t> places(questions.columns.size());
  for (std::uint32_t used = 0; used < questions.columns.size(); ++used) {
    if (!are_simple[used]) {
      general.push_back(used);
      continue;
    }
    const auto& thresholds = std::get<std::vector<float>>(questions.columns[used].thresholds);
    const auto levels = static_cast<std::uint32_t>(std::bit_width(thresholds.size()));
    const std::size_t table = searches.size();
    searches.resize(table + (std::size_t{1} << levels));
    add_search(thresholds, 0, searches.data() + table, 1, std::size_t{1} << levels);
    places[used] = simple.size();
    simple.push_back({questions.columns[used].column, levels, static_cast<std::uint32_t>(table),
                      unused, unused});
  }
  for (std::uint32_t f = 0; f < unused; ++f) {
    const Feature& feature = questions.features[f];
    if (!are_simple[feature.column]) continue;
    SimpleColumn& column = simple[places[feature.column]];
    (missing_goes_right(feature.missing) ? column.right : column.left) = f;
  }
}

}  // namespace tensoa::forest
