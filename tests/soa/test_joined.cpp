// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/soa/joined.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <vector>

#include "layouts.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using test::Mixed;

constexpr std::size_t kRowsOfJoined = 100;

TEST(Joined, ViewsThatFollowEachOtherAreOneView) {
  PortableCollection<Mixed> events(kRowsOfJoined, Device::cpu());
  const auto all = events.view();
  const View<Mixed> parts[] = {slice(all, 10, 5), slice(all, 15, 0), slice(all, 15, 20)};
  const auto whole = joined(std::span<const View<Mixed>>(parts));
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->size(), 25U);
  EXPECT_EQ(whole->x.data(), all.x.data() + 10);
  EXPECT_EQ(&whole->direction[24][2], &all.direction[34][2]);
  EXPECT_EQ(whole->field.data(), all.field.data());
  const auto one = joined(std::span<const View<Mixed>>(parts).first(1));
  EXPECT_EQ(one->size(), 5U);
}

TEST(Joined, ViewsThatLieInAnyOtherWayAreNot) {
  PortableCollection<Mixed> events(kRowsOfJoined, Device::cpu());
  PortableCollection<Mixed> others(kRowsOfJoined, Device::cpu());
  const auto all = events.view();
  const auto expect_apart = [](const std::vector<View<Mixed>>& parts) {
    EXPECT_FALSE(joined(std::span<const View<Mixed>>(parts)));
  };
  expect_apart({});
  expect_apart({slice(all, 0, 5), slice(all, 6, 5)});            // a gap
  expect_apart({slice(all, 5, 5), slice(all, 0, 5)});            // the wrong order
  expect_apart({slice(all, 0, 5), slice(all, 0, 5)});            // one twice
  expect_apart({slice(all, 0, 5), slice(others.view(), 5, 5)});  // another collection
  expect_apart({slice(all, 0, 5), slice(all, 5, 5), slice(all, 11, 1)});
}

}  // namespace
}  // namespace tensoa
