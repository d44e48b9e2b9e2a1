// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/event_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../../events/src/event_files.hpp"
#include "tensoa/core/error.hpp"
#include "track/files.hpp"

namespace tensoa::track {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_of(const std::vector<EventSource>& sources) {
  std::vector<std::string> names;
  for (const EventSource& source : sources) names.push_back(source.name());
  return names;
}

TEST(FindEvents, ListsAFolderInNaturalOrder) {
  const TemporaryFolder folder;
  for (const auto* name :
       {"evt_10.csv.gz", "evt_2.csv", "event1-hits.csv", "event1-truth.csv", "event1-cells.csv.gz",
        "event1-particles.csv", "detectors.csv", "LICENSE"}) {
    folder.write(name, "");
  }
  std::filesystem::create_directory(folder.path() / "more.csv");
  EXPECT_THAT(names_of(find_events(folder.path().string())),
              ElementsAre("event1", "evt_2", "evt_10"));
}

TEST(FindEvents, TakesOneFileAndReadsItOnDemand) {
  const TemporaryFolder folder;
  const auto path = folder.write("evt_5.csv", "0.1,0.2,0.3\n");
  const auto sources = find_events(path.string());
  ASSERT_EQ(sources.size(), 1U);
  EXPECT_EQ(sources[0].name(), "evt_5");
  EXPECT_EQ(sources[0].read().name, "evt_5");
  std::filesystem::remove(path);
  EXPECT_THROW(sources[0].read(), InputError);
}

TEST(FindEvents, RejectsWhatIsNotThere) {
  const auto missing = find_events("/no/such/thing");
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_THAT(message_of<InputError>([&] { missing[0].read(); }),
              HasSubstr("/no/such/thing: no such"));
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<InputError>([&] { find_events(folder.path().string()); }),
              HasSubstr("has no events"));
}

TEST(FindEvents, EventsOfOneNameAreDistinguishedByTheirFolders) {
  const TemporaryFolder folder;
  const std::string top = folder.path().string();
  std::vector<std::string> inputs;
  for (const char* below : {"a", "b", "c/run", "d/run"}) {
    std::filesystem::create_directories(folder.path() / below);
    folder.write(std::string(below) + "/evt_1.csv", "0.1,0.2,0.3\n");
  }
  inputs = {top + "/a", top + "/b/../b/evt_1.csv", "generate:1:3"};
  const auto two = find_events(inputs);
  EXPECT_THAT(names_of(two), ElementsAre("a_evt_1", "b_evt_1", "generated-3-0"));
  EXPECT_EQ(two[1].read().name, "b_evt_1");
  inputs = {top + "/c/run", top + "/d/run", top + "/a"};
  EXPECT_THAT(
      names_of(find_events(inputs)),
      ElementsAre("c_run_evt_1", "d_run_evt_1", folder.path().filename().string() + "_a_evt_1"));
  inputs = {top + "/a", top + "/a/evt_1.csv"};
  EXPECT_THAT(message_of<InputError>([&] { find_events(inputs); }),
              testing::AllOf(HasSubstr("_a_evt_1: " + top + "/a/evt_1.csv and "),
                             HasSubstr("rename one of them, or run them apart")));
  inputs = {"generate:1:7:20", "generate:1:7:30"};
  const auto made = find_events(inputs);
  EXPECT_THAT(names_of(made),
              ElementsAre("20-particles_generated-7-0", "30-particles_generated-7-0"));
  EXPECT_EQ(made[1].read().name, "30-particles_generated-7-0");
  inputs = {"generate:2:7", "generate:1:7"};
  EXPECT_THAT(message_of<InputError>([&] { find_events(inputs); }),
              testing::ContainsRegex("two events are called .*-particles_generated-7-0: "
                                     "generate:…:7:"));
}

TEST(FindEvents, ListsSeveralInputsInTheirOrder) {
  const std::vector<std::string> inputs = {"generate:2:7", "/some/evt_5.csv", "generate:1:3"};
  EXPECT_THAT(names_of(find_events(inputs)),
              ElementsAre("generated-7-0", "generated-7-1", "evt_5", "generated-3-0"));
}

TEST(FindEvents, ListsGeneratedEvents) {
  EXPECT_THAT(names_of(find_events("generate:2")), ElementsAre("generated-1-0", "generated-1-1"));
  const auto sources = find_events("generate:3:17:20");
  ASSERT_EQ(sources.size(), 3U);
  const Event event = sources[2].read();
  EXPECT_EQ(event.name, sources[2].name());
  EXPECT_EQ(event.name, "generated-17-2");
  EXPECT_EQ(event.particles.size(), 20U);
}

TEST(FindEvents, RejectsMalformedGenerate) {
  for (const auto* input :
       {"generate:", "generate:0", "generate:x", "generate:-1",
        "generate:1:", "generate:1:2:", "generate:1:2:3:4", "generate:1.5", "generate:1 ",
        "generate:1:2:1000001", "generate:99999999999999999999", "generate::1"}) {
    EXPECT_THAT(message_of<ConfigError>([&] { find_events(input); }),
                HasSubstr("expected generate:EVENTS[:SEED[:PARTICLES]]"))
        << input;
  }
}

TEST(NaturalLess, ComparesNumbersAsNumbers) {
  EXPECT_TRUE(events::natural_less("evt_2", "evt_10"));
  EXPECT_FALSE(events::natural_less("evt_10", "evt_2"));
  EXPECT_TRUE(events::natural_less("a", "b"));
  EXPECT_TRUE(events::natural_less("a", "a1"));
  EXPECT_TRUE(events::natural_less("a9z", "a10a"));
  EXPECT_TRUE(events::natural_less("x99999999999999999998", "x99999999999999999999"));
  EXPECT_FALSE(events::natural_less("a1", "a1"));
  EXPECT_NE(events::natural_less("a01", "a1"), events::natural_less("a1", "a01"));
}

}  // namespace
}  // namespace tensoa::track
