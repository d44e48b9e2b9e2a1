// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "report_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tensoa/core/error.hpp"

namespace tensoa::events {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

std::string base64_of(std::string_view text) {
  return base64(std::as_bytes(std::span(text.data(), text.size())));
}

TEST(Base64, HasTheVectorsOfRfc4648) {
  const char* const expected[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  for (std::size_t n = 0; n < 7; ++n) {
    EXPECT_EQ(base64_of(std::string_view("foobar").substr(0, n)), expected[n]);
  }
  EXPECT_EQ(base64_of("\xFB\xFF\xBF"), "+/+/");
}

TEST(PackRows, TakesRowsInTheirOrderAsAnotherType) {
  const std::vector<double> column{0, 1, 2, 3};
  const std::vector<std::size_t> rows{3, 1};
  EXPECT_EQ(pack_rows<std::uint8_t>(column, rows), base64_of("\x03\x01"));
}

TEST(FilledPage, DataCannotEndTheScriptNorFillPlacesOfThePage) {
  const std::string page =
      "<style>@TENSOA_STYLE@</style><script>@TENSOA_SCRIPT@</script>"
      "<script>@TENSOA_REPORT_DATA@</script>";
  const std::string filled =
      filled_page(page, {{"name", "</script><!-- @TENSOA_STYLE@"}, {"bytes", "\xFF"}});
  const std::string begin = "<script>{";
  const std::size_t first = filled.rfind(begin) + begin.size() - 1;
  const std::string data = filled.substr(first, filled.rfind("</script>") - first);
  EXPECT_THAT(data, Not(HasSubstr("<")));
  const auto read = nlohmann::json::parse(data);
  EXPECT_EQ(read["name"], "</script><!-- @TENSOA_STYLE@");
  EXPECT_EQ(read["bytes"], "\uFFFD");
  EXPECT_THAT(filled, Not(HasSubstr("@TENSOA_SCRIPT@")));
}

TEST(Summary, IsAnObject) {
  EXPECT_EQ(parse_summary(R"({"events": 2})")["events"], 2);
  for (const char* text : {"", "[]", "7", "{", "{\"a\": nan}"}) {
    EXPECT_THAT([&] { parse_summary(text); },
                ThrowsMessage<ConfigError>(HasSubstr("the summary is not a JSON object")))
        << text;
  }
}

TEST(ScoresAsJson, CurvesAreThoseOfTheCuts) {
  ScoreHistogram scores;
  EXPECT_EQ(to_json(scores)["efficiency"], "");
  scores.add(std::array{0.25F, 0.75F}, std::array<std::uint8_t, 2>{0, 1});
  const nlohmann::json json = to_json(scores);
  std::vector<float> efficiency(ScoreHistogram::kBins + 1, 0.0F);
  std::fill_n(efficiency.begin(), 751, 1.0F);
  EXPECT_EQ(json["efficiency"], pack(std::span<const float>(efficiency)));
  std::vector<float> false_rate(ScoreHistogram::kBins + 1, 0.0F);
  std::fill_n(false_rate.begin(), 251, 1.0F);
  EXPECT_EQ(json["falseRate"], pack(std::span<const float>(false_rate)));
  EXPECT_EQ(json["true"][750], 1);
  EXPECT_EQ(json["false"][250], 1);
}

}  // namespace
}  // namespace tensoa::events
