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

TEST(EventFigures, SayHowManyEventsWereDoneAgain) {
  EventFigures figures;
  EXPECT_EQ(again_line(figures), "");
  EventFigures one;
  one.events = one.again = 1;
  figures += one;
  EXPECT_EQ(again_line(figures),
            "1 event had more candidate edges than --edge-capacity, done twice\n");
  figures += one;
  EXPECT_THAT(again_line(figures), HasSubstr("2 events had more candidate edges than"));
  EXPECT_EQ(to_json(figures, RunSummary())["done_again"], 2U);
}

TEST(TrackSummary, KnowsNoCeilingWhereTheEdgesStayedOnTheDevice) {
  track::ProcessedEvent done;
  done.event.has_truth = true;
  PortableCollection<track::Edge> edges(0, Device::cpu());
  // An event without candidate edges, on the host.
  EXPECT_EQ(figures_of(done, edges.const_view()).track_counts.events_with_edges, 1U);
  done.edges = 2;
  EXPECT_EQ(figures_of(done, edges.const_view()).track_counts.events_with_edges, 0U);
}

TEST(TrackSummary, HasNoTracksAgainstTheTruthWithoutTruth) {
  TrackSummary summary;
  EXPECT_EQ(to_json(summary)["tracks_against_truth"], nlohmann::json());
  summary.events_with_truth = 1;
  EXPECT_TRUE(to_json(summary)["tracks_against_truth"].is_object());
}

}  // namespace
}  // namespace tensoa::tools
