// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/soa/slice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "layouts.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using test::Mixed;
using test::Nested;
using testing::HasSubstr;
using testing::ThrowsMessage;

static_assert(std::is_same_v<decltype(slice(View<Mixed>{}, 0, 0)), View<Mixed>>);
static_assert(std::is_same_v<decltype(slice(ConstView<Nested>{}, 0, 0)), ConstView<Nested>>);

constexpr std::size_t kRows = 100;

class SliceAtOffset : public testing::TestWithParam<std::size_t> {
 protected:
  SliceAtOffset() {
    const auto v = mixed_.view();
    for (std::size_t i = 0; i < kRows; ++i) {
      const auto value = static_cast<float>(i);
      v.x[i] = value;
      v.flag[i] = static_cast<std::uint8_t>(i);
      v.id[i] = static_cast<std::int64_t>(i);
      v.weight[i] = Half{static_cast<std::uint16_t>(i)};
      for (std::size_t k = 0; k < 3; ++k)
        v.direction[i][k] = value + 1000.F * static_cast<float>(k);
      for (std::size_t k = 0; k < 6; ++k)
        v.covariance[i](k % 2, k / 2) = value - 1000.F * static_cast<float>(k);
    }
    *v.field = 3.8F;
    *v.scale = -2.;
  }

  /// Rows of the slice are rows `offset` and on of the collection.
  void expect_rows(ConstView<Mixed> sliced, std::size_t offset, std::size_t length) {
    ASSERT_EQ(sliced.size(), length);
    EXPECT_EQ(sliced.capacity(), kRows + 20 - offset);
    for (std::size_t i = 0; i < length; ++i) {
      const auto value = static_cast<float>(offset + i);
      ASSERT_EQ(sliced.x[i], value);
      ASSERT_EQ(sliced.flag[i], offset + i);
      ASSERT_EQ(sliced.id[i], static_cast<std::int64_t>(offset + i));
      ASSERT_EQ(sliced.weight[i].bits, offset + i);
      for (std::size_t k = 0; k < 3; ++k)
        ASSERT_EQ(sliced.direction[i][k], value + 1000.F * static_cast<float>(k));
      for (std::size_t k = 0; k < 6; ++k) {
        ASSERT_EQ(sliced.covariance[i](k % 2, k / 2), value - 1000.F * static_cast<float>(k));
      }
    }
    EXPECT_EQ(*sliced.field, 3.8F);
    EXPECT_EQ(*sliced.scale, -2.);
  }

  PortableCollection<Mixed> mixed_ = [] {
    PortableCollection<Mixed> mixed(kRows + 20, Device::cpu());
    mixed.resize(kRows);
    return mixed;
  }();
};
INSTANTIATE_TEST_SUITE_P(Offsets, SliceAtOffset, testing::Values(0, 1, 3, 5, 31, kRows));

TEST_P(SliceAtOffset, HasTheRowsFromThereOn) {
  const std::size_t offset = GetParam();
  for (const std::size_t length : {std::size_t{0}, (kRows - offset) / 2, kRows - offset}) {
    expect_rows(slice(mixed_.const_view(), offset, length), offset, length);
  }
}

TEST_P(SliceAtOffset, OfASliceAddsTheOffsets) {
  const std::size_t offset = GetParam();
  const auto tail = slice(mixed_.const_view(), offset, kRows - offset);
  const std::size_t more = std::min<std::size_t>(7, tail.size());
  expect_rows(slice(tail, more, tail.size() - more), offset + more, kRows - offset - more);
}

TEST_P(SliceAtOffset, WritesIntoTheCollection) {
  const std::size_t offset = GetParam();
  const auto sliced = slice(mixed_.view(), offset, kRows - offset);
  for (std::size_t i = 0; i < sliced.size(); ++i) {
    row(sliced, i).x = -1.F;
    sliced.direction[i][2] = -2.F;
  }
  *sliced.field = 4.F;
  const auto all = mixed_.const_view();
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto value = static_cast<float>(i);
    ASSERT_EQ(all.x[i], i < offset ? value : -1.F);
    ASSERT_EQ(all.direction[i][2], i < offset ? value + 2000.F : -2.F);
  }
  EXPECT_EQ(*all.field, 4.F);
}

TEST_P(SliceAtOffset, HasItsOwnRecords) {
  const std::size_t offset = GetParam();
  const auto view = mixed_.view();
  const auto sliced = slice(view, offset, kRows - offset);
  const ColumnRecord covariance = sliced.records().covariance().column;
  EXPECT_EQ(covariance.data, view.covariance.data() + offset);
  EXPECT_EQ(covariance.pitch, view.covariance.pitch_);
  EXPECT_EQ(covariance.size, kRows - offset);
  EXPECT_EQ(covariance.capacity, kRows + 20 - offset);
  EXPECT_FALSE(covariance.read_only);
  EXPECT_EQ(sliced.records().field().column.data, view.field.data());
  EXPECT_TRUE(slice(mixed_.const_view(), offset, 0).records().x().column.read_only);
}

TEST_P(SliceAtOffset, OfANestedViewMovesAllItsColumns) {
  const std::size_t offset = GetParam();
  PortableCollection<Nested> nested(kRows, Device::cpu());
  const auto view = nested.view();
  const auto sliced = slice(view, offset, kRows - offset);
  EXPECT_EQ(sliced.charge.data(), view.charge.data() + offset);
  EXPECT_EQ(sliced.position.z.data(), view.position.z.data() + offset);
  EXPECT_EQ(sliced.fit.end.x.data(), view.fit.end.x.data() + offset);
  EXPECT_EQ(sliced.fit.slope.data(), view.fit.slope.data() + offset);
  EXPECT_EQ(sliced.fit.slope.pitch_, view.fit.slope.pitch_);
  EXPECT_EQ(sliced.fit.end.unit.data(), view.fit.end.unit.data());
}

TEST(Slice, BatchesWithAShortLastOneSeeEveryRowOnce) {
  PortableCollection<Nested> nested(kRows, Device::cpu());
  const auto view = nested.view();
  for (std::size_t i = 0; i < kRows; ++i) view.position.x[i] = 0.F;
  constexpr std::size_t kBatch = 31;  // 31 31 31 7
  std::size_t batches = 0;
  for (std::size_t at = 0; at < view.size(); at += kBatch) {
    const auto batch = slice(view, at, std::min(kBatch, view.size() - at));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      batch.position.x[i] += static_cast<float>(batches * kBatch + i) + 1.F;
    }
    ++batches;
  }
  EXPECT_EQ(batches, 4U);
  for (std::size_t i = 0; i < kRows; ++i) {
    ASSERT_EQ(view.position.x[i], static_cast<float>(i) + 1.F);
  }
}

TEST(Slice, KeepsTheLease) {
  View<Mixed> sliced{};
  {
    PortableCollection<Mixed> mixed(kRows, Device::cpu());
    sliced = slice(mixed.view(), 3, 5);
    EXPECT_TRUE(sliced.lease_.is_live());
  }
  EXPECT_FALSE(sliced.lease_.is_live());
}

TEST(Slice, BeyondTheRowsIsAnErrorWithTheNumbers) {
  PortableCollection<Mixed> mixed(kRows + 20, Device::cpu());
  mixed.resize(kRows);  // room for more is not an excuse
  const auto view = mixed.view();
  EXPECT_THAT([&] { slice(view, 95, 6); },
              ThrowsMessage<BindingError>(
                  HasSubstr("slice: 6 rows from row 95 on are not in a view of 100 rows")));
  EXPECT_THROW(slice(view, kRows + 1, 0), BindingError);
  EXPECT_THROW(slice(mixed.const_view(), 0, kRows + 1), BindingError);
}

TEST(Slice, ChecksWithoutOverflow) {
  PortableCollection<Mixed> mixed(kRows, Device::cpu());
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  EXPECT_THROW(slice(mixed.view(), 2, kMost), BindingError);
  EXPECT_THROW(slice(mixed.view(), kMost, 2), BindingError);
  EXPECT_THROW(slice(mixed.view(), kMost, kMost), BindingError);
}

TEST(Slice, OfNothingIsNothing) {
  const auto sliced = slice(View<Mixed>{}, 0, 0);
  EXPECT_EQ(sliced.size(), 0U);
  EXPECT_EQ(sliced.x.data(), nullptr);
}

}  // namespace
}  // namespace tensoa
