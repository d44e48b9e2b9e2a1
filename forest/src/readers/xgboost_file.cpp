// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "xgboost_file.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "json_text.hpp"

namespace tensoa::forest {
namespace {

/// The kind of a container of the file. Those that are not used are one.
enum class Place : std::uint8_t {
  kUnused,
  kFile,
  kLearner,
  kAttributes,
  kFeatureNames,
  kLearnerParam,
  kObjective,
  kBooster,
  kBoosterOfDart,
  kModel,
  kModelParam,
  kCategories,
  kEncoders,
  kEncoder,
  kTrees,
  kTree,
  kTreeParam,
};

template <class Value>
struct Member {
  Place place;
  std::string_view key;
  Value value;
};

constexpr std::array<Member<Place>, 14> kContainers = {{
    {Place::kFile, "learner", Place::kLearner},
    {Place::kLearner, "attributes", Place::kAttributes},
    {Place::kLearner, "feature_names", Place::kFeatureNames},
    {Place::kLearner, "learner_model_param", Place::kLearnerParam},
    {Place::kLearner, "objective", Place::kObjective},
    {Place::kLearner, "gradient_booster", Place::kBooster},
    {Place::kBooster, "gbtree", Place::kBoosterOfDart},
    {Place::kBooster, "model", Place::kModel},
    {Place::kBoosterOfDart, "model", Place::kModel},
    {Place::kModel, "gbtree_model_param", Place::kModelParam},
    {Place::kModel, "cats", Place::kCategories},
    {Place::kModel, "trees", Place::kTrees},
    {Place::kCategories, "enc", Place::kEncoders},
    {Place::kTree, "tree_param", Place::kTreeParam},
}};

using Text = std::string& (*)(XgboostFile&);
using Integers = std::vector<std::int32_t>& (*)(XgboostFile&);
using Floats = std::vector<float>& (*)(XgboostFile&);

constexpr std::array<Member<Text>, 10> kTexts = {{
    {Place::kAttributes, "best_iteration", [](auto& f) -> auto& { return f.best_iteration; }},
    {Place::kLearnerParam, "base_score", [](auto& f) -> auto& { return f.base_score; }},
    {Place::kLearnerParam, "num_class", [](auto& f) -> auto& { return f.num_class; }},
    {Place::kLearnerParam, "num_feature", [](auto& f) -> auto& { return f.num_feature; }},
    {Place::kLearnerParam, "num_target", [](auto& f) -> auto& { return f.num_target; }},
    {Place::kObjective, "name", [](auto& f) -> auto& { return f.objective; }},
    {Place::kBooster, "name", [](auto& f) -> auto& { return f.booster; }},
    {Place::kModelParam, "num_parallel_tree", [](auto& f) -> auto& { return f.num_parallel_tree; }},
    {Place::kModelParam, "num_trees", [](auto& f) -> auto& { return f.num_trees; }},
    {Place::kTreeParam, "size_leaf_vector",
     [](auto& f) -> auto& { return f.trees.back().size_leaf_vector; }},
}};

constexpr std::array<Member<Integers>, 12> kIntegers = {{
    {Place::kFile, "version", [](auto& f) -> auto& { return f.version; }},
    {Place::kModel, "iteration_indptr", [](auto& f) -> auto& { return f.iteration_indptr; }},
    {Place::kModel, "tree_info", [](auto& f) -> auto& { return f.tree_info; }},
    {Place::kTree, "left_children", [](auto& f) -> auto& { return f.trees.back().left_children; }},
    {Place::kTree, "right_children",
     [](auto& f) -> auto& { return f.trees.back().right_children; }},
    {Place::kTree, "split_indices", [](auto& f) -> auto& { return f.trees.back().split_indices; }},
    {Place::kTree, "default_left", [](auto& f) -> auto& { return f.trees.back().default_left; }},
    {Place::kTree, "split_type", [](auto& f) -> auto& { return f.trees.back().split_type; }},
    {Place::kTree, "categories", [](auto& f) -> auto& { return f.trees.back().categories; }},
    {Place::kTree, "categories_nodes",
     [](auto& f) -> auto& { return f.trees.back().categories_nodes; }},
    {Place::kTree, "categories_segments",
     [](auto& f) -> auto& { return f.trees.back().categories_segments; }},
    {Place::kTree, "categories_sizes",
     [](auto& f) -> auto& { return f.trees.back().categories_sizes; }},
}};

constexpr std::array<Member<Floats>, 5> kFloats = {{
    {Place::kEncoder, "values", [](auto& f) -> auto& { return f.encoder_values; }},
    {Place::kBooster, "weight_drop", [](auto& f) -> auto& { return f.weight_drop; }},
    {Place::kTree, "split_conditions",
     [](auto& f) -> auto& { return f.trees.back().split_conditions; }},
    {Place::kTree, "leaf_weights", [](auto& f) -> auto& { return f.trees.back().leaf_weights; }},
    {Place::kTree, "base_weights", [](auto& f) -> auto& { return f.trees.back().base_weights; }},
}};

/// Fills an XgboostFile while a parser walks through the text or the bytes.
class Collector final : public JsonEvents {
 public:
  XgboostFile take() { return std::move(file_); }

  std::size_t depth() const noexcept { return open_.size(); }

  void begin_object() override {
    enter(false);
    if (place() == Place::kTree) file_.trees.emplace_back();
    if (place() == Place::kEncoder) has_offsets_ = false;
  }

  void key(std::string_view name) override {
    key_ = name;
    if (place() == Place::kEncoder && name == "offsets") {
      has_offsets_ = file_.has_encoded_texts = true;
    }
  }

  void end_object() override {
    if (place() == Place::kEncoder && !has_offsets_) {
      for (std::size_t i = 0; i < file_.encoder_values.size(); ++i) {
        if (file_.encoder_values[i] != static_cast<float>(i)) file_.has_encoded_numbers = true;
      }
    }
    open_.pop_back();
  }

  void begin_array() override {
    const auto* const integers = find(kIntegers);
    const auto* const floats = find(kFloats);
    enter(true);
    if (integers != nullptr) (integers_ = &integers->value(file_))->clear();
    if (floats != nullptr) (floats_ = &floats->value(file_))->clear();
  }

  void end_array() override {
    integers_ = nullptr;
    floats_ = nullptr;
    open_.pop_back();
  }

  void string(std::string value) override {
    require_no_list("a text");
    if (place() == Place::kFeatureNames) {
      file_.feature_names.push_back(std::move(value));
    } else if (const auto* const text = find(kTexts)) {
      text->value(file_) = std::move(value);
    }
  }

  void word(std::string_view text) override {
    if (integers_ != nullptr) {
      integers_->push_back(text == "true"    ? 1
                           : text == "false" ? 0  // of default_left, until XGBoost 1.5
                                             : number_of<std::int32_t>(text));
    } else if (floats_ != nullptr) {
      floats_->push_back(number_of<float>(text));
    } else if (const auto* const member = find(kTexts)) {
      member->value(file_) = text;
    }
  }

  void number(std::int64_t value) {
    if (integers_ != nullptr) {
      if (!std::in_range<std::int32_t>(value)) fail_in_list(std::to_string(value));
      integers_->push_back(static_cast<std::int32_t>(value));
    } else if (floats_ != nullptr) {
      floats_->push_back(static_cast<float>(value));
    } else if (const auto* const member = find(kTexts)) {
      member->value(file_) = std::to_string(value);
    }
  }

  void number(float value) {
    if (integers_ != nullptr) fail_in_list(std::to_string(value));
    if (floats_ != nullptr) {
      floats_->push_back(value);
    } else if (const auto* const member = find(kTexts)) {
      std::array<char, 32> text{};
      *std::to_chars(text.data(), text.data() + text.size() - 1, value).ptr = '\0';
      member->value(file_) = text.data();
    }
  }

 private:
  struct Container {
    Place place;
    bool is_list;
  };

  Place place() const { return open_.empty() ? Place::kUnused : open_.back().place; }

  /// The kind of the value after the last key, if it is used.
  template <class Members>
  const typename Members::value_type* find(const Members& members) const {
    if (place() == Place::kUnused || open_.back().is_list) return nullptr;
    const auto found = std::ranges::find_if(
        members, [&](const auto& member) { return member.place == place() && member.key == key_; });
    return found == members.end() ? nullptr : &*found;
  }

  void enter(bool is_list) {
    require_no_list("a list");
    Place inner = Place::kUnused;
    if (open_.empty()) {
      inner = Place::kFile;
    } else if (place() == Place::kTrees) {
      inner = Place::kTree;
    } else if (place() == Place::kEncoders) {
      inner = Place::kEncoder;
    } else if (const auto* const container = find(kContainers)) {
      inner = container->value;
    }
    if (inner != Place::kUnused && is_list != is_list_place(inner)) {
      throw std::runtime_error(open_.empty() ? "it is not a JSON object"
                                             : '"' + key_ + "\" is a list or an object too much");
    }
    open_.push_back({inner, is_list});
  }

  static bool is_list_place(Place place) {
    return place == Place::kFeatureNames || place == Place::kEncoders || place == Place::kTrees;
  }

  template <class Number>
  Number number_of(std::string_view text) const {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end != text.data() + text.size() || error != std::errc()) fail_in_list(text);
    return value;
  }

  void require_no_list(std::string_view got) const {
    if (integers_ != nullptr || floats_ != nullptr) fail_in_list(got);
  }

  [[noreturn]] void fail_in_list(std::string_view got) const {
    const bool is_in_tree = std::ranges::any_of(
        open_, [](const Container& container) { return container.place == Place::kTree; });
    throw std::runtime_error(
        (is_in_tree ? "tree " + std::to_string(file_.trees.size() - 1) + ": \"" : "\"") + key_ +
        "\" has " + std::string(got.substr(0, 40)) + ", expected " +
        (integers_ != nullptr ? "whole numbers of 32 bits" : "numbers"));
  }

  XgboostFile file_;
  std::vector<Container> open_;
  std::string key_;                                ///< the last one
  std::vector<std::int32_t>* integers_ = nullptr;  ///< the list that is open, where it is used
  std::vector<float>* floats_ = nullptr;
  bool has_offsets_ = false;  ///< of the encoder: those of texts
};

// nlohmann::json with the floats of XGBoost, which would otherwise become doubles.
using Json = nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t,
                                  std::uint64_t, float>;

/// From the parser of nlohmann::json to a Collector.
class UbjsonEvents final : public nlohmann::json_sax<Json> {
 public:
  UbjsonEvents(Collector& collector, std::size_t bytes) : collector_(collector), left_(bytes) {}

  bool null() override { return count(); }
  bool boolean(bool value) override { return number_integer(value ? 1 : 0); }
  bool number_integer(std::int64_t value) override {
    collector_.number(value);
    return count();
  }
  bool number_unsigned(std::uint64_t value) override {
    if (!std::in_range<std::int64_t>(value)) throw std::runtime_error("a number is too large");
    return number_integer(static_cast<std::int64_t>(value));
  }
  bool number_float(float value, const std::string&) override {
    collector_.number(value);
    return count();
  }
  bool string(std::string& value) override {
    collector_.string(std::move(value));
    return count();
  }
  bool binary(Json::binary_t&) override { return count(); }
  bool start_object(std::size_t) override {
    require_shallow();
    collector_.begin_object();
    return count();
  }
  bool key(std::string& name) override {
    collector_.key(name);
    return true;
  }
  bool end_object() override {
    collector_.end_object();
    return true;
  }
  bool start_array(std::size_t) override {
    require_shallow();
    collector_.begin_array();
    return count();
  }
  bool end_array() override {
    collector_.end_array();
    return true;
  }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& error) override {
    throw std::runtime_error(error.what());
  }

 private:
  /// Lists of values without bytes may say that they are longer than any memory.
  bool count() {
    if (left_ == 0) throw std::runtime_error("it has more values than bytes");
    --left_;
    return true;
  }

  void require_shallow() const {
    if (collector_.depth() == kDeepestJson) {
      throw std::runtime_error("it is nested deeper than " + std::to_string(kDeepestJson));
    }
  }

  Collector& collector_;
  std::size_t left_;  ///< values that may still come
};

}  // namespace

XgboostFile parse_xgboost_json(std::string_view bytes) {
  Collector collector;
  read_json(bytes, collector);
  return collector.take();
}

XgboostFile parse_xgboost_ubjson(std::string_view bytes) {
  Collector collector;
  UbjsonEvents events(collector, bytes.size());
  Json::sax_parse(bytes.begin(), bytes.end(), &events, Json::input_format_t::ubjson);
  return collector.take();
}

}  // namespace tensoa::forest
