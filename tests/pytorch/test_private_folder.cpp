// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "private_folder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <list>
#include <string>
#include <thread>
#include <vector>

namespace tensoa::pytorch {
namespace {

class PrivateFolderTest : public testing::Test {
 protected:
  PrivateFolderTest() { setenv("TENSOA_PACKAGE_FOLDER", parent_.c_str(), 1); }
  ~PrivateFolderTest() override {
    unsetenv("TENSOA_PACKAGE_FOLDER");
    std::filesystem::remove(parent_);
  }

  std::ptrdiff_t entries() const {
    return std::distance(std::filesystem::directory_iterator(parent_), {});
  }

  std::filesystem::path parent_ =
      std::filesystem::path(testing::TempDir()) / ("private-" + std::to_string(getpid()));
};

TEST_F(PrivateFolderTest, GoesWithItsFiles) {
  {
    const PrivateFolder folder;
    std::ofstream(folder.path() / "file") << "content";
    EXPECT_EQ(std::filesystem::status(folder.path()).permissions(),
              std::filesystem::perms::owner_all);
    EXPECT_EQ(entries(), 1);
  }
  EXPECT_EQ(entries(), 0);
}

TEST_F(PrivateFolderTest, ThoseThatAreUsedStay) {
  std::list<PrivateFolder> folders(3);
  EXPECT_EQ(entries(), 3);
  folders.pop_front();
  folders.emplace_back();
  EXPECT_EQ(entries(), 3);
}

TEST_F(PrivateFolderTest, WhatAKilledProcessLeftGoesWithTheNextOne) {
  const PrivateFolder used;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const PrivateFolder left;
    std::ofstream(left.path() / "file") << "content";
    if (write(ready[1], "x", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char told = 0;
  ASSERT_EQ(read(ready[0], &told, 1), 1);
  { const PrivateFolder other; }
  EXPECT_EQ(entries(), 2) << "the process lives";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(entries(), 2);
  {
    const PrivateFolder other;
    EXPECT_EQ(entries(), 2) << "its own, and the one that is used";
  }
  EXPECT_EQ(entries(), 1);
  EXPECT_TRUE(std::filesystem::exists(used.path()));
}

TEST_F(PrivateFolderTest, ManyAtOnceLeaveEachOtherAlone) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([] {
      for (int repeat = 0; repeat < 20; ++repeat) {
        const PrivateFolder folder;
        std::ofstream(folder.path() / "file") << "content";
        ASSERT_TRUE(std::filesystem::exists(folder.path() / "file"));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(entries(), 0);
}

}  // namespace
}  // namespace tensoa::pytorch
