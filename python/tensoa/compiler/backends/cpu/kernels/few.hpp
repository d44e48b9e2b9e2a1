// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
/// Few rows, vectors of features; and the choice between the two.

#include "tile.hpp"

namespace {

/// `kPitch`: numbers of scratch memory for a row.
template <int kPitch>
struct Few : Common<Few<kPitch>> {
  static constexpr int kRows = 4;
  static constexpr int kFeature = 1;
  static constexpr int kRow = kPitch;

  static V wide(const float* x, int i, int r) { return load(x + i + r * kPitch); }
  static V narrow(const float* x, int, int r) { return all(x[r * kPitch]); }
  static V constant(const float* c, int i, int) { return load(c + i); }
  static Doubles constant_doubles(const float* c, int i) { return constant_numbers(c, i); }
  static V picked(const float* x, Places at, int i, int r) {
    I index;
    std::memcpy(&index, at + i, sizeof(index));
    return gathered(x + r * kPitch, index);
  }

  template <class F>
  static void map(float* y, int width, int n, F f) {
    for (int r = 0; r < n; ++r)
      for (int i = 0; i < width; i += kLanes) store(y + i + r * kPitch, f(i, r));
  }

  /// `f` gives Doubles. From the last vector to the first: those of high words end among the low ones.
  template <class F>
  static void map_doubles(float* y, int width, int n, F f) {
    for (int r = 0; r < n; ++r)
      for (int i = (width - 1) / kLanes * kLanes; i >= 0; i -= kLanes) {
        const Words result = words(f(i, r));
        store(y + i + r * kPitch, result.high);
        store(y + width + i + r * kPitch, result.low);
      }
  }

  /// kCount rows or groups, `step` apart in `x` and `to_step` in `to`, by kVectors of outputs; kChains sums of each, so that
  /// additions do not wait for one another.
  template <int kCount, int kVectors>
  static void linear_block(float* to, std::int64_t to_step, const Groups& x, int group,
                           std::int64_t step, const float* w, std::int64_t stride, bool is_relu) {
    constexpr int kChains = kCount * kVectors >= 8 ? 1 : kCount * kVectors >= 4 ? 2 : 4;
    V sum[kChains][kCount][kVectors] = {};
    const auto at = [&](int v) { return w + v * kLanes / kBlock * stride + v * kLanes % kBlock; };
    for (int r = 0; r < kCount; ++r)
      for (int v = 0; v < kVectors; ++v) sum[0][r][v] = load(at(v));
    const auto add = [&](int chain, const float* from) {
      w += kBlock;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        V weight = load(at(v));
        // Once in a register for all rows; GCC would load it again with each product, and each input before it.
        if constexpr (kCount > 1) asm("" : "+v"(weight));
#pragma GCC unroll 4
        for (int r = 0; r < kCount; ++r)
          sum[chain][r][v] = fused(all(from[r * step]), weight, sum[chain][r][v]);
      }
    };
    for (int s = 0; s < x.spans; ++s) {
      const float* from = x.scratch + x.first(group, s);
      int k = 0;
      for (; k + kChains <= x.count(s); k += kChains) {
#pragma GCC unroll 4
        for (int chain = 0; chain < kChains; ++chain) add(chain, from + k + chain);
      }
      for (; k < x.count(s); ++k) add(0, from + k);
    }
#pragma GCC unroll 4
    for (int r = 0; r < kCount; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        V result = sum[0][r][v];
#pragma GCC unroll 4
        for (int chain = 1; chain < kChains; ++chain) result += sum[chain][r][v];
        store(to + r * to_step + v * kLanes, is_relu ? f_relu(result) : result);
      }
  }

  /// Rows share the weights that are in registers, or the groups of a row do where these are a step apart. Vectors are
  /// written whole, beyond the end of a group: the next one is written after it.
  TENSOA_LINEAR static void linear(float* y, int width, Groups x, const float* w, int n,
                                   bool is_relu) {
    constexpr int kVectors = 4;
    const std::int64_t stride = (x.inputs() + 1) * kBlock;
    const bool is_row = x.step && (width % kLanes == 0 || width <= kVectors * kLanes);
    const std::int64_t step = is_row ? x.step : kPitch, to_step = is_row ? width : kPitch;
    const int count = is_row ? x.times : n;
    for (int i = 0; i < (is_row ? n : x.times); ++i)
      for (int first = 0; first < count; first += kFewRows) {
        const int row = is_row ? i : first, group = is_row ? first : i;
        float* to = y + row * kPitch + group * width;
        Groups of_row = x;
        of_row.scratch += row * kPitch;
        with_constant<kFewRows>(std::min(kFewRows, count - first), [&](auto together) {
          for (int o = 0; o < width; o += kVectors * kLanes)
            with_constant<kVectors>(
                std::min(kVectors, (width - o + kLanes - 1) / kLanes), [&](auto vectors) {
                  linear_block<together, vectors>(to + o, to_step, of_row, group, step,
                                                  w + o / kBlock * stride, stride, is_relu);
                });
        });
      }
  }

  [[gnu::noinline]] static void product(float* y, const float* x, const float* z, int times,
                                        int rows, int inner, int columns, int n) {
    for (int r = 0; r < n; ++r)
      for (int t = 0; t < times; ++t)
        for (int i = 0; i < rows; ++i) {
          const float* left = x + r * kPitch + (t * rows + i) * inner;
          const float* right = z + r * kPitch + t * inner * columns;
          float* to = y + r * kPitch + (t * rows + i) * columns;
          for (int j = 0; j < columns; j += kLanes) {
            V sum = {};
            for (int k = 0; k < inner; ++k)
              sum = fused(all(left[k]), load(right + k * columns + j), sum);
            store(to + j, sum);
          }
        }
  }

  template <class F>
  [[gnu::noinline]] static void reduce(float* y, const float* x, Places at, int width, int times,
                                       int n, F f, float divisor) {
    const auto place = [&](int i) { return at ? at[i] : i; };
    for (int r = 0; r < n; ++r, x += kPitch, y += kPitch)
      for (int t = 0; t < times; ++t)
        y[t] = joined(width, f, [&](int i) { return x[place(t * width + i)]; }) / divisor;
  }

  [[gnu::noinline]] static void order(float* y, const float* x, float* room, int width, int count,
                                      int times, bool is_largest, int n) {
    for (int r = 0; r < n; ++r, x += kPitch, y += kPitch)
      for (int t = 0; t < times; ++t)
        order_of(y + t * count, x + t * width, room, width, count, is_largest);
  }

  [[gnu::noinline]] static void take(float* y, const float* x, const float* places, int elements,
                                     int inner, int count, int times, int n) {
    for (int r = 0; r < n; ++r, x += kPitch, y += kPitch, places += kPitch)
      for (int t = 0; t < times; ++t)
        for (int k = 0; k < count; ++k) {
          const float place = places[t * count + k];
          const bool is_one = place >= 0 && place < static_cast<float>(elements);
          const float* const from =
              x + (t * elements + (is_one ? static_cast<int>(place) : 0)) * inner;
          float* const to = y + (t * count + k) * inner;
          for (int i = 0; i < inner; i += kLanes) store(to + i, is_one ? load(from + i) : all(NAN));
        }
  }

  [[gnu::noinline]] static void norm(float* y, const float* x, int width, int times, const float* w,
                                     const float* b, float eps, int n, bool is_centered,
                                     bool is_relu) {
    for (int t = 0; t < times; ++t)
      norm_of(y + t * width, x + t * width, width, w, b, eps, n, is_centered, is_relu);
  }

  static void norm_of(float* y, const float* x, int width, const float* w, const float* b,
                      float eps, int n, bool is_centered, bool is_relu) {
    for (int r = 0; r < n; ++r, x += kPitch, y += kPitch) {
      const auto valid = [&](int i, V a) { return lanes() < width - i ? a : V{}; };
      V sum = {}, square = {}, offset = {};
      for (int i = 0; i < (is_centered ? 0 : width); i += kLanes) sum += valid(i, load(x + i));
      V mean = all(sum_of(sum) / static_cast<float>(width));
      for (int i = 0; i < width; i += kLanes) {
        const V d = valid(i, load(x + i) - mean);
        square = fused(d, d, square);
        offset += d;
      }
      offset = all(sum_of(offset) / static_cast<float>(width));
      square = all(sum_of(square) / static_cast<float>(width));
      const V inverse = inverse_deviation(square, offset, eps);
      const V rest = corrected(mean, offset) * inverse;
      for (int i = 0; i < width; i += kLanes) {
        const V d = fused(load(x + i) - mean, inverse, -rest);
        const V result = fused(d, load(w + i), load(b + i));
        store(y + i, is_relu ? f_relu(result) : result);
      }
    }
  }

  static void keep(const float* x, int width, const Memory& memory, std::int64_t first, int n) {
    Few::write(x, width, memory, first, n);
  }
  static void recall(float* y, int width, const Memory& memory, std::int64_t first, int n) {
    Few::read(y, width, memory, first, n);
  }

  template <int kCount>
  static void read_rows(float* y, int width, const float* (&from)[kCount][kRows], int n) {
    for (int r = 0; r < n; ++r)
      for (int i = 0; i < width; i += kLanes) {
        V sum = load(from[0][r] + i);
        for (int k = 1; k < kCount; ++k) sum += load(from[k][r] + i);
        store(y + i + r * kPitch, sum);
      }
  }

  template <class Join>
  static void write_rows(const float* x, int width, float* const* to, int n, Join join) {
    for (int r = 0; r < n; ++r)
      for (int i = 0; i < width; i += kLanes)
        if (!Join::kReads || to[r]) {
          const V row = lanes() < width - i ? load(x + i + r * kPitch) : V{};
          store(to[r] + i, Join::kReads ? join(load(to[r] + i), row) : row);
        }
  }
};

inline std::int64_t whole_tiles(std::int64_t rows) {
  return (rows + Tile::kRows - 1) / Tile::kRows * Tile::kRows;
}

/// All rows of a stage: as many as possible in tiles, few that are left one by one.
template <template <class> class Stage, int kPitch>
inline void run_stage(const Call& call, std::int64_t rows) {
  for (std::int64_t first = 0; first < rows;) {
    const std::int64_t left = rows - first;
    if (left > kFewLimit) {
      Stage<Tile>::run(call, first, static_cast<int>(std::min<std::int64_t>(left, Tile::kRows)));
      first += Tile::kRows;
    } else {
      using Layout = Few<kPitch>;
      Stage<Layout>::run(call, first,
                         static_cast<int>(std::min<std::int64_t>(left, Layout::kRows)));
      first += Layout::kRows;
    }
  }
}

}  // namespace
