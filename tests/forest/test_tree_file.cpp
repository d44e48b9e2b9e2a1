// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/temporary_folder.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/forest/readers.hpp"
#include "tree_files.hpp"

namespace tensoa::forest {
namespace {

using test::tree_file;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

auto fails_with(const std::string& what) { return ThrowsMessage<LoadError>(HasSubstr(what)); }

TEST(TreeFile, KindsAreKnownByTheirBytes) {
  EXPECT_EQ(kind_of(tree_file("xgboost_binary.json")), TreeFile::kXgboostJson);
  EXPECT_EQ(kind_of(tree_file("xgboost_binary.ubj")), TreeFile::kXgboostUbjson);
  EXPECT_EQ(kind_of(tree_file("lightgbm_binary.txt")), TreeFile::kLightgbm);
  EXPECT_EQ(kind_of("{\n  \"version\": [1, 0, 0],"), TreeFile::kXgboostJson);
  EXPECT_EQ(kind_of("\n {\"learner\": {"), TreeFile::kXgboostJson);
  for (const char* other : {"", "{", "{ ", "{}", "{\"a\": 1}", "{L", "tree", "trees\n", "[1]",
                            "<MethodSetup Method=\"BDT\">", "PK\3\4", "tensoa forest 1\n"}) {
    EXPECT_EQ(kind_of(other), std::nullopt) << other;
  }
}

TEST(TreeFile, NamesSayNothing) {
  const test::TemporaryFolder folder;
  const std::string text = tree_file("lightgbm_binary.txt");
  EXPECT_EQ(to_bytes(read_tree_file(folder.write("model.json", text))),
            to_bytes(read_lightgbm(text, "")));
  EXPECT_EQ(to_bytes(read_trees(text, "")), to_bytes(read_lightgbm(text, "")));
  const std::string bytes = tree_file("xgboost_binary.ubj");
  EXPECT_EQ(to_bytes(read_tree_file(folder.write("model.txt", bytes))),
            to_bytes(read_xgboost_ubjson(bytes, "")));
}

TEST(TreeFile, OthersAreRefused) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(
      [&] { read_tree_file(folder.write("model.json", "{\"a\": 1}")); },
      fails_with("model.json: it is none of XGBoost (JSON, UBJSON, binary; the first key is "
                 "learner or version) or LightGBM (text); other formats become packages by tensoa "
                 "compile"));
  EXPECT_THAT([&] { read_tree_file(folder.write("empty", "")); }, fails_with("it is none of"));
  EXPECT_THAT([&] { read_tree_file(folder.path() / "absent"); }, fails_with("No such file"));
  EXPECT_THAT([&] { read_tree_file(folder.path()); }, fails_with("Is a directory"));
  EXPECT_THAT([&] { read_tree_file(folder.write("cut", "tree\nversion=v4\n")); },
              fails_with("cut: this model of LightGBM cannot be read: max_feature_idx is missing"));
}

}  // namespace
}  // namespace tensoa::forest
