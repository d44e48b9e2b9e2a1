// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>

#include "gpu/gpu_forest.hpp"

namespace {

using namespace tensoa::forest;

constexpr GpuLimits kH100{.multiprocessors = 132, .shared_bytes = 232'448};
constexpr std::size_t kRow = 120;
constexpr std::size_t kLane = 32;

TEST(GpuLayout, OneRowIsSharedByALaneForEachGroupOfTrees) {
  const GpuLayout layout = layout_for(1, 13, kH100, kRow, kLane);
  EXPECT_EQ(layout.rows, 1U);
  EXPECT_EQ(layout.lanes, 13U);
}

TEST(GpuLayout, ManyRowsHaveAThreadEach) {
  const GpuLayout layout = layout_for(1'000'000, 13, kH100, kRow, kLane);
  EXPECT_EQ(layout.rows, kMostThreads);
  EXPECT_EQ(layout.lanes, 1U);
}

TEST(GpuLayout, RowsOfManyFeaturesAreFewerAndSharedByMoreThreads) {
  const GpuLayout layout = layout_for(1'000'000, 500, kH100, 4000, kLane);
  EXPECT_EQ(layout.rows, 16U);
  EXPECT_EQ(layout.lanes, 16U);
}

TEST(GpuLayout, FitsTheDeviceWhateverTheRowsTreesAndFeatures) {
  for (const std::int64_t rows : {1L, 7L, 100L, 5'000L, 100'000L, 10'000'000L}) {
    for (const std::uint32_t groups : {0U, 1U, 13U, 63U, 4'000U}) {
      for (const std::size_t row_bytes : {8UL, 120UL, 4'000UL, 200'000UL}) {
        const GpuLayout layout = layout_for(rows, groups, kH100, row_bytes, kLane);
        EXPECT_TRUE(std::has_single_bit(layout.rows));
        EXPECT_TRUE(layout.lanes > 1 || layout.rows * row_bytes <= kMostWordBytes);
        EXPECT_GE(layout.lanes, 1U);
        EXPECT_LE(layout.threads(), kMostThreads);
        const std::size_t lanes = layout.lanes > 1 ? layout.lanes : 0;
        EXPECT_LE(layout.rows * (row_bytes + lanes * kLane), kH100.shared_bytes)
            << rows << " rows, " << groups << " groups, " << row_bytes << " bytes a row";
      }
    }
  }
}

}  // namespace
