// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/merge/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tensoa/core/error.hpp"
#include "tensoa/merge/generator.hpp"

namespace tensoa::merge {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

nlohmann::json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t first = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(first, page.find("</script>", first) - first));
}

TEST(ReportPage, HasTheFirstEventsAndTheFiguresOfAll) {
  std::vector<Event> events;
  for (std::uint64_t i = 0; i < 4; ++i) events.push_back(generate({.particles = 3}, i));
  events[1].name = "</script><b>";
  events[2] = Event{};
  events::ScoreHistogram scores;
  const float score[] = {0.25F, 0.75F};
  const std::uint8_t truth[] = {0, 1};
  scores.add(score, truth);
  MergeCounts counts{.found = 1};
  counts.responses[98] = 1;
  const std::string page =
      report_page(R"({"events": 4, "score_cut": 0.3})",
                  {&events[0], &events[1], &events[2], &events[3]}, scores, counts);
  EXPECT_THAT(page, Not(HasSubstr("@TENSOA")));
  EXPECT_THAT(page, Not(HasSubstr("</script><b>")));
  const nlohmann::json data = data_of(page);
  EXPECT_EQ(data["summary"]["responses"][98], 1);
  EXPECT_EQ(data["scores"]["true"][750], 1);
  ASSERT_EQ(data["events"].size(), kMaxReportEvents);
  EXPECT_EQ(data["events"][1]["name"], "</script><b>");
  EXPECT_EQ(data["events"][2]["clusters"], 0);
  EXPECT_EQ(data["events"][0]["clusters"], events[0].clusters.size());
  // base64 of one float for each cluster
  const std::size_t bytes = 4 * events[0].clusters.size();
  EXPECT_EQ(data["events"][0]["x"].get<std::string>().size(), (bytes + 2) / 3 * 4);
}

TEST(ReportPage, DrawsTheClustersOfMostEnergyOfALargeEvent) {
  const Event event = generate({.particles = 10, .pile_up = 80}, 1);
  ASSERT_GT(event.clusters.size(), kMaxReportClusters);
  const nlohmann::json data = data_of(report_page("{}", {&event}, {}, {}));
  EXPECT_EQ(data["events"][0]["clusters"], event.clusters.size());
  EXPECT_EQ(data["events"][0]["energy"].get<std::string>().size(), 4 * kMaxReportClusters / 3 * 4);
}

TEST(ReportPage, RefusesWhatIsNotASummary) {
  EXPECT_THAT([] { report_page("[]", {}, {}, {}); },
              ThrowsMessage<ConfigError>(HasSubstr("the summary is not a JSON object")));
}

}  // namespace
}  // namespace tensoa::merge
