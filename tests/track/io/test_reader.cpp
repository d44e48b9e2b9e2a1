// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/event_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>

#include "support/sanitizers.hpp"
#include "tensoa/core/error.hpp"
#include "track/files.hpp"

namespace tensoa::track {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kHits =
    "hit_id,x,y,z,volume_id,layer_id,module_id\n"
    "7,3.5,-4,100.25,8,2,11\n"
    "3,-30,40,-1502.5,7,14,1\n";
constexpr std::string_view kTruth =
    "hit_id,particle_id,tx\n"
    "3,4505867370102784,0\n"
    "7,0,0\n";

class Reader : public testing::Test {
 protected:
  // The error of read_event() for a file of these contents: one line that names the file.
  std::string complaint(std::string_view name, std::string_view contents) {
    const auto path = folder_.write(name, contents);
    const std::string message = message_of<InputError>([&] { read_event(path); });
    EXPECT_THAT(message, HasSubstr(folder_.path().string()));
    EXPECT_THAT(message, Not(HasSubstr("\n")));
    return message;
  }

  TemporaryFolder folder_;
};

TEST_F(Reader, ReadsATrackMlEvent) {
  folder_.write("event1-truth.csv", kTruth);
  folder_.write("event1-particles.csv",
                "particle_id,particle_type,vx,vy,vz,px,py,pz,q,nhits\n"
                "4505867370102784,-211,-0.5,0.25,2.5,1,-2,3,-1,7\n");
  const Event event = read_event(folder_.write("event1-hits.csv", kHits));
  EXPECT_EQ(event.name, "event1");
  EXPECT_TRUE(event.has_truth);
  EXPECT_TRUE(event.has_layers);
  const auto hits = event.hits.const_view();
  ASSERT_EQ(hits.size(), 2U);
  EXPECT_EQ(hits.hit_id[0], 7);
  EXPECT_EQ(hits.x[0], 3.5F);
  EXPECT_EQ(hits.y[0], -4.0F);
  EXPECT_EQ(hits.z[1], -1502.5F);
  EXPECT_EQ(hits.layer[0], 8002);
  EXPECT_EQ(hits.layer[1], 7014);
  EXPECT_EQ(hits.particle_id[0], 0);
  EXPECT_EQ(hits.particle_id[1], 4505867370102784);
  const auto particles = event.particles.const_view();
  ASSERT_EQ(particles.size(), 1U);
  EXPECT_EQ(particles.particle_id[0], 4505867370102784);
  EXPECT_EQ(particles.vz[0], 2.5F);
  EXPECT_EQ(particles.py[0], -2.0F);
  EXPECT_EQ(particles.charge[0], -1);
}

TEST_F(Reader, ReadsGzipAndMixesItWithPlainFiles) {
  folder_.write("event1-truth.csv", kTruth);
  const Event event = read_event(folder_.write("event1-hits.csv.gz", gzip(kHits)));
  EXPECT_EQ(event.name, "event1");
  EXPECT_TRUE(event.has_truth);
  EXPECT_EQ(event.hits.size(), 2U);
  EXPECT_EQ(event.hits.const_view().particle_id[1], 4505867370102784);
}

TEST_F(Reader, TakesAnyLineEndAndAByteOrderMark) {
  std::string old_mac(kHits);
  std::replace(old_mac.begin(), old_mac.end(), '\n', '\r');
  EXPECT_EQ(read_event(folder_.write("cr-hits.csv", old_mac)).hits.size(), 2U);
  std::string windows = "\xEF\xBB\xBF";
  for (const char c : kHits) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(read_event(folder_.write("crlf-hits.csv", windows)).hits.size(), 2U);
  EXPECT_EQ(read_event(folder_.write("quoted.csv", "\"0.1\",\"0.2\",\"0.3\"\n")).hits.size(), 1U);
}

TEST_F(Reader, RejectsHitsThatAreFewerThanTheirTruth) {
  folder_.write("event1-truth.csv", std::string(kTruth) + "9,1,0\n");
  EXPECT_THAT(complaint("event1-hits.csv", kHits),
              AllOf(HasSubstr("got 3 rows"), HasSubstr("2 hits"), HasSubstr("truncated")));
}

TEST_F(Reader, WorksWithoutTruth) {
  const Event event = read_event(folder_.write("event1-hits.csv", kHits));
  EXPECT_FALSE(event.has_truth);
  EXPECT_EQ(event.particles.size(), 0U);
  EXPECT_EQ(event.hits.const_view().particle_id[1], 0);
}

TEST_F(Reader, IgnoresTheOrderOfColumnsAndExtraOnes) {
  const Event event = read_event(folder_.write("a-hits.csv",
                                               "layer_id,note,z,y,x,volume_id,hit_id\n"
                                               "4,text,3,2,1,8,5\n"));
  const auto hits = event.hits.const_view();
  ASSERT_EQ(hits.size(), 1U);
  EXPECT_EQ(hits.x[0], 1.0F);
  EXPECT_EQ(hits.z[0], 3.0F);
  EXPECT_EQ(hits.layer[0], 8004);
  EXPECT_EQ(hits.hit_id[0], 5);
}

TEST_F(Reader, TakesWindowsLineEnds) {
  const Event event =
      read_event(folder_.write("a-hits.csv", "hit_id,x,y,z,volume_id,layer_id\r\n1,1,2,3,8,2\r\n"));
  EXPECT_EQ(event.hits.size(), 1U);
}

TEST_F(Reader, HeaderAloneIsAnEventWithoutHits) {
  for (const auto* text :
       {"hit_id,x,y,z,volume_id,layer_id\n", "hit_id,x,y,z,volume_id,layer_id"}) {
    const Event event = read_event(folder_.write("a-hits.csv", text));
    EXPECT_EQ(event.hits.size(), 0U);
    EXPECT_TRUE(event.has_layers);
  }
}

TEST_F(Reader, ReadsThreeColumnsWithoutHeader) {
  const Event event = read_event(folder_.write("evt_3.csv", "0.05,0.5,-0.2\n1e-1,-1.0,0\n"));
  EXPECT_EQ(event.name, "evt_3");
  EXPECT_FALSE(event.has_truth);
  EXPECT_FALSE(event.has_layers);
  const auto hits = event.hits.const_view();
  ASSERT_EQ(hits.size(), 2U);
  EXPECT_NEAR(hits.x[0], 0.0, 1e-5);
  EXPECT_NEAR(hits.y[0], 50.0, 1e-5);
  EXPECT_NEAR(hits.z[0], -200.0, 1e-4);
  EXPECT_NEAR(hits.x[1], -100.0, 1e-5);
  EXPECT_EQ(hits.layer[1], 0);
  EXPECT_EQ(hits.hit_id[1], 1);
}

TEST_F(Reader, RejectsAMissingFile) {
  const std::string message =
      message_of<InputError>([&] { read_event(folder_.path() / "no-hits.csv"); });
  EXPECT_THAT(message, AllOf(HasSubstr("no-hits.csv"), HasSubstr("no such file")));
}

TEST_F(Reader, RejectsAnEmptyFile) {
  EXPECT_THAT(complaint("a-hits.csv", ""), HasSubstr("empty file"));
  EXPECT_THAT(complaint("evt_1.csv", ""), HasSubstr("empty file"));
  EXPECT_THAT(complaint("evt_1.csv.gz", gzip("")), HasSubstr("empty file"));
}

TEST_F(Reader, RejectsTruncatedGzip) {
  const std::string packed = gzip(kHits);
  for (const std::size_t size : {std::size_t{5}, std::size_t{40}, packed.size() - 6}) {
    EXPECT_THAT(complaint("a-hits.csv.gz", packed.substr(0, size)), HasSubstr("truncated gzip"))
        << size;
  }
}

TEST_F(Reader, RejectsMoreTextThanAnEventMayHave) {
  folder_.write("a-hits.csv", kHits);
  std::filesystem::resize_file(folder_.path() / "a-hits.csv",
                               static_cast<std::uintmax_t>(kMostTextOfEvent) + 1);
  EXPECT_THAT(message_of<InputError>([&] { read_event(folder_.path() / "a-hits.csv"); }),
              HasSubstr("a-hits.csv: has more than 256 MiB of text"));
}

TEST_F(Reader, SaysWhereThereIsNoMemoryAndDoesNotCallTheFileDamaged) {
  if (test::kStacksAreWatched) GTEST_SKIP() << "sanitizers need all addresses";
  // A new process, in which Arrow asks the system for each block and holds none in stock.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  setenv("ARROW_DEFAULT_MEMORY_POOL", "system", 1);
  const auto path = folder_.write("a-hits.csv", kHits);
  std::filesystem::resize_file(path, std::uintmax_t{200} << 20U);
  const auto read_in_little_memory = [&] {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit limit{(pages << 12U) + (std::size_t{50} << 20U), RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
    try {
      read_event(path);
    } catch (const std::bad_alloc&) {
      _exit(7);
    }
  };
  EXPECT_EXIT(read_in_little_memory(), testing::ExitedWithCode(7), "");
  unsetenv("ARROW_DEFAULT_MEMORY_POOL");
}

TEST_F(Reader, RejectsDamagedGzip) {
  std::string packed = gzip(kHits);
  packed[60] ^= 1;  // the checksum no longer fits
  EXPECT_THAT(complaint("a-hits.csv.gz", packed), HasSubstr("damaged"));
  EXPECT_THAT(complaint("b-hits.csv.gz", kHits), HasSubstr("not gzip"));
}

TEST_F(Reader, RejectsATruncatedLine) {
  EXPECT_THAT(complaint("a-hits.csv", kHits.substr(0, kHits.size() - 12)), HasSubstr("7 columns"));
  EXPECT_THAT(complaint("evt_1.csv", "0.1,0.2,0.3\n0.1,0.2\n"), HasSubstr("3 columns"));
}

TEST_F(Reader, RejectsWhatIsNotCsv) {
  EXPECT_THAT(complaint("a-hits.csv", std::string_view("\x7f"
                                                       "ELF\0\1\2",
                                                       7)),
              HasSubstr("binary"));
  EXPECT_THAT(complaint("evt_1.csv", "<html><body>not found</body></html>\n"),
              HasSubstr("wrong columns"));
  EXPECT_THAT(complaint("a-hits.csv", "\n\n"), HasSubstr("wrong columns"));
}

TEST_F(Reader, RejectsWrongColumns) {
  EXPECT_THAT(complaint("a-hits.csv", "hit_id,x,y,volume_id,layer_id\n1,2,3,8,2\n"),
              AllOf(HasSubstr("got hit_id, x, y, volume_id, layer_id"),
                    HasSubstr("expected hit_id, x, y, z, volume_id, layer_id")));
  EXPECT_THAT(complaint("b-hits.csv", "hit_id,x,x,y,z,volume_id,layer_id\n1,2,2,3,4,8,2\n"),
              HasSubstr("each once"));
  EXPECT_THAT(complaint("evt_1.csv", "0.1,0.2,0.3,0.4\n"), HasSubstr("3 columns"));
}

TEST_F(Reader, RejectsFieldsThatAreNoNumbers) {
  EXPECT_THAT(complaint("a-hits.csv", "hit_id,x,y,z,volume_id,layer_id\n1,2,abc,3,8,2\n"),
              HasSubstr("abc"));
  EXPECT_THAT(complaint("b-hits.csv", "hit_id,x,y,z,volume_id,layer_id\n1,2,,3,8,2\n"),
              HasSubstr("not CSV with numbers"));
  EXPECT_THAT(complaint("c-hits.csv", "hit_id,x,y,z,volume_id,layer_id\n1.5,2,2,3,8,2\n"),
              HasSubstr("1.5"));
  EXPECT_THAT(complaint("evt_1.csv", "0.1,0.2,0.3\n0.1,0.2,oops\n"), HasSubstr("oops"));
}

TEST_F(Reader, RejectsNanAndInfinityWithTheirLine) {
  constexpr std::string_view kHeader = "hit_id,x,y,z,volume_id,layer_id\n1,0,0,0,8,2\n";
  EXPECT_THAT(complaint("a-hits.csv", std::string(kHeader) + "2,1,nan,3,8,2\n"),
              AllOf(HasSubstr("line 3"), HasSubstr("y = NaN")));
  EXPECT_THAT(complaint("b-hits.csv", std::string(kHeader) + "2,1,1,-inf,8,2\n"),
              AllOf(HasSubstr("line 3"), HasSubstr("z = infinity")));
  EXPECT_THAT(complaint("c-hits.csv", std::string(kHeader) + "2,1e39,1,1,8,2\n"),
              HasSubstr("x = infinity"));
  EXPECT_THAT(complaint("evt_1.csv", "0.1,0.2,0.3\n0.1,nan,0.3\n"),
              AllOf(HasSubstr("line 2"), HasSubstr("phi = NaN")));
  EXPECT_THAT(complaint("evt_2.csv", "inf,0.2,0.3\n"), HasSubstr("line 1"));
  EXPECT_THAT(complaint("evt_3.csv", "1e38,0.2,0.3\n"), HasSubstr("x = infinity"));
}

TEST_F(Reader, RejectsLayersOutOfRange) {
  EXPECT_THAT(complaint("a-hits.csv", "hit_id,x,y,z,volume_id,layer_id\n1,1,2,3,8,1000\n"),
              HasSubstr("layer_id 1000"));
  EXPECT_THAT(complaint("b-hits.csv", "hit_id,x,y,z,volume_id,layer_id\n1,1,2,3,-1,2\n"),
              HasSubstr("volume_id -1"));
}

TEST_F(Reader, RejectsADuplicateHitId) {
  EXPECT_THAT(complaint("a-hits.csv", std::string(kHits) + "7,1,2,3,8,2,1\n"),
              HasSubstr("hit_id 7 is duplicated"));
}

TEST_F(Reader, RejectsTruthThatDoesNotFit) {
  folder_.write("a-truth.csv", "hit_id,particle_id\n7,1\n");
  EXPECT_THAT(complaint("a-hits.csv", kHits),
              AllOf(HasSubstr("a-truth.csv"), HasSubstr("no row for hit_id 3")));
  folder_.write("a-truth.csv", "hit_id,particle_id\n7,1\n3,1\n7,2\n");
  EXPECT_THAT(complaint("a-hits.csv", kHits), HasSubstr("hit_id 7 is duplicated"));
  folder_.write("a-truth.csv", "hit_id,weight\n7,1\n");
  EXPECT_THAT(complaint("a-hits.csv", kHits), HasSubstr("expected hit_id, particle_id"));
  folder_.write("a-truth.csv", "");
  EXPECT_THAT(complaint("a-hits.csv", kHits), HasSubstr("empty file"));
}

TEST_F(Reader, RejectsFilesThatAreNoHits) {
  EXPECT_THAT(complaint("a-truth.csv", kTruth), HasSubstr("not a file of hits"));
  EXPECT_THAT(complaint("notes.txt", "x"), HasSubstr("not a file of hits"));
  std::filesystem::create_directory(folder_.path() / "folder.csv");
  EXPECT_THAT(message_of<InputError>([&] { read_event(folder_.path() / "folder.csv"); }),
              HasSubstr("folder"));
}

TEST(ReaderOnRealEvents, ReadsTrackMl) {
  const std::filesystem::path path = TENSOA_SHARED_DATA "/trackml/event000000001-hits.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no shared data";
  const Event event = read_event(path);
  EXPECT_EQ(event.hits.size(), 5527U);
  EXPECT_EQ(event.particles.size(), 548U);
  EXPECT_TRUE(event.has_truth);
  const auto hits = event.hits.const_view();
  EXPECT_EQ(hits.hit_id[0], 6);
  EXPECT_EQ(hits.x[0], -76.566F);
  EXPECT_EQ(hits.layer[0], 7002);
  EXPECT_EQ(hits.particle_id[0], 27028813309280256);
}

TEST(ReaderOnRealEvents, ReadsLargeRadiusTracking) {
  const std::filesystem::path path = TENSOA_SHARED_DATA "/lrt/evt_71.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no shared data";
  const Event event = read_event(path);
  EXPECT_EQ(event.hits.size(), 3292U);
  EXPECT_FALSE(event.has_truth);
}

}  // namespace
}  // namespace tensoa::track
