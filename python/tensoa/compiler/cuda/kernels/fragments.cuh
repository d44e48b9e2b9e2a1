// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// Sixteen rows of a warp in registers: numbers lie in a Fragment in an order of their own (fragments.py), so that four
// neighbours in memory are numbers of one lane; or each number lies in all lanes of its row.
#include "products.cuh"

// Numbers of any type, each in all lanes of its row before, as those of a Fragment lie.
template <int T, class N>
struct Spread {
  N at[T][4];
};
template <int T, int K, class N>
__device__ __forceinline__ Spread<T, N> spread_over(const N (&)[K][2]) {
  return {};
}
template <int T, class N>
__device__ __forceinline__ void put(Spread<T, N>& x, int column, const N (&number)[2],
                                    const Warp& warp) {
  const int n = column / 8, odd = column & 1;
  if (warp.quad == column % 8 / 2) {
    x.at[n][odd] = number[0];
    x.at[n][2 + odd] = number[1];
  }
}

// ---- rows of memory: `first` is the number in the row that position 0 of tile n has

template <int T>
__device__ __forceinline__ void read_four(Fragment<T>& x, int n, const float* const (&row)[2],
                                          int first, const Warp& warp) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float4 four = *reinterpret_cast<const float4*>(row[r] + first + 4 * warp.quad);
    x.at[n][2 * r] = four.x;
    x.at[n][2 * r + 1] = four.y;
    x.at[n + 1][2 * r] = four.z;
    x.at[n + 1][2 * r + 1] = four.w;
  }
}
template <int T>
__device__ __forceinline__ void read_some(Fragment<T>& x, int n, const float* const (&row)[2],
                                          int first, int count, const Warp& warp) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int at = 2 * warp.quad + (i & 1);
    x.at[n][i] = at < count ? row[i / 2][first + at] : 0.f;
  }
}

// Row r of a fragment.
template <int T>
__device__ __forceinline__ void write_four(const Fragment<T>& x, int n, int r, float* row,
                                           int first, const Warp& warp) {
  *reinterpret_cast<float4*>(row + first + 4 * warp.quad) =
      make_float4(x.at[n][2 * r], x.at[n][2 * r + 1], x.at[n + 1][2 * r], x.at[n + 1][2 * r + 1]);
}
template <int T>
__device__ __forceinline__ void write_some(const Fragment<T>& x, int n, int r, float* row,
                                           int first, int count, const Warp& warp) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int at = 2 * warp.quad + i;
    if (at < count) row[first + at] = x.at[n][2 * r + i];
  }
}

// ---- rows that are joined to memory

// Which of eight rows have the place of the row before: these are joined in the warp first, where there are few such runs.
struct Runs {
  int to[2], run[2], group;  // to: -1: none, or another lane joins it
  bool inside[2], is_joined[2];

  __device__ Runs(const Index& place, const Tile& tile, const Warp& warp) : group(warp.group) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int before = __shfl_up_sync(kAll, place.at[r], 4);
      const bool is_first = warp.group == 0 || before != place.at[r];
      const unsigned firsts = __ballot_sync(kAll, is_first);
      inside[r] = tile.inside[r];
      is_joined[r] = __popc(firsts) <= 4 * 4;
      to[r] = inside[r] && (is_first || !is_joined[r]) ? place.at[r] : -1;
      run[r] = __popc(firsts & (kAll >> (31 - warp.lane)) & (0x11111111u << warp.quad));
    }
  }

  // Whether the row 1, 2 and 4 behind row r is of its run.
  struct Same {
    bool is[3];
    __device__ Same(int run, int group) {
#pragma unroll
      for (int step = 0; step < 3; ++step)
        is[step] = __shfl_down_sync(kAll, run, 4 << step) == run && group + (1 << step) < 8;
    }
  };
  // Row r of a lane with those behind it.
  template <class J, class T>
  __device__ T with_others(T x, T start, int r, const Same& same) const {
    x = inside[r] ? x : start;
#pragma unroll
    for (int step = 0; step < 3; ++step) {
      const T other = __shfl_down_sync(kAll, x, 4 << step);
      x = J::join(x, same.is[step] ? other : start);
    }
    return x;
  }
  template <class J, class T>
  __device__ T joined(T x, T start, int r) const {
    return is_joined[r] ? with_others<J>(x, start, r, Same(run[r], group)) : x;
  }
  template <class J, int T>
  __device__ void join(Fragment<T>& x, float start, int r) const {
    if (!is_joined[r]) return;
    const Same same(run[r], group);
#pragma unroll
    for (int n = 0; n < T; ++n) {
#pragma unroll
      for (int i = 2 * r; i < 2 * r + 2; ++i)
        x.at[n][i] = with_others<J>(x.at[n][i], start, r, same);
    }
  }
};

template <class J, int T>
__device__ __forceinline__ void join_four(const Fragment<T>& x, int n, int r, float* row, int first,
                                          const Warp& warp) {
  float* const to = row + first + 4 * warp.quad;
  if constexpr (J::is_sum) {
    add_to(to, x.at[n][2 * r], x.at[n][2 * r + 1], x.at[n + 1][2 * r], x.at[n + 1][2 * r + 1]);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) join_to<J>(to + i, x.at[n + i / 2][2 * r + i % 2]);
  }
}
template <class J, int T>
__device__ __forceinline__ void join_some(const Fragment<T>& x, int n, int r, float* row, int first,
                                          int count, const Warp& warp) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int at = 2 * warp.quad + i;
    if (at < count) join_to<J>(row + first + at, x.at[n][2 * r + i]);
  }
}

// ---- a tile of items: where the number at position `at` of a tile lies, from where its item begins

struct Steps {
  int first, of_lane, of_next;
  __device__ int operator()(int at) const { return first + at / 2 * of_lane + at % 2 * of_next; }
};
struct Table {
  const int* offset;
  __device__ int operator()(int at) const { return offset[at]; }
};

template <int T, class Where>
__device__ __forceinline__ void read_tile(Fragment<T>& x, int n, const float* const (&row)[2],
                                          Where where, int count, const Warp& warp) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int at = 2 * warp.quad + (i & 1);
    x.at[n][i] = at < count ? row[i / 2][where(at)] : 0.f;
  }
}
template <int T, class Where>
__device__ __forceinline__ void write_tile(const Fragment<T>& x, int n, int r, float* row,
                                           Where where, int count, const Warp& warp) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int at = 2 * warp.quad + i;
    if (at < count) row[where(at)] = x.at[n][2 * r + i];
  }
}
