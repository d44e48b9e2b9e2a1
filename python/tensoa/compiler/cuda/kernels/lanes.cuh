// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// What lanes with rows of their own do together: rows of memory, which are read and written as whole lines, and products.
//
// Scratch memory has the rows of a warp next to each other: number e of row q is at e * kStep + q.
#include "products.cuh"

// body(row, first number) of pieces of kPiece numbers, so that a warp has the neighbouring pieces of eight rows.
template <int kNumbers, int kRows, int kPiece, class Body>
__device__ __forceinline__ void each_piece(Body body) {
  constexpr int kPieces = kNumbers / kPiece;
#pragma unroll 4
  for (int at = threadIdx.x & 31; at < kPieces * kRows; at += 32)
    body(at / (8 * kPieces) * 8 + at % 8, at / 8 % kPieces * kPiece);
}

// Writes rows of `kNumbers` numbers to memory, where they are `pitch` apart.
template <int kNumbers, int kRows, int kStep, class T>
__device__ __forceinline__ void write_rows(T* to, int64 pitch, const T* from, int n) {
  if constexpr (kNumbers % 4 == 0 && sizeof(T) == 4) {
    each_piece<kNumbers, kRows, 4>([&](int q, int e) {
      if (q >= n) return;
      Numbers<4> four;
#pragma unroll
      for (int i = 0; i < 4; ++i)
        four.at[i] = reinterpret_cast<const float*>(from)[(e + i) * kStep + q];
      *reinterpret_cast<Numbers<4>*>(to + q * pitch + e) = four;
    });
  } else {
    each_piece<kNumbers, kRows, 1>([&](int q, int e) {
      if (q < n) to[q * pitch + e] = from[e * kStep + q];
    });
  }
}

// Reads rows of `kNumbers` numbers, a multiple of four; several are added in their order. place(q): the first number of row q,
// or nullptr: none.
template <int kNumbers, int kRows, int kStep, class Place, class... Others>
__device__ __forceinline__ void read_rows(float* to, int n, Place place, Others... others) {
  const auto read = [](const float* row, int e) {
    return row ? *reinterpret_cast<const Numbers<4>*>(row + e)
               : Numbers<4>{{not_a_number(), not_a_number(), not_a_number(), not_a_number()}};
  };
  each_piece<kNumbers, kRows, 4>([&](int q, int e) {
    if (q >= n) return;
    Numbers<4> sum = read(place(q), e);
    const auto add = [&](const Numbers<4>& x) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sum.at[i] += x.at[i];
    };
    (add(read(others(q), e)), ...);
#pragma unroll
    for (int i = 0; i < 4; ++i) to[(e + i) * kStep + q] = sum.at[i];
  });
}

// K sums that begin with the numbers at `from`, and one factor of all of them times the numbers there.
template <int K>
__device__ __forceinline__ void start_with(float (&sum)[K], const float* from) {
#pragma unroll
  for (int i = 0; i < K; ++i) sum[i] = from[i];
}
template <int K>
__device__ __forceinline__ void add_products(float (&sum)[K], float x, const float* from) {
  constexpr int kPiece = K < 4 ? K : 4;
#pragma unroll
  for (int i = 0; i < K; i += kPiece) {
    const auto piece = *reinterpret_cast<const Numbers<kPiece>*>(from + i);
#pragma unroll
    for (int j = 0; j < kPiece; ++j) sum[i + j] = fmaf(x, piece.at[j], sum[i + j]);
  }
}

// store(r, output, number) of the accumulators of two items, and of outputs from tile `first` on.
template <int C, class Store>
__device__ __forceinline__ void each_of_two(const Fragment<C>& c, int first, int outputs,
                                            const Warp& warp, Store store) {
#pragma unroll
  for (int n = 0; n < C; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int output = 8 * (first + n) + 2 * warp.quad + (i & 1);
      if (output < outputs) store(i / 2, output, c.at[n][i]);
    }
  }
}
