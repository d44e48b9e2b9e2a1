// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../support/function_loader.hpp"
#include "../support/temporary_folder.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::size_t kRows = 64;

template <template <class> class F>
struct Number {
  F<float> x;
};

/// y = weight * x, where the file has "weight name sizes": "2 x 1".
class ScaleEngine final : public Engine {
 public:
  static inline std::atomic<int> alive = 0;

  explicit ScaleEngine(const std::string& path) {
    float weight = 0;
    std::string name;
    std::int64_t columns = 0;
    if (!(std::ifstream(path) >> weight >> name >> columns)) throw LoadError(path + ": no numbers");
    weights_.assign(kRows, weight);
    signature_ = {
        .inputs = {{.name = name, .dtype = DType::kF32, .sizes = std::vector{kAnySize, columns}}},
        .required_inputs = 1};
    ++alive;
  }
  ~ScaleEngine() override {
    std::ranges::fill(weights_, -1.F);
    --alive;
  }

  const Signature& signature() const noexcept override { return signature_; }

  bool can_be_recorded() const noexcept override { return weights_.front() > 0; }

  CopyReport run(const Queue&, const Binding& binding, const Prepared&) const override {
    const auto* x = static_cast<const float*>(binding.inputs[0].tensor.data);
    auto* y = static_cast<float*>(binding.outputs[0].tensor.data);
    for (std::size_t i = 0; i < kRows; ++i) {
      y[i] = weights_[i] * x[i];
      if (i == kRows / 2) std::this_thread::yield();
    }
    return {};
  }

 private:
  std::vector<float> weights_;
  Signature signature_;
};

/// Columns of one caller.
struct Event {
  Event() { std::ranges::fill_n(inputs.view().x.data(), kRows, 1.F); }

  ModelMetadata<Number, Number> metadata() {
    SoAMetadata<Number> in(kRows);
    in.append_block("x", inputs.view().records().x());
    SoAMetadata<Number> out(kRows);
    out.append_block("y", outputs.view().records().x());
    return ModelMetadata(in, out);
  }
  std::vector<float> answer() {
    const float* const x = outputs.view().x.data();
    return {x, x + kRows};
  }

  PortableCollection<Number> inputs{kRows, Device::cpu()};
  PortableCollection<Number> outputs{kRows, Device::cpu()};
};

class Reload : public testing::Test {
 protected:
  void SetUp() override {
    const auto load = [](const ModelLocation& from, Device, const ModelOptions&) {
      return std::make_shared<const ScaleEngine>(from.path());
    };
    test::register_function("Scale", ".scale", load);
    test::register_function("Other", ".other", load);
  }

  test::TemporaryFolder folder_;
  std::filesystem::path first_ = folder_.write("first.scale", "1 x 1");
  std::filesystem::path second_ = folder_.write("second.scale", "2 x 1");
  const Queue queue_{Device::cpu()};
  Event event_;
};

TEST_F(Reload, PlansThatWereMadeBeforeUseTheNewWeights) {
  const Model<> model(first_);
  const Model<> copy = model;
  const Plan plan = model.plan(event_.metadata());
  model.forward(queue_, plan);
  EXPECT_THAT(event_.answer(), Each(1.F));
  model.reload(second_);
  copy.forward(queue_, plan);
  EXPECT_THAT(event_.answer(), Each(2.F));
  EXPECT_EQ(ScaleEngine::alive, 1) << "the old weights are gone";
  EXPECT_EQ(model.location().path(), first_);
}

TEST_F(Reload, OfAModelWhoseFileIsGone) {
  const Model<> model(first_);
  const Plan plan = model.plan(event_.metadata());
  std::filesystem::remove(first_);
  model.reload(second_);
  model.forward(queue_, plan);
  EXPECT_THAT(event_.answer(), Each(2.F));
}

TEST_F(Reload, BeforeTheFirstLoadChangesWhatIsLoaded) {
  const Model<> model(first_);
  model.reload(second_);
  EXPECT_EQ(ScaleEngine::alive, 0);
  model.forward(queue_, model.plan(event_.metadata()));
  EXPECT_THAT(event_.answer(), Each(2.F));
}

TEST_F(Reload, ASignatureThatWasGivenOutStays) {
  const Model<> model(first_);
  const Signature& signature = model.deploy(Device::cpu());
  model.reload(second_);
  EXPECT_EQ(signature.inputs[0].name, "x");
  EXPECT_EQ(&model.deploy(Device::cpu()), &signature);
}

TEST_F(Reload, WhatARecordingUsesStaysAsLongAsItIsHeld) {
  const Model<> model(first_);
  std::shared_ptr<const void> before = model.recordable(Device::cpu());
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(model.recordable(Device::cpu()), before);
  model.reload(second_);
  EXPECT_NE(model.recordable(Device::cpu()), before);
  EXPECT_EQ(ScaleEngine::alive, 2);
  before.reset();
  EXPECT_EQ(ScaleEngine::alive, 1);

  model.reload(folder_.write("not_recordable.scale", "-1 x 1"));
  EXPECT_EQ(model.recordable(Device::cpu()), nullptr);
}

TEST_F(Reload, RefusesAFileOfAnotherProgramAndKeepsTheOldWeights) {
  const Model<> model(first_);
  const Plan plan = model.plan(event_.metadata());
  const auto refuses = [&](const char* contents, const char* what) {
    const auto path = folder_.write("other.scale", contents);
    EXPECT_THAT([&] { model.reload(path); },
                ThrowsMessage<LoadError>(AllOf(HasSubstr("other.scale: is not a program of "),
                                               HasSubstr("first.scale"), HasSubstr(what),
                                               HasSubstr("make another Model"))));
    model.forward(queue_, plan);
    EXPECT_THAT(event_.answer(), Each(1.F));
  };
  refuses("2 z 1", R"(input 1 is "z" float32[?, 1], expected "x" float32[?, 1])");
  refuses("2 x 3", R"(input 1 is "x" float32[?, 3], expected "x" float32[?, 1])");
  EXPECT_EQ(ScaleEngine::alive, 1);
}

TEST_F(Reload, RefusesWhatCannotBeLoaded) {
  const Model<> model(first_);
  const Plan plan = model.plan(event_.metadata());
  EXPECT_THAT([&] { model.reload(folder_.write("broken.scale", "none")); },
              ThrowsMessage<LoadError>(HasSubstr("broken.scale: no numbers")));
  EXPECT_THAT([&] { model.reload(folder_.path() / "absent.scale"); },
              ThrowsMessage<LoadError>(HasSubstr("absent.scale: there is no such file")));
  EXPECT_THAT([&] { model.reload(folder_.write("a.other", "2 x 1")); },
              ThrowsMessage<LoadError>(HasSubstr("is loaded by the engine Other, ")));
  EXPECT_THAT([&] { model.reload("grpc://host:1/model"); },
              ThrowsMessage<LoadError>(HasSubstr("a server reloads its models itself")));
  model.forward(queue_, plan);
  EXPECT_THAT(event_.answer(), Each(1.F));
}

/// Each call has the weights of one file, and the ones after the last reload those of the last file.
TEST_F(Reload, WhileEventsRunOnManyThreadsEachCallHasTheWeightsOfOneFile) {
  constexpr int kReloads = 60;
  const Model<> model(first_);
  std::atomic<bool> is_over = false;
  std::atomic<int> mixed = 0;
  std::atomic<int> calls = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      Event event;
      const Queue queue(Device::cpu());
      const Plan plan = model.plan(event.metadata());
      while (!is_over) {
        model.forward(queue, plan);
        const std::vector<float> answer = event.answer();
        const bool is_one = std::ranges::all_of(answer, [&](float y) { return y == answer[0]; });
        if (!is_one || answer[0] < 1 || answer[0] > kReloads + 1) ++mixed;
        ++calls;
      }
      model.forward(queue, plan);
      if (event.answer()[0] != kReloads + 1) ++mixed;
    });
  }
  for (int i = 1; i <= kReloads; ++i) {
    const int before = calls;
    model.reload(folder_.write("next.scale", std::to_string(i + 1) + " x 1"));
    while (calls == before) std::this_thread::yield();
  }
  is_over = true;
  threads.clear();
  EXPECT_EQ(mixed, 0);
  EXPECT_EQ(ScaleEngine::alive, 1);
}

TEST_F(Reload, TwoReloadsAndAFirstLoadAtTheSameTimeEndWithOneFile) {
  for (int i = 0; i < 20; ++i) {
    const Model<> model(first_);
    {
      std::vector<std::jthread> threads;
      threads.emplace_back([&] { model.reload(second_); });
      threads.emplace_back([&] { model.reload(second_); });
      threads.emplace_back([&] { model.deploy(Device::cpu()); });
    }
    model.forward(queue_, model.plan(event_.metadata()));
    EXPECT_THAT(event_.answer(), Each(2.F));
  }
}

}  // namespace
}  // namespace tensoa
