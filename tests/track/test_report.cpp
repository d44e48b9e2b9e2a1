// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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

/// An event with its collections, of which a report sees views.
struct KeptEvent {
  std::string name;
  PortableCollection<Hit> hits{0, Device::cpu()};
  PortableCollection<Edge> edges{0, Device::cpu()};
  bool has_truth = true;

  ReportEvent seen() const { return {name, hits.const_view(), edges.const_view(), has_truth}; }
};

KeptEvent small_event() {
  KeptEvent event{.name = "event000000001",
                  .hits = PortableCollection<Hit>(3, Device::cpu()),
                  .edges = PortableCollection<Edge>(2, Device::cpu())};
  const View<Hit> hits = event.hits.view();
  std::ranges::copy(std::array{1.5F, -2.0F, 3.25F}, hits.x.data());
  std::ranges::copy(std::array{0.0F, 1.0F, -1.0F}, hits.y.data());
  std::ranges::copy(std::array{10.0F, 20.0F, -30.5F}, hits.z.data());
  std::ranges::copy(std::array{0, 0, -1}, hits.track_id.data());
  std::ranges::copy(std::array{4505867370102784, 4505867370102784, 0L}, hits.particle_id.data());
  const View<Edge> edges = event.edges.view();
  std::ranges::copy(std::array{0, 0}, edges.source.data());
  std::ranges::copy(std::array{1, 2}, edges.target.data());
  std::ranges::copy(std::array{0.75F, 0.125F}, edges.score.data());
  std::ranges::copy(std::array{1, 0}, edges.truth.data());
  return event;
}

// A chain of hits with one edge to the next: edge i has score i / n and is true if i is even.
KeptEvent large_event(std::size_t n) {
  KeptEvent event{.name = "chain",
                  .hits = PortableCollection<Hit>(n, Device::cpu()),
                  .edges = PortableCollection<Edge>(n - 1, Device::cpu())};
  const View<Hit> hits = event.hits.view();
  for (std::size_t i = 0; i < n; ++i) {
    hits.x[i] = hits.y[i] = hits.z[i] = 1;
    hits.track_id[i] = -1;
    hits.particle_id[i] = 1;
  }
  const View<Edge> edges = event.edges.view();
  for (std::size_t i = 0; i + 1 < n; ++i) {
    edges.source[i] = static_cast<std::int64_t>(i);
    edges.target[i] = static_cast<std::int64_t>(i + 1);
    edges.score[i] = static_cast<float>(i) / static_cast<float>(n);
    edges.truth[i] = i % 2 == 0 ? 1 : 0;
  }
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
  json write_data(const KeptEvent& event) { return write_data(std::vector{event.seen()}); }

  fs::path page() const { return folder_ / "page.html"; }

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The text that the browser passes to the page's code: the text up to the first end of the script.
  static json data_of(const std::string& page) {
    constexpr std::string_view tag = R"(id="data">)";
    const auto begin = page.find(tag) + tag.size();
    return json::parse(page.substr(begin, page.find("</script", begin) - begin));
  }

  test::TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
};

TEST_F(Report, NeedsNothingFromOutside) {
  const KeptEvent event = small_event();
  const std::string text = write({event.seen()});
  EXPECT_EQ(text.rfind("<!doctype html>", 0), 0U);
  for (const auto* outside : {"http:", "https:", "src=", "href=", "url(", "@import", "fetch("}) {
    EXPECT_EQ(count(text, outside), 0U) << outside;
  }
  EXPECT_EQ(count(text, "@TENSOA"), 0U);
}

TEST_F(Report, ColumnsArriveBitByBit) {
  const KeptEvent event = small_event();
  const json data = write_data(event);
  ASSERT_EQ(data["events"].size(), 1U);
  const json& shown = data["events"][0];
  EXPECT_EQ(shown["name"], event.name);
  EXPECT_EQ(unpack<float>(shown["x"]), (std::vector{1.5F, -2.0F, 3.25F}));
  EXPECT_EQ(unpack<float>(shown["y"]), (std::vector{0.0F, 1.0F, -1.0F}));
  EXPECT_EQ(unpack<float>(shown["z"]), (std::vector{10.0F, 20.0F, -30.5F}));
  EXPECT_EQ(unpack<std::int32_t>(shown["track"]), (std::vector{0, 0, -1}));
  EXPECT_EQ(unpack<std::int64_t>(shown["particle"]),
            (std::vector<std::int64_t>{4505867370102784, 4505867370102784, 0}));
  EXPECT_EQ(unpack<std::uint16_t>(shown["source"]), (std::vector<std::uint16_t>{0, 0}));
  EXPECT_EQ(unpack<std::uint16_t>(shown["target"]), (std::vector<std::uint16_t>{1, 2}));
  EXPECT_EQ(unpack<float>(shown["score"]), (std::vector{0.75F, 0.125F}));
  EXPECT_EQ(unpack<std::uint8_t>(shown["truth"]), (std::vector<std::uint8_t>{1, 0}));
  EXPECT_EQ(data["summary"], json::parse(kSummary));
}

TEST_F(Report, EventWithoutTruthHasNoTruthColumns) {
  KeptEvent event = small_event();
  event.has_truth = false;
  const json data = write_data(event);
  EXPECT_TRUE(data["events"][0]["truth"].is_null());
  EXPECT_TRUE(data["events"][0]["particle"].is_null());
  EXPECT_EQ(data["scores"]["efficiency"], "");
}

TEST_F(Report, CurvesAreThoseOfTheHistogram) {
  ScoreHistogram scores;
  scores.add(std::array{0.75F, 0.125F}, std::array<std::uint8_t, 2>{1, 0});
  const json curves = data_of(write({}, kSummary, scores))["scores"];
  EXPECT_EQ(curves["true"][750], 1);
  EXPECT_EQ(curves["false"][125], 1);
  const auto efficiency = unpack<float>(curves["efficiency"]);
  ASSERT_EQ(efficiency.size(), ScoreHistogram::kBins + 1);
  EXPECT_EQ(efficiency[750], 1.0F);
  EXPECT_EQ(efficiency[751], 0.0F);
}

TEST_F(Report, NoEventAndAnEmptyEventAreNoErrors) {
  EXPECT_EQ(write_data(std::vector<ReportEvent>{})["events"].size(), 0U);
  EXPECT_EQ(write_data(KeptEvent{})["events"].size(), 1U);
}

TEST_F(Report, NastyNamesStayText) {
  const std::string nasty = R"(</script><script>alert("1")</script><!--<script> & 'x' \ )"
                            "\n\u2028";
  const KeptEvent plain = small_event();
  KeptEvent event = small_event();
  event.name = nasty;
  const std::string text = write({event.seen()}, json{{"model", nasty}, {"device", nasty}}.dump());
  EXPECT_EQ(count(text, "</script"), count(write({plain.seen()}), "</script"));
  EXPECT_EQ(count(text, "alert(\"1"), 0U);
  const json data = data_of(text);
  EXPECT_EQ(data["events"][0]["name"], nasty);
  EXPECT_EQ(data["summary"]["model"], nasty);
}

TEST_F(Report, NameThatIsNotUtf8IsShownAsFarAsItGoes) {
  KeptEvent event = small_event();
  event.name = "run\xff.csv";
  EXPECT_EQ(write_data(event)["events"][0]["name"], "run\ufffd.csv");
}

TEST_F(Report, KeepsTheFirstThreeEvents) {
  const KeptEvent event = small_event();
  std::vector<ReportEvent> events(5, event.seen());
  events[2].name = "third";
  const json data = write_data(events);
  ASSERT_EQ(data["events"].size(), kMaxReportEvents);
  EXPECT_EQ(data["events"][2]["name"], "third");
}

TEST_F(Report, OfAHugeEventItKeepsTrueEdgesThenHighScores) {
  const std::size_t hits = 2 * kMaxReportEdges - 1000 + 1;
  const json shown = write_data(large_event(hits))["events"][0];
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
  const KeptEvent event = large_event(60'000);
  write(std::vector<ReportEvent>(3, event.seen()));
  EXPECT_LT(fs::file_size(page()), 8'000'000U);
}

TEST_F(Report, RejectsAnEdgeThatRefersToNoHit) {
  for (const std::int64_t row : {3, -1}) {
    KeptEvent stray = small_event();
    stray.edges.view().target[1] = row;
    EXPECT_THAT([&] { write({stray.seen()}); },
                testing::ThrowsMessage<ConfigError>(testing::AllOf(
                    testing::HasSubstr("report_page(): edge 1 of event event000000001 joins rows 0 "
                                       "and " +
                                       std::to_string(row)),
                    testing::HasSubstr("expected rows of the 3 hits"))));
  }
  EXPECT_EQ(files(), 0U);
}

TEST_F(Report, RejectsASummaryThatIsNotAJsonObject) {
  EXPECT_THROW(write({}, "[1, 2]"), ConfigError);
  EXPECT_THROW(write({}, "{"), ConfigError);
  EXPECT_EQ(files(), 0U);
}

}  // namespace
}  // namespace tensoa::track
