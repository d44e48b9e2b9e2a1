// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/merge/pipeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "../support/function_loader.hpp"
#include "../support/temporary_folder.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/output_file.hpp"
#include "tensoa/engine/engine.hpp"
#include "tensoa/merge/generator.hpp"

namespace tensoa::merge {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

float score_of(float nearest) { return 1 / (1 + nearest / 50); }

/// High where clusters of both fragments are near: the same on every device, since the host works it out.
class NearEngine final : public Engine {
 public:
  static inline std::atomic<bool> is_bad = false;

  const Signature& signature() const noexcept override { return signature_; }

  CopyReport run(const Queue& queue, const Binding& binding, const Prepared&) const override {
    const TensorView& x = binding.inputs.at(0).tensor;
    const TensorView& edge = binding.inputs.at(2).tensor;
    EXPECT_EQ(x.size_of_dim.at(1), 29);
    EXPECT_EQ(edge.size_of_dim.at(1), 7);
    std::vector<float> scores(static_cast<std::size_t>(edge.size_of_dim.at(0)));
    const float* nearest = static_cast<const float*>(edge.data) + 3 * edge.stride_of_dim.at(1);
    copy_bytes(queue, scores.data(), Device::cpu(), nearest, edge.device,
               scores.size() * sizeof(float));
    queue.wait();
    std::ranges::transform(scores, scores.begin(), score_of);
    if (is_bad) scores[0] = std::numeric_limits<float>::quiet_NaN();
    const TensorView& answer = binding.outputs.at(0).tensor;
    copy_bytes(queue, answer.data, answer.device, scores.data(), Device::cpu(),
               scores.size() * sizeof(float));
    queue.wait();
    return {};
  }

 private:
  Signature signature_{.inputs = {{.name = "x"}, {.name = "edge_index"}, {.name = "edge_attr"}},
                       .required_inputs = 3};
};

class PipelineOn : public testing::TestWithParam<Device> {
 protected:
  static void SetUpTestSuite() { test::register_engine_of<NearEngine>("near", ".near"); }

  void SetUp() override {
    const Device device = GetParam();
    if (!device.is_cpu() && device_count(device.kind) == 0) GTEST_SKIP() << "no CUDA device";
    if (!DeviceEvent::is_supported(device)) GTEST_SKIP() << "no GPU kernels in this build";
    NearEngine::is_bad = false;
    OutputFile file((folder_.path() / "model.near").string());
    write_file(file, "near");
    model_.emplace((folder_.path() / "model.near").string());
  }

  test::TemporaryFolder folder_;
  std::optional<Model<>> model_;
};

TEST_P(PipelineOn, DoesWhatItsPartsDo) {
  MergePipeline pipeline(*model_, Queue(GetParam()),
                         {.min_score = 0.4F, .edge_auc = true, .keep_edges = true});
  DeviceEvent parts{Queue(Device::cpu())};
  for (const std::int64_t particles : {10, 0, 1, 30}) {
    Event expected = generate({.particles = particles}, 2);
    parts.start_graph(expected);
    const std::size_t n_edges = parts.finish_graph();
    const View<Edge> edges = parts.edges().view();
    for (std::size_t e = 0; e < n_edges; ++e) edges.score[e] = score_of(edges.nearest[e]);
    parts.start_merge(0.4F);
    const MergedFragments merged = parts.finish_merge(expected);

    const ProcessedEvent done = pipeline.process(generate({.particles = particles}, 2));
    EXPECT_EQ(done.edges, n_edges);
    EXPECT_EQ(done.merged, merged.merged);
    EXPECT_EQ(done.edge_counts.true_selected, merged.edges.true_selected);
    ASSERT_EQ(pipeline.edges().size(), n_edges);
    const auto kept = pipeline.edges().const_view();
    for (std::size_t e = 0; e < n_edges; ++e) ASSERT_EQ(kept.score[e], edges.score[e]);
    const std::size_t n = expected.fragments.size();
    const auto got = done.event.fragments.const_view();
    ASSERT_EQ(got.size(), n);
    EXPECT_TRUE(std::equal(got.merged_id.data(), got.merged_id.data() + n,
                           expected.fragments.const_view().merged_id.data()));
    EXPECT_EQ(done.edge_auc.value().has_value(),
              n_edges > 0 && merged.edges.true_edges > 0 && merged.edges.true_edges < n_edges);
    EXPECT_EQ(done.moved.bytes_to_device > 0, !GetParam().is_cpu() && n > 0);
  }
}

TEST_P(PipelineOn, TheAnswerIsTheSameWithRoomForEdges) {
  MergePipeline counted(*model_, Queue(GetParam()), {.keep_edges = true});
  for (const std::size_t capacity : {1U, 700U, 100'000U}) {
    MergePipeline pipeline(*model_, Queue(GetParam()),
                           {.edge_auc = true, .keep_edges = true, .edge_capacity = capacity});
    for (const std::int64_t particles : {10, 0, 1, 30, 30}) {
      const ProcessedEvent expected = counted.process(generate({.particles = particles}, 2));
      const ProcessedEvent done = pipeline.process(generate({.particles = particles}, 2));
      EXPECT_EQ(done.passes, expected.edges > capacity ? 2U : 1U) << capacity;
      EXPECT_EQ(expected.passes, 1U);
      EXPECT_EQ(done.edges, expected.edges);
      EXPECT_EQ(done.merged, expected.merged);
      EXPECT_EQ(done.edge_counts.true_selected, expected.edge_counts.true_selected);
      EXPECT_EQ(pipeline.edges().size(), done.edges);
      const auto* ids = expected.event.fragments.const_view().merged_id.data();
      EXPECT_TRUE(std::equal(ids, ids + expected.event.fragments.size(),
                             done.event.fragments.const_view().merged_id.data()));
    }
  }
}

TEST_P(PipelineOn, AnEventThatIsGivenUpLeavesNothing) {
  MergePipeline pipeline(*model_, Queue(GetParam()));
  const std::size_t expected = pipeline.process(generate({}, 1)).merged;
  pipeline.begin(generate({.particles = 20}, 5));
  EXPECT_TRUE(pipeline.step());
  EXPECT_EQ(pipeline.process(generate({}, 1)).merged, expected);
}

TEST_P(PipelineOn, RefusesScoresThatAreNone) {
  MergePipeline pipeline(*model_, Queue(GetParam()));
  NearEngine::is_bad = true;
  EXPECT_THAT([&] { pipeline.process(generate({}, 1)); },
              ThrowsMessage<EngineError>(HasSubstr("scores are outside [0, 1]")));
  EXPECT_THAT([&] { MergePipeline(*model_, Queue(GetParam())); },
              ThrowsMessage<LoadError>(HasSubstr("expected forward(x [n, 29] float32")));
}

TEST_P(PipelineOn, RefusesCallsOutOfTurn) {
  MergePipeline pipeline(*model_, Queue(GetParam()));
  EXPECT_THROW(pipeline.step(), ConfigError);
  EXPECT_THROW(pipeline.take(), ConfigError);
  pipeline.begin(generate({}, 1));
  EXPECT_THROW(pipeline.take(), ConfigError);
}

INSTANTIATE_TEST_SUITE_P(Devices, PipelineOn, testing::Values(Device::cpu(), Device::cuda(0)),
                         [](const auto& test) { return test.param.is_cpu() ? "cpu" : "cuda"; });

}  // namespace
}  // namespace tensoa::merge
