// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <ATen/Functions.h>
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

#include "inductor/captured_graph.hpp"
#include "runtime/stream_guard.hpp"
#include "tensoa/core/device.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/core/strided_copy.hpp"

// The memory that a capture keeps, and the state after a failed one.

namespace tensoa::pytorch {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr Device kDevice = Device::cuda(0);

class CapturedGraphTest : public testing::Test {
 protected:
  void SetUp() override {
    if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
    queue_.emplace(kDevice);
    from_ = Buffer(kDevice, kBytes);
    to_ = Buffer(kDevice, kBytes);
  }

  cudaStream_t stream() const { return static_cast<cudaStream_t>(queue_->native_handle()); }

  void set(std::uint8_t first) {
    std::vector<std::uint8_t> bytes(kBytes);
    for (std::size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<std::uint8_t>(first + i);
    copy_bytes(*queue_, from_.data(), kDevice, bytes.data(), Device::cpu(), kBytes);
    zero_bytes(*queue_, to_.data(), kBytes);
    queue_->wait();
  }

  std::vector<std::uint8_t> got() {
    std::vector<std::uint8_t> bytes(kBytes);
    copy_bytes(*queue_, bytes.data(), Device::cpu(), to_.data(), kDevice, kBytes);
    queue_->wait();
    return bytes;
  }

  /// Two lines of five bytes, 8 and 16 apart.
  void copy() { strided_copy(*queue_, lines(to_, 16), lines(from_, 8)); }

  static TensorView lines(const Buffer& buffer, std::int64_t pitch) {
    TensorView view{.data = buffer.data(), .dtype = DType::kU8, .device = kDevice, .rank = 2};
    view.size_of_dim = {2, 5};
    view.stride_of_dim = {pitch, 1};
    return view;
  }

  void expect_copied(std::uint8_t first) {
    const auto bytes = got();
    for (std::size_t i = 0; i < kBytes; ++i) {
      const bool is_written = i % 16 < 5;
      ASSERT_EQ(bytes[i], is_written ? static_cast<std::uint8_t>(first + i / 16 * 8 + i % 16) : 0);
    }
  }

  /// That nothing of a failed capture is left: on this queue, in torch's allocator.
  void expect_usable() {
    const StreamGuard on_queue(*queue_);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    set(50);
    copy();
    expect_copied(50);
    EXPECT_NO_THROW(at::empty({1 << 22}, at::device(at::kCUDA).dtype(at::kFloat)));
    const CapturedGraph again(*queue_, [&] { copy(); });
    set(80);
    again.replay(*queue_);
    expect_copied(80);
  }

  static constexpr std::size_t kBytes = 32;
  std::optional<Queue> queue_;
  Buffer from_;
  Buffer to_;
};

TEST_F(CapturedGraphTest, WhatIsCapturedRunsAtEveryReplayAndNotBefore) {
  set(1);
  const CapturedGraph graph(*queue_, [&] { copy(); });
  for (const std::uint8_t byte : got()) ASSERT_EQ(byte, 0);
  for (const std::uint8_t first : {std::uint8_t{10}, std::uint8_t{20}}) {
    set(first);
    graph.replay(*queue_);
    expect_copied(first);
  }
}

TEST_F(CapturedGraphTest, MemoryOfTheWorkStaysWithTheGraph) {
  void* inside = nullptr;
  const StreamGuard on_queue(*queue_);
  const CapturedGraph graph(*queue_, [&] {
    const auto temporary = at::empty({1 << 20}, at::device(at::kCUDA).dtype(at::kFloat));
    inside = temporary.data_ptr();
    copy();
  });
  for (int i = 0; i < 4; ++i) {
    const auto other = at::empty({1 << 20}, at::device(at::kCUDA).dtype(at::kFloat));
    EXPECT_NE(other.data_ptr(), inside);
  }
}

TEST_F(CapturedGraphTest, WorkThatThrowsLeavesNothingBehind) {
  EXPECT_THAT(
      [&] {
        const CapturedGraph graph(*queue_, [&] {
          copy();
          throw std::runtime_error("no more");
        });
      },
      ThrowsMessage<std::runtime_error>(HasSubstr("no more")));
  expect_usable();
}

TEST_F(CapturedGraphTest, CallsThatACaptureForbidsAreErrorsAndLeaveNothingBehind) {
  void* memory = nullptr;
  const std::vector<std::function<cudaError_t()>> forbidden = {
      [&] { return cudaStreamSynchronize(stream()); },
      [&] { return cudaMalloc(&memory, 64); },
  };
  for (const auto& call : forbidden) {
    EXPECT_THAT(
        [&] {
          const StreamGuard on_queue(*queue_);
          const CapturedGraph graph(*queue_, [&] {
            copy();
            EXPECT_NE(call(), cudaSuccess);
            const auto temporary = at::empty({1 << 20}, at::device(at::kCUDA).dtype(at::kFloat));
          });
        },
        ThrowsMessage<std::exception>(HasSubstr("captur")));
    expect_usable();
  }
}

}  // namespace
}  // namespace tensoa::pytorch
