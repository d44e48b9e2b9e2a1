// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_engine.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

using test::FakeEngines;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class FindEngine : public testing::Test {
 protected:
  void SetUp() override { FakeEngines::reset(); }
};

TEST_F(FindEngine, TakesTheKindThatAcceptsThePath) {
  EXPECT_EQ(find_engine("model.fake", CompilationType::kAny).name, "Fake");
  EXPECT_EQ(find_engine("model.aot", CompilationType::kAny).name, "FakeAot");
  EXPECT_EQ(find_engine("model.aot", CompilationType::kAheadOfTime).name, "FakeAot");
}

TEST_F(FindEngine, RefusesAKindThatCompilesOtherwiseThanAsked) {
  EXPECT_THAT([] { find_engine("model.aot", CompilationType::kJustInTime); },
              ThrowsMessage<LoadError>(
                  AllOf(HasSubstr("model model.aot: no engine loads this kind of file"),
                        HasSubstr("(asked for: just-in-time)"), HasSubstr("Fake (just-in-time)"),
                        HasSubstr("FakeAot (ahead-of-time)"),
                        HasSubstr("; FakeAot would load it: ask for ahead-of-time "
                                  "(CompilationType::kAheadOfTime), or leave the type out"))));
  EXPECT_THAT([] { find_engine("model.fake", CompilationType::kAheadOfTime); },
              ThrowsMessage<LoadError>(HasSubstr("; Fake would load it: ask for just-in-time "
                                                 "(CompilationType::kJustInTime)")));
}

TEST_F(FindEngine, RefusesAPathThatNobodyAccepts) {
  EXPECT_THAT([] { find_engine("model.onnx", CompilationType::kAny); },
              ThrowsMessage<LoadError>(
                  AllOf(HasSubstr("there is: Fake (just-in-time), FakeAot (ahead-of-time)"),
                        testing::Not(HasSubstr("would load it")))));
}

TEST_F(FindEngine, AKindOfTheSameNameIsReplaced) {
  register_engine({"Fake", CompilationType::kJustInTime,
                   [](const std::filesystem::path& path) { return path.extension() == ".other"; },
                   nullptr});
  EXPECT_EQ(find_engine("model.other", CompilationType::kAny).name, "Fake");
  EXPECT_THROW(find_engine("model.fake", CompilationType::kAny), LoadError);
}

TEST(CompilationType, HasNames) {
  EXPECT_EQ(name_of(CompilationType::kAny), "any");
  EXPECT_EQ(name_of(CompilationType::kJustInTime), "just-in-time");
  EXPECT_EQ(name_of(CompilationType::kAheadOfTime), "ahead-of-time");
}

TEST(CopyReport, Adds) {
  CopyReport report{.bytes_in = 1, .bytes_out = 2};
  report += {.bytes_in = 10, .bytes_out = 20};
  EXPECT_EQ(report, (CopyReport{.bytes_in = 11, .bytes_out = 22}));
}

}  // namespace
}  // namespace tensoa
