// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "report_page.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "page_script.hpp"
#include "page_style.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::events {
namespace {

using nlohmann::json;

// The page reads the packed columns as little-endian typed arrays.
static_assert(std::endian::native == std::endian::little);

// JSON that is safe inside <script>: "<" stands only in strings, where an escape is the same.
std::string script_safe(const json& value) {
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8U | (k < n ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= n ? digits[group >> (18U - 6U * k) & 63U] : '=';
    }
  }
  return text;
}

json to_json(const ScoreHistogram& scores) {
  std::vector<float> efficiency;
  std::vector<float> false_rate;
  std::vector<float> purity;
  for (const CutPoint& point : scores.cut_points()) {
    efficiency.push_back(static_cast<float>(point.efficiency));
    false_rate.push_back(static_cast<float>(point.false_rate));
    purity.push_back(static_cast<float>(point.purity));
  }
  return {{"true", scores.true_counts()},         {"false", scores.false_counts()},
          {"all", scores.unlabelled_counts()},    {"efficiency", pack<float>(efficiency)},
          {"falseRate", pack<float>(false_rate)}, {"purity", pack<float>(purity)}};
}

json parse_summary(std::string_view text) {
  json summary = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!summary.is_object()) {
    throw ConfigError(
        "report_page(): the summary is not a JSON object, expected what --json writes");
  }
  return summary;
}

std::string filled_page(std::string_view page, const json& data) {
  std::string filled(page);
  const auto put = [&](std::string_view place, std::string_view text) {
    filled.replace(filled.find(place), place.size(), text);
  };
  put("@TENSOA_STYLE@", kPageStyle);
  put("@TENSOA_SCRIPT@", kPageScript);
  put("@TENSOA_REPORT_DATA@", script_safe(data));  // last: it may have anything
  return filled;
}

}  // namespace tensoa::events
