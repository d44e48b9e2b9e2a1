// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "../support/function_loader.hpp"
#include "../support/temporary_folder.hpp"
#include "tensoa/engine/loader.hpp"
#include "tensoa/engine/model.hpp"

namespace tensoa::test {

template <template <class> class F>
struct Points {
  F<float> x, y, z;
};

template <template <class> class F>
struct Scores {
  F<float> score;
  F<Scalar<float>> sum;
};

template <template <class> class F>
struct Groups {
  F<std::int32_t> offsets;
};

/// The calls that the fake engines of this process got, and their answers.
struct FakeEngines {
  std::mutex mutex;
  int loads = 0;
  int loads_to_fail = 0;  ///< the next loads that end in a LoadError
  int runs_to_fail = 0;
  int warm_ups = 0;
  std::chrono::microseconds time_of_run{0};
  std::vector<Device> loaded_on;
  std::vector<Binding> calls;                ///< one a run
  std::function<void(const Binding&)> look;  ///< called by each run, while the columns are there
  int prepared = 0;                          ///< bindings
  ModelOptions options;                      ///< of the last load

  static FakeEngines& get();

  /// As at the start of the program, with the fake kinds registered: files ending in .fake just in
  /// time, in .aot ahead of time. Both take `x` and, optionally, `y`.
  static void reset();
};

/// Options that the fake engines take.
struct FakeOptions {
  static constexpr std::string_view kOptionsOf = "fakes";
  int number = 0;
};

/// Options of an engine that is not there.
struct OtherOptions {
  static constexpr std::string_view kOptionsOf = "others (test::OtherOptions)";
};

/// A file that lives as long as the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name) : path_(folder_.write(name, "a model")) {}

  const std::filesystem::path& path() const { return path_; }

 private:
  TemporaryFolder folder_;
  std::filesystem::path path_;
};

/// A model that takes up to 64 blocks of any names, and computes nothing: for plans as such.
const Model<>& model_of_anything();

template <template <template <class> class> class... Layouts>
Plan<Layouts...> plan_of(const ModelMetadata<Layouts...>& metadata) {
  return model_of_anything().plan(metadata);
}

}  // namespace tensoa::test
