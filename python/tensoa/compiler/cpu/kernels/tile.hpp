// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
/// Rows of memory in float32, from and to a tile, in which they lie one element after the other: blocks are transposed.

#include "order.hpp"

namespace {

template <int kStep, int... kIndex>
inline void exchange(V& a, V& b, std::integer_sequence<int, kIndex...>) {
  const V low =
      __builtin_shufflevector(a, b, ((kIndex & kStep) ? kLanes + kIndex - kStep : kIndex)...);
  const V high =
      __builtin_shufflevector(a, b, ((kIndex & kStep) ? kLanes + kIndex : kIndex + kStep)...);
  a = low;
  b = high;
}

template <int kStep>
inline void transpose_step(V (&a)[kLanes]) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i)
    if (!(i & kStep))
      exchange<kStep>(a[i], a[i | kStep], std::make_integer_sequence<int, kLanes>{});
}

inline void transpose(V (&a)[kLanes]) {
  transpose_step<1>(a);
  transpose_step<2>(a);
  transpose_step<4>(a);
  if constexpr (kLanes == 16) transpose_step<8>(a);
}

/// Adds the products of kVectors of rows and of kWidth numbers that all rows have.
template <int kWidth, int kVectors>
[[gnu::always_inline]] inline void add_products(V (&sum)[kWidth][kVectors], const float* rows,
                                                const float* numbers) {
  V in[kVectors];
#pragma GCC unroll 3
  for (int v = 0; v < kVectors; ++v) in[v] = load(rows + v * kLanes);
#pragma GCC unroll 8
  for (int o = 0; o < kWidth; ++o) {
    const V number = all(numbers[o]);
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) sum[o][v] = fused(in[v], number, sum[o][v]);
  }
}

template <int kCount>
[[gnu::noinline]] void read_rows(float* y, int width, const float* (&from)[kCount][kTileRows],
                                 int n) {
  for (int k = 0; k < kCount; ++k)
    for (int r = n; r < (n + kLanes - 1) / kLanes * kLanes; ++r) from[k][r] = from[k][0];
  for (int r = 0; r < n; r += kLanes)
    for (int i = 0; i < width; i += kLanes) {
      V a[kLanes];
#pragma GCC unroll 16
      for (int j = 0; j < kLanes; ++j) {
        a[j] = load(from[0][r + j] + i);
        for (int k = 1; k < kCount; ++k) a[j] += load(from[k][r + j] + i);
      }
      transpose(a);
      const int count = std::min(kLanes, width - i);
      float* to = y + i * kTileRows + r;
      if (count == kLanes) {
#pragma GCC unroll 16
        for (int j = 0; j < kLanes; ++j) store(to + j * kTileRows, a[j]);
      } else {
        for (int j = 0; j < count; ++j) store(to + j * kTileRows, a[j]);
      }
    }
}

/// `join(what is there, row)` of every row, whose place may be nullptr; without kReads rows are written as they are.
template <bool kReads, class Join>
[[gnu::noinline]] void write_rows(const float* x, int width, float* const* to, int n, Join join) {
  for (int r = 0; r < n; r += kLanes)
    for (int i = 0; i < width; i += kLanes) {
      V a[kLanes];
      if (width - i >= kLanes) {
#pragma GCC unroll 16
        for (int j = 0; j < kLanes; ++j) a[j] = load(x + (i + j) * kTileRows + r);
      } else {
#pragma GCC unroll 16
        for (int j = 0; j < kLanes; ++j)
          a[j] = i + j < width ? load(x + (i + j) * kTileRows + r) : V{};
      }
      transpose(a);
#pragma GCC unroll 16
      for (int j = 0; j < kLanes; ++j)
        if (r + j < n && (!kReads || to[r + j])) {
          float* p = to[r + j] + i;
          store(p, kReads ? join(load(p), a[j]) : a[j]);
        }
    }
}

/// The row that a place names; `otherwise` where it names none.
inline float* row_of(const Memory& memory, std::int64_t place, float* otherwise) {
  const bool is_row = static_cast<std::uint64_t>(place) < static_cast<std::uint64_t>(memory.rows);
  return is_row ? memory.data + place * memory.pitch : otherwise;
}

/// The sum of rows from kCount memories; `nan`: what a place outside of one reads.
template <int kCount>
inline void gather_tile(float* y, int width, const IndexedRows (&sources)[kCount], const float* nan,
                        int n) {
  const float* from[kCount][kTileRows];
  for (int k = 0; k < kCount; ++k)
    for (int r = 0; r < n; ++r)
      from[k][r] = row_of(*sources[k].memory, sources[k].index[r], const_cast<float*>(nan));
  read_rows(y, width, from, n);
}

inline void read_tile(float* y, int width, const Memory& memory, std::int64_t first, int n) {
  const float* from[1][kTileRows];
  for (int r = 0; r < n; ++r) from[0][r] = memory.data + (first + r) * memory.pitch;
  read_rows(y, width, from, n);
}

inline void write_tile(const float* x, int width, const Memory& memory, std::int64_t first, int n) {
  float* to[kTileRows];
  for (int r = 0; r < n; ++r) to[r] = memory.data + (first + r) * memory.pitch;
  write_rows<false>(x, width, to, n, [](V, V row) { return row; });
}

/// Rows that a place outside of the memory names are left out.
template <class J>
inline void scatter_tile(const float* x, int width, const Memory& memory, const std::int64_t* index,
                         int n) {
  float* to[kTileRows];
  for (int r = 0; r < n; ++r) to[r] = row_of(memory, index[r], nullptr);
  write_rows<true>(x, width, to, n, [](V there, V row) { return J::join(there, row); });
}

inline std::int64_t whole_tiles(std::int64_t rows) {
  return (rows + kTileRows - 1) / kTileRows * kTileRows;
}

}  // namespace
