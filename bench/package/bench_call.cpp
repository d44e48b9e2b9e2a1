// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The fixed cost of a call of a fused program on the CPU: `forward` less `program`, which is the same
// program, of one row, called by itself.

#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <string>

#include "bench/models/mlp_columns.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

void forward(benchmark::State& state) {
  package::register_engines();
  const Queue queue(Device::cpu());
  PortableCollection<bench::Points> points(1, Device::cpu());
  PortableCollection<bench::Answers> answers(1, Device::cpu());
  zero_bytes(queue, points.data(), points.bytes());
  const Model<> model(std::string(TENSOA_FUSED_PACKAGES) + "fused.pt2");
  const Plan plan = model.plan(bench::mlp_metadata(points.const_view(), answers.view()));
  for (auto _ : state) {
    model.forward(queue, plan);
    benchmark::ClobberMemory();
  }
}

/// As the ABI of docs/package_format.md.
struct Block {
  void* data;
  std::int64_t pitch;
};

void program(benchmark::State& state) {
  void* const library = dlopen(TENSOA_FUSED_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return state.SkipWithError(dlerror());
  const auto workspace = reinterpret_cast<std::int64_t (*)(const std::int64_t*)>(
      dlsym(library, "tensoa_program_workspace"));
  const auto run = reinterpret_cast<void (*)(const Block*, const std::int64_t*, void*)>(
      dlsym(library, "tensoa_program_run"));
  std::array<float, 5> columns{};
  std::array<float, 16> memory{};
  const std::array blocks{Block{columns.data(), 1}, Block{columns.data() + 3, 1}};
  const std::int64_t rows = 1;
  for (auto _ : state) {
    benchmark::DoNotOptimize(workspace(&rows));
    run(blocks.data(), &rows, memory.data());
    benchmark::ClobberMemory();
  }
  dlclose(library);
}

BENCHMARK(forward);
BENCHMARK(program);

}  // namespace
}  // namespace tensoa
