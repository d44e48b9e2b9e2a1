// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The published program with devices and queues of another library: types that tensoa has never
// heard of, made known by DeviceTraits and QueueTraits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "fake_engine.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/soa/portable_collection.hpp"

/// A library in the manner of alpaka: devices without a default, queues that are templates over
/// their device and come as blocking and non-blocking ones.
namespace accelerators {

struct DevCpu {
  explicit DevCpu(int) {}
};
struct DevCuda {
  explicit DevCuda(int index) : index_(index) {}
  int index_;
};

struct Blocking {};
struct NonBlocking {};

template <class Dev, class Property>
class Queue {
 public:
  explicit Queue(const Dev& device, void* stream = nullptr) : device_(device), stream_(stream) {}
  Queue(const Queue&) = delete;  // what is stored of it is tensoa's handle, never the queue
  Queue& operator=(const Queue&) = delete;

  const Dev& device() const { return device_; }
  void* native() const { return stream_; }

 private:
  Dev device_;
  void* stream_;
};

}  // namespace accelerators

template <>
struct tensoa::DeviceTraits<accelerators::DevCpu> {
  static Device get(const accelerators::DevCpu&) { return Device::cpu(); }
};
// [device]
template <>
struct tensoa::DeviceTraits<accelerators::DevCuda> {
  static Device get(const accelerators::DevCuda& device) { return Device::cuda(device.index_); }
};
// [/device]
template <class Property>
struct tensoa::QueueTraits<accelerators::Queue<accelerators::DevCpu, Property>> {
  static Queue get(const accelerators::Queue<accelerators::DevCpu, Property>&) {
    if (!std::is_same_v<Property, accelerators::Blocking>) {
      throw ConfigError("a CPU queue must be a blocking one");
    }
    return Queue(Device::cpu());
  }
};
// [queue]
template <class Property>
struct tensoa::QueueTraits<accelerators::Queue<accelerators::DevCuda, Property>> {
  static Queue get(const accelerators::Queue<accelerators::DevCuda, Property>& queue) {
    return Queue::borrow(Device::cuda(queue.device().index_), queue.native());
  }
};
// [/queue]

namespace reco {

using namespace tensoa;
using Device = accelerators::DevCpu;
using Queue = accelerators::Queue<Device, accelerators::Blocking>;

template <template <class> class F>
struct SoAInputs {
  F<float> x, y, z;
};

template <template <class> class F>
struct SoAOutputs {
  F<float> m, n;
};

/// Aliases in the user's namespace.
void snippet(const std::string& m_path, const Device& device, const Queue& queue, int batch_size) {
  // clang-format off
  PortableCollection<SoAInputs, Device> inputs_device(batch_size, device);
  PortableCollection<SoAOutputs, Device> outputs_device(batch_size, device);

  auto model = Model<CompilationType::kJustInTime>(m_path);          // or kAheadOfTime
  model.to(queue);

  auto input_records = inputs_device.view().records();
  auto output_records = outputs_device.view().records();
  SoAMetadata<SoAInputs> inputs_metadata(batch_size);
  inputs_metadata.append_block("features", input_records.x(), input_records.y(), input_records.z());
  SoAMetadata<SoAOutputs> outputs_metadata(batch_size);
  outputs_metadata.append_block("preds", output_records.m(), output_records.n());
  ModelMetadata<SoAInputs, SoAOutputs> metadata(inputs_metadata, outputs_metadata);

  model.forward(metadata);
  // clang-format on
}

}  // namespace reco

namespace {

using reco::SoAInputs;
using reco::SoAOutputs;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// The planned call, in code that is a template over the device as alpaka's users write it.
/// @return the device that the columns lie on
template <class Device, class Queue>
tensoa::Device planned(const std::string& path, const Device& device, const Queue& queue) {
  using namespace tensoa;
  PortableCollection<SoAInputs, Device> inputs_device(8, device);
  PortableCollection<SoAOutputs, Device> outputs_device(8, device);
  SoAMetadata<SoAInputs> inputs(8);
  inputs.append_block("x", inputs_device.const_view().records().x());
  SoAMetadata<SoAOutputs> outputs(8);
  outputs.append_block("m", outputs_device.view().records().m());
  const Model<> model(path);
  Plan plan = model.plan(ModelMetadata(inputs, outputs));
  plan.rebind(inputs_device.const_view(), outputs_device.view());
  model.forward(queue, plan);
  return inputs_device.device();
}

/// An engine that remembers the queues it was given.
struct Seen {
  static std::vector<tensoa::Queue>& queues() {
    static std::vector<tensoa::Queue> all;
    return all;
  }

  class Engine final : public tensoa::Engine {
   public:
    const tensoa::Signature& signature() const noexcept override { return signature_; }
    tensoa::CopyReport run(const tensoa::Queue& queue, const tensoa::Binding&,
                           const tensoa::Prepared&) const override {
      queues().push_back(queue);
      return {};
    }

   private:
    tensoa::Signature signature_{.inputs = {{.name = "x"}}, .required_inputs = 1};
  };
};

class ForeignQueue : public testing::Test {
 protected:
  void SetUp() override {
    Seen::queues().clear();
    tensoa::test::register_engine_of<Seen::Engine>("Seen", ".seen");
  }

  std::string path() const { return file_.path().string(); }

 private:
  tensoa::test::TemporaryFile file_{"model.seen"};
};

TEST_F(ForeignQueue, TheSnippetRunsWithTypesOfAnotherLibrary) {
  const accelerators::DevCpu device(0);
  const reco::Queue queue(device);
  reco::snippet(path(), device, queue, 4);
  ASSERT_EQ(Seen::queues().size(), 1U);
  EXPECT_EQ(Seen::queues()[0].device(), tensoa::Device::cpu());
}

TEST_F(ForeignQueue, APlannedCallTakesAQueueOfTemplateType) {
  const accelerators::DevCpu device(0);
  EXPECT_EQ(planned(path(), device, reco::Queue(device)), tensoa::Device::cpu());
  EXPECT_EQ(Seen::queues().size(), 1U);
}

TEST_F(ForeignQueue, WorkGoesToTheStreamOfTheForeignQueue) {
  if (tensoa::device_count(tensoa::DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  const tensoa::Queue owner(tensoa::Device::cuda(0));
  const accelerators::DevCuda device(0);
  const accelerators::Queue<accelerators::DevCuda, accelerators::NonBlocking> queue(
      device, owner.native_handle());
  EXPECT_EQ(planned(path(), device, queue), tensoa::Device::cuda(0));
  ASSERT_EQ(Seen::queues().size(), 1U);
  EXPECT_EQ(Seen::queues()[0].native_handle(), owner.native_handle());
}

TEST_F(ForeignQueue, WhatTheTraitsRefuseReachesTheCallerAndNothingRuns) {
  const accelerators::DevCpu device(0);
  const accelerators::Queue<accelerators::DevCpu, accelerators::NonBlocking> queue(device);
  tensoa::Model<> model(path());
  EXPECT_THAT([&] { model.to(queue); },
              ThrowsMessage<tensoa::ConfigError>(HasSubstr("must be a blocking one")));
  EXPECT_THROW(planned(path(), device, queue), tensoa::ConfigError);
  EXPECT_TRUE(Seen::queues().empty());
}

struct Unknown {};
static_assert(tensoa::DeviceLike<accelerators::DevCpu>);
static_assert(tensoa::QueueLike<reco::Queue>);
static_assert(!tensoa::DeviceLike<Unknown>);
static_assert(!tensoa::QueueLike<Unknown>);
static_assert(!tensoa::QueueLike<accelerators::DevCpu>, "a device is not a queue");

}  // namespace
