// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_engine.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using test::Points;
using test::Scores;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// The binding of one event, made from nothing.
ModelMetadata<Points, Scores, Scores> bind(const View<Points>& points, const View<Scores>& scores) {
  SoAMetadata<Points, Scores> inputs(points.size(), scores.size());
  inputs.append_block("xz", points.records().x(), points.records().z());
  inputs.append_block(BlockShape::kColumns, "xyz", points.records().x(), points.records().y(),
                      points.records().z());
  inputs.append_block("sum", scores.records().sum());
  SoAMetadata<Scores> outputs(scores.size());
  outputs.append_block("score", scores.records().score());
  return ModelMetadata(inputs, outputs);
}

void expect_same(const std::vector<BoundBlock>& got, const std::vector<BoundBlock>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].name, expected[i].name);
    EXPECT_EQ(got[i].tensor.data, expected[i].tensor.data);
    EXPECT_EQ(got[i].tensor.dtype, expected[i].tensor.dtype);
    EXPECT_EQ(got[i].tensor.device, expected[i].tensor.device);
    EXPECT_EQ(got[i].tensor.read_only, expected[i].tensor.read_only);
    EXPECT_EQ(got[i].tensor.rank, expected[i].tensor.rank);
    EXPECT_EQ(got[i].tensor.size_of_dim, expected[i].tensor.size_of_dim);
    EXPECT_EQ(got[i].tensor.stride_of_dim, expected[i].tensor.stride_of_dim);
  }
}

TEST(Plan, RebindEqualsAFreshBinding) {
  PortableCollection<Points> first_points(10, Device::cpu());
  PortableCollection<Scores> first_scores(20, Device::cpu());
  Plan plan(bind(first_points.view(), first_scores.view()));
  expect_same(plan.binding().inputs,
              bind(first_points.view(), first_scores.view()).binding().inputs);
  for (const std::size_t rows : {0U, 1U, 33U, 1000U}) {
    PortableCollection<Points> points(rows + 40, Device::cpu());
    PortableCollection<Scores> scores(2 * rows, Device::cpu());
    points.resize(rows);
    plan.rebind(points.view(), scores.view(), scores.view());
    const Binding fresh = bind(points.view(), scores.view()).binding();
    expect_same(plan.binding().inputs, fresh.inputs);
    expect_same(plan.binding().outputs, fresh.outputs);
  }
}

TEST(Plan, RebindTakesAConstViewAsInputButNotAsOutput) {
  PortableCollection<Points> points(10, Device::cpu());
  PortableCollection<Scores> scores(10, Device::cpu());
  Plan plan(bind(points.view(), scores.view()));
  plan.rebind(points.const_view(), scores.const_view(), scores.view());
  EXPECT_TRUE(plan.binding().inputs[0].tensor.read_only);
  EXPECT_THAT([&] { plan.rebind(points.view(), scores.view(), scores.const_view()); },
              ThrowsMessage<BindingError>(HasSubstr("an output is bound to a const view")));
}

TEST(Plan, RebindRefusesForeignColumnsThatAreNotEquallySpaced) {
  PortableCollection<Points> points(10, Device::cpu());
  PortableCollection<Scores> scores(10, Device::cpu());
  Plan plan(bind(points.view(), scores.view()));
  std::vector<float> memory(100);
  const View<Points> uneven{
      {{memory.data()}, {memory.data() + 10}, {memory.data() + 50}}, 10, 10, Device::cpu()};
  EXPECT_THAT([&] { plan.rebind(uneven, scores.view(), scores.view()); },
              ThrowsMessage<BindingError>(HasSubstr("the columns lie 40, 160 bytes apart")));
}

TEST(Plan, RebindRefusesViewsOnSeveralDevices) {
  PortableCollection<Points> points(10, Device::cpu());
  PortableCollection<Scores> scores(10, Device::cpu());
  Plan plan(bind(points.view(), scores.view()));
  const View<Scores> elsewhere{scores.view().columns(), 10, 10, Device::cuda(0)};
  EXPECT_THROW(plan.rebind(points.view(), elsewhere, elsewhere), BindingError);
}

}  // namespace
}  // namespace tensoa
