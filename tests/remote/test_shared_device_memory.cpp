// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Columns on a GPU, against a server that opens the client's memory there: in another process on a real GPU
// (test_remote_gpu), in this one on simulated GPUs (test_remote_double).

#include "tensoa/remote/shared_device_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/remote/engines.hpp"
#include "tensoa/remote/options.hpp"
#include "tensoa/remote/service_error.hpp"
#include "tensoa/soa/portable_collection.hpp"
#include "transport/transport.hpp"
#include "warnings.hpp"

namespace tensoa {
namespace {

using namespace std::chrono_literals;
using remote::Options;
using remote::SharedDeviceMemory;
using test::Warnings;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;

template <template <class> class F>
struct Pair {
  F<float> a, b;
};
using Collection = PortableCollection<Pair>;

template <template <class> class F>
struct WidePair {
  F<double> a, b;
};

constexpr std::size_t kFull = 4096;   // its planes are side by side
constexpr std::size_t kOdd = 20'001;  // not these

class SharedDeviceColumns : public testing::Test {
 protected:
  void SetUp() override {
    if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
    remote::register_engines();
    tell("reset");
    gpu_ = Device::cuda(0);
    queue_.emplace(gpu_);
  }

  /// @return what the server did since the beginning of the test
  static std::string tell(const std::string& what) {
    const auto connection = remote::Transport::shared()->connect("server:1", {}, {}, {});
    return call_and_wait(*connection, "test", what, remote::Clock::now() + 10s).reply;
  }

  static Model<> model(Options options = {}) {
    options.retry.first_pause = 1ms;
    return Model<>("grpc://server:1/double", options);
  }

  static auto metadata(Collection& in, Collection& out) {
    SoAMetadata<Pair> inputs(in.size());
    inputs.append_block("x", in.view().records().a(), in.view().records().b());
    SoAMetadata<Pair> outputs(out.size());
    outputs.append_block("y", out.view().records().a(), out.view().records().b());
    return ModelMetadata(inputs, outputs);
  }

  void fill(Collection& collection, float first) const {
    Collection host(collection.capacity(), Device::cpu());
    host.resize(collection.size());
    for (std::size_t i = 0; i < host.size(); ++i) {
      host.view().a[i] = first + static_cast<float>(i);
      host.view().b[i] = -first - static_cast<float>(i);
    }
    copy_bytes(*queue_, collection.data(), gpu_, host.data(), Device::cpu(), host.bytes());
    queue_->wait();
  }

  /// @return how many rows are `factor` times what fill() writes
  std::size_t right(const Collection& collection, float first, float factor) const {
    Collection host(collection.capacity(), Device::cpu());
    copy_bytes(*queue_, host.data(), Device::cpu(), collection.data(), gpu_, host.bytes());
    queue_->wait();
    std::size_t count = 0;
    for (std::size_t i = 0; i < collection.size(); ++i) {
      const float value = factor * (first + static_cast<float>(i));
      count += host.view().a[i] == value && host.view().b[i] == -value ? 1U : 0U;
    }
    return count;
  }

  std::size_t call(const Model<>& model, Collection& in, Collection& out, float first = 1) {
    fill(in, first);
    fill(out, -77);
    report_ = model.forward(*queue_, model.plan(metadata(in, out)));
    return right(out, first, 2);
  }

  Device gpu_;
  std::optional<Queue> queue_;
  CopyReport report_;
};

TEST_F(SharedDeviceColumns, AreReadWhereTheyAreAndAnswersAreCopiedByTheGpuAlone) {
  std::optional<SharedDeviceMemory> memory(std::in_place, gpu_, std::size_t{4} << 20U);
  {
    Collection in(kFull, gpu_, *memory);
    Collection out(kFull, gpu_, *memory);
    const Model<> model = this->model();
    for (const float first : {1.F, 2.F, 3.F}) {
      EXPECT_EQ(call(model, in, out, first), kFull);
      EXPECT_EQ(report_.bytes_in, 0U);
      EXPECT_EQ(report_.bytes_out, 2 * kFull * sizeof(float));
      EXPECT_TRUE(report_.has(CopyReason::kService));
    }
    EXPECT_EQ(tell(""), "registered 1 unregistered 0 by_region 6 by_wire 0");
  }
  memory.reset();
  EXPECT_THAT(tell(""), HasSubstr("unregistered 1"));
}

TEST_F(SharedDeviceColumns, AreSharedStillWhereTheServerDidNotTakeTheCall) {
  SharedDeviceMemory memory(gpu_, std::size_t{4} << 20U);
  Collection in(kFull, gpu_, memory);
  Collection out(kFull, gpu_, memory);
  const Model<> model = this->model();
  for (int i = 1; i <= 100; ++i) {  // more than have room if each kept it
    tell("full");
    ASSERT_EQ(call(model, in, out), kFull);
  }
  EXPECT_THAT(tell(""), HasSubstr("by_region 400 by_wire 0"));
}

TEST_F(SharedDeviceColumns, AreChargedToTheBudgetOnce) {
  const std::size_t before = memory_figures(gpu_).all.now;
  SharedDeviceMemory memory(gpu_, std::size_t{4} << 20U);
  const Collection columns(kFull, gpu_, memory);
  EXPECT_EQ(memory_figures(gpu_).all.now - before, memory.size());
}

TEST_F(SharedDeviceColumns, OfNoBytesAndOfTooManyHaveTheirOwnPlaceOrNone) {
  SharedDeviceMemory memory(gpu_, std::size_t{2} << 20U);
  void* const none = memory.allocate(0);
  void* const other = memory.allocate(0);
  void* const some = memory.allocate(100);
  EXPECT_NE(none, other);
  EXPECT_NE(other, some);
  memory.deallocate(none, 0);
  memory.deallocate(other, 0);
  memory.deallocate(some, 100);
  memory.deallocate(memory.allocate(memory.size()), memory.size());
  for (const std::size_t bytes : {kNoBudget, kNoBudget - 100, memory.size() + 1}) {
    EXPECT_THROW(static_cast<void>(memory.allocate(bytes)), DeviceFullError) << bytes;
  }
  EXPECT_THROW(static_cast<void>(memory.allocate(1, 4096)), ConfigError);
}

TEST_F(SharedDeviceColumns, AreThoseOfThePage) {
  // [gpu]
  remote::SharedDeviceMemory memory(Device::cuda(0), 256 << 20);  // bytes of the GPU
  PortableCollection<Pair> hits(1 << 20, Device::cuda(0), memory);
  // [/gpu]
  Collection out(hits.size(), gpu_);
  EXPECT_EQ(call(model(), hits, out), hits.size());
}

TEST_F(SharedDeviceColumns, AreGatheredByTheGpuWhereTheirPlanesLieApart) {
  SharedDeviceMemory memory(gpu_, std::size_t{4} << 20U);
  Collection in(kOdd, gpu_, memory);
  Collection out(kOdd, gpu_);  // ordinary memory: one column in the region is enough
  EXPECT_EQ(call(model(), in, out), kOdd);
  EXPECT_EQ(report_.bytes_in, 2 * kOdd * sizeof(float));
  EXPECT_EQ(tell(""), "registered 1 unregistered 0 by_region 2 by_wire 0");
  in.resize(100);
  out.resize(100);
  EXPECT_EQ(call(model(), in, out), 100U);
  EXPECT_THAT(tell(""), HasSubstr("by_region 4 by_wire 0"));
}

TEST_F(SharedDeviceColumns, OfOrdinaryMemoryGoByTheWire) {
  Collection in(kOdd, gpu_);
  Collection out(kOdd, gpu_);
  EXPECT_EQ(call(model(), in, out), kOdd);
  EXPECT_GE(report_.bytes_in, 2 * kOdd * sizeof(float));
  EXPECT_TRUE(report_.has(CopyReason::kService));
  EXPECT_EQ(tell(""), "registered 0 unregistered 0 by_region 0 by_wire 2");
}

TEST_F(SharedDeviceColumns, GoByTheWireWithOneWarningWhereTheServerRefuses) {
  const Warnings warnings;
  SharedDeviceMemory memory(gpu_, std::size_t{4} << 20U);
  Collection in(kFull, gpu_, memory);
  Collection out(kFull, gpu_, memory);
  tell("refuse");
  const Model<> model = this->model();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call(model, in, out), kFull);
  EXPECT_THAT(Warnings::all(),
              ElementsAre(AllOf(HasSubstr("server:1"), HasSubstr("CUDA shared memory"),
                                HasSubstr("by the wire"), HasSubstr("--allow-client-shm=true"))));
  EXPECT_EQ(tell(""), "registered 0 unregistered 0 by_region 0 by_wire 6");
}

TEST_F(SharedDeviceColumns, AreRegisteredAgainWithAServerThatWasRestarted) {
  SharedDeviceMemory memory(gpu_, std::size_t{4} << 20U);
  Collection in(kFull, gpu_, memory);
  Collection out(kFull, gpu_, memory);
  const Model<> model = this->model(Options{.retry = {.attempts = 1}});
  EXPECT_EQ(call(model, in, out), kFull);
  tell("forget");
  EXPECT_EQ(call(model, in, out, 9), kFull);
  EXPECT_THAT(tell(""), AllOf(HasSubstr("registered 2"), HasSubstr("by_wire 0")));
}

TEST_F(SharedDeviceColumns, StayAsTheyAreWhereACallFailsAfterTheServerHasWritten) {
  SharedDeviceMemory memory(gpu_, std::size_t{4} << 20U);
  Collection in(kFull, gpu_, memory);
  Collection out(kFull, gpu_, memory);
  const Model<> model = this->model();
  tell("fail");
  fill(in, 1);
  fill(out, 5);
  EXPECT_THAT([&] { model.forward(*queue_, model.plan(metadata(in, out))); },
              ThrowsMessage<remote::ServiceError>(HasSubstr("the model refuses")));
  EXPECT_EQ(right(out, 5, 1), kFull);
}

TEST_F(SharedDeviceColumns, GoByTheWireAfterAnAttemptThatWasGivenUp) {
  SharedDeviceMemory memory(gpu_, std::size_t{4} << 20U);
  Collection in(kFull, gpu_, memory);
  Collection out(kFull, gpu_, memory);
  const Model<> model = this->model();
  tell("stall");
  EXPECT_EQ(call(model, in, out), kFull);
  EXPECT_THAT(tell(""), HasSubstr("by_region 2 by_wire 2"));
  EXPECT_EQ(call(model, in, out, 4), kFull);
  EXPECT_THAT(tell(""), HasSubstr("by_region 4 by_wire 2"));
}

/// The region of the call is laid out for the model before.
TEST_F(SharedDeviceColumns, GoByTheWireWhereACallFollowsToAnotherDtype) {
  SharedDeviceMemory memory(gpu_, std::size_t{4} << 20U);
  Collection in(kFull, gpu_, memory);
  PortableCollection<WidePair> out(kFull, gpu_);
  tell("wide");
  const Model<> model = this->model(Options{.on_new_version = remote::OnNewVersion::kFollow});
  SoAMetadata<Pair> inputs(kFull);
  inputs.append_block("x", in.view().records().a(), in.view().records().b());
  SoAMetadata<WidePair> outputs(kFull);
  outputs.append_block(Repack{DType::kF32}, "y", out.view().records().a(),
                       out.view().records().b());
  const auto plan = model.plan(ModelMetadata(inputs, outputs));
  const auto expect_right = [&] {
    fill(in, 1);
    model.forward(*queue_, plan);
    PortableCollection<WidePair> host(kFull, Device::cpu());
    copy_bytes(*queue_, host.data(), Device::cpu(), out.data(), gpu_, host.bytes());
    queue_->wait();
    for (std::size_t i = 0; i < kFull; ++i) {
      ASSERT_EQ(host.view().a[i], 2.0 + 2.0 * static_cast<double>(i));
      ASSERT_EQ(host.view().b[i], -2.0 - 2.0 * static_cast<double>(i));
    }
  };
  expect_right();
  EXPECT_THAT(tell(""), HasSubstr("by_region 2 by_wire 0"));
  tell("narrow");
  expect_right();
  expect_right();
}

TEST_F(SharedDeviceColumns, GoByTheWireWithOneWarningWhereTheRegionIsFull) {
  const Warnings warnings;
  SharedDeviceMemory memory(gpu_, 1);
  EXPECT_EQ(memory.size(), std::size_t{2} << 20U);
  Collection in(kFull, gpu_, memory);
  Collection rest((memory.size() - in.bytes()) / (2 * sizeof(float)), gpu_, memory);
  Collection out(kFull, gpu_);
  const Model<> model = this->model();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(call(model, in, out), kFull);
  EXPECT_THAT(Warnings::all(), ElementsAre(HasSubstr("no room")));
  EXPECT_THAT([&] { Collection(kFull, gpu_, memory); },
              ThrowsMessage<DeviceFullError>(HasSubstr("make it larger")));
}

TEST_F(SharedDeviceColumns, AreSubmittedInFlightTogether) {
  SharedDeviceMemory memory(gpu_, std::size_t{16} << 20U);
  const Model<> model = this->model();
  std::vector<std::unique_ptr<Collection>> ins;
  std::vector<std::unique_ptr<Collection>> outs;
  std::vector<std::future<Result<CopyReport>>> results;
  for (int i = 0; i < 8; ++i) {
    Collection& in = *ins.emplace_back(std::make_unique<Collection>(kFull, gpu_, memory));
    Collection& out = *outs.emplace_back(std::make_unique<Collection>(kFull, gpu_));
    fill(in, static_cast<float>(i));
    const auto promise = std::make_shared<std::promise<Result<CopyReport>>>();
    results.push_back(promise->get_future());
    model.submit(*queue_, model.plan(metadata(in, out)),
                 [promise](Result<CopyReport> result) { promise->set_value(std::move(result)); });
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_NO_THROW(results[i].get().value());
    EXPECT_EQ(right(*outs[i], static_cast<float>(i), 2), kFull);
  }
}

TEST(SharedDeviceMemory, RefusesHostMemoryAndNoBytes) {
  EXPECT_THAT([] { SharedDeviceMemory(Device::cpu(), 100); },
              ThrowsMessage<ConfigError>(HasSubstr("remote::SharedMemory")));
  EXPECT_THROW(SharedDeviceMemory(Device::cuda(0), 0), ConfigError);
  EXPECT_THROW(SharedDeviceMemory(Device::cuda(4711), 100), DeviceError);
}

}  // namespace
}  // namespace tensoa
