// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/soa/portable_collection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "layouts.hpp"
#include "support/counting_resource.hpp"

namespace tensoa {

/// A device type of another library.
struct ForeignDevice {};

template <>
struct DeviceTraits<ForeignDevice> {
  static constexpr Device get(const ForeignDevice&) noexcept { return Device::cpu(); }
};

namespace {

using test::kSizes;
using test::Mixed;
using test::Nested;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Collection = PortableCollection<Mixed>;

static_assert(!std::is_copy_constructible_v<Collection> && !std::is_copy_assignable_v<Collection>);
static_assert(std::is_nothrow_move_constructible_v<Collection> &&
              std::is_nothrow_move_assignable_v<Collection>);

/// Writes a value that tells row and column into each element.
void fill(View<Mixed> view) {
  for (std::size_t i = 0; i < view.size(); ++i) {
    const auto value = static_cast<float>(i);
    view.x[i] = value;
    view.y[i] = value + 0.25F;
    view.z[i] = value + 0.5F;
    view.flag[i] = static_cast<std::uint8_t>(i % 251);
    view.id[i] = static_cast<std::int64_t>(i) - 5;
    view.weight[i] = Half{static_cast<std::uint16_t>(i)};
    view.layer[i] = static_cast<std::int32_t>(i) * 3;
    view.energy[i] = static_cast<double>(i) / 3;
    for (std::size_t k = 0; k < 3; ++k)
      view.direction[i][k] = value + 1000.F * static_cast<float>(k);
    for (std::size_t k = 0; k < 6; ++k)
      view.covariance[i](k % 2, k / 2) = value - 1000.F * static_cast<float>(k);
  }
  *view.field = 3.8F;
  *view.scale = -2.;
}

void expect_filled(ConstView<Mixed> view, std::size_t rows) {
  for (std::size_t i = 0; i < rows; ++i) {
    const auto value = static_cast<float>(i);
    ASSERT_EQ(view.x[i], value);
    ASSERT_EQ(view.y[i], value + 0.25F);
    ASSERT_EQ(view.z[i], value + 0.5F);
    ASSERT_EQ(view.flag[i], i % 251);
    ASSERT_EQ(view.id[i], static_cast<std::int64_t>(i) - 5);
    ASSERT_EQ(view.weight[i].bits, i);
    ASSERT_EQ(view.layer[i], static_cast<std::int32_t>(i) * 3);
    ASSERT_EQ(view.energy[i], static_cast<double>(i) / 3);
    for (std::size_t k = 0; k < 3; ++k)
      ASSERT_EQ(view.direction[i][k], value + 1000.F * static_cast<float>(k));
    for (std::size_t k = 0; k < 6; ++k) {
      ASSERT_EQ(view.covariance[i](k % 2, k / 2), value - 1000.F * static_cast<float>(k));
    }
  }
  EXPECT_EQ(*view.field, 3.8F);
  EXPECT_EQ(*view.scale, -2.);
}

class PortableCollectionOfSize : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, PortableCollectionOfSize, testing::ValuesIn(kSizes));

TEST_P(PortableCollectionOfSize, HoldsAllItsValues) {
  Collection mixed(GetParam(), Device::cpu());
  EXPECT_EQ(mixed.size(), GetParam());
  EXPECT_EQ(mixed.capacity(), GetParam());
  EXPECT_EQ(mixed.device(), Device::cpu());
  fill(mixed.view());
  expect_filled(mixed.const_view(), GetParam());
}

TEST_P(PortableCollectionOfSize, HasEveryColumnOnALineInsideTheAllocation) {
  Collection mixed(GetParam(), Device::cpu());
  const MemoryPlan<Mixed> plan(GetParam());
  EXPECT_EQ(mixed.bytes(), plan.bytes);
  std::size_t field = 0;
  for (const ColumnRecord& column : column_records(mixed.view())) {
    EXPECT_EQ(column.field, field);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(column.data) % kAlignment, 0U)
        << kFieldNames<Mixed>[field];
    EXPECT_EQ(column.data, mixed.data() + plan.offset_of[field]) << kFieldNames<Mixed>[field];
    ++field;
  }
}

TEST_P(PortableCollectionOfSize, IsCopiedBetweenEqualCapacitiesInOneBlock) {
  Collection from(GetParam(), Device::cpu());
  Collection to(GetParam(), Device::cpu());
  fill(from.view());
  EXPECT_EQ(copy(Queue(Device::cpu()), from, to), from.bytes());
  expect_filled(to.const_view(), GetParam());
}

TEST_P(PortableCollectionOfSize, IsCopiedBetweenDifferentCapacitiesPlaneByPlane) {
  Collection from(GetParam() + 100, Device::cpu());
  Collection to(GetParam() + 7, Device::cpu());
  fill(from.view());
  from.resize(GetParam());
  const std::size_t bytes_of_a_row = 13 * 4 + 1 + 8 + 2 + 8;
  EXPECT_EQ(copy(Queue(Device::cpu()), from, to), GetParam() * bytes_of_a_row + 4 + 8);
  EXPECT_EQ(to.size(), GetParam());
  expect_filled(to.const_view(), GetParam());
}

TEST_P(PortableCollectionOfSize, GoesToTheGpuAndBack) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  const Queue queue(Device::cuda(0));
  Collection from(GetParam() + 100, Device::cpu());
  Collection same_capacity(GetParam() + 100, Device::cuda(0));
  Collection other_capacity(GetParam() + 1, Device::cuda(0));
  Collection back(GetParam() + 1, Device::cpu());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(other_capacity.data()) % kAlignment, 0U);
  fill(from.view());
  from.resize(GetParam());
  copy(queue, from, same_capacity);
  copy(queue, same_capacity, other_capacity);
  copy(queue, other_capacity, back);
  queue.wait();
  EXPECT_EQ(back.size(), GetParam());
  expect_filled(back.const_view(), GetParam());
}

TEST(PortableCollection, ResizeKeepsRowsAndAddresses) {
  Collection mixed(100, Device::cpu());
  fill(mixed.view());
  const float* const x = mixed.view().x.data();
  mixed.resize(3);
  EXPECT_EQ(mixed.size(), 3U);
  EXPECT_EQ(mixed.capacity(), 100U);
  mixed.resize(100);
  EXPECT_EQ(mixed.view().x.data(), x);
  expect_filled(mixed.const_view(), 100);
}

TEST(PortableCollection, ResizeBeyondTheCapacityIsAnErrorAndChangesNothing) {
  Collection mixed(10, Device::cpu());
  EXPECT_THAT([&] { mixed.resize(11); },
              ThrowsMessage<ConfigError>(HasSubstr("11 rows do not fit the capacity of 10")));
  EXPECT_EQ(mixed.size(), 10U);
}

TEST(PortableCollection, WithoutADeviceIsOnTheCpu) {
  const PortableCollection<Mixed> collection(7);
  EXPECT_EQ(collection.device(), Device::cpu());
  EXPECT_EQ(collection.size(), 7U);
  EXPECT_THROW(PortableCollection<Mixed>(-1), ConfigError);
}

TEST(PortableCollection, OfAnImpossibleCapacityIsAnError) {
  // 2^56 bytes for 19 planes of at most 8
  EXPECT_THAT([] { Collection(-1, Device::cpu()); },
              ThrowsMessage<ConfigError>(
                  HasSubstr("a capacity of -1 rows is impossible; expected 0 to 474063118670578")));
  EXPECT_THROW(Collection(std::int64_t{474063118670579}, Device::cpu()), ConfigError);
  EXPECT_THROW(Collection(std::numeric_limits<std::uint64_t>::max(), Device::cpu()), ConfigError);
}

TEST(PortableCollection, ThatDoesNotFitTheMemoryIsADeviceError) {
  EXPECT_THROW(Collection(std::int64_t{1} << 48, Device::cpu()), DeviceError);
}

TEST(PortableCollection, OnADeviceThatIsNotThereIsAnError) {
  EXPECT_THAT([] { Collection(1, Device::cuda(99)); },
              ThrowsMessage<DeviceError>(HasSubstr("device cuda:99 is not there")));
}

TEST(PortableCollection, TakesADeviceOfAForeignType) {
  PortableCollection<Mixed, ForeignDevice> mixed(3, ForeignDevice{});
  EXPECT_EQ(mixed.device(), Device::cpu());
  fill(mixed.view());
  Collection ours(3, Device::cpu());
  copy(Queue(Device::cpu()), mixed, ours);
  expect_filled(ours.const_view(), 3);
}

TEST(PortableCollection, MovingKeepsTheMemoryAndLeavesNothingBehind) {
  Collection from(100, Device::cpu());
  fill(from.view());
  const std::byte* const data = from.data();

  Collection constructed(std::move(from));
  EXPECT_EQ(constructed.data(), data);
  EXPECT_EQ(from.size(), 0U);  // NOLINT(bugprone-use-after-move): what is left is what is tested
  EXPECT_EQ(from.capacity(), 0U);
  EXPECT_EQ(from.bytes(), 0U);
  EXPECT_EQ(from.data(), nullptr);

  Collection assigned(1, Device::cpu());
  assigned = std::move(constructed);
  EXPECT_EQ(assigned.data(), data);
  EXPECT_EQ(constructed.capacity(), 0U);  // NOLINT(bugprone-use-after-move)
  expect_filled(assigned.const_view(), 100);

  Collection& itself = assigned;
  assigned = std::move(itself);
  EXPECT_EQ(assigned.data(), data);
  EXPECT_EQ(assigned.size(), 100U);
}

template <class SomeView>
void expect_nothing(const SomeView& view) {
  EXPECT_EQ(view.size(), 0U);
  EXPECT_EQ(view.capacity(), 0U);
  EXPECT_EQ(view.x.data(), nullptr);
  EXPECT_EQ(view.id.data(), nullptr);
  EXPECT_EQ(view.direction.data(), nullptr);
  EXPECT_EQ(view.covariance.data(), nullptr);
  EXPECT_EQ(view.field.data(), nullptr);
  EXPECT_EQ(view.records().scale().column.data, nullptr);
}

TEST(PortableCollection, ViewsOfWhatWasMovedFromHaveNullColumns) {
  Collection from(100, Device::cpu());
  Collection taken(std::move(from));
  expect_nothing(from.view());  // NOLINT(bugprone-use-after-move): what is left is what is tested
  expect_nothing(from.const_view());
  Collection assigned(1, Device::cpu());
  assigned = std::move(taken);
  expect_nothing(taken.view());  // NOLINT(bugprone-use-after-move)
}

TEST_P(PortableCollectionOfSize, OfANestedLayoutHoldsAllItsValuesAndIsCopied) {
  PortableCollection<Nested> from(GetParam() + 3, Device::cpu());
  from.resize(GetParam());
  const auto v = from.view();
  for (std::size_t i = 0; i < v.size(); ++i) {
    const auto value = static_cast<float>(i);
    v.charge[i] = static_cast<std::int32_t>(i) - 7;
    v.position.x[i] = value;
    v.position.y[i] = value + 0.25F;
    row(v, i).position.z = value + 0.5F;
    v.fit.begin.x[i] = -value;
    v.fit.slope[i][1] = value / 3.;
    row(v, i).fit.end.z = value * 2.F;
    v.covariance[i](1, 2) = value * 4.F;
  }
  *v.position.unit = 1.F;
  *v.fit.begin.unit = 2.F;
  *v.fit.end.unit = 3.F;

  PortableCollection<Nested> to(GetParam() + 40, Device::cpu());
  EXPECT_EQ(copy(Queue(Device::cpu()), from, to), GetParam() * (4 + 9 * 4 + 2 * 8 + 6 * 4) + 3 * 4);
  const auto c = to.const_view();
  ASSERT_EQ(c.size(), GetParam());
  for (std::size_t i = 0; i < c.size(); ++i) {
    const auto value = static_cast<float>(i);
    ASSERT_EQ(row(c, i).charge, static_cast<std::int32_t>(i) - 7);
    ASSERT_EQ(row(c, i).position.x, value);
    ASSERT_EQ(c.position.y[i], value + 0.25F);
    ASSERT_EQ(c.position.z[i], value + 0.5F);
    ASSERT_EQ(c.fit.begin.x[i], -value);
    ASSERT_EQ(row(c, i).fit.slope[1], value / 3.);
    ASSERT_EQ(c.fit.end.z[i], value * 2.F);
    ASSERT_EQ(c.covariance[i](1, 2), value * 4.F);
  }
  EXPECT_EQ(*c.position.unit, 1.F);
  EXPECT_EQ(*c.fit.begin.unit, 2.F);
  EXPECT_EQ(*c.fit.end.unit, 3.F);
}

TEST(PortableCollection, WhatWasMovedFromCanBeAssignedAgain) {
  Collection from(100, Device::cpu());
  const Collection taken(std::move(from));
  from = Collection(5, Device::cpu());
  fill(from.view());
  expect_filled(from.const_view(), 5);
}

TEST(PortableCollection, LiesInMemoryOfAResource) {
  test::CountingResource memory;
  {
    Collection collection(100, Device::cpu(), memory);
    EXPECT_EQ(memory.taken, collection.bytes());
    fill(collection.view());
    const Collection moved(std::move(collection));
    expect_filled(moved.const_view(), 100);
    EXPECT_EQ(memory.given_back, 0U);
  }
  EXPECT_EQ(memory.given_back, memory.taken);
  memory.is_full = true;
  EXPECT_THROW(Collection(100, Device::cpu(), memory), DeviceFullError);
}

TEST(PortableCollectionCopy, RefusesMoreRowsThanThereIsRoomFor) {
  const Collection from(11, Device::cpu());
  Collection to(10, Device::cpu());
  EXPECT_THAT([&] { copy(Queue(Device::cpu()), from, to); },
              ThrowsMessage<ConfigError>(HasSubstr("11 rows do not fit the capacity of 10")));
  EXPECT_EQ(to.size(), 10U);
}

TEST(PortableCollectionCopy, RefusesCollectionsThatWereMovedFrom) {
  const Queue queue(Device::cpu());
  PortableCollection<Nested> there(0, Device::cpu());  // scalars are copied even without rows
  PortableCollection<Nested> gone(0, Device::cpu());
  const PortableCollection<Nested> taken(std::move(gone));
  // NOLINTBEGIN(bugprone-use-after-move): what this is about
  EXPECT_THAT([&] { copy(queue, there, gone); },
              ThrowsMessage<ConfigError>(HasSubstr("copy: the collection that it goes to has no "
                                                   "memory; it was moved from")));
  EXPECT_THAT([&] { copy(queue, gone, there); },
              ThrowsMessage<ConfigError>(HasSubstr("that it goes from has no memory")));
  // NOLINTEND(bugprone-use-after-move)
}

}  // namespace
}  // namespace tensoa
