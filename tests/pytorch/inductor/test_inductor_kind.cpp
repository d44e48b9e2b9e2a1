// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inductor/inductor_program.hpp"

namespace tensoa::pytorch {
namespace {

using testing::HasSubstr;

TEST(InductorKind, APackageSaysWhetherItsProgramCanBeCapturedOnTheGpu) {
  package::TargetDescription target;
  EXPECT_THAT(why_no_graphs(target, "sm_90"),
              HasSubstr("no capture of its program was tried on sm_90"));
  target.gpu_checks.push_back(
      {.architecture = "sm_80", .gpu = "", .error = {}, .has_graphs = true, .why_no_graphs = ""});
  EXPECT_EQ(why_no_graphs(target, "sm_80"), "");
  EXPECT_THAT(why_no_graphs(target, "sm_90"),
              HasSubstr("no capture of its program was tried on sm_90"));
  target.gpu_checks.push_back({.architecture = "sm_90",
                               .gpu = "",
                               .error = {},
                               .has_graphs = false,
                               .why_no_graphs = "it synchronises"});
  EXPECT_THAT(why_no_graphs(target, "sm_90"),
              HasSubstr("on sm_90 a capture failed when it was checked (it synchronises)"));
}

}  // namespace
}  // namespace tensoa::pytorch
