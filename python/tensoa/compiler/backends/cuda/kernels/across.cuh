// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// What reads all rows of a memory, the keys: attention by the online softmax (Milakov and Gimelshein,
// 2018), and the rows with the least scores. Four warps own a tile. A lane has the two rows of its
// quad, and every 16th key; what the lanes of a quad found is joined, then what the warps found, in
// one order.
#include "far.cuh"

constexpr int kWarps = 4;  // of a tile, as there are lanes of a quad
constexpr int kKeyStep = 4 * kWarps;

__device__ __forceinline__ Index index_of(const Scalar& x, int64 rows) {
  Index index;
#pragma unroll
  for (int r = 0; r < 2; ++r)
    index.at[r] = x.at[r] >= 0.f && x.at[r] < float(rows) ? static_cast<int>(x.at[r]) : -1;
  return index;
}

// Row `row` of a memory with W numbers side by side.
template <int W>
__device__ __forceinline__ void read(float (&to)[W], const void* memory, int64 row) {
  const float* const from = static_cast<const float*>(memory) + row * W;
  if constexpr (W % 4 == 0) {
#pragma unroll
    for (int i = 0; i < W / 4; ++i) {
      const float4 four = reinterpret_cast<const float4*>(from)[i];
      to[4 * i] = four.x;
      to[4 * i + 1] = four.y;
      to[4 * i + 2] = four.z;
      to[4 * i + 3] = four.w;
    }
  } else {
#pragma unroll
    for (int i = 0; i < W; ++i) to[i] = from[i];
  }
}

// All W numbers of both rows.
template <int W, int T>
__device__ __forceinline__ void numbers_of(float (&to)[2][W], const Fragment<T>& x,
                                           const Warp& warp) {
#pragma unroll
  for (int i = 0; i < W; ++i) {
    const Scalar number = take(x, i, warp);
    to[0][i] = number.at[0];
    to[1][i] = number.at[1];
  }
}
template <int W>
__device__ __forceinline__ void numbers_of(float (&to)[2][W], const Scalar& x, const Warp&) {
  to[0][0] = x.at[0];
  to[1][0] = x.at[1];
}

// The opposite: from body(r, n), which all lanes of a quad have alike.
template <int W, class Body>
__device__ __forceinline__ Fragment<(W + 7) / 8> fragment_of(const Warp& warp, Body body) {
  Fragment<(W + 7) / 8> x{};
#pragma unroll
  for (int n = 0; n < W; ++n) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (warp.quad == n % 8 / 2) x.at[n / 8][2 * r + (n & 1)] = body(r, n);
    }
  }
  return x;
}

template <int N>
__device__ __forceinline__ float sum_of_products(const float* x, const float* y) {
  float sum = 0.f;
#pragma unroll
  for (int i = 0; i < N; ++i) sum = fmaf(x[i], y[i], sum);
  return sum;
}
template <int N>
__device__ __forceinline__ float sum_of_squares(const float* x, const float* y) {
  float sum = 0.f;
#pragma unroll
  for (int i = 0; i < N; ++i) sum = fmaf(x[i] - y[i], x[i] - y[i], sum);
  return sum;
}

// Joins what each lane of the quad has, then what each warp has. `state.join(other)`;
// State::kSize floats, at(r, i), of both rows, are exchanged in `room`.
template <class State>
__device__ __forceinline__ void join_quad(State& state) {
#pragma unroll
  for (int step = 1; step <= 2; ++step) state.join(step);
}
template <class State>
__device__ __forceinline__ void join_all(State& state, float4 (*room)[32], const Warp& warp) {
  join_quad(state);
  float* const numbers = reinterpret_cast<float*>(room);
  const auto place = [&](int part, int r) {
    return numbers + ((part * kTileRows) + 8 * r + warp.group) * State::kSize;
  };
  if (warp.quad == 0) {
    state.each(0, [&](int i, float x) {
      place(warp.part, 0)[i] = x;
      return x;
    });
    state.each(1, [&](int i, float x) {
      place(warp.part, 1)[i] = x;
      return x;
    });
  }
  __syncthreads();
  state.each(0, [&](int i, float) { return place(warp.quad, 0)[i]; });
  state.each(1, [&](int i, float) { return place(warp.quad, 1)[i]; });
  join_quad(state);
}

__device__ __forceinline__ float shift_of(float most) {
  return most == -__int_as_float(0x7f800000) ? 0.f : most;
}

// Weighted sums of W numbers. `Soft`: weights are relative to e^most.
template <int W, bool Soft>
struct Weighted {
  static constexpr int kSize = W + 2;
  float most[2], total[2], sum[2][W];

  __device__ Weighted() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      most[r] = -__int_as_float(0x7f800000);
      total[r] = 0.f;
#pragma unroll
      for (int i = 0; i < W; ++i) sum[r][i] = 0.f;
    }
  }
  // N more rows, of which the first `count` are there.
  template <int N>
  __device__ __forceinline__ void add(int r, const float (&score)[N][2],
                                      const float (&values)[N][W], int count) {
    float weight[N], factor = 1.f;
    if constexpr (Soft) {
      float next = most[r];
#pragma unroll
      for (int i = 0; i < N; ++i) next = i < count ? fmaxf(next, score[i][r]) : next;
      const float shift = shift_of(next);
      factor = expf(most[r] - shift);
      most[r] = next;
      total[r] *= factor;
#pragma unroll
      for (int i = 0; i < N; ++i) {
        weight[i] = expf(score[i][r] - shift);
        if (i < count) total[r] += weight[i];
      }
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i) weight[i] = score[i][r];
    }
#pragma unroll
    for (int n = 0; n < W; ++n) {
      float more = 0.f;
#pragma unroll
      for (int i = 0; i < N; ++i) more = i < count ? fmaf(weight[i], values[i][n], more) : more;
      sum[r][n] = fmaf(sum[r][n], factor, more);
    }
  }
  __device__ __forceinline__ void join(int step) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float other = __shfl_xor_sync(kAll, most[r], step);
      const float next = fmaxf(most[r], other), shift = shift_of(next);
      const float mine = Soft ? expf(most[r] - shift) : 1.f, its = Soft ? expf(other - shift) : 1.f;
      most[r] = next;
      total[r] = fmaf(total[r], mine, __shfl_xor_sync(kAll, total[r], step) * its);
#pragma unroll
      for (int i = 0; i < W; ++i)
        sum[r][i] = fmaf(sum[r][i], mine, __shfl_xor_sync(kAll, sum[r][i], step) * its);
    }
  }
  template <class Body>
  __device__ __forceinline__ void each(int r, Body body) {
    most[r] = body(0, most[r]);
    total[r] = body(1, total[r]);
#pragma unroll
    for (int i = 0; i < W; ++i) sum[r][i] = body(2 + i, sum[r][i]);
  }
  template <bool Safe>
  __device__ __forceinline__ float result(int r, int n, int64 rows) const {
    if (!Soft || rows == 0) return sum[r][n];
    if (Safe && total[r] == 0.f) return sum[r][n];  // of zeros; 0 * infinity is not 0
    return sum[r][n] / total[r];
  }
};

template <int Q, int K, int W, bool Soft, bool Safe, class Own, class Score>
__device__ __forceinline__ auto attend(const Own& own, const void* keys, const void* values,
                                       int64 rows, Score score, float4 (*room)[32],
                                       const Warp& warp) {
  constexpr int kAtOnce = K + W <= 64 ? 4 : 2;
  float q[2][Q];
  numbers_of(q, own, warp);
  Weighted<W, Soft> all;
  for (int64 at = 4 * warp.part + warp.quad; at < rows; at += kAtOnce * kKeyStep) {
    const int count = static_cast<int>(min(int64{kAtOnce}, (rows - at + kKeyStep - 1) / kKeyStep));
    float scores[kAtOnce][2], v[kAtOnce][W];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int64 row = min(at + i * kKeyStep, rows - 1);
      float k[K];
      read(k, keys, row);
      read(v[i], values, row);
      scores[i][0] = score(q[0], k);
      scores[i][1] = score(q[1], k);
    }
    all.add(0, scores, v, count);
    all.add(1, scores, v, count);
  }
  join_all(all, room, warp);
  const auto result = [&](int r, int n) { return all.template result<Safe>(r, n, rows); };
  if constexpr (W == 1) {
    const int first = warp.lane & ~3;
    return Scalar{{__shfl_sync(kAll, result(0, 0), first), __shfl_sync(kAll, result(1, 0), first)}};
  } else {
    return fragment_of<W>(warp, result);
  }
}

// The N least keys (of buffers.cuh), in order, and the rows that have them; the first row first where
// keys are equal.
template <int N>
struct Nearest {
  static constexpr int kSize = 2 * N;
  static constexpr int kUnrolled = N <= 16 ? N : 1;
  static constexpr unsigned kTaken = 0xffffffffu;
  unsigned keys[2][N];
  int rows[2][N];

  __device__ Nearest() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll(kUnrolled)
      for (int i = 0; i < N; ++i) {
        keys[r][i] = kTaken;
        rows[r][i] = -1;
      }
    }
  }
  __device__ __forceinline__ void add(int r, unsigned key, int row) {
    if (key >= keys[r][N - 1]) return;
    bool is_before = false;  // once it is, those behind it move on
#pragma unroll(kUnrolled)
    for (int i = 0; i < N; ++i) {
      is_before = is_before || key < keys[r][i];
      const unsigned next = keys[r][i];
      const int at = rows[r][i];
      keys[r][i] = is_before ? key : next;
      rows[r][i] = is_before ? row : at;
      key = is_before ? next : key;
      row = is_before ? at : row;
    }
  }
  // Of this lane and another one, as both will have it.
  __device__ __forceinline__ void join(int step) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      unsigned mine[N];
      int places[N];
#pragma unroll(kUnrolled)
      for (int i = 0; i < N; ++i) {
        mine[i] = keys[r][i];
        places[i] = rows[r][i];
      }
#pragma unroll(kUnrolled)
      for (int c = 0; c < N; ++c) {
        const unsigned other = __shfl_xor_sync(kAll, mine[0], step);
        const int at = __shfl_xor_sync(kAll, places[0], step);
        const bool is_mine = mine[0] < other || (mine[0] == other && places[0] <= at);
        keys[r][c] = is_mine ? mine[0] : other;
        rows[r][c] = is_mine ? places[0] : at;
        if (is_mine) {
#pragma unroll(kUnrolled)
          for (int i = 0; i + 1 < N; ++i) {
            mine[i] = mine[i + 1];
            places[i] = places[i + 1];
          }
          mine[N - 1] = kTaken;
          places[N - 1] = -1;
        }
      }
    }
  }
  template <class Body>
  __device__ __forceinline__ void each(int r, Body body) {
#pragma unroll(kUnrolled)
    for (int i = 0; i < N; ++i) {
      keys[r][i] = __float_as_uint(body(2 * i, __uint_as_float(keys[r][i])));
      rows[r][i] = __float_as_int(body(2 * i + 1, __int_as_float(rows[r][i])));
    }
  }
};

template <int Q, int K, int N, bool IsLargest, class Own, class Score>
__device__ __forceinline__ auto nearest(const Own& own, const void* keys, int64 rows, Score score,
                                        float4 (*room)[32], const Warp& warp) {
  float q[2][Q];
  numbers_of(q, own, warp);
  Nearest<N> all;
  for (int64 at = 4 * warp.part + warp.quad; at < rows; at += kKeyStep) {
    float k[K];
    read(k, keys, at);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const unsigned key = min(key_of(score(q[r], k) + 0.f), Nearest<N>::kTaken - 1);  // one zero
      all.add(r, IsLargest ? ~key : key, static_cast<int>(at));
    }
  }
  join_all(all, room, warp);
  const auto row = [&](int r, int n) { return static_cast<float>(all.rows[r][n]); };
  if constexpr (N == 1) {
    return Scalar{{row(0, 0), row(1, 0)}};
  } else {
    return fragment_of<N>(warp, row);
  }
}
