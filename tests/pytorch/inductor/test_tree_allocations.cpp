// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "pytorch/copy_truth.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/forest/engines.hpp"
#include "tensoa/soa/portable_collection.hpp"

// The cost of a call of decision trees, seen by copy_truth.cpp, which needs torch.

namespace tensoa {
namespace {

template <template <class> class F>
struct Features {
  F<Vector<float, 7>> all;
};
template <template <class> class F>
struct Margin {
  F<float> margin;
};

class TreeAllocations : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override { forest::register_engines(); }
};

TEST_P(TreeAllocations, ACallAllocatesNothingAndTakesNoLock) {
  const Queue queue(Device::cpu());
  PortableCollection<Features> features(GetParam(), Device::cpu());
  PortableCollection<Margin> margins(GetParam(), Device::cpu());
  for (std::size_t row = 0; row < GetParam(); ++row) {
    for (std::size_t i = 0; i < 7; ++i) {
      features.view().all[row][i] = static_cast<float>((row * 7 + i) % 13) / 4 - 1;
    }
  }
  SoAMetadata<Features> inputs(GetParam());
  inputs.append_block("features", features.const_view().records().all());
  SoAMetadata<Margin> outputs(GetParam());
  outputs.append_block("margin", margins.view().records().margin());
  const Model<> model(std::string(TENSOA_TREE_FILES) + "/xgboost_regression.json",
                      forest::Options{.margin = true});
  const auto plan = model.plan(ModelMetadata(inputs, outputs, Match::kByOrder));
  model.forward(queue, plan);
  const float first = margins.view().margin[0];
  margins.view().margin[0] = 0;
  const Seen seen = watch({}, 1, [&] { model.forward(queue, plan); });
  EXPECT_EQ(seen.allocations, 0U) << seen.story;
  EXPECT_EQ(seen.locks, 0U);
  EXPECT_EQ(margins.view().margin[0], first);
}

INSTANTIATE_TEST_SUITE_P(Rows, TreeAllocations, testing::Values(1, 16, 1000));

}  // namespace
}  // namespace tensoa
