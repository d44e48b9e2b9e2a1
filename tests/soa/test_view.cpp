// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/soa/view.hpp"

#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "layouts.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using test::Mixed;
using test::Nested;
using test::Outputs;

static_assert(std::is_aggregate_v<View<Mixed>> && std::is_trivially_copyable_v<View<Mixed>>);
static_assert(std::is_aggregate_v<ConstView<Mixed>> &&
              std::is_trivially_copyable_v<ConstView<Mixed>>);
static_assert(std::is_base_of_v<Mixed<Column>, View<Mixed>>);
static_assert(std::is_same_v<decltype(ConstView<Mixed>{}.x[0]), const float&>);
static_assert(std::is_same_v<decltype(View<Mixed>{}.x[0]), float&>);

static_assert(std::is_aggregate_v<View<Nested>> && std::is_trivially_copyable_v<View<Nested>>);
static_assert(std::is_same_v<decltype(ConstView<Nested>{}.fit.begin.x[0]), const float&>);

/// In addition to its functions a view has only the members of the layout.
template <template <class> class F>
struct Extent {
  F<float> size, capacity;
};
template <template <class> class F>
struct Box {
  F<Sub<Extent>> extent;
};
static_assert(std::is_same_v<decltype(View<Box>{}.extent.size[0]), float&>);

/// A kernel: takes the view by value.
void add_one(View<Outputs> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) outputs.n[i] += 1.F;
}

TEST(View, OfForeignMemoryIsMadeByAggregateInitialisation) {
  std::vector<float> m{1.F, 2.F, 3.F};
  std::vector<float> n{4.F, 5.F, 6.F};
  const View<Outputs> view{{{m.data()}, {n.data()}}, 2, 3, Device::cpu()};
  add_one(view);
  EXPECT_EQ(n, (std::vector<float>{5.F, 6.F, 6.F}));
  EXPECT_EQ(view.size(), 2U);
  EXPECT_EQ(view.capacity(), 3U);
  EXPECT_EQ(view.device(), Device::cpu());
  EXPECT_EQ(row(view.columns(), 1).m, 2.F);
  EXPECT_EQ(row(view, 1).m, 2.F);
}

TEST(View, ANestedOneOfForeignMemoryIsMadeByAggregateInitialisation) {
  std::vector<float> size{1.F, 2.F};
  std::vector<float> capacity{3.F, 4.F};
  const View<Box> view{{{{size.data()}, {capacity.data()}}}, 2, 2, Device::cpu()};
  row(view, 1).extent.capacity = 5.F;
  EXPECT_EQ(capacity, (std::vector<float>{3.F, 5.F}));
  EXPECT_EQ(view.records().extent.size().column.data, size.data());
}

TEST(View, DoesNotHideAColumnCalledN) {
  PortableCollection<Outputs> outputs(7, Device::cpu());
  outputs.view().n[6] = 1.5F;
  EXPECT_EQ(outputs.const_view().n[6], 1.5F);
}

TEST(View, IsAsLongAsTheCollectionWasWhenItWasMade) {
  PortableCollection<Outputs> outputs(7, Device::cpu());
  const auto before = outputs.view();
  outputs.resize(3);
  EXPECT_EQ(before.size(), 7U);
  EXPECT_EQ(outputs.view().size(), 3U);
  EXPECT_EQ(outputs.view().capacity(), 7U);
}

TEST(View, ConstViewSeesTheSameMemory) {
  PortableCollection<Mixed> mixed(5, Device::cpu());
  const auto view = mixed.view();
  const auto const_view = mixed.const_view();
  view.direction[4][2] = 3.F;
  view.covariance[4](1, 2) = 4.F;
  *view.field = 5.F;
  EXPECT_EQ(const_view.direction[4][2], 3.F);
  EXPECT_EQ(const_view.covariance[4](1, 2), 4.F);
  EXPECT_EQ(*const_view.field, 5.F);
}

}  // namespace
}  // namespace tensoa
