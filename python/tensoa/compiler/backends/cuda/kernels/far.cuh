// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// Parts of a row as rows: what they read of other parts. Each row is `Times` rows of the domain, of
// which `Share` neighbouring ones, a group, read the same numbers.
#include "layers.cuh"

// The numbers that the two rows of a lane read: read(row, g, i, n) is number n of vector i for group g
// of a row. `kIsOne`: both rows of a lane are of one group, where there are that many.
template <int Share, class Read>
struct View {
  static constexpr bool kIsOne = Share % kTileRows == 0;
  int64 row[2];
  int group[2];
  Read read;
  __device__ float at(int r, int i, int n) const { return read(row[r], group[r], i, n); }
};

template <int Times, int Share, class Read>
__device__ __forceinline__ View<Share, Read> view(const Tile& tile, Read read) {
  View<Share, Read> result{{}, {}, read};
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    result.row[r] = tile.row[r] / Times;
    result.group[r] = static_cast<int>(tile.row[r] % Times) / Share;
  }
  return result;
}

// A Fragment of W numbers: body(r, n) is number n of row r. Padding is zero.
template <int W, class Body>
__device__ __forceinline__ Fragment<(W + 7) / 8> each_number(const Warp& warp, Body body) {
  constexpr int T = (W + 7) / 8;
  Fragment<T> x;
#pragma unroll(unroll(T))
  for (int n = 0; n < T; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int number = 8 * n + 2 * warp.quad + (i & 1);
      x.at[n][i] = number < W ? body(i >> 1, number) : 0.f;
    }
  }
  return x;
}

template <int W, class From>
__device__ __forceinline__ auto regroup(const From& from, const Warp& warp) {
  return each_number<W>(warp, [&](int r, int n) { return from.at(r, 0, n); });
}
template <class From>
__device__ __forceinline__ Scalar one_of(const From& from) {
  return {{from.at(0, 0, 0), from.at(1, 0, 0)}};
}

// x, Inner numbers, times a matrix of Inner rows and W columns.
template <int W, int Inner, int T, class From>
__device__ __forceinline__ Fragment<(W + 7) / 8> multiply(const Fragment<T>& x, const From& from,
                                                          const Warp& warp) {
  constexpr int C = (W + 7) / 8;
  constexpr int kUnrolled = T * C <= 16 ? T : 1;
  Fragment<C> sum{};
#pragma unroll(kUnrolled)
  for (int k = 0; k < T; ++k) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      if (8 * k + j >= Inner) break;
      const int source = (warp.lane & ~3) | (j / 2);
      const float x0 = __shfl_sync(kAll, x.at[k][j & 1], source),
                  x1 = __shfl_sync(kAll, x.at[k][2 + (j & 1)], source);
#pragma unroll(unroll(C))
      for (int n = 0; n < C; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int number = 8 * n + 2 * warp.quad + i;
          if (number >= W) continue;
          const float y0 = from.at(0, 8 * k + j, number);
          const float y1 = From::kIsOne ? y0 : from.at(1, 8 * k + j, number);
          sum.at[n][i] = fmaf(x0, y0, sum.at[n][i]);
          sum.at[n][2 + i] = fmaf(x1, y1, sum.at[n][2 + i]);
        }
      }
    }
  }
  return sum;
}

// The same where the matrix has one column.
template <int Inner, int T, class From>
__device__ __forceinline__ Scalar multiply_one(const Fragment<T>& x, const From& from,
                                               const Warp& warp) {
  Scalar sum{};
#pragma unroll(unroll(T))
  for (int k = 0; k < T; ++k) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int number = 8 * k + 2 * warp.quad + (i & 1);
      if (number < Inner)
        sum.at[i >> 1] = fmaf(x.at[k][i], from.at(i >> 1, number, 0), sum.at[i >> 1]);
    }
  }
  return {{quad_sum(sum.at[0]), quad_sum(sum.at[1])}};
}

// Which of Count vectors a number names, -1: none.
template <int Count>
__device__ __forceinline__ int vector_at(float place) {
  return place >= 0.f && place < float(Count) ? static_cast<int>(place) : -1;
}
template <int W, int Count, class From>
__device__ __forceinline__ auto pick(const Scalar& place, const From& from, const Warp& warp) {
  const int at[2] = {vector_at<Count>(place.at[0]), vector_at<Count>(place.at[1])};
  return each_number<W>(
      warp, [&](int r, int n) { return at[r] < 0 ? not_a_number() : from.at(r, at[r], n); });
}
template <int Count, class From>
__device__ __forceinline__ Scalar pick_one(const Scalar& place, const From& from) {
  const int at[2] = {vector_at<Count>(place.at[0]), vector_at<Count>(place.at[1])};
  return {{at[0] < 0 ? not_a_number() : from.at(0, at[0], 0),
           at[1] < 0 ? not_a_number() : from.at(1, at[1], 0)}};
}

// A function of W numbers of two vectors.
template <int W, int T, class Function>
__device__ __forceinline__ void join(Fragment<T>& to, const Fragment<T>& x, Function function,
                                     const Warp& warp) {
#pragma unroll(unroll(T))
  for (int n = 0; n < T; ++n) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (8 * n + 2 * warp.quad + (k & 1) < W) to.at[n][k] = function(to.at[n][k], x.at[n][k]);
    }
  }
}

// A function of Count vectors, over `divisor`; in blocks: few roundings follow one another.
template <int W, int Count, class Function, class From>
__device__ __forceinline__ auto fold(float divisor, Function function, const From& from,
                                     const Warp& warp) {
  constexpr int T = (W + 7) / 8, kBlockVectors = 16;
  const auto vector = [&](int i) {
    return each_number<W>(warp, [&](int r, int n) { return from.at(r, i, n); });
  };
  const auto block = [&](int first, int count) {
    Fragment<T> result = vector(first);
#pragma unroll 4
    for (int i = 1; i < count; ++i) join<W>(result, vector(first + i), function, warp);
    return result;
  };
  Fragment<T> result = block(0, min(Count, kBlockVectors));
  for (int first = kBlockVectors; first < Count; first += kBlockVectors)
    join<W>(result, block(first, min(Count - first, kBlockVectors)), function, warp);
  return map<T>([=](float x) { return x / divisor; }, result);
}

// The places of the Count least (or largest) of W numbers, in order; the first place first where
// numbers are equal.
template <int W, int Count, bool IsLargest, int T>
__device__ __forceinline__ Fragment<(Count + 7) / 8> order(const Fragment<T>& x, const Warp& warp) {
  constexpr unsigned kTaken = 0xffffffffu;
  constexpr int C = (Count + 7) / 8;
  Fragment<C> result{};
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    unsigned keys[T][2];
#pragma unroll(unroll(T))
    for (int n = 0; n < T; ++n) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const unsigned key = min(key_of(x.at[n][2 * r + i] + 0.f), kTaken - 1);  // one zero
        keys[n][i] = 8 * n + 2 * warp.quad + i < W ? (IsLargest ? ~key : key) : kTaken;
      }
    }
#pragma unroll(Count <= 16 ? Count : 1)
    for (int c = 0; c < Count; ++c) {
      unsigned least = kTaken;
      int place = 8 * T;
#pragma unroll(unroll(T))
      for (int n = 0; n < T; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          if (keys[n][i] < least) {
            least = keys[n][i];
            place = 8 * n + 2 * warp.quad + i;
          }
        }
      }
#pragma unroll
      for (int step = 1; step <= 2; ++step) {
        const unsigned other = __shfl_xor_sync(kAll, least, step);
        const int at = __shfl_xor_sync(kAll, place, step);
        if (other < least || (other == least && at < place)) {
          least = other;
          place = at;
        }
      }
#pragma unroll(unroll(T))
      for (int n = 0; n < T; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          if (8 * n + 2 * warp.quad + i == place) keys[n][i] = kTaken;
        }
      }
      if (warp.quad == c % 8 / 2) result.at[c / 8][2 * r + (c & 1)] = static_cast<float>(place);
    }
  }
  return result;
}
