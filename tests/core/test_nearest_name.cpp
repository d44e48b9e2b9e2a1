// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/nearest_name.hpp"

#include <gtest/gtest.h>

namespace tensoa {
namespace {

TEST(NearestName, IsAFieldOfThatNameOrHasTheFewestEdits) {
  EXPECT_EQ(nearest_of("pt", {"eta", "p", "jets.pt"}), "; the nearest is jets.pt");
  EXPECT_EQ(nearest_of("jet_pt", {"eta", "Jet_pT", "jet_phi"}), "; the nearest is Jet_pT");
  EXPECT_EQ(nearest_of("x", {}), "");
}

TEST(NearestName, ThatIsNotNearIsNotNamed) {
  EXPECT_EQ(nearest_of("--zzz", {"--help", "--input", "--keep"}), "");
  EXPECT_EQ(nearest_of("x", {"y", "z"}), "");
  EXPECT_EQ(nearest_of("x", {"X"}), "; the nearest is X");
  EXPECT_EQ(nearest_of("η_jet", {"η_jets", "p\x1b[2J"}), "; the nearest is η_jets");
}

}  // namespace
}  // namespace tensoa
