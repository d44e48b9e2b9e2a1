// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/impl/private_folder.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <list>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "../support/temporary_folder.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::package {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

constexpr uid_t kStranger = 65534;

class PrivateFolderTest : public testing::Test {
 protected:
  PrivateFolderTest() { setenv("TENSOA_PACKAGE_FOLDER", parent_.c_str(), 1); }
  ~PrivateFolderTest() override { unsetenv("TENSOA_PACKAGE_FOLDER"); }

  static std::set<std::string> names_in(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
    return names;
  }
  std::set<std::string> packages() const { return names_in(home_); }

  /// A package folder as a process of this machine that was killed leaves it.
  fs::path left_by_a_killed_process() const {
    int names[2];
    EXPECT_EQ(pipe(names), 0);
    const pid_t child = fork();
    if (child == 0) {
      const PrivateFolder folder;
      std::ofstream(folder.path() / "model.so") << "content";
      const std::string name = folder.path().filename();
      if (write(names[1], name.data(), name.size()) < 0) _exit(1);
      for (;;) pause();
    }
    char name[64] = {};
    EXPECT_GT(read(names[0], name, sizeof(name) - 1), 0);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(names[0]);
    close(names[1]);
    EXPECT_TRUE(fs::exists(home_ / name / "model.so"));
    return home_ / name;
  }

  test::TemporaryFolder temporary_;
  fs::path parent_ = temporary_.path();
  fs::path home_ = parent_ / ("tensoa-packages-" + std::to_string(geteuid()));
};

TEST_F(PrivateFolderTest, GoesWithItsFiles) {
  {
    const PrivateFolder folder;
    std::ofstream(folder.path() / "file") << "content";
    fs::create_directories(folder.path() / "a/b");
    std::ofstream(folder.path() / "a/b/file") << "content";
    EXPECT_EQ(folder.path().parent_path(), home_);
    for (const fs::path& path : {folder.path(), home_}) {
      EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    }
  }
  EXPECT_THAT(packages(), IsEmpty());
}

TEST_F(PrivateFolderTest, MakesTheFolderThatIsNamedAndStaysWhereItIsWhenTheProcessGoesElsewhere) {
  const fs::path before = fs::current_path();
  fs::current_path(parent_);
  setenv("TENSOA_PACKAGE_FOLDER", "new/below", 1);
  {
    const PrivateFolder folder;
    fs::current_path(before);
    EXPECT_TRUE(folder.path().is_absolute());
    EXPECT_TRUE(fs::exists(folder.path()));
  }
  EXPECT_THAT(names_in(parent_ / "new/below" / home_.filename()), IsEmpty());
}

TEST_F(PrivateFolderTest, ThoseThatAreUsedStay) {
  std::list<PrivateFolder> folders(3);
  EXPECT_EQ(packages().size(), 3);
  folders.pop_front();
  folders.emplace_back();
  EXPECT_EQ(packages().size(), 3);
}

TEST_F(PrivateFolderTest, WhatAKilledProcessLeftGoesWithTheNextOne) {
  const PrivateFolder used;
  const fs::path left = left_by_a_killed_process();
  const PrivateFolder next;
  EXPECT_FALSE(fs::exists(left));
  EXPECT_THAT(packages(), UnorderedElementsAre(used.path().filename(), next.path().filename()));
}

TEST_F(PrivateFolderTest, ALivingProcessKeepsItsFolderWhateverOthersDo) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const PrivateFolder own;
    if (write(ready[1], "x", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  { const PrivateFolder other; }
  EXPECT_EQ(packages().size(), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(PrivateFolderTest, AForkedProcessThatEndsLeavesTheFolder) {
  const PrivateFolder folder;
  std::ofstream(folder.path() / "file") << "content";
  const pid_t child = fork();
  if (child == 0) {
    folder.~PrivateFolder();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(fs::exists(folder.path() / "file"));
}

// ---- what is not ours

TEST_F(PrivateFolderTest, FoldersOfTheUserNextToItStay) {
  for (const char* name : {"package-lists", "package-notes", "package-abcdef", "tensoa"}) {
    fs::create_directories(parent_ / name / "below");
    std::ofstream(parent_ / name / "below/file") << "content";
  }
  { const PrivateFolder folder; }
  for (const char* name : {"package-lists", "package-notes", "package-abcdef", "tensoa"}) {
    EXPECT_TRUE(fs::exists(parent_ / name / "below/file")) << name;
  }
}

TEST_F(PrivateFolderTest, RemovesOnlyFoldersOfTheExactNameWithTheMarkerOfThisBoot) {
  const fs::path left = left_by_a_killed_process();
  const auto like = [&](const std::string& name) {
    fs::copy(left, home_ / name, fs::copy_options::recursive);
    return home_ / name;
  };
  std::vector<fs::path> kept = {like("package-lists"), like("package-abcdefg"),
                                like("package-ABCDEF"), like("packages-abcde"),
                                like("package-bcde")};
  kept.push_back(like("package-nomark"));
  fs::remove(kept.back() / ".tensoa-package");
  kept.push_back(like("package-remote"));
  std::ofstream(kept.back() / ".tensoa-package")
      << "tensoa package, boot 00000000-0000-0000-0000-000000000000\n";
  const fs::path file = home_ / "package-afile0";
  std::ofstream(file) << "content";
  const fs::path stale = like("package-stale0");
  { const PrivateFolder folder; }
  for (const fs::path& path : kept) EXPECT_TRUE(fs::exists(path / "model.so")) << path;
  EXPECT_TRUE(fs::exists(file));
  EXPECT_FALSE(fs::exists(left));
  EXPECT_FALSE(fs::exists(stale)) << "what the copies have in common with what is removed";
}

TEST_F(PrivateFolderTest, LinksAreRemovedAndNotFollowed) {
  const test::TemporaryFolder elsewhere;
  fs::create_directory(elsewhere.path() / "folder");
  std::ofstream(elsewhere.path() / "folder/file") << "content";
  const fs::path left = left_by_a_killed_process();
  fs::create_directory_symlink(elsewhere.path() / "folder", left / "link");
  fs::create_directory_symlink(left, home_ / "package-linked");
  {
    const PrivateFolder folder;
    EXPECT_FALSE(fs::exists(left));
    fs::create_directory_symlink(elsewhere.path() / "folder", folder.path() / "link");
  }
  EXPECT_TRUE(fs::exists(elsewhere.path() / "folder/file"));
  EXPECT_TRUE(fs::is_symlink(home_ / "package-linked")) << "no folder of ours";
}

TEST_F(PrivateFolderTest, ALinkInThePlaceOfOurFolderIsRefused) {
  const test::TemporaryFolder elsewhere;
  fs::create_directory_symlink(elsewhere.path(), home_);
  EXPECT_THAT([] { PrivateFolder{}; },
              ThrowsMessage<LoadError>(AllOf(HasSubstr(home_.string()), HasSubstr("or a link"),
                                             HasSubstr("set TENSOA_PACKAGE_FOLDER"))));
  EXPECT_THAT(names_in(elsewhere.path()), IsEmpty());
}

TEST_F(PrivateFolderTest, AFolderThatOthersCanOpenIsRefused) {
  fs::create_directory(home_);
  fs::permissions(home_, fs::perms::owner_all | fs::perms::group_exec);
  EXPECT_THAT(
      [] { PrivateFolder{}; },
      ThrowsMessage<LoadError>(AllOf(HasSubstr(home_.string()), HasSubstr("expected mode 0700"))));
}

TEST_F(PrivateFolderTest, AFolderOfAnotherUserIsRefused) {
  fs::create_directory(home_);
  fs::permissions(home_, fs::perms::owner_all);
  if (chown(home_.c_str(), kStranger, kStranger) != 0) GTEST_SKIP() << "only root can give it away";
  EXPECT_THAT([] { PrivateFolder{}; },
              ThrowsMessage<LoadError>(AllOf(HasSubstr("belongs to user 65534"),
                                             HasSubstr("set TENSOA_PACKAGE_FOLDER"))));
}

TEST_F(PrivateFolderTest, WhatAnotherUserOwnsInItStays) {
  const fs::path left = left_by_a_killed_process();
  if (chown(left.c_str(), kStranger, kStranger) != 0) GTEST_SKIP() << "only root can give it away";
  { const PrivateFolder folder; }
  EXPECT_TRUE(fs::exists(left / "model.so"));
}

TEST_F(PrivateFolderTest, ALockOnTheParentFolderDoesNotBlock) {
  const int stranger = open(parent_.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(stranger, LOCK_EX), 0);
  { const PrivateFolder folder; }  // would wait for ever
  close(stranger);
}

TEST_F(PrivateFolderTest, AnUnwritableFolderIsNamedWithTheWayOut) {
  setenv("TENSOA_PACKAGE_FOLDER", "/proc/none", 1);
  EXPECT_THAT([] { PrivateFolder{}; },
              ThrowsMessage<LoadError>(AllOf(HasSubstr("cannot be unpacked in /proc/none"),
                                             HasSubstr("set TENSOA_PACKAGE_FOLDER"))));
}

TEST_F(PrivateFolderTest, WhereNoFileCanBeWrittenNothingStays) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_FSIZE, &none);
    try {
      const PrivateFolder folder;
    } catch (const LoadError&) {
      _exit(7);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_THAT(packages(), IsEmpty());
}

// ---- many at the same time

void make_some() {
  for (int repeat = 0; repeat < 20; ++repeat) {
    const PrivateFolder folder;
    std::ofstream(folder.path() / "file") << "content";
    if (!fs::exists(folder.path() / "file")) throw LoadError("it went while it was used");
  }
}

TEST_F(PrivateFolderTest, ThreadsLeaveEachOtherAlone) {
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i) threads.emplace_back([] { EXPECT_NO_THROW(make_some()); });
  }
  EXPECT_THAT(packages(), IsEmpty());
}

TEST_F(PrivateFolderTest, ProcessesLeaveEachOtherAlone) {
  std::vector<pid_t> children(8);
  for (pid_t& child : children) {
    child = fork();
    if (child != 0) continue;
    try {
      make_some();
    } catch (const std::exception&) {
      _exit(1);
    }
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_THAT(packages(), IsEmpty());
}

}  // namespace
}  // namespace tensoa::package
