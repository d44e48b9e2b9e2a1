// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "compile/block_tables.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace tensoa::forest {
namespace {

constexpr std::uint32_t kMostLeaves = 1U << kMostPlanes;

/// Operations on a block, counted in the prototypes: a full tree takes a load and three operations a node,
/// a ragged one two loads, two operations and two stores, and the leaves of each plane.
BlockTree::Form form_of(const TreeShape& shape) {
  if (shape.leaves > kMostLeaves) return BlockTree::Form::kFollowed;
  if (shape.depth > kDeepestFull) return BlockTree::Form::kRagged;
  const auto planes = static_cast<std::uint32_t>(std::bit_width(shape.leaves - 1));
  return 4U << shape.depth <= shape.leaves * (6 + planes) ? BlockTree::Form::kFull
                                                          : BlockTree::Form::kRagged;
}

/// The numbers of distinct tests, and the pages that they are on.
class Tests {
 public:
  Tests(const Questions& questions, BlockTables& tables)
      : questions_(questions), tables_(tables), features_of_(questions.columns.size()) {
    for (const Feature& feature : questions.features) {
      if (!feature.is_set()) {
        features_of_[feature.column].push_back(static_cast<std::uint32_t>(tests_.size()));
      }
      const std::size_t bins = feature.is_set() ? 1 : questions.columns[feature.column].size();
      tests_.emplace_back(bins + 2, kUnused);  // from 1 on; the last is kMissingBin
    }
  }

  void use(const Question& question) { place(question) = kUsed; }

  std::uint32_t of(const Question& question) { return place(question); }

  /// Numbers all that are used.
  void number() {
    for (std::uint32_t column = 0; column < questions_.columns.size(); ++column) {
      const std::size_t size = questions_.columns[column].size();
      std::vector<Page>& pages = tables_.pages.emplace_back();
      for (std::size_t first = 0; first == 0 || first < size; first += kPage) {
        Page page;
        page.first = static_cast<std::uint32_t>(first);
        page.size = static_cast<std::uint32_t>(std::min<std::size_t>(size - first, kPage));
        page.levels = std::max(1, static_cast<int>(std::bit_width(page.size)));
        for (const std::uint32_t feature : features_of_[column]) {
          add(page, feature, first + page.size == size);
        }
        if (page.questioned.empty()) continue;
        add_search(questions_.columns[column], page);
        pages.push_back(std::move(page));
      }
    }
    for (std::uint32_t f = 0; f < tests_.size(); ++f) {
      if (!questions_.features[f].is_set()) continue;
      for (std::uint32_t& test : tests_[f]) {
        if (test != kUsed) continue;
        tables_.set_tests.push_back({f, tables_.tests});
        test = tables_.tests++;
      }
    }
  }

 private:
  static constexpr std::uint32_t kUnused = 0;
  static constexpr std::uint32_t kUsed = 0xFFFF'FFFF;

  std::uint32_t& place(const Question& question) {
    std::vector<std::uint32_t>& all = tests_[question.feature];
    return question.bin == kMissingBin ? all.back() : all[question.bin];
  }

  void add(Page& page, std::uint32_t feature, bool is_last) {
    Page::Questioned all{questions_.features[feature].missing, tables_.tests, {}};
    const auto take = [&](std::uint32_t& test, std::uint32_t bin) {
      if (test != kUsed) return;
      all.bins.push_back(static_cast<std::uint8_t>(bin));
      test = tables_.tests++;
    };
    for (std::uint32_t bin = 1; bin <= page.size; ++bin)
      take(tests_[feature][page.first + bin], bin);
    if (is_last) take(tests_[feature].back(), kMissingByte);
    if (!all.bins.empty()) page.questioned.push_back(std::move(all));
  }

  /// The thresholds level by level: of level l, number k parts what the levels before have left.
  void add_search(const UsedColumn& column, Page& page) {
    const auto* const thresholds = std::get_if<std::vector<float>>(&column.thresholds);
    if (thresholds == nullptr) return;
    page.table = static_cast<std::uint32_t>(tables_.searches.size());
    tables_.searches.resize(page.table + 256, std::numeric_limits<float>::quiet_NaN());
    for (int level = 0; level < page.levels; ++level) {
      for (std::uint32_t k = 0; k < 1U << level; ++k) {
        const std::uint32_t sorted = ((2 * k + 1) << (page.levels - 1 - level)) - 1;
        if (sorted >= page.size) continue;
        tables_.searches[page.table + (1U << level) + k] = (*thresholds)[page.first + sorted];
      }
    }
  }

  const Questions& questions_;
  BlockTables& tables_;
  std::vector<std::vector<std::uint32_t>> tests_;        ///< of each feature, by bin
  std::vector<std::vector<std::uint32_t>> features_of_;  ///< each column, but sets
};

/// Writes one tree into the tables.
class TreeBuilder {
 public:
  TreeBuilder(const Ensemble& ensemble, const Questions& questions, Tests& tests,
              BlockTables& tables)
      : ensemble_(ensemble), questions_(questions), tests_(tests), tables_(tables) {}

  void add(const Tree& tree, const TreeShape& shape, std::uint32_t followed) {
    tree_ = &tree;
    BlockTree& block = tables_.trees.emplace_back();
    block.form = form_of(shape);
    block.output = tree.output;
    if (block.form == BlockTree::Form::kFollowed) {
      block.first = followed;
      return;
    }
    leaf_values_.clear();
    if (block.form == BlockTree::Form::kFull) {
      add_full(block, std::max(1U, shape.depth));
    } else {
      add_ragged(block, shape.leaves);
    }
    add_leaves(block);
  }

 private:
  const Node& node(std::uint32_t i) const { return ensemble_.nodes[tree_->first_node + i]; }

  std::uint32_t test(std::uint32_t i) const {
    return tests_.of(questions_.of_node[tree_->first_node + i]);
  }

  void add_full(BlockTree& block, std::uint32_t depth) {
    block.planes = static_cast<std::uint8_t>(depth);
    block.first = static_cast<std::uint32_t>(tables_.nodes.size());
    tables_.nodes.resize(block.first + (1U << depth));
    leaf_values_.resize(1U << depth);
    fill(block.first, 0, 1, depth, depth);
  }

  /// Below a leaf that is not on the last level, whatever is asked leads to that leaf.
  void fill(std::uint32_t first, std::uint32_t i, std::uint32_t place, std::uint32_t levels,
            std::uint32_t depth) {
    if (levels == 0) {
      leaf_values_[place - (1U << depth)] = node(i).left;
      return;
    }
    const bool is_leaf = node(i).is_leaf();
    tables_.nodes[first + place] = is_leaf ? 0 : test(i);
    fill(first, is_leaf ? i : node(i).left, 2 * place, levels - 1, depth);
    fill(first, is_leaf ? i : node(i).right, 2 * place + 1, levels - 1, depth);
  }

  /// A node of a ragged tree, and the numbers of the leaves below it.
  struct Below {
    std::uint16_t slot;
    std::uint32_t first_leaf;
    std::uint32_t end_leaf = 0;
    std::uint32_t left = 0;
    std::uint32_t right = 0;
  };

  void add_ragged(BlockTree& block, std::uint32_t leaves) {
    block.planes = static_cast<std::uint8_t>(std::bit_width(leaves - 1));
    block.first = static_cast<std::uint32_t>(tables_.reach_nodes.size());
    block.slots = static_cast<std::uint32_t>(tables_.slots_of_planes.size());
    below_.clear();
    descend(block, 0, 0);
    block.size = static_cast<std::uint32_t>(tables_.reach_nodes.size()) - block.first;
    tables_.most_slots = std::max(tables_.most_slots, 2 * block.size + 1);
    for (std::uint32_t p = 0; p < block.planes; ++p) {
      const std::uint32_t bit = 1U << (block.planes - 1U - p);
      for (std::uint32_t first = bit; first < leaves; first += 2 * bit) {
        cover(0, first, std::min(leaves, first + bit));
      }
      block.ends.ends[p] = static_cast<std::uint16_t>(tables_.slots_of_planes.size() - block.slots);
    }
  }

  std::uint32_t descend(const BlockTree& block, std::uint32_t i, std::uint16_t slot) {
    const auto place = static_cast<std::uint32_t>(below_.size());
    below_.push_back({slot, static_cast<std::uint32_t>(leaf_values_.size())});
    if (node(i).is_leaf()) {
      leaf_values_.push_back(node(i).left);
    } else {
      const auto number = static_cast<std::uint32_t>(tables_.reach_nodes.size()) - block.first;
      tables_.reach_nodes.push_back({slot, 0, test(i)});
      const std::uint32_t left =
          descend(block, node(i).left, static_cast<std::uint16_t>(2 * number + 1));
      const std::uint32_t right =
          descend(block, node(i).right, static_cast<std::uint16_t>(2 * number + 2));
      below_[place].left = left;
      below_[place].right = right;
    }
    below_[place].end_leaf = static_cast<std::uint32_t>(leaf_values_.size());
    return place;
  }

  /// The fewest nodes whose leaves are those from `first` to before `end`.
  void cover(std::uint32_t place, std::uint32_t first, std::uint32_t end) {
    const Below& here = below_[place];
    if (here.end_leaf <= first || here.first_leaf >= end) return;
    if (here.first_leaf >= first && here.end_leaf <= end) {
      tables_.slots_of_planes.push_back(here.slot);
      return;
    }
    cover(here.left, first, end);
    cover(here.right, first, end);
  }

  void add_leaves(BlockTree& block) {
    constexpr std::size_t kShortest = 32;  // what kernels load
    const std::size_t stride = std::max(kShortest, std::size_t{1} << block.planes);
    block.leaf_stride = static_cast<std::uint32_t>(stride);
    const auto fill_table = [&](auto& table) {
      block.leaves = static_cast<std::uint32_t>(table.size());
      table.resize(table.size() + stride * ensemble_.leaf_size);
      for (std::size_t k = 0; k < ensemble_.leaf_size; ++k) {
        for (std::size_t leaf = 0; leaf < leaf_values_.size(); ++leaf) {
          auto& value = table[block.leaves + k * stride + leaf];
          value = static_cast<std::remove_reference_t<decltype(value)>>(
              ensemble_.leaf_values[leaf_values_[leaf] + k]);
        }
      }
    };
    if (ensemble_.sums == Precision::kFloat32) {
      fill_table(tables_.float_leaves);
    } else {
      fill_table(tables_.double_leaves);
    }
  }

  const Ensemble& ensemble_;
  const Questions& questions_;
  Tests& tests_;
  BlockTables& tables_;
  const Tree* tree_ = nullptr;
  std::vector<std::uint32_t> leaf_values_;  ///< of each leaf its first value in the ensemble
  std::vector<Below> below_;
};

}  // namespace

BlockTables::BlockTables(const Ensemble& ensemble, const Questions& questions,
                         const std::vector<TreeShape>& shapes, const Followed& followed) {
  Tests all(questions, *this);
  for (std::size_t t = 0; t < ensemble.trees.size(); ++t) {
    if (form_of(shapes[t]) == BlockTree::Form::kFollowed) continue;
    const Tree& tree = ensemble.trees[t];
    for (std::uint32_t i = tree.first_node; i < tree.first_node + tree.nodes; ++i) {
      if (!ensemble.nodes[i].is_leaf()) all.use(questions.of_node[i]);
    }
  }
  all.number();
  TreeBuilder builder(ensemble, questions, all, *this);
  for (std::size_t t = 0; t < ensemble.trees.size(); ++t) {
    builder.add(ensemble.trees[t], shapes[t], followed.of_tree[t]);
  }
}

}  // namespace tensoa::forest
