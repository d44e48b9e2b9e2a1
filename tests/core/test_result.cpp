// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/result.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tensoa {
namespace {

TEST(Result, HoldsAValue) {
  const Result<int> result = 7;
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, 7);
  EXPECT_EQ(result.value(), 7);
  EXPECT_STREQ(result.message(), "");
}

TEST(Result, ValueOfAFailureThrowsTheErrorWithItsType) {
  const auto result = Result<int>::failure(BindingError("block \"x\": wrong"));
  EXPECT_FALSE(result);
  EXPECT_STREQ(result.message(), "block \"x\": wrong");
  EXPECT_THROW(static_cast<void>(result.value()), BindingError);
}

TEST(Result, OfTurnsAnErrorIntoAFailureAndLetsOthersPass) {
  const auto failed = Result<int>::of([]() -> int { throw EngineError("it broke"); });
  EXPECT_STREQ(failed.message(), "it broke");
  EXPECT_THROW(static_cast<void>(Result<int>::of([]() -> int { throw std::logic_error("a bug"); })),
               std::logic_error);
  EXPECT_EQ(Result<std::string>::of([] { return std::string("fine"); }).value(), "fine");
}

}  // namespace
}  // namespace tensoa
