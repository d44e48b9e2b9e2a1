// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// cpp_call PACKAGE ROWS [CALLS]: nanoseconds of a planned call on columns that each have memory of their own, as run.py has
// them in Python. Median of 101 rounds.
// cpp_call PACKAGE ROWS threads THREADS: calls a second of one model that several threads call, each on its own columns.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "tensoa/core/queue.hpp"
#include "tensoa/engine/any_model.hpp"
#include "tensoa/package/described_columns.hpp"
#include "tensoa/package/engines.hpp"

namespace {

using namespace tensoa;

/// Columns in memory of their own, not at equal distances.
class Columns {
 public:
  explicit Columns(std::size_t rows) : rows_(rows) {}

  void append(std::vector<BoundBlock>& blocks, const BlockDescription& block, bool is_input) {
    std::vector<package::ColumnPlace> places;
    for (std::size_t i = 0; i < block.columns.size(); ++i) {
      const std::size_t skip = 64 * (memory_.size() * memory_.size() + 1);
      auto& memory = memory_.emplace_back(std::make_unique<std::vector<float>>(rows_ + skip));
      std::fill(memory->begin(), memory->end(), 0.5F);
      places.push_back({reinterpret_cast<std::byte*>(memory->data() + skip), 0});
    }
    package::append_described(blocks, block, places, rows_, Device::cpu(), is_input);
  }

 private:
  std::size_t rows_;
  std::vector<std::unique_ptr<std::vector<float>>> memory_;
};

Binding bind(const char* path, Columns& columns) {
  const package::ModelDescription description = package::inspect(path);
  Binding binding;
  binding.match = description.match;
  for (const auto& input : description.inputs) columns.append(binding.inputs, *input.block, true);
  for (const auto& output : description.outputs) {
    columns.append(binding.outputs, *output.block, false);
  }
  return binding;
}

int run(const char* path, std::size_t rows, int calls) {
  Columns columns(rows);
  const AnyModel model(path, CompilationType::kAny, {});
  const Queue queue(Device::cpu());
  const Planned plan = model.plan(bind(path, columns));
  constexpr int kRounds = 101;
  std::vector<double> nanoseconds;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) model.run(queue, plan);
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    nanoseconds.push_back(spent.count() / calls);
  }
  std::nth_element(nanoseconds.begin(), nanoseconds.begin() + kRounds / 2, nanoseconds.end());
  std::printf("%.1f\n", nanoseconds[kRounds / 2]);
  return 0;
}

int run_threads(const char* path, std::size_t rows, int count) {
  const AnyModel model(path, CompilationType::kAny, {});
  std::atomic<std::int64_t> calls = 0;
  const auto start = std::chrono::steady_clock::now();
  const auto end = start + std::chrono::seconds(1);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&] {
        Columns columns(rows);
        const Queue queue(Device::cpu());
        const Planned plan = model.plan(bind(path, columns));
        std::int64_t done = 0;
        for (; std::chrono::steady_clock::now() < end; ++done) model.run(queue, plan);
        calls += done;
      });
    }
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  std::printf("%.1f\n", static_cast<double>(calls) / spent.count());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: cpp_call PACKAGE ROWS [CALLS | threads THREADS]\n", stderr);
    return 2;
  }
  try {
    package::register_engines();
    const std::size_t rows = std::strtoul(argv[2], nullptr, 10);
    if (argc > 4 && std::string_view(argv[3]) == "threads") {
      return run_threads(argv[1], rows, std::atoi(argv[4]));
    }
    return run(argv[1], rows, argc > 3 ? std::atoi(argv[3]) : 1000);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
