// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The code of docs/using_from_your_framework.md that needs no other framework.

#include <tbb/task_arena.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "pytorch/jit_fixture.hpp"
#include "tensoa/core/event.hpp"
#include "tensoa/sched/event_pipeline.hpp"
#include "tensoa/sched/wait.hpp"

namespace tensoa {
namespace {

using namespace test;
using testing::HasSubstr;

/// 2 x + 1 of three columns.
const std::filesystem::path kPath = model_file("affine");
constexpr std::size_t kMostRows = 100;

// [metadata]
ModelMetadata<Points, Answers> metadata_of(ConstView<Points> points, View<Answers> answers) {
  SoAMetadata<Points> inputs(points.size());
  inputs.append_block("x", points.records().x(), points.records().y(), points.records().z());
  SoAMetadata<Answers> outputs(answers.size());
  outputs.append_block("y", answers.records().m(), answers.records().n(), answers.records().o());
  return {inputs, outputs};
}
// [/metadata]

// [slot]
/// The memory of an event in flight; made once, used by one event after another.
struct Slot {
  Slot(const Model<>& model, Device device)
      : queue(device),
        points(kMostRows, device),
        answers(kMostRows, device),
        plan(model.plan(metadata_of(points.const_view(), answers.view()))) {}

  Queue queue;
  PortableCollection<Points> points;
  PortableCollection<Answers> answers;
  Plan<Points, Answers> plan;
};
// [/slot]

/// Brings event `event` to the device: event + 1 rows, x = event.
void fill(std::size_t event, Slot& slot) {
  PortableCollection<Points> host(event + 1, Device::cpu());
  const auto view = host.view();
  for (std::size_t i = 0; i < view.size(); ++i) {
    view.x[i] = view.y[i] = view.z[i] = static_cast<float>(event);
  }
  copy(slot.queue, host, slot.points);
  slot.queue.wait();
}

class Framework : public JitTest {};
TENSOA_ON_EACH_DEVICE(Framework);

TEST_P(Framework, HasOneQueueForEachEventInFlight) {
  constexpr std::size_t kEvents = 50;
  constexpr int kThreads = 3;
  constexpr int kInFlight = 6;
  const Device device = GetParam();
  std::vector<float> results(kEvents);
  auto source = [next = std::size_t{0}]() mutable {
    return next < kEvents ? std::optional(next++) : std::nullopt;
  };

  // [events]
  const Model<> model(kPath);
  std::deque<Slot> slots;
  for (int i = 0; i < kInFlight; ++i) slots.emplace_back(model, device);

  tbb::task_arena arena(kThreads);
  arena.execute([&] {
    return sched::run_events(
        source,
        [&](std::size_t event, std::size_t index) {
          Slot& slot = slots[index];
          fill(event, slot);
          slot.answers.resize(slot.points.size());
          slot.plan.rebind(slot.points.const_view(), slot.answers.view());
          model.forward(slot.queue, slot.plan);
          PortableCollection<Answers> answers(kMostRows, Device::cpu());
          copy(slot.queue, slot.answers, answers);
          sched::wait_suspended(slot.queue);  // the thread takes another event meanwhile
          return answers.const_view().m[answers.size() - 1];
        },
        [&](std::size_t event, Result<float> result) {  // in the order of the source
          if (result) results[event] = *result;
        },
        {.in_flight = slots.size()});
  });
  // [/events]

  for (std::size_t event = 0; event < kEvents; ++event) {
    EXPECT_EQ(results[event], 2.F * static_cast<float>(event) + 1.F);
  }
}

/// Tasks for one thread, from any.
class Scheduler {
 public:
  void add(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    has_task_.notify_one();
  }

  void run_one() {
    std::unique_lock lock(mutex_);
    has_task_.wait(lock, [this] { return !tasks_.empty(); });
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
  }

 private:
  std::mutex mutex_;
  std::condition_variable has_task_;
  std::deque<std::function<void()>> tasks_;
};

TEST_P(Framework, IsCalledBackWhenTheAnswerIsThere) {
  const Queue& queue = *queue_;
  const auto points = this->points(kMostRows);
  auto answers = this->answers(kMostRows);
  PortableCollection<Answers> host(answers.capacity(), Device::cpu());
  const Model<> model(kPath);
  const auto plan = model.plan(metadata_of(points.const_view(), answers.view()));
  Scheduler scheduler;
  float result = 0;

  // [when_done]
  const auto produce = [&] {
    queue.wait();  // immediately; throws where the work failed
    result = host.const_view().m[99];
  };
  model.forward(queue, plan);
  copy(queue, answers, host);
  // On a GPU called by a thread of the driver, which must go on: it only hands over.
  queue.when_done([&] { scheduler.add(produce); });
  // [/when_done]

  scheduler.run_one();
  EXPECT_EQ(result, 199.F);
}

TEST_P(Framework, OrdersQueuesByEvents) {
  const auto points = this->points(kMostRows);
  auto answers = this->answers(kMostRows);
  PortableCollection<Answers> host(answers.capacity(), Device::cpu());
  const Model<> model(kPath);
  const auto plan = model.plan(metadata_of(points.const_view(), answers.view()));
  const Queue& producer = *queue_;
  const Queue consumer(GetParam());

  // [event]
  model.forward(producer, plan);
  consumer.wait_for(Event(producer));
  copy(consumer, answers, host);
  // [/event]

  consumer.wait();
  EXPECT_EQ(host.const_view().m[99], 199.F);
}

TEST_P(Framework, DeploysWhenTheFirstEventAsksAndOnlyOnce) {
  const auto points = this->points(kMostRows);
  const Model<> model(kPath);
  std::atomic<int> right = 0;
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const Queue queue(GetParam());
      PortableCollection<Answers> answers(kMostRows, GetParam());
      model.forward(queue, model.plan(metadata_of(points.const_view(), answers.view())));
      PortableCollection<Answers> host(kMostRows, Device::cpu());
      copy(queue, answers, host);
      queue.wait();
      if (host.const_view().m[7] == 15.F) ++right;
    });
  }
  threads.clear();
  EXPECT_EQ(right, 4);
}

TEST_P(Framework, PaysForTheFirstCallWhenItLikes) {
  const Queue& queue = *queue_;
  Slot slot(Model<>(kPath), GetParam());
  // [deploy]
  const Model<> model(kPath);
  model.deploy(queue.device());                           // load it
  model.warm_up(queue, slot.plan, kMostRows, kMostRows);  // and run it once on zeros
  // [/deploy]
  EXPECT_EQ(model.deploy(queue.device()).inputs.size(), 1U);
}

TEST_P(Framework, GetsErrorsAsValuesOrAsExceptions) {
  const Queue& queue = *queue_;
  const auto points = this->points(kMostRows);
  auto answers = this->answers(kMostRows);
  SoAMetadata<Points> two(points.size());
  two.append_block("x", points.const_view().records().x(), points.const_view().records().y());
  SoAMetadata<Answers> outputs(answers.size());
  outputs.append_block("y", answers.view().records().m());
  const Model<> model(kPath);
  const auto plan = model.plan(ModelMetadata(two, outputs));
  std::string logged;

  // [errors]
  const auto report = Result<CopyReport>::of([&] { return model.forward(queue, plan); });
  if (!report) {
    logged = report.message();  // outputs are untouched, the queue goes on
  }
  // [/errors]

  EXPECT_THAT(logged, HasSubstr("y"));
  EXPECT_THROW(model.forward(queue, plan), BindingError);
  expect_untouched(answers);
}

}  // namespace
}  // namespace tensoa
