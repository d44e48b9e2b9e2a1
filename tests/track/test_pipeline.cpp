// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/pipeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "../support/function_loader.hpp"
#include "../support/sanitizers.hpp"
#include "../support/temporary_folder.hpp"
#include "kernel_checks.hpp"
#include "sched/event_sources.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/engine.hpp"
#include "tensoa/sched/wait.hpp"
#include "tensoa/track/generator.hpp"
#include "tensoa/track/graph_builder.hpp"
#include "tensoa/track/tracks.hpp"

namespace tensoa::track {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// High for edges that go straight on, and only where hits, indices and edge columns belong together.
float score_of(float z_source, float z_target, float dphi, float dz) {
  return 1.F / (1.F + 30.F * std::abs(dphi) + 1000.F * std::abs(z_target - z_source - dz));
}

/// The same score on every device, since it is worked out on the host.
class HostEngine final : public Engine {
 public:
  static inline std::atomic<int> nans = 0;  ///< NaN instead of the first scores

  const Signature& signature() const noexcept override { return signature_; }

  CopyReport run(const Queue& queue, const Binding& binding, const Prepared&) const override {
    const TensorView& index = binding.inputs.at(1).tensor;
    const TensorView& edge = binding.inputs.at(2).tensor;
    const auto z = column<float>(queue, binding.inputs.at(0).tensor, 0, 2);
    const auto source = column<std::int64_t>(queue, index, 1, 0);
    const auto target = column<std::int64_t>(queue, index, 1, 1);
    const auto dphi = column<float>(queue, edge, 0, 1);
    const auto dz = column<float>(queue, edge, 0, 2);
    queue.wait();
    std::vector<float> scores(source.size());
    for (std::size_t e = 0; e < scores.size(); ++e) {
      scores[e] = score_of(z.at(static_cast<std::size_t>(source[e])),
                           z.at(static_cast<std::size_t>(target[e])), dphi[e], dz[e]);
      if (static_cast<int>(e) < nans) scores[e] = std::numeric_limits<float>::quiet_NaN();
    }
    const TensorView& answer = binding.outputs.at(0).tensor;
    copy_bytes(queue, answer.data, answer.device, scores.data(), Device::cpu(),
               scores.size() * sizeof(float));
    queue.wait();
    return {};
  }

 private:
  /// Place `at` of the other dimension than `rows`. There after the next wait.
  template <class T>
  static std::vector<T> column(const Queue& queue, const TensorView& tensor, std::size_t rows,
                               std::int64_t at) {
    std::vector<T> values(static_cast<std::size_t>(tensor.size_of_dim.at(rows)));
    const T* first = static_cast<const T*>(tensor.data) + at * tensor.stride_of_dim.at(1 - rows);
    copy_bytes(queue, values.data(), Device::cpu(), first, tensor.device,
               values.size() * sizeof(T));
    return values;
  }

  Signature signature_{.inputs = {{.name = "x"}, {.name = "edge_index"}, {.name = "edge_attr"}},
                       .required_inputs = 3};
};

/// One score for all edges, which the file says; only enqueues.
class FlatEngine final : public Engine {
 public:
  FlatEngine(const std::filesystem::path& file, Device device)
      : device_(device), there_(device, kMost * sizeof(float)) {
    float score = 0;
    std::ifstream(file) >> score;
    const std::vector<float> scores(kMost, score);
    const Queue queue(device);
    copy_bytes(queue, there_.data(), device, scores.data(), Device::cpu(), kMost * sizeof(float));
    queue.wait();
  }

  const Signature& signature() const noexcept override { return signature_; }

  CopyReport run(const Queue& queue, const Binding& binding, const Prepared&) const override {
    const TensorView& answer = binding.outputs.at(0).tensor;
    copy_bytes(queue, answer.data, answer.device, there_.data(), device_,
               static_cast<std::size_t>(answer.size_of_dim.at(0)) * sizeof(float));
    return {.bytes_in = 7};
  }

  bool can_be_recorded() const noexcept override { return true; }

 private:
  static constexpr std::size_t kMost = 200'000;

  Device device_;
  Buffer there_;
  Signature signature_{.inputs = {{.name = "x"}, {.name = "edge_index"}, {.name = "edge_attr"}},
                       .required_inputs = 3};
};

struct Answer {
  std::size_t edges = 0;
  std::size_t tracks = 0;
  std::size_t selected = 0;
  std::size_t true_selected = 0;
  std::vector<std::int64_t> ids;

  friend bool operator==(const Answer&, const Answer&) = default;
};

Answer answer_of(const ProcessedEvent& done) {
  return {done.edges, done.tracks, done.edge_counts.selected, done.edge_counts.true_selected,
          ids_of(done.event.hits.const_view())};
}

/// The expected result of the pipeline, by its parts.
Answer expected_answer(Event event, const TrackOptions& options) {
  GraphBuilder builder;
  PortableCollection<Edge>& edges = builder.build(event.hits.view());
  const auto hits = event.hits.const_view();
  const auto v = edges.view();
  for (std::size_t e = 0; e < v.size(); ++e) {
    v.score[e] = score_of(hits.z_scaled[static_cast<std::size_t>(v.source[e])],
                          hits.z_scaled[static_cast<std::size_t>(v.target[e])], v.dphi[e], v.dz[e]);
  }
  Answer answer;
  answer.edges = edges.size();
  for (std::size_t e = 0; e < v.size(); ++e) {
    if (v.score[e] < options.min_score) continue;
    ++answer.selected;
    if (v.truth[e] != 0) ++answer.true_selected;
  }
  answer.tracks = TrackFinder(options).find(event.hits.view(), edges.const_view());
  answer.ids = ids_of(event.hits.const_view());
  return answer;
}

class TrackPipelineOn : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    const Device device = GetParam();
    if (!device.is_cpu() && device_count(device.kind) == 0) GTEST_SKIP() << "no CUDA device";
    test::register_engine_of<HostEngine>("Host", ".host");
    HostEngine::nans = 0;
    model_.emplace(folder_.write("network.host", ""));
    queue_.emplace(device);
  }

  bool is_on_device() const { return TrackPipeline::stays_on(GetParam(), {}); }

  test::TemporaryFolder folder_;
  std::optional<Model<>> model_;
  std::optional<Queue> queue_;
};

TEST_P(TrackPipelineOn, FindsWhatItsPartsFindWithAllOptions) {
  for (const TrackOptions& tracks :
       {TrackOptions{}, TrackOptions{.min_score = 0.8F}, TrackOptions{.min_score = 0},
        TrackOptions{.min_score = 0.7F, .min_hits = 5}}) {
    for (const bool graph_on_host : {false, true}) {
      TrackPipeline pipeline(
          *model_, *queue_, {.tracks = tracks, .graph_on_host = graph_on_host, .keep_edges = true});
      for (const std::int64_t particles : {50, 400, 100}) {
        const Event event = generate({.seed = 3, .particles = particles}, 1);
        const Answer expected =
            expected_answer(generate({.seed = 3, .particles = particles}, 1), tracks);
        const ProcessedEvent done =
            pipeline.process(EventSource({.seed = 3, .particles = particles}, 1));
        EXPECT_EQ(done.event.name, event.name);
        EXPECT_EQ(answer_of(done), expected) << particles << " particles";
        EXPECT_GT(expected.edges, 0U);
      }
    }
  }
}

TEST_P(TrackPipelineOn, FindsTheSameWithRoomForTooFewOrTooManyEdges) {
  for (const std::size_t edge_capacity : {1U, 2'000U, 100'000U}) {
    TrackPipeline pipeline(*model_, *queue_, {.keep_edges = true, .edge_capacity = edge_capacity});
    for (const std::int64_t particles : {50, 400, 100}) {
      const Answer expected = expected_answer(generate({.seed = 3, .particles = particles}, 1), {});
      const ProcessedEvent done =
          pipeline.process(generate({.seed = 3, .particles = particles}, 1));
      EXPECT_EQ(answer_of(done), expected);
      EXPECT_EQ(done.passes, is_on_device() && expected.edges > edge_capacity ? 2U : 1U);
      EXPECT_EQ(pipeline.edges().size(), expected.edges);
    }
  }
}

TEST_P(TrackPipelineOn, LaunchesEventsAsAWholeWithTheWeightsOfToday) {
  test::register_function("Flat", ".flat",
                          [](const ModelLocation& file, Device device, const ModelOptions&) {
                            return std::make_shared<const FlatEngine>(file.path(), device);
                          });
  const Model<> model(folder_.write("network.flat", "0.9"));
  TrackPipeline recorded(model, *queue_, {.edge_capacity = 60'000, .cuda_graph = true});
  TrackPipeline one_by_one(model, *queue_, {.edge_capacity = 60'000});
  std::size_t launched = 0;
  const auto expect_same = [&](std::uint64_t index, bool is_selected) {
    const GeneratorOptions options{.seed = 3, .particles = 200};
    const ProcessedEvent done = recorded.process(EventSource(options, index));
    const ProcessedEvent expected = one_by_one.process(EventSource(options, index));
    EXPECT_EQ(answer_of(done), answer_of(expected));
    EXPECT_FALSE(expected.as_cuda_graph);
    EXPECT_EQ(done.edge_counts.selected, is_selected ? done.edges : 0);
    if (done.as_cuda_graph) ++launched;
    EXPECT_EQ(done.moved.copies.bytes_in, 7U);
  };
  for (std::uint64_t index = 0; index < 6; ++index) expect_same(index, true);
  EXPECT_GE(launched, is_on_device() ? 3U : 0U);

  model.reload(folder_.write("other.flat", "0.1"));
  for (std::uint64_t index = 0; index < 6; ++index) expect_same(index, false);
  EXPECT_GE(launched, is_on_device() ? 6U : 0U);

  TrackPipeline not_recordable(*model_, *queue_, {.edge_capacity = 60'000, .cuda_graph = true});
  for (int i = 0; i < 3; ++i) {
    const ProcessedEvent done = not_recordable.process(generate({.seed = 3, .particles = 50}, 1));
    EXPECT_EQ(answer_of(done), expected_answer(generate({.seed = 3, .particles = 50}, 1), {}));
    EXPECT_FALSE(done.as_cuda_graph);
    EXPECT_EQ(done.passes, 1U);
  }
}

/// The parts of the pipeline, which on the CPU goes another way.
TEST_P(TrackPipelineOn, NetworksThatPassMessagesGiveTheSameScoresInMoreRows) {
  if (!DeviceEvent::is_supported(GetParam())) GTEST_SKIP() << "no GPU kernels in this build";
  DeviceEvent on_device(*queue_, {}, {}, 20'000);
  EdgeScorer scorer(*model_, *queue_);
  Event event = generate({.particles = 150}, 4);
  on_device.build_graph(event.hits.const_view());
  scorer.enqueue(on_device.hits(), on_device.edges());
  const FoundTracks found = on_device.find_tracks(event.hits.view());
  const Answer expected = expected_answer(generate({.particles = 150}, 4), {});
  EXPECT_EQ((Answer{found.edges.edges, found.tracks, found.edges.selected,
                    found.edges.true_selected, ids_of(event.hits.const_view())}),
            expected);
}

TEST_P(TrackPipelineOn, CountsTheScoresOfEventsWithTruthIfAsked) {
  Event event = generate({.particles = 80}, 2);
  GraphBuilder builder;
  EdgeScorer scorer(*model_, *queue_);
  PortableCollection<Edge>& edges = builder.build(event.hits.view());
  scorer.score(event.hits, edges);
  EdgeAuc expected;
  expected.add(edges.const_view());
  ASSERT_TRUE(expected.value());
  for (const std::size_t edge_capacity : {0U, 20'000U}) {
    const PipelineOptions options{.edge_auc = true, .edge_capacity = edge_capacity};
    TrackPipeline counts(*model_, *queue_, options);
    EXPECT_NEAR(*counts.process(generate({.particles = 80}, 2)).edge_auc.value(), *expected.value(),
                1e-6);
    Event unlabelled = generate({.particles = 80}, 2);
    unlabelled.has_truth = false;
    EXPECT_FALSE(counts.process(std::move(unlabelled)).edge_auc.value());
    EXPECT_TRUE(counts.process(generate({.particles = 80}, 2)).edge_auc.value());
  }
  TrackPipeline without(*model_, *queue_);
  EXPECT_FALSE(without.process(generate({.particles = 80}, 2)).edge_auc.value());
}

TEST_P(TrackPipelineOn, KeepsTheEdgesOnTheHostIfAsked) {
  GraphBuilder builder;
  Event event = generate({.particles = 80}, 2);
  const PortableCollection<Edge>& expected = builder.build(event.hits.view());
  TrackPipeline with(*model_, *queue_, {.keep_edges = true});
  TrackPipeline without(*model_, *queue_);
  with.process(generate({.particles = 80}, 2));
  without.process(generate({.particles = 80}, 2));
  expect_same_edges(with.edges().const_view(), expected.const_view());
  EXPECT_EQ(without.edges().size(), is_on_device() ? 0U : expected.size());
}

TEST_P(TrackPipelineOn, SaysWhatAnEventMoved) {
  TrackPipeline pipeline(*model_, *queue_);
  const ProcessedEvent done = pipeline.process(generate({.particles = 80}, 2));
  if (is_on_device()) {
    EXPECT_GE(done.moved.bytes_to_device, 24 * done.event.hits.size());
    EXPECT_LT(done.moved.bytes_to_host, 9 * done.event.hits.size() + 1000);
  } else if (GetParam().is_cpu()) {
    EXPECT_EQ(done.moved.bytes_to_device + done.moved.bytes_to_host, 0U);
  }
}

TEST_P(TrackPipelineOn, WaitsInTheWayOfTheCallerTwiceAnEventOnADevice) {
  std::vector<void*> waited;
  TrackPipeline pipeline(*model_, *queue_, {.wait = [&](const Queue& queue) {
    waited.push_back(queue.native_handle());
    queue.wait();
  }});
  EXPECT_TRUE(waited.empty()) << "not before the first event";
  const Answer expected = expected_answer(generate({.particles = 80}, 2), {});
  EXPECT_EQ(answer_of(pipeline.process(generate({.particles = 80}, 2))), expected);
  EXPECT_EQ(waited, std::vector<void*>(is_on_device() ? 2 : 0, queue_->native_handle()));
}

TEST_P(TrackPipelineOn, TakesAnEventInStepsAndRefusesThoseOutOfOrder) {
  TrackPipeline pipeline(*model_, *queue_);
  EXPECT_THROW(pipeline.step(), ConfigError);
  EXPECT_THROW(pipeline.take(), ConfigError);
  pipeline.begin(generate({.particles = 60}, 1));
  EXPECT_THROW(pipeline.take(), ConfigError);
  pipeline.step();
  pipeline.begin(generate({.particles = 80}, 2));  // gives the other one up
  std::size_t waits = 0;
  for (; pipeline.step(); ++waits) pipeline.queue().wait();
  EXPECT_EQ(waits, is_on_device() ? 2U : 0U);
  EXPECT_EQ(answer_of(pipeline.take()), expected_answer(generate({.particles = 80}, 2), {}));
  EXPECT_THROW(pipeline.step(), ConfigError);
}

TEST_P(TrackPipelineOn, GoesOnAfterAWaitThatThrew) {
  bool fails = true;
  TrackPipeline pipeline(*model_, *queue_, {.wait = [&](const Queue&) {
    if (fails) throw DeviceError("no patience");
  }});
  if (is_on_device()) {
    EXPECT_THROW(pipeline.process(generate({.particles = 60}, 1)), DeviceError);
  }
  fails = false;
  EXPECT_EQ(answer_of(pipeline.process(generate({.particles = 80}, 2))),
            expected_answer(generate({.particles = 80}, 2), {}));
}

TEST_P(TrackPipelineOn, ResultsOfConcurrentEventsEqualThoseOfOneAfterAnother) {
  constexpr std::size_t kEvents = 40;
  const auto source = [](std::size_t event) {
    return EventSource({.seed = 9, .particles = static_cast<std::int64_t>(20 + event * 37 % 200)},
                       event);
  };
  PipelineOptions options;
  if (!test::kStacksAreWatched) options.wait = sched::wait_suspended;
  for (const auto& [threads, in_flight] : {std::pair{1, 1}, std::pair{1, 4}, std::pair{2, 6}}) {
    std::deque<TrackPipeline> pipelines;
    for (int i = 0; i < in_flight; ++i) pipelines.emplace_back(*model_, Queue(GetParam()), options);
    std::vector<Answer> answers(kEvents);
    const std::size_t delivered = test::run_work(
        kEvents, threads, pipelines.size(), [&](std::size_t event, std::size_t slot) {
          answers[event] = answer_of(pipelines[slot].process(source(event)));
        });
    EXPECT_EQ(delivered, kEvents);
    for (std::size_t event = 0; event < kEvents; ++event) {
      EXPECT_EQ(answers[event], expected_answer(source(event).read(), {})) << "event " << event;
    }
  }
}

TEST_P(TrackPipelineOn, GivesAnEventWithoutHitsAnEmptyAnswer) {
  TrackPipeline pipeline(*model_, *queue_);
  const ProcessedEvent done = pipeline.process(Event());
  EXPECT_EQ(answer_of(done), Answer());
  EXPECT_EQ(pipeline.edges().size(), 0U);
}

TEST_P(TrackPipelineOn, RefusesHitsWithoutACandidateEdge) {
  TrackPipeline pipeline(*model_, *queue_);
  const auto one_hit = [] {
    Event event = generate({.particles = 30}, 0);
    event.hits.resize(1);
    return event;
  };
  EXPECT_THAT([&] { pipeline.process(one_hit()); },
              ThrowsMessage<InputError>(HasSubstr("got 1 hit without a candidate edge")));
}

TEST_P(TrackPipelineOn, RefusesScoresThatAreNoneAndHitsThatAreNowhereAndGoesOn) {
  TrackPipeline pipeline(*model_, *queue_);
  HostEngine::nans = 3;
  EXPECT_THAT([&] { pipeline.process(generate({.particles = 30}, 0)); },
              ThrowsMessage<EngineError>(HasSubstr("3 of ")));
  HostEngine::nans = 0;
  Event nowhere = generate({.particles = 30}, 0);
  nowhere.hits.view().z[4] = std::numeric_limits<float>::infinity();
  EXPECT_THAT([&] { pipeline.process(std::move(nowhere)); },
              ThrowsMessage<InputError>(HasSubstr("hit row 4")));
  EXPECT_EQ(answer_of(pipeline.process(generate({.particles = 80}, 2))),
            expected_answer(generate({.particles = 80}, 2), {}));
}

INSTANTIATE_TEST_SUITE_P(Devices, TrackPipelineOn, testing::Values(Device::cpu(), Device::cuda(0)),
                         [](const auto& device) { return device.param.is_cpu() ? "Cpu" : "Cuda"; });

}  // namespace
}  // namespace tensoa::track
