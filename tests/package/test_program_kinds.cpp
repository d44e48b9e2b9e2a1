// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "fused_columns.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/package/program.hpp"

// Another kind of program, registered by code outside package/.

namespace tensoa {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using namespace test;
using AotModel = Model<CompilationType::kAheadOfTime>;

/// Writes the number that it was made with into all rows of the first output.
class Constant final : public package::Program {
 public:
  explicit Constant(float value) : value_(value) {}

  CopyReport run(const Queue& /*queue*/, std::span<const package::BlockMemory> blocks) override {
    auto* const values = reinterpret_cast<float*>(blocks.back().first);
    for (std::int64_t i = 0; i < blocks.back().rows; ++i) values[i] = value_;
    return {};
  }

  std::int64_t most_rows() const noexcept override { return 3; }

 private:
  float value_;
};

class ProgramKinds : public testing::Test {
 protected:
  void SetUp() override { package::register_engines(); }

  static void register_constant(float value) {
    package::register_program_kind(
        {.name = "inductor",
         .load = [value](const package::Package& read, Device device, const auto&, auto) {
           EXPECT_EQ(read.manifest().targets.front().programs.front().kind, "inductor");
           EXPECT_TRUE(device.is_cpu());
           return std::make_unique<Constant>(value);
         }});
  }

  /// The result of the package "inductor" for the last row.
  float answer(std::size_t rows = 3) const {
    const AotModel model(fused_package("inductor"));
    const auto in = points(rows);
    auto out = answers(rows);
    model.forward(queue_, model.plan(mlp_metadata(in.const_view(), out.view())));
    EXPECT_EQ(out.view().n[2], kUntouched);
    return out.view().m[2];
  }

  Queue queue_{Device::cpu()};
};

TEST_F(ProgramKinds, ThoseThatAreRegisteredRunThePackagesThatNameThem) {
  register_constant(7);
  EXPECT_EQ(answer(), 7);
}

TEST_F(ProgramKinds, TheLastOfANameCounts) {
  register_constant(7);
  register_constant(8);
  EXPECT_EQ(answer(), 8);
}

TEST_F(ProgramKinds, MoreRowsThanAProgramCanCountAreRefused) {
  register_constant(7);
  EXPECT_THAT([&] { answer(4); }, ThrowsMessage<BindingError>(HasSubstr("block \"features\"")));
  EXPECT_THAT([&] { answer(4); },
              ThrowsMessage<BindingError>(HasSubstr("has 4 rows, its program takes at most 3; bind "
                                                    "slices of fewer rows, or export with "
                                                    "--no-fuse")));
}

TEST_F(ProgramKinds, WhatGoesWrongInALoadIsALoadErrorThatNamesThePackage) {
  package::register_program_kind(
      {.name = "inductor",
       .load = [](const auto&, Device, const auto&, auto) -> std::unique_ptr<package::Program> {
         throw std::runtime_error("no such thing\nand a trace");
       }});
  EXPECT_THAT([&] { answer(); }, ThrowsMessage<LoadError>(
                                     HasSubstr("inductor.pt2: cannot be loaded: no such thing (")));
}

}  // namespace
}  // namespace tensoa
