// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/forest/ensemble.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "tensoa/core/error.hpp"

namespace tensoa::forest {
namespace {

class Check {
 public:
  Check(const Ensemble& ensemble, const std::string& subject) : all_(ensemble), subject_(subject) {}

  void run() const {
    check_numbers();
    for (std::size_t i = 0; i < all_.sets.size(); ++i) {
      const CategorySet& set = all_.sets[i];
      if (!is_range(set.first_word, set.words, all_.set_words.size())) {
        fail("category set " + std::to_string(i) + " has " + std::to_string(set.words) +
             " words from word " + std::to_string(set.first_word) + " on, expected at most " +
             std::to_string(all_.set_words.size()) + " words in all");
      }
    }
    std::size_t first = 0;
    for (std::size_t t = 0; t < all_.trees.size(); ++t) {
      check_tree(t, first);
      first += all_.trees[t].nodes;
    }
    if (first != all_.nodes.size()) {
      fail("it has " + std::to_string(all_.nodes.size()) + " nodes, its trees have " +
           std::to_string(first));
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw LoadError(subject_ + what + "; the model is damaged, save or import it again");
  }

  [[noreturn]] void fail(std::size_t tree, std::size_t node, const std::string& what) const {
    fail("tree " + std::to_string(tree) + ", node " + std::to_string(node) + ": " + what);
  }

  static bool is_range(std::size_t first, std::size_t size, std::size_t all) {
    return first <= all && size <= all - first;
  }

  void expect(const char* what, std::size_t got, std::size_t least, std::size_t most) const {
    if (got >= least && got <= most) return;
    fail(std::string(what) + ' ' + std::to_string(got) + ", expected " +
         (least == most ? "" : std::to_string(least) + " to ") + std::to_string(most));
  }

  void check_numbers() const {
    constexpr std::size_t kMostColumns = std::numeric_limits<std::int32_t>::max();
    constexpr std::size_t kMostNodes = std::size_t{1} << 31U;
    expect("number of columns is", all_.columns, 0, kMostColumns);
    if (!all_.column_names.empty()) {
      expect("number of column names is", all_.column_names.size(), all_.columns, all_.columns);
    }
    expect("number of nodes is", all_.nodes.size(), 0, kMostNodes);
    expect("number of base values is", all_.base.size(), all_.outputs, all_.outputs);
    expect("number of outputs is", all_.outputs, 1, kMostNodes);
    expect("number of values in a leaf is", all_.leaf_size, 1, all_.outputs);
    expect("link is", static_cast<std::size_t>(all_.link), 0,
           static_cast<std::size_t>(Link::kStep));
    expect("precision of features is", static_cast<std::size_t>(all_.features), 0, 1);
    expect("precision of sums is", static_cast<std::size_t>(all_.sums), 0, 1);
    for (const double base : all_.base) expect_finite("base", base);
    expect_finite("factor", all_.factor);
    expect_finite("divisor", all_.divisor);
    expect_finite("link_scale", all_.link_scale);
    if (all_.divisor == 0) fail("divisor is 0");
  }

  void expect_finite(const char* what, double value) const {
    if (!std::isfinite(value)) fail(std::string(what) + " is not a finite number");
  }

  void check_tree(std::size_t t, std::size_t first) const {
    const Tree& tree = all_.trees[t];
    const std::string name = "tree " + std::to_string(t) + ": ";
    if (tree.first_node != first) {
      fail(name + "its first node is " + std::to_string(tree.first_node) + ", expected " +
           std::to_string(first) + ", after those of the trees before");
    }
    if (tree.nodes == 0 || !is_range(first, tree.nodes, all_.nodes.size())) {
      fail(name + "it has " + std::to_string(tree.nodes) + " nodes, expected 1 to " +
           std::to_string(all_.nodes.size() - first));
    }
    if (!is_range(tree.output, all_.leaf_size, all_.outputs)) {
      fail(name + "its output is " + std::to_string(tree.output) + ", expected 0 to " +
           std::to_string(all_.outputs - all_.leaf_size));
    }
    for (std::size_t n = 0; n < tree.nodes; ++n) {
      const Node& node = all_.nodes[first + n];
      if (node.is_leaf()) {
        check_leaf(node, t, n);
      } else {
        check_inner(node, t, n, tree.nodes);
      }
    }
  }

  void check_leaf(const Node& node, std::size_t t, std::size_t n) const {
    if (node.column != -1) {
      fail(t, n, "its column is " + std::to_string(node.column) + ", expected -1 of a leaf");
    }
    if (!is_range(node.left, all_.leaf_size, all_.leaf_values.size())) {
      fail(t, n,
           "its first leaf value is " + std::to_string(node.left) + ", there are " +
               std::to_string(all_.leaf_values.size()));
    }
  }

  void check_inner(const Node& node, std::size_t t, std::size_t n, std::size_t nodes) const {
    if (static_cast<std::size_t>(node.column) >= all_.columns) {
      fail(t, n,
           "its column is " + std::to_string(node.column) + ", there are " +
               std::to_string(all_.columns));
    }
    for (const std::uint32_t child : {node.left, node.right}) {
      if (child <= n || child >= nodes) {
        fail(t, n,
             "it leads to node " + std::to_string(child) + ", expected one after it, of " +
                 std::to_string(nodes));
      }
    }
    if (node.test > Test::kCutInSet || node.missing > Missing::kZeroRight) {
      fail(t, n, "its test or its direction of missing values is unknown");
    }
    if (node.asks_set()) {
      if (node.set >= all_.sets.size()) {
        fail(t, n,
             "its category set is " + std::to_string(node.set) + ", there are " +
                 std::to_string(all_.sets.size()));
      }
    } else if (std::isnan(node.threshold)) {
      fail(t, n, "its threshold is not a number");
    }
  }

  const Ensemble& all_;
  const std::string& subject_;
};

}  // namespace

std::string_view name_of(Link link) noexcept {
  constexpr std::array<std::string_view, 10> kNames = {
      "none", "sigmoid",  "softmax", "softmax_zero",  "exp",
      "tanh", "softplus", "probit",  "signed_square", "step"};
  static_assert(kNames.size() == static_cast<std::size_t>(Link::kStep) + 1);
  return kNames[static_cast<std::size_t>(link)];
}

void require_whole(const Ensemble& ensemble, const std::string& subject) {
  Check(ensemble, subject).run();
}

}  // namespace tensoa::forest
