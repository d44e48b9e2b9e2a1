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

// Whether x comes before y, which has place `other` (-1: none is there), and is not behind x by its place.
template <class T>
__device__ __forceinline__ bool is_ahead(T x, bool is_nan, T y, int other, bool is_largest) {
  return other < 0 || (is_largest ? x > y || (is_nan && y == y) : !is_nan && !(x >= y));
}
// Joins a number and its place to the first K, and their places. Returns whether it is one of them. `IsLast`: its place is
// behind all of theirs.
template <int K, bool IsLast, class T>
__device__ __forceinline__ bool insert(int* places, int ps, T* numbers, int ns, int place, T x,
                                       bool is_largest) {
  constexpr int kUnrolled = K <= 16 ? K : 1;
  const bool is_nan = x != x;
  const auto goes_before = [&](int i) {
    const int other = places[i * ps];
    const T y = numbers[i * ns];
    const bool is_ahead_by_place = !IsLast && place < other && (x == y || (is_nan && y != y));
    return is_ahead(x, is_nan, y, other, is_largest) || is_ahead_by_place;
  };
  if (!goes_before(K - 1)) return false;
#pragma unroll kUnrolled
  for (int i = K - 1; i >= 0; --i) {  // those behind it move on
    const bool is_here = i == 0 || !goes_before(i - 1);
    if (!is_here) {
      places[i * ps] = places[(i - 1) * ps];
      numbers[i * ns] = numbers[(i - 1) * ns];
    } else if (goes_before(i)) {
      places[i * ps] = place;
      numbers[i * ns] = x;
    }
  }
  return true;
}
// Joins `count` numbers, from row `first` on, which is behind those before.
template <int K, class T>
__device__ __forceinline__ void select(int* places, int ps, T* numbers, int ns, const T* x, int xs,
                                       int count, int64 first, bool is_largest) {
#pragma unroll
  for (int j = 0; j < count; ++j)
    insert<K, true>(places, ps, numbers, ns, static_cast<int>(first) + j, x[j * xs], is_largest);
}
// Joins the first K of other rows.
template <int K, class T>
__device__ __forceinline__ void join_selected(int* places, int ps, T* numbers, int ns,
                                              const int* other_places, int op,
                                              const T* other_numbers, int on, bool is_largest) {
  constexpr int kUnrolled = K <= 16 ? K : 1;
#pragma unroll kUnrolled
  for (int i = 0; i < K; ++i) {
    const int place = other_places[i * op];
    if (place < 0) break;
    if (!insert<K, false>(places, ps, numbers, ns, place, other_numbers[i * on], is_largest)) break;
  }
}
// The first K of N numbers.
template <int K, class T>
struct Order {
  int places[K];
  T numbers[K];
};
template <int K, int N, class T>
__device__ __forceinline__ Order<K, T> order_of(const T (&x)[N], bool is_largest) {
  Order<K, T> order;
#pragma unroll
  for (int i = 0; i < K; ++i) {
    order.places[i] = -1;
    order.numbers[i] = x[0];
  }
  select<K>(order.places, 1, order.numbers, 1, x, 1, N, 0, is_largest);
  return order;
}
