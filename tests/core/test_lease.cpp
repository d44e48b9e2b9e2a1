// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/lease.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace tensoa {
namespace {

static_assert(std::is_trivially_copyable_v<Lease> && sizeof(Lease) == 16);

TEST(Lease, WithoutAnOwnerIsLive) { EXPECT_TRUE(Lease().is_live() && Lease().is_current()); }

TEST(Lease, EndsWithItsOwner) {
  std::optional<LeaseOwner> owner = LeaseOwner::make();
  const Lease lease = owner->lease();
  EXPECT_TRUE(lease.is_live());
  owner.reset();
  EXPECT_FALSE(lease.is_live());
}

TEST(Lease, DoesNotComeBackWhenItsSlotIsUsedAgain) {
  std::optional<LeaseOwner> owner = LeaseOwner::make();
  const Lease first = owner->lease();
  owner.reset();
  std::vector<LeaseOwner> others;
  for (int i = 0; i < 1000; ++i) others.push_back(LeaseOwner::make());
  EXPECT_FALSE(first.is_live());
}

TEST(Lease, IsLiveButNotCurrentOnceItWasRenewed) {
  std::optional<LeaseOwner> owner = LeaseOwner::make();
  const Lease first = owner->lease();
  EXPECT_TRUE(first.is_current());
  const Lease second = owner->renew();
  EXPECT_TRUE(first.is_live() && second.is_live());
  EXPECT_FALSE(first.is_current());
  EXPECT_TRUE(second.is_current());
  EXPECT_TRUE(second.is_owned());
  EXPECT_EQ(owner->lease(), second);
  EXPECT_EQ(first, second);  // of one memory
  owner.reset();
  const LeaseOwner next = LeaseOwner::make();
  EXPECT_FALSE(first.is_live() || second.is_live() || second.is_current());
  EXPECT_NE(next.lease(), second);
}

TEST(Lease, RenewOfAnUnusedOwnerReturnsAnEmptyLease) {
  LeaseOwner unused;
  EXPECT_EQ(unused.renew(), Lease());
}

TEST(Lease, TellsWhoAllocatedTheMemory) {
  EXPECT_FALSE(Lease().is_owned());
  const LeaseOwner library = LeaseOwner::make();
  EXPECT_TRUE(library.lease().is_owned());
  const LeaseOwner foreign = LeaseOwner::make_foreign();
  EXPECT_FALSE(foreign.lease().is_owned());
  EXPECT_TRUE(foreign.lease().is_live());
}

TEST(Lease, MovesWithItsOwner) {
  LeaseOwner owner = LeaseOwner::make();
  const Lease lease = owner.lease();
  LeaseOwner second = std::move(owner);
  EXPECT_TRUE(lease.is_live());
  LeaseOwner third = LeaseOwner::make();
  const Lease overwritten = third.lease();
  third = std::move(second);
  EXPECT_TRUE(lease.is_live());
  EXPECT_FALSE(overwritten.is_live());
}

}  // namespace
}  // namespace tensoa
