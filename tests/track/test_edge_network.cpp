// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tensoa/pytorch/engines.hpp"
#include "tensoa/track/edge_scorer.hpp"
#include "tensoa/track/generator.hpp"
#include "tensoa/track/graph_builder.hpp"

// The network of models/, as TorchScript and as a package of TorchInductor.

namespace tensoa {
namespace {

class EdgeNetwork : public testing::TestWithParam<Device> {};

INSTANTIATE_TEST_SUITE_P(On, EdgeNetwork, testing::Values(Device::cpu(), Device::cuda(0)),
                         [](const auto& device) {
                           return std::string(device.param.is_cpu() ? "Cpu" : "Cuda");
                         });

TEST_P(EdgeNetwork, ScoresAsAPackageAsItDoesAsTorchScript) {
  if (device_count(GetParam().kind) == 0) GTEST_SKIP() << "no CUDA device";
  pytorch::register_engines();
  const Queue queue(GetParam());
  const std::filesystem::path packages = TENSOA_TRACK_PACKAGES;
  const auto* const package =
      GetParam().is_cpu() ? "edge_network-cpu.pt2" : "edge_network-cuda.pt2";
  track::EdgeScorer just_in_time(Model<>(packages / "edge_network.pt"), queue);
  track::EdgeScorer ahead_of_time(Model<>(packages / package), queue);
  track::GraphBuilder builder;
  for (std::size_t i = 0; i < 3; ++i) {
    track::Event event = track::generate({.seed = 1, .particles = 50}, i);
    PortableCollection<track::Edge>& edges = builder.build(event.hits.view());
    ASSERT_GT(edges.size(), 1000U);
    just_in_time.score(event.hits, edges);
    const float* scores = edges.view().score.data();
    const std::vector<float> expected(scores, scores + edges.size());
    EXPECT_EQ(ahead_of_time.score(event.hits, edges).copies, CopyReport{});
    for (std::size_t k = 0; k < edges.size(); ++k) ASSERT_NEAR(scores[k], expected[k], 1e-4);
  }
}

}  // namespace
}  // namespace tensoa
