// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "library_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>

#include "support/environment.hpp"
#include "support/temporary_folder.hpp"

namespace tensoa::onnx {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr const char* kVariable = "TENSOA_ONNXRUNTIME";

/// Where the tests have it.
std::filesystem::path capi() { return std::getenv(kVariable); }

std::string opened() {
  std::string file;
  EXPECT_NE(open_library(file), nullptr);
  return file;
}

TEST(LibraryFile, IsAFolderOrAFileAsTheVariableSays) {
  const std::string in_folder = opened();
  EXPECT_EQ(std::filesystem::path(in_folder).parent_path(), capi());
  const test::Variable is_file(kVariable, in_folder);
  EXPECT_EQ(opened(), in_folder);
}

TEST(LibraryFile, AVariableThatLeadsNowhereIsAnErrorThatSaysHowToGetIt) {
  const test::TemporaryFolder folder;
  const std::string none = (folder.path() / "none.so").string();
  std::string file;
  {
    const test::Variable variable(kVariable, none);
    EXPECT_THAT([&] { open_library(file); },
                ThrowsMessage<std::runtime_error>(
                    AllOf(HasSubstr("TENSOA_ONNXRUNTIME is " + none + ", which cannot be opened"),
                          HasSubstr("pip install onnxruntime"))));
  }
  const test::Variable variable(kVariable, folder.path().string());
  EXPECT_THAT([&] { open_library(file); },
              ThrowsMessage<std::runtime_error>(HasSubstr("where there is no libonnxruntime.so")));
}

TEST(LibraryFile, IsFoundInAPythonPackage) {
  const std::filesystem::path package = capi().parent_path();
  const std::filesystem::path python = package.parent_path().parent_path().parent_path();
  const test::Variable none(kVariable, "");
  {
    find_package_by([&] { return package; });
    EXPECT_EQ(std::filesystem::path(opened()).parent_path(), package / "capi");
    find_package_by({});
  }
  const test::Variable environment("VIRTUAL_ENV", python.parent_path().string());
  EXPECT_EQ(std::filesystem::path(opened()).parent_path(), package / "capi");
}

/// In a process that has not opened it: the dynamic linker finds again what is there.
TEST(LibraryFile, SaysWhereItWasLookedFor) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const test::Variable none(kVariable, "");
  const test::Variable environment("VIRTUAL_ENV", "");
  const test::Variable python("TENSOA_PYTHON", "");
  const auto open = [] {
    try {
      opened();
    } catch (const std::runtime_error& error) {
      std::cerr << error.what();
      std::exit(3);
    }
    std::exit(0);
  };
  EXPECT_EXIT(open(), testing::ExitedWithCode(3),
              AllOf(HasSubstr("which is not installed: no libonnxruntime.so in "),
                    HasSubstr("pip install onnxruntime"), HasSubstr("tensoa compile")));
}

}  // namespace
}  // namespace tensoa::onnx
