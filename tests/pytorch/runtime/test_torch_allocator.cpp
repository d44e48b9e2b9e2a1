// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "pytorch/jit_fixture.hpp"
#include "tensoa/core/memory_budget.hpp"
#include "tensoa/pytorch/runtime.hpp"

// Its own program, because an allocator is set once for a process.

namespace tensoa {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Stands for the caching allocator of a framework: counts, and notes streams.
class Framework {
 public:
  struct Seen {
    std::size_t allocations = 0;
    std::size_t frees = 0;
    std::size_t bytes = 0;  ///< in use
    std::set<void*> streams;
    std::vector<std::string> wrong;
  };

  void* allocate(std::size_t bytes, Device device, void* stream) {
    const std::lock_guard lock(mutex_);
    if (seen_.bytes + bytes > limit_) return nullptr;
    Buffer memory(device, bytes);
    void* const data = memory.data();
    blocks_[data] = {std::move(memory), bytes, device, stream};
    ++seen_.allocations;
    seen_.bytes += bytes;
    seen_.streams.insert(stream);
    return data;
  }

  void free(void* data, Device device, void* stream) {
    const std::lock_guard lock(mutex_);
    const auto block = blocks_.extract(data);
    if (!block) {
      seen_.wrong.emplace_back("a block that is not there");
      return;
    }
    if (device != block.mapped().device) seen_.wrong.emplace_back("another device");
    if (stream != nullptr && stream != block.mapped().stream) {
      seen_.wrong.emplace_back("another stream");
    }
    ++seen_.frees;
    seen_.bytes -= block.mapped().bytes;
  }

  void have(std::size_t limit) {
    const std::lock_guard lock(mutex_);
    limit_ = limit;
  }

  Seen seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  struct Block {
    Buffer memory;
    std::size_t bytes;
    Device device;
    void* stream;
  };

  mutable std::mutex mutex_;
  std::map<void*, Block> blocks_;
  std::size_t limit_ = kNoBudget;
  Seen seen_;
};

/// Lives as long as torch may free, which is longer than any static object.
Framework& framework() {
  static auto& the_one = *new Framework;
  return the_one;
}

class TorchAllocator : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static bool is_set = false;
    if (std::exchange(is_set, true)) return;
    pytorch::register_engines();
    try {
      // [BRIDGE]
      pytorch::set_torch_allocator(
          {.allocate = [](std::size_t bytes, Device device,
                          void* stream) { return framework().allocate(bytes, device, stream); },
           .free = [](void* data, Device device,
                      void* stream) { framework().free(data, device, stream); }});
      // [/BRIDGE]
    } catch (const ConfigError& error) {  // a libtorch without CUDA
      why_not_ = error.what();
    }
  }

  void SetUp() override {
    if (!why_not_.empty()) GTEST_SKIP() << why_not_;
    if (needs_gpu_ && device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  }

  void TearDown() override { EXPECT_TRUE(framework().seen().wrong.empty()); }

  static inline std::string why_not_;
  bool needs_gpu_ = false;
};

TEST_F(TorchAllocator, IsSetOnce) {
  const auto again = [] {
    pytorch::set_torch_allocator(
        {.allocate = [](std::size_t, Device, void*) -> void* { return nullptr; },
         .free = [](void*, Device, void*) {}});
  };
  EXPECT_THAT(again, ThrowsMessage<ConfigError>(HasSubstr("has been given an allocator already")));
}

TEST_F(TorchAllocator, NeedsBothFunctions) {
  const auto half = [] {
    pytorch::set_torch_allocator(
        {.allocate = [](std::size_t, Device, void*) -> void* { return nullptr; }, .free = {}});
  };
  EXPECT_THAT(half, ThrowsMessage<ConfigError>(HasSubstr("there is no function to free")));
}

class TorchAllocatorOnGpu : public TorchAllocator {
 protected:
  TorchAllocatorOnGpu() { needs_gpu_ = true; }

  static constexpr std::size_t kRows = 1000;

  /// Runs the MLP on a queue, and compares with a run on the CPU.
  static void run_and_compare(const JitModel& model, const Queue& queue) {
    EXPECT_EQ(run(model, queue, 0.5F).first, queue.device());
    const auto here = run(model, Queue(Device::cpu()), 0.5F).second;
    const auto there = run(model, queue, 0.5F).second;
    for (std::size_t i = 0; i < here.size(); ++i) EXPECT_NEAR(there[i], here[i], 1e-5);
  }

  static std::pair<Device, std::vector<float>> run(const JitModel& model, const Queue& queue,
                                                   float value) {
    PortableCollection<Points> host(kRows, Device::cpu());
    for (std::size_t i = 0; i < kRows; ++i) {
      host.view().x[i] = value;
      host.view().y[i] = static_cast<float>(i) / kRows;
      host.view().z[i] = -value;
    }
    PortableCollection<Points> in(kRows, queue.device());
    PortableCollection<Answers> out(kRows, queue.device());
    PortableCollection<Answers> answer(kRows, Device::cpu());
    copy(queue, host, in);
    model.forward(queue, model.plan(mlp_metadata(in.const_view(), out.view())));
    copy(queue, out, answer);
    queue.wait();
    return {queue.device(),
            std::vector<float>(answer.view().m.data(), answer.view().m.data() + kRows)};
  }
};

TEST_F(TorchAllocatorOnGpu, ServesLoadsOnTheDefaultStreamAndCallsOnTheirQueue) {
  const Queue queue(Device::cuda());
  const std::size_t before = framework().seen().allocations;
  const JitModel model(model_file("mlp"));
  run_and_compare(model, queue);
  const Framework::Seen seen = framework().seen();
  EXPECT_GT(seen.allocations, before);
  EXPECT_TRUE(seen.streams.contains(nullptr)) << "weights";
  EXPECT_TRUE(seen.streams.contains(queue.native_handle())) << "tensors of the call";
}

TEST_F(TorchAllocatorOnGpu, SeesNoStreamButThoseOfQueues) {
  const JitModel model(model_file("mlp"));
  std::set<void*> known = framework().seen().streams;  // of other tests in this process
  known.insert(nullptr);
  std::vector<Queue> queues;
  for (int i = 0; i < 3; ++i) {
    queues.emplace_back(Device::cuda());
    known.insert(queues.back().native_handle());
    run_and_compare(model, queues.back());
  }
  const std::set<void*> seen = framework().seen().streams;
  EXPECT_TRUE(std::ranges::includes(known, seen)) << "a stream of torch's own";
  for (const Queue& queue : queues) EXPECT_TRUE(seen.contains(queue.native_handle()));
}

TEST_F(TorchAllocatorOnGpu, GetsEverythingBackAlsoWhenTheQueueIsGone) {
  pytorch::release_unused(Device::cuda());
  const std::size_t before = framework().seen().bytes;
  {
    const JitModel model(model_file("mlp"));
    {
      const Queue queue(Device::cuda());
      std::thread([&] { run_and_compare(model, queue); }).join();
    }
    EXPECT_GT(framework().seen().bytes, before);
  }
  pytorch::release_unused(Device::cuda());
  EXPECT_EQ(framework().seen().bytes, before);
  EXPECT_EQ(pytorch::torch_memory(Device::cuda()).in_use, before);
}

TEST_F(TorchAllocatorOnGpu, FiguresAreThoseOfTheFramework) {
  const JitModel model(model_file("mlp"));
  run_and_compare(model, Queue(Device::cuda()));
  const pytorch::TorchMemory figures = pytorch::torch_memory(Device::cuda());
  EXPECT_EQ(figures.in_use, framework().seen().bytes);
  EXPECT_GE(figures.peak, figures.in_use);
  EXPECT_EQ(memory_figures(Device::cuda()).of(MemoryPurpose::kEngines).now, figures.in_use);
  pytorch::reset_torch_peak(Device::cuda());
  EXPECT_EQ(pytorch::torch_memory(Device::cuda()).peak, framework().seen().bytes);
}

TEST_F(TorchAllocatorOnGpu, WithoutMemoryLoadsAndCallsAreTypedErrorsAndLaterOnesRun) {
  const Queue queue(Device::cuda());
  const JitModel loaded(model_file("mlp"));
  run_and_compare(loaded, queue);
  framework().have(framework().seen().bytes);
  EXPECT_THAT([] { JitModel(model_file("mlp")).deploy(Device::cuda()); },
              ThrowsMessage<DeviceFullError>(
                  AllOf(HasSubstr("mlp.pt: "), HasSubstr("torch requested"),
                        HasSubstr("the allocator that was set for it has no more memory"))));
  EXPECT_THAT([&] { run(loaded, queue, 1.F); },
              ThrowsMessage<DeviceFullError>(
                  AllOf(HasSubstr("mlp.pt: "), HasSubstr("the allocator that was set for it"))));
  framework().have(kNoBudget);
  run_and_compare(loaded, queue);
}

TEST_F(TorchAllocatorOnGpu, BeyondTheBudgetTheFrameworkIsNotAsked) {
  const Queue queue(Device::cuda());
  const JitModel model(model_file("mlp"));
  run_and_compare(model, queue);
  PortableCollection<Points> in(kRows, Device::cuda());
  PortableCollection<Answers> out(kRows, Device::cuda());
  const auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
  memory_budget(Device::cuda(), memory_figures(Device::cuda()).all.now);
  const std::size_t before = framework().seen().allocations;
  EXPECT_THAT([&] { model.forward(queue, plan); },
              ThrowsMessage<DeviceFullError>(HasSubstr("budget is")));
  EXPECT_EQ(framework().seen().allocations, before);
  memory_budget(Device::cuda(), kNoBudget);
  model.forward(queue, plan);
  queue.wait();
}

TEST_F(TorchAllocatorOnGpu, ServesManyThreadsAndQueuesAtTheSameTime) {
  const JitModel model(model_file("mlp"));
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        const Queue queue(Device::cuda());
        for (int call = 0; call < 5; ++call) run_and_compare(model, queue);
      });
    }
  }
  const Framework::Seen seen = framework().seen();
  EXPECT_GE(seen.allocations, seen.frees);
}

}  // namespace
}  // namespace tensoa
