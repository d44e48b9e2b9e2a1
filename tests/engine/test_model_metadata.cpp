// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/model_metadata.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "fake_engine.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using test::Points;
using test::Scores;
using testing::HasSubstr;
using testing::ThrowsMessage;

class Metadata : public testing::Test {
 protected:
  Metadata() {
    inputs_.append_block("x", points_.view().records().x(), points_.view().records().y());
    outputs_.append_block("score", scores_.view().records().score());
  }

  PortableCollection<Points> points_{10, Device::cpu()};
  PortableCollection<Scores> scores_{10, Device::cpu()};
  SoAMetadata<Points> inputs_{10};
  SoAMetadata<Scores> outputs_{10};
};

TEST_F(Metadata, DeducesTheLayoutsOfInputsThenOfOutputs) {
  ModelMetadata metadata(inputs_, outputs_);
  static_assert(std::is_same_v<decltype(metadata), ModelMetadata<Points, Scores>>);
  const ModelMetadata<Points, Scores> spelled_out(inputs_, outputs_);
  EXPECT_EQ(spelled_out.binding().inputs.size(), 1U);
}

TEST_F(Metadata, KeepsTheBlocksInOrder) {
  outputs_.append_block("again", scores_.view().records().score());
  const ModelMetadata metadata(inputs_, outputs_);
  const Binding& binding = metadata.binding();
  ASSERT_EQ(binding.inputs.size(), 1U);
  ASSERT_EQ(binding.outputs.size(), 2U);
  EXPECT_EQ(binding.inputs[0].name, "x");
  EXPECT_EQ(binding.outputs[1].name, "again");
  EXPECT_EQ(binding.input_collections, 1U);
}

TEST_F(Metadata, ALayoutMayBeInputAndOutput) {
  SoAMetadata<Points> outputs(10);
  outputs.append_block("z", points_.view().records().z());
  const ModelMetadata metadata(inputs_, outputs);
  EXPECT_EQ(metadata.binding().outputs[0].tensor.data, points_.view().z.data());
}

TEST_F(Metadata, SeveralCollectionsTakePart) {
  SoAMetadata<Points, Scores> inputs(10, 10);
  inputs.append_block("score", scores_.const_view().records().score());
  const ModelMetadata metadata(inputs, outputs_);
  static_assert(std::is_same_v<decltype(metadata), const ModelMetadata<Points, Scores, Scores>>);
  EXPECT_EQ(metadata.binding().input_collections, 2U);
  EXPECT_EQ(metadata.binding().inputs[0].collection, 1U);
}

TEST_F(Metadata, RefusesAReadOnlyOutput) {
  SoAMetadata<Scores> outputs(10);
  outputs.append_block("score", scores_.const_view().records().score());
  EXPECT_THAT([&] { ModelMetadata(inputs_, outputs); },
              ThrowsMessage<BindingError>(HasSubstr(
                  "block \"score\": an output is bound to a const view; use view() instead of "
                  "const_view()")));
}

TEST_F(Metadata, RefusesAScalarAsOutput) {
  SoAMetadata<Scores> outputs(10);
  outputs.append_block("sum", scores_.view().records().sum());
  EXPECT_THAT(
      [&] { ModelMetadata(inputs_, outputs); },
      ThrowsMessage<BindingError>(HasSubstr("block \"sum\": an output is bound to a scalar")));
}

TEST_F(Metadata, RefusesBlocksOnSeveralDevices) {
  const View<Scores> elsewhere{scores_.view().columns(), 10, 10, Device::cuda(1)};
  SoAMetadata<Scores> outputs(10);
  outputs.append_block("score", elsewhere.records().score());
  EXPECT_THAT(
      [&] { ModelMetadata(inputs_, outputs); },
      ThrowsMessage<BindingError>(HasSubstr(
          "block \"score\" lies on cuda:1, block \"x\" on cpu; all blocks of a call lie on one "
          "device")));
}

TEST(Binding, IsEmptyWhenNoOutputHasElements) {
  PortableCollection<Points> points(10, Device::cpu());
  PortableCollection<Scores> scores(10, Device::cpu());
  const auto binding_of = [&](int n_points, int n_scores) {
    SoAMetadata<Points> inputs(n_points);
    inputs.append_block("x", points.view().records().x());
    SoAMetadata<Points, Scores> outputs(n_points, n_scores);
    outputs.append_block("z", points.view().records().z());
    outputs.append_block("score", scores.view().records().score());
    return ModelMetadata(inputs, outputs).binding();
  };
  EXPECT_TRUE(binding_of(0, 0).is_empty());
  EXPECT_FALSE(binding_of(0, 1).is_empty());
  EXPECT_FALSE(binding_of(1, 0).is_empty());
  EXPECT_FALSE(Binding{}.is_empty()) << "a model without outputs runs for what else it does";
}

}  // namespace
}  // namespace tensoa
