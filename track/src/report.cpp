// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/report.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "report_template.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::track {
namespace {

using nlohmann::json;

// Stands in report.html where the data goes.
constexpr std::string_view kPlaceholder = "@TENSOA_REPORT_DATA@";

// The page reads the packed columns as little-endian typed arrays.
static_assert(std::endian::native == std::endian::little);

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

template <class T>
std::string pack(const std::vector<T>& column) {
  return base64(std::as_bytes(std::span(column)));
}

template <class T, class U>
std::string pack_rows(const std::vector<U>& column, const std::vector<std::size_t>& rows) {
  std::vector<T> picked;
  picked.reserve(rows.size());
  for (const std::size_t row : rows) picked.push_back(static_cast<T>(column[row]));
  return pack(picked);
}

void check(const ReportEvent& event) {
  const std::size_t hits = event.x.size();
  const std::size_t edges = event.source.size();
  const auto fits = [&](std::size_t size, std::size_t expected, bool optional) {
    return size == expected || (optional && !event.has_truth && size == 0);
  };
  if (!fits(event.y.size(), hits, false) || !fits(event.z.size(), hits, false) ||
      !fits(event.track_id.size(), hits, false) || !fits(event.particle_id.size(), hits, true) ||
      !fits(event.target.size(), edges, false) || !fits(event.score.size(), edges, false) ||
      !fits(event.truth.size(), edges, true)) {
    throw ConfigError("write_report(): columns of event " + event.name +
                      " differ in length, expected " + std::to_string(hits) + " hits and " +
                      std::to_string(edges) + " edges in each");
  }
  const auto is_row = [&](std::int32_t row) {
    return row >= 0 && static_cast<std::size_t>(row) < hits;
  };
  if (!std::all_of(event.source.begin(), event.source.end(), is_row) ||
      !std::all_of(event.target.begin(), event.target.end(), is_row)) {
    throw ConfigError("write_report(): an edge of event " + event.name +
                      " refers to no hit, expected rows 0 to " + std::to_string(hits) +
                      " (exclusive)");
  }
}

// The rows of the edges that the page draws: all, or the most telling ones of a huge event.
std::vector<std::size_t> drawn_edges(const ReportEvent& event) {
  std::vector<std::size_t> rows(event.source.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  if (rows.size() <= kMaxReportEdges) return rows;
  const auto rank = [&](std::size_t row) {
    // NaN goes last, so that the order stays a strict one.
    const float score = event.score[row] >= 0.0F ? event.score[row] : -1.0F;
    return (event.has_truth && event.truth[row] != 0 ? 2.0F : 0.0F) + score;
  };
  const auto end = rows.begin() + static_cast<std::ptrdiff_t>(kMaxReportEdges);
  std::nth_element(rows.begin(), end, rows.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) > rank(b); });
  rows.erase(end, rows.end());
  return rows;
}

json to_json(const ReportEvent& event) {
  check(event);
  const auto rows = drawn_edges(event);
  const bool wide = event.x.size() > std::numeric_limits<std::uint16_t>::max();
  json out = {{"name", event.name},  {"edges", event.source.size()},
              {"x", pack(event.x)},  {"y", pack(event.y)},
              {"z", pack(event.z)},  {"track", pack(event.track_id)},
              {"wide", wide},        {"score", pack_rows<float>(event.score, rows)},
              {"particle", nullptr}, {"truth", nullptr}};
  for (const auto& [key, column] :
       {std::pair{"source", &event.source}, {"target", &event.target}}) {
    out[key] =
        wide ? pack_rows<std::int32_t>(*column, rows) : pack_rows<std::uint16_t>(*column, rows);
  }
  if (event.has_truth) {
    out["particle"] = pack(event.particle_id);
    out["truth"] = pack_rows<std::uint8_t>(event.truth, rows);
  }
  return out;
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
  return {{"true", scores.true_counts()},      {"false", scores.false_counts()},
          {"all", scores.unlabelled_counts()}, {"efficiency", pack(efficiency)},
          {"falseRate", pack(false_rate)},     {"purity", pack(purity)}};
}

json parse_summary(std::string_view text) {
  json summary = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!summary.is_object()) {
    throw ConfigError("write_report(): the summary is no JSON object, expected what --json writes");
  }
  return summary;
}

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

std::string report_page(std::string_view summary_json, std::span<const ReportEvent> events,
                        const ScoreHistogram& scores) {
  json shown = json::array();
  for (const auto& event : events.first(std::min(events.size(), kMaxReportEvents))) {
    shown.push_back(to_json(event));
  }
  const std::string data = script_safe({{"summary", parse_summary(summary_json)},
                                        {"scores", to_json(scores)},
                                        {"events", std::move(shown)}});
  constexpr std::string_view page = detail::kReportTemplate;
  constexpr std::size_t at = page.find(kPlaceholder);
  static_assert(at != std::string_view::npos, "report.html has no place for the data");
  return std::string(page.substr(0, at)) + data +
         std::string(page.substr(at + kPlaceholder.size()));
}

}  // namespace tensoa::track
