// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/forest/forest.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "aligned.hpp"
#include "block_kernels.hpp"
#include "block_tables.hpp"
#include "columns.hpp"
#include "followed.hpp"
#include "links.hpp"
#include "row_tables.hpp"
#include "tensoa/core/error.hpp"
#include "tree_shape.hpp"

namespace tensoa::forest {
namespace {

/// Below this many rows they are evaluated one by one. Measured: `tensoa bench forest`.
constexpr std::int64_t kFewRows = 16;

std::vector<TreeShape> shapes_of(const Ensemble& ensemble) {
  std::vector<TreeShape> shapes;
  for (const Tree& tree : ensemble.trees) shapes.push_back(shape_of(ensemble, tree));
  return shapes;
}

/// What a call writes on its way. A thread runs one call at a time, and keeps it for the next one, of whatever
/// forest. Only grows.
struct Workspace {
  AlignedVector<std::uint64_t> tests;
  AlignedVector<std::uint64_t> slots;
  AlignedVector<std::byte> sums;
  AlignedVector<std::uint32_t> bins;
  AlignedVector<std::uint32_t> words;

  template <class T>
  static T* at_least(AlignedVector<T>& memory, std::size_t size) {
    if (memory.size() < size) memory.resize(size);
    return memory.data();
  }
};

Workspace& workspace() {
  thread_local Workspace mine;
  return mine;
}

}  // namespace

struct Forest::Compiled {
  Compiled(const Ensemble& of, std::span<const DType> dtypes)
      : columns(of.columns),
        outputs(of.outputs),
        features(of.features),
        sums(of.sums),
        trees(of.trees),
        leaf_size(of.leaf_size),
        leaf_values(of.leaf_values),
        float_leaf_values(of.leaf_values.begin(), of.leaf_values.end()),
        sets(of.sets),
        set_words(of.set_words),
        base(of.base),
        base_is_last(of.base_is_last),
        factor(of.factor),
        divisor(of.divisor),
        link(of.link),
        link_scale(of.link_scale),
        shapes(shapes_of(of)),
        questions(of, dtypes),
        followed(of, questions, shapes, !can_be_packed(questions)),
        blocks(of, questions, shapes, followed),
        rows(of, questions, shapes) {
    features_of.resize(questions.columns.size());
    for (std::uint32_t f = 0; f < questions.features.size(); ++f) {
      features_of[questions.features[f].column].push_back(f);
    }
    follows_in_blocks = std::ranges::any_of(
        blocks.trees, [](const BlockTree& tree) { return tree.form == BlockTree::Form::kFollowed; });
  }

  std::size_t columns;
  std::size_t outputs;
  Precision features;
  Precision sums;
  std::vector<Tree> trees;
  std::size_t leaf_size;
  std::vector<double> leaf_values;
  std::vector<float> float_leaf_values;
  std::vector<CategorySet> sets;
  std::vector<std::uint64_t> set_words;
  std::vector<double> base;
  bool base_is_last;
  double factor;
  double divisor;
  Link link;
  double link_scale;

  std::vector<TreeShape> shapes;
  Questions questions;
  Followed followed;
  BlockTables blocks;
  RowTables rows;
  std::vector<std::vector<std::uint32_t>> features_of;  ///< of each used column
  bool follows_in_blocks = false;
};

namespace {

template <class Sum>
const Sum* choose(const auto& floats, const auto& doubles) {
  if constexpr (std::is_same_v<Sum, float>) {
    return floats.data();
  } else {
    return doubles.data();
  }
}

}  // namespace

/// One call, with sums of one precision.
template <class Compiled, class Sum>
class Call {
 public:
  Call(const Compiled& forest, std::span<const Column> columns, std::span<const AnswerColumn> answers)
      : forest_(forest),
        columns_(columns),
        answers_(answers),
        leaf_values_(choose<Sum>(forest.float_leaf_values, forest.leaf_values)) {}

  void blocks(std::int64_t rows) {
    const auto words_wanted = static_cast<int>(std::min<std::int64_t>((rows + 63) / 64, kMostWords));
    const BlockKernels& kernels = block_kernels_for(words_wanted);
    const int most = 64 * kernels.words;
    prepare(most);
    for (first_ = 0; first_ < rows; first_ += most) {
      n_ = static_cast<int>(std::min<std::int64_t>(rows - first_, most));
      ask(kernels);
      begin_sums();
      for (std::size_t t = 0; t < forest_.trees.size(); ++t) add_tree(kernels, t);
      end_sums();
    }
  }

  void single_rows(std::int64_t rows) {
    prepare(1);
    for (first_ = 0; first_ < rows; ++first_) {
      n_ = 1;
      begin_sums();
      bins_of_row();
      if (forest_.rows.is_narrow) {
        pack(narrow_words_);
        groups(forest_.rows.narrow.data(), narrow_words_.data());
      } else {
        std::uint32_t* const words = Workspace::at_least(mine_.words, PackedNode<std::uint32_t>::kOnes + std::size_t{1});
        if (can_be_packed(forest_.questions)) pack_wide(words);
        groups(forest_.rows.wide.data(), words);
      }
      end_sums();
    }
  }

 private:
  const Feature& feature(std::uint32_t f) const { return forest_.questions.features[f]; }

  template <class Value>
  double see(Value value) const {
    return seen(value, forest_.features);
  }

  const Column& caller_column(std::size_t used) const {
    return columns_[forest_.questions.columns[used].column];
  }

  Sum* sums(std::size_t output) const {
    return reinterpret_cast<Sum*>(mine_.sums.data()) + output * stride_;
  }

  void prepare(int most_rows) {
    stride_ = static_cast<std::size_t>(most_rows);
    Workspace::at_least(mine_.sums, forest_.outputs * stride_ * sizeof(Sum));
    const std::size_t words = (stride_ + 63) / 64;
    Workspace::at_least(mine_.tests, forest_.blocks.tests * words);
    std::fill_n(mine_.tests.begin(), words, 0);  // the test that is never true
    Workspace::at_least(mine_.slots, forest_.blocks.most_slots * words);
    Workspace::at_least(mine_.bins, forest_.questions.features.size() * stride_);
  }

  void begin_sums() {
    for (std::size_t k = 0; k < forest_.outputs; ++k) {
      std::fill_n(sums(k), stride_, forest_.base_is_last ? Sum{0} : static_cast<Sum>(forest_.base[k]));
    }
  }

  void end_sums() {
    for (std::size_t k = 0; k < forest_.outputs; ++k) {
      Sum* const all = sums(k);
      const auto each = [&](auto change) { std::for_each(all, all + n_, change); };
      if (forest_.base_is_last) each([add = static_cast<Sum>(forest_.base[k])](Sum& sum) { sum += add; });
      if (forest_.factor != 1) each([by = static_cast<Sum>(forest_.factor)](Sum& sum) { sum *= by; });
      if (forest_.divisor != 1) each([by = static_cast<Sum>(forest_.divisor)](Sum& sum) { sum /= by; });
    }
    apply(forest_.link, forest_.link_scale, sums(0), forest_.outputs, stride_, n_);
    for (std::size_t k = 0; k < forest_.outputs; ++k) {
      const AnswerColumn& answer = answers_[k];
      const auto write = [&]<class Element>(Element* first) {
        for (int i = 0; i < n_; ++i) {
          first[(first_ + i) * answer.stride] = static_cast<Element>(sums(k)[i]);
        }
      };
      if (answer.dtype == DType::kF32) {
        write(reinterpret_cast<float*>(answer.first));
      } else {
        write(reinterpret_cast<double*>(answer.first));
      }
    }
  }

  // ---- blocks

  /// Answers all questions about the rows of a block.
  void ask(const BlockKernels& kernels) {
    for (std::size_t used = 0; used < forest_.questions.columns.size(); ++used) {
      switch (domain_of(forest_.questions.columns[used].dtype)) {
        case Domain::kFloat:
          ask_column<float>(kernels, used);
          break;
        case Domain::kDouble:
          ask_column<double>(kernels, used);
          break;
        case Domain::kInt64:
          ask_column<std::int64_t>(kernels, used);
          break;
      }
    }
    for (const SetTest& test : forest_.blocks.set_tests) ask_set(kernels, test);
  }

  template <class Value>
  void ask_column(const BlockKernels& kernels, std::size_t used) {
    alignas(64) Value staged[kMostRows];
    const Column& column = caller_column(used);
    const Value* values = staged;
    if constexpr (std::is_same_v<Value, float>) {
      // Kernels read 16 values at a time.
      if (column.stride == 1 && column.dtype == DType::kF32 && n_ % 16 == 0) {
        values = reinterpret_cast<const float*>(column.first) + first_;
      }
    }
    if (values == staged) {
      read_values(column, first_, n_, staged);
      std::fill(staged + n_, staged + (n_ + 15) / 16 * 16, Value{0});
    }
    for (const Page& page : forest_.blocks.pages[used]) {
      for (const bool zero : {false, true}) ask_page(kernels, used, page, values, zero);
    }
    if (forest_.follows_in_blocks) bins_of_column(used, values);
  }

  template <class Value>
  void ask_page(const BlockKernels& kernels, std::size_t used, const Page& page, const Value* values,
                bool zero) {
    bool has_bins = false;
    for (const Page::Questioned& questioned : page.questioned) {
      if (zero_is_missing(questioned.missing) != zero) continue;
      if (!has_bins) {
        if constexpr (std::is_same_v<Value, float>) {
          kernels.quantise(values, n_, forest_.blocks.searches.data() + page.table, page.levels, zero,
                           left_.data(), right_.data());
        } else {
          const auto& all = std::get<std::vector<Value>>(forest_.questions.columns[used].thresholds);
          const std::span<const Value> thresholds(all.data() + page.first, page.size);
          for (int i = 0; i < n_; ++i) {
            set_bin(i, is_missing(see(values[i]), zero ? Missing::kZeroLeft : Missing::kNanLeft),
                    [&] { return bin_of(values[i], thresholds); });
          }
        }
        has_bins = true;
      }
      const auto& bins = missing_goes_right(questioned.missing) ? right_ : left_;
      kernels.compare(bins.data(), questioned.bins.data(), questioned.bins.size(),
                      mine_.tests.data() + std::size_t{questioned.first_test} * words(kernels));
    }
  }

  template <class Bin>
  void set_bin(int row, bool is_missing, const Bin& bin) {
    const auto byte = is_missing ? std::uint8_t{0} : static_cast<std::uint8_t>(bin());
    left_[static_cast<std::size_t>(row)] = byte;
    right_[static_cast<std::size_t>(row)] = is_missing ? kMissingByte : byte;
  }

  void ask_set(const BlockKernels& kernels, const SetTest& test) {
    const Feature& set = feature(test.feature);
    std::array<double, kMostRows> values;
    read_values(caller_column(set.column), first_, n_, values.data());
    for (int i = 0; i < n_; ++i) {
      const double value = see(values[static_cast<std::size_t>(i)]);
      set_bin(i, is_missing(value, set.missing), [&] { return bin_in_set(set, value); });
    }
    constexpr std::uint8_t kIsIn = 1;
    kernels.compare((missing_goes_right(set.missing) ? right_ : left_).data(), &kIsIn, 1,
                    mine_.tests.data() + std::size_t{test.test} * words(kernels));
  }

  std::uint32_t bin_in_set(const Feature& set, double value) const {
    const CategorySet& categories = forest_.sets[static_cast<std::size_t>(set.set)];
    return is_in_set(value, set.cut_first, categories, forest_.set_words) ? 1 : 0;
  }

  static std::size_t words(const BlockKernels& kernels) noexcept {
    return static_cast<std::size_t>(kernels.words);
  }

  void add_tree(const BlockKernels& kernels, std::size_t t) {
    const BlockTree& tree = forest_.blocks.trees[t];
    if (tree.form == BlockTree::Form::kFollowed) {
      add_followed(tree);
      return;
    }
    std::uint64_t* const planes = planes_.data();
    const auto place = static_cast<std::size_t>(tree.planes - 1);
    if (tree.form == BlockTree::Form::kFull) {
      kernels.select[place](mine_.tests.data(), forest_.blocks.nodes.data() + tree.first, planes);
    } else {
      kernels.reach(mine_.tests.data(), forest_.blocks.reach_nodes.data() + tree.first, tree.size,
                    forest_.blocks.slots_of_planes.data() + tree.slots, tree.ends, tree.planes,
                    mine_.slots.data(), planes);
    }
    for (std::size_t k = 0; k < forest_.leaf_size; ++k) {
      const std::size_t leaves = tree.leaves + k * tree.leaf_stride;
      if constexpr (std::is_same_v<Sum, float>) {
        kernels.add_float[place](planes, n_, forest_.blocks.float_leaves.data() + leaves,
                                 sums(tree.output + k));
      } else {
        kernels.add_double[place](planes, n_, forest_.blocks.double_leaves.data() + leaves,
                                  sums(tree.output + k));
      }
    }
  }

  void add_followed(const BlockTree& tree) {
    constexpr int kLanes = 8;
    const FollowedTree& followed = forest_.followed.trees[tree.first];
    const FollowedNode* const root = forest_.followed.nodes.data() + followed.root;
    std::uint32_t leaves[kLanes];
    for (int row = 0; row < n_; row += kLanes) {
      // Rows that are not there have bins of an earlier block.
      follow<kLanes>(root, followed.depth, mine_.bins.data() + row, stride_, leaves);
      const int end = std::min(kLanes, n_ - row);
      for (std::size_t k = 0; k < forest_.leaf_size; ++k) {
        for (int i = 0; i < end; ++i) sums(tree.output + k)[row + i] += leaf_values_[leaves[i] + k];
      }
    }
  }

  // ---- bins

  template <class Value>
  void bins_of_column(std::size_t used, const Value* values) {
    const auto& all = std::get<std::vector<Value>>(forest_.questions.columns[used].thresholds);
    for (int i = 0; i < n_; ++i) {
      const Value value = values[i];
      const std::uint32_t bin = bin_of<Value>(value, all);
      for (const std::uint32_t f : forest_.features_of[used]) {
        const Feature& asked = feature(f);
        std::uint32_t& place = mine_.bins[f * stride_ + static_cast<std::size_t>(i)];
        if (is_missing(see(value), asked.missing)) {
          place = missing_goes_right(asked.missing) ? kMissingBin : 0;
        } else {
          place = asked.is_set() ? bin_in_set(asked, see(value)) : bin;
        }
      }
    }
  }

  void bins_of_row() {
    for (std::size_t used = 0; used < forest_.questions.columns.size(); ++used) {
      const auto read = [&]<class Value>(Value value) {
        read_values(caller_column(used), first_, 1, &value);
        bins_of_column(used, &value);
      };
      switch (domain_of(forest_.questions.columns[used].dtype)) {
        case Domain::kFloat:
          read(float{});
          break;
        case Domain::kDouble:
          read(double{});
          break;
        case Domain::kInt64:
          read(std::int64_t{});
          break;
      }
    }
  }

  // ---- single rows

  template <class Words>
  void pack(Words& words) {
    for (std::size_t f = 0; f < forest_.questions.features.size(); ++f) {
      words[f] = PackedNode<std::uint16_t>::of_row(mine_.bins[f]);
    }
    words[PackedNode<std::uint16_t>::kOnes] = 0;
  }

  void pack_wide(std::uint32_t* words) {
    for (std::size_t f = 0; f < forest_.questions.features.size(); ++f) {
      words[f] = PackedNode<std::uint32_t>::of_row(mine_.bins[f]);
    }
    words[PackedNode<std::uint32_t>::kOnes] = 0;
  }

  template <class Word>
  void groups(const Word* nodes, const Word* row) {
    for (const RowGroup& group : forest_.rows.groups) {
      if (!group.is_packed) {
        add_single_followed(group.first);
      } else if (group.trees == RowGroup::kTrees) {
        add_group<RowGroup::kTrees>(group, nodes + group.nodes, row);
      } else {
        for (std::uint32_t i = 0; i < group.trees; ++i) {
          RowGroup one = group;
          one.first += i;
          one.leaves += i << group.depth;
          add_group<1>(one, nodes + group.nodes + (std::size_t{i} << group.depth), row);
        }
      }
    }
  }

  template <int kTrees, class Word>
  void add_group(const RowGroup& group, const Word* nodes, const Word* row) {
    std::uint32_t at[kTrees];
    std::fill_n(at, kTrees, 1U);
    for (std::uint32_t level = 0; level < group.depth; ++level) {
#pragma GCC unroll 8
      for (std::uint32_t i = 0; i < kTrees; ++i) {
        const Word node = nodes[(std::size_t{i} << group.depth) + at[i]];
        at[i] += at[i] + (node < row[node & PackedNode<Word>::kOnes] ? 1U : 0U);
      }
    }
    const std::uint32_t leaves = 1U << group.depth;
    for (std::uint32_t i = 0; i < kTrees; ++i) {
      const std::size_t leaf = group.leaves + (std::size_t{i} << group.depth) + at[i] - leaves;
      const std::uint32_t output = forest_.trees[group.first + i].output;
      if (forest_.leaf_size == 1) {
        *sums(output) += choose<Sum>(forest_.rows.float_leaves, forest_.rows.double_leaves)[leaf];
      } else {
        add_leaf(output, forest_.rows.leaves[leaf]);
      }
    }
  }

  void add_single_followed(std::uint32_t t) {
    const FollowedTree& tree = forest_.followed.trees[forest_.followed.of_tree[t]];
    std::uint32_t leaf;
    follow<1>(forest_.followed.nodes.data() + tree.root, tree.depth, mine_.bins.data(), 1, &leaf);
    add_leaf(forest_.trees[t].output, leaf);
  }

  void add_leaf(std::uint32_t output, std::uint32_t leaf) {
    for (std::size_t k = 0; k < forest_.leaf_size; ++k) *sums(output + k) += leaf_values_[leaf + k];
  }

  const Compiled& forest_;
  std::span<const Column> columns_;
  std::span<const AnswerColumn> answers_;
  const Sum* leaf_values_;
  Workspace& mine_ = workspace();
  std::size_t stride_ = 0;   ///< rows of a block
  std::int64_t first_ = 0;   ///< row of this block
  int n_ = 0;                ///< rows in it
  alignas(64) std::array<std::uint8_t, kMostRows> left_{};
  alignas(64) std::array<std::uint8_t, kMostRows> right_{};
  alignas(64) std::array<std::uint64_t, std::size_t{kMostPlanes} * kMostWords> planes_;
  std::array<std::uint16_t, 256> narrow_words_;
};

Forest::Forest(const Ensemble& ensemble, std::span<const DType> columns) {
  if (columns.size() != ensemble.columns) {
    throw ConfigError("Forest: got the dtypes of " + std::to_string(columns.size()) +
                      " columns, expected " + std::to_string(ensemble.columns) +
                      ", one for each column of the ensemble");
  }
  compiled_ = std::make_unique<const Compiled>(ensemble, columns);
}

Forest::~Forest() = default;

std::size_t Forest::columns() const noexcept { return compiled_->columns; }

std::size_t Forest::outputs() const noexcept { return compiled_->outputs; }

Forest::Shape Forest::shape() const noexcept {
  Shape shape{.tests = compiled_->blocks.tests - 1};
  for (const BlockTree& tree : compiled_->blocks.trees) {
    (tree.form == BlockTree::Form::kFull     ? shape.full
     : tree.form == BlockTree::Form::kRagged ? shape.ragged
                                             : shape.followed) += 1;
  }
  return shape;
}

void Forest::run(std::span<const Column> columns, std::span<const AnswerColumn> answers,
                 std::int64_t rows) const {
  const auto call = [&]<class Sum>(Sum /*of the ensemble*/) {
    Call<Compiled, Sum> one(*compiled_, columns, answers);
    if (rows < kFewRows) {
      one.single_rows(rows);
    } else {
      one.blocks(rows);
    }
  };
  if (compiled_->sums == Precision::kFloat32) {
    call(float{});
  } else {
    call(double{});
  }
}

}  // namespace tensoa::forest
