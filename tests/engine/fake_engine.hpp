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

#include "../support/temporary_folder.hpp"
#include "tensoa/engine/engine.hpp"

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

/// What the fake engines of this process were asked for, and what they shall answer.
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
  ModelOptions options;                      ///< of the last load

  static FakeEngines& get();

  /// As at the start of the program, with the fake kinds registered: files ending in .fake just in
  /// time, in .aot ahead of time. Both take `x` and, optionally, `y`.
  static void reset();
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

}  // namespace tensoa::test
