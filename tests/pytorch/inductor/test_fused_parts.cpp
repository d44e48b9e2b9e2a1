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

std::string parts_file(const std::string& name, Device device = Device::cpu()) {
  return TENSOA_TEST_PARTS + name + (device.is_cpu() ? "-cpu.pt2" : "-cuda.pt2");
}

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

class FusedParts : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (device_count(GetParam().kind) == 0) GTEST_SKIP() << "no CUDA device";
    pytorch::register_engines();
  }

  static std::string file(const std::string& name) { return parts_file(name, GetParam()); }

  /// A copy on the device, or on the host.
  template <template <template <class> class> class Layout>
  static PortableCollection<Layout> copied(const Queue& queue,
                                           const PortableCollection<Layout>& from, Device device) {
    PortableCollection<Layout> to(from.size(), device);
    copy(queue, from, to);
    queue.wait();
    return to;
  }

  /// Rows [first, first + rows) of a call with `capacity` points, checked; the others stay as they were.
  static void call(const Queue& queue, const Model<>& model, std::size_t capacity,
                   std::size_t first, std::size_t rows, double bias) {
    const auto points = some_points(capacity);
    const auto in = copied(queue, points, GetParam());
    PortableCollection<Answers> untouched(capacity, Device::cpu());
    for (std::size_t i = 0; i < capacity; ++i) {
      untouched.view().m[i] = untouched.view().n[i] = -77.F;
    }
    auto out = copied(queue, untouched, GetParam());
    const auto plan = model.plan(
        mlp_metadata(slice(in.const_view(), first, rows), slice(out.view(), first, rows)));
    EXPECT_EQ(model.forward(queue, plan), kNothingCopied);
    const auto answers = copied(queue, out, Device::cpu());
    expect_running_sum(slice(points.const_view(), first, rows),
                       slice(answers.const_view(), first, rows), bias);
    for (std::size_t i = 0; i < capacity; ++i) {
      if (i >= first && i < first + rows) continue;
      ASSERT_EQ(answers.const_view().m[i], -77.F) << "row " << i;
      ASSERT_EQ(answers.const_view().n[i], -77.F) << "row " << i;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(On, FusedParts, testing::Values(Device::cpu(), Device::cuda(0)),
                         [](const auto& test) { return test.param.is_cpu() ? "cpu" : "cuda"; });

TEST_P(FusedParts, GiveWhatTheModelGivesForAnyNumberOfRowsAndCopyNothing) {
  const Queue queue(GetParam());
  const Model<> model(file("sum"));
  for (const std::size_t rows : {1000U, 0U, 1U, 16U, 33U, 1000U}) {
    call(queue, model, rows, 0, rows, 1);
  }
}

TEST_P(FusedParts, ReadAndWriteSlicesAtAnyRow) {
  const Queue queue(GetParam());
  const Model<> model(file("sum"));
  for (const std::size_t first : {1U, 3U, 31U}) call(queue, model, 100, first, 17, 1);
}

TEST_P(FusedParts, OfModelsOfOneFileAndOfOthersRunAtTheSameTime) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([t] {
      const Queue queue(GetParam());
      const bool is_other = t % 3 == 0;
      const Model<> model(file(is_other ? "sum_of_other_weights" : "sum"));
      for (std::size_t i = 0; i < 30; ++i) {
        const std::size_t rows = 1 + 97 * (i % 5);
        call(queue, model, rows, 0, rows, is_other ? 3 : 1);
      }
    });
  }
}

TEST_P(FusedParts, AreReloadedWithTheRestOfTheProgram) {
  const Queue queue(GetParam());
  const Model<> model(file("sum"));
  call(queue, model, 40, 0, 40, 1);
  model.reload(file("sum_of_other_weights"));
  call(queue, model, 40, 0, 40, 3);
}

TEST(PackagesOfFusedParts, AreDescribed) {
  pytorch::register_engines();
  const package::ModelDescription model = package::inspect(parts_file("sum"));
  const package::TargetDescription& target = model.targets.front();
  ASSERT_THAT(target.parts, SizeIs(2));
  EXPECT_THAT(target.parts[0].stages, ElementsAre("linear 3 -> 2, relu"));
  EXPECT_THAT(target.unfused, SizeIs(1));
  EXPECT_EQ(target.unfused[0].name, "cumsum");
  EXPECT_EQ(target.unfused[0].reason, "a running sum over the rows");
}

TEST(PackagesOfFusedParts, ThatCannotRunAreRefused) {
  pytorch::register_engines();
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
