// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
/// Many rows, vectors of rows.

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

struct Tile : Common<Tile> {
  static constexpr int kRows = kTileRows;
  static constexpr int kFeature = kRows;
  static constexpr int kRow = 1;
  static constexpr int kGroup = 3;  // vectors of rows in a register block

  static int vectors(int n) { return (n + kLanes - 1) / kLanes; }

  static V wide(const float* x, int i, int r) { return load(x + i * kFeature + r); }
  static V narrow(const float* x, int, int r) { return load(x + r); }
  static V constant(const float* c, int i, int) { return all(c[i]); }
  static Doubles constant_doubles(const float* c, int i) { return constant_number(c, i); }
  static V picked(const float* x, Places at, int i, int r) { return wide(x, at[i], r); }

  /// `f` gives Doubles.
  template <class F>
  static void map_doubles(float* y, int width, int n, F f) {
    for (int i = 0; i < width; ++i)
      for (int r = 0; r < n; r += kLanes) {
        const Words result = words(f(i, r));
        store(y + i * kFeature + r, result.high);
        store(y + (width + i) * kFeature + r, result.low);
      }
  }

  /// y = f(feature, row) everywhere.
  template <class F>
  static void map(float* y, int width, int n, F f) {
    if (vectors(n) == vectors(kRows)) {
      for (int i = 0; i < width; ++i) {
#pragma GCC unroll 3
        for (int r = 0; r < kRows; r += kLanes) store(y + i * kFeature + r, f(i, r));
      }
    } else {
      for (int i = 0; i < width; ++i)
        for (int r = 0; r < n; r += kLanes) store(y + i * kFeature + r, f(i, r));
    }
  }

  /// Adds the products of kVectors of rows and of kWidth numbers that all rows have.
  template <int kWidth, int kVectors>
  [[gnu::always_inline]] static inline void add_products(V (&sum)[kWidth][kVectors],
                                                         const float* rows, const float* numbers) {
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

  /// kVectors of rows by kWidth outputs of a linear layer; `w`: the first bias of these outputs.
  template <int kVectors, int kWidth>
  static void linear_block(float* y, const Groups& x, int group, const float* w, int row,
                           bool is_relu) {
    V sum[kWidth][kVectors];
#pragma GCC unroll 8
    for (int o = 0; o < kWidth; ++o)
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) sum[o][v] = all(w[o]);
    for (int s = 0; s < x.spans; ++s) {
      const float* from = x.scratch + x.first(group, s) * kFeature + row;
      for (int k = 0; k < x.count(s); ++k, from += kFeature) {
        w += kBlock;
        add_products(sum, from, w);
      }
    }
#pragma GCC unroll 8
    for (int o = 0; o < kWidth; ++o)
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v)
        store(y + o * kFeature + row + v * kLanes, is_relu ? f_relu(sum[o][v]) : sum[o][v]);
  }

  /// `width` outputs of every group.
  TENSOA_LINEAR static void linear(float* y, int width, Groups x, const float* w, int n,
                                   bool is_relu) {
    const int stride = (x.inputs() + 1) * kBlock;
    for (int group = 0; group < x.times; ++group, y += width * kFeature)
      for (int o = 0; o < width; o += kOutputs) {
        const float* block = w + o / kBlock * stride + o % kBlock;
        for (int v = 0; v < vectors(n); v += kGroup) {
          with_constant<kGroup>(std::min(kGroup, vectors(n) - v), [&](auto rows) {
            with_constant<kOutputs>(std::min(kOutputs, width - o), [&](auto outputs) {
              linear_block<rows, outputs>(y + o * kFeature, x, group, block, v * kLanes, is_relu);
            });
          });
        }
      }
  }

  /// kVectors of rows of kWidth numbers of a row of a product.
  template <int kVectors, int kWidth>
  static void product_block(float* to, const float* x, const float* z, int inner, int columns) {
    V sum[kWidth][kVectors] = {};
    for (int k = 0; k < inner; ++k, x += kFeature, z += columns * kFeature) {
      V in[kVectors];
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) in[v] = load(x + v * kLanes);
#pragma GCC unroll 4
      for (int o = 0; o < kWidth; ++o)
#pragma GCC unroll 3
        for (int v = 0; v < kVectors; ++v)
          sum[o][v] = fused(in[v], load(z + o * kFeature + v * kLanes), sum[o][v]);
    }
#pragma GCC unroll 4
    for (int o = 0; o < kWidth; ++o)
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) store(to + o * kFeature + v * kLanes, sum[o][v]);
  }

  /// `times` products of matrices [rows, inner] and [inner, columns].
  [[gnu::noinline]] static void product(float* y, const float* x, const float* z, int times,
                                        int rows, int inner, int columns, int n) {
    constexpr int kWidth = 4;
    for (int t = 0; t < times; ++t, z += inner * columns * kFeature)
      for (int i = 0; i < rows; ++i, x += inner * kFeature, y += columns * kFeature)
        for (int j = 0; j < columns; j += kWidth)
          for (int v = 0; v < vectors(n); v += kGroup)
            with_constant<kGroup>(std::min(kGroup, vectors(n) - v), [&](auto group) {
              with_constant<kWidth>(std::min(kWidth, columns - j), [&](auto width) {
                const int at = v * kLanes;
                product_block<group, width>(y + j * kFeature + at, x + at, z + j * kFeature + at,
                                            inner, columns);
              });
            });
  }

  /// `times` groups of `width` numbers, that lie at these places or (nullptr) side by side.
  template <class F>
  [[gnu::noinline]] static void reduce(float* y, const float* x, Places at, int width, int times,
                                       int n, F f, float divisor) {
    const auto from = [&](int i) { return x + (at ? at[i] : i) * kFeature; };
    for (int t = 0; t < times; ++t)
      for (int r = 0; r < n; r += kLanes) {
        const V result = joined(width, f, [&](int i) { return load(from(t * width + i) + r); });
        store(y + t * kFeature + r, divisor == 1 ? result : result / all(divisor));
      }
  }

  /// Of each of `times` groups of `width` numbers the places of `count`, in order; `keys`: room for as many.
  [[gnu::noinline]] static void order(float* y, const float* x, float* keys, int width, int count,
                                      int times, bool is_largest, int n) {
    for (int t = 0; t < times; ++t, x += width * kFeature, y += count * kFeature)
      for (int r = 0; r < n; r += kLanes) {
        for (int i = 0; i < width; ++i)
          store(keys + i * kFeature, from_bits(key_of(load(x + i * kFeature + r), is_largest)));
        for (int k = 0; k < count; ++k) {
          I least = bits(load(keys)), place = {};
          for (int i = 1; i < width; ++i) {
            const I key = bits(load(keys + i * kFeature));
            const I is_less = key < least;
            least = is_less ? key : least;
            place = is_less ? whole(i) : place;
          }
          store(y + k * kFeature + r, __builtin_convertvector(place, V));
          for (int lane = 0; lane < kLanes; ++lane)
            keys[place[lane] * kFeature + lane] = from_bits(whole(kTakenKey))[0];
        }
      }
  }

  /// Of each group of `elements`, `inner` numbers each, those at `count` places.
  [[gnu::noinline]] static void take(float* y, const float* x, const float* places, int elements,
                                     int inner, int count, int times, int n) {
    for (int t = 0; t < times; ++t, x += elements * inner * kFeature)
      for (int k = 0; k < count; ++k, places += kFeature)
        for (int r = 0; r < n; r += kLanes) {
          const V place = load(places + r);
          const I is_one = (place >= all(0)) & (place < all(static_cast<float>(elements)));
          const I first = __builtin_convertvector(is_one ? place : V{}, I) * (inner * kFeature);
          for (int i = 0; i < inner; ++i) {
            const V found = gathered(x + i * kFeature + r, first + lanes());
            store(y + ((t * count + k) * inner + i) * kFeature + r, is_one ? found : all(NAN));
          }
        }
  }

  /// Layer normalisation of every group, followed by relu or not; the mean is zero where `is_centered`. y may be x where
  /// there is one group.
  [[gnu::noinline]] static void norm(float* y, const float* x, int width, int times, const float* w,
                                     const float* b, float eps, int n, bool is_centered,
                                     bool is_relu) {
    for (int t = 0; t < times; ++t, x += width * kFeature, y += width * kFeature)
      norm_of(y, x, width, w, b, eps, n, is_centered, is_relu);
  }

  static void norm_of(float* y, const float* x, int width, const float* w, const float* b,
                      float eps, int n, bool is_centered, bool is_relu) {
    for (int first = 0; first < vectors(n); first += kGroup)
      with_constant<kGroup>(std::min(kGroup, vectors(n) - first), [&](auto rows) {
        const float* from = x + first * kLanes;
        float* to = y + first * kLanes;
        V mean[rows] = {}, square[rows] = {}, offset[rows] = {};
        for (int i = 0; i < (is_centered ? 0 : width); ++i)
          for (int v = 0; v < rows; ++v) mean[v] += load(from + i * kFeature + v * kLanes);
        for (int v = 0; v < rows; ++v) mean[v] /= all(static_cast<float>(width));
        for (int i = 0; i < width; ++i)
          for (int v = 0; v < rows; ++v) {
            const V d = load(from + i * kFeature + v * kLanes) - mean[v];
            square[v] = fused(d, d, square[v]);
            offset[v] += d;
          }
        for (int v = 0; v < rows; ++v) {
          offset[v] /= all(static_cast<float>(width));
          square[v] = inverse_deviation(square[v] / all(static_cast<float>(width)), offset[v], eps);
          offset[v] = corrected(mean[v], offset[v]) * square[v];
        }
        for (int i = 0; i < width; ++i)
          for (int v = 0; v < rows; ++v) {
            const V d =
                fused(load(from + i * kFeature + v * kLanes) - mean[v], square[v], -offset[v]);
            const V result = fused(d, all(w[i]), all(b[i]));
            store(to + i * kFeature + v * kLanes, is_relu ? f_relu(result) : result);
          }
      });
  }

  /// Memory that only this row's later stages read: as it lies in scratch, since the tiles of all stages are the same.
  static void keep(const float* x, int width, const Memory& memory, std::int64_t first, int) {
    std::memcpy(memory.data + first * memory.pitch, x,
                sizeof(float) * static_cast<std::size_t>(width * kFeature));
  }
  static void recall(float* y, int width, const Memory& memory, std::int64_t first, int) {
    std::memcpy(y, memory.data + first * memory.pitch,
                sizeof(float) * static_cast<std::size_t>(width * kFeature));
  }

  template <int kCount>
  [[gnu::noinline]] static void read_rows(float* y, int width, const float* (&from)[kCount][kRows],
                                          int n) {
    for (int k = 0; k < kCount; ++k)
      for (int r = n; r < vectors(n) * kLanes; ++r) from[k][r] = from[k][0];
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
        float* to = y + i * kFeature + r;
        if (count == kLanes) {
#pragma GCC unroll 16
          for (int j = 0; j < kLanes; ++j) store(to + j * kFeature, a[j]);
        } else {
          for (int j = 0; j < count; ++j) store(to + j * kFeature, a[j]);
        }
      }
  }

  template <class Join>
  [[gnu::noinline]] static void write_rows(const float* x, int width, float* const* to, int n,
                                           Join join) {
    for (int r = 0; r < n; r += kLanes)
      for (int i = 0; i < width; i += kLanes) {
        V a[kLanes];
        if (width - i >= kLanes) {
#pragma GCC unroll 16
          for (int j = 0; j < kLanes; ++j) a[j] = load(x + (i + j) * kFeature + r);
        } else {
#pragma GCC unroll 16
          for (int j = 0; j < kLanes; ++j)
            a[j] = i + j < width ? load(x + (i + j) * kFeature + r) : V{};
        }
        transpose(a);
#pragma GCC unroll 16
        for (int j = 0; j < kLanes; ++j)
          if (r + j < n && (!Join::kReads || to[r + j])) {
            float* p = to[r + j] + i;
            store(p, Join::kReads ? join(load(p), a[j]) : a[j]);
          }
      }
  }
};

}  // namespace
