// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/own_library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace tensoa {
namespace {

using testing::HasSubstr;

TEST(OwnLibrary, IsFoundWhereTheLinkerLooks) {
  std::string why;
  EXPECT_NE(find_in_own_library("libm.so.6", "cos", why), nullptr);
  EXPECT_EQ(why, "");
}

TEST(OwnLibrary, SaysWhatTheLinkerSays) {
  std::string why;
  EXPECT_EQ(find_in_own_library("libtensoa_none.so", "name", why), nullptr);
  EXPECT_THAT(why, HasSubstr("libtensoa_none.so: cannot open shared object file"));
  why.clear();
  EXPECT_EQ(find_in_own_library("libm.so.6", "tensoa_none", why), nullptr);
  EXPECT_THAT(why, HasSubstr("undefined symbol: tensoa_none"));
}

TEST(OwnLibrary, OfAProgramLiesWhereTheProgramDoes) {
  EXPECT_EQ(own_folder(), std::filesystem::canonical("/proc/self/exe").parent_path());
}

}  // namespace
}  // namespace tensoa
