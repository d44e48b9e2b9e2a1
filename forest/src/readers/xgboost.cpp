// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "append_tree.hpp"
#include "reading.hpp"
#include "xgboost_file.hpp"

namespace tensoa::forest {
namespace {

enum class BaseScore : std::uint8_t { kMargin, kLogit, kLog };

struct XgboostObjective {
  std::string_view name;
  BaseScore base;
  Link link;
};

// multi:softmax answers with the class of the largest of these.
constexpr std::array<XgboostObjective, 21> kXgboostObjectives = {{
    {"reg:squarederror", BaseScore::kMargin, Link::kNone},
    {"reg:linear", BaseScore::kMargin, Link::kNone},
    {"reg:squaredlogerror", BaseScore::kMargin, Link::kNone},
    {"reg:pseudohubererror", BaseScore::kMargin, Link::kNone},
    {"reg:absoluteerror", BaseScore::kMargin, Link::kNone},
    {"reg:quantileerror", BaseScore::kMargin, Link::kNone},
    {"reg:expectileerror", BaseScore::kMargin, Link::kNone},
    {"reg:logistic", BaseScore::kLogit, Link::kSigmoid},
    {"binary:logistic", BaseScore::kLogit, Link::kSigmoid},
    {"binary:logitraw", BaseScore::kMargin, Link::kNone},
    {"binary:hinge", BaseScore::kMargin, Link::kStep},
    {"count:poisson", BaseScore::kLog, Link::kExp},
    {"reg:gamma", BaseScore::kLog, Link::kExp},
    {"reg:tweedie", BaseScore::kLog, Link::kExp},
    {"survival:cox", BaseScore::kLog, Link::kExp},
    {"survival:aft", BaseScore::kLog, Link::kExp},
    {"multi:softprob", BaseScore::kMargin, Link::kSoftmax},
    {"multi:softmax", BaseScore::kMargin, Link::kSoftmax},
    {"rank:pairwise", BaseScore::kMargin, Link::kNone},
    {"rank:ndcg", BaseScore::kMargin, Link::kNone},
    {"rank:map", BaseScore::kMargin, Link::kNone},
}};

std::size_t number(std::string_view text, const char* key, std::size_t most) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty()) fail('"' + std::string(key) + "\" is missing");
  if (end != text.data() + text.size() || error != std::errc() || value > most) {
    fail('"' + std::string(key) + "\" is " + std::string(text.substr(0, 40)) +
         ", expected a whole number up to " + std::to_string(most));
  }
  return value;
}

std::size_t number_or(std::string_view text, std::size_t otherwise, const char* key,
                      std::size_t most) {
  return text.empty() ? otherwise : number(text, key, most);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// "5E-1", and since XGBoost 3.1 "[5E-1]" or one value for each output.
std::vector<float> numbers_of(std::string_view base_score) {
  if (base_score.empty()) fail("\"base_score\" is missing");
  std::vector<float> all;
  std::string_view left = trimmed(base_score);
  if (left.starts_with('[') && left.ends_with(']')) left = left.substr(1, left.size() - 2);
  while (true) {
    const std::string_view part = left.substr(0, left.find(','));
    const std::string_view text = trimmed(part);
    float& value = all.emplace_back();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || end != text.data() + text.size() || error != std::errc()) {
      fail("\"base_score\" is " + std::string(base_score.substr(0, 40)) +
           ", expected a number or a list of numbers");
    }
    if (part.size() == left.size()) return all;
    left.remove_prefix(part.size() + 1);
  }
}

/// In the arithmetic of XGBoost, so that sums are equal to the last bit.
float margin_of(float base_score, BaseScore kind) {
  constexpr float kLeast = 1e-6F;
  switch (kind) {
    case BaseScore::kLogit: {
      const float probability = std::clamp(base_score, kLeast, 1.0F - kLeast);
      return -std::log(1.0F / probability - 1.0F);
    }
    case BaseScore::kLog:
      return std::log(base_score);
    case BaseScore::kMargin:
      break;
  }
  return base_score;
}

class XgboostBuilder {
 public:
  XgboostBuilder(XgboostFile file, const ReadOptions& options, std::size_t bytes)
      : file_(std::move(file)), options_(options), bytes_(bytes) {}

  Ensemble build() {
    read_header();
    const std::size_t trees = trees_of_rounds();
    if (file_.tree_info.size() != file_.trees.size()) {
      fail("\"tree_info\" has " + std::to_string(file_.tree_info.size()) + " values, there are " +
           std::to_string(file_.trees.size()) + " trees");
    }
    const bool is_dart = file_.booster == "dart";
    if (is_dart && file_.weight_drop.size() != file_.trees.size()) {
      fail("\"weight_drop\" has " + std::to_string(file_.weight_drop.size()) +
           " values, there are " + std::to_string(file_.trees.size()) + " trees");
    }
    for (std::size_t t = 0; t < trees; ++t) {
      try {
        add_tree(file_.trees[t], file_.tree_info[t], is_dart ? file_.weight_drop[t] : 1.0F);
      } catch (const std::runtime_error& error) {
        fail("tree " + std::to_string(t) + ": " + error.what());
      }
    }
    return std::move(all_);
  }

 private:
  void read_header() {
    if (file_.booster.empty()) fail("\"gradient_booster\" or its \"name\" is missing");
    if (file_.booster != "gbtree" && file_.booster != "dart") {
      fail("its booster is " + file_.booster + ", expected gbtree or dart");
    }
    const auto* const objective =
        std::ranges::find(kXgboostObjectives, file_.objective, &XgboostObjective::name);
    if (file_.objective.empty()) fail("\"objective\" or its \"name\" is missing");
    if (objective == kXgboostObjectives.end()) {
      std::string known;
      for (const XgboostObjective& each : kXgboostObjectives) known += ' ' + std::string(each.name);
      fail("its objective " + file_.objective + " is unknown; expected one of" + known);
    }
    all_.objective = file_.objective;
    all_.link = objective->link;
    all_.source = "XGBoost";
    for (std::size_t i = 0; i < file_.version.size(); ++i) {
      all_.source += (i == 0 ? ' ' : '.') + std::to_string(file_.version[i]);
    }
    all_.columns = number(file_.num_feature, "num_feature", 0x7FFF'FFFF);
    all_.column_names = file_.feature_names;
    // Each output has a tree, or a value of base_score: no honest file has less bytes than outputs.
    all_.outputs = std::max({number_or(file_.num_class, 0, "num_class", bytes_),
                             number_or(file_.num_target, 1, "num_target", bytes_), std::size_t{1}});
    require_known_answers();
    read_base(file_.base_is_margin ? BaseScore::kMargin : objective->base);
    if (file_.objective == "multi:softmax") {
      all_.notes.emplace_back(
          "multi:softmax: the answers are the probability of each class, not the number of the "
          "class");
    }
    if (file_.has_encoded_texts) all_.notes.emplace_back(kCategoriesHadNames);
  }

  /// Refuses what other versions do with margins or inputs.
  void require_known_answers() const {
    const std::vector<std::int32_t> sorts_quantiles = {3, 4};
    if (file_.objective == "reg:quantileerror" && all_.outputs > 1 &&
        file_.version >= sorts_quantiles) {
      fail("it has several quantiles, which XGBoost sorts since 3.4; train a model for each");
    }
    if (file_.has_encoded_numbers) {
      fail(
          "it was trained with categories that are not the numbers 0, 1, 2 …, which XGBoost counts "
          "before its trees see them; number them so and train it again");
    }
  }

  void read_base(BaseScore kind) {
    const std::vector<float> scores = numbers_of(file_.base_score);
    if (scores.size() != 1 && scores.size() != all_.outputs) {
      fail("\"base_score\" has " + std::to_string(scores.size()) + " values, expected 1 or " +
           std::to_string(all_.outputs));
    }
    for (std::size_t k = 0; k < all_.outputs; ++k) {
      all_.base.push_back(margin_of(scores[scores.size() == 1 ? 0 : k], kind));
    }
  }

  /// The number of trees in the rounds that are wanted.
  std::size_t trees_of_rounds() {
    const std::vector<std::int32_t>& first = file_.iteration_indptr;
    const std::size_t trees = file_.trees.size();
    if (number_or(file_.num_trees, trees, "num_trees", 0x7FFF'FFFF) != trees) {
      fail("it has " + std::to_string(trees) + " trees, \"num_trees\" is " + file_.num_trees);
    }
    if (!first.empty()) {
      if (!std::ranges::is_sorted(first) || first.front() != 0 ||
          static_cast<std::size_t>(first.back()) != trees) {
        fail("\"iteration_indptr\" does not ascend from 0 to the number of trees, " +
             std::to_string(trees));
      }
      return static_cast<std::size_t>(first[wanted_rounds(first.size() - 1)]);
    }
    // Before XGBoost 2.0.
    const bool are_all = !options_.best_iteration && options_.rounds == ReadOptions::kAllRounds;
    if (file_.num_parallel_tree.empty() && !are_all) {
      all_.notes.emplace_back(
          "the file does not state how many trees a round of boosting has: one for each output is "
          "assumed");
    }
    const std::size_t in_round =
        all_.outputs * std::max(number_or(file_.num_parallel_tree, 1, "num_parallel_tree", bytes_),
                                std::size_t{1});
    if (trees % in_round != 0) {
      fail("it has " + std::to_string(trees) + " trees, expected a multiple of " +
           std::to_string(in_round) + ", those of a round");
    }
    return wanted_rounds(trees / in_round) * in_round;
  }

  std::size_t wanted_rounds(std::size_t rounds) {
    if (!options_.best_iteration) {
      const std::string& best = file_.best_iteration;
      if (options_.rounds == ReadOptions::kAllRounds && !best.empty() &&
          best != std::to_string(static_cast<std::int64_t>(rounds) - 1)) {
        all_.notes.push_back("all " + std::to_string(rounds) +
                             " rounds of boosting are used, the best is number " + best +
                             ": --best-iteration stops there");
      }
      return rounds_to_take(options_, rounds);
    }
    if (file_.best_iteration.empty()) {
      fail("it has no \"best_iteration\"; it was trained without early stopping");
    }
    if (rounds == 0) fail("it has a \"best_iteration\" but no rounds");
    return number(file_.best_iteration, "best_iteration", rounds - 1) + 1;
  }

  void add_tree(const XgboostTree& tree, std::int32_t output, float weight) {
    const std::size_t nodes = require_lists(tree);
    const std::size_t leaf_size =
        std::max(number_or(tree.size_leaf_vector, 1, "size_leaf_vector", bytes_), std::size_t{1});
    if (all_.trees.empty()) all_.leaf_size = leaf_size;
    if (leaf_size != all_.leaf_size || (leaf_size > 1 && leaf_size != all_.outputs)) {
      fail("its leaves have " + std::to_string(leaf_size) + " values, expected " +
           std::to_string(all_.trees.empty() ? all_.outputs : all_.leaf_size));
    }
    if (output < 0 || static_cast<std::size_t>(output) >= all_.outputs) {
      fail("it adds to output " + std::to_string(output) + ", there are " +
           std::to_string(all_.outputs));
    }
    add_sets(tree);
    append_tree(all_, nodes, static_cast<std::uint32_t>(output), [&](std::size_t n) {
      return tree.left_children[n] == -1 ? leaf(tree, n, weight) : inner(tree, n);
    });
  }

  /// @return the number of nodes
  static std::size_t require_lists(const XgboostTree& tree) {
    const std::size_t nodes = tree.left_children.size();
    const auto require = [&](const char* key, std::size_t size) {
      if (size != nodes || nodes == 0) {
        fail('"' + std::string(key) + "\" has " + std::to_string(size) + " values, expected " +
             (nodes == 0 ? "one for each node" : std::to_string(nodes)));
      }
    };
    require("left_children", nodes);
    require("right_children", tree.right_children.size());
    require("split_indices", tree.split_indices.size());
    require("split_conditions", tree.split_conditions.size());
    require("default_left", tree.default_left.size());
    if (!tree.split_type.empty()) require("split_type", tree.split_type.size());
    return nodes;
  }

  Node leaf(const XgboostTree& tree, std::size_t n, float weight) {
    Node node;
    node.left = static_cast<std::uint32_t>(all_.leaf_values.size());
    if (all_.leaf_size == 1) {
      all_.leaf_values.push_back(tree.split_conditions[n] * weight);
      return node;
    }
    const bool is_among_nodes =
        tree.leaf_weights.empty() && tree.right_children[n] == -1 &&
        tree.base_weights.size() == tree.left_children.size() * all_.leaf_size;
    const std::vector<float>& weights = is_among_nodes ? tree.base_weights : tree.leaf_weights;
    const std::size_t place =
        is_among_nodes ? n : static_cast<std::size_t>(std::max(tree.right_children[n], 0));
    if ((tree.right_children[n] < 0 && !is_among_nodes) ||
        place >= weights.size() / all_.leaf_size) {
      fail("node " + std::to_string(n) + ": its leaf is number " +
           std::to_string(tree.right_children[n]) + ", \"leaf_weights\" has " +
           std::to_string(tree.leaf_weights.size()) + " values");
    }
    for (std::size_t i = 0; i < all_.leaf_size; ++i) {
      all_.leaf_values.push_back(weights[place * all_.leaf_size + i] * weight);
    }
    return node;
  }

  Node inner(const XgboostTree& tree, std::size_t n) const {
    Node node;
    node.column = tree.split_indices[n];
    if (node.column < 0) {
      fail("node " + std::to_string(n) + ": its column is " + std::to_string(node.column));
    }
    node.left = static_cast<std::uint32_t>(tree.left_children[n]);
    node.right = static_cast<std::uint32_t>(tree.right_children[n]);
    node.missing = tree.default_left[n] != 0 ? Missing::kNanLeft : Missing::kNanRight;
    if (tree.split_type.empty() || tree.split_type[n] == 0) {
      node.threshold = tree.split_conditions[n];
      return node;
    }
    if (set_of_node_[n] == kNoSet) {
      fail("node " + std::to_string(n) + ": its categories are missing");
    }
    node.test = Test::kInSet;
    node.set = set_of_node_[n];
    return node;
  }

  void add_sets(const XgboostTree& tree) {
    const std::size_t sets = tree.categories_nodes.size();
    if (tree.categories_segments.size() != sets || tree.categories_sizes.size() != sets) {
      fail("\"categories_nodes\", \"categories_segments\" and \"categories_sizes\" differ in size");
    }
    set_of_node_.assign(tree.split_type.size(), kNoSet);
    for (std::size_t i = 0; i < sets; ++i) {
      // Negative numbers become too large ones.
      const auto node = static_cast<std::size_t>(tree.categories_nodes[i]);
      const auto first = static_cast<std::size_t>(tree.categories_segments[i]);
      const auto size = static_cast<std::size_t>(tree.categories_sizes[i]);
      if (node >= set_of_node_.size() || size > tree.categories.size() ||
          first > tree.categories.size() - size) {
        fail("node " + std::to_string(tree.categories_nodes[i]) +
             ": its categories are not all there");
      }
      set_of_node_[node] = static_cast<std::uint32_t>(all_.sets.size());
      add_set(node, {&tree.categories[first], size});
    }
  }

  void add_set(std::size_t node, std::span<const std::int32_t> categories) {
    constexpr std::int32_t kMostCategories = 1 << 24;  // floats count no further
    if (categories.empty()) fail("node " + std::to_string(node) + ": it has no categories");
    const auto [least, most] = std::ranges::minmax(categories);
    if (least < 0 || most >= kMostCategories) {
      fail("node " + std::to_string(node) + ": category " +
           std::to_string(least < 0 ? least : most) + ", expected 0 to " +
           std::to_string(kMostCategories - 1));
    }
    const auto words = static_cast<std::size_t>(most) / 64 + 1;
    const std::size_t first = all_.set_words.size();
    // Small files with large numbers would take all memory.
    if (first + words > kMostCategories / 64 + kMostWordsOfByte * bytes_) {
      fail("node " + std::to_string(node) +
           ": the numbers of its categories are too large, up to " + std::to_string(most));
    }
    all_.set_words.resize(first + words);
    for (const std::int32_t category : categories) {
      const auto c = static_cast<std::size_t>(category);
      all_.set_words[first + c / 64] |= std::uint64_t{1} << (c % 64);
    }
    all_.sets.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(words)});
  }

  static constexpr std::uint32_t kNoSet = 0xFFFF'FFFF;
  static constexpr std::size_t kMostWordsOfByte = 32;

  XgboostFile file_;
  const ReadOptions& options_;
  std::size_t bytes_;
  Ensemble all_;
  std::vector<std::uint32_t> set_of_node_;  ///< of the tree that is added
};

}  // namespace

Ensemble read_xgboost_json(std::string_view bytes, const std::string& subject,
                           const ReadOptions& options) {
  return read_whole(subject, "XGBoost", [&] {
    return XgboostBuilder(parse_xgboost_json(bytes), options, bytes.size()).build();
  });
}

Ensemble read_xgboost_ubjson(std::string_view bytes, const std::string& subject,
                             const ReadOptions& options) {
  return read_whole(subject, "XGBoost", [&] {
    return XgboostBuilder(parse_xgboost_ubjson(bytes), options, bytes.size()).build();
  });
}

Ensemble read_xgboost_binary(std::string_view bytes, const std::string& subject,
                             const ReadOptions& options) {
  return read_whole(subject, "XGBoost", [&] {
    return XgboostBuilder(parse_xgboost_binary(bytes), options, bytes.size()).build();
  });
}

}  // namespace tensoa::forest
