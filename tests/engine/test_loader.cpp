// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/loader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_engine.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

using test::FakeEngines;
using test::TemporaryFile;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class FindLoader : public testing::Test {
 protected:
  void SetUp() override { FakeEngines::reset(); }

  TemporaryFile fake_{"model.fake"};
  TemporaryFile aot_{"model.aot"};
};

TEST_F(FindLoader, TakesTheOneThatAcceptsTheFile) {
  EXPECT_EQ(find_loader(fake_.path())->name(), "Fake");
  EXPECT_EQ(find_loader(aot_.path())->name(), "FakeAot");
  EXPECT_EQ(find_loader(aot_.path(), CompilationType::kAheadOfTime)->name(), "FakeAot");
}

TEST_F(FindLoader, RefusesOneThatCompilesOtherwiseThanAsked) {
  EXPECT_THAT(
      [&] { find_loader(aot_.path(), CompilationType::kJustInTime); },
      ThrowsMessage<LoadError>(HasSubstr("model.aot: is of the kind \"FakeAot\", which is compiled "
                                         "ahead-of-time, got CompilationType::kJustInTime; request "
                                         "CompilationType::kAheadOfTime, or leave the type out")));
  EXPECT_THAT([&] { find_loader(fake_.path(), CompilationType::kAheadOfTime); },
              ThrowsMessage<LoadError>(HasSubstr("; request CompilationType::kJustInTime, or")));
}

TEST_F(FindLoader, RefusesAFileThatNoLoaderAccepts) {
  const TemporaryFile other("model.other_kind");
  EXPECT_THAT([&] { find_loader(other.path()); },
              ThrowsMessage<LoadError>(
                  AllOf(HasSubstr("model.other_kind: is in a format that is not known, or damaged; "
                                  "expected one of: Fake, FakeAot"),
                        HasSubstr("not registered: package (package::register_engines()), tree "
                                  "file (forest::register_engines()), TorchScript ("),
                        testing::Not(HasSubstr("request")))));
}

TEST_F(FindLoader, SaysWhatAFileIsWhereALoaderKnowsIt) {
  const TemporaryFile almost("model.almost");
  EXPECT_THAT([&] { find_loader(almost.path()); },
              ThrowsMessage<LoadError>("model " + almost.path().string() +
                                       ": is almost a fake; finish it"));
}

TEST_F(FindLoader, OfAFileThatIsNotThereSaysSo) {
  EXPECT_THAT([] { find_loader("no/such/model.fake"); },
              ThrowsMessage<LoadError>("model no/such/model.fake: there is no such file"));
  const std::string folder = fake_.path().parent_path().string();
  EXPECT_THAT([&] { find_loader(folder); },
              ThrowsMessage<LoadError>("model " + folder + ": is not a file"));
}

TEST_F(FindLoader, GivesAUrlToTheOneOfItsScheme) {
  EXPECT_EQ(find_loader("fake://host:8001/network")->name(), "Fake");
  EXPECT_THAT([] { find_loader("grpc://host:8001/network"); },
              ThrowsMessage<LoadError>(
                  "model grpc://host:8001/network: is a URL, and no engine of this program speaks "
                  "grpc://; models of servers need remote::register_engines()"));
  EXPECT_THAT([] { find_loader("ftp://host/network"); },
              ThrowsMessage<LoadError>(HasSubstr("speaks ftp://; give the path of a file")));
}

TEST_F(FindLoader, OneOfTheSameNameIsReplaced) {
  const TemporaryFile other("model.other");
  test::register_function("Fake", ".other", nullptr);
  EXPECT_EQ(find_loader(other.path())->name(), "Fake");
  EXPECT_THROW(find_loader(fake_.path()), LoadError);
  EXPECT_THROW(register_loader(nullptr), ConfigError);
}

TEST(ModelLocation, IsAUrlWhereItBeginsWithAScheme) {
  EXPECT_EQ(ModelLocation("GRPC://host:8001/network/3").scheme(), "grpc");
  EXPECT_EQ(ModelLocation("a+b-c.d1://x").scheme(), "a+b-c.d1");
  EXPECT_EQ(to_string(ModelLocation("grpcs://host")), "grpcs://host");
  EXPECT_THAT(
      [] { static_cast<void>(ModelLocation("grpc://host").path()); },
      ThrowsMessage<ConfigError>("model grpc://host: is a URL, expected the path of a file"));
}

TEST(ModelLocation, IsAPathOtherwise) {
  for (const char* path : {"model.pt2", "/a/b.pt", "a:b.pt", "c://b.pt", "1a://b", "a b://c", "",
                           "://b", "folder/x://y"}) {
    EXPECT_FALSE(ModelLocation(path).is_url()) << path;
    EXPECT_EQ(ModelLocation(path).path(), path);
  }
  EXPECT_FALSE(ModelLocation(std::filesystem::path("grpc://host")).is_url()) << "as it says";
}

TEST(ModelOptions, AreOneSetForEachEngine) {
  ModelOptions options = test::FakeOptions{.number = 1};
  options.set(test::OtherOptions{}).set(test::FakeOptions{.number = 2});
  EXPECT_EQ(options.entries().size(), 2U);
  EXPECT_EQ(options.get<test::FakeOptions>().number, 2);
  EXPECT_EQ(ModelOptions().get<test::FakeOptions>().number, 0);
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
