// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/report.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

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
std::string pack(std::span<const T> numbers) {
  return base64(std::as_bytes(numbers));
}

template <class T>
std::string pack(const PlainColumn<const T>& column, std::size_t rows) {
  return pack(std::span(column.data(), rows));
}

/// The numbers of `rows`, as T.
template <class T, class Column>
std::string pack_rows(const Column& column, std::span<const std::size_t> rows) {
  std::vector<T> picked;
  picked.reserve(rows.size());
  for (const std::size_t row : rows) picked.push_back(static_cast<T>(column[row]));
  return pack(std::span<const T>(picked));
}

std::vector<std::size_t> rows_below(std::size_t n) {
  std::vector<std::size_t> rows(n);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

void require_rows(const ReportEvent& event) {
  const std::size_t hits = event.hits.size();
  const auto is_row = [&](std::int64_t row) {
    return row >= 0 && static_cast<std::size_t>(row) < hits;
  };
  for (std::size_t edge = 0; edge < event.edges.size(); ++edge) {
    if (is_row(event.edges.source[edge]) && is_row(event.edges.target[edge])) continue;
    throw ConfigError("report_page(): edge " + std::to_string(edge) + " of event " +
                      std::string(event.name) + " joins rows " +
                      std::to_string(event.edges.source[edge]) + " and " +
                      std::to_string(event.edges.target[edge]) + ", expected rows of the " +
                      std::to_string(hits) + " hits");
  }
}

// The rows of the edges that the page draws: all, or the most telling ones of a huge event.
std::vector<std::size_t> drawn_edges(const ReportEvent& event) {
  std::vector<std::size_t> rows = rows_below(event.edges.size());
  if (rows.size() <= kMaxReportEdges) return rows;
  const auto rank = [&](std::size_t row) {
    // NaN goes last, so that the order stays a strict one.
    const float score = event.edges.score[row] >= 0.0F ? event.edges.score[row] : -1.0F;
    return (event.has_truth && event.edges.truth[row] != 0 ? 2.0F : 0.0F) + score;
  };
  const auto end = rows.begin() + static_cast<std::ptrdiff_t>(kMaxReportEdges);
  std::nth_element(rows.begin(), end, rows.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) > rank(b); });
  rows.erase(end, rows.end());
  return rows;
}

json to_json(const ReportEvent& event) {
  require_rows(event);
  const auto& [name, hits, edges, has_truth] = event;
  const std::size_t n = hits.size();
  const auto rows = drawn_edges(event);
  const bool wide = n > std::numeric_limits<std::uint16_t>::max();
  const auto pack_ends = [&](const PlainColumn<const std::int64_t>& ends) {
    return wide ? pack_rows<std::int32_t>(ends, rows) : pack_rows<std::uint16_t>(ends, rows);
  };
  return {{"name", name},
          {"edges", edges.size()},
          {"x", pack(hits.x, n)},
          {"y", pack(hits.y, n)},
          {"z", pack(hits.z, n)},
          {"track", pack_rows<std::int32_t>(hits.track_id, rows_below(n))},
          {"wide", wide},
          {"score", pack_rows<float>(edges.score, rows)},
          {"source", pack_ends(edges.source)},
          {"target", pack_ends(edges.target)},
          {"particle", has_truth ? json(pack(hits.particle_id, n)) : json()},
          {"truth", has_truth ? json(pack_rows<std::uint8_t>(edges.truth, rows)) : json()}};
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
    throw ConfigError("report_page(): the summary is no JSON object, expected what --json writes");
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
