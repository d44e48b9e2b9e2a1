// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/output_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "../support/temporary_folder.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  static std::string contents(const fs::path& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  test::TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
};

TEST_F(OutputFileTest, WritesTheWholeFileAndLeavesNothingElse) {
  write_file(folder_ / "a.txt", "hello");
  write_file(folder_ / "a.txt", "again");
  EXPECT_EQ(contents(folder_ / "a.txt"), "again");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, WhatIsNotCommittedDisappearsAndTheOldFileStays) {
  write_file(folder_ / "a.txt", "old");
  {
    const OutputFile file(folder_ / "a.txt");
    std::ofstream(file.temporary()) << "half";
    EXPECT_EQ(files(), 2);
  }
  EXPECT_EQ(contents(folder_ / "a.txt"), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, APathThatCannotBeWrittenIsFoundAtOnce) {
  try {
    const OutputFile file(folder_ / "missing" / "a.txt");
    FAIL();
  } catch (const OutputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("missing/a.txt: No such file or directory"));
  }
  EXPECT_THROW(OutputFile{folder_}, OutputError);
}

TEST_F(OutputFileTest, ALinkStaysALinkAndItsTargetIsReplaced) {
  write_file(folder_ / "real.txt", "old");
  fs::create_symlink("real.txt", folder_ / "link.txt");
  write_file(folder_ / "link.txt", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.txt"));
  EXPECT_EQ(contents(folder_ / "real.txt"), "new");
  EXPECT_EQ(files(), 2);
}

TEST_F(OutputFileTest, ANameOfTheLongestLengthIsFine) {
  write_file(folder_ / std::string(255, 'n'), "text");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, ADeviceIsWrittenAndNotReplaced) {
  write_file("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace tensoa
