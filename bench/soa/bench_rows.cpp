// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The same loops over hand-written pointers, over columns (`v.x[i]`) and over rows
// (`row(v, i).x`), which must be equally fast.
//
// The generated loops, x86-64 (`-S`): g++ 12 and clang 16 at -O2 and -O3 make the same of all
// three. Addresses and pitches are in registers, a row leaves no trace, and where the loop over
// pointers is vectorised (clang; g++ at -O3) so are the others, behind the same test for overlap;
// tests/vectorized keeps that so. What is left are about 10 ns a call to hand over the view.
//
// Two things to know:
// - `..._by_reference`: behind a `const View&` the compiler must expect that a store of int8, uint8
//   (may alias anything) or int64 (may alias sizes) changes the view itself, so it reads address
//   and size again for each row and vectorises nothing, as with pointers in any struct. Take views
//   by value.
// - `scale` over 1 000 rows: ten streams that lie 4 096 bytes apart share one set of the L1 cache;
//   a row takes 9 times as long as with 1 100, also with pointers.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>

#include "tensoa/core/memory.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

template <template <class> class F>
struct Pull {
  F<float> x, y;
};
template <template <class> class F>
struct Point {
  F<float> x, y, z;
  F<Vector<float, 3>> direction;
  F<Matrix<float, 2, 2>> covariance;
  F<std::uint8_t> flags;
  F<Sub<Pull>> pull;
};

using Points = View<Point>;
constexpr float kFactor = 1.0000001F;

// The kernels are not inlined, so that the compiler has no more information than in a user's function.

// z = a x + y

[[gnu::noinline]] void sum_by_pointers(std::size_t n, const float* x, const float* y, float* z) {
  for (std::size_t i = 0; i < n; ++i) z[i] = kFactor * x[i] + y[i];
}
void sum_pointers(const Points& v) {
  sum_by_pointers(v.size(), v.x.data(), v.y.data(), v.z.data());
}
[[gnu::noinline]] void sum_columns(Points v) {
  for (std::size_t i = 0; i < v.size(); ++i) v.z[i] = kFactor * v.x[i] + v.y[i];
}
[[gnu::noinline]] void sum_rows(Points v) {
  for (std::size_t i = 0; i < v.size(); ++i) {
    const auto point = row(v, i);
    point.z = kFactor * point.x + point.y;
  }
}

// x = |direction|^2

[[gnu::noinline]] void norm_by_pointers(std::size_t n, const float* d, std::size_t pitch,
                                        float* x) {
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = d[i] * d[i] + d[i + pitch] * d[i + pitch] + d[i + 2 * pitch] * d[i + 2 * pitch];
  }
}
void norm_pointers(const Points& v) {
  norm_by_pointers(v.size(), v.direction.data(), v.direction.pitch_, v.x.data());
}
[[gnu::noinline]] void norm_columns(Points v) {
  for (std::size_t i = 0; i < v.size(); ++i) {
    const auto d = v.direction[i];
    v.x[i] = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
  }
}
[[gnu::noinline]] void norm_rows(Points v) {
  for (std::size_t i = 0; i < v.size(); ++i) {
    const auto [x, y, z, d, covariance, flags, pull] = row(v, i);
    x = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
  }
}

// Every field of a row by the same factor.

[[gnu::noinline]] void scale_by_pointers(std::size_t n, float* x, float* y, float* z, float* d,
                                         std::size_t d_pitch, float* c, std::size_t c_pitch) {
  for (std::size_t i = 0; i < n; ++i) {
    x[i] *= kFactor;
    y[i] *= kFactor;
    z[i] *= kFactor;
    for (std::size_t k = 0; k < 3; ++k) d[i + k * d_pitch] *= kFactor;
    for (std::size_t k = 0; k < 4; ++k) c[i + k * c_pitch] *= kFactor;
  }
}
void scale_pointers(const Points& v) {
  scale_by_pointers(v.size(), v.x.data(), v.y.data(), v.z.data(), v.direction.data(),
                    v.direction.pitch_, v.covariance.data(), v.covariance.pitch_);
}
[[gnu::noinline]] void scale_columns(Points v) {
  for (std::size_t i = 0; i < v.size(); ++i) {
    v.x[i] *= kFactor;
    v.y[i] *= kFactor;
    v.z[i] *= kFactor;
    for (std::size_t k = 0; k < 3; ++k) v.direction[i][k] *= kFactor;
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::size_t r = 0; r < 2; ++r) v.covariance[i](r, c) *= kFactor;
    }
  }
}
[[gnu::noinline]] void scale_rows(Points v) {
  for (std::size_t i = 0; i < v.size(); ++i) {
    const auto point = row(v, i);
    point.x *= kFactor;
    point.y *= kFactor;
    point.z *= kFactor;
    for (std::size_t k = 0; k < 3; ++k) point.direction[k] *= kFactor;
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::size_t r = 0; r < 2; ++r) point.covariance(r, c) *= kFactor;
    }
  }
}

// One bit of a column of bytes.

[[gnu::noinline]] void flip_by_pointers(std::size_t n, std::uint8_t* flags) {
  for (std::size_t i = 0; i < n; ++i) flags[i] ^= 1U;
}
void flip_pointers(const Points& v) { flip_by_pointers(v.size(), v.flags.data()); }
[[gnu::noinline]] void flip_columns(Points v) {
  for (std::size_t i = 0; i < v.size(); ++i) v.flags[i] ^= 1U;
}
[[gnu::noinline]] void flip_rows(Points v) {
  for (std::size_t i = 0; i < v.size(); ++i) row(v, i).flags ^= 1U;
}
[[gnu::noinline]] void flip_columns_by_reference(const Points& v) {
  for (std::size_t i = 0; i < v.size(); ++i) v.flags[i] ^= 1U;
}

// A column of the layout by one of a layout inside it.

void nested_pointers(const Points& v) {
  sum_by_pointers(v.size(), v.pull.x.data(), v.pull.y.data(), v.z.data());
}
[[gnu::noinline]] void nested_columns(Points v) {
  for (std::size_t i = 0; i < v.size(); ++i) v.z[i] = kFactor * v.pull.x[i] + v.pull.y[i];
}
[[gnu::noinline]] void nested_rows(Points v) {
  for (std::size_t i = 0; i < v.size(); ++i) {
    const auto point = row(v, i);
    point.z = kFactor * point.pull.x + point.pull.y;
  }
}

template <class Kernel>
void run(benchmark::State& state, Kernel kernel) {
  PortableCollection<Point> points(state.range(0), Device::cpu());
  zero_bytes(Queue(Device::cpu()), points.data(), points.bytes());
  for (auto _ : state) {
    kernel(points.view());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

#define TENSOA_BENCH(kernel) BENCHMARK_CAPTURE(run, kernel, kernel)->Arg(1'000)->Arg(100'000)
TENSOA_BENCH(sum_pointers);
TENSOA_BENCH(sum_columns);
TENSOA_BENCH(sum_rows);
TENSOA_BENCH(norm_pointers);
TENSOA_BENCH(norm_columns);
TENSOA_BENCH(norm_rows);
TENSOA_BENCH(scale_pointers);
TENSOA_BENCH(scale_columns);
TENSOA_BENCH(scale_rows);
TENSOA_BENCH(flip_pointers);
TENSOA_BENCH(flip_columns);
TENSOA_BENCH(flip_rows);
TENSOA_BENCH(flip_columns_by_reference);
TENSOA_BENCH(nested_pointers);
TENSOA_BENCH(nested_columns);
TENSOA_BENCH(nested_rows);

}  // namespace
}  // namespace tensoa
