// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// A model on several (simulated) devices: where it is loaded, when, and what goes on when one of
// them fails.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "copy_engine.hpp"
#include "fake_engine.hpp"
#include "support/device_double.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using test::CopyEngine;
using test::DeviceDouble;
using test::Points;
using test::Scores;
using test::TemporaryFile;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr Device kFirst = Device::cuda(0);
constexpr Device kSecond = Device::cuda(1);

/// The behaviour of loads in this program.
struct Loads {
  std::atomic<int> count = 0;
  std::atomic<bool> fail = false;
  std::atomic<bool> wait = false;  ///< for its end
  std::atomic<int> waiting = 0;

  static Loads& get() {
    static Loads all;
    return all;
  }
};

std::shared_ptr<const Engine> load(const ModelLocation&, Device device, const ModelOptions&) {
  Loads& loads = Loads::get();
  const int number = ++loads.count;
  if (device == kFirst) {
    ++loads.waiting;
    loads.waiting.notify_all();
    loads.wait.wait(true);
    if (loads.fail) throw LoadError("load " + std::to_string(number) + " failed on demand");
  }
  return std::make_shared<const CopyEngine>(device);
}

class ModelDevices : public testing::Test {
 protected:
  ModelDevices() {
    DeviceDouble::reset();
    Loads::get().count = 0;
    Loads::get().fail = false;
    Loads::get().wait = false;
    Loads::get().waiting = 0;
  }
  void TearDown() override {
    memory_budget(kFirst, kNoBudget);
    DeviceDouble::reset();
  }

  static void let_load() {
    Loads::get().wait = false;
    Loads::get().wait.notify_all();
  }

  static Model<> model_of(const std::filesystem::path& path) {
    test::register_function("Copy", ".copy", load);
    return Model<>(path);
  }

  TemporaryFile file_{"model.copy"};
  const Model<> model_ = model_of(file_.path());
};

/// Columns of one device.
struct Event {
  explicit Event(Device device) : points(4, device), scores(4, device) {
    zero_bytes(Queue(device), points.data(), points.bytes());
  }

  ModelMetadata<Points, Scores> metadata() {
    SoAMetadata<Points> inputs(4);
    inputs.append_block("x", points.view().records().x());
    SoAMetadata<Scores> outputs(4);
    outputs.append_block("score", scores.view().records().score());
    return ModelMetadata(inputs, outputs);
  }

  PortableCollection<Points> points;
  PortableCollection<Scores> scores;
};

TEST_F(ModelDevices, HasItsWeightsOnceOnEachDevice) {
  for (const Device device : {kFirst, kSecond}) {
    Event event(device);
    const Plan plan = model_.plan(event.metadata());
    for (int i = 0; i < 3; ++i) model_.forward(Queue(device), plan);
    EXPECT_EQ(memory_figures(device).of(MemoryPurpose::kWeights).now, 100U);
  }
  EXPECT_EQ(Loads::get().count, 2);
}

TEST_F(ModelDevices, ForwardWithoutAQueueReturnsWhenTheOutputsAreWritten) {
  Event event(kSecond);
  model_.deploy(kSecond);
  DeviceDouble::hold(kSecond.index);
  std::atomic<bool> is_done = false;
  std::jthread call([&] {
    model_.forward(bind("x", event.points.view().records().x()),
                   bind("score", event.scores.view().records().score()));
    is_done = true;
  });
  EXPECT_FALSE(is_done);
  DeviceDouble::let_go(kSecond.index);
  call.join();
  EXPECT_TRUE(is_done);
  EXPECT_EQ(DeviceDouble::streams(), 0U);

  DeviceDouble::lose(kSecond.index);
  EXPECT_THROW(model_.forward(bind("x", event.points.view().records().x()),
                              bind("score", event.scores.view().records().score())),
               DeviceLostError);
}

TEST_F(ModelDevices, OnlyThoseWhoNeedALoadWaitForIt) {
  model_.deploy(Device::cpu());
  Loads::get().wait = true;
  std::atomic<bool> is_deployed = false;
  std::jthread slow([&] {
    model_.deploy(kFirst);
    is_deployed = true;
  });
  Loads::get().waiting.wait(0);
  model_.deploy(Device::cpu());
  model_.deploy(kSecond);
  Event event(kSecond);
  model_.forward(Queue(kSecond), model_.plan(event.metadata()));
  EXPECT_FALSE(is_deployed);
  let_load();
  slow.join();
  EXPECT_EQ(Loads::get().count, 3);
}

TEST_F(ModelDevices, AFailedLoadIsReportedToAllWhoWaitedAndTriedAgainByTheNext) {
  constexpr int kThreads = 8;
  Loads::get().wait = true;
  Loads::get().fail = true;
  std::latch are_there(kThreads);
  std::mutex mutex;
  std::vector<std::string> messages;
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      are_there.count_down();
      try {
        model_.deploy(kFirst);
      } catch (const LoadError& error) {
        const std::lock_guard lock(mutex);
        messages.emplace_back(error.what());
      }
    });
  }
  are_there.wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // for the last to reach the wait
  let_load();
  threads.clear();
  EXPECT_EQ(messages, std::vector<std::string>(kThreads, "load 1 failed on demand"));
  EXPECT_EQ(Loads::get().count, 1) << "loaded once, not once each";
  EXPECT_EQ(memory_figures(kFirst).all.now, 0U);

  EXPECT_THROW(model_.deploy(kFirst), LoadError);
  EXPECT_EQ(Loads::get().count, 2);
  Loads::get().fail = false;
  model_.deploy(kFirst);
  model_.deploy(kFirst);
  EXPECT_EQ(Loads::get().count, 3);
}

TEST_F(ModelDevices, WhoHasSeenAFailureNeverGetsThatLoadAgain) {
  Loads::get().fail = true;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      std::string last;
      for (int call = 0; call < 500; ++call) {
        try {
          model_.deploy(kFirst);
          ADD_FAILURE();
        } catch (const LoadError& error) {
          EXPECT_NE(error.what(), last);
          last = error.what();
        }
      }
    });
  }
}

TEST_F(ModelDevices, AHandleKeepsItsQueueWhereANewOneCannotBeHad) {
  Event event(kSecond);
  Model<> model = model_;
  model.to(Queue(kSecond));
  Loads::get().fail = true;
  EXPECT_THROW(model.to(Queue(kFirst)), LoadError);
  EXPECT_EQ(model.forward(event.metadata()).bytes_out, 16U) << "still on the second device";
  Model<> fresh(file_.path());
  EXPECT_THROW(fresh.to(Queue(kFirst)), LoadError);
  EXPECT_THROW(fresh.forward(event.metadata()), ConfigError) << "has no queue";
}

TEST_F(ModelDevices, TheLastHandleTakesTheWeightsWithItAndWaitsForTheirDevice) {
  Event event(kSecond);
  std::optional<Model<>> model(file_.path());
  const Plan plan = model->plan(event.metadata());
  const Queue queue(kSecond);
  model->deploy(kSecond);
  DeviceDouble::hold(1);
  model->forward(queue, plan);
  auto copy = std::make_unique<Model<>>(*model);
  model.reset();  // not the last one: does not wait
  std::atomic<bool> is_gone = false;
  std::jthread other([&] {
    copy.reset();
    is_gone = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(is_gone) << "what is enqueued reads the weights";
  EXPECT_EQ(memory_figures(kSecond).of(MemoryPurpose::kWeights).now, 100U);
  DeviceDouble::let_go(1);
  other.join();
  EXPECT_EQ(memory_figures(kSecond).of(MemoryPurpose::kWeights).now, 0U);
}

TEST_F(ModelDevices, AReloadReplacesTheWeightsOfEachDeviceAndWaitsForWorkThatReadsTheOld) {
  Event event(kSecond);
  const Plan plan = model_.plan(event.metadata());
  model_.deploy(kFirst);
  const Queue queue(kSecond);
  DeviceDouble::hold(1);
  model_.forward(queue, plan);
  std::atomic<bool> is_reloaded = false;
  std::jthread other([&] {
    model_.reload(file_.path());
    is_reloaded = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(is_reloaded) << "what is enqueued reads the old weights";
  DeviceDouble::let_go(1);
  other.join();
  EXPECT_EQ(Loads::get().count, 4);
  for (const Device device : {kFirst, kSecond}) {
    EXPECT_EQ(memory_figures(device).of(MemoryPurpose::kWeights).now, 100U);
  }
  EXPECT_EQ(model_.forward(queue, plan).bytes_out, 16U);
}

TEST_F(ModelDevices, AReloadThatFailsOnOneDeviceChangesNone) {
  Event event(kFirst);
  const Plan plan = model_.plan(event.metadata());
  model_.deploy(kSecond);
  Loads::get().fail = true;
  EXPECT_THROW(model_.reload(file_.path()), LoadError);
  Loads::get().fail = false;
  for (const Device device : {kFirst, kSecond}) {
    EXPECT_EQ(memory_figures(device).of(MemoryPurpose::kWeights).now, 100U);
  }
  EXPECT_EQ(model_.forward(Queue(kFirst), plan).bytes_out, 16U);
}

TEST_F(ModelDevices, ACpuThatIsNotThereIsAnErrorAlsoWhereTheModelIsLoaded) {
  model_.deploy(Device::cpu());
  EXPECT_THROW(model_.deploy({DeviceKind::kCpu, 1}), DeviceError);
}

TEST_F(ModelDevices, AQueueOfAnotherDeviceThanTheDataNamesBoth) {
  Event event(kSecond);
  const Plan plan = model_.plan(event.metadata());
  for (const Device device : {kFirst, Device::cpu()}) {
    EXPECT_THAT(
        [&] { model_.forward(Queue(device), plan); },
        ThrowsMessage<BindingError>(AllOf(HasSubstr("lies on cuda:1"),
                                          HasSubstr("the queue belongs to " + to_string(device)))));
  }
  EXPECT_EQ(Loads::get().count, 1) << "on the device of the plan alone";
  EXPECT_EQ(model_.forward(Queue(kSecond), plan).bytes_out, 16U) << "the right queue runs";
}

TEST_F(ModelDevices, AnIndexOutOfRangeSaysWhatIsThereAndTheOthersGoOn) {
  for (const int index : {2, -1, kMaxDevices}) {
    const Device device = Device::cuda(index);
    EXPECT_THAT([&] { model_.deploy(device); },
                ThrowsMessage<DeviceError>("device " + to_string(device) +
                                           " is not there; there is: cpu, cuda:0 to cuda:1"));
  }
  EXPECT_EQ(Loads::get().count, 0);
  model_.deploy(kFirst);
}

TEST_F(ModelDevices, ACopyOnAQueueOfAnotherDeviceChangesNothing) {
  const PortableCollection<Points> from(3, Device::cpu());
  PortableCollection<Points> same(3, kSecond);
  PortableCollection<Points> larger(40, kSecond);
  same.resize(1);
  EXPECT_THROW(copy(Queue(kFirst), from, same), DeviceError);
  EXPECT_THROW(copy(Queue(kFirst), from, larger), DeviceError);
  EXPECT_EQ(same.size(), 1U);
  EXPECT_EQ(larger.size(), 40U);
  DeviceDouble::lose(1);
  EXPECT_THROW(copy(Queue(kSecond), from, same), DeviceLostError);
  EXPECT_EQ(same.size(), 1U);
}

TEST_F(ModelDevices, ColumnsOfTwoDevicesInOneCallNameBoth) {
  Event first(kFirst);
  Event second(kSecond);
  SoAMetadata<Points> inputs(4);
  inputs.append_block("x", first.points.view().records().x());
  for (const Device other : {kSecond, Device::cpu()}) {
    Event there(other);
    SoAMetadata<Scores> outputs(4);
    outputs.append_block("score", there.scores.view().records().score());
    EXPECT_THAT(
        [&] { ModelMetadata(inputs, outputs); },
        ThrowsMessage<BindingError>(AllOf(HasSubstr("\"score\" lies on " + to_string(other)),
                                          HasSubstr("\"x\" on cuda:0"))));
  }
  Plan plan = model_.plan(first.metadata());
  EXPECT_THAT([&] { plan.rebind(first.points.const_view(), second.scores.view()); },
              ThrowsMessage<BindingError>(AllOf(HasSubstr("cuda:0"), HasSubstr("cuda:1"))));
  plan.rebind(first.points.const_view(), first.scores.view());
  EXPECT_EQ(model_.forward(Queue(kFirst), plan).bytes_out, 16U) << "the plan can still be used";
}

TEST_F(ModelDevices, ALostDeviceIsATypedErrorAndTheOthersGoOn) {
  Event on_first(kFirst);
  Event on_second(kSecond);
  const Plan first = model_.plan(on_first.metadata());
  const Plan second = model_.plan(on_second.metadata());
  const Queue lost(kFirst);
  const Queue good(kSecond);
  model_.forward(lost, first);
  DeviceDouble::lose(0);
  EXPECT_THROW(model_.forward(lost, first), DeviceLostError);
  const Result<CopyReport> result =
      Result<CopyReport>::of([&] { return model_.forward(lost, first); });
  EXPECT_FALSE(result);
  EXPECT_THAT(result.message(), HasSubstr("cuda:0 is lost"));
  EXPECT_THROW(Model<>(file_.path()).deploy(kFirst), DeviceLostError);
  EXPECT_EQ(model_.forward(good, second).bytes_out, 16U);
  good.wait();
}

TEST_F(ModelDevices, ASubmittedCallIsCompletedWhenTheDeviceGetsThereAndNotBefore) {
  Event event(kFirst);
  const Queue queue(kFirst);
  const Plan plan = model_.plan(event.metadata());
  int calls = 0;
  DeviceDouble::hold(0);
  model_.submit(queue, plan, [&](const Result<CopyReport>& result) {
    ++calls;
    EXPECT_TRUE(result);
  });
  EXPECT_EQ(calls, 0);
  DeviceDouble::let_go(0);
  EXPECT_EQ(calls, 1);
}

TEST_F(ModelDevices, ADeviceThatIsLostIsTheErrorOfASubmittedCall) {
  Event event(kFirst);
  const Queue queue(kFirst);
  const Plan plan = model_.plan(event.metadata());
  int lost = 0;
  const auto expect_lost = [&](const Result<CopyReport>& result) {
    EXPECT_THAT(result.message(), HasSubstr("cuda:0 is lost"));
    EXPECT_THROW(static_cast<void>(result.value()), DeviceLostError);
    ++lost;
  };
  DeviceDouble::hold(0);
  model_.submit(queue, plan, expect_lost);
  EXPECT_EQ(lost, 0);
  DeviceDouble::lose(0);
  EXPECT_EQ(lost, 1) << "in flight";
  model_.submit(queue, plan, expect_lost);
  EXPECT_EQ(lost, 2) << "afterwards";
}

TEST_F(ModelDevices, APlanIsForOneDeviceAndAnotherIsMadeOfIt) {
  Event first(kFirst);
  Event second(kSecond);
  Plan plan = model_.plan(first.metadata());
  EXPECT_THAT([&] { plan.rebind(second.points.const_view(), second.scores.view()); },
              ThrowsMessage<BindingError>(
                  AllOf(HasSubstr("the plan was made for cuda:0, the views lie on cuda:1"),
                        HasSubstr("model.plan(plan, views…)"))));
  EXPECT_THAT([&] { model_.forward(Queue(kFirst), plan); },
              ThrowsMessage<BindingError>(HasSubstr("the last rebind of this plan failed")));
  const Plan there = model_.plan(plan, second.points.const_view(), second.scores.view());
  EXPECT_EQ(model_.forward(Queue(kSecond), there).bytes_out, 16U);
  model_.warm_up(Queue(kSecond), plan, 4, 4);
}

TEST_F(ModelDevices, ADestroyedStreamIsATypedErrorAndTheDeviceGoesOn) {
  Event event(kFirst);
  const Plan plan = model_.plan(event.metadata());
  const Queue queue(kFirst);
  DeviceDouble::destroy_stream(queue.native_handle());
  EXPECT_THAT([&] { model_.forward(queue, plan); },
              ThrowsMessage<DeviceError>(AllOf(HasSubstr("cuda:0"), HasSubstr("destroyed"))));
  model_.forward(Queue(kFirst), plan);
}

TEST_F(ModelDevices, AModelThatDoesNotFitIsRefusedAndLoadedOnceThereIsRoom) {
  memory_budget(kFirst, 99);
  EXPECT_THAT([&] { model_.deploy(kFirst); },
              ThrowsMessage<DeviceFullError>(
                  AllOf(HasSubstr("memory for weights on cuda:0: requested 100 bytes"),
                        HasSubstr("the budget is 99, in use are 0"))));
  EXPECT_EQ(DeviceDouble::used(0), 0U);
  model_.deploy(kSecond);
  memory_budget(kFirst, 100);
  model_.deploy(kFirst);

  DeviceDouble::reset(2, 50);
  EXPECT_THAT([&] { Model<>(file_.path()).deploy(kSecond); },
              ThrowsMessage<DeviceFullError>(HasSubstr("the device is full")));
}

}  // namespace
}  // namespace tensoa
