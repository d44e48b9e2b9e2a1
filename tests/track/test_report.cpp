// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "../support/temporary_folder.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/output_file.hpp"

namespace tensoa::track {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kSummary = R"({"events": 1, "device": "cpu", "model": "m.pt"})";

ReportEvent small_event() {
  ReportEvent event;
  event.name = "event000000001";
  event.x = {1.5F, -2.0F, 3.25F};
  event.y = {0.0F, 1.0F, -1.0F};
  event.z = {10.0F, 20.0F, -30.5F};
  event.track_id = {0, 0, -1};
  event.particle_id = {4505867370102784, 4505867370102784, 0};
  event.source = {0, 0};
  event.target = {1, 2};
  event.score = {0.75F, 0.125F};
  event.truth = {1, 0};
  event.has_truth = true;
  return event;
}

// A chain of hits with one edge to the next: edge i has score i / n and is true if i is even.
ReportEvent large_event(std::size_t hits) {
  ReportEvent event;
  event.x.assign(hits, 1.0F);
  event.y = event.z = event.x;
  event.track_id.assign(hits, -1);
  event.particle_id.assign(hits, 1);
  for (std::size_t i = 0; i + 1 < hits; ++i) {
    event.source.push_back(static_cast<std::int32_t>(i));
    event.target.push_back(static_cast<std::int32_t>(i + 1));
    event.score.push_back(static_cast<float>(i) / static_cast<float>(hits));
    event.truth.push_back(i % 2 == 0 ? 1 : 0);
  }
  event.has_truth = true;
  return event;
}

template <class T>
std::vector<T> unpack(const json& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text.get<std::string>()) {
    if (c == '=') break;
    bits = bits << 6U | static_cast<unsigned>(digits.find(c));
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> static_cast<unsigned>(count) & 255U);
    }
  }
  std::vector<T> column(bytes.size() / sizeof(T));
  std::memcpy(column.data(), bytes.data(), bytes.size());
  return column;
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

class Report : public testing::Test {
 protected:
  std::string write(const std::vector<ReportEvent>& events, std::string_view summary = kSummary,
                    const ScoreHistogram& scores = {}) {
    write_file(page(), report_page(summary, events, scores));
    return read(page());
  }
  json write_data(const std::vector<ReportEvent>& events) { return data_of(write(events)); }

  fs::path page() const { return folder_ / "page.html"; }

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // What the browser hands to the page's code: the text up to the first end of the script.
  static json data_of(const std::string& page) {
    constexpr std::string_view tag = R"(id="data">)";
    const auto begin = page.find(tag) + tag.size();
    return json::parse(page.substr(begin, page.find("</script", begin) - begin));
  }

  test::TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
};

TEST_F(Report, NeedsNothingFromOutside) {
  const std::string text = write({small_event()});
  EXPECT_EQ(text.rfind("<!doctype html>", 0), 0U);
  for (const auto* outside : {"http:", "https:", "src=", "href=", "url(", "@import", "fetch("}) {
    EXPECT_EQ(count(text, outside), 0U) << outside;
  }
  EXPECT_EQ(count(text, "@TENSOA"), 0U);
}

TEST_F(Report, ColumnsArriveBitByBit) {
  const ReportEvent event = small_event();
  const json data = write_data({event});
  ASSERT_EQ(data["events"].size(), 1U);
  const json& shown = data["events"][0];
  EXPECT_EQ(shown["name"], event.name);
  EXPECT_EQ(unpack<float>(shown["x"]), event.x);
  EXPECT_EQ(unpack<float>(shown["y"]), event.y);
  EXPECT_EQ(unpack<float>(shown["z"]), event.z);
  EXPECT_EQ(unpack<std::int32_t>(shown["track"]), event.track_id);
  EXPECT_EQ(unpack<std::int64_t>(shown["particle"]), event.particle_id);
  EXPECT_EQ(unpack<std::uint16_t>(shown["source"]), (std::vector<std::uint16_t>{0, 0}));
  EXPECT_EQ(unpack<std::uint16_t>(shown["target"]), (std::vector<std::uint16_t>{1, 2}));
  EXPECT_EQ(unpack<float>(shown["score"]), event.score);
  EXPECT_EQ(unpack<std::uint8_t>(shown["truth"]), event.truth);
  EXPECT_EQ(data["summary"], json::parse(kSummary));
}

TEST_F(Report, EventWithoutTruthHasNoTruthColumns) {
  ReportEvent event = small_event();
  event.has_truth = false;
  event.particle_id.clear();
  event.truth.clear();
  const json data = write_data({event});
  EXPECT_TRUE(data["events"][0]["truth"].is_null());
  EXPECT_TRUE(data["events"][0]["particle"].is_null());
  EXPECT_EQ(data["scores"]["efficiency"], "");
}

TEST_F(Report, CurvesAreThoseOfTheHistogram) {
  ScoreHistogram scores;
  scores.add(small_event().score, small_event().truth);
  const json curves = data_of(write({}, kSummary, scores))["scores"];
  EXPECT_EQ(curves["true"][750], 1);
  EXPECT_EQ(curves["false"][125], 1);
  const auto efficiency = unpack<float>(curves["efficiency"]);
  ASSERT_EQ(efficiency.size(), ScoreHistogram::kBins + 1);
  EXPECT_EQ(efficiency[750], 1.0F);
  EXPECT_EQ(efficiency[751], 0.0F);
}

TEST_F(Report, NoEventAndAnEmptyEventAreNoErrors) {
  EXPECT_EQ(write_data({})["events"].size(), 0U);
  EXPECT_EQ(write_data({ReportEvent{}})["events"].size(), 1U);
}

TEST_F(Report, NastyNamesStayText) {
  const std::string nasty = R"(</script><script>alert("1")</script><!--<script> & 'x' \ )"
                            "\n\u2028";
  ReportEvent event = small_event();
  event.name = nasty;
  const std::string text = write({event}, json{{"model", nasty}, {"device", nasty}}.dump());
  EXPECT_EQ(count(text, "</script"), count(write({small_event()}), "</script"));
  EXPECT_EQ(count(text, "alert(\"1"), 0U);
  const json data = data_of(text);
  EXPECT_EQ(data["events"][0]["name"], nasty);
  EXPECT_EQ(data["summary"]["model"], nasty);
}

TEST_F(Report, NameThatIsNoUtf8IsShownAsFarAsItGoes) {
  ReportEvent event = small_event();
  event.name = "run\xff.csv";
  EXPECT_EQ(write_data({event})["events"][0]["name"], "run\ufffd.csv");
}

TEST_F(Report, KeepsTheFirstThreeEvents) {
  std::vector<ReportEvent> events(5, small_event());
  events[2].name = "third";
  const json data = write_data(events);
  ASSERT_EQ(data["events"].size(), kMaxReportEvents);
  EXPECT_EQ(data["events"][2]["name"], "third");
}

TEST_F(Report, OfAHugeEventItKeepsTrueEdgesThenHighScores) {
  const std::size_t hits = 2 * kMaxReportEdges - 1000 + 1;
  const json shown = write_data({large_event(hits)})["events"][0];
  EXPECT_EQ(shown["edges"], hits - 1);
  EXPECT_EQ(shown["wide"], true);
  const auto truth = unpack<std::uint8_t>(shown["truth"]);
  const auto source = unpack<std::int32_t>(shown["source"]);
  ASSERT_EQ(truth.size(), kMaxReportEdges);
  EXPECT_EQ(std::count(truth.begin(), truth.end(), 1), kMaxReportEdges - 500);
  auto lowest_false = static_cast<std::int32_t>(hits);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (truth[i] == 0) lowest_false = std::min(lowest_false, source[i]);
  }
  EXPECT_EQ(lowest_false, static_cast<std::int32_t>(hits - 1 - 1000 + 1));
}

TEST_F(Report, StaysSmallForThreeLargeEvents) {
  write(std::vector<ReportEvent>(3, large_event(60'000)));
  EXPECT_LT(fs::file_size(page()), 8'000'000U);
}

TEST_F(Report, RejectsColumnsThatDoNotFitTogether) {
  ReportEvent uneven = small_event();
  uneven.z.pop_back();
  EXPECT_THROW(write({uneven}), ConfigError);
  ReportEvent untrue = small_event();
  untrue.truth.clear();
  EXPECT_THROW(write({untrue}), ConfigError);
  ReportEvent stray = small_event();
  stray.target[0] = 3;
  EXPECT_THROW(write({stray}), ConfigError);
  stray.target[0] = -1;
  EXPECT_THROW(write({stray}), ConfigError);
  EXPECT_EQ(files(), 0U);
}

TEST_F(Report, RejectsASummaryThatIsNoJsonObject) {
  EXPECT_THROW(write({}, "[1, 2]"), ConfigError);
  EXPECT_THROW(write({}, "{"), ConfigError);
  EXPECT_EQ(files(), 0U);
}

}  // namespace
}  // namespace tensoa::track
