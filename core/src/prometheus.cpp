// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/prometheus.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

namespace tensoa {
namespace {

void append_escaped(std::string& text, std::string_view value) {
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
}

void append_number(std::string& text, double value) {
  if (std::isnan(value)) {
    text += "NaN";
    return;
  }
  if (std::isinf(value)) {
    text += value > 0 ? "+Inf" : "-Inf";
    return;
  }
  std::array<char, 32> digits{};
  text.append(digits.data(), std::to_chars(digits.begin(), digits.end(), value).ptr);
}

}  // namespace

void PrometheusText::family(std::string_view name, std::string_view type, std::string_view help) {
  text_.append("# HELP ").append(name).append(" ").append(help);
  text_.append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
}

void PrometheusText::sample(std::string_view name, Labels labels, double value) {
  add(name, labels, {}, value);
}

void PrometheusText::summary(std::string_view name, Labels labels, const LatencyHistogram& times) {
  constexpr std::pair<double, std::string_view> kQuantiles[] = {
      {0.5, "0.5"}, {0.99, "0.99"}, {0.999, "0.999"}};
  for (const auto& [share, label] : kQuantiles) {
    add(name, labels, {{"quantile", label}},
        std::chrono::duration<double>(times.percentile(share)).count());
  }
  add(std::string(name) + "_count", labels, {}, static_cast<double>(times.count()));
}

void PrometheusText::add(std::string_view name, Labels labels, Labels more, double value) {
  text_ += name;
  char separator = '{';
  for (const Labels& some : {labels, more}) {
    for (const auto& [label, content] : some) {
      text_.append(1, separator).append(label).append("=\"");
      append_escaped(text_, content);
      text_ += '"';
      separator = ',';
    }
  }
  if (separator == ',') text_ += '}';
  text_ += ' ';
  append_number(text_, value);
  text_ += '\n';
}

}  // namespace tensoa
