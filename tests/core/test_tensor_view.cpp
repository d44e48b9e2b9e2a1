// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/tensor_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>

namespace tensoa {
namespace {

TEST(TensorView, CountsElementsAndBytes) {
  TensorView view;
  view.dtype = DType::kI64;
  view.rank = 2;
  view.size_of_dim = {5, 3};
  EXPECT_EQ(view.elements(), 15);
  EXPECT_EQ(view.bytes(), 120U);
  EXPECT_EQ(to_string(view), "int64[5, 3] on cpu");
}

TensorView view_of(std::uintptr_t address, std::initializer_list<std::int64_t> sizes,
                   std::initializer_list<std::int64_t> strides) {
  TensorView view{.data = reinterpret_cast<void*>(address), .dtype = DType::kF32, .device = {}};
  view.rank = static_cast<std::uint8_t>(sizes.size());
  std::ranges::copy(sizes, view.size_of_dim.begin());
  std::ranges::copy(strides, view.stride_of_dim.begin());
  return view;
}

TEST(TensorView, ExtentGoesFromTheFirstElementToTheEndOfTheLast) {
  const Extent extent = extent_of(view_of(1000, {5, 3}, {1, 100}));
  EXPECT_EQ(extent.begin, 1000U);
  EXPECT_EQ(extent.end, 1000U + (4 + 200 + 1) * sizeof(float));
  EXPECT_EQ(extent.bytes(), 205 * sizeof(float));
  EXPECT_EQ(extent_of(view_of(1000, {}, {})).bytes(), sizeof(float));
  EXPECT_EQ(extent_of(view_of(1000, {7, 2}, {0, 1})).bytes(), 2 * sizeof(float)) << "broadcast";
  EXPECT_EQ(extent_of(view_of(1000, {5, 0}, {1, 100})).bytes(), 0U);
}

TEST(TensorView, ExtentsOverlapWhereTheyShareAByte) {
  const Extent first{100, 200};
  EXPECT_TRUE(first.overlaps({199, 300}));
  EXPECT_TRUE(first.overlaps({150, 160}));
  EXPECT_TRUE(first.overlaps({0, 1000}));
  EXPECT_FALSE(first.overlaps({200, 300}));
  EXPECT_FALSE(first.overlaps({0, 100}));
  EXPECT_FALSE(first.overlaps({150, 150})) << "nothing shares nothing";
  EXPECT_FALSE(Extent({150, 150}).overlaps(first));
}

TEST(TensorView, RowMajorStridesFollowFromTheSizes) {
  TensorView view = view_of(0, {5, 3, 2}, {0, 0, 0});
  EXPECT_TRUE(make_row_major(view));
  EXPECT_EQ(view.stride_of_dim, (std::array<std::int64_t, kMaxRank>{6, 2, 1, 0}));
  EXPECT_EQ(extent_of(view).bytes(), view.bytes());

  view = view_of(0, {std::int64_t{1} << 60, 1}, {0, 0});
  EXPECT_TRUE(make_row_major(view));
  view = view_of(0, {std::int64_t{1} << 60, 2}, {0, 0});
  EXPECT_FALSE(make_row_major(view)) << "2^63 bytes";
  view = view_of(0, {std::int64_t{1} << 40, std::int64_t{1} << 40}, {0, 0});
  EXPECT_FALSE(make_row_major(view)) << "more elements than can be counted";
}

}  // namespace
}  // namespace tensoa
