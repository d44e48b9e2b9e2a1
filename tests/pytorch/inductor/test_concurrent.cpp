// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "package/aot_layouts.hpp"
#include "tensoa/core/event.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/options.hpp"
#include "tensoa/pytorch/engines.hpp"
#include "tensoa/soa/slice.hpp"

// One model, many threads, many queues: every call gives the bits that it gives alone. Sums by index on a
// GPU are of a package that was exported with --deterministic; others sum with atomic additions, whose
// order is not fixed.

namespace tensoa {
namespace {

using namespace test;
using Numbers = std::vector<float>;

/// A way to run a model, and where.
struct Way {
  const char* name;
  const char* file;
  Device device;
  bool cuda_graphs = false;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

ModelOptions options_of(const Way& way) {
  if (way.cuda_graphs) return package::Options{.cuda_graphs = true};
  return {};
}

constexpr Way kWays[] = {
    {"Jit", TENSOA_TEST_MODELS "mlp.pt", Device::cpu()},
    {"Aot", TENSOA_TEST_PACKAGES "mlp-cpu.pt2", Device::cpu()},
    {"Fused", TENSOA_FUSED_PACKAGES "fused.pt2", Device::cpu()},
    {"JitCuda", TENSOA_TEST_MODELS "mlp.pt", Device::cuda(0)},
    {"AotCuda", TENSOA_TEST_PACKAGES "mlp-cuda.pt2", Device::cuda(0)},
    {"FusedCuda", TENSOA_FUSED_PACKAGES "fused_gpu_sums.pt2", Device::cuda(0)},
    {"FusedCudaGraphs", TENSOA_FUSED_PACKAGES "fused_gpu_sums.pt2", Device::cuda(0), true},
};

constexpr std::size_t kThreads = 8;
constexpr std::size_t kMostRows = 6000;
constexpr std::array<std::size_t, 7> kRows{1, 2, 33, 997, 4000, 4001, kMostRows};  // of the batches

class Concurrent : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (device_count(device().kind) == 0) GTEST_SKIP() << "no CUDA device";
    pytorch::register_engines();
    queue_.emplace(device());
    model_.emplace(GetParam().file, options_of(GetParam()));
    for (const std::size_t rows : kRows) {
      PortableCollection<Points> host(rows, Device::cpu());
      for (std::size_t i = 0; i < rows; ++i) {
        host.view().x[i] = noise(3 * i + rows);
        host.view().y[i] = noise(3 * i + 1 + rows);
        host.view().z[i] = noise(3 * i + 2 + rows);
      }
      PortableCollection<Points> there(rows, device());
      copy(*queue_, host, there);
      queue_->wait();
      batches_.push_back(std::move(there));
    }
    for (const PortableCollection<Points>& batch : batches_) {  // one after another, alone
      PortableCollection<Answers> answers(batch.size(), device());
      const auto plan = model_->plan(mlp_metadata(batch.const_view(), answers.view()));
      model_->forward(*queue_, plan);
      alone_.push_back(numbers_of(*queue_, answers, batch.size()));
      EXPECT_NE(alone_.back(), Numbers(2 * batch.size()));
    }
  }

  static Device device() { return GetParam().device; }

  /// Looks like any other.
  static float noise(std::size_t seed) {
    return static_cast<float>((seed * 2654435761U) % 4001U) / 1000.F - 2.F;
  }

  /// The content of the first rows; waits for the queue.
  static Numbers numbers_of(const Queue& queue, const PortableCollection<Answers>& answers,
                            std::size_t rows) {
    Numbers numbers(2 * rows);
    const auto view = answers.const_view();
    for (const auto& [to, from] : {std::pair{numbers.data(), view.m.data()},
                                   std::pair{numbers.data() + rows, view.n.data()}}) {
      copy_bytes(queue, to, Device::cpu(), from, device(), rows * sizeof(float));
    }
    queue.wait();
    return numbers;
  }

  std::optional<Queue> queue_;
  std::optional<Model<>> model_;
  std::vector<PortableCollection<Points>> batches_;  ///< one for each of kRows
  std::vector<Numbers> alone_;                       ///< what the model answers to each
};

INSTANTIATE_TEST_SUITE_P(Of, Concurrent, testing::ValuesIn(kWays),
                         [](const auto& way) { return std::string(way.param.name); });

TEST_P(Concurrent, EveryThreadGetsTheBitsOfASerialRun) {
  // Long enough for the threads of a busy machine to interrupt each other within calls.
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  std::latch start(kThreads);
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const Model<> mine = *model_;
      const Queue own(device());
      const Queue& queue = thread % 4 == 3 ? *queue_ : own;  // two threads share one
      PortableCollection<Answers> answers(kMostRows, device());
      auto plan =
          mine.plan(mlp_metadata(batches_[0].const_view(), slice(answers.view(), 0, kRows[0])));
      start.arrive_and_wait();
      for (std::size_t call = 0; call < 10 || std::chrono::steady_clock::now() < end; ++call) {
        const std::size_t batch = (thread + 3 * call) % kRows.size();
        plan.rebind(batches_[batch].const_view(), slice(answers.view(), 0, kRows[batch]));
        mine.forward(queue, plan);
        ASSERT_EQ(numbers_of(queue, answers, kRows[batch]), alone_[batch])
            << "thread " << thread << ", call " << call;
      }
    });
  }
}

TEST_P(Concurrent, ManyCallsInFlightGetTheBitsOfASerialRun) {
  std::latch start(kThreads);
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const Queue queue(device());
      std::vector<PortableCollection<Answers>> answers;
      for (const std::size_t rows : kRows) answers.emplace_back(rows, device());
      auto plan = model_->plan(mlp_metadata(batches_[0].const_view(), answers[0].view()));
      start.arrive_and_wait();
      for (std::size_t call = 0; call < 5 * kRows.size(); ++call) {  // no thread waits
        const std::size_t batch = (thread + call) % kRows.size();
        plan.rebind(batches_[batch].const_view(), answers[batch].view());
        model_->forward(queue, plan);
      }
      for (std::size_t batch = 0; batch < kRows.size(); ++batch) {
        ASSERT_EQ(numbers_of(queue, answers[batch], kRows[batch]), alone_[batch]);
      }
    });
  }
}

TEST_P(Concurrent, CallsKeepTheirPlaceAmongTheCallersOwnWork) {
  constexpr std::size_t kRounds = 50;
  PortableCollection<Points> in(kMostRows, device());
  PortableCollection<Answers> out(kMostRows, device());
  std::vector<PortableCollection<Answers>> kept;
  for (std::size_t round = 0; round < kRounds; ++round) kept.emplace_back(kMostRows, device());
  auto plan = model_->plan(mlp_metadata(in.const_view(), out.view()));
  for (std::size_t round = 0; round < kRounds; ++round) {  // no thread waits
    const std::size_t batch = round % kRows.size();
    copy(*queue_, batches_[batch], in);
    out.resize(kRows[batch]);
    plan.rebind(in.const_view(), out.view());
    model_->forward(*queue_, plan);
    copy(*queue_, out, kept[round]);
    zero_bytes(*queue_, in.data(), in.bytes());
    zero_bytes(*queue_, out.data(), out.bytes());
  }
  for (std::size_t round = 0; round < kRounds; ++round) {
    const std::size_t batch = round % kRows.size();
    ASSERT_EQ(numbers_of(*queue_, kept[round], kRows[batch]), alone_[batch]) << "round " << round;
  }
}

TEST_P(Concurrent, CallsOnOtherQueuesWaitForTheGivenEvents) {
  const Queue producer(device());
  PortableCollection<Points> in(kMostRows, device());
  PortableCollection<Answers> out(kMostRows, device());
  for (std::size_t round = 0; round < 5 * kRows.size(); ++round) {
    const std::size_t batch = round % kRows.size();
    zero_bytes(producer, in.data(), in.bytes());
    copy(producer, batches_[batch], in);
    out.resize(kRows[batch]);
    queue_->wait_for(Event(producer));
    model_->forward(*queue_, model_->plan(mlp_metadata(in.const_view(), out.view())));
    producer.wait_for(Event(*queue_));
    ASSERT_EQ(numbers_of(producer, out, kRows[batch]), alone_[batch]) << "round " << round;
  }
}

constexpr Way kSums[] = {
    {"Fused", TENSOA_TEST_PACKAGES "sums-cpu.pt2", Device::cpu()},
    {"FusedCuda", TENSOA_TEST_PACKAGES "sums-cuda.pt2", Device::cuda(0)},
    {"FusedCudaGraphs", TENSOA_TEST_PACKAGES "sums-cuda.pt2", Device::cuda(0), true},
};

class ConcurrentSums : public testing::TestWithParam<Way> {};

INSTANTIATE_TEST_SUITE_P(Of, ConcurrentSums, testing::ValuesIn(kSums),
                         [](const auto& way) { return std::string(way.param.name); });

TEST_P(ConcurrentSums, EveryThreadGetsTheBitsOfASerialRun) {
  const Device device = GetParam().device;
  if (device_count(device.kind) == 0) GTEST_SKIP() << "no CUDA device";
  pytorch::register_engines();
  const Model<> model(GetParam().file, options_of(GetParam()));
  constexpr std::size_t kNodes = 500;
  constexpr std::size_t kLinks = 20'000;
  PortableCollection<Nodes> nodes(kNodes, Device::cpu());
  PortableCollection<Links> links(kLinks, Device::cpu());
  std::mt19937 random(1);
  for (std::size_t i = 0; i < kNodes; ++i) {
    nodes.view().charge[i] = 1;
    nodes.view().mass[i] = std::ldexp(static_cast<float>(random()), -static_cast<int>(i % 32));
  }
  for (std::size_t i = 0; i < kLinks; ++i) {
    links.view().source[i] = static_cast<std::int64_t>(random() % kNodes);
    links.view().target[i] = static_cast<std::int64_t>(random() % kNodes);
  }
  std::vector<double> truth(kNodes);
  for (std::size_t i = 0; i < kLinks; ++i) {
    truth[static_cast<std::size_t>(links.view().target[i])] +=
        nodes.view().mass[static_cast<std::size_t>(links.view().source[i])];
  }
  const auto totals = [&](const Queue& queue, std::size_t calls) {
    PortableCollection<Nodes> nodes_there(kNodes, device);
    PortableCollection<Links> links_there(kLinks, device);
    copy(queue, nodes, nodes_there);
    copy(queue, links, links_there);
    const auto plan = model.plan(graph_metadata(nodes_there.view(), links_there.view()));
    std::vector<Numbers> all(calls, Numbers(kNodes));
    for (Numbers& numbers : all) {  // no thread waits
      model.forward(queue, plan);
      copy_bytes(queue, numbers.data(), Device::cpu(), nodes_there.view().total.data(), device,
                 kNodes * sizeof(float));
    }
    queue.wait();
    return all;
  };
  const Numbers alone = totals(Queue(device), 1).front();
  for (std::size_t i = 0; i < kNodes; ++i) EXPECT_NEAR(alone[i], truth[i], 1e-5 * truth[i]);
  std::latch start(kThreads);
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      const Queue queue(device);
      start.arrive_and_wait();
      for (const Numbers& numbers : totals(queue, 50)) ASSERT_EQ(numbers, alone);
    });
  }
}

}  // namespace
}  // namespace tensoa
