// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// Planes of blocks.
#include "rows.cuh"

struct Half {
  unsigned short bits;
};
struct Bfloat16 {
  unsigned short bits;
};
// Numbers of float64 of which one word is read or written.
struct High {
  float other, word;
};
struct Low {
  float word, other;
};

template <class T>
__device__ __forceinline__ float to_float(T x) {
  return static_cast<float>(x);
}
__device__ __forceinline__ float to_float(bool x) { return x ? 1.f : 0.f; }
__device__ __forceinline__ float to_float(High x) { return x.word; }
__device__ __forceinline__ float to_float(Low x) { return x.word; }
__device__ __forceinline__ float to_float(Half x) { return half_to_float(x.bits); }
__device__ __forceinline__ float to_float(Bfloat16 x) {
  return __uint_as_float(unsigned{x.bits} << 16);
}

// Numbers of planes. `places`: the plane of each position of the tiles, -1 for padding; or nullptr:
// the first `width` positions are the planes from `first` on.
struct Planes {
  int first, width;
  const int* places;
  __device__ int place(int column) const {
    return places ? places[column] : column < width ? first + column : -1;
  }
};

template <class T>
struct Columns {
  T* data;
  int64 pitch;
  Planes planes;
  __device__ T at(int plane, int64 row) const { return data[plane * pitch + row]; }
};

// Columns of integers whose numbers are first changed by `step`.
template <class Number, class F>
struct Stepped {
  Columns<const Number> from;
  F step;
  Planes planes;
  __device__ int64 at(int plane, int64 row) const { return step(from.at(plane, row)); }
};
template <class Number, class F>
__device__ __forceinline__ Stepped<Number, F> stepped(const Columns<const Number>& from, F step) {
  return {from, step, from.planes};
}

// A number as an element of a column; what is no number is the integer 0.
template <class T>
__device__ __forceinline__ T element(float x) {
  return x == x ? static_cast<T>(x) : T{};
}
template <>
__device__ __forceinline__ float element<float>(float x) {
  return x;
}
template <>
__device__ __forceinline__ Half element<Half>(float x) {
  return {static_cast<unsigned short>(to_halves(x, 0.f))};
}
template <>
__device__ __forceinline__ Bfloat16 element<Bfloat16>(float x) {
  return {static_cast<unsigned short>(to_bfloats(x, 0.f))};
}

template <class T>
__device__ __forceinline__ void put_number(T& to, float x) {
  to = element<T>(x);
}
__device__ __forceinline__ void put_number(High& to, float x) { to.word = x; }
__device__ __forceinline__ void put_number(Low& to, float x) { to.word = x; }

// Rows are those of a tile, or of an Index.
template <int T, class From, class Row>
__device__ __forceinline__ Fragment<T> load(const From& from, const Row (&row)[2],
                                            const Warp& warp) {
  Fragment<T> x;
#pragma unroll(unroll(T))
  for (int n = 0; n < T; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int plane = from.planes.place(8 * n + 2 * warp.quad + (i & 1));
      const Row at = row[i >> 1];
      x.at[n][i] = plane < 0 ? 0.f : is_row(at) ? to_float(from.at(plane, at)) : not_a_number();
    }
  }
  return x;
}

template <class From, class Row>
__device__ __forceinline__ Scalar scalar_of(const From& from, const Row (&row)[2]) {
  const int plane = from.planes.first;
  return {{is_row(row[0]) ? to_float(from.at(plane, row[0])) : not_a_number(),
           is_row(row[1]) ? to_float(from.at(plane, row[1])) : not_a_number()}};
}

template <class Number, class Row>
__device__ __forceinline__ Scalar load_scalar(const Columns<const Number>& from,
                                              const Row (&row)[2]) {
  return scalar_of(from, row);
}
template <class Number, class F, class Row>
__device__ __forceinline__ Scalar load_scalar(const Stepped<Number, F>& from, const Row (&row)[2]) {
  return scalar_of(from, row);
}

// What names one of `rows` rows; they are fewer than 2^31.
template <class From>
__device__ __forceinline__ Index load_index(const From& from, const int64 (&row)[2], int64 rows) {
  Index index;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int64 at = static_cast<int64>(from.at(from.planes.first, row[r]));
    const bool is_inside =
        static_cast<unsigned long long>(at) < static_cast<unsigned long long>(rows);
    index.at[r] = is_inside ? static_cast<int>(at) : -1;
  }
  return index;
}

template <int T, class Number>
__device__ __forceinline__ void write(const Columns<Number>& to, const Fragment<T>& x,
                                      const Tile& tile, const Warp& warp) {
#pragma unroll(unroll(T))
  for (int n = 0; n < T; ++n) {
    if (!warp.writes(n / 2)) continue;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int plane = to.planes.place(8 * n + 2 * warp.quad + (i & 1));
      if (plane >= 0 && tile.inside[i >> 1])
        put_number(to.data[plane * to.pitch + tile.row[i >> 1]], x.at[n][i]);
    }
  }
}

template <class Number>
__device__ __forceinline__ void write(const Columns<Number>& to, const Scalar& x, const Tile& tile,
                                      const Warp& warp) {
  Number* plane = to.data + to.planes.first * to.pitch;
  if (warp.quad != 0 || warp.part != 0) return;
  for (int r = 0; r < 2; ++r) {
    if (tile.inside[r]) put_number(plane[tile.row[r]], x.at[r]);
  }
}
