// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// bench_c_call PACKAGE [ROWS...]: nanoseconds of a call by tensoa.h, of libtensoa.so, next to the same call in C++, in turns. Columns of
// one array: nothing is copied. "bind" binds each column again before each call, as for another event. Median of 201 rounds.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "tensoa.h"
#include "tensoa/core/queue.hpp"
#include "tensoa/engine/any_model.hpp"
#include "tensoa/package/described_columns.hpp"
#include "tensoa/package/engines.hpp"

namespace {

using namespace tensoa;

constexpr int kRounds = 201;
constexpr int kCalls = 1000;

/// The planes of a block, one after another.
struct Memory {
  std::vector<float> numbers;
  std::size_t rows;

  Memory(std::size_t planes, std::size_t count) : numbers(planes * count, 0.5F), rows(count) {}
  float* plane(std::size_t i) { return numbers.data() + i * rows; }
};

void require(tensoa_status status) {
  if (status != TENSOA_OK) throw EngineError(tensoa_last_error());
}

double median(std::vector<double>& times) {
  std::ranges::nth_element(times, times.begin() + kRounds / 2);
  return times[kRounds / 2];
}

void compare(const char* path, std::size_t rows) {
  const package::ModelDescription description = package::inspect(path);
  const BlockDescription& input = *description.inputs.front().block;
  const BlockDescription& output = *description.outputs.front().block;
  Memory in(input.columns.size(), rows);
  Memory out(output.columns.size(), rows);

  Binding binding;
  binding.match = description.match;
  const auto append = [&](std::vector<BoundBlock>& blocks, const BlockDescription& block,
                          Memory& memory, bool is_input) {
    std::vector<package::ColumnPlace> places;
    for (std::size_t i = 0; i < block.columns.size(); ++i) {
      places.push_back({reinterpret_cast<std::byte*>(memory.plane(i)), 0});
    }
    package::append_described(blocks, block, places, rows, Device::cpu(), is_input);
  };
  append(binding.inputs, input, in, true);
  append(binding.outputs, output, out, false);
  const AnyModel model(path, CompilationType::kAny, {});
  const Queue queue(Device::cpu());
  const Planned plan = model.plan(std::move(binding));

  tensoa_model* c_model = nullptr;
  tensoa_call* call = nullptr;
  require(tensoa_load(path, "cpu", &c_model));
  require(tensoa_new_call(c_model, nullptr, &call));
  const auto bind = [&] {
    const auto count = static_cast<std::int64_t>(rows);
    for (std::size_t i = 0; i < input.columns.size(); ++i) {
      tensoa_bind_input(call, i, in.plane(i), TENSOA_F32, sizeof(float), count);
    }
    for (std::size_t i = 0; i < output.columns.size(); ++i) {
      tensoa_bind_output(call, i, out.plane(i), TENSOA_F32, sizeof(float), count);
    }
  };
  bind();
  require(tensoa_run(call));

  const std::function<void()> variants[] = {
      [&] { model.run(queue, plan); },
      [&] { tensoa_run(call); },
      [&] {
        bind();
        tensoa_run(call);
      },
  };
  std::vector<double> times[3];
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t which = round % 2 == 0 ? k : 2 - k;
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < kCalls; ++i) variants[which]();
      const std::chrono::duration<double, std::nano> spent =
          std::chrono::steady_clock::now() - start;
      times[which].push_back(spent.count() / kCalls);
    }
  }
  const double cpp = median(times[0]);
  const double c = median(times[1]);
  const double bound = median(times[2]);
  std::printf(
      "%6zu rows, %zu columns: C++ %.1f ns, C %.1f ns (%+.1f), C with bind %.1f ns (%+.1f)\n", rows,
      input.columns.size() + output.columns.size(), cpp, c, c - cpp, bound, bound - cpp);
  tensoa_free_call(call);
  tensoa_free_model(c_model);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: bench_c_call PACKAGE [ROWS...]\n", stderr);
    return 2;
  }
  try {
    package::register_engines();
    std::vector<std::size_t> rows;
    for (int i = 2; i < argc; ++i) rows.push_back(std::strtoul(argv[i], nullptr, 10));
    if (rows.empty()) rows = {1, 16, 1000};
    for (const std::size_t one : rows) compare(argv[1], one);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
