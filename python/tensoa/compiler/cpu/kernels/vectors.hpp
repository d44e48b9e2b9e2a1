// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
/// The parts that C++ programs are made of. The texts of this folder, one behind the other, begin every program; this is the first
/// of them: vectors, and what a stage works with.
///
/// A stage works on rows in one of two layouts. `tile`: up to 48 rows, one element after the other, whose vectors are rows. `few`:
/// up to 4 rows, one row after the other, whose vectors are elements, which is faster where only few rows are left.
/// Both read the same weights, packed by constants.py in blocks of 16 outputs: 16 biases, then 16 weights for each input.
///
/// generate.py puts `kBlock` (outputs of a block of packed weights; rows of memory are padded to it) and `kTileRows` before
/// this text.
///
/// Functions round after each operation, as those of a framework do (-ffp-contract=off). What is one sum of products, and the
/// polynomials of functions, call fused(), a * b + c that is rounded once.
///
/// For x86-64-v3 (vectors of 8) and x86-64-v4 (vectors of 16); no libraries but libm and libc.
/// Register blocking: 3 vectors of rows by the outputs that fit the registers (the documentation of BLIS and oneDNN explains why).
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

extern "C" {
struct tensoa_block {
  void* data;
  std::int64_t pitch;
};
}

namespace {

#ifdef __AVX512F__
constexpr int kLanes = 16;
constexpr int kOutputs = 8;  // of a register block of a tile
constexpr int kFewRows = 4;  // of a register block of few rows
#else
constexpr int kLanes = 8;
constexpr int kOutputs = 4;
constexpr int kFewRows = 2;
#endif

using V = float __attribute__((vector_size(kLanes * 4)));
using I = std::int32_t __attribute__((vector_size(kLanes * 4)));
using Unaligned = float __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

/// A buffer between stages: rows of `pitch` numbers.
struct Memory {
  float* data;
  std::int64_t pitch;
  std::int64_t rows;
};

/// The rows of a buffer that an index names.
struct IndexedRows {
  const Memory* memory;
  const std::int64_t* index;
};

/// What a stage works with.
struct Call {
  const tensoa_block* blocks;
  const std::int64_t* rows;  // of each collection
};

template <class T>
inline T* plane(const Call& call, int block, std::int64_t place) {
  return static_cast<T*>(call.blocks[block].data) + place * call.blocks[block].pitch;
}

/// f of `value`, which is from 1 to kCount, as a constant.
template <int kCount, class F>
inline void with_constant(int value, F f) {
  [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) {
    ((value == kIndex + 1 ? f(std::integral_constant<int, kIndex + 1>{}) : void()), ...);
  }(std::make_integer_sequence<int, kCount>{});
}

// ---- vectors

inline V load(const float* p) { return *reinterpret_cast<const Unaligned*>(p); }
inline void store(float* p, V x) { *reinterpret_cast<Unaligned*>(p) = x; }
// Not `V{} + x`: GCC keeps that addition.
#ifdef __AVX512F__
inline V all(float x) { return _mm512_set1_ps(x); }
inline V fused(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
inline V square_root(V x) { return _mm512_sqrt_ps(x); }
inline V largest(V a, V b) { return _mm512_max_ps(a, b); }  // b where one is not a number
inline V smallest(V a, V b) { return _mm512_min_ps(a, b); }
inline bool is_any_not_above(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_NGT_UQ); }
template <int kMode>
inline V rounded(V x) {
  return _mm512_roundscale_ps(x, kMode);
}
#else
inline V all(float x) { return _mm256_set1_ps(x); }
inline V fused(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
inline V square_root(V x) { return _mm256_sqrt_ps(x); }
inline V largest(V a, V b) { return _mm256_max_ps(a, b); }
inline V smallest(V a, V b) { return _mm256_min_ps(a, b); }
inline bool is_any_not_above(V a, V b) {
  return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NGT_UQ));
}
template <int kMode>
inline V rounded(V x) {
  return _mm256_round_ps(x, kMode);
}
#endif
inline V from_bits(I x) { return reinterpret_cast<V>(x); }
inline I bits(V x) { return reinterpret_cast<I>(x); }
inline I whole(int x) { return I{} + x; }

template <int... kIndex>
constexpr I lane_numbers(std::integer_sequence<int, kIndex...>) {
  return I{kIndex...};
}
inline I lanes() { return lane_numbers(std::make_integer_sequence<int, kLanes>{}); }

/// `f(x)` in every lane: rare functions, by libm.
template <class F>
inline V each(F f, V x) {
  for (int i = 0; i < kLanes; ++i) x[i] = f(x[i]);
  return x;
}

/// Numbers of memory by their places.
inline V gathered(const float* from, I at) {
#ifdef __AVX512F__
  return _mm512_i32gather_ps(reinterpret_cast<__m512i>(at), from, sizeof(float));
#else
  return _mm256_i32gather_ps(from, reinterpret_cast<__m256i>(at), sizeof(float));
#endif
}

template <int kDegree>
inline V polynomial(const float (&c)[kDegree], V x) {
  V y = all(c[kDegree - 1]);
  for (int i = kDegree - 2; i >= 0; --i) y = fused(y, x, all(c[i]));
  return y;
}

}  // namespace
