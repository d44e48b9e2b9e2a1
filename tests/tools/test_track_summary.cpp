// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "track_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensoa::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(TrackSummary, SaysWhyThereIsNoAucOfEdgesThatStayedOnADevice) {
  TrackSummary summary;
  summary.device = "cuda:1";
  summary.events = summary.events_with_truth = 1;
  summary.edges = 10;
  EXPECT_THAT(to_table(summary),
              HasSubstr("edge AUC – (the edges stay on cuda:1 without --json or --report), edge"));
  summary.host_edges = 10;
  EXPECT_THAT(to_table(summary), HasSubstr("edge AUC –, edge")) << "all true, or all false";
  summary.edges = summary.host_edges = 0;
  EXPECT_THAT(to_table(summary), Not(HasSubstr("stay on")));
}

}  // namespace
}  // namespace tensoa::tools
