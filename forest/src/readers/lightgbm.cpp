// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "append_tree.hpp"
#include "reading.hpp"

namespace tensoa::forest {
namespace {

// Values up to it become 0 before any tree sees them.
constexpr double kZero = double{1e-35F};

struct LightgbmObjective {
  std::string_view name;
  Link link;
};

constexpr std::array<LightgbmObjective, 18> kLightgbmObjectives = {{
    {"", Link::kNone},  // trained by a function
    {"custom", Link::kNone},
    {"regression", Link::kNone},
    {"regression_l1", Link::kNone},
    {"huber", Link::kNone},
    {"fair", Link::kNone},
    {"quantile", Link::kNone},
    {"mape", Link::kNone},
    {"poisson", Link::kExp},
    {"gamma", Link::kExp},
    {"tweedie", Link::kExp},
    {"binary", Link::kSigmoid},
    {"multiclass", Link::kSoftmax},
    {"multiclassova", Link::kSigmoid},
    {"cross_entropy", Link::kSigmoid},
    {"cross_entropy_lambda", Link::kSoftplus},
    {"lambdarank", Link::kNone},
    {"rank_xendcg", Link::kNone},
}};

template <class Number>
Number number_of(std::string_view text, std::string_view key) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error != std::errc()) {
    fail(std::string(key) + " has \"" + std::string(text.substr(0, 40)) + "\", expected a " +
         (std::is_integral_v<Number> ? "whole number" : "number"));
  }
  return value;
}

/// The part of `text` up to `end`, which is removed with it.
std::string_view cut(std::string_view& text, char end) {
  const std::size_t size = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, size);
  text.remove_prefix(std::min(size + 1, text.size()));
  return part;
}

template <class Visit>
void for_each_word(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::string_view word = cut(text, ' ');
    if (!word.empty()) visit(word);
  }
}

/// Lines "key=value", up to the empty lines behind them or to the next section.
class Section {
 public:
  explicit Section(std::string_view& text) {
    bool is_over = false;
    while (!text.empty()) {
      std::string_view rest = text;
      std::string_view line = cut(rest, '\n');
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (is_over && !line.empty()) break;
      if (line.starts_with("Tree=") || line == "end of trees") break;
      text = rest;
      if (line.empty()) {
        is_over = !lines_.empty();
      } else {
        const std::string_view key = cut(line, '=');
        lines_.emplace_back(key, line);
      }
    }
  }

  std::optional<std::string_view> find(std::string_view key) const {
    const auto line =
        std::ranges::find(lines_, key, &std::pair<std::string_view, std::string_view>::first);
    if (line == lines_.end()) return std::nullopt;
    return line->second;
  }

  std::string_view at(std::string_view key) const {
    const auto value = find(key);
    if (!value) fail(std::string(key) + " is missing");
    return *value;
  }

  std::size_t count(std::string_view key, std::size_t least, std::size_t most) const {
    const auto value = number_of<std::int64_t>(at(key), key);
    if (value < static_cast<std::int64_t>(least) || value > static_cast<std::int64_t>(most)) {
      fail(std::string(key) + " is " + std::to_string(value) + ", expected " +
           std::to_string(least) + " to " + std::to_string(most));
    }
    return static_cast<std::size_t>(value);
  }

  template <class Number>
  std::vector<Number> list(std::string_view key, std::size_t size) const {
    std::vector<Number> values;
    for_each_word(at(key),
                  [&](std::string_view word) { values.push_back(number_of<Number>(word, key)); });
    if (values.size() != size) {
      fail(std::string(key) + " has " + std::to_string(values.size()) + " values, expected " +
           std::to_string(size));
    }
    return values;
  }

 private:
  std::vector<std::pair<std::string_view, std::string_view>> lines_;
};

class LightgbmBuilder {
 public:
  explicit LightgbmBuilder(const ReadOptions& options) : options_(options) {}

  Ensemble build(std::string_view text) {
    read_header(Section(text), text.size());
    std::vector<Section> trees;
    while (text.starts_with("Tree=")) {
      std::string_view line = cut(text, '\n');
      if (line.ends_with('\r')) line.remove_suffix(1);
      const std::string expected = std::to_string(trees.size());
      if (line.substr(5) != expected) {
        fail("tree " + expected + ": its number is " + std::string(line.substr(5, 20)));
      }
      trees.emplace_back(text);
    }
    // The second until LightGBM 2.2.
    if (!text.starts_with("end of trees") && !text.starts_with("feature importances:")) {
      fail("it is cut off: after tree " + std::to_string(trees.size()) +
           " there is no \"end of trees\"");
    }
    if (all_sizes_ && *all_sizes_ != trees.size()) {
      fail("it has " + std::to_string(trees.size()) + " trees, tree_sizes has " +
           std::to_string(*all_sizes_) + " values");
    }
    read_categories(text);
    if (trees.size() % all_.outputs != 0) {
      fail("it has " + std::to_string(trees.size()) + " trees, expected a multiple of " +
           std::to_string(all_.outputs) + ", its num_tree_per_iteration");
    }
    const std::size_t rounds = rounds_to_take(options_, trees.size() / all_.outputs);
    if (is_average_) all_.divisor = static_cast<double>(std::max(rounds, std::size_t{1}));
    for (std::size_t t = 0; t < rounds * all_.outputs; ++t) {
      try {
        add_tree(trees[t], t % all_.outputs);
      } catch (const std::runtime_error& error) {
        fail("tree " + std::to_string(t) + ": " + error.what());
      }
    }
    return std::move(all_);
  }

 private:
  /// @param bytes of the file; no honest one has less than outputs
  void read_header(const Section& header, std::size_t bytes) {
    if (options_.best_iteration) {
      fail(
          "it does not state which iteration was the best; its trees end there where it was saved "
          "with num_iteration=best_iteration, else give the number of rounds");
    }
    header.at("tree");
    all_.source = "LightGBM, text " + std::string(header.find("version").value_or("v2"));
    all_.columns = header.count("max_feature_idx", 0, 0x7FFF'FFFE) + 1;
    read_column_names(header);
    const std::size_t classes = header.count("num_class", 1, bytes);
    all_.outputs = header.find("num_tree_per_iteration")
                       ? header.count("num_tree_per_iteration", 1, bytes)
                       : classes;
    all_.features = Precision::kFloat64;
    all_.sums = Precision::kFloat64;
    all_.base.assign(all_.outputs, 0);
    is_average_ = header.find("average_output").has_value();
    if (const auto sizes = header.find("tree_sizes")) {  // since LightGBM 2.2.1
      all_sizes_ = 0;
      for_each_word(*sizes, [&](std::string_view) { ++*all_sizes_; });
    }
    read_objective(header.find("objective").value_or(""));
  }

  void read_column_names(const Section& header) {
    bool are_given = false;
    for_each_word(header.at("feature_names"), [&](std::string_view name) {
      are_given = are_given || name != "Column_" + std::to_string(all_.column_names.size());
      all_.column_names.emplace_back(name);
    });
    if (all_.column_names.size() != all_.columns) {
      fail("feature_names has " + std::to_string(all_.column_names.size()) + " names, expected " +
           std::to_string(all_.columns));
    }
    if (!are_given) all_.column_names.clear();
  }

  /// "binary sigmoid:1", "multiclass num_class:3", "regression sqrt"
  void read_objective(std::string_view text) {
    all_.objective = text;
    const std::string_view name = cut(text, ' ');
    const auto* const objective =
        std::ranges::find(kLightgbmObjectives, name, &LightgbmObjective::name);
    if (objective == kLightgbmObjectives.end()) {
      std::string known;
      for (const LightgbmObjective& each : kLightgbmObjectives)
        known += ' ' + std::string(each.name);
      fail("its objective " + std::string(name) + " is unknown; expected one of" + known);
    }
    all_.link = objective->link;
    for_each_word(text, [&](std::string_view word) {
      if (word == "sqrt" && name.starts_with("regression")) {
        all_.link = Link::kSignedSquare;
      } else if (word.starts_with("sigmoid:") && all_.link == Link::kSigmoid) {
        all_.link_scale = number_of<double>(word.substr(8), "sigmoid");
      } else if (!word.starts_with("num_class:")) {
        fail("its objective " + all_.objective + " is unknown: " + std::string(word));
      }
    });
  }

  /// Categories of data frames, in the last line. Texts become numbers where they are counted, numbers are ambiguous.
  void read_categories(std::string_view text) {
    constexpr std::string_view kKey = "\npandas_categorical:";
    const std::size_t at = text.rfind(kKey);
    if (at == std::string_view::npos) return;
    text.remove_prefix(at + kKey.size());
    const auto columns = nlohmann::json::parse(cut(text, '\n'), nullptr, false);
    if (columns.is_discarded()) fail("pandas_categorical is damaged");
    bool had_names = false;
    for (const auto& categories : columns) {
      for (std::size_t i = 0; i < categories.size(); ++i) {
        had_names = had_names || (categories.is_array() && categories[i].is_string());
        if (categories.is_array() && categories[i].is_number() && categories[i] != i) {
          fail(
              "it was trained with categories that are not the numbers 0, 1, 2 …, which LightGBM "
              "counts before its trees see them; number them so and train it again");
        }
      }
    }
    if (had_names) all_.notes.emplace_back(kCategoriesHadNames);
  }

  void add_tree(const Section& tree, std::size_t output) {
    if (tree.find("is_linear").value_or("0") != "0") {
      fail("its leaves are linear models (is_linear); train it with linear_tree=false");
    }
    const auto first_leaf = static_cast<std::uint32_t>(all_.leaf_values.size());
    const std::size_t leaves = tree.count("num_leaves", 1, 0x3FFF'FFFF);
    const auto values = tree.list<double>("leaf_value", leaves);
    const std::size_t inner = leaves - 1;
    const auto columns = read_if<std::int32_t>(tree, "split_feature", inner);
    const auto thresholds = read_if<double>(tree, "threshold", inner);
    const auto left = read_if<std::int32_t>(tree, "left_child", inner);
    const auto right = read_if<std::int32_t>(tree, "right_child", inner);
    auto types = std::vector<std::int32_t>(inner);
    if (tree.find("decision_type")) types = read_if<std::int32_t>(tree, "decision_type", inner);
    const std::size_t first_set = all_.sets.size();
    add_sets(tree);
    all_.leaf_values.insert(all_.leaf_values.end(), values.begin(), values.end());

    // Inner nodes first, then the leaves, which LightGBM counts from -1 down.
    const auto number = [&](std::int32_t child) {
      return child >= 0 ? static_cast<std::uint32_t>(child)
                        : static_cast<std::uint32_t>(inner) + static_cast<std::uint32_t>(~child);
    };
    append_tree(all_, inner + leaves, static_cast<std::uint32_t>(output), [&](std::size_t n) {
      Node node;
      if (n >= inner) {
        node.left = first_leaf + static_cast<std::uint32_t>(n - inner);
        return node;
      }
      if (columns[n] < 0) {
        fail("node " + std::to_string(n) + ": its column is " + std::to_string(columns[n]));
      }
      node.column = columns[n];
      node.left = number(left[n]);
      node.right = number(right[n]);
      try {
        if ((types[n] & kCategorical) != 0) {
          set_categories(node, thresholds[n], first_set);
        } else {
          set_threshold(node, thresholds[n], types[n]);
        }
      } catch (const std::runtime_error& error) {
        fail("node " + std::to_string(n) + ": " + error.what());
      }
      return node;
    });
  }

  /// A tree of one leaf lacks these.
  template <class Number>
  static std::vector<Number> read_if(const Section& tree, std::string_view key, std::size_t size) {
    return size == 0 ? std::vector<Number>() : tree.list<Number>(key, size);
  }

  static void set_threshold(Node& node, double threshold, std::int32_t type) {
    if (std::isnan(threshold)) fail("its threshold is not a number");
    node.test = Test::kGreater;
    node.threshold = threshold;
    const bool is_default_left = (type & kDefaultLeft) != 0;
    switch (type >> kMissingShift) {
      case 0:  // NaN is a 0
        node.missing = threshold >= 0 ? Missing::kNanLeft : Missing::kNanRight;
        break;
      case 1:
        node.missing = is_default_left ? Missing::kZeroLeft : Missing::kZeroRight;
        break;
      case 2:
        node.missing = is_default_left ? Missing::kNanLeft : Missing::kNanRight;
        break;
      default:
        fail("its decision_type " + std::to_string(type) + " is unknown");
    }
    // All that is taken for 0 goes where 0 goes.
    if (threshold >= 0 && threshold < kZero) node.threshold = kZero;
    if (threshold < 0 && threshold >= -kZero) {
      node.threshold = -kZero;
      node.test = Test::kGreaterEqual;
    }
  }

  /// In the set is left in LightGBM; NaN is in none.
  void set_categories(Node& node, double number, std::size_t first_set) const {
    if (!(number >= 0 && number < static_cast<double>(all_.sets.size() - first_set))) {
      fail("its category set is " + std::to_string(number) + ", there are " +
           std::to_string(all_.sets.size() - first_set));
    }
    node.test = Test::kCutInSet;
    node.set = static_cast<std::uint32_t>(first_set) + static_cast<std::uint32_t>(number);
    node.missing = Missing::kNanLeft;
    std::swap(node.left, node.right);
  }

  void add_sets(const Section& tree) {
    const std::size_t sets = tree.find("num_cat") ? tree.count("num_cat", 0, 0x7FFF'FFFE) : 0;
    if (sets == 0) return;
    const auto bounds = tree.list<std::uint32_t>("cat_boundaries", sets + 1);
    const auto words = tree.list<std::uint32_t>("cat_threshold", bounds.back());
    if (bounds.front() != 0 || !std::ranges::is_sorted(bounds)) {
      fail("cat_boundaries do not ascend from 0");
    }
    for (std::size_t i = 0; i < sets; ++i) {
      const std::size_t first = all_.set_words.size();
      const std::size_t size = bounds[i + 1] - bounds[i];
      all_.set_words.resize(first + (size + 1) / 2);
      for (std::size_t w = 0; w < size; ++w) {
        all_.set_words[first + w / 2] |= std::uint64_t{words[bounds[i] + w]} << (w % 2 * 32);
      }
      all_.sets.push_back({static_cast<std::uint32_t>(first),
                           static_cast<std::uint32_t>(all_.set_words.size() - first)});
    }
  }

  // Bits of decision_type.
  static constexpr std::int32_t kCategorical = 1;
  static constexpr std::int32_t kDefaultLeft = 2;
  static constexpr std::int32_t kMissingShift = 2;

  const ReadOptions& options_;
  bool is_average_ = false;
  std::optional<std::size_t> all_sizes_;  ///< of trees, where the file has them
  Ensemble all_;
};

}  // namespace

Ensemble read_lightgbm(std::string_view bytes, const std::string& subject,
                       const ReadOptions& options) {
  return read_whole(subject, "LightGBM", [&] { return LightgbmBuilder(options).build(bytes); });
}

}  // namespace tensoa::forest
