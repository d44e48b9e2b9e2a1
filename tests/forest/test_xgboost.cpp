// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tensoa/core/error.hpp"
#include "tensoa/forest/readers.hpp"
#include "tree_files.hpp"

namespace tensoa::forest {
namespace {

using nlohmann::json;
using test::expect_answers;
using test::expect_margins;
using test::tree_file;
using test::tree_files;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

constexpr const char* kTrees = "/learner/gradient_booster/model/trees";

auto fails_with(const std::string& what) {
  return ThrowsMessage<LoadError>(AllOf(StartsWith("model F: "), HasSubstr(what)));
}

Ensemble read(const std::string& text, const ReadOptions& options = {}) {
  return read_xgboost_json(text, "model F: ", options);
}

/// The text of a model with `change` made to it.
template <class Change>
std::string changed(const std::string& name, const Change& change) {
  json model = json::parse(tree_file(name));
  change(model);
  return model.dump();
}

/// One value at `pointer`, replaced.
std::string with(const std::string& name, const std::string& pointer, const json& value) {
  return changed(name, [&](json& model) { model.at(json::json_pointer(pointer)) = value; });
}

/// In all forms and from all places, a model is refused with `what`.
void expect_refused(const std::string& text, const std::string& what) {
  EXPECT_THAT([&] { read(text); }, fails_with(what));
  const json model = json::parse(text, nullptr, false);
  if (model.is_discarded()) return;
  std::string bytes;
  json::to_ubjson(model, bytes);
  EXPECT_THAT([&] { read_xgboost_ubjson(bytes, "model F: "); }, fails_with(what));
}

TEST(Xgboost, MarginsOfJsonAreItsOwnToTheBit) {
  const auto files = tree_files("xgboost_", ".json");
  EXPECT_GE(files.size(), 30U);
  for (const auto& file : files) {
    SCOPED_TRACE(file.filename());
    expect_margins(read_tree_file(file), file);
  }
}

TEST(Xgboost, MarginsOfUbjsonAreItsOwnToTheBit) {
  const auto files = tree_files("xgboost_", ".ubj");
  EXPECT_GE(files.size(), 30U);
  for (const auto& file : files) {
    SCOPED_TRACE(file.filename());
    expect_margins(read_tree_file(file), file);
  }
}

TEST(Xgboost, LinksGiveItsAnswers) {
  for (const auto& file : tree_files("xgboost_", ".json")) {
    SCOPED_TRACE(file.filename());
    expect_answers(read_tree_file(file), file, 4e-6);  // it computes them in float
  }
}

TEST(Xgboost, BothFormsAreTheSameModel) {
  for (const auto& file : tree_files("xgboost_", ".json")) {
    auto other = file;
    EXPECT_EQ(to_bytes(read_tree_file(file)),
              to_bytes(read_tree_file(other.replace_extension(".ubj"))))
        << file;
  }
}

TEST(Xgboost, SaysWhatTheModelIs) {
  const Ensemble regression = read(tree_file("xgboost_regression.json"));
  EXPECT_THAT(regression.source, StartsWith("XGBoost 3."));
  EXPECT_EQ(regression.objective, "reg:squarederror");
  EXPECT_EQ(regression.column_names.at(6), "col \"6\" µ");
  EXPECT_EQ(regression.link, Link::kNone);
  EXPECT_EQ(regression.features, Precision::kFloat32);
  EXPECT_EQ(regression.sums, Precision::kFloat32);
  EXPECT_EQ(read(tree_file("xgboost_binary.json")).link, Link::kSigmoid);
  EXPECT_TRUE(read(tree_file("xgboost_binary.json")).column_names.empty());
  EXPECT_EQ(read(tree_file("xgboost_hinge.json")).link, Link::kStep);
  EXPECT_EQ(read(tree_file("xgboost_poisson.json")).link, Link::kExp);
  EXPECT_EQ(read(tree_file("xgboost_softprob.json")).link, Link::kSoftmax);
  EXPECT_EQ(read(tree_file("xgboost_leaf_vectors.json")).leaf_size, 3U);
  EXPECT_EQ(read(tree_file("xgboost_before_2.json")).base.at(0), -std::log(1.0F / 0.25F - 1.0F));
}

TEST(Xgboost, TakesRoundsUpToTheBestIterationOrANumber) {
  const std::string file = std::string(TENSOA_TREE_FILES) + "/xgboost_best_iteration.json";
  const Ensemble best = read_tree_file(file, {.best_iteration = true});
  expect_margins(best, file, ".best_margins");
  const std::size_t rounds = best.trees.size() / 2;  // of two trees each
  const std::size_t all = read_tree_file(file).trees.size() / 2;
  EXPECT_LT(rounds, all);
  EXPECT_EQ(to_bytes(read_tree_file(file, {.rounds = rounds})), to_bytes(best));
  EXPECT_THAT([&] { read_tree_file(file, {.rounds = all + 1}); },
              ThrowsMessage<LoadError>(HasSubstr(std::to_string(all + 1) + " are wanted")));
  const std::string other = tree_file("xgboost_regression.json");
  EXPECT_THAT([&] { read(other, {.best_iteration = true}); }, fails_with("no \"best_iteration\""));
  EXPECT_EQ(read(tree_file("xgboost_before_2.json"), {.rounds = 3}).trees.size(), 3U);
  const auto best_at = [](const char* iteration) {
    return with("xgboost_best_iteration.json", "/learner/attributes/best_iteration", iteration);
  };
  EXPECT_THAT([&] { read(best_at("99"), {.best_iteration = true}); },
              fails_with("\"best_iteration\" is 99, expected a whole number up to"));
  const std::string no_rounds = changed("xgboost_best_iteration.json", [](json& model) {
    json& trees = model["learner"]["gradient_booster"]["model"];
    trees["iteration_indptr"] = {0};
    trees["trees"] = trees["tree_info"] = json::array();
    trees["gbtree_model_param"]["num_trees"] = "0";
  });
  EXPECT_TRUE(read(no_rounds).trees.empty());
  EXPECT_THAT([&] { read(no_rounds, {.best_iteration = true}); }, fails_with("but no rounds"));
}

TEST(Xgboost, NotesSayWhatPeopleMayNotExpect) {
  EXPECT_THAT(read(tree_file("xgboost_binary.json")).notes, testing::IsEmpty());
  EXPECT_THAT(read(tree_file("xgboost_softmax.json")).notes,
              testing::ElementsAre(StartsWith("multi:softmax: the answers are the probability")));
  const std::string early = tree_file("xgboost_best_iteration.json");
  EXPECT_THAT(read(early).notes, testing::ElementsAre(HasSubstr("--best-iteration stops there")));
  EXPECT_THAT(read(early, {.best_iteration = true}).notes, testing::IsEmpty());
  EXPECT_THAT(read(early, {.rounds = 2}).notes, testing::IsEmpty());
  const std::string texts =
      with("xgboost_categories.json", "/learner/gradient_booster/model/cats/enc",
           json::parse(R"([{"offsets": [0, 1, 2], "values": [97, 98]}])"));
  EXPECT_THAT(read(texts).notes, testing::ElementsAre(StartsWith("its categories had names")));
}

TEST(Xgboost, LeavesWithSeveralValuesWereAmongTheWeightsOfNodes) {
  const std::string before = changed("xgboost_leaf_vectors.json", [](json& model) {
    for (json& tree : model.at(json::json_pointer(kTrees))) {
      const json vectors = tree["leaf_weights"];
      json weights = json::array();
      for (std::size_t n = 0; n < tree["left_children"].size(); ++n) {
        const bool is_leaf = tree["left_children"][n] == -1;
        const std::size_t place = is_leaf ? tree["right_children"][n].get<std::size_t>() : 0;
        for (std::size_t i = 0; i < 3; ++i) {
          weights.push_back(is_leaf ? vectors[3 * place + i] : json(0.0));
        }
        if (is_leaf) tree["right_children"][n] = -1;
      }
      tree.erase("leaf_weights");
      tree["base_weights"] = weights;
    }
  });
  EXPECT_EQ(to_bytes(read(before)), to_bytes(read(tree_file("xgboost_leaf_vectors.json"))));
}

TEST(Xgboost, BaseScoreIsReadInAllItsForms) {
  const auto base = [](const json& score) {
    return read(with("xgboost_softprob.json", "/learner/learner_model_param/base_score", score))
        .base;
  };
  EXPECT_THAT(base("5E-1"), testing::ElementsAre(0.5, 0.5, 0.5));
  EXPECT_THAT(base("[5E-1]"), testing::ElementsAre(0.5, 0.5, 0.5));
  EXPECT_THAT(base("[1,-2E0,3.5]"), testing::ElementsAre(1, -2, 3.5));
  EXPECT_THAT(base("[1, -2E0, 3.5]"), testing::ElementsAre(1, -2, 3.5));
  EXPECT_THAT(base(0.25), testing::ElementsAre(0.25, 0.25, 0.25));
  for (const char* wrong : {"[1,2]", "[]", "[1,,2]", "1 2 3", "[1,2,3", "half", "[1,2,3]x"}) {
    expect_refused(with("xgboost_softprob.json", "/learner/learner_model_param/base_score", wrong),
                   "\"base_score\"");
  }
  expect_refused(with("xgboost_poisson.json", "/learner/learner_model_param/base_score", "[-1E0]"),
                 "base is not a finite number");
}

TEST(Xgboost, NumbersOfUbjsonMayBeOfAnyKind) {
  const json model = json::parse(changed("xgboost_binary.json", [](json& whole) {
    whole["learner"]["learner_model_param"]["base_score"] = 0.25;
    whole["learner"]["learner_model_param"]["num_feature"] = 7;
    for (json& tree : whole.at(json::json_pointer(kTrees))) {
      for (json& value : tree["split_conditions"]) value = std::round(value.get<double>());
      tree["split_conditions"][0] = 1;
      for (json& value : tree["default_left"]) value = value != 0;
    }
  }));
  std::string bytes;
  json::to_ubjson(model, bytes);
  const Ensemble read_bytes = read_xgboost_ubjson(bytes, "");
  EXPECT_EQ(read_bytes.base.at(0), -std::log(1.0F / 0.25F - 1.0F));
  EXPECT_EQ(read_bytes.nodes.at(0).threshold, 1);
  EXPECT_EQ(to_bytes(read_bytes), to_bytes(read(model.dump())));
}

TEST(Xgboost, TreesOfRoundsAreCounted) {
  const auto with_trees = [](const char* in_round) {
    return changed("xgboost_before_2.json", [&](json& model) {
      json& trees = model["learner"]["gradient_booster"]["model"];
      trees.erase("iteration_indptr");
      trees["gbtree_model_param"]["num_parallel_tree"] = in_round;
    });
  };
  EXPECT_EQ(read(with_trees("4"), {.rounds = 1}).trees.size(), 4U);
  EXPECT_THAT(read(with_trees("4"), {.rounds = 1}).notes, testing::IsEmpty());
  expect_refused(with_trees("3"), "it has 8 trees, expected a multiple of 3, those of a round");
  expect_refused(with_trees("-1"), "\"num_parallel_tree\" is -1");
}

TEST(Xgboost, CutOffAnywhereIsAnError) {
  const std::string text = tree_file("xgboost_one_leaf.json");
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_THROW(read(text.substr(0, size)), LoadError) << size;
  }
  const std::string bytes = tree_file("xgboost_one_leaf.ubj");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(read_xgboost_ubjson(bytes.substr(0, size), ""), LoadError) << size;
  }
  const std::string large = tree_file("xgboost_categories.ubj");
  for (std::size_t size = 0; size < large.size(); size += 97) {
    EXPECT_THROW(read_xgboost_ubjson(large.substr(0, size), ""), LoadError) << size;
  }
  EXPECT_THAT([&] { read(text.substr(0, text.size() - 1)); }, fails_with("it is cut off"));
  EXPECT_THAT([&] { read(text + "x"); }, fails_with("text after its end"));
}

TEST(Xgboost, WhatItCannotDoIsRefusedByName) {
  expect_refused(with("xgboost_binary.json", "/learner/objective/name", "binary:focal"),
                 "its objective binary:focal is unknown; expected one of reg:squarederror");
  expect_refused(with("xgboost_binary.json", "/learner/gradient_booster/name", "gblinear"),
                 "its booster is gblinear, expected gbtree or dart");
  expect_refused(with("xgboost_quantiles.json", "/version", {3, 4, 1}), "several quantiles");
  expect_refused(with("xgboost_categories.json", "/learner/gradient_booster/model/cats/enc",
                      json::parse(R"([{"values": [10, 20, 30], "type": 4}])")),
                 "categories that are not the numbers 0, 1, 2");
  for (const char* encoder : {R"([{"values": [0, 1, 2], "type": 4}])",
                              R"([{"offsets": [0, 1, 2], "values": [97, 98]}])"}) {
    EXPECT_NO_THROW(read(with("xgboost_categories.json", "/learner/gradient_booster/model/cats/enc",
                              json::parse(encoder))));
  }
}

TEST(Xgboost, MissingKeysAreNamed) {
  const auto without = [](const std::string& name, const std::string& place, const char* key) {
    return changed(name, [&](json& model) { model.at(json::json_pointer(place)).erase(key); });
  };
  const std::string param = "/learner/learner_model_param";
  expect_refused(without("xgboost_binary.json", "", "learner"), "\"gradient_booster\"");
  expect_refused(without("xgboost_binary.json", "/learner", "objective"), "\"objective\"");
  expect_refused(without("xgboost_binary.json", param, "base_score"), "\"base_score\" is missing");
  expect_refused(without("xgboost_binary.json", param, "num_feature"), "\"num_feature\" is miss");
  expect_refused(without("xgboost_binary.json", "/learner/gradient_booster/model", "tree_info"),
                 "\"tree_info\" has 0 values, there are 8 trees");
  expect_refused(without("xgboost_dart.json", "/learner/gradient_booster", "weight_drop"),
                 "\"weight_drop\" has 0 values");
  for (const char* key :
       {"left_children", "right_children", "split_indices", "split_conditions", "default_left"}) {
    expect_refused(without("xgboost_binary.json", std::string(kTrees) + "/3", key), "tree 3: \"");
  }
  expect_refused(without("xgboost_leaf_vectors.json", std::string(kTrees) + "/3", "leaf_weights"),
                 "\"leaf_weights\" has 0 values");
  expect_refused(without("xgboost_categories.json", std::string(kTrees) + "/0", "categories_sizes"),
                 "tree 0: \"categories_nodes\"");
  expect_refused("[]", "it is not a JSON object");
  expect_refused("{}", "\"gradient_booster\"");
  expect_refused("7", "\"gradient_booster\"");
}

TEST(Xgboost, DamagedTreesAreRefused) {
  const auto tree = [](const std::string& place, const json& value) {
    return with("xgboost_binary.json", std::string(kTrees) + "/2/" + place, value);
  };
  expect_refused(tree("left_children/0", 0), "tree 2: node 0 leads to node 0, to which another");
  expect_refused(tree("left_children/1", 0), "tree 2: node 1 leads to node 0, to which another");
  expect_refused(tree("right_children/0", 1), "tree 2: node 0 leads to node 1, to which another");
  expect_refused(tree("left_children/0", 99), "tree 2: node 0 leads to node 99, expected 1 to");
  expect_refused(tree("left_children/0", -2), "tree 2: node 0 leads to node -2");
  expect_refused(tree("split_indices/0", 7), "tree 2, node 0: its column is 7, there are 7");
  expect_refused(tree("split_indices/0", -1), "tree 2: node 0: its column is -1");
  expect_refused(tree("split_indices/0", 1.5), "tree 2: \"split_indices\" has 1.5");
  expect_refused(tree("split_indices/0", 1e10), "tree 2: \"split_indices\" has");
  expect_refused(tree("split_indices/0", "x"), "tree 2: \"split_indices\" has a text");
  expect_refused(tree("split_indices/0", json::array()), "tree 2: \"split_indices\" has a list");
  expect_refused(tree("split_indices", json::array({1, 2})), "tree 2: \"split_indices\" has 2");
  expect_refused(tree("split_type/0", 1), "tree 2: node 0: its categories are missing");
  expect_refused(tree("tree_param/size_leaf_vector", "3"), "tree 2: its leaves have 3 values");
  expect_refused(tree("tree_param/size_leaf_vector", "x"), "\"size_leaf_vector\" is x");
  expect_refused(with("xgboost_binary.json", "/learner/learner_model_param/num_feature", "-1"),
                 "\"num_feature\" is -1");
  expect_refused(with("xgboost_binary.json", "/learner/learner_model_param/num_class", "900000000"),
                 "\"num_class\" is 900000000");
  const std::string model = "/learner/gradient_booster/model";
  expect_refused(with("xgboost_binary.json", model + "/gbtree_model_param/num_trees", "9"),
                 "it has 8 trees, \"num_trees\" is 9");
  expect_refused(with("xgboost_softprob.json", model + "/tree_info/4", 3),
                 "tree 4: it adds to output 3, there are 3");
  expect_refused(with("xgboost_softprob.json", model + "/iteration_indptr/1", 300),
                 "\"iteration_indptr\" does not ascend");
  expect_refused(with("xgboost_softprob.json", model + "/iteration_indptr", json::array({0, 3})),
                 "\"iteration_indptr\" does not ascend from 0 to the number of trees, 24");
  // A threshold that is not a number would send all rows to one side.
  std::string text = tree_file("xgboost_binary.json");
  const std::string key = "\"split_conditions\":[";
  const std::size_t first = text.find(key) + key.size();
  expect_refused(text.replace(first, text.find(',', first) - first, "NaN"),
                 "tree 0, node 0: its threshold is not a number");
}

TEST(Xgboost, DamagedCategoriesAreRefused) {
  const auto tree = [](const std::string& place, const json& value) {
    return with("xgboost_categories.json", std::string(kTrees) + "/0/" + place, value);
  };
  expect_refused(tree("categories/0", -1), "category -1, expected 0 to");
  expect_refused(tree("categories/0", 1 << 24), "category 16777216, expected 0 to");
  expect_refused(tree("categories_sizes/0", 5000), "its categories are not all there");
  expect_refused(tree("categories_segments/0", 5000), "its categories are not all there");
  expect_refused(tree("categories_segments/0", -1), "its categories are not all there");
  expect_refused(tree("categories_nodes/0", 999), "node 999: its categories are not all there");
  expect_refused(tree("categories_sizes/0", 0), "it has no categories");
  // Few bytes, but much memory.
  expect_refused(changed("xgboost_categories.json",
                         [](json& model) {
                           for (json& each : model.at(json::json_pointer(kTrees))) {
                             for (json& category : each["categories"]) category = 16'777'215;
                           }
                         }),
                 "the numbers of its categories are too large, up to 16777215");
}

TEST(Xgboost, TextIsJson) {
  const auto refused = [](const std::string& text, const std::string& what) {
    EXPECT_THAT([&] { read(text); }, fails_with(what)) << text;
  };
  refused(R"({"learner": {"a" 1}})", "got '1', expected ':'");
  refused(R"({"learner": [1 2]})", "\"learner\" is");
  refused(R"({"other": [1 2]})", "at byte 13 of its JSON: got '2', expected ','");
  refused(R"({"other": [1,]})", "expected a value");
  refused(R"({"other": 1,})", "expected '\"'");
  refused(R"({"other": })", "expected a value");
  refused(R"({"other": "\u12"})", "parse error");
  refused("{\"other\": \"\\", "it is cut off");
  refused(R"({"other": ]})", "expected a value");
  refused(R"({"other": [}})", "expected a value");
  refused(std::string(100'000, '['), "it is not a JSON object");
  refused("{\"other\":" + std::string(100'000, '['), "nested deeper than 64");
}

TEST(Xgboost, ListsInBytesThatSayThatTheyAreHugeAreRefused) {
  using namespace std::literals;
  const auto refused = [](std::string_view bytes, const std::string& what) {
    EXPECT_THAT([&] { read_xgboost_ubjson(bytes, "model F: "); }, fails_with(what));
  };
  refused("{i\5other[$Z#L\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF}"sv, "more values than bytes");
  refused("{i\5other[$T#L\0\0\0\x10\0\0\0\0}"sv, "more values than bytes");
  refused("{i\5other[$d#L\0\0\0\x10\0\0\0\0}"sv, "unexpected end of input");
  refused("{i\5otherSL\0\0\0\x10\0\0\0\0}"sv, "unexpected end of input");
  refused("{i\5other" + std::string(100'000, '['), "nested deeper than 64");
}

}  // namespace
}  // namespace tensoa::forest
