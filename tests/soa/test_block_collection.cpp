// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/soa/block_collection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "layouts.hpp"
#include "support/counting_resource.hpp"
#include "tensoa/soa/slice.hpp"
#include "tensoa/soa/soa_metadata.hpp"

namespace {

/// A queue of the caller's own, of the CPU.
struct CallersQueue {};

}  // namespace

template <>
struct tensoa::QueueTraits<CallersQueue> {
  static Queue get(const CallersQueue&) { return Queue(Device::cpu()); }
};

namespace tensoa {
namespace {

using test::Event;
using test::Mixed;
using test::Nested;
using test::Outputs;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Collection = PortableCollection<Event>;
using Sizes = Collection::Sizes;

static_assert(!std::is_copy_constructible_v<Collection> && !std::is_copy_assignable_v<Collection>);
static_assert(std::is_nothrow_move_constructible_v<Collection> &&
              std::is_nothrow_move_assignable_v<Collection>);
static_assert(std::is_trivially_copyable_v<BlockViews<Event>> &&
              std::is_aggregate_v<ConstBlockViews<Event>>);
static_assert(std::is_same_v<decltype(BlockViews<Event>::hits), View<Mixed>>);
static_assert(std::is_same_v<decltype(ConstBlockViews<Event>::tracks), ConstView<Nested>>);

/// Some columns of each block, so that a block on top of another is seen.
void fill(BlockViews<Event> v) {
  for (std::size_t i = 0; i < v.hits.size(); ++i) {
    v.hits.x[i] = static_cast<float>(i);
    v.hits.id[i] = static_cast<std::int64_t>(i) + 1;
    v.hits.covariance[i](1, 2) = static_cast<float>(i) + 2.F;
    v.hits.flag[i] = static_cast<std::uint8_t>(i % 251);
  }
  *v.hits.scale = 3.;
  for (std::size_t i = 0; i < v.edges.size(); ++i) {
    v.edges.m[i] = static_cast<float>(i) + 4.F;
    v.edges.n[i] = static_cast<float>(i) + 5.F;
  }
  for (std::size_t i = 0; i < v.tracks.size(); ++i) {
    v.tracks.charge[i] = static_cast<std::int32_t>(i) + 6;
    row(v.tracks, i).fit.end.z = static_cast<float>(i) + 7.F;
    v.tracks.fit.slope[i][1] = static_cast<double>(i) + 8.;
  }
  *v.tracks.fit.end.unit = 9.F;
}

void expect_filled(ConstBlockViews<Event> v, const Sizes& sizes) {
  ASSERT_EQ((Sizes{v.hits.size(), v.edges.size(), v.tracks.size()}), sizes);
  for (std::size_t i = 0; i < sizes[0]; ++i) {
    ASSERT_EQ(v.hits.x[i], static_cast<float>(i));
    ASSERT_EQ(v.hits.id[i], static_cast<std::int64_t>(i) + 1);
    ASSERT_EQ(v.hits.covariance[i](1, 2), static_cast<float>(i) + 2.F);
    ASSERT_EQ(v.hits.flag[i], i % 251);
  }
  EXPECT_EQ(*v.hits.scale, 3.);
  for (std::size_t i = 0; i < sizes[1]; ++i) {
    ASSERT_EQ(v.edges.m[i], static_cast<float>(i) + 4.F);
    ASSERT_EQ(v.edges.n[i], static_cast<float>(i) + 5.F);
  }
  for (std::size_t i = 0; i < sizes[2]; ++i) {
    ASSERT_EQ(v.tracks.charge[i], static_cast<std::int32_t>(i) + 6);
    ASSERT_EQ(v.tracks.fit.end.z[i], static_cast<float>(i) + 7.F);
    ASSERT_EQ(v.tracks.fit.slope[i][1], static_cast<double>(i) + 8.);
  }
  EXPECT_EQ(*v.tracks.fit.end.unit, 9.F);
}

/// Bytes of the used part of all blocks, without padding.
std::size_t packed_bytes(const Sizes& sizes) {
  return sizes[0] * (13 * 4 + 1 + 8 + 2 + 8) + 4 + 8 + sizes[1] * 8 +
         sizes[2] * (4 + 9 * 4 + 2 * 8 + 6 * 4) + 3 * 4;
}

class BlockCollectionOfSizes : public testing::TestWithParam<Sizes> {};
INSTANTIATE_TEST_SUITE_P(Sizes, BlockCollectionOfSizes,
                         testing::Values(Sizes{0, 0, 0}, Sizes{1, 0, 33}, Sizes{31, 1000, 0},
                                         Sizes{33, 32, 31}));

TEST_P(BlockCollectionOfSizes, HoldsAllItsValues) {
  Collection event(GetParam(), Device::cpu());
  EXPECT_EQ(event.sizes(), GetParam());
  EXPECT_EQ(event.capacities(), GetParam());
  EXPECT_EQ(event.device(), Device::cpu());
  fill(event.view());
  expect_filled(event.const_view(), GetParam());
}

TEST_P(BlockCollectionOfSizes, IsOneAllocationOfTheBlocksOneBehindTheOther) {
  Collection event(GetParam(), Device::cpu());
  const auto [hits, edges, tracks] = GetParam();
  const std::size_t bytes[] = {MemoryPlan<Mixed>(hits).bytes, MemoryPlan<Outputs>(edges).bytes,
                               MemoryPlan<Nested>(tracks).bytes};
  EXPECT_EQ(event.bytes(), bytes[0] + bytes[1] + bytes[2]);
  const auto v = event.view();
  const auto address = [&](const void* data) {
    return static_cast<std::size_t>(static_cast<const std::byte*>(data) - event.data());
  };
  EXPECT_EQ(address(v.hits.x.data()), MemoryPlan<Mixed>(hits).offset_of[0]);
  EXPECT_EQ(address(v.edges.m.data()), bytes[0]);
  EXPECT_EQ(address(v.tracks.covariance.data()),
            bytes[0] + bytes[1] + MemoryPlan<Nested>(tracks).offset_of[14]);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(v.tracks.charge.data()) % kAlignment, 0U);
}

TEST_P(BlockCollectionOfSizes, IsCopiedBetweenEqualCapacitiesInOneBlock) {
  Collection from(GetParam(), Device::cpu());
  Collection to(GetParam(), Device::cpu());
  fill(from.view());
  EXPECT_EQ(copy(Queue(Device::cpu()), from, to), from.bytes());
  expect_filled(to.const_view(), GetParam());
}

TEST_P(BlockCollectionOfSizes, IsCopiedOnForeignQueues) {
  const Collection from(GetParam(), Device::cpu());
  Collection to(GetParam(), Device::cpu());
  EXPECT_EQ(copy(CallersQueue(), from, to), from.bytes());
}

TEST_P(BlockCollectionOfSizes, IsCopiedBetweenDifferentCapacitiesPlaneByPlane) {
  const auto [hits, edges, tracks] = GetParam();
  Collection from({hits, edges + 50, tracks}, Device::cpu());
  Collection to({hits + 40, edges, tracks}, Device::cpu());
  from.resize(GetParam());
  fill(from.view());
  EXPECT_EQ(copy(Queue(Device::cpu()), from, to), packed_bytes(GetParam()));
  EXPECT_EQ(to.sizes(), GetParam());
  expect_filled(to.const_view(), GetParam());
}

TEST_P(BlockCollectionOfSizes, GoesToTheGpuAndBack) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  const auto [hits, edges, tracks] = GetParam();
  const Queue queue(Device::cuda(0));
  Collection from(GetParam(), Device::cpu());
  Collection same_capacity(GetParam(), Device::cuda(0));
  Collection other_capacity({hits + 40, edges + 1, tracks}, Device::cuda(0));
  Collection back(GetParam(), Device::cpu());
  fill(from.view());
  copy(queue, from, same_capacity);
  copy(queue, same_capacity, other_capacity);
  copy(queue, other_capacity, back);
  queue.wait();
  expect_filled(back.const_view(), GetParam());
}

TEST_P(BlockCollectionOfSizes, LiesInMemoryOfAResource) {
  test::CountingResource memory;
  {
    Collection event(GetParam(), Device::cpu(), memory);
    EXPECT_EQ(memory.taken, event.bytes());
    fill(event.view());
    Collection moved(std::move(event));
    expect_filled(moved.const_view(), GetParam());
    EXPECT_EQ(memory.given_back, 0U);
  }
  EXPECT_EQ(memory.given_back, memory.taken);
}

TEST(BlockCollection, PassesOnWhatAFullResourceThrows) {
  test::CountingResource memory;
  memory.is_full = true;
  EXPECT_THROW(Collection(Sizes{1, 2, 3}, Device::cpu(), memory), DeviceFullError);
}

TEST(BlockCollection, TakesIntegersOfAnyType) {
  const int hits = 3;
  const std::uint64_t edges = 4;
  const Collection event({hits, edges, std::int16_t{5}}, Device::cpu());
  EXPECT_EQ(event.capacities(), (Sizes{3, 4, 5}));
}

template <template <class> class F>
struct Single {
  F<Block<Outputs>> only;
};

TEST(BlockCollection, MayHaveOneBlock) {
  PortableCollection<Single> single({7}, Device::cpu());
  single.view().only.n[6] = 1.5F;
  EXPECT_EQ(single.const_view().only.n[6], 1.5F);
}

TEST(BlockCollection, ResizesEachBlock) {
  Collection event({100, 200, 300}, Device::cpu());
  fill(event.view());
  const float* const m = event.view().edges.m.data();
  event.resize({10, 200, 0});
  EXPECT_EQ(event.sizes(), (Sizes{10, 200, 0}));
  EXPECT_EQ(event.capacities(), (Sizes{100, 200, 300}));
  EXPECT_EQ(event.view().edges.m.data(), m);
  expect_filled(event.const_view(), {10, 200, 0});
}

TEST(BlockCollection, ResizeBeyondACapacityNamesTheBlockAndChangesNothing) {
  Collection event({1, 2, 3}, Device::cpu());
  EXPECT_THAT(
      [&] {
        event.resize({0, 3, 0});
      },
      ThrowsMessage<ConfigError>(HasSubstr("block edges: 3 rows do not fit the capacity of 2")));
  EXPECT_EQ(event.sizes(), (Sizes{1, 2, 3}));
}

TEST(BlockCollection, OfAnImpossibleCapacityIsAnError) {
  EXPECT_THAT(
      [] {
        Collection({1, -2, 3}, Device::cpu());
      },
      ThrowsMessage<ConfigError>(HasSubstr("a block of -2 rows is impossible")));
  EXPECT_THAT(
      [] {
        Collection({1, 2, ~std::uint64_t{0}}, Device::cpu());
      },
      ThrowsMessage<ConfigError>(
          HasSubstr("block tracks: a capacity of 18446744073709551615 rows is impossible")));
  const std::size_t large = std::size_t{1} << 47U;  // each possible, together more than any memory
  EXPECT_THROW(Collection({large, large, large}, Device::cpu()), DeviceError);
}

TEST(BlockCollection, MovingKeepsTheMemoryAndLeavesNullColumnsBehind) {
  Collection from({10, 20, 30}, Device::cpu());
  fill(from.view());
  const std::byte* const data = from.data();
  Collection constructed(std::move(from));
  EXPECT_EQ(constructed.data(), data);
  const auto left = from.view();  // NOLINT(bugprone-use-after-move): what is left is tested
  EXPECT_EQ(from.sizes(), Sizes{});
  EXPECT_EQ(from.capacities(), Sizes{});
  EXPECT_EQ(from.bytes(), 0U);
  EXPECT_EQ(left.hits.x.data(), nullptr);
  EXPECT_EQ(left.edges.m.data(), nullptr);
  EXPECT_EQ(left.tracks.fit.slope.data(), nullptr);
  EXPECT_EQ(left.tracks.capacity(), 0U);

  Collection assigned({1, 1, 1}, Device::cpu());
  assigned = std::move(constructed);
  EXPECT_EQ(assigned.data(), data);
  expect_filled(assigned.const_view(), {10, 20, 30});
  EXPECT_EQ(constructed.const_view().edges.n.data(),  // NOLINT(bugprone-use-after-move)
            nullptr);
}

TEST(BlockCollection, AllViewsHaveOneLease) {
  BlockViews<Event> views{};
  {
    Collection event({1, 2, 3}, Device::cpu());
    views = event.view();
    EXPECT_TRUE(views.hits.lease_.is_live() && views.tracks.lease_.is_live());
  }
  EXPECT_FALSE(views.hits.lease_.is_live());
  EXPECT_FALSE(views.edges.lease_.is_live());
  EXPECT_FALSE(views.tracks.lease_.is_live());
}

TEST(BlockCollection, ItsViewsAreBoundLikeAnyOther) {
  Collection event({100, 200, 300}, Device::cpu());
  const auto v = event.view();
  SoAMetadata<Mixed, Outputs> metadata(100, 200);
  metadata.append_block("x", v.hits.records().x(), v.hits.records().y());
  metadata.append_block("edge", v.edges.records().m(), v.edges.records().n());
  EXPECT_EQ(metadata.blocks()[1].tensor.data, v.edges.m.data());
  EXPECT_EQ(slice(v.tracks, 31, 5).fit.end.z.data(), v.tracks.fit.end.z.data() + 31);
}

TEST(BlockCollectionCopy, RefusesMoreRowsThanThereIsRoomForInABlock) {
  const Collection from({1, 11, 3}, Device::cpu());
  Collection to({100, 10, 100}, Device::cpu());
  EXPECT_THAT(
      [&] { copy(Queue(Device::cpu()), from, to); },
      ThrowsMessage<ConfigError>(HasSubstr("block edges: 11 rows do not fit the capacity of 10")));
  EXPECT_EQ(to.sizes(), (Sizes{100, 10, 100}));
}

TEST(BlockCollectionCopy, RefusesCollectionsThatWereMovedFrom) {
  Collection there({0, 0, 0}, Device::cpu());
  Collection gone({0, 0, 0}, Device::cpu());
  const Collection taken(std::move(gone));
  // NOLINTBEGIN(bugprone-use-after-move): what this is about
  EXPECT_THAT([&] { copy(Queue(Device::cpu()), there, gone); },
              ThrowsMessage<ConfigError>(HasSubstr("that it goes to has no memory")));
  EXPECT_THAT([&] { copy(Queue(Device::cpu()), gone, there); },
              ThrowsMessage<ConfigError>(HasSubstr("that it goes from has no memory")));
  // NOLINTEND(bugprone-use-after-move)
}

}  // namespace
}  // namespace tensoa
