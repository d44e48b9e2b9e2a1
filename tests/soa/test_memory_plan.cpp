// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/soa/memory_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "layouts.hpp"

namespace tensoa {
namespace {

using test::Flat;
using test::kSizes;
using test::Mixed;
using test::Nested;
using test::OnlyScalars;
using test::Outputs;
using test::Wide;

template <template <template <class> class> class Layout>
constexpr bool is_proved_for_all_sizes() {
  return std::all_of(std::begin(kSizes), std::end(kSizes),
                     [](std::size_t size) { return proves_layout<Layout>(size); });
}
static_assert(is_proved_for_all_sizes<Mixed>());
static_assert(is_proved_for_all_sizes<Wide>());
static_assert(is_proved_for_all_sizes<Nested>());
static_assert(is_proved_for_all_sizes<OnlyScalars>());
static_assert(proves_layout<Mixed>(MemoryPlan<Mixed>::kMaxCapacity));

/// Mixed for 1000 rows, with one field moved by some bytes.
constexpr bool is_sound_after_moving(std::size_t field, std::size_t bytes) {
  MemoryPlan<Mixed> plan(1000);
  plan.offset_of[field] += bytes;
  return detail::is_sound(plan, 1000);
}
static_assert(is_sound_after_moving(0, 0));
static_assert(!is_sound_after_moving(11, 64), "off its line");
static_assert(!is_sound_after_moving(0, 4096), "on top of the next column");
static_assert(!is_sound_after_moving(5, 128), "behind the end");

/// Columns at a distance that is not a multiple of their pitch, though nothing else is wrong.
constexpr bool is_sound_with_a_gap() {
  MemoryPlan<Outputs> plan(1000);
  plan.offset_of[1] += kAlignment;
  plan.bytes += kAlignment;
  return detail::is_sound(plan, 1000);
}
static_assert(!is_sound_with_a_gap());

/// A plan of 32 rows has no room for 33.
static_assert(!detail::is_sound(MemoryPlan<Outputs>(32), 33));

constexpr bool is_sound_with_less_memory() {
  MemoryPlan<Outputs> plan(1000);
  plan.bytes -= kAlignment;
  return detail::is_sound(plan, 1000);
}
static_assert(!is_sound_with_less_memory());

static_assert(kAlignment == 128);
static_assert(pitch_of(4, 0) == 32);
static_assert(pitch_of(4, 1) == 32);
static_assert(pitch_of(4, 32) == 32);
static_assert(pitch_of(4, 33) == 64);
static_assert(pitch_of(8, 1000) == 1008);
static_assert(pitch_of(2, 1000) == 1024);
static_assert(pitch_of(1, 1000) == 1024);

TEST(MemoryPlan, GroupsColumnsByElementSizeInDeclarationOrderWithScalarsLast) {
  const MemoryPlan<Mixed> plan(100);
  std::vector<std::size_t> order(kFieldCount<Mixed>);
  for (std::size_t field = 0; field < order.size(); ++field) order[field] = field;
  std::ranges::sort(order, {}, [&](std::size_t field) { return plan.offset_of[field]; });
  // id energy | x y z direction covariance layer | weight | flag | scale field
  EXPECT_EQ(order, (std::vector<std::size_t>{4, 10, 0, 1, 2, 6, 8, 9, 7, 3, 11, 5}));
}

TEST(MemoryPlan, ColumnsOfAGroupLieAtMultiplesOfOnePitch) {
  const MemoryPlan<Wide> plan(1000);
  const std::size_t pitch = pitch_of(4, 1000) * 4;
  constexpr std::array<std::size_t, 9> kFirstPlane{0, 1, 2, 4, 5, 6, 8, 9, 11};
  for (std::size_t field = 0; field < kFirstPlane.size(); ++field) {
    EXPECT_EQ(plan.offset_of[field], kFirstPlane[field] * pitch);
  }
}

TEST(MemoryPlan, OfANestedLayoutIsThatOfTheSameLayoutWrittenOut) {
  for (const std::size_t capacity : kSizes) {
    EXPECT_EQ(MemoryPlan<Nested>(capacity).bytes, MemoryPlan<Flat>(capacity).bytes);
    EXPECT_EQ(MemoryPlan<Nested>(capacity).offset_of, MemoryPlan<Flat>(capacity).offset_of);
  }
}

TEST(MemoryPlan, OfTheMostRowsDoesNotOverflow) {
  const MemoryPlan<Mixed> plan(MemoryPlan<Mixed>::kMaxCapacity);
  EXPECT_LT(plan.bytes, std::size_t{1} << 57U);
  for (const std::size_t offset : plan.offset_of) EXPECT_LT(offset, plan.bytes);
}

/// From the documented rule and not from the plan.
template <template <template <class> class> class Layout>
std::size_t bytes_of(std::size_t capacity) {
  std::size_t bytes = 0;
  for (const FieldInfo& info : kFieldInfo<Layout>) {
    const std::size_t rows =
        info.kind == ColumnKind::kScalar ? 1 : std::max<std::size_t>(capacity, 1);
    bytes += (rows * info.element_size() + 127) / 128 * 128 * info.planes();
  }
  return bytes;
}

TEST(MemoryPlan, WastesNothingButTheRestOfLines) {
  for (const std::size_t capacity : kSizes) {
    EXPECT_EQ(MemoryPlan<Mixed>(capacity).bytes, bytes_of<Mixed>(capacity));
    EXPECT_EQ(MemoryPlan<Wide>(capacity).bytes, bytes_of<Wide>(capacity));
    EXPECT_EQ(MemoryPlan<Nested>(capacity).bytes, bytes_of<Nested>(capacity));
    EXPECT_EQ(MemoryPlan<OnlyScalars>(capacity).bytes, bytes_of<OnlyScalars>(capacity));
  }
}

TEST(MemoryPlan, ColumnsOfAnEmptyCollectionDifferInAddress) {
  const MemoryPlan<Wide> plan(0);
  EXPECT_EQ(plan.bytes, 12 * kAlignment);
  EXPECT_NE(plan.offset_of[0], plan.offset_of[1]);
}

}  // namespace
}  // namespace tensoa
