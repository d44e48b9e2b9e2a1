// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/forest/readers.hpp"
#include "tree_files.hpp"

namespace tensoa::forest {
namespace {

using nlohmann::json;
using test::expect_margins;
using test::tree_file;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Values one after another, as XGBoost wrote them.
class Writer {
 public:
  template <class Value>
  Writer& put(Value value, std::size_t times = 1) {
    for (; times > 0; --times) bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Writer& text(std::string_view value) {
    put(std::uint64_t{value.size()});
    bytes += value;
    return *this;
  }

  std::string bytes;
};

std::int32_t integer(const json& text) { return std::stoi(text.get<std::string>()); }

/// The file of XGBoost 3.0 for a model that a newer one wrote as JSON.
/// @param version 0: before 1.0, whose base score is a margin
std::string binary(const std::string& name, std::uint32_t version = 3, float base = 0.5F,
                   std::int32_t roots = 1) {
  const json learner = json::parse(tree_file(name))["learner"];
  const json& booster = learner["gradient_booster"];
  const bool is_dart = booster["name"] == "dart";
  const json& model = is_dart ? booster["gbtree"]["model"] : booster["model"];
  const auto trees = static_cast<std::int32_t>(model["trees"].size());
  const json& param = learner["learner_model_param"];
  Writer out;
  out.put(base).put(integer(param["num_feature"])).put(integer(param["num_class"]));
  out.put(std::int32_t{1}).put(std::int32_t{0}).put(version).put(std::uint32_t{0});
  out.put(integer(param["num_target"])).put(std::int32_t{0}, 26);
  out.text(learner["objective"]["name"].get<std::string>());
  out.text(booster["name"].get<std::string>());
  out.put(trees).put(integer(model["gbtree_model_param"]["num_parallel_tree"]));
  out.put(std::int32_t{0}, 38);
  for (const json& tree : model["trees"]) {
    const std::size_t nodes = tree["left_children"].size();
    out.put(roots).put(static_cast<std::int32_t>(nodes)).put(std::int32_t{0}, 35);
    for (std::size_t n = 0; n < nodes; ++n) {
      out.put(tree["parents"][n].get<std::int32_t>());
      out.put(tree["left_children"][n].get<std::int32_t>());
      out.put(tree["right_children"][n].get<std::int32_t>());
      const bool is_left = tree["default_left"][n] != 0;
      out.put(tree["split_indices"][n].get<std::uint32_t>() | std::uint32_t{is_left} << 31U);
      out.put(tree["split_conditions"][n].get<float>());
    }
    out.put(0.0F, 4 * nodes);
  }
  for (const json& output : model["tree_info"]) out.put(output.get<std::int32_t>());
  if (is_dart) {
    const json& weights = booster["weight_drop"];
    out.put(std::uint64_t{weights.size()});
    for (const json& weight : weights) out.put(weight.get<float>());
  }
  const json attributes = learner.value("attributes", json::object());
  out.put(std::uint64_t{attributes.size()});
  for (const auto& [key, value] : attributes.items()) {
    out.text(key).text(value.get<std::string>());
  }
  return out.bytes;
}

float base_score(const std::string& name) {
  const json model = json::parse(tree_file(name));
  std::string text = model["learner"]["learner_model_param"]["base_score"];
  if (text.starts_with('[')) text.erase(0, 1);
  return std::stof(text);
}

TEST(XgboostBinary, IsTheModelThatTheOtherFormsAre) {
  for (const char* name : {"xgboost_binary.json", "xgboost_poisson.json", "xgboost_dart.json",
                           "xgboost_one_leaf.json"}) {
    SCOPED_TRACE(name);
    const std::string bytes = binary(name, 3, base_score(name));
    EXPECT_EQ(kind_of(bytes.substr(0, 512)), TreeFile::kXgboostBinary);
    const Ensemble read = read_trees(bytes, "model F: ");
    EXPECT_EQ(read.source, "XGBoost 3.0");
    expect_margins(read, std::string(TENSOA_TREE_FILES) + '/' + name);
    EXPECT_EQ(to_bytes(read_trees("binf" + bytes, "")), to_bytes(read));
  }
  // Its base score is one for each class, which this form does not have.
  EXPECT_EQ(read_trees(binary("xgboost_softprob.json"), "").trees,
            read_trees(tree_file("xgboost_softprob.json"), "").trees);
}

TEST(XgboostBinary, TheBaseScoreOfBefore1IsAMargin) {
  const Ensemble old = read_trees(binary("xgboost_binary.json", 0, -1.25F), "");
  EXPECT_EQ(old.source, "XGBoost");
  EXPECT_THAT(old.base, testing::ElementsAre(-1.25));
}

TEST(XgboostBinary, HasItsBestIteration) {
  const std::string name = "xgboost_best_iteration.json";
  const Ensemble best = read_trees(binary(name, 3, base_score(name)), "", {.best_iteration = true});
  expect_margins(best, std::string(TENSOA_TREE_FILES) + '/' + name, ".best_margins");
}

TEST(XgboostBinary, ANoteSaysWhatARoundIsTakenFor) {
  const std::string old = binary("xgboost_binary.json", 1);
  EXPECT_THAT(read_trees(old, "").notes, testing::IsEmpty());
  EXPECT_THAT(read_trees(old, "", {.rounds = 2}).notes,
              testing::ElementsAre(HasSubstr("one for each output is assumed")));
  EXPECT_THAT(read_trees(binary("xgboost_binary.json"), "", {.rounds = 2}).notes,
              testing::IsEmpty());
}

TEST(XgboostBinary, CutOffAnywhereIsAnError) {
  const std::string whole = binary("xgboost_dart.json");
  for (std::size_t size = 0; size < whole.size(); size += size + 200 < whole.size() ? 97 : 1) {
    EXPECT_THROW(read_trees(whole.substr(0, size), ""), LoadError) << size;
  }
  EXPECT_THAT([&] { read_trees(whole.substr(0, whole.size() - 1), "model F: "); },
              ThrowsMessage<LoadError>(HasSubstr("model F: this model of XGBoost cannot be read: "
                                                 "it is cut off")));
}

TEST(XgboostBinary, WhatItCannotDoIsRefusedByName) {
  const auto refused = [](const std::string& bytes, const std::string& what) {
    EXPECT_THAT([&] { read_trees(bytes, ""); }, ThrowsMessage<LoadError>(HasSubstr(what)));
  };
  refused(binary("xgboost_binary.json", 3, 0.5F, 2), "tree 0: it has 2 roots, expected one");
  constexpr std::size_t kClasses = 8;
  std::string bytes = binary("xgboost_binary.json");
  refused(bytes.replace(kClasses, 4, "\xFF\xFF\xFF\xFF"), "its number of classes is -1");
  const std::size_t name = bytes.find("gbtree");
  refused(binary("xgboost_binary.json").substr(0, name - 8) + Writer().text("gblinear").bytes,
          "its booster is gblinear, expected gbtree or dart");
  constexpr std::size_t kLeafSize = 6 + 28;  // behind the name of the booster
  bytes = binary("xgboost_binary.json");
  refused(bytes.replace(name + kLeafSize, 1, "\3"), "its leaves have 3 values, expected one");
  bytes = binary("xgboost_binary.json");
  constexpr std::size_t kNodes = 6 + 160 + 4;
  refused(bytes.replace(name + kNodes, 4, "\xFF\xFF\xFF\x7F"), "tree 0: it is cut off");
}

}  // namespace
}  // namespace tensoa::forest
