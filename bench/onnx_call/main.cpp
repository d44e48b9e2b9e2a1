// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// bench_onnx_call LIBONNXRUNTIME MODEL.onnx [ROWS...]: microseconds of a call of an ONNX file as it is, next to a bare call of ONNX
// Runtime on one thread over the same memory, in turns. "rows": a row-major block, nothing is copied; "columns": each column by itself,
// gathered. Median of 401 rounds, and of the ratios of neighbours. The model has one float32 input [n, k] and one such output.
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/peers/onnxruntime.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/engine/any_model.hpp"
#include "tensoa/onnx/engines.hpp"

namespace {

using namespace tensoa;

constexpr int kRounds = 401;
constexpr double kRoundUs = 2000;

/// A tensor [rows, columns] over its own memory.
struct Memory {
  Memory(std::int64_t rows, std::int64_t columns, bool is_row_major)
      : numbers(static_cast<std::size_t>(rows * columns), 0.5F) {
    view.data = numbers.data();
    view.rank = 2;
    view.size_of_dim = {rows, columns};
    make_row_major(view);
    if (!is_row_major) view.stride_of_dim = {1, rows};
  }

  std::vector<float> numbers;
  TensorView view;
};

BoundBlock block_of(const std::string& name, const TensorView& view) {
  BoundBlock block;
  block.name = name;
  block.tensor = view;
  return block;
}

double microseconds(const std::function<void()>& call, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
  return spent.count() / calls;
}

double median(std::vector<double>& values) {
  std::ranges::nth_element(values, values.begin() + kRounds / 2);
  return values[kRounds / 2];
}

void compare(const char* library, const char* path, std::int64_t rows) {
  const AnyModel model(path, CompilationType::kAny, {});
  const Signature& signature = model.deploy(Device::cpu());
  const TensorSpec& input = signature.inputs.front();
  const TensorSpec& output = signature.outputs.front();
  Memory in(rows, input.sizes->back(), true);
  Memory columns(rows, input.sizes->back(), false);
  Memory out(rows, output.sizes->back(), true);
  const Queue queue(Device::cpu());
  const auto plan_over = [&](const Memory& memory) {
    Binding binding;
    binding.inputs.push_back(block_of(input.name, memory.view));
    binding.outputs.push_back(block_of(output.name, out.view));
    return model.plan(std::move(binding));
  };
  const Planned over_rows = plan_over(in);
  const Planned over_columns = plan_over(columns);
  const TensorView tensors[] = {in.view, out.view};
  peers::OnnxRuntime bare(library, path, tensors, {input.name, output.name});

  const std::function<void()> variants[] = {
      [&] { bare.run(); },
      [&] { model.run(queue, over_rows); },
      [&] { model.run(queue, over_columns); },
  };
  const std::string copies = to_string(model.run(queue, over_rows));
  const int calls = static_cast<int>(kRoundUs / microseconds(variants[0], 10)) + 1;
  std::vector<double> times[3];
  std::vector<double> ratios[3];
  for (int round = 0; round < kRounds; ++round) {
    double now[3] = {};
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t which = round % 2 == 0 ? k : 2 - k;
      now[which] = microseconds(variants[which], calls);
    }
    for (std::size_t k = 0; k < 3; ++k) {
      times[k].push_back(now[k]);
      ratios[k].push_back(now[k] / now[0]);
    }
  }
  const double bare_us = median(times[0]);
  const double rows_us = median(times[1]);
  const double columns_us = median(times[2]);
  const double rows_ratio = median(ratios[1]);
  const double columns_ratio = median(ratios[2]);
  std::printf("%6lld rows: bare %.2f us, rows %.2f us (x %.3f, %s), columns %.2f us (x %.3f)\n",
              static_cast<long long>(rows), bare_us, rows_us, rows_ratio, copies.c_str(),
              columns_us, columns_ratio);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: bench_onnx_call LIBONNXRUNTIME MODEL.onnx [ROWS...]\n", stderr);
    return 2;
  }
  try {
    setenv("TENSOA_ONNXRUNTIME", argv[1], 1);
    onnx::register_engines();
    std::vector<std::int64_t> rows;
    for (int i = 3; i < argc; ++i) rows.push_back(std::strtoll(argv[i], nullptr, 10));
    if (rows.empty()) rows = {1, 16, 1000};
    for (const std::int64_t one : rows) compare(argv[1], argv[2], one);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
