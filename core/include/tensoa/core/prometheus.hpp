// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "tensoa/core/latency.hpp"

namespace tensoa {

/// Builds a page in the text format of Prometheus
/// (https://prometheus.io/docs/instrumenting/exposition_formats): families, each followed by its samples.
///
///     PrometheusText text;
///     text.family("tensoa_events_total", "counter", "Events that are over.");
///     text.sample("tensoa_events_total", {{"device", "cuda:0"}}, 12);
class PrometheusText {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  /// @param type "counter", "gauge" or "summary"
  void family(std::string_view name, std::string_view type, std::string_view help);

  /// @param labels names and any values; quotes, backslashes and line feeds in values are escaped
  void sample(std::string_view name, Labels labels, double value);

  /// The quantiles 0.5, 0.99 and 0.999 in seconds and the count, of a family of type "summary".
  void summary(std::string_view name, Labels labels, const LatencyHistogram& times);

  const std::string& text() const noexcept { return text_; }

 private:
  void add(std::string_view name, Labels labels, Labels more, double value);

  std::string text_;
};

}  // namespace tensoa
