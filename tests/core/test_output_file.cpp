// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/output_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

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

TEST_F(OutputFileTest, APathThatCannotBeWrittenIsRefusedImmediately) {
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

TEST_F(OutputFileTest, APipeIsWrittenAndNotReplaced) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string text;
  std::thread reader([&] { text = contents(pipe); });  // to the first end of file
  OutputFile file(pipe);
  write_file(file, "hello");
  reader.join();
  EXPECT_EQ(text, "hello");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(OutputFileTest, ALinkToAFileThatIsNotThereStaysALink) {
  const fs::path link = folder_ / "link";
  fs::create_symlink("missing.txt", link);
  write_file(link, "hello");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(contents(folder_ / "missing.txt"), "hello");
}

TEST_F(OutputFileTest, AFileInSharedMemoryIsReplacedAsAnyOther) {
  const fs::path shared = "/dev/shm/tensoa-test-" + std::to_string(getpid());
  if (!fs::is_directory(shared.parent_path())) GTEST_SKIP() << "there is no /dev/shm";
  write_file(shared, "a longer text");
  write_file(shared, "again");
  EXPECT_EQ(contents(shared), "again");
  {
    const OutputFile file(shared);
    std::ofstream(file.temporary()) << "half";
  }
  EXPECT_EQ(contents(shared), "again");
  fs::remove(shared);
}

TEST_F(OutputFileTest, AnOpenDescriptorIsWrittenWhereItStands) {
  const fs::path file = folder_ / "redirected";
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT, 0600);
  const std::string number = std::to_string(descriptor);
  fs::create_symlink("/dev/fd/" + number, folder_ / "link");
  ASSERT_EQ(write(descriptor, "a", 1), 1);
  write_file("/dev/fd/" + number, "b");
  write_file("/proc/self/fd/" + number, "c");
  write_file(folder_ / "link", "d");
  ASSERT_EQ(write(descriptor, "e", 1), 1);
  close(descriptor);
  EXPECT_EQ(contents(file), "abcde");
  EXPECT_EQ(files(), 2);
}

TEST_F(OutputFileTest, ATemporaryFileIsHiddenAndSaysWhatItBelongsTo) {
  const OutputFile file(folder_ / "tracks.csv");
  EXPECT_EQ(file.temporary().parent_path(), folder_);
  EXPECT_THAT(file.temporary().filename().string(), testing::StartsWith(".tracks.csv.tensoa"));
  std::string longest;
  for (int i = 0; i < 85; ++i) longest += "\u4e8b";  // three bytes each
  const OutputFile other(folder_ / longest);
  EXPECT_THAT(other.temporary().filename().string(),
              testing::StartsWith('.' + longest.substr(0, 198) + ".tensoa"));
}

TEST_F(OutputFileTest, WhatIsNotFinishedCanBeRemovedInASignalHandler) {
  write_file(folder_ / "finished.txt", "text");
  write_file(folder_ / "old.txt", "text");
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGTERM, [](int) {
      remove_unfinished_files();
      _exit(7);
    });
    const OutputFile replaces(folder_ / "old.txt");
    OutputFile moved(folder_ / "new.txt");
    const OutputFile to(std::move(moved));
    for (int i = 0; i < 100; ++i)
      write_file(folder_ / "many.txt", "text");  // places are used again
    { const OutputFile given_up(folder_ / "given_up.txt"); }
    const OutputFile last(folder_ / "last.txt");
    raise(SIGTERM);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(files(), 3);
  EXPECT_EQ(contents(folder_ / "old.txt"), "text");
}

TEST_F(OutputFileTest, AFileThatIsTooLargeIsAnErrorAndLeavesNothing) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write_file(folder_ / "a.txt", std::string(100000, 'x'));
    } catch (const OutputError& error) {
      _exit(std::string(error.what()).ends_with("a.txt: File too large") ? 7 : 1);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(files(), 0);
}

}  // namespace
}  // namespace tensoa
