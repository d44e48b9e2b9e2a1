// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// Over the numbers of a row.
#include "sums.cuh"

template <int T, class Function>
__device__ __forceinline__ Scalar reduce(const Fragment<T>& x, float start, Function function) {
  Scalar result;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = start;
#pragma unroll(unroll(T))
    for (int first = 0; first < T; first += 8) {  // in blocks: few roundings follow one another
      float part = function(x.at[first][2 * r], x.at[first][2 * r + 1]);
#pragma unroll(unroll(T))
      for (int n = first + 1; n < min(first + 8, T); ++n)
        part = function(part, function(x.at[n][2 * r], x.at[n][2 * r + 1]));
      sum = function(sum, part);
    }
    sum = function(sum, __shfl_xor_sync(kAll, sum, 1));
    result.at[r] = function(sum, __shfl_xor_sync(kAll, sum, 2));
  }
  return result;
}

// Layer normalisation; padding of x, gain and shift is zero. `Centered`: the mean of x is zero, but for
// roundings. Where `mean` is not quite the mean, `offset` is what it is off (the corrected two-pass
// algorithm of Chan, Golub and LeVeque, 1983); `rest`, what float32 leaves out of their sum: of numbers far
// from zero half a last place of the mean, which may be as large as the deviations. Zero of equal numbers.
template <class Layout, bool Centered, int T>
__device__ __forceinline__ Fragment<T> norm(Fragment<T> x, Vector gain, Vector shift, int width,
                                            float epsilon, const Warp& warp) {
  const float share = 1.f / static_cast<float>(width);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = 0.f, squares = 0.f, offset = 0.f, mean = 0.f;
    if constexpr (!Centered) {
#pragma unroll(unroll(T))
      for (int n = 0; n < T; ++n) sum += x.at[n][2 * r] + x.at[n][2 * r + 1];
      mean = quad_sum(sum) * share;
    }
#pragma unroll(unroll(T))
    for (int n = 0; n < T; ++n) {
#pragma unroll
      for (int i = 2 * r; i < 2 * r + 2; ++i) {
        const float apart = is_valid<Layout>(n, i, warp.quad) ? x.at[n][i] - mean : 0.f;
        squares = fmaf(apart, apart, squares);
        offset += apart;
      }
    }
    const float total = quad_sum(offset);
    offset = total * share;
    offset = fmaf(fmaf(-offset, static_cast<float>(width), total), share, offset);  // total / width
    const float variance = maximum(fmaf(-offset, offset, quad_sum(squares) * share), 0.f);
    const float scale = rsqrtf(variance + epsilon);
    const float corrected = mean + offset, rest = (offset - (corrected - mean)) * scale;
#pragma unroll(unroll(T))
    for (int n = 0; n < T; ++n) {
#pragma unroll
      for (int i = 2 * r; i < 2 * r + 2; ++i) {
        const float apart = is_valid<Layout>(n, i, warp.quad) ? x.at[n][i] - corrected : 0.f;
        x.at[n][i] = fmaf(fmaf(apart, scale, -rest), gain.at(n, i), shift.at(n, i));
      }
    }
  }
  return x;
}
