// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// What the kernels of a program are made of: the texts of this folder, one behind the other, after instructions.cuh.
// Compiled by NVRTC, so without any header. generate.py puts the lengths of Params, kTileRows and kRegisterTiles
// before it.
//
// A warp (or, where `Warp::parts` > 1, the warps of a block together) owns a tile of 16 rows. A
// value of those rows lies in registers as the accumulators of mma.sync lie: numbers are cut into
// tiles of 8; lane 4 g + t holds, of tile n, the numbers 8 n + 2 t and 8 n + 2 t + 1 of row g
// (elements 0, 1) and of row g + 8 (elements 2, 3). In this order the result of one layer is,
// unmoved, the left operand of the next one (for tf32 the weights are packed in another order to
// fit). Values wider than the registers hold live in local memory: same code, loops that are not
// unrolled.
//
// Rows past the last one of the domain are computed as that row, and never written.

using int64 = long long;

// What a kernel is launched with. A block is planes `pitch` elements apart, from the first in
// memory. The lengths stand before this text: exactly those of the program, because the driver copies
// all of it with every launch.
struct Params {
  void* block[kBlocks];
  int64 pitch[kBlocks];
  int64 rows[kDomains];
  void* buffer[kBuffers];
  const void* weights;
};

constexpr unsigned kAll = 0xffffffffu;

// How often loops over `tiles` tiles are unrolled: fully while a value fits in registers.
constexpr int unroll(int tiles) { return tiles <= kRegisterTiles ? tiles : 1; }

struct Warp {
  int lane, group, quad;  // lane = 4 * group + quad
  int part, parts;        // which of the warps that own the tile together; 0 and 1 where one does

  __device__ Warp(int part, int parts)
      : lane(threadIdx.x & 31), group(lane >> 2), quad(lane & 3), part(part), parts(parts) {}
};

struct Tile {
  int64 row[2];
  bool inside[2];

  __device__ Tile(int64 tile, int64 rows, const Warp& warp) {
    for (int r = 0; r < 2; ++r) {
      const int64 at = tile * kTileRows + 8 * r + warp.group;
      inside[r] = at < rows;
      row[r] = inside[r] ? at : rows - 1;
    }
  }
};

template <int T>
struct Fragment {
  static constexpr int tiles = T;
  float at[T][4];

  __device__ void pair(int q, float (&x)[8]) const {
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] = at[2 * q + i / 4][i % 4];
  }
  __device__ void last(float (&x)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = at[T - 1][i];
  }
};

template <int K>
struct alignas(4 * K) Numbers {  // neighbours in memory, read and written together
  float at[K];
};

struct Scalar {  // one number for each row, in all lanes of the row
  float at[2];
};

struct Index {  // a row each, or -1: none
  int at[2];
};

__device__ __forceinline__ float not_a_number() { return __int_as_float(0x7fffffff); }

// The same numbers in every row, in the order of the tiles.
struct Vector {
  const float* numbers;
  int quad;
  __device__ float at(int n, int i) const {
    const float2 two = reinterpret_cast<const float2*>(numbers)[4 * n + quad];
    return i & 1 ? two.y : two.x;
  }
};

// Which positions of each tile hold numbers: bit c of valid(n). The others are padding, zero where a
// value is "clean". What follows from infinities is not: zero times an infinity is not a number.
template <class Layout>
__device__ __forceinline__ bool is_valid(int n, int i, int quad) {
  return Layout::valid(n) == 0xffu || (Layout::valid(n) >> (2 * quad + (i & 1)) & 1u);
}

template <class Layout, int T>
__device__ __forceinline__ void clear_padding(Fragment<T>& x, const Warp& warp, float padding = 0.f,
                                              int first = 0) {
#pragma unroll(unroll(T))
  for (int n = 0; n < T; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (!is_valid<Layout>(first + n, i, warp.quad)) x.at[n][i] = padding;
    }
  }
}

__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(kAll, x, 1);
  return x + __shfl_xor_sync(kAll, x, 2);
}

// ---- functions of numbers, as torch defines them (NaN stays NaN) ----

__device__ __forceinline__ float sigmoid(float x) { return 1.f / (1.f + expf(-x)); }

__device__ __forceinline__ float power_of_two(int exponent) {  // -126 ... 127
  return __uint_as_float(unsigned(exponent + 127) << 23);
}
// Exact at powers of two, at whole numbers, and at powers of ten: the function that CUDA has is only
// asked where that follows from its values at 1 and 0, or from float64.
__device__ __forceinline__ float exact_log2(float x) {
  const unsigned bits = __float_as_uint(x);
  if (bits - 1u >= 0x7f800000u - 1u) return log2f(x);  // no finite number above zero
  const bool is_small = bits < 0x00800000u;
  const unsigned wide = is_small ? __float_as_uint(x * 8388608.f) : bits;
  // The number as 2^exponent times what is near 1: from sqrt(1/2) on.
  const int exponent = int(wide - 0x3f3504f3u) >> 23;
  const float near_one = __uint_as_float(wide - (unsigned(exponent) << 23));
  return float(exponent - (is_small ? 23 : 0)) + log2f(near_one);
}
__device__ __forceinline__ float exact_log10(float x) { return float(log10(double(x))); }
__device__ __forceinline__ float exact_exp2(float x) {
  const float whole = rintf(fminf(fmaxf(x, -200.f), 200.f));
  const int half = int(whole) / 2;  // in two steps: results may be subnormal
  return exp2f(x - whole) * power_of_two(half) * power_of_two(int(whole) - half);
}

template <int T>
__device__ __forceinline__ Fragment<T> filled(float x) {
  Fragment<T> result;
#pragma unroll(unroll(T))
  for (int n = 0; n < T; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) result.at[n][i] = x;
  }
  return result;
}

// ---- moving numbers between places of the tiles ----

// Number `column` of all rows, for all lanes.
template <int T>
__device__ __forceinline__ Scalar take(const Fragment<T>& x, int column, const Warp& warp) {
  const int source = (warp.lane & ~3) | (column % 8 / 2), n = column / 8, odd = column & 1;
  return {{__shfl_sync(kAll, x.at[n][odd], source), __shfl_sync(kAll, x.at[n][2 + odd], source)}};
}

template <int T>
__device__ __forceinline__ void put(Fragment<T>& x, int column, const Scalar& number,
                                    const Warp& warp) {
  const int n = column / 8, odd = column & 1;
  if (warp.quad == column % 8 / 2) {
    x.at[n][odd] = number.at[0];
    x.at[n][2 + odd] = number.at[1];
  }
}

// Tiles of `from` become those of `to` from tile `first` on.
template <int N, int T>
__device__ __forceinline__ void place(Fragment<N>& to, int first, const Fragment<T>& from) {
#pragma unroll(unroll(T))
  for (int n = 0; n < T; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) to.at[first + n][i] = from.at[n][i];
  }
}

template <int First, int T, int N>
__device__ __forceinline__ Fragment<T> cut(const Fragment<N>& from) {
  Fragment<T> result;
#pragma unroll(unroll(T))
  for (int n = 0; n < T; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) result.at[n][i] = from.at[First + n][i];
  }
  return result;
}
