// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/soa/group.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

template <template <class> class F>
struct Grouped {
  F<float> x;
  F<Scalar<float>> field;
};

template <template <class> class F>
struct Grouping {
  F<std::int32_t> first_hit;
};

template <class Offset>
class Group : public testing::Test {};
using Offsets = testing::Types<std::int32_t, std::int64_t, const std::int64_t, std::uint8_t>;
TYPED_TEST_SUITE(Group, Offsets);

TYPED_TEST(Group, IsTheRowsBetweenTwoOffsets) {
  PortableCollection<Grouped> hits(10, Device::cpu());
  const auto view = hits.view();
  for (std::size_t i = 0; i < 10; ++i) view.x[i] = static_cast<float>(i);
  *view.field = 3.8F;
  std::array<TypeParam, 4> offsets{1, 4, 4, 10};
  const PlainColumn<TypeParam> column{offsets.data()};
  for (std::size_t g = 0; g < 3; ++g) {
    const View<Grouped> rows = group(view, column, g);
    ASSERT_EQ(rows.size(), static_cast<std::size_t>(offsets[g + 1] - offsets[g]));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(&rows.x[i], &view.x[static_cast<std::size_t>(offsets[g]) + i]);
    }
    EXPECT_EQ(*rows.field, 3.8F);
  }
}

TEST(GroupOfBadOffsets, IsAnErrorThatSaysWhichGroup) {
  PortableCollection<Grouped> hits(10, Device::cpu());
  PortableCollection<Grouping> tracks(4, Device::cpu());
  const auto offsets = tracks.view().first_hit;
  offsets[0] = -1;
  offsets[1] = 5;
  offsets[2] = 3;
  offsets[3] = 11;
  EXPECT_THAT(
      [&] { group(hits.view(), offsets, 0); },
      ThrowsMessage<BindingError>(HasSubstr("group 0: rows -1 to 5 are not in a view of 10")));
  EXPECT_THAT([&] { group(hits.view(), offsets, 1); },
              ThrowsMessage<BindingError>(HasSubstr("group 1: rows 5 to 3")));
  EXPECT_THAT([&] { group(hits.const_view(), offsets, 2); },
              ThrowsMessage<BindingError>(HasSubstr("group 2: rows 3 to 11")));
}

}  // namespace
}  // namespace tensoa
