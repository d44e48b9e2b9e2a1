// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fake_engine.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
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
  Plan plan = test::plan_of(bind(first_points.view(), first_scores.view()));
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
  Plan plan = test::plan_of(bind(points.view(), scores.view()));
  plan.rebind(points.const_view(), scores.const_view(), scores.view());
  EXPECT_TRUE(plan.binding().inputs[0].tensor.read_only);
  EXPECT_THAT([&] { plan.rebind(points.view(), scores.view(), scores.const_view()); },
              ThrowsMessage<BindingError>(HasSubstr("an output is bound to a const view")));
}

TEST(Plan, RebindRefusesForeignColumnsThatAreNotEquallySpaced) {
  PortableCollection<Points> points(10, Device::cpu());
  PortableCollection<Scores> scores(10, Device::cpu());
  Plan plan = test::plan_of(bind(points.view(), scores.view()));
  std::vector<float> memory(100);
  const View<Points> uneven{
      {{memory.data()}, {memory.data() + 10}, {memory.data() + 50}}, 10, 10, Device::cpu()};
  EXPECT_THAT([&] { plan.rebind(uneven, scores.view(), scores.view()); },
              ThrowsMessage<BindingError>(HasSubstr("the columns lie 40, 160 bytes apart")));
}

TEST(Plan, RebindRefusesViewsOnSeveralDevices) {
  PortableCollection<Points> points(10, Device::cpu());
  PortableCollection<Scores> scores(10, Device::cpu());
  Plan plan = test::plan_of(bind(points.view(), scores.view()));
  const View<Scores> elsewhere{scores.view().columns(), 10, 10, Device::cuda(0)};
  EXPECT_THROW(plan.rebind(points.view(), elsewhere, elsewhere), BindingError);
}

// ---- memory that does not fit, or is gone

class LivePlan : public testing::Test {
  struct Engines {
    Engines() { test::FakeEngines::reset(); }
  } engines_;  // first, because the model loads through them

 protected:
  void expect_refused(const std::string& message) {
    EXPECT_THAT([&] { model_.forward(queue_, plan_); },
                ThrowsMessage<BindingError>(HasSubstr(message)));
    EXPECT_TRUE(test::FakeEngines::get().calls.empty());
  }

  const Queue queue_{Device::cpu()};
  test::TemporaryFile file_{"model.fake"};
  Model<> model_{file_.path()};
  std::optional<PortableCollection<Points>> points_{std::in_place, 10, Device::cpu()};
  std::optional<PortableCollection<Scores>> scores_{std::in_place, 10, Device::cpu()};
  Plan<Points, Scores> plan_ = model_.plan([this] {
    SoAMetadata<Points> inputs(10);
    inputs.append_block("x", points_->view().records().x(), points_->view().records().z());
    SoAMetadata<Scores> outputs(10);
    outputs.append_block("score", scores_->view().records().score());
    return ModelMetadata(inputs, outputs);
  }());
};

const std::string kGone =
    "the collection that it was bound to is gone (destroyed, or another was "
    "moved into it)";

TEST_F(LivePlan, RunsWhileItsCollectionsAreThere) {
  EXPECT_EQ(model_.forward(queue_, plan_).bytes_out, 2U);
}

TEST_F(LivePlan, IsRefusedWhenACollectionIsDestroyed) {
  points_.reset();
  expect_refused("block \"x\" (columns x, z): " + kGone);
  points_.emplace(10, Device::cpu());  // perhaps at the old address
  expect_refused(kGone);
  plan_.rebind(points_->view(), scores_->view());
  EXPECT_EQ(model_.forward(queue_, plan_).bytes_out, 2U);
}

TEST_F(LivePlan, IsRefusedWhenAnotherCollectionIsMovedIntoItsOwn) {
  *scores_ = PortableCollection<Scores>(10, Device::cpu());
  expect_refused("block \"score\" (column score): " + kGone);
}

TEST_F(LivePlan, IsRefusedWhenACollectionWasResizedUntilItIsRebound) {
  const auto before = points_->view();
  points_->resize(10);  // the same number as before
  EXPECT_EQ(model_.forward(queue_, plan_).bytes_out, 2U);
  test::FakeEngines::get().calls.clear();
  points_->resize(5);
  expect_refused("block \"x\" (columns x, z): its collection was resized after it was bound");
  points_->resize(10);
  expect_refused("its collection was resized after it was bound");
  EXPECT_THAT([&] { plan_.rebind(before, scores_->view()); },
              ThrowsMessage<BindingError>(HasSubstr("was resized after the view was made")));
  points_->resize(5);
  scores_->resize(5);
  plan_.rebind(points_->view(), scores_->view());
  EXPECT_EQ(model_.forward(queue_, plan_).bytes_out, 2U);
}

TEST_F(LivePlan, FollowsACollectionThatIsMoved) {
  const PortableCollection<Points> moved = std::move(*points_);
  points_.reset();
  EXPECT_EQ(model_.forward(queue_, plan_).bytes_out, 2U);
}

TEST_F(LivePlan, MetadataOfACollectionThatIsGoneIsRefused) {
  SoAMetadata<Points> inputs(10);
  inputs.append_block("x", points_->view().records().x());
  SoAMetadata<Scores> outputs(10);
  outputs.append_block("score", scores_->view().records().score());
  const ModelMetadata metadata(inputs, outputs);
  scores_.reset();
  model_.to(queue_);
  EXPECT_THAT([&] { model_.forward(metadata); }, ThrowsMessage<BindingError>(HasSubstr(kGone)));
  EXPECT_THAT([&] { model_.plan(metadata); }, ThrowsMessage<BindingError>(HasSubstr(kGone)));
  EXPECT_TRUE(test::FakeEngines::get().calls.empty());
}

TEST_F(LivePlan, OfRaggedBlocksIsRefusedWhenTheOffsetsAreGone) {
  std::optional<PortableCollection<test::Groups>> groups(std::in_place, 4, Device::cpu());
  SoAMetadata<Points, test::Groups> inputs(10, 3);
  inputs.append_padded("x", groups->view().records().offsets(), 2, points_->view().records().x());
  SoAMetadata<Scores> outputs(10);
  outputs.append_block("score", scores_->view().records().score());
  const Plan plan = model_.plan(ModelMetadata(inputs, outputs));
  groups.reset();
  EXPECT_THAT([&] { model_.forward(queue_, plan); },
              ThrowsMessage<BindingError>(HasSubstr("block \"x\" (column x): " + kGone)));
}

TEST_F(LivePlan, RebindRefusesAViewOfACollectionThatIsGone) {
  const View<Points> view = points_->view();
  points_.reset();
  EXPECT_THAT([&] { plan_.rebind(view, scores_->view()); },
              ThrowsMessage<BindingError>(
                  HasSubstr("the collection of its columns is gone; make the view again")));
}

TEST_F(LivePlan, RebindRefusesAViewOfACollectionThatWasMovedFrom) {
  const PortableCollection<Points> moved = std::move(*points_);
  EXPECT_THAT([&] { plan_.rebind(points_->view(), scores_->view()); },
              ThrowsMessage<BindingError>(HasSubstr("column x has no memory; its collection was "
                                                    "moved from, or the view was never set")));
}

TEST_F(LivePlan, RebindRefusesMoreRowsThanTheMemoryHas) {
  View<Points> too_long = points_->view();
  too_long.size_ = 11;
  EXPECT_THAT([&] { plan_.rebind(too_long, scores_->view()); },
              ThrowsMessage<BindingError>(HasSubstr(
                  "block \"x\" (columns x, z): 11 rows are requested, the collection has room for "
                  "10")));
}

TEST_F(LivePlan, RebindRefusesOutputsThatShareMemory) {
  SoAMetadata<Points> inputs(10);
  inputs.append_block("x", points_->view().records().x());
  SoAMetadata<Scores, Points> outputs(10, 10);
  outputs.append_block("score", scores_->view().records().score());
  outputs.append_block("y", points_->view().records().y(), points_->view().records().z());
  Plan plan = model_.plan(ModelMetadata(inputs, outputs));
  View<Scores> into_points = scores_->view();
  into_points.score = {points_->view().z.data()};
  EXPECT_THAT([&] { plan.rebind(points_->view(), into_points, points_->view()); },
              ThrowsMessage<BindingError>(HasSubstr("block \"score\" (column score) and block "
                                                    "\"y\" (columns y, z) are written to the same "
                                                    "memory")));
}

/// A plan that is half bound to one event and half to another would run without this.
TEST_F(LivePlan, IsRefusedAfterARebindThatFailedUntilOneSucceeds) {
  PortableCollection<Points> other(20, Device::cpu());
  EXPECT_THROW(plan_.rebind(other.view(), scores_->const_view()), BindingError);
  expect_refused("the last rebind of this plan failed; rebind it before the next call");
  EXPECT_THAT([&] { model_.forward_batches(queue_, plan_, 5); },
              ThrowsMessage<BindingError>(HasSubstr("the last rebind of this plan failed")));
  plan_.rebind(points_->view(), scores_->view());
  EXPECT_EQ(model_.forward(queue_, plan_).bytes_out, 2U);
}

// ---- bad views: what append_block refuses, rebind refuses

template <template <class> class F>
struct Vectors {
  F<Vector<float, 2>> u, v;
};

class RebindRefuses : public testing::Test {
 protected:
  void expect_error(const View<Points>& points, const std::string& message) {
    Plan plan = test::plan_of(bind(points_.view(), scores_.view()));
    EXPECT_THAT([&] { plan.rebind(points, scores_.view(), scores_.view()); },
                ThrowsMessage<BindingError>(HasSubstr(message)));
    plan.rebind(points_.view(), scores_.view(), scores_.view());  // the plan can still be used
    expect_same(plan.binding().inputs, bind(points_.view(), scores_.view()).binding().inputs);
  }

  PortableCollection<Points> points_{10, Device::cpu()};
  PortableCollection<Scores> scores_{10, Device::cpu()};
  std::vector<float> memory_ = std::vector<float>(100);
};

TEST_F(RebindRefuses, ForeignMemoryThatIsNotAligned) {
  const auto misaligned = reinterpret_cast<std::uintptr_t>(memory_.data() + 40) + 2;
  const View<Points> points{
      {{memory_.data()}, {memory_.data() + 20}, {reinterpret_cast<float*>(misaligned)}},
      10,
      10,
      Device::cpu()};
  expect_error(
      points,
      "block \"xz\" (columns x, z): the memory of z is not aligned to its element size of 4 "
      "bytes");
}

TEST_F(RebindRefuses, ColumnsWithoutMemory) {
  const View<Points> points{{{memory_.data()}, {memory_.data() + 20}, {}}, 10, 10, Device::cpu()};
  expect_error(points, "block \"xz\" (columns x, z): column z has no memory");
}

TEST_F(RebindRefuses, DescendingColumns) {
  const View<Points> points{
      {{memory_.data() + 40}, {memory_.data() + 20}, {memory_.data()}}, 10, 10, Device::cpu()};
  expect_error(points, "block \"xz\" (columns x, z): the columns lie -160 bytes apart");
}

TEST_F(RebindRefuses, ColumnsThatWereExchangedInTheView) {
  View<Points> points = points_.view();
  std::swap(points.y, points.z);
  expect_error(points, "block \"xyz\" (columns x, y, z): the columns lie 256, -128 bytes apart");
}

TEST_F(RebindRefuses, MetadataOverTwoCollectionsOfOneLayout) {
  PortableCollection<Points> others(10, Device::cpu());
  SoAMetadata<Points> inputs(10);
  inputs.append_block("a", points_.view().records().x());
  inputs.append_block("b", others.view().records().x());
  SoAMetadata<Scores> outputs(10);
  outputs.append_block("score", scores_.view().records().score());
  Plan plan = test::plan_of(ModelMetadata(inputs, outputs));
  EXPECT_THAT([&] { plan.rebind(points_.view(), scores_.view()); },
              ThrowsMessage<BindingError>(HasSubstr(
                  "block \"a\" (column x) and block \"b\" (column x) lie in two collections")));
}

/// Offsets count as much as columns: a rebind would move them as well.
TEST_F(RebindRefuses, MetadataWithOffsetsOfAnotherCollectionThanItsLayoutHas) {
  using test::Groups;
  const PortableCollection<Groups> groups(11, Device::cpu());
  const PortableCollection<Groups> others(11, Device::cpu());
  SoAMetadata<Scores> outputs(10);
  outputs.append_block("score", scores_.view().records().score());
  const auto expect_refused = [&](const auto& append, const std::string& message) {
    SoAMetadata<Points, Groups> inputs(10, 10);
    append(inputs);
    Plan plan = test::plan_of(ModelMetadata(inputs, outputs));
    EXPECT_THAT([&] { plan.rebind(points_.view(), groups.const_view(), scores_.view()); },
                ThrowsMessage<BindingError>(HasSubstr(message)));
  };
  const auto x = points_.view().records().x();
  const auto offsets = groups.const_view().records().offsets();
  const auto other_offsets = others.const_view().records().offsets();
  expect_refused(
      [&](auto& inputs) {
        inputs.append_padded("a", offsets, 2, x);
        inputs.append_block("b", other_offsets);
      },
      "block \"a\" (column x) and block \"b\" (column offsets) lie in two collections");
  expect_refused(
      [&](auto& inputs) {
        inputs.append_block("b", offsets);
        inputs.append_mask("a", other_offsets, 2);
      },
      "block \"b\" (column offsets) and block \"a\" lie in two collections");
  expect_refused(
      [&](auto& inputs) {
        inputs.append_mask("a", offsets, 2);
        inputs.template append_segments<Points>("b", other_offsets);
      },
      "block \"a\" and block \"b\" lie in two collections");
}

TEST_F(RebindRefuses, OffsetsOfAnotherCollectionThanTheRowsOfTheirBlock) {
  using test::Groups;
  const PortableCollection<Groups> groups(11, Device::cpu());
  const PortableCollection<Groups> others(11, Device::cpu());
  SoAMetadata<Groups> inputs(10);
  inputs.append_padded("a", groups.const_view().records().offsets(), 2,
                       others.const_view().records().offsets());
  SoAMetadata<Scores> outputs(10);
  outputs.append_block("score", scores_.view().records().score());
  Plan plan = test::plan_of(ModelMetadata(inputs, outputs));
  EXPECT_THAT([&] { plan.rebind(groups.const_view(), scores_.view()); },
              ThrowsMessage<BindingError>(HasSubstr(
                  "block \"a\" (column offsets) and its offsets offsets lie in two collections")));
}

TEST_F(RebindRefuses, VectorsOfUnequalPitch) {
  PortableCollection<Vectors> vectors(10, Device::cpu());
  SoAMetadata<Vectors> inputs(10);
  inputs.append_block("uv", vectors.view().records().u(), vectors.view().records().v());
  SoAMetadata<Scores> outputs(10);
  outputs.append_block("score", scores_.view().records().score());
  Plan plan = test::plan_of(ModelMetadata(inputs, outputs));
  const View<Vectors> uneven{
      {{memory_.data(), 10}, {memory_.data() + 20, 20}}, 10, 10, Device::cpu()};
  EXPECT_THAT([&] { plan.rebind(uneven, scores_.view()); },
              ThrowsMessage<BindingError>(HasSubstr(
                  "block \"uv\" (columns u, v): u has its planes 10 elements apart, v 20; "
                  "all columns of a block have one pitch")));
}

TEST_F(RebindRefuses, InputsAndOutputsOnSeveralDevices) {
  Plan plan = test::plan_of(bind(points_.view(), scores_.view()));
  const View<Scores> elsewhere{scores_.view().columns(), 10, 10, Device::cuda(1)};
  EXPECT_THAT([&] { plan.rebind(points_.view(), scores_.view(), elsewhere); },
              ThrowsMessage<BindingError>(
                  HasSubstr("block \"score\" lies on cuda:1, block \"xz\" on cpu; all blocks of a "
                            "call lie on one device")));
}

}  // namespace
}  // namespace tensoa
