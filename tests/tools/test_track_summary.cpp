// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "track_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensoa::tools {
namespace {

using testing::HasSubstr;

TEST(TrackSummary, HasNoAucWhereAllEdgesAreTrueOrAllFalse) {
  TrackSummary summary;
  summary.device = "cuda:1";
  summary.events = summary.events_with_truth = 1;
  summary.edges = 10;
  EXPECT_THAT(to_table(summary), HasSubstr("edge AUC –, edge"));
  track::EdgeAuc::Counts counts{};
  counts[track::EdgeAuc::bin_of(0.25F)] =
      counts[track::EdgeAuc::kBins + track::EdgeAuc::bin_of(0.5F)] = 1;
  summary.edge_auc.add(counts);
  EXPECT_THAT(to_table(summary), HasSubstr("edge AUC 1.0000, edge"));
}

}  // namespace
}  // namespace tensoa::tools
