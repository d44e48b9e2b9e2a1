// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fake_engine.hpp"
#include "random_layouts.hpp"
#include "tensoa/engine/plan.hpp"

/// @file
/// Any layouts, any collections, any blocks: a plan that is rebound equals a binding that is made
/// from nothing.

namespace tensoa {
namespace {

using test::AnyColumn;
using test::Choice;
using test::Description;
using test::kSeed;

constexpr std::size_t kSizes[] = {0, 1, 31, 32, 33, 1000};

void expect_same(const std::vector<BoundBlock>& got, const std::vector<BoundBlock>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE(expected[i].name + ": " + to_string(expected[i].tensor));
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

/// A collection of a random size, with more room than that now and then.
template <template <template <class> class> class Layout>
PortableCollection<Layout> make_collection(std::mt19937& random) {
  const std::size_t rows = kSizes[random() % std::size(kSizes)];
  PortableCollection<Layout> collection(rows + random() % 3 * 20, Device::cpu());
  collection.resize(rows);
  return collection;
}

/// Choices of the columns of a layout that can be bound.
template <template <template <class> class> class Layout>
std::vector<Choice> make_choices(std::mt19937& random, bool with_scalars) {
  PortableCollection<Layout> collection(1, Device::cpu());
  const std::vector<AnyColumn> columns = Description<Layout>::columns(collection.view());
  std::vector<Choice> choices;
  for (int trial = 0; trial < 12; ++trial) {
    Choice choice = test::choose(columns, 0, 1, random);
    const bool is_scalar = columns[choice.fields[0]].info.kind == ColumnKind::kScalar;
    if (is_scalar && !with_scalars) continue;
    if (test::is_one_tensor(columns, choice, 1)) choices.push_back(std::move(choice));
  }
  return choices;
}

template <template <template <class> class> class Layout, class Metadata, class SomeView>
void append_all(Metadata& metadata, const std::string& prefix, const SomeView& view,
                const std::vector<Choice>& choices) {
  const auto records = Description<Layout>::records(view.records());
  for (const Choice& choice : choices) {
    test::append(metadata, prefix + std::to_string(metadata.blocks().size()), records, choice);
  }
}

/// Columns of A and B go in, columns of B come out.
template <template <template <class> class> class A, template <template <class> class> class B>
void check_plan(std::mt19937& random) {
  const auto a_choices = make_choices<A>(random, true);
  const auto b_choices = make_choices<B>(random, true);
  std::vector<Choice> output_choices = make_choices<B>(random, false);
  if (!output_choices.empty()) output_choices.resize(1);  // outputs may not overlap

  const auto bind = [&](const auto& a, const auto& b, const auto& output) {
    SoAMetadata<A, B> inputs(a.size(), b.size());
    append_all<A>(inputs, "a", a, a_choices);
    append_all<B>(inputs, "b", b, b_choices);
    SoAMetadata<B> outputs(output.size());
    append_all<B>(outputs, "output", output, output_choices);
    return ModelMetadata(inputs, outputs);
  };
  auto a = make_collection<A>(random);
  auto b = make_collection<B>(random);
  auto output = make_collection<B>(random);
  Plan plan = test::plan_of(bind(a.view(), b.view(), output.view()));
  for (int event = 0; event < 5; ++event) {
    a = make_collection<A>(random);
    b = make_collection<B>(random);
    output = make_collection<B>(random);
    plan.rebind(a.const_view(), b.view(), output.view());
    const Binding fresh = bind(a.const_view(), b.view(), output.view()).binding();
    expect_same(plan.binding().inputs, fresh.inputs);
    expect_same(plan.binding().outputs, fresh.outputs);
  }
}

TEST(PlanOfAnyLayouts, RebindsToCollectionsOfAnySizeAndCapacityLikeANewPlan) {
  std::mt19937 random(kSeed);
  test::for_each_random_pair(
      [&]<template <template <class> class> class A, template <template <class> class> class B>() {
        SCOPED_TRACE("seed " + std::to_string(kSeed) + ", layouts\n" +
                     std::string(Description<A>::kText) + '\n' +
                     std::string(Description<B>::kText));
        for (int trial = 0; trial < 10; ++trial) check_plan<A, B>(random);
      });
}

}  // namespace
}  // namespace tensoa
