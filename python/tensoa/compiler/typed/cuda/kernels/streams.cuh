// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows that are read one after the other, and the first ones in an order of them.
#include "numbers.cuh"

// A number that is known when the code is compiled.
template <int N>
struct Count {
  __device__ constexpr operator int() const { return N; }
};

// Reads N numbers, of a row that begins at a multiple of 16 bytes where it has more than 8.
template <int N, class T>
__device__ __forceinline__ void read_row(T* to, const T* from) {
  constexpr int kPiece = N * sizeof(T) % 16 == 0 ? 16 / sizeof(T) : 1;
  struct alignas(kPiece * sizeof(T)) Piece {
    T at[kPiece];
  };
#pragma unroll
  for (int i = 0; i < N; i += kPiece) {
    const Piece piece = *reinterpret_cast<const Piece*>(from + i);
#pragma unroll
    for (int j = 0; j < kPiece; ++j) to[i + j] = piece.at[j];
  }
}

// Joins a number and its place to the first K, and their places; -1: there is none.
template <int K, class T>
__device__ __forceinline__ void insert(int* places, int ps, T* numbers, int ns, int place, T x,
                                       bool is_largest) {
  constexpr int kUnrolled = K <= 16 ? K : 1;
  const int last = places[(K - 1) * ps];
  if (last >= 0 && !is_before(x, place, numbers[(K - 1) * ns], last, is_largest)) return;
  bool is_there = false;  // once it is, those behind it move on
#pragma unroll kUnrolled
  for (int i = 0; i < K; ++i) {
    const int other = places[i * ps];
    const T y = numbers[i * ns];
    is_there = is_there || other < 0 || is_before(x, place, y, other, is_largest);
    places[i * ps] = is_there ? place : other;
    numbers[i * ns] = is_there ? x : y;
    place = is_there ? other : place;
    x = is_there ? y : x;
  }
}
// Joins `count` numbers, from row `first` on.
template <int K, class T>
__device__ __forceinline__ void select(int* places, int ps, T* numbers, int ns, const T* x, int xs,
                                       int count, int64 first, bool is_largest) {
#pragma unroll
  for (int j = 0; j < count; ++j)
    insert<K>(places, ps, numbers, ns, static_cast<int>(first) + j, x[j * xs], is_largest);
}
// Joins the first K of other rows.
template <int K, class T>
__device__ __forceinline__ void join_selected(int* places, int ps, T* numbers, int ns,
                                              const int* other_places, int ops,
                                              const T* other_numbers, int ons, bool is_largest) {
  constexpr int kUnrolled = K <= 16 ? K : 1;
#pragma unroll kUnrolled
  for (int i = 0; i < K; ++i) {
    if (other_places[i * ops] < 0) break;
    insert<K>(places, ps, numbers, ns, other_places[i * ops], other_numbers[i * ons], is_largest);
  }
}
