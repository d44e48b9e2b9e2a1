// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tensoa/core/error.hpp"
#include "tensoa/forest/readers.hpp"
#include "tree_files.hpp"

namespace tensoa::forest {
namespace {

using test::expect_margins;
using test::tree_files;

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

}  // namespace
}  // namespace tensoa::forest
