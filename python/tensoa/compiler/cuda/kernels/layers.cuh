// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// Linear layers.
//
// A scheme multiplies two tiles of 16 rows, 8 or 16 numbers deep, with the packed weights of C
// tiles of outputs, from tile `first` on. pack_weights() of weights.py has the same orders of the weights.
#include "columns.cuh"

struct Packed {
  const char* weights;
  int tiles, depth,
      outputs;  // tiles of inputs; how many of their numbers there are; tiles of outputs

  // Past the last tile of outputs the last one is computed again, and dropped: no branch keeps
  // loads from running ahead.
  __device__ int tile(int n) const { return min(n, outputs - 1); }
};

// The nearest tf32 number by integer arithmetic: conversions run at a quarter of the rate. The bits of
// a NaN would carry over into a zero.
__device__ __forceinline__ unsigned to_tf32(float x) {
  return x == x ? (__float_as_uint(x) + 0x1000u) & 0xffffe000u : 0x7fffe000u;
}

// A scheme that multiplies one tile after the other.
template <class Scheme>
struct OneByOne {
  template <int C>
  static __device__ __forceinline__ void pair(float (&c)[C][4], const float (&x)[8],
                                              const Packed& w, int q, int first, const Warp& warp) {
    Scheme::one(c, x, w, 2 * q, first, warp);
    Scheme::one(c, x + 4, w, 2 * q + 1, first, warp);
  }
  template <int C>
  static __device__ __forceinline__ void last(float (&c)[C][4], const float (&x)[4],
                                              const Packed& w, int first, const Warp& warp) {
    Scheme::one(c, x, w, w.tiles - 1, first, warp);
  }
};

struct Tf32 : OneByOne<Tf32> {
  static constexpr int kMostTiles = 24;
  template <int C>
  static __device__ __forceinline__ void one(float (&c)[C][4], const float* x, const Packed& w,
                                             int k, int first, const Warp& warp) {
    const unsigned a[4] = {to_tf32(x[0]), to_tf32(x[2]), to_tf32(x[1]), to_tf32(x[3])};
#pragma unroll
    for (int n = 0; n < C; ++n) {
      const uint2 b = reinterpret_cast<const uint2*>(
          w.weights)[(k * w.outputs + w.tile(first + n)) * 32 + warp.lane];
      mma_tf32(c[n], a, b.x, b.y);
    }
  }
};

// Three products of float16 pieces, high * high + high * low + low * high: float32's accuracy. x is
// Scaled. The high piece of an infinity is finite: its low piece is infinite, and is multiplied with the
// high piece of the weight, which is zero only where the weight is.
struct Half3 {
  static constexpr int kMostTiles = 24;
  static __device__ __forceinline__ void split(float x, float y, unsigned& high, unsigned& low) {
    high = to_finite_halves(x, y);
    low = to_halves(x - half_to_float(static_cast<unsigned short>(high)),
                    y - half_to_float(static_cast<unsigned short>(high >> 16)));
  }
  template <int C>
  static __device__ __forceinline__ void pair(float (&c)[C][4], const float (&x)[8],
                                              const Packed& w, int q, int first, const Warp& warp) {
    unsigned high[4], low[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) split(x[2 * i], x[2 * i + 1], high[i], low[i]);
#pragma unroll
    for (int n = 0; n < C; ++n) {
      const uint4 b = reinterpret_cast<const uint4*>(
          w.weights)[(q * w.outputs + w.tile(first + n)) * 32 + warp.lane];
      mma_f16(c[n], low, b.x, b.y);
      mma_f16(c[n], high, b.z, b.w);
      mma_f16(c[n], high, b.x, b.y);
    }
  }
  template <int C>
  static __device__ __forceinline__ void last(float (&c)[C][4], const float (&x)[4],
                                              const Packed& w, int first, const Warp& warp) {
    const uint2* from = reinterpret_cast<const uint2*>(w.weights + w.tiles / 2 * w.outputs * 512);
    unsigned high[2], low[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) split(x[2 * i], x[2 * i + 1], high[i], low[i]);
#pragma unroll
    for (int n = 0; n < C; ++n) {
      const uint2 b = from[w.tile(first + n) * 32 + warp.lane];
      mma_f16(c[n], low, b.x);
      mma_f16(c[n], high, b.y);
      mma_f16(c[n], high, b.x);
    }
  }
};

struct Bf16 {
  static constexpr int kMostTiles = 24;
  template <int C>
  static __device__ __forceinline__ void pair(float (&c)[C][4], const float (&x)[8],
                                              const Packed& w, int q, int first, const Warp& warp) {
    unsigned a[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = to_bfloats(x[2 * i], x[2 * i + 1]);
#pragma unroll
    for (int n = 0; n < C; ++n) {
      const uint2 b = reinterpret_cast<const uint2*>(
          w.weights)[(q * w.outputs + w.tile(first + n)) * 32 + warp.lane];
      mma_bf16(c[n], a, b.x, b.y);
    }
  }
  template <int C>
  static __device__ __forceinline__ void last(float (&c)[C][4], const float (&x)[4],
                                              const Packed& w, int first, const Warp& warp) {
    const unsigned* from =
        reinterpret_cast<const unsigned*>(w.weights + w.tiles / 2 * w.outputs * 256);
    unsigned a[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) a[i] = to_bfloats(x[2 * i], x[2 * i + 1]);
#pragma unroll
    for (int n = 0; n < C; ++n) {
      mma_bf16(c[n], a, from[w.tile(first + n) * 32 + warp.lane]);
    }
  }
};

// float32 multiply and add: numbers of x go round the quad. For "ieee", and for few inputs, where
// it is the fastest.
struct Fma : OneByOne<Fma> {
  static constexpr int kMostTiles =
      2;  // of inputs, whose loop is unrolled: the code would grow without end
  template <int C>
  static __device__ __forceinline__ void one(float (&c)[C][4], const float* x, const Packed& w,
                                             int k, int first, const Warp& warp) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (8 * k + i >= w.depth) break;
      const int source = (warp.lane & ~3) | (i / 2);
      const float x0 = __shfl_sync(kAll, x[i & 1], source),
                  x1 = __shfl_sync(kAll, x[2 + (i & 1)], source);
#pragma unroll
      for (int n = 0; n < C; ++n) {
        const float2 b = reinterpret_cast<const float2*>(
            w.weights)[((8 * k + i) * w.outputs + w.tile(first + n)) * 4 + warp.quad];
        c[n][0] = fmaf(x0, b.x, c[n][0]);
        c[n][1] = fmaf(x0, b.y, c[n][1]);
        c[n][2] = fmaf(x1, b.x, c[n][2]);
        c[n][3] = fmaf(x1, b.y, c[n][3]);
      }
    }
  }
};

// A power of two for each row that brings its largest number to 2^13 ... 2^14, and its inverse: then
// pieces of float16 hold every float32 number of the row to 2^-38 of the largest one, or to 2^-22 of
// itself. `unit`: the inverse of what the weights were multiplied by, a Vector with one for each
// output, or One, where it is part of `inverse`.
struct One {};
__device__ __forceinline__ float element(One, int, int) { return 1.f; }
__device__ __forceinline__ float element(const Vector& x, int n, int i) { return x.at(n, i); }

template <class Unit>
struct Scale {
  float factor[2], inverse[2];
  Unit unit;

  // `most`: of the factor's exponent, with that of floats.
  __device__ Scale(const Scalar& largest, Unit unit, float back, int most) : unit(unit) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int exponent = min(267 - int(__float_as_uint(largest.at[r]) >> 23), most);
      factor[r] = __uint_as_float(unsigned(exponent) << 23);
      inverse[r] = __uint_as_float(unsigned(254 - exponent) << 23) * back;
    }
  }
};

struct Unscaled {};

template <class Source, class Scale>
struct Scaled {
  static constexpr int tiles = Source::tiles;
  const Source& from;
  const Scale& scale;

  __device__ void pair(int q, float (&x)[8]) const {
    from.pair(q, x);
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] *= scale.factor[i / 2 % 2];
  }
  __device__ void last(float (&x)[4]) const {
    from.last(x);
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] *= scale.factor[i / 2];
  }
};

template <class Source, class Scale>
__device__ __forceinline__ Scaled<Source, Scale> scaled(const Source& from, const Scale& scale) {
  return {from, scale};
}

// Numbers times one for each place of the row.
template <class Source>
struct Balanced {
  static constexpr int tiles = Source::tiles;
  const Source& from;
  Vector factors;

  __device__ void pair(int q, float (&x)[8]) const {
    from.pair(q, x);
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] *= factors.at(2 * q + i / 4, i);
  }
  __device__ void last(float (&x)[4]) const {
    from.last(x);
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] *= factors.at(tiles - 1, i);
  }
};

template <class Source>
__device__ __forceinline__ Balanced<Source> balanced(const Source& from, Vector factors) {
  return {from, factors};
}

// pair(q, eight numbers) of two tiles at a time, then last(four numbers) of one that is left.
template <int kUnrolled, class Source, class Pair, class Last>
__device__ __forceinline__ void each_pair(const Source& x, Pair pair, Last last) {
  constexpr int T = Source::tiles;
#pragma unroll(kUnrolled)
  for (int q = 0; q < T / 2; ++q) {
    float eight[8];
    x.pair(q, eight);
    pair(q, eight);
  }
  if constexpr (T % 2) {
    float four[4];
    x.last(four);
    last(four);
  }
}

// Takes what this lane holds of x into the largest absolute value of each row.
template <class Source>
__device__ __forceinline__ void widen(Scalar& largest, const Source& x) {
  const auto take = [&](int r, float number) {
    largest.at[r] = fmaxf(largest.at[r], fabsf(number));
  };
  each_pair<unroll(Source::tiles)>(
      x,
      [&](int, const float(&eight)[8]) {
#pragma unroll
        for (int i = 0; i < 8; ++i) take(i / 2 % 2, eight[i]);
      },
      [&](const float(&four)[4]) {
#pragma unroll
        for (int i = 0; i < 4; ++i) take(i / 2, four[i]);
      });
}

__device__ __forceinline__ Scalar of_quad(Scalar largest) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    largest.at[r] = fmaxf(largest.at[r], __shfl_xor_sync(kAll, largest.at[r], 1));
    largest.at[r] = fmaxf(largest.at[r], __shfl_xor_sync(kAll, largest.at[r], 2));
  }
  return largest;
}

constexpr int kMostExponent = 253;  // its inverse is a float
__device__ __forceinline__ Scale<One> scale_of(const Scalar& largest, float back, int most) {
  return {of_quad(largest), One{}, back, min(most, kMostExponent)};
}
__device__ __forceinline__ Scale<Vector> scale_of(const Scalar& largest, Vector units) {
  return {of_quad(largest), units, 1.f, kMostExponent};
}

// Adds to C tiles of outputs, from tile `first` on, what the numbers of x contribute. `kUnrolled`: pairs of tiles at a time; 0:
// the number that the scheme is made for.
template <class Scheme, int kUnrolled = 0, int C, class Source>
__device__ __forceinline__ void accumulate(Fragment<C>& c, const Source& x, const Packed& w,
                                           int first, const Warp& warp) {
  constexpr int T = Source::tiles, kOfScheme = Scheme::kMostTiles < T ? 1 : unroll(T);
  each_pair<kUnrolled ? kUnrolled : kOfScheme>(
      x, [&](int q, const float(&eight)[8]) { Scheme::pair(c.at, eight, w, q, first, warp); },
      [&](const float(&four)[4]) { Scheme::last(c.at, four, w, first, warp); });
}

// C tiles of outputs from tile `first` on, of `outputs`: the bias and what `body(c, first)`
// accumulates.
template <int C, class Body>
__device__ __forceinline__ Fragment<C> part_of_linear(int outputs, Vector bias, Unscaled, int first,
                                                      Body body) {
  Fragment<C> c;
#pragma unroll
  for (int n = 0; n < C; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) c.at[n][i] = bias.at(min(first + n, outputs - 1), i);
  }
  body(c, first);
  return c;
}

template <int C, class Unit, class Body>
__device__ __forceinline__ Fragment<C> part_of_linear(int outputs, Vector bias,
                                                      const Scale<Unit>& scale, int first,
                                                      Body body) {
  Fragment<C> c{};
  body(c, first);
#pragma unroll
  for (int n = 0; n < C; ++n) {
    const int at = min(first + n, outputs - 1);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      c.at[n][i] =
          fmaf(c.at[n][i] * element(scale.unit, at, i), scale.inverse[i / 2], bias.at(at, i));
    }
  }
  return c;
}

// N tiles of outputs, C at a time.
template <int N, int C, class Scaling, class Body>
__device__ __forceinline__ Fragment<N> linear(Vector bias, const Scaling& scaling, Body body) {
  Fragment<N> result;
#pragma unroll(unroll(N))
  for (int first = 0; first < N; first += C) {
    const Fragment<C> c = part_of_linear<C>(N, bias, scaling, first, body);
#pragma unroll
    for (int n = 0; n < C; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (first + n < N) result.at[first + n][i] = c.at[n][i];
      }
    }
  }
  return result;
}

// The same by all warps of a tile together, in rounds of C tiles of outputs each. `exchange` has two
// rooms of `room` tiles, which take turns, from `turn` on: a warp may still read the last one while
// another writes.
template <int N, int C, class Scaling, class Body>
__device__ __forceinline__ Fragment<N> linear_together(Vector bias, const Scaling& scaling,
                                                       float4 (*exchange)[32], int room, int turn,
                                                       const Warp& warp, Body body) {
  Fragment<N> result;
  for (int begin = 0; begin < N; begin += C * warp.parts, turn ^= 1) {
    float4(*const mine)[32] = exchange + turn * room;
    const int first = begin + warp.part * C;
    if (first < N) {
      const Fragment<C> c = part_of_linear<C>(N, bias, scaling, first, body);
#pragma unroll
      for (int n = 0; n < C; ++n) {
        if (first + n < N)
          mine[first + n - begin][warp.lane] =
              make_float4(c.at[n][0], c.at[n][1], c.at[n][2], c.at[n][3]);
      }
    }
    __syncthreads();
#pragma unroll(unroll(N))
    for (int n = begin; n < min(N, begin + C * warp.parts); ++n) {
      const float4 four = mine[n - begin][warp.lane];
      result.at[n][0] = four.x;
      result.at[n][1] = four.y;
      result.at[n][2] = four.z;
      result.at[n][3] = four.w;
    }
  }
  return result;
}

// The same where the outputs are only stored, as rows of a buffer: C is even, and nothing is
// exchanged. `turn`: the warp that begins.
template <class Layout, int N, int C, class Scaling, class Body>
__device__ __forceinline__ void linear_stored(void* buffer, Vector bias, const Scaling& scaling,
                                              int turn, const Tile& tile, const Warp& warp,
                                              Body body) {
  for (int at = (warp.part + turn) % warp.parts; at * C < N; at += warp.parts) {
    const int first = at * C;
    Fragment<C> c = part_of_linear<C>(N, bias, scaling, first, body);
    clear_padding<Layout>(c, warp, 0.f, first);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (!tile.inside[r]) continue;
      float* row = static_cast<float*>(buffer) + tile.row[r] * (8 * N) + 8 * first;
#pragma unroll
      for (int n = 0; n < C; n += 2) {
        if (first + n + 1 < N) {
          *reinterpret_cast<float4*>(row + 8 * n + 4 * warp.quad) = make_float4(
              c.at[n][2 * r], c.at[n][2 * r + 1], c.at[n + 1][2 * r], c.at[n + 1][2 * r + 1]);
        } else if (first + n < N) {
          *reinterpret_cast<float2*>(row + 8 * n + 2 * warp.quad) =
              make_float2(c.at[n][2 * r], c.at[n][2 * r + 1]);
        }
      }
    }
  }
}

// One output: this lane's share of the sum. finish() adds those of the quad.
template <class Source>
__device__ __forceinline__ void dot(Scalar& sum, const Source& x, Vector weights) {
  const auto add = [&](int r, float number, float weight) {
    sum.at[r] = fmaf(number, weight, sum.at[r]);
  };
  each_pair<unroll(Source::tiles)>(
      x,
      [&](int q, const float(&eight)[8]) {
#pragma unroll
        for (int i = 0; i < 8; ++i) add(i / 2 % 2, eight[i], weights.at(2 * q + i / 4, i));
      },
      [&](const float(&four)[4]) {
#pragma unroll
        for (int i = 0; i < 4; ++i) add(i / 2, four[i], weights.at(Source::tiles - 1, i));
      });
}

__device__ __forceinline__ Scalar finish(const Scalar& sum, float bias) {
  return {{quad_sum(sum.at[0]) + bias, quad_sum(sum.at[1]) + bias}};
}

// Brings `bytes` (a multiple of 16) of packed weights into the block's shared memory: all of them are on their way at a time.
__device__ __forceinline__ void stage_weights(char* shared, const char* weights, int bytes) {
  for (int i = 16 * threadIdx.x; i < bytes; i += 16 * blockDim.x)
    copy_to_shared(shared + i, weights + i);
  wait_for_copies();
  __syncthreads();
}
