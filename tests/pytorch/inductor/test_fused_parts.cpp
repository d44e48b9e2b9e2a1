// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "package/aot_layouts.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/pytorch/engines.hpp"
#include "tensoa/soa/slice.hpp"

// A program of TorchInductor with two fused parts and a sum along all rows between them (make_parts.py).

namespace tensoa::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;

constexpr CopyReport kNothingCopied{};

std::string parts_file(const std::string& name) { return TENSOA_TEST_PARTS + name + ".pt2"; }

float number(std::size_t seed) {
  return static_cast<float>((seed * 2654435761U) % 401U) / 100.F - 2.F;
}

PortableCollection<Points> some_points(std::size_t rows) {
  PortableCollection<Points> all(rows, Device::cpu());
  for (std::size_t i = 0; i < rows; ++i) {
    all.view().x[i] = number(3 * i);
    all.view().y[i] = number(3 * i + 1);
    all.view().z[i] = number(3 * i + 2);
  }
  return all;
}

/// The model in double. @param bias of its layers
void expect_running_sum(const ConstView<Points>& in, const ConstView<Answers>& out, double bias) {
  double a = 0;
  double b = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    a += std::max(0., in.x[i] + 2. * in.y[i] + bias) / 1024;
    b += std::max(0., 0. - in.y[i] + in.z[i]) / 1024;
    ASSERT_NEAR(out.m[i], a + b + bias, 1e-5 * (1 + std::abs(a + b))) << "row " << i;
    ASSERT_NEAR(out.n[i], 2 * a - b, 1e-5 * (1 + std::abs(a + b))) << "row " << i;
  }
}

class FusedPartsTest : public testing::Test {
 protected:
  void SetUp() override { pytorch::register_engines(); }
  const Queue queue_{Device::cpu()};
};

TEST_F(FusedPartsTest, GiveWhatTheModelGivesForAnyNumberOfRowsAndCopyNothing) {
  const Model<> model(parts_file("sum"));
  for (const std::size_t rows : {1000U, 0U, 1U, 16U, 33U, 1000U}) {
    const auto in = some_points(rows);
    PortableCollection<Answers> out(rows, Device::cpu());
    const auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
    EXPECT_EQ(model.forward(queue_, plan), kNothingCopied);
    expect_running_sum(in.const_view(), out.const_view(), 1);
  }
}

TEST_F(FusedPartsTest, ReadAndWriteSlicesAtAnyRow) {
  const Model<> model(parts_file("sum"));
  const auto in = some_points(100);
  for (const std::size_t first : {1U, 3U, 31U}) {
    PortableCollection<Answers> out(100, Device::cpu());
    for (std::size_t i = 0; i < 100; ++i) out.view().m[i] = out.view().n[i] = -77.F;
    const auto part = slice(in.const_view(), first, 17);
    const auto answer = slice(out.view(), first, 17);
    model.forward(queue_, model.plan(mlp_metadata(part, answer)));
    expect_running_sum(part, slice(out.const_view(), first, 17), 1);
    EXPECT_EQ(out.view().m[first - 1], -77.F);
    EXPECT_EQ(out.view().n[first + 17], -77.F);
  }
}

TEST_F(FusedPartsTest, ModelsOfOneFileAndOfOthersRunAtTheSameTime) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([this, t] {
      const bool is_other = t % 3 == 0;
      const Model<> model(parts_file(is_other ? "sum_of_other_weights" : "sum"));
      for (std::size_t call = 0; call < 30; ++call) {
        const std::size_t rows = 1 + 97 * (call % 5);
        const auto in = some_points(rows);
        PortableCollection<Answers> out(rows, Device::cpu());
        model.forward(queue_, model.plan(mlp_metadata(in.const_view(), out.view())));
        expect_running_sum(in.const_view(), out.const_view(), is_other ? 3 : 1);
      }
    });
  }
}

TEST_F(FusedPartsTest, AreReloadedWithTheRestOfTheProgram) {
  const Model<> model(parts_file("sum"));
  const auto in = some_points(40);
  PortableCollection<Answers> out(40, Device::cpu());
  const auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
  model.forward(queue_, plan);
  model.reload(parts_file("sum_of_other_weights"));
  model.forward(queue_, plan);
  expect_running_sum(in.const_view(), out.const_view(), 3);
}

TEST_F(FusedPartsTest, AreDescribed) {
  const package::ModelDescription model = package::inspect(parts_file("sum"));
  ASSERT_THAT(model.parts, SizeIs(2));
  EXPECT_THAT(model.parts[0].stages, ElementsAre("linear 3 -> 2, relu"));
  EXPECT_THAT(model.unfused, SizeIs(1));
  EXPECT_EQ(model.unfused[0].name, "cumsum");
  EXPECT_EQ(model.unfused[0].reason, "a running sum over the rows");
}

TEST_F(FusedPartsTest, PackagesWithPartsThatCannotRunAreRefused) {
  const auto load = [](const char* name) {
    return [name] { Model<>(parts_file(name)).deploy(Device::cpu()); };
  };
  EXPECT_THAT(load("other_processor"),
              ThrowsMessage<LoadError>(HasSubstr("has no program for this processor, only for ")));
  EXPECT_THAT(load("rows_of_nothing"),
              ThrowsMessage<LoadError>(HasSubstr("\"rows_of\" is 7, expected a place in a list of "
                                                 "1")));
}

}  // namespace
}  // namespace tensoa::test
