// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "tensoa/core/error.hpp"
#include "tensoa/forest/readers.hpp"
#include "tree_files.hpp"

namespace tensoa::forest {
namespace {

using test::expect_answers;
using test::expect_margins;
using test::tree_file;
using test::tree_files;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

auto fails_with(const std::string& what) {
  return ThrowsMessage<LoadError>(AllOf(StartsWith("model F: "), HasSubstr(what)));
}

Ensemble read(const std::string& text, const ReadOptions& options = {}) {
  return read_lightgbm(text, "model F: ", options);
}

/// A model with the rest of the line behind `beginning` replaced; of the trees that in tree `number`.
std::string with(const std::string& name, const std::string& beginning, const std::string& rest,
                 int number = -1) {
  std::string text = tree_file(name);
  std::size_t at = 0;
  if (number >= 0) at = text.find("\nTree=" + std::to_string(number) + '\n');
  at = text.find('\n' + beginning, at);
  if (at == std::string::npos) throw std::runtime_error("no line " + beginning);
  at += 1 + beginning.size();
  return text.replace(at, text.find('\n', at) - at, rest);
}

std::string without(const std::string& name, const std::string& beginning, int number = -1) {
  std::string text = with(name, beginning, "\x1", number);
  const std::size_t end = text.find('\x1');
  return text.erase(end - beginning.size(), beginning.size() + 2);
}

void expect_refused(const std::string& text, const std::string& what) {
  EXPECT_THAT([&] { read(text); }, fails_with(what));
}

TEST(Lightgbm, MarginsAreItsRawScoresToTheBit) {
  const auto files = tree_files("lightgbm_", ".txt");
  EXPECT_GE(files.size(), 20U);
  for (const auto& file : files) {
    SCOPED_TRACE(file.filename());
    expect_margins(read_tree_file(file), file);
  }
}

TEST(Lightgbm, LinksGiveItsAnswers) {
  for (const auto& file : tree_files("lightgbm_", ".txt")) {
    SCOPED_TRACE(file.filename());
    expect_answers(read_tree_file(file), file, 1e-14);
  }
}

// Values up to 1e-35f go where 0 goes: thresholds there are among the models.
TEST(Lightgbm, ThresholdsNextToZeroAreTested) {
  EXPECT_THAT(tree_file("lightgbm_regression.txt"), HasSubstr(" -1.0000000180025095e-35 "));
  EXPECT_THAT(tree_file("lightgbm_regression.txt"), HasSubstr(" 1.0000000180025095e-35 "));
}

TEST(Lightgbm, LinesMayEndAsOnWindows) {
  std::string text;
  for (const char c : tree_file("lightgbm_categories.txt"))
    text += c == '\n' ? "\r\n" : std::string(1, c);
  EXPECT_EQ(kind_of(text), TreeFile::kLightgbm);
  EXPECT_EQ(to_bytes(read(text)), to_bytes(read(tree_file("lightgbm_categories.txt"))));
}

TEST(Lightgbm, TreesEndedOtherwiseOnce) {
  std::string text = tree_file("lightgbm_categories.txt");
  text.replace(text.find("end of trees"), 12, "\nfeature importances:");
  EXPECT_EQ(to_bytes(read(text)), to_bytes(read(tree_file("lightgbm_categories.txt"))));
}

TEST(Lightgbm, SaysWhatTheModelIs) {
  const Ensemble binary = read(tree_file("lightgbm_binary.txt"));
  EXPECT_EQ(binary.source, "LightGBM, text v4");
  EXPECT_EQ(binary.objective, "binary sigmoid:1.7");
  EXPECT_EQ(binary.link, Link::kSigmoid);
  EXPECT_EQ(binary.link_scale, 1.7);
  EXPECT_EQ(binary.columns, 7U);
  EXPECT_TRUE(binary.column_names.empty());
  EXPECT_EQ(binary.features, Precision::kFloat64);
  EXPECT_EQ(binary.sums, Precision::kFloat64);
  EXPECT_EQ(read(tree_file("lightgbm_names.txt")).column_names.at(6), "feature_6µ");
  EXPECT_EQ(read(tree_file("lightgbm_sqrt.txt")).link, Link::kSignedSquare);
  EXPECT_EQ(read(tree_file("lightgbm_poisson.txt")).link, Link::kExp);
  EXPECT_EQ(read(tree_file("lightgbm_multiclass.txt")).link, Link::kSoftmax);
  EXPECT_EQ(read(tree_file("lightgbm_multiclassova.txt")).link_scale, 0.7);
  EXPECT_EQ(read(tree_file("lightgbm_cross_entropy_lambda.txt")).link, Link::kSoftplus);
  EXPECT_EQ(read(tree_file("lightgbm_forest.txt")).divisor, 7);
  EXPECT_EQ(read(without("lightgbm_regression.txt", "objective=")).link, Link::kNone);
}

TEST(Lightgbm, TakesANumberOfRounds) {
  const std::string text = tree_file("lightgbm_multiclass.txt");
  EXPECT_EQ(read(text).trees.size(), 24U);
  EXPECT_EQ(read(text, {.rounds = 5}).trees.size(), 15U);
  EXPECT_EQ(read(tree_file("lightgbm_forest.txt"), {.rounds = 5}).divisor, 5);
  EXPECT_THAT([&] { read(text, {.rounds = 9}); }, fails_with("it has 8 rounds, 9 are wanted"));
  EXPECT_THAT([&] { read(text, {.best_iteration = true}); },
              fails_with("does not state which iteration was the best"));
}

TEST(Lightgbm, ANoteSaysThatCategoriesHadNames) {
  const std::string name = "lightgbm_regression.txt";
  EXPECT_THAT(read(tree_file(name)).notes, testing::IsEmpty());
  EXPECT_THAT(read(with(name, "pandas_categorical:", "[[\"a\", \"b\"], [0, 1]]")).notes,
              testing::ElementsAre(StartsWith("its categories had names")));
}

TEST(Lightgbm, TreesAreCounted) {
  const std::string name = "lightgbm_regression.txt";
  expect_refused(with(name, "Tree=", "7", 1), "tree 1: its number is 7");
  expect_refused(with(name, "tree_sizes=", "9 9 9"), "it has 8 trees, tree_sizes has 3 values");
  EXPECT_EQ(to_bytes(read(without(name, "tree_sizes="))), to_bytes(read(tree_file(name))));
}

TEST(Lightgbm, CutOffAnywhereIsAnError) {
  const std::string text = tree_file("lightgbm_categories.txt");
  const std::size_t end = text.find("end of trees") + 12;
  for (std::size_t size = 0; size < end; size += size + 300 < end ? 7 : 1) {
    EXPECT_THROW(read(text.substr(0, size)), LoadError) << size;
  }
  EXPECT_NO_THROW(read(text.substr(0, end)));
  expect_refused(text.substr(0, end - 20), "it is cut off: after tree 8 there is no \"end of tr");
}

TEST(Lightgbm, WhatItCannotDoIsRefusedByName) {
  const std::string name = "lightgbm_regression.txt";
  expect_refused(with(name, "objective=", "focal gamma:2"), "its objective focal is unknown; expe");
  expect_refused(with(name, "objective=", "huber sqrt"),
                 "its objective huber sqrt is unknown: sqr");
  expect_refused(with(name, "is_linear=", "1", 2), "tree 2: its leaves are linear models");
  expect_refused(with(name, "decision_type=", "12 2 2 2 2 2 2 2 2 2 2", 2),
                 "tree 2: node 0: its decision_type 12 is unknown");
  expect_refused(with(name, "pandas_categorical:", "[[\"a\"], [0, 1], [10, 20]]"),
                 "categories that are not the numbers 0, 1, 2");
  EXPECT_NO_THROW(read(with(name, "pandas_categorical:", "[[\"a\", \"b\"], [0, 1, 2]]")));
  expect_refused(with(name, "pandas_categorical:", "[["), "pandas_categorical is damaged");
}

TEST(Lightgbm, MissingKeysAreNamed) {
  const std::string name = "lightgbm_categories.txt";
  for (const char* key : {"num_class", "max_feature_idx", "feature_names"}) {
    expect_refused(without(name, std::string(key) + '='), std::string(key) + " is missing");
  }
  for (const char* key : {"num_leaves", "leaf_value", "split_feature", "threshold", "left_child",
                          "right_child", "cat_boundaries", "cat_threshold"}) {
    expect_refused(without(name, std::string(key) + '=', 3),
                   "tree 3: " + std::string(key) + " is missing");
  }
  expect_refused("tree\n", "is missing");
  expect_refused("", "tree is missing");
}

TEST(Lightgbm, DamagedTreesAreRefused) {
  const std::string name = "lightgbm_regression.txt";
  const auto tree = [&](const std::string& key, const std::string& rest) {
    return with(name, key + '=', rest, 2);
  };
  const std::string rest = " 2 3 4 5 6 7 8 9 10 -1";
  expect_refused(tree("left_child", "0" + rest), "tree 2: node 0 leads to node 0, to which anoth");
  expect_refused(tree("left_child", "11" + rest), "to which another one leads, too");
  expect_refused(tree("left_child", "99" + rest), "tree 2: node 0 leads to node 99, expected 1 to");
  expect_refused(tree("left_child", "-99" + rest), "tree 2: node 0 leads to node 109, expected 1");
  expect_refused(tree("left_child", "-2147483648" + rest), "tree 2: node 0 leads to node");
  expect_refused(tree("left_child", "1 2"), "tree 2: left_child has 2 values, expected 11");
  expect_refused(tree("left_child", "1.5" + rest),
                 "tree 2: left_child has \"1.5\", expected a who");
  expect_refused(tree("num_leaves", "0"), "tree 2: num_leaves is 0, expected 1 to");
  expect_refused(tree("num_leaves", "1000000000"), "tree 2: leaf_value has 12 values, expected");
  expect_refused(tree("leaf_value", "x"), "tree 2: leaf_value has \"x\", expected a number");
  expect_refused(tree("split_feature", "7 1 1 1 1 1 1 1 1 1 1"), "its column is 7, there are 7");
  expect_refused(tree("split_feature", "-1 1 1 1 1 1 1 1 1 1 1"), "its column is -1");
  expect_refused(tree("threshold", "nan 1 1 1 1 1 1 1 1 1 1"), "its threshold is not a number");
  expect_refused(with(name, "num_tree_per_iteration=", "3"), "it has 8 trees, expected a multiple");
  expect_refused(with(name, "num_tree_per_iteration=", "9000000000"), "num_tree_per_iteration is");
  expect_refused(with(name, "max_feature_idx=", "7"), "feature_names has 7 names, expected 8");
  expect_refused(with(name, "max_feature_idx=", "-1"), "max_feature_idx is -1");
}

TEST(Lightgbm, DamagedCategoriesAreRefused) {
  const auto tree = [&](const std::string& key, const std::string& rest) {
    return with("lightgbm_categories.txt", key + '=', rest, 0);
  };
  expect_refused(tree("num_cat", "3"), "tree 0: cat_boundaries has");
  expect_refused(tree("num_cat", "0"), ", there are 0");
  expect_refused(tree("cat_boundaries", "0 5 10 15 4294967295"), "cat_threshold has 20 values");
  expect_refused(tree("cat_boundaries", "0 15 10 5 20"), "cat_boundaries do not ascend from 0");
  expect_refused(tree("cat_boundaries", "5 5 10 15 20"), "cat_boundaries do not ascend from 0");
}

}  // namespace
}  // namespace tensoa::forest
