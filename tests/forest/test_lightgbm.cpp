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

TEST(Lightgbm, MarginsAreItsRawScoresToTheBit) {
  const auto files = tree_files("lightgbm_", ".txt");
  EXPECT_GE(files.size(), 20U);
  for (const auto& file : files) {
    SCOPED_TRACE(file.filename());
    expect_margins(read_tree_file(file), file);
  }
}

}  // namespace
}  // namespace tensoa::forest
