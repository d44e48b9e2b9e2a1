// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "fake_engine.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "tensoa/core/error.hpp"

namespace tensoa::test {
namespace {

/// Copies nothing, computes nothing, remembers everything.
class FakeEngine final : public Engine {
 public:
  const Signature& signature() const noexcept override { return signature_; }

  std::shared_ptr<const Prepared> prepare(const Binding& binding,
                                          std::vector<std::size_t> arguments) const override {
    ++FakeEngines::get().prepared;
    return Engine::prepare(binding, std::move(arguments));
  }

  CopyReport run(const Queue&, const Binding& binding, const Prepared&) const override {
    FakeEngines& all = FakeEngines::get();
    const std::lock_guard lock(all.mutex);
    if (all.runs_to_fail > 0) {
      --all.runs_to_fail;
      throw EngineError("the fake engine failed on demand");
    }
    const auto end = std::chrono::steady_clock::now() + all.time_of_run;
    while (std::chrono::steady_clock::now() < end) {
    }
    all.calls.push_back(binding);
    if (all.look) all.look(binding);
    return {.bytes_in = 1, .bytes_out = 2};
  }

  CopyReport warm_up(const Queue& queue, const Binding& binding,
                     const Prepared& prepared) const override {
    ++FakeEngines::get().warm_ups;
    return run(queue, binding, prepared);
  }

 private:
  Signature signature_{.inputs = {{.name = "x"}, {.name = "y"}}, .required_inputs = 1};
};

std::shared_ptr<const Engine> load(const ModelLocation&, Device device,
                                   const ModelOptions& options) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // long enough for others to come
  FakeEngines& all = FakeEngines::get();
  const std::lock_guard lock(all.mutex);
  ++all.loads;
  all.loaded_on.push_back(device);
  all.options = options;
  if (all.loads_to_fail > 0) {
    --all.loads_to_fail;
    throw LoadError("the fake load failed on demand");
  }
  return std::make_shared<const FakeEngine>();
}

/// Accepts FakeOptions, and recognises files that end in .almost.
class FakeLoader final : public EngineLoader {
 public:
  FakeLoader(std::string name, std::string ending, CompilationType compilation)
      : name_(std::move(name)), ending_(std::move(ending)), compilation_(compilation) {}

  std::string_view name() const noexcept override { return name_; }
  CompilationType compilation() const noexcept override { return compilation_; }
  bool accepts(const ModelLocation& location) const override {
    return location.scheme() == "fake" ||
           (location.is_file() && location.path().extension() == ending_);
  }
  std::optional<std::string> why_not(const ModelLocation& location) const override {
    if (location.path().extension() != ".almost") return {};
    return "is almost a fake; finish it";
  }
  bool takes(std::type_index options) const noexcept override {
    return options == typeid(FakeOptions);
  }
  std::shared_ptr<const Engine> load(const ModelLocation& location, Device device,
                                     const ModelOptions& options) const override {
    return test::load(location, device, options);
  }

 private:
  std::string name_;
  std::string ending_;
  CompilationType compilation_;
};

}  // namespace

FakeEngines& FakeEngines::get() {
  static FakeEngines all;
  return all;
}

void FakeEngines::reset() {
  FakeEngines& all = get();
  const std::lock_guard lock(all.mutex);
  all.loads = 0;
  all.loads_to_fail = 0;
  all.runs_to_fail = 0;
  all.warm_ups = 0;
  all.time_of_run = {};
  all.loaded_on.clear();
  all.calls.clear();
  all.look = nullptr;
  all.options = {};
  all.prepared = 0;
  register_loader(
      std::make_shared<const FakeLoader>("Fake", ".fake", CompilationType::kJustInTime));
  register_loader(
      std::make_shared<const FakeLoader>("FakeAot", ".aot", CompilationType::kAheadOfTime));
}

namespace {

class TakesAnything final : public Engine {
 public:
  TakesAnything() {
    for (int i = 0; i < 64; ++i) signature_.inputs.push_back({.name = '#' + std::to_string(i)});
  }
  const Signature& signature() const noexcept override { return signature_; }
  CopyReport run(const Queue&, const Binding&, const Prepared&) const override { return {}; }

 private:
  Signature signature_;
};

}  // namespace

const Model<>& model_of_anything() {
  static const TemporaryFile file("model.anything");
  static const Model<> model = [] {
    register_engine_of<TakesAnything>("Anything", ".anything");
    return Model<>(file.path());
  }();
  return model;
}

}  // namespace tensoa::test
