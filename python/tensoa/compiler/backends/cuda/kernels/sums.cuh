// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// Sums that are the same bits at every call.
//
// Without atomics on floats. For each row of a sum there is a list of the rows that are added to it,
// and one thread adds them. Only the order in a list, and that of the lists, depends on who came
// first, and sums do not depend on it: numbers become integers of 62 bits, multiples of one power of
// two that leaves room for as many as there are (the pre-rounding of Demmel and Nguyen, "Fast
// reproducible floating-point summation", 2013, with integers). A sum is off by less than 2^-61 of
// its largest number, times the square of its count, and rounded once.
#include "buffers.cuh"

// For each of `rows` rows: how many members its list has, and where they begin; then how many there
// are in all lists. `at`: which of those that share a buffer.
struct Lists {
  int* data;
  int64 rows;
  __device__ Lists(void* buffer, int64 rows, int at)
      : data(static_cast<int*>(buffer) + 3 * rows * at), rows(rows) {}
  __device__ int& count(int64 row) const { return data[row]; }
  __device__ int& first(int64 row) const { return data[rows + row]; }
  __device__ int& total() const { return data[2 * rows]; }
};

// Counts the rows of a tile into the lists that their index names (zero before), and keeps the place
// of each in its list.
__device__ __forceinline__ void count(const Lists& lists, void* places, const Index& index,
                                      const Tile& tile, const Warp& warp) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const bool counts = warp.quad == 0 && tile.inside[r] && is_row(index.at[r]);
    const unsigned same = __match_any_sync(kAll, counts ? index.at[r] : -1);
    const int leader = __ffs(same) - 1;
    int place = 0;
    if (counts && warp.lane == leader) place = atomicAdd(&lists.count(index.at[r]), __popc(same));
    place = __shfl_sync(kAll, place, leader) + __popc(same & ((1u << warp.lane) - 1u));
    if (counts) static_cast<int*>(places)[tile.row[r]] = place;
  }
}

// Says where the lists of a tile begin.
__device__ __forceinline__ void allocate(const Lists& lists, const Tile& tile, const Warp& warp) {
  if (warp.part != 0) return;
  const int64 row = warp.quad == 0 ? tile.row[0] : tile.row[1];
  const bool is_mine = warp.quad < 2 && (warp.quad == 0 ? tile.inside[0] : tile.inside[1]);
  const int mine = is_mine ? lists.count(row) : 0;
  int until = mine;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int before = __shfl_up_sync(kAll, until, step);
    if (warp.lane >= step) until += before;
  }
  int first = 0;
  if (warp.lane == 31) first = atomicAdd(&lists.total(), until);
  first = __shfl_sync(kAll, first, 31);
  if (is_mine) lists.first(row) = first + until - mine;
}

// Enters the rows of a tile into the lists that their index names.
__device__ __forceinline__ void enter(const Lists& lists, void* members, const void* places,
                                      const Index& index, const Tile& tile, const Warp& warp) {
  if (warp.quad != 0 || warp.part != 0) return;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (!tile.inside[r] || !is_row(index.at[r])) continue;
    const int place = static_cast<const int*>(places)[tile.row[r]];
    static_cast<int*>(members)[lists.first(index.at[r]) + place] = static_cast<int>(tile.row[r]);
  }
}

template <int K>
struct alignas(4 * K) Numbers {
  float at[K];
};

// K numbers each of the members `start`, `start + step`, ... of n. Several are on their way at a
// time; where these are all, they stay in registers.
template <int K>
struct Members {
  static constexpr int kAtOnce = 8;
  const Numbers<K>* from;
  int stride;
  const int* members;
  int n, start, step;
  Numbers<K> x[kAtOnce];

  __device__ void load(int64 at) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int64 place = at + i * step;
      x[i] = place < n ? from[int64{members[place]} * stride] : Numbers<K>{};
    }
  }
  // body(k, number); zeros are among them. `is_first`: nothing was loaded before.
  template <class Body>
  __device__ void each(bool is_first, Body body) {
    for (int64 at = start; at < n; at += kAtOnce * step) {
      if (is_first || n > kAtOnce * step) load(at);
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
#pragma unroll
        for (int k = 0; k < K; ++k) body(k, x[i].at[k]);
      }
    }
  }
};

// The sum of a list. Where `step` is 32, of what the lanes of a warp have of it.
template <int K>
__device__ __forceinline__ Numbers<K> sum_of(Members<K> list) {
  constexpr unsigned kInfinity = 0x7f800000u;
  const auto magnitude = [](float x) { return __float_as_uint(x) & 0x7fffffffu; };
  unsigned largest[K] = {};
  bool is_finite = true;
  list.each(true, [&](int k, float x) { largest[k] = max(largest[k], magnitude(x)); });
  int half[K], rest[K];
#pragma unroll
  for (int k = 0; k < K; ++k) {
    for (int lane = list.step / 2; lane > 0; lane /= 2)
      largest[k] = max(largest[k], __shfl_xor_sync(kAll, largest[k], lane));
    is_finite = is_finite && largest[k] < kInfinity;
    // Numbers are below 2^(e - 126), n below 2^(32 - clz): 62 bits and the sign. Two factors, as one
    // may be no float.
    const int exponent = 62 - (32 - __clz(list.n)) - (int(largest[k] >> 23) - 126);
    half[k] = exponent / 2;
    rest[k] = exponent - half[k];
  }
  long long sum[K] = {};
  list.each(false, [&](int k, float x) {
    sum[k] += __float2ll_rn(x * power_of_two(half[k]) * power_of_two(rest[k]));
  });
  Numbers<K> result;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    for (int lane = list.step / 2; lane > 0; lane /= 2)
      sum[k] += __shfl_xor_sync(kAll, sum[k], lane);
    result.at[k] = __ll2float_rn(sum[k]) * power_of_two(-half[k]) * power_of_two(-rest[k]);
  }
  if (is_finite) return result;
  float special[K] = {};  // infinities and NaN add as they are, without the others
  list.each(false, [&](int k, float x) { special[k] += magnitude(x) < kInfinity ? 0.f : x; });
#pragma unroll
  for (int k = 0; k < K; ++k) {
    for (int lane = list.step / 2; lane > 0; lane /= 2)
      special[k] += __shfl_xor_sync(kAll, special[k], lane);
    if (largest[k] >= kInfinity)
      result.at[k] = special[k] == special[k] ? special[k] : not_a_number();
  }
  return result;
}

// Rows of a tile become the sums of their lists; C times K numbers each. For all threads that own
// the tile, which may read the rows afterwards.
template <int K, int C>
__device__ __forceinline__ void total(void* to, const void* from, const void* members,
                                      const Lists& lists, int tile, const Warp& warp) {
  constexpr int kLong = 256;  // from here on a warp sums together
  const int64 begin = int64{tile} * kTileRows;
  const auto sum = [&](int64 row, int column, int start, int step) {
    return sum_of(Members<K>{static_cast<const Numbers<K>*>(from) + column, C,
                             static_cast<const int*>(members) + lists.first(row), lists.count(row),
                             start, step});
  };
  const auto at = [&](int64 row, int column) -> Numbers<K>& {
    return static_cast<Numbers<K>*>(to)[row * C + column];
  };
  for (int i = warp.part * 32 + warp.lane; i < kTileRows * C; i += warp.parts * 32) {
    const int64 row = begin + i / C;
    if (row >= lists.rows) break;
    if (lists.count(row) < kLong) at(row, i % C) = sum(row, i % C, 0, 1);
  }
  const int64 mine = begin + warp.lane;
  const bool is_long = warp.lane < kTileRows && mine < lists.rows && lists.count(mine) >= kLong;
  for (unsigned left = __ballot_sync(kAll, is_long); left != 0; left &= left - 1) {
    const int64 row = begin + __ffs(left) - 1;
    for (int column = warp.part; column < C; column += warp.parts) {
      const Numbers<K> numbers = sum(row, column, warp.lane, 32);
      if (warp.lane == 0) at(row, column) = numbers;
    }
  }
  if (warp.parts == 1) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}
