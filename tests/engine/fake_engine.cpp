// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "fake_engine.hpp"

#include <chrono>
#include <memory>
#include <thread>

#include "tensoa/core/error.hpp"

namespace tensoa::test {
namespace {

/// Copies nothing, computes nothing, remembers everything.
class FakeEngine final : public Engine {
 public:
  const Signature& signature() const noexcept override { return signature_; }

  CopyReport run(const Queue&, const Binding& binding) const override {
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

  CopyReport warm_up(const Queue& queue, const Binding& binding) const override {
    ++FakeEngines::get().warm_ups;
    return run(queue, binding);
  }

 private:
  Signature signature_{.inputs = {"x", "y"}, .required_inputs = 1};
};

std::shared_ptr<const Engine> load(const std::filesystem::path&, Device device,
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
  const auto is_fake = [](const std::filesystem::path& path) {
    return path.extension() == ".fake";
  };
  const auto is_aot = [](const std::filesystem::path& path) { return path.extension() == ".aot"; };
  register_engine({"Fake", CompilationType::kJustInTime, is_fake, load});
  register_engine({"FakeAot", CompilationType::kAheadOfTime, is_aot, load});
}

}  // namespace tensoa::test
