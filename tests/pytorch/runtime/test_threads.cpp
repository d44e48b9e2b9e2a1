// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <stdlib.h>
#include <torch/csrc/jit/api/module.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "package/aot_layouts.hpp"
#include "support/process_threads.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/pytorch/engines.hpp"

// No engine starts a thread, however large the model. This program has its own pthread_create and its
// own way into OpenMP's parallel regions, so that threads which are gone again are seen, too.

namespace {

std::atomic<int> threads_started{0};
std::atomic<int> teams_made{0};

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) noexcept {
  static auto* const next = real<decltype(pthread_create)>("pthread_create");
  ++threads_started;
  return next(thread, attributes, start, argument);
}

/// The calls of compilers for `#pragma omp parallel`.
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags) {
  static auto* const next = real<decltype(GOMP_parallel)>("GOMP_parallel");
  if (threads != 1) ++teams_made;
  next(body, data, threads, flags);
}
}

namespace tensoa {
namespace {

using namespace test;

constexpr std::size_t kRows = 1000;

struct Case {
  std::string model;
  Device device;
};

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.model + "_" + to_string(info.param.device);
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

/// Products, a convolution, a sum and a sort that torch shares out among its threads where it may.
void save_wide_model(const std::string& path) {
  torch::jit::Module module("Wide");
  module.define(R"(
def forward(self, features):
    wide = torch.relu(features @ torch.ones([3, 512], device=features.device))
    wide = torch.tanh(wide @ torch.ones([512, 512], device=features.device)) * 0.25
    kernels = torch.ones([4, 2, 3, 3], device=features.device)
    images = torch.conv2d(wide.view([-1, 2, 16, 16]), kernels)
    ordered = torch.sort(images.flatten(1), 1)[0]
    return torch.stack([ordered.sum(1), torch.softmax(ordered, 1)[:, 0]], 1)
)");
  module.save(path);
}

class Threads : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (device_count(GetParam().device.kind) == 0) GTEST_SKIP() << "no CUDA device";
    pytorch::register_engines();
    queue_.emplace(GetParam().device);  // starts the driver's threads
    if (GetParam().model != "wide.pt") return;
    wide_ = testing::TempDir() + "tensoa-wide-XXXXXX.pt";
    ::close(::mkstemps(wide_.data(), 3));
    save_wide_model(wide_);
  }

  void TearDown() override {
    if (!wide_.empty()) ::unlink(wide_.c_str());
  }

  std::filesystem::path path() const {
    if (!wide_.empty()) return wide_;
    if (GetParam().model == "mlp.pt") return TENSOA_TEST_MODELS "mlp.pt";
    const bool is_fused = GetParam().model.starts_with("fused");
    return (is_fused ? TENSOA_FUSED_PACKAGES : TENSOA_TEST_PACKAGES) + GetParam().model;
  }

  /// One call on its own memory.
  static void call(const Model<>& model, const Queue& queue) {
    const PortableCollection<Points> in(kRows, queue.device());
    PortableCollection<Answers> out(kRows, queue.device());
    zero_bytes(queue, const_cast<std::byte*>(in.data()), in.bytes());
    model.forward(queue, model.plan(mlp_metadata(in.const_view(), out.view())));
    queue.wait();
  }

  std::string wide_;  ///< file
  std::optional<Queue> queue_;
};

TEST_P(Threads, AreTheSameNumberAfterTheFirstCall) {
  const std::size_t before = threads_of_this_process();
  call(Model<>(path()), *queue_);
  EXPECT_EQ(threads_of_this_process(), before);
}

TEST_P(Threads, AreNeverStartedNotEvenForAMoment) {
  if (!GetParam().device.is_cpu()) GTEST_SKIP() << "libraries of CUDA may start some";
  const int threads = threads_started;
  const int teams = teams_made;
  const Model<> model(path());
  for (int i = 0; i < 3; ++i) call(model, *queue_);
  EXPECT_EQ(threads_started, threads);
  EXPECT_EQ(teams_made, teams) << "teams of OpenMP";
  // A fused package leaves torch alone.
  if (GetParam().model.starts_with("fused")) return;
  EXPECT_EQ(at::get_num_threads(), 1);
}

TEST_P(Threads, OfTheCallersAreTheOnlyOnes) {
  constexpr int kThreads = 8;
  const Model<> model(path());
  model.deploy(GetParam().device);
  std::vector<Queue> queues;
  for (int i = 0; i < kThreads; ++i) {
    queues.emplace_back(GetParam().device);
    call(model, queues.back());  // loads what is there for each queue
  }
  const int threads = threads_started;
  const int teams = teams_made;
  {
    std::vector<std::jthread> callers;
    for (const Queue& queue : queues) callers.emplace_back([&] { call(model, queue); });
  }
  EXPECT_EQ(threads_started, threads + kThreads);
  EXPECT_EQ(teams_made, teams) << "teams of OpenMP";
}

INSTANTIATE_TEST_SUITE_P(OnCpu, Threads,
                         testing::Values(Case{"mlp.pt", Device::cpu()},
                                         Case{"wide.pt", Device::cpu()},
                                         Case{"mlp-cpu.pt2", Device::cpu()},
                                         Case{"fused.pt2", Device::cpu()}),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(OnCuda, Threads,
                         testing::Values(Case{"mlp.pt", Device::cuda()},
                                         Case{"wide.pt", Device::cuda()},
                                         Case{"mlp-cuda.pt2", Device::cuda()},
                                         Case{"fused_gpu_sums.pt2", Device::cuda()}),
                         name_of_case);

}  // namespace
}  // namespace tensoa
