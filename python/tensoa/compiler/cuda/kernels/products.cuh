// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// Products with constant weights, whose accumulators are in registers: sixteen items at a time, as layers.cuh has rows of a
// tile. An item is a row, or an element of a batch of a row.
#include "numbers.cuh"

// The K numbers of two items: `at(r, k)` is number k of item r.
template <int K, class At>
struct Items {
  static constexpr int tiles = (K + 7) / 8;
  At at;
  int quad;

  __device__ float number(int r, int k) const { return K % 8 == 0 || k < K ? at(r, k) : 0.f; }
  __device__ void pair(int q, float (&x)[8]) const {
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] = number(i / 2 % 2, 16 * q + 8 * (i / 4) + 2 * quad + (i & 1));
  }
  __device__ void last(float (&x)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = number(i / 2, 8 * (tiles - 1) + 2 * quad + (i & 1));
  }
};
template <int K, class At>
__device__ __forceinline__ Items<K, At> items_of(At at, const Warp& warp) {
  return {at, warp.quad};
}

// store(item, output, number) of the accumulators of items from `base` on and of outputs from tile `first` on.
template <int C, class Store>
__device__ __forceinline__ void each_of(const Fragment<C>& c, int base, int items, int first,
                                        int outputs, const Warp& warp, Store store) {
#pragma unroll
  for (int n = 0; n < C; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int item = base + 8 * (i / 2) + warp.group;
      const int output = 8 * (first + n) + 2 * warp.quad + (i & 1);
      if (item < items && output < outputs) store(item, output, c.at[n][i]);
    }
  }
}
