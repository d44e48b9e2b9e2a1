// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// tensoa.h on a GPU: columns in the device's memory, a stream of the caller's.

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "handles.hpp"
#include "tensoa.h"
#include "tensoa/core/memory.hpp"
#include "tensoa/core/queue.hpp"

namespace {

using tensoa::Buffer;
using tensoa::Device;
using tensoa::Queue;
using tensoa::test::CallOwner;
using tensoa::test::ModelOwner;
using tensoa::test::QueueOwner;
using tensoa::test::said;

class COnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (tensoa::device_count(tensoa::DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
    stream_.emplace(Device::cuda(0));
    ASSERT_EQ(said(tensoa_borrow_stream("cuda:0", stream_->native_handle(), &queue.handle)), "0: ");
  }

  void load(const std::string& path) {
    ASSERT_EQ(said(tensoa_load(path.c_str(), "cuda:0", &model.handle)), "0: ");
    ASSERT_EQ(said(tensoa_new_call(model, queue, &call.handle)), "0: ");
  }

  Buffer to_device(std::span<const float> numbers) const {
    Buffer buffer(Device::cuda(0), numbers.size_bytes());
    copy_bytes(*stream_, buffer.data(), Device::cuda(0), numbers.data(), Device::cpu(),
               numbers.size_bytes());
    return buffer;
  }

  std::vector<float> to_host(const Buffer& buffer) const {
    std::vector<float> numbers(buffer.size() / sizeof(float));
    copy_bytes(*stream_, numbers.data(), Device::cpu(), buffer.data(), Device::cuda(0),
               buffer.size());
    stream_->wait();
    return numbers;
  }

  std::string bind(const char* name, const std::byte* column, std::int64_t rows) const {
    return said(tensoa_bind(call, name, column, TENSOA_F32, sizeof(float), rows));
  }

  std::optional<Queue> stream_;
  QueueOwner queue;
  ModelOwner model;
  CallOwner call;
};

TEST_F(COnGpu, ColumnsAreReadAndWrittenInTheOrderOfTheCallersStream) {
  load(TENSOA_C_PACKAGES "columns-cuda.pt2");  // m = x + 2 y + 3 z, n = x y - z
  constexpr std::size_t kRows = 1000;
  std::vector<float> in(3 * kRows);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 17) - 8;
  const Buffer columns = to_device(in);
  const Buffer answers(Device::cuda(0), 2 * kRows * sizeof(float));
  for (const std::size_t c : {0U, 1U, 2U}) {
    const char* const names[] = {"x", "y", "z"};
    ASSERT_EQ(bind(names[c], columns.data() + c * kRows * sizeof(float), kRows), "0: ");
  }
  ASSERT_EQ(bind("m", answers.data(), kRows), "0: ");
  ASSERT_EQ(bind("n", answers.data() + kRows * sizeof(float), kRows), "0: ");
  ASSERT_EQ(said(tensoa_run(call)), "0: ");
  std::size_t in_bytes = 1;
  std::size_t out_bytes = 1;
  ASSERT_EQ(said(tensoa_last_copies(call, &in_bytes, &out_bytes)), "0: ");
  EXPECT_EQ(in_bytes + out_bytes, 0U);
  const std::vector<float> answer = to_host(answers);
  for (std::size_t i = 0; i < kRows; ++i) {
    const float x = in[i];
    const float y = in[kRows + i];
    const float z = in[2 * kRows + i];
    ASSERT_NEAR(answer[i], x + 2 * y + 3 * z, 1e-5) << i;
    ASSERT_NEAR(answer[kRows + i], x * y - z, 1e-5) << i;
  }
}

TEST_F(COnGpu, AScalarOfTheHostIsANumberOfTheCall) {
  load(TENSOA_C_PACKAGES "scaled-cuda.pt2");  // x times field, plus 1
  const Buffer x = to_device(std::vector<float>{1, 2, 3});
  const Buffer y(Device::cuda(0), 3 * sizeof(float));
  ASSERT_EQ(bind("x", x.data(), 3), "0: ");
  ASSERT_EQ(bind("y", y.data(), 3), "0: ");
  float field = 2;
  ASSERT_EQ(said(tensoa_bind_number(call, "field", &field, TENSOA_F32)), "0: ");
  field = 100;  // it was copied
  ASSERT_EQ(said(tensoa_run(call)), "0: ");
  EXPECT_EQ(to_host(y), (std::vector<float>{3, 5, 7}));
  const Buffer on_device = to_device(std::vector<float>{100});
  ASSERT_EQ(bind("field", on_device.data(), 1), "0: ");
  ASSERT_EQ(said(tensoa_run(call)), "0: ");
  EXPECT_EQ(to_host(y), (std::vector<float>{101, 201, 301}));
}

TEST_F(COnGpu, AQueueSaysWhenItsWorkIsDone) {
  load(TENSOA_C_PACKAGES "scaled-cuda.pt2");
  const Buffer x = to_device(std::vector<float>{1, 2, 3});
  const Buffer y(Device::cuda(0), 3 * sizeof(float));
  const float field = 2;
  ASSERT_EQ(bind("x", x.data(), 3), "0: ");
  ASSERT_EQ(bind("y", y.data(), 3), "0: ");
  ASSERT_EQ(said(tensoa_bind_number(call, "field", &field, TENSOA_F32)), "0: ");
  ASSERT_EQ(said(tensoa_run(call)), "0: ");
  std::promise<std::string> said_by_driver;
  ASSERT_EQ(said(tensoa_when_done(
                queue,
                [](void* context, const char* failure) {
                  static_cast<std::promise<std::string>*>(context)->set_value(
                      failure == nullptr ? "" : failure);
                },
                &said_by_driver)),
            "0: ");
  EXPECT_EQ(said_by_driver.get_future().get(), "");
  EXPECT_EQ(said(tensoa_wait(queue)), "0: ");
  EXPECT_EQ(to_host(y), (std::vector<float>{3, 5, 7}));
}

}  // namespace
