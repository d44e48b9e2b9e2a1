// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// In which order a call uses the queue of its columns, and its errors, on simulated GPUs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "support/device_double.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/imported_memory.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/remote/engines.hpp"
#include "tensoa/remote/options.hpp"
#include "tensoa/remote/service_error.hpp"
#include "tensoa/remote/shared_device_memory.hpp"
#include "tensoa/remote/statistics.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using namespace std::chrono_literals;
using test::DeviceDouble;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <template <class> class F>
struct Both {
  F<float> a, b;
};
using Collection = PortableCollection<Both>;

constexpr Device kGpu = Device::cuda(0);
constexpr std::size_t kRows = 1024;

class DeviceOrder : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    DeviceDouble::reset();
    remote::register_engines();
    if (GetParam()) {
      memory_.emplace(kGpu, std::size_t{4} << 20U);
      in_.emplace(kRows, kGpu, *memory_);
    } else {
      in_.emplace(kRows, kGpu);
    }
    out_.emplace(kRows, kGpu);
    std::fill_n(in_->view().a.data(), kRows, 1.F);
    std::fill_n(in_->view().b.data(), kRows, 1.F);
  }
  void TearDown() override {
    out_.reset();
    in_.reset();
    memory_.reset();
  }

  std::future<Result<CopyReport>> submit(const Model<>& model, const Queue& queue) {
    SoAMetadata<Both> inputs(kRows);
    inputs.append_block("x", in_->view().records().a(), in_->view().records().b());
    SoAMetadata<Both> outputs(kRows);
    outputs.append_block("y", out_->view().records().a(), out_->view().records().b());
    const auto promise = std::make_shared<std::promise<Result<CopyReport>>>();
    model.submit(queue, model.plan(ModelMetadata(inputs, outputs)),
                 [promise](Result<CopyReport> result) { promise->set_value(std::move(result)); });
    return promise->get_future();
  }

  std::optional<remote::SharedDeviceMemory> memory_;
  std::optional<Collection> in_;
  std::optional<Collection> out_;
};

INSTANTIATE_TEST_SUITE_P(By, DeviceOrder, testing::Bool(),
                         [](const auto& one) { return one.param ? "Region" : "Wire"; });

TEST_P(DeviceOrder, ACallIsSentWhenWhatFillsItsColumnsIsDoneAndDoesNotWaitForIt) {
  const Model<> model("grpc://server:1/double");
  const Queue queue(kGpu);
  DeviceDouble::hold(0);
  float* const a = in_->view().a.data();
  DeviceDouble::enqueue(0, queue.native_handle(), {a}, [a] { std::fill_n(a, kRows, 21.F); });
  std::future<Result<CopyReport>> result = submit(model, queue);
  EXPECT_EQ(result.wait_for(50ms), std::future_status::timeout);
  DeviceDouble::let_go(0);
  EXPECT_NO_THROW(result.get().value());
  EXPECT_EQ(out_->view().a[kRows - 1], 42.F);
  EXPECT_EQ(out_->view().b[0], 2.F);
}

TEST_P(DeviceOrder, TheDeadlineOfACallCountsFromItsSubmission) {
  constexpr auto kDeadline = 20ms;
  const Model<> model("grpc://server:1/double", remote::Options{.deadline = kDeadline});
  const Queue queue(kGpu);
  DeviceDouble::hold(0);
  std::fill_n(out_->view().a.data(), kRows, -7.F);
  std::future<Result<CopyReport>> result = submit(model, queue);
  const auto end = std::chrono::steady_clock::now() + kDeadline;
  EXPECT_EQ(result.wait_until(end), std::future_status::timeout);
  DeviceDouble::let_go(0);
  EXPECT_THAT([&] { result.get().value(); },
              ThrowsMessage<remote::ServiceError>(
                  AllOf(HasSubstr("queue"), HasSubstr("20 ms"), HasSubstr("nothing was sent"))));
  EXPECT_EQ(out_->view().a[0], -7.F);
  for (const auto& server : remote::statistics()) {
    EXPECT_EQ(server.requests, 0U);
    EXPECT_FALSE(server.is_suspect);
  }
}

TEST_P(DeviceOrder, ADeviceThatIsLostFailsTheCall) {
  const Model<> model("grpc://server:1/double");
  const Queue queue(kGpu);
  DeviceDouble::hold(0);
  std::future<Result<CopyReport>> result = submit(model, queue);
  DeviceDouble::lose(0);
  DeviceDouble::let_go(0);
  EXPECT_THROW(result.get().value(), DeviceLostError);
}

TEST(ImportedMemory, IsThatOfTheExporter) {
  DeviceDouble::reset();
  const Buffer buffer(kGpu, kExportedUnit);
  const ImportedMemory memory(kGpu, export_memory(buffer));
  EXPECT_EQ(memory.data(), buffer.data());
  EXPECT_EQ(memory.device(), kGpu);
}

TEST(ImportedMemory, RefusesWhatIsNotExported) {
  DeviceDouble::reset();
  EXPECT_THROW(ImportedMemory(kGpu, MemoryHandle{}), DeviceError);
  EXPECT_THROW(ImportedMemory(Device::cpu(), MemoryHandle{}), ConfigError);
  EXPECT_THROW(ImportedMemory(Device::cuda(7), MemoryHandle{}), DeviceError);
  EXPECT_THAT([] { export_memory(Buffer(kGpu, 4096)); },
              ThrowsMessage<ConfigError>(HasSubstr("a multiple of 2097152 bytes on a GPU")));
  EXPECT_THROW(export_memory(Buffer(Device::cpu(), kExportedUnit)), ConfigError);
}

}  // namespace
}  // namespace tensoa
