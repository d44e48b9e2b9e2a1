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
template <class T>
__device__ __forceinline__ float to_float(T x) {
  return static_cast<float>(x);
}
__device__ __forceinline__ float to_float(bool x) { return x ? 1.f : 0.f; }
__device__ __forceinline__ float to_float(Half x) { return half_to_float(x.bits); }
__device__ __forceinline__ float to_float(Bfloat16 x) {
  return __uint_as_float(unsigned{x.bits} << 16);
}

// Numbers of planes. `places`: the plane of each position of the tiles, -1 for padding; or nullptr:
// the first `width` positions are the planes from `first` on.
struct PlaneNumbers {
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
  PlaneNumbers planes;
  __device__ T at(int plane, int64 row) const { return data[plane * pitch + row]; }
};

// A number as an element of a column.
template <class T>
__device__ __forceinline__ T element(float x);
template <>
__device__ __forceinline__ Half element<Half>(float x) {
  return {static_cast<unsigned short>(to_halves(x, 0.f))};
}
template <>
__device__ __forceinline__ Bfloat16 element<Bfloat16>(float x) {
  return {static_cast<unsigned short>(to_bfloats(x, 0.f))};
}

template <int T, class Number>
__device__ __forceinline__ Fragment<T> load(const Columns<Number>& from, const int64 (&row)[2],
                                            const Warp& warp) {
  Fragment<T> x;
#pragma unroll(unroll(T))
  for (int n = 0; n < T; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int plane = from.planes.place(8 * n + 2 * warp.quad + (i & 1));
      x.at[n][i] = plane < 0 ? 0.f : to_float(from.at(plane, row[i >> 1]));
    }
  }
  return x;
}
