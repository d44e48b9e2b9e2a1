// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/prometheus.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tensoa {
namespace {

TEST(PrometheusText, HasAFamilyAndItsSamplesLineByLine) {
  PrometheusText text;
  text.family("events_total", "counter", "Events that are over.");
  text.sample("events_total", {{"device", "cuda:0"}, {"state", "done"}}, 12);
  text.sample("events_total", {}, 0.25);
  EXPECT_EQ(text.text(),
            "# HELP events_total Events that are over.\n"
            "# TYPE events_total counter\n"
            "events_total{device=\"cuda:0\",state=\"done\"} 12\n"
            "events_total 0.25\n");
}

TEST(PrometheusText, EscapesTheValuesOfLabels) {
  PrometheusText text;
  text.sample("x", {{"file", "a\"b\\c\nd"}}, 1);
  EXPECT_EQ(text.text(), "x{file=\"a\\\"b\\\\c\\nd\"} 1\n");
}

TEST(PrometheusText, KeepsLargeCountersToTheLastDigitAndNamesWhatIsNotANumber) {
  PrometheusText text;
  text.sample("x", {}, 9007199254740991.0);
  text.sample("x", {}, std::numeric_limits<double>::infinity());
  text.sample("x", {}, -std::numeric_limits<double>::infinity());
  text.sample("x", {}, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(text.text(), "x 9007199254740991\nx +Inf\nx -Inf\nx NaN\n");
}

TEST(PrometheusText, SummarisesLatenciesInSeconds) {
  LatencyHistogram times;
  for (int i = 0; i < 10; ++i) times.add(std::chrono::nanoseconds(16));
  PrometheusText text;
  text.summary("latency_seconds", {{"device", "cpu"}}, times);
  EXPECT_EQ(text.text(),
            "latency_seconds{device=\"cpu\",quantile=\"0.5\"} 1.6e-08\n"
            "latency_seconds{device=\"cpu\",quantile=\"0.99\"} 1.6e-08\n"
            "latency_seconds{device=\"cpu\",quantile=\"0.999\"} 1.6e-08\n"
            "latency_seconds_count{device=\"cpu\"} 10\n");
}

}  // namespace
}  // namespace tensoa
