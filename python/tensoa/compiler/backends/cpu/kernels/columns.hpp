// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
/// Numbers of columns, and what both layouts do one number at a time.

#include "doubles.hpp"

namespace {

// ---- numbers of columns

struct Half {
  std::uint16_t bits;
};
struct BFloat {
  std::uint16_t bits;
};
/// Numbers of float64 of which one word is read or written.
struct High {
  float other, word;
};
struct Low {
  float word, other;
};
template <class T>
inline float number(T x) {
  return static_cast<float>(x);
}
inline float number(High x) { return x.word; }
inline float number(Low x) { return x.word; }
inline float number(Half x) { return _cvtsh_ss(x.bits); }
inline float number(BFloat x) {
  const std::uint32_t wide = static_cast<std::uint32_t>(x.bits) << 16;
  float result;
  std::memcpy(&result, &wide, sizeof(result));
  return result;
}

/// A plane of integers whose numbers are first changed by `step`.
template <class T, class F>
struct Stepped {
  const T* data;
  F step;
  long long operator[](std::int64_t row) const { return step(data[row]); }
  Stepped operator+(std::int64_t rows) const { return {data + rows, step}; }
};
template <class T, class F>
inline Stepped<T, F> stepped(const T* data, F step) {
  return {data, step};
}

/// A number as an element of a column; what is no number is the integer 0.
template <class T>
inline T element(float x) {
  if constexpr (std::is_same_v<T, float>) return x;
  if constexpr (std::is_same_v<T, bool>) return x == x && x != 0;
  if constexpr (std::is_same_v<T, Half>) return {_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT)};
  if constexpr (std::is_same_v<T, BFloat>) {
    const std::int32_t wide = bits(f_to_bfloat16(all(x)))[0];
    return {static_cast<std::uint16_t>(wide >> 16)};
  }
  if constexpr (std::is_arithmetic_v<T>) return x == x ? static_cast<T>(x) : T{};
}

template <class T>
inline void put(T& to, float x) {
  to = element<T>(x);
}
inline void put(High& to, float x) { to.word = x; }
inline void put(Low& to, float x) { to.word = x; }

template <int kCount, class F>
inline void with_constant(int value, F f) {
  [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) {
    ((value == kIndex + 1 ? f(std::integral_constant<int, kIndex + 1>{}) : void()), ...);
  }(std::make_integer_sequence<int, kCount>{});
}

// ---- what both layouts do over the numbers of a group

/// `f` of all numbers get(i) of a group: in blocks, so that few roundings follow one another.
template <class F, class Get>
inline auto joined(int width, F f, Get get) {
  constexpr int kBlockNumbers = 32;
  auto total = get(0);
  int i = 1;
  while (i + 8 <= width) {
    auto a = get(i), b = get(i + 1), c = get(i + 2), d = get(i + 3);
    const int end = std::min(i + kBlockNumbers, width);
    for (i += 4; i + 4 <= end; i += 4) {
      a = f(a, get(i));
      b = f(b, get(i + 1));
      c = f(c, get(i + 2));
      d = f(d, get(i + 3));
    }
    total = f(total, f(f(a, b), f(c, d)));
  }
  for (; i < width; ++i) total = f(total, get(i));
  return total;
}

/// 1 / sqrt(variance + eps), from the mean of the squares of x - m, where m is not quite the mean: `offset` is that of x - m.
/// (The corrected two-pass algorithm of Chan, Golub and LeVeque, 1983.)
inline V inverse_deviation(V square, V offset, float eps) {
  return all(1) / square_root(f_relu(fused(-offset, offset, square)) + all(eps));
}

/// Adds the offset to the mean, and returns what float32 leaves out of the sum: half a last place of a mean that may be far
/// larger than the deviations from it. Zero of equal numbers, whose mean is one of them.
inline V corrected(V& mean, V offset) {
  const V before = mean;
  mean += offset;
  return offset - (mean - before);
}

// ---- what both layouts do one number at a time

/// Number i of row r of a value at x is x[i * kFeature + r * kRow].
template <class L>
struct Common {
  /// One feature from a plane.
  template <class From>
  static void input(float* y, From from, int n) {
    for (int r = 0; r < n; ++r) y[r * L::kRow] = number(from[r]);
  }

  /// The number of a scalar column in all rows.
  template <class From>
  static void scalar(float* y, From from, int n) {
    for (int r = 0; r < n; ++r) y[r * L::kRow] = number(from[0]);
  }

  template <class T>
  static void output(const float* x, T* to, int n) {
    for (int r = 0; r < n; ++r) put(to[r], x[r * L::kRow]);
  }

  template <class From>
  static void index(std::int64_t* y, From from, int n) {
    for (int r = 0; r < n; ++r) y[r] = static_cast<std::int64_t>(from[r]);
  }

  /// Numbers as an index; -1 of what is no number.
  static void row(std::int64_t* y, const float* x, int n) {
    for (int r = 0; r < n; ++r)
      y[r] = x[r * L::kRow] >= 0 ? static_cast<std::int64_t>(x[r * L::kRow]) : -1;
  }

  /// One feature of other rows from a plane; NaN where the index is none of `rows`.
  template <class From>
  static void gather_input(float* y, From from, const std::int64_t* index, std::int64_t rows,
                           int n) {
    for (int r = 0; r < n; ++r) {
      const bool is_row = static_cast<std::uint64_t>(index[r]) < static_cast<std::uint64_t>(rows);
      y[r * L::kRow] = is_row ? number(from[index[r]]) : NAN;
    }
  }

  /// Features of `scratch` side by side, for values that are packed or cut.
  [[gnu::noinline]] static void pick(float* y, int width, const float* scratch, Places at, int n) {
    L::map(y, width, n, [&](int i, int r) { return L::picked(scratch, at, i, r); });
  }

  /// The same numbers in every row.
  static void fill(float* y, int width, const float* x, int n) {
    for (int i = 0; i < width; ++i)
      for (int r = 0; r < n; ++r) y[i * L::kFeature + r * L::kRow] = x[i];
  }

  // Rows of memory. Those that an index names outside of it are NaN when read, and are left out when joined to.

  static float* row_of(const Memory& memory, std::int64_t index, float* otherwise) {
    const bool is_row = static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(memory.rows);
    return is_row ? memory.data + index * memory.pitch : otherwise;
  }

  /// The sum of rows from kCount memories.
  template <int kCount>
  static void gather(float* y, int width, const Source (&sources)[kCount], const float* nan,
                     int n) {
    const float* from[kCount][L::kRows];
    for (int k = 0; k < kCount; ++k)
      for (int r = 0; r < n; ++r)
        from[k][r] = row_of(*sources[k].memory, sources[k].index[r], const_cast<float*>(nan));
    L::read_rows(y, width, from, n);
  }

  static void read(float* y, int width, const Memory& memory, std::int64_t first, int n) {
    const float* from[1][L::kRows];
    for (int r = 0; r < n; ++r) from[0][r] = memory.data + (first + r) * memory.pitch;
    L::read_rows(y, width, from, n);
  }

  static void write(const float* x, int width, const Memory& memory, std::int64_t first, int n) {
    float* to[L::kRows];
    for (int r = 0; r < n; ++r) to[r] = memory.data + (first + r) * memory.pitch;
    L::write_rows(x, width, to, n, Last{});
  }

  template <class Join>
  static void scatter(const float* x, int width, const Memory& memory, const std::int64_t* index,
                      int n, Join join) {
    float* to[L::kRows];
    for (int r = 0; r < n; ++r) to[r] = row_of(memory, index[r], nullptr);
    L::write_rows(x, width, to, n, join);
  }

  /// Gathered rows times one number each, or as they are (nullptr), are joined to others and never come to scratch.
  template <class Join>
  static void pass_on(const float* factor, int width, Source from, const float* nan, Source to,
                      int n, Join join) {
    for (int r = 0; r < n; ++r) {
      const float* in = row_of(*from.memory, from.index[r], const_cast<float*>(nan));
      float* out = row_of(*to.memory, to.index[r], nullptr);
      const V times = all(factor ? factor[r * L::kRow] : 1);
      if (out)
        for (int i = 0; i < width; i += kLanes)
          store(out + i, join(load(out + i), load(in + i) * times));
    }
  }
};

}  // namespace
