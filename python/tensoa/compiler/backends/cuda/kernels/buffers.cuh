// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of buffers.
#include "columns.cuh"

// Two rows of a buffer of T tiles, read where they are used: they occupy no registers before.
template <int T>
struct Rows {
  static constexpr int tiles = T;
  const float* row[2];

  __device__ Rows(const void* buffer, const int64 (&at)[2], const Warp& warp) : odd(2 * warp.quad) {
    for (int r = 0; r < 2; ++r)
      row[r] = static_cast<const float*>(buffer) + at[r] * (8 * T) + 4 * warp.quad;
  }
  // `none`: the row that is read where the index names none.
  __device__ Rows(const void* buffer, const Index& index, const void* none, const Warp& warp)
      : odd(2 * warp.quad) {
    for (int r = 0; r < 2; ++r) {
      const float* const numbers = static_cast<const float*>(buffer);
      row[r] = (is_row(index.at[r]) ? numbers + int64{index.at[r]} * (8 * T)
                                    : static_cast<const float*>(none)) +
               4 * warp.quad;
    }
  }
  __device__ void pair(int q, float (&x)[8]) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float4 four = *reinterpret_cast<const float4*>(row[r] + 16 * q);
      x[2 * r] = four.x;
      x[2 * r + 1] = four.y;
      x[4 + 2 * r] = four.z;
      x[5 + 2 * r] = four.w;
    }
  }
  __device__ void last(float (&x)[4]) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float2 two = *reinterpret_cast<const float2*>(row[r] + 8 * (T - 1) - odd);
      x[2 * r] = two.x;
      x[2 * r + 1] = two.y;
    }
  }

 private:
  int odd;
};

template <class Source>
__device__ __forceinline__ Fragment<Source::tiles> load(const Source& from) {
  constexpr int T = Source::tiles;
  Fragment<T> x;
#pragma unroll(unroll(T))
  for (int q = 0; q < T / 2; ++q) {
    float eight[8];
    from.pair(q, eight);
#pragma unroll
    for (int i = 0; i < 8; ++i) x.at[2 * q + i / 4][i % 4] = eight[i];
  }
  if constexpr (T % 2) {
    float four[4];
    from.last(four);
#pragma unroll
    for (int i = 0; i < 4; ++i) x.at[T - 1][i] = four[i];
  }
  return x;
}

template <class Row>
__device__ __forceinline__ Scalar load_scalar(const void* buffer, const Row (&row)[2]) {
  const float* numbers = static_cast<const float*>(buffer);
  return {{is_row(row[0]) ? numbers[row[0]] : not_a_number(),
           is_row(row[1]) ? numbers[row[1]] : not_a_number()}};
}

template <int T>
__device__ __forceinline__ void store(void* buffer, const Fragment<T>& x, const Tile& tile,
                                      const Warp& warp) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (!tile.inside[r]) continue;
    float* row = static_cast<float*>(buffer) + tile.row[r] * (8 * T);
#pragma unroll(unroll(T))
    for (int q = 0; q < T / 2; ++q) {
      if (!warp.writes(q)) continue;
      *reinterpret_cast<float4*>(row + 16 * q + 4 * warp.quad) =
          make_float4(x.at[2 * q][2 * r], x.at[2 * q][2 * r + 1], x.at[2 * q + 1][2 * r],
                      x.at[2 * q + 1][2 * r + 1]);
    }
    if (T % 2 && warp.writes(T / 2)) {
      *reinterpret_cast<float2*>(row + 8 * (T - 1) + 2 * warp.quad) =
          make_float2(x.at[T - 1][2 * r], x.at[T - 1][2 * r + 1]);
    }
  }
}

// Dense rows: `planes.width` numbers side by side, those of each position of the tiles as planes of
// columns are; padding is zero.
template <int T, class Row>
__device__ __forceinline__ Fragment<T> load(const void* buffer, const Planes& planes,
                                            const Row (&row)[2], const Warp& warp) {
  const float* const numbers = static_cast<const float*>(buffer);
  Fragment<T> x;
#pragma unroll(unroll(T))
  for (int n = 0; n < T; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int place = planes.place(8 * n + 2 * warp.quad + (i & 1));
      const int64 at = row[i >> 1];
      x.at[n][i] = place < 0             ? 0.f
                   : is_row(row[i >> 1]) ? numbers[at * planes.width + place]
                                         : not_a_number();
    }
  }
  return x;
}
template <int T>
__device__ __forceinline__ void store(void* buffer, const Fragment<T>& x, const Planes& planes,
                                      const Tile& tile, const Warp& warp) {
  float* const numbers = static_cast<float*>(buffer);
#pragma unroll(unroll(T))
  for (int n = 0; n < T; ++n) {
    if (!warp.writes(n / 2)) continue;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int place = planes.place(8 * n + 2 * warp.quad + (i & 1));
      if (place >= 0 && tile.inside[i >> 1])
        numbers[tile.row[i >> 1] * planes.width + place] = x.at[n][i];
    }
  }
}

__device__ __forceinline__ void store(void* buffer, const Scalar& x, const Tile& tile,
                                      const Warp& warp) {
  if (warp.quad != 0 || warp.part != 0) return;
  for (int r = 0; r < 2; ++r) {
    if (tile.inside[r]) static_cast<float*>(buffer)[tile.row[r]] = x.at[r];
  }
}

// Rows of a sum, and of an extreme, start at zero.
template <int T>
__device__ __forceinline__ void clear(void* buffer, const Tile& tile, const Warp& warp) {
  store(buffer, map<T>([](float zero) { return zero; }, 0.f), tile, warp);
}
__device__ __forceinline__ void clear_scalar(void* buffer, const Tile& tile, const Warp& warp) {
  store(buffer, Scalar{{0.f, 0.f}}, tile, warp);
}

struct Sum {
  static __device__ float start() { return 0.f; }
  static __device__ float join(float x, float y) { return x + y; }
  template <class... Floats>
  static __device__ void to(float* row, Floats... x) {
    add_to(row, x...);
  }
};

// Keys have the order of their numbers, with NaN as the largest. None is 0, which stands for no number
// so far: it becomes the least one, -infinity.
__device__ __forceinline__ unsigned key_of(float x) {
  const unsigned bits = __float_as_uint(x);
  return x != x ? kAll : bits >> 31 ? ~bits : bits | 0x80000000u;
}
__device__ __forceinline__ float number_of(unsigned key) {
  key = max(key, 0x007fffffu);
  return __uint_as_float(key >> 31 ? key & 0x7fffffffu : ~key);
}

// Buffers of extremes hold keys, and do not depend on the order of what is joined to them.
struct Largest {
  static __device__ float start() { return -__int_as_float(0x7f800000); }
  static __device__ float join(float x, float y) { return maximum(x, y); }
  template <class... Floats>
  static __device__ void to(float* row, Floats... x) {
    (raise_to(row++, key_of(x)), ...);
  }
  static __device__ float number(float held) { return number_of(__float_as_uint(held)); }
};
struct Smallest {
  static __device__ float start() { return __int_as_float(0x7f800000); }
  static __device__ float join(float x, float y) { return minimum(x, y); }
  template <class... Floats>
  static __device__ void to(float* row, Floats... x) {
    Largest::to(row, -x...);
  }
  static __device__ float number(float held) { return -Largest::number(held); }
};

// The numbers of rows of extremes.
template <class Extreme, class Layout, int T>
__device__ __forceinline__ Fragment<T> extremes(const Rows<T>& from, const Warp& warp) {
  auto x = map<T>([](float held) { return Extreme::number(held); }, load(from));
  clear_padding<Layout>(x, warp);
  return x;
}
template <class Extreme, class Row>
__device__ __forceinline__ Scalar scalar_extremes(const void* buffer, const Row (&row)[2]) {
  const Scalar held = load_scalar(buffer, row);
  return {{is_row(row[0]) ? Extreme::number(held.at[0]) : not_a_number(),
           is_row(row[1]) ? Extreme::number(held.at[1]) : not_a_number()}};
}

// Joins rows to the rows `index` of a buffer. Where neighbouring rows have one index (edges grouped by
// a node), they are joined in the warp before.
template <class Join, class Layout, int T>
__device__ __forceinline__ void scatter(void* buffer, Fragment<T> x, const Index& index,
                                        const Tile& tile, const Warp& warp) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int before = __shfl_up_sync(kAll, index.at[r], 4);
    const bool is_first = warp.group == 0 || before != index.at[r];
    const unsigned firsts = __ballot_sync(kAll, is_first);
    bool adds = tile.inside[r] && is_row(index.at[r]);
    if (__popc(firsts) <= 4 * 4) {  // at most four runs among eight rows
      const int run = __popc(firsts & (kAll >> (31 - warp.lane)) & (0x11111111u << warp.quad));
      bool is_same[3];
#pragma unroll
      for (int step = 0; step < 3; ++step) {
        is_same[step] =
            __shfl_down_sync(kAll, run, 4 << step) == run && warp.group + (1 << step) < 8;
      }
#pragma unroll(unroll(T))
      for (int n = 0; n < T; ++n) {
        if (!warp.writes(n / 2)) continue;
#pragma unroll
        for (int i = 2 * r; i < 2 * r + 2; ++i) {
          float all = tile.inside[r] ? x.at[n][i] : Join::start();
#pragma unroll
          for (int step = 0; step < 3; ++step) {
            const float other = __shfl_down_sync(kAll, all, 4 << step);
            all = Join::join(all, is_same[step] ? other : Join::start());
          }
          x.at[n][i] = all;
        }
      }
      adds = adds && is_first;
    }
    if (!adds) continue;
    float* row = static_cast<float*>(buffer) + int64{index.at[r]} * (8 * T);
#pragma unroll(unroll(T))
    for (int q = 0; q < T / 2; ++q) {
      if (!warp.writes(q)) continue;
      if (!(is_valid<Layout>(2 * q, 0, warp.quad) || is_valid<Layout>(2 * q + 1, 0, warp.quad) ||
            is_valid<Layout>(2 * q, 1, warp.quad) || is_valid<Layout>(2 * q + 1, 1, warp.quad))) {
        continue;
      }
      Join::to(row + 16 * q + 4 * warp.quad, x.at[2 * q][2 * r], x.at[2 * q][2 * r + 1],
               x.at[2 * q + 1][2 * r], x.at[2 * q + 1][2 * r + 1]);
    }
    if (T % 2 && warp.writes(T / 2) &&
        (is_valid<Layout>(T - 1, 0, warp.quad) || is_valid<Layout>(T - 1, 1, warp.quad))) {
      Join::to(row + 8 * (T - 1) + 2 * warp.quad, x.at[T - 1][2 * r], x.at[T - 1][2 * r + 1]);
    }
  }
}

template <class Join>
__device__ __forceinline__ void scatter_scalar(void* buffer, const Scalar& x, const Index& index,
                                               const Tile& tile, const Warp& warp) {
  if (warp.quad != 0 || warp.part != 0) return;
  for (int r = 0; r < 2; ++r) {
    if (tile.inside[r] && is_row(index.at[r]))
      Join::to(static_cast<float*>(buffer) + index.at[r], x.at[r]);
  }
}
