// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "keep.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "cli/numbers.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::tools {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

constexpr std::array<std::pair<std::string_view, Relation>, 6> kRelations{{
    {"<=", Relation::kAtMost},
    {">=", Relation::kAtLeast},
    {"==", Relation::kEqual},
    {"!=", Relation::kDiffers},
    {"<", Relation::kLess},
    {">", Relation::kMore},
}};

KeepCondition parse_one(std::string_view text) {
  const auto fail = [&](const char* what) {
    throw ConfigError("--keep: got \"" + std::string(text) + "\", " + what +
                      "; expected a name, one of < <= > >= == !=, and a number, as 'score>0.9'");
  };
  const auto at = text.find_first_of("<>=!");
  if (at == std::string_view::npos) fail("which has no comparison");
  for (const auto& [sign, relation] : kRelations) {
    if (!text.substr(at).starts_with(sign)) continue;
    KeepCondition one{std::string(trimmed(text.substr(0, at))), relation, 0};
    const std::string_view number = trimmed(text.substr(at + sign.size()));
    if (one.name.empty()) fail("which names no column");
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), one.number);
    if (error != std::errc() || end != number.data() + number.size() || number.empty()) {
      fail("which compares with no number");
    }
    if (std::isnan(one.number)) fail("and nothing is equal to, less or more than NaN");
    return one;
  }
  fail("which has no comparison");
  return {};
}

template <class Compare, class Number>
void apply_with(const Compare& compare, const Number& number, std::vector<std::uint8_t>& keep) {
  for (std::size_t i = 0; i < keep.size(); ++i) {
    keep[i] = static_cast<std::uint8_t>(keep[i] & (compare(number(i)) ? 1U : 0U));
  }
}

/// @param number the number at a place, as float64
template <class Number>
void apply_to(const KeepCondition& comparison, const Number& number,
              std::vector<std::uint8_t>& keep) {
  const double other = comparison.number;
  switch (comparison.relation) {
    case Relation::kLess:
      return apply_with([other](double x) { return x < other; }, number, keep);
    case Relation::kAtMost:
      return apply_with([other](double x) { return x <= other; }, number, keep);
    case Relation::kMore:
      return apply_with([other](double x) { return x > other; }, number, keep);
    case Relation::kAtLeast:
      return apply_with([other](double x) { return x >= other; }, number, keep);
    case Relation::kEqual:
      return apply_with([other](double x) { return x == other; }, number, keep);
    case Relation::kDiffers:
      return apply_with([other](double x) { return x != other; }, number, keep);
  }
}

}  // namespace

std::vector<KeepCondition> parse_keep(const std::string& text) {
  std::vector<KeepCondition> all;
  std::string_view rest = text;
  while (true) {
    const auto end = rest.find("&&");
    all.push_back(parse_one(trimmed(rest.substr(0, end))));
    if (end == std::string_view::npos) return all;
    rest.remove_prefix(end + 2);
  }
}

void apply(const KeepCondition& comparison, const std::byte* data, DType dtype,
           std::vector<std::uint8_t>& keep) {
  if (dtype == DType::kF32) {  // what most models give
    const auto* floats = reinterpret_cast<const float*>(data);
    return apply_to(
        comparison, [floats](std::size_t i) { return floats[i]; }, keep);
  }
  const std::size_t size = size_of(dtype);
  apply_to(
      comparison, [=](std::size_t i) { return cli::number_at(data + i * size, dtype); }, keep);
}

}  // namespace tensoa::tools
