// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Fused programs by hand, with the C ABI of docs/package_format.md: what the exporter would generate.
// Compiled once for each kind; without one it is the program of "mlp" (aot_layouts.hpp) that gives
// m = x + 2 y + 3 z and n = x * y - z. Its workspace holds the rows of m, so that calls at the same
// time must not share it.

#include <cstdint>

namespace {

struct Block {
  void* data;
  std::int64_t pitch;
};

template <class T>
T* plane(const Block& block, std::int64_t place) {
  return static_cast<T*>(block.data) + place * block.pitch;
}

}  // namespace

extern "C" {

std::int64_t tensoa_program_abi() {
#ifdef FIXTURE_OTHER_ABI
  return 7;
#else
  return 1;
#endif
}

#ifdef FIXTURE_GRAPH  // "graph": the product of the charges along each edge, the sum of masses at each node

std::int64_t tensoa_program_workspace(const std::int64_t* /*rows*/) { return 0; }

void tensoa_program_run(const Block* blocks, const std::int64_t* rows, void* /*workspace*/) {
  const std::int64_t nodes = rows[0];
  const std::int64_t links = rows[1];
  const auto* source = plane<const std::int64_t>(blocks[0], 0);
  const auto* target = plane<const std::int64_t>(blocks[0], 1);
  const auto* charge = plane<const float>(blocks[1], 0);
  const auto* mass = plane<const float>(blocks[1], 1);
  auto* product = plane<float>(blocks[2], 0);
  auto* total = plane<float>(blocks[3], 0);
  for (std::int64_t i = 0; i < nodes; ++i) total[i] = 0;
  for (std::int64_t i = 0; i < links; ++i) {
    product[i] = charge[source[i]] * charge[target[i]];
    total[target[i]] += mass[source[i]];
  }
}

#elif !defined(FIXTURE_NO_RUN)

std::int64_t tensoa_program_workspace(const std::int64_t* rows) {
  return rows[0] * static_cast<std::int64_t>(sizeof(float));
}

void tensoa_program_run(const Block* blocks, const std::int64_t* rows, void* workspace) {
  const auto* x = plane<const float>(blocks[0], 0);
  const auto* y = plane<const float>(blocks[0], 1);
  const auto* z = plane<const float>(blocks[0], 2);
  auto* sum = static_cast<float*>(workspace);
  for (std::int64_t i = 0; i < rows[0]; ++i) sum[i] = x[i] + 2 * y[i] + 3 * z[i];
  for (std::int64_t i = 0; i < rows[0]; ++i) {
    plane<float>(blocks[1], 1)[i] = x[i] * y[i] - z[i];
    plane<float>(blocks[1], 0)[i] = sum[i];
  }
}

#else

std::int64_t tensoa_program_workspace(const std::int64_t* /*rows*/) { return 0; }

#endif
}
