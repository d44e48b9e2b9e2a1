// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "inductor/aot_runner.hpp"
#include "pytorch/copy_truth.hpp"
#include "runtime/stream_guard.hpp"
#include "runtime/tensors.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/package/impl/private_folder.hpp"
#include "tensoa/package/package.hpp"

namespace tensoa::pytorch {
namespace {

/// So does 2.15, and 2.11 does not.
constexpr bool kTorchTakesWeights = TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 15;

class AotRunners : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (device_count(GetParam().kind) == 0) GTEST_SKIP() << "no CUDA device";
    in_ = at::linspace(-2, 2, 300).reshape({3, 100}).to(to_torch(GetParam()));
    const std::string target = GetParam().is_cpu() ? "cpu" : "cuda";
    const package::Package package(TENSOA_TEST_PACKAGES "mlp-" + target + ".pt2");
    for (const auto& file : package.archive().files()) {
      const std::filesystem::path unpacked = package.unpack(file.name, folder_.path());
      if (unpacked.extension() == ".so") library_ = unpacked;
    }
    first_ = make_runner(library_, GetParam(), none_);
    weights_ = weights_to_share(*first_, GetParam());
  }

  std::unique_ptr<AotRunner> make_with(AotWeights& weights) const {
    return make_runner(library_, GetParam(), weights);
  }

  /// Of the weights.
  static std::map<std::string, const void*> addresses(const AotRunner& runner) {
    std::map<std::string, const void*> addresses;
    for (const auto& [name, weight] : runner.extract_constants_map(/*use_inactive=*/false)) {
      addresses[name] = weight.const_data_ptr();
    }
    return addresses;
  }

  at::Tensor answers_of(AotRunner& runner) const {
    const Queue queue(GetParam());
    const StreamGuard on_queue(queue);
    at::Tensor answers = at::full({2, in_.size(1)}, -77.F, in_.options());
    runner.run({in_, answers}, StreamGuard::torch_stream(queue));
    return answers.cpu();
  }

  package::PrivateFolder folder_;
  std::filesystem::path library_;
  AotWeights none_;
  std::unique_ptr<AotRunner> first_;
  AotWeights weights_;
  at::Tensor in_;
};

INSTANTIATE_TEST_SUITE_P(On, AotRunners, testing::Values(Device::cpu(), Device::cuda(0)),
                         [](const auto& device) {
                           return std::string(device.param.is_cpu() ? "Cpu" : "Cuda");
                         });

TEST_P(AotRunners, ReadTheWeightsOfTheFirstAndAnswerWithItsBits) {
  const at::Tensor expected = answers_of(*first_);
  EXPECT_FALSE(at::any(expected == -77).item<bool>());
  ASSERT_FALSE(weights_.empty());
  for (int i = 0; i < 2; ++i) {  // the second after the first is gone
    const auto runner = make_with(weights_);
    EXPECT_EQ(addresses(*runner), addresses(*first_));
    EXPECT_TRUE(at::equal(answers_of(*runner), expected));
    EXPECT_TRUE(at::equal(answers_of(*runner), expected)) << "the second call";
  }
  EXPECT_TRUE(at::equal(answers_of(*first_), expected)) << "when all others are gone";
}

TEST_P(AotRunners, LoadNoWeightsWhereTorchTakesSome) {
  if (!kTorchTakesWeights) GTEST_SKIP() << "torch " TORCH_VERSION " loads weights first";
  if (!GetParam().is_cpu()) GTEST_SKIP() << "seen in host memory";
  std::size_t bytes = 0;
  for (const auto& [name, weight] : weights_) bytes += weight.nbytes();
  const auto allocated = [&](AotWeights& weights) {
    return watch({}, bytes, [&] { make_with(weights); }).large_blocks;
  };
  EXPECT_GE(allocated(none_), bytes);
  EXPECT_EQ(allocated(weights_), 0U);
}

TEST_P(AotRunners, TakeNoMoreLocksForACallThanTheFirst) {
  const auto second = make_with(weights_);
  const auto locks = [&](AotRunner& runner) {
    const Queue queue(GetParam());
    const std::vector<at::Tensor> arguments{in_, at::empty({2, in_.size(1)}, in_.options())};
    const auto call = [&] { runner.run(arguments, queue.native_handle()); };
    call();
    const std::size_t seen = watch({}, 1, call).locks;
    queue.wait();
    return seen;
  };
  EXPECT_EQ(locks(*second), locks(*first_));
}

TEST_P(AotRunners, LoadTheirOwnWeightsWhereTheFirstHasSomeElsewhere) {
  AotWeights elsewhere = weights_to_share(*first_, Device::cuda(1));
  EXPECT_TRUE(elsewhere.empty());
  const auto runner = make_with(elsewhere);
  EXPECT_NE(addresses(*runner), addresses(*first_));
  EXPECT_TRUE(at::equal(answers_of(*runner), answers_of(*first_)));
}

}  // namespace
}  // namespace tensoa::pytorch
