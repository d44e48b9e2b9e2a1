// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "bench/harness.hpp"
#include "row_major.hpp"

namespace tensoa::peers {

/// A way to run a model, and what it answered.
struct Contender {
  std::string name;
  std::function<void()> run;
  std::function<std::vector<float>()> answer;  ///< column after column
  bool is_peer = true;
};

/// ONNX Runtime on the model of a file, over tensors that stay.
/// @throws EngineError with what it says
Contender onnxruntime(const std::string& library, const std::filesystem::path& model,
                      const RowMajor& tensors);

/// The same with packing: columns to rows before each call, the answer back to columns after it. The columns must outlive it.
/// @param answer what lies in the output columns
Contender onnxruntime_packed(const std::string& library, const std::filesystem::path& model,
                             const Queue& queue, const Binding& columns,
                             std::function<std::vector<float>()> answer);

/// One thread, and one for each core.
std::vector<std::size_t> numbers_of_threads();

/// The data of one thread of measure(): a queue, a case over its memory, and the rows of that packed.
template <class Case>
struct ThreadData {
  /// @param arguments of the case, in front of the queue
  template <class... Arguments>
  explicit ThreadData(const Arguments&... arguments)
      : work(arguments..., queue), packed(work.metadata().binding()) {}

  Queue queue{Device::cpu()};
  Case work;
  RowMajor packed;
};

/// For measure(), of a network over n rows: fewer where a call takes long.
constexpr int turns_of(std::size_t n) { return n <= 1000 ? 200 : n <= 100'000 ? 30 : 7; }

/// Runs all contenders in turns and adds a row for each; the ratios are over the fastest peer of this run. Times are processor
/// time of the process, so that other processes do not count; of several threads that call at the same time, for each call.
/// @param threads the same contenders, over separate memory, for each thread
/// @param truth column after column: what the errors are counted from
void measure(std::vector<bench::ResultRow>& rows, const char* model, std::size_t n,
             const std::vector<std::vector<Contender>>& threads, const std::vector<double>& truth,
             int turns);

}  // namespace tensoa::peers
