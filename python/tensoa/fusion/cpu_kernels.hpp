// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
/// The parts that fused CPU programs are made of; cpu.py puts this text in front of every program.
///
/// A stage works on a group of rows at a time, with all values of the group in `scratch`, in one of two layouts with the
/// same functions: `Tile` keeps 48 rows, one feature after the other, and its vectors are rows; `Few` keeps up to 4 rows,
/// one row after the other, and its vectors are features, which is faster where only few rows are left.
/// Both read the same weights, packed by cpu.py in blocks of 16 outputs: 16 biases, then 16 weights for each input.
///
/// For x86-64-v3 (vectors of 8) and x86-64-v4 (vectors of 16); no libraries but libm and libc.
/// Register blocking: 3 vectors of rows by as many outputs as registers allow (docs of BLIS and oneDNN tell why).
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

extern "C" {
struct tensoa_block {
  void* data;
  std::int64_t pitch;
};
}

namespace {

#ifdef __AVX512F__
constexpr int kLanes = 16;
constexpr int kOutputs = 8;  // of a register block of a Tile
constexpr int kFewRows = 4;  // of a register block of Few
#else
constexpr int kLanes = 8;
constexpr int kOutputs = 4;
constexpr int kFewRows = 2;
#endif
constexpr int kBlock = 16;  // outputs of a block of packed weights; rows of memory are padded to it
constexpr int kFewLimit = 8;  // rows up to which Few is faster

using V = float __attribute__((vector_size(kLanes * 4)));
using I = std::int32_t __attribute__((vector_size(kLanes * 4)));
using Unaligned = float __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

/// Features of scratch memory by their numbers; among the constants, so their type may alias floats.
using Place [[gnu::may_alias]] = std::int32_t;
using Places = const Place*;

/// What a linear layer reads: of each of `times` groups `spans` runs of features: (first feature, how many), these alike.
/// `step`: features from each group to the next one; 0 where they differ, or there is one group.
struct Groups {
  const float* scratch;
  Places runs;
  int spans;
  int times;
  int step;

  int first(int group, int span) const { return runs[2 * (group * spans + span)]; }
  int count(int span) const { return runs[2 * span + 1]; }
  int inputs() const {
    int sum = 0;
    for (int s = 0; s < spans; ++s) sum += count(s);
    return sum;
  }
};

/// A buffer between stages: rows of `pitch` numbers.
struct Memory {
  float* data;
  std::int64_t pitch;
  std::int64_t rows;

  void clear() const {
    std::memset(data, 0, static_cast<std::size_t>(rows * pitch) * sizeof(float));
  }
};

/// The rows of a buffer that an index names.
struct Source {
  const Memory* memory;
  const std::int64_t* index;
};

/// What a stage works with.
struct Call {
  const tensoa_block* blocks;
  const std::int64_t* rows;  // of each domain
  float* scratch;
  const Memory* buffers;        // in the order of the stage
  const float* const* weights;  // likewise
};

inline Places places(const float* constant) { return reinterpret_cast<Places>(constant); }

template <class T>
inline T* plane(const Call& call, int block, std::int64_t place) {
  return static_cast<T*>(call.blocks[block].data) + place * call.blocks[block].pitch;
}

// ---- vectors

inline V load(const float* p) { return *reinterpret_cast<const Unaligned*>(p); }
inline void store(float* p, V x) { *reinterpret_cast<Unaligned*>(p) = x; }
// Not `V{} + x`: GCC keeps that addition.
#ifdef __AVX512F__
inline V all(float x) { return _mm512_set1_ps(x); }
inline V square_root(V x) { return _mm512_sqrt_ps(x); }
inline V largest(V a, V b) { return _mm512_max_ps(a, b); }  // b where one is no number
inline V smallest(V a, V b) { return _mm512_min_ps(a, b); }
template <int kMode>
inline V rounded(V x) {
  return _mm512_roundscale_ps(x, kMode);
}
#else
inline V all(float x) { return _mm256_set1_ps(x); }
inline V square_root(V x) { return _mm256_sqrt_ps(x); }
inline V largest(V a, V b) { return _mm256_max_ps(a, b); }
inline V smallest(V a, V b) { return _mm256_min_ps(a, b); }
template <int kMode>
inline V rounded(V x) {
  return _mm256_round_ps(x, kMode);
}
#endif
inline V from_bits(I x) { return reinterpret_cast<V>(x); }
inline I bits(V x) { return reinterpret_cast<I>(x); }
inline I whole(int x) { return I{} + x; }

template <int... kIndex>
constexpr I lane_numbers(std::integer_sequence<int, kIndex...>) {
  return I{kIndex...};
}
inline I lanes() { return lane_numbers(std::make_integer_sequence<int, kLanes>{}); }

/// The sum of all lanes, and the extremes.
inline float sum_of(V x) {
  float sum = 0;
  for (int i = 0; i < kLanes; ++i) sum += x[i];
  return sum;
}

/// `f(x)` in every lane: rare functions, by libm.
template <class F>
inline V each(F f, V x) {
  for (int i = 0; i < kLanes; ++i) x[i] = f(x[i]);
  return x;
}
template <class F>
inline V each(F f, V x, V y) {
  for (int i = 0; i < kLanes; ++i) x[i] = f(x[i], y[i]);
  return x;
}

/// Numbers of memory by their places.
inline V gathered(const float* from, I at) {
#ifdef __AVX512F__
  return _mm512_i32gather_ps(reinterpret_cast<__m512i>(at), from, sizeof(float));
#else
  return _mm256_i32gather_ps(from, reinterpret_cast<__m256i>(at), sizeof(float));
#endif
}

template <int kDegree>
inline V polynomial(const float (&c)[kDegree], V x) {
  V y = all(c[kDegree - 1]);
  for (int i = kDegree - 2; i >= 0; --i) y = y * x + all(c[i]);
  return y;
}

// ---- functions of one number. What is no number stays so, as in torch; polynomials are our own fits, 1 to 2 ulp.

inline V f_neg(V x) { return -x; }
inline V f_abs(V x) { return from_bits(bits(x) & 0x7fffffff); }
inline V with_sign(V x, V sign) {
  return from_bits((bits(x) & 0x7fffffff) | (bits(sign) & INT32_MIN));
}
inline V f_sqrt(V x) { return square_root(x); }
inline V f_rsqrt(V x) { return all(1) / square_root(x); }
inline V f_reciprocal(V x) { return all(1) / x; }
inline V f_relu(V x) { return largest(V{}, x); }
inline V f_floor(V x) { return rounded<_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC>(x); }
inline V f_ceil(V x) { return rounded<_MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC>(x); }
inline V f_round(V x) { return rounded<_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC>(x); }
inline V f_trunc(V x) { return rounded<_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC>(x); }
inline V f_sign(V x) { return x > 0 ? all(1) : (x < 0 ? all(-1) : V{}); }

inline V power_of_two(I n) { return from_bits((n + 127) << 23); }

constexpr float kLog2E = 1.44269504f, kLn2 = 0.693147181f;
constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
/// (e^r - 1 - r) / r^2 for |r| < ln 2 / 2.
constexpr float kExp[] = {0.5f,          0.16666666f,   0.041666295f,
                          0.0083334968f, 0.0013944642f, 0.00019790417f};
/// (log(1 + f) - f + f^2 / 2) / f^3 for 1 + f between the roots of 1/2 and 2.
constexpr float kLog[] = {0.3333331f,   -0.24999987f, 0.20002219f,  -0.16669245f, 0.14218780f,
                          -0.12384494f, 0.11872309f,  -0.11788800f, 0.069155783f};
/// erf(x) / x - 1, of x^2 < 1; and (-log(erfc(x)) - x) / x, of 0.95 < x < 4.
constexpr float kErf[] = {0.128379166f,  -0.37612626f,     0.112836003f,  -0.026854444f,
                          0.0051895352f, -0.000802084105f, 7.8891193e-05f};
constexpr float kErfc[] = {0.128669038f,  0.63506824f,      0.106373616f,   -0.023879346f,
                           0.0036976971f, -0.000336340716f, 1.25792694e-05f};

/// x = n ln 2 + r.
struct Reduced {
  I n;
  V r;
};
inline Reduced reduced(V x) {
  const V n = f_round(x * all(kLog2E));
  return {__builtin_convertvector(n, I), (x - n * all(kLn2High)) - n * all(kLn2Low)};
}
inline V between(V x, float low, float high) {
  x = x < low ? all(low) : x;
  return x > high ? all(high) : x;
}
inline V exp_of(Reduced a) {
  const V y = (polynomial(kExp, a.r) * a.r * a.r + a.r) + all(1);
  const I half = a.n >> 1;  // in two steps: results may be subnormal
  return (y * power_of_two(half)) * power_of_two(a.n - half);
}
inline V f_exp(V x) { return exp_of(reduced(between(x, -104, 89))); }
/// Exact at whole numbers.
inline V f_exp2(V x) {
  x = between(x, -152, 129);
  const V n = f_round(x);
  return exp_of({__builtin_convertvector(n, I), (x - n) * all(kLn2)});
}
inline V f_expm1(V x) {
  const V y = between(x, -80, 89);
  const Reduced a = reduced(y);
  const V q = polynomial(kExp, a.r) * a.r * a.r + a.r;
  const V scale = power_of_two(a.n - 1);
  const V result = ((scale - all(0.5f)) + scale * q) * all(2);
  return f_abs(x) < 2.98e-8f ? x : result;  // subnormal ones, too
}
/// x = 2^exponent (1 + f), with 1 + f between the roots of 1/2 and 2, of which low + f is the logarithm.
struct Logarithm {
  V exponent, f, square, cube;  // cube: low without half of the square, which is taken off last
};
inline Logarithm logarithm(V x) {
  const I is_small = x < 1.17549435e-38f;
  const V y = is_small ? x * all(8388608) : x;
  I exponent = ((bits(y) >> 23) & 0xff) - 126;
  V m = from_bits((bits(y) & 0x7fffff) | 0x3f000000);  // 0.5 .. 1
  const I is_low = m < 0.707106781f;
  exponent = exponent + is_low;
  m = is_low ? m + m : m;
  exponent = is_small ? exponent - 23 : exponent;
  const V f = m - all(1);
  const V square = f * f;
  return {__builtin_convertvector(exponent, V), f, square, polynomial(kLog, f) * (square * f)};
}
/// `result` where x is above zero and finite, else what every logarithm is.
inline V logarithm_or_special(V x, V result) {
  const V special = x == 0 ? all(-INFINITY) : (x < 0 ? all(NAN) : x);
  return ((x > 0) & (x < INFINITY)) ? result : special;
}
inline V f_log(V x) {
  const Logarithm a = logarithm(x);
  const V low = (a.cube + a.exponent * all(kLn2Low)) - a.square * all(0.5f);
  return logarithm_or_special(x, (a.f + low) + a.exponent * all(kLn2High));
}
/// Exact at powers of two.
inline V f_log2(V x) {
  const Logarithm a = logarithm(x);
  const V low = a.cube - a.square * all(0.5f);
  const V more = (low + a.f) * all(kLog2E - 1);  // so that most of it needs no product
  return logarithm_or_special(x, ((more + low) + a.f) + a.exponent);
}
inline V f_log1p(V x) {
  const V u = all(1) + x;
  const V result =
      f_log(u) + (x - (u - all(1))) / u;  // the second term is what rounding took from u
  return ((u > 0) & (u < INFINITY) & (x != 0)) ? result : (x == 0 ? x : f_log(u));
}
inline V f_sigmoid(V x) { return all(1) / (all(1) + f_exp(-x)); }
inline V f_tanh(V x) {
  const V t = f_expm1(all(-2) * f_abs(x));
  return with_sign(t / (t + all(2)), x);
}
inline V f_erf(V x) {
  const V a = f_abs(x), square = x * x;
  const V small = polynomial(kErf, square) * x + x;
  const V b = a > 4 ? all(4) : a;
  const V large = all(1) - f_exp(-(b * polynomial(kErfc, b) + b));
  const V result = a < 1 ? small : with_sign(large, x);
  return x == x ? result : x;
}
inline V f_asinh(V x) {
  const V a = f_abs(x), square = a * a;
  const V near = f_log1p(a + square / (all(1) + square_root(all(1) + square)));
  const V far = f_log(a) + all(0.693147181f);
  return with_sign(a < 1e18f ? near : far, x);
}
#define TENSOA_BY_LIBM(name)                              \
  inline V f_##name(V x) {                                \
    return each([](float a) { return std::name(a); }, x); \
  }
TENSOA_BY_LIBM(sin)
TENSOA_BY_LIBM(cos)
TENSOA_BY_LIBM(tan)
TENSOA_BY_LIBM(sinh)
TENSOA_BY_LIBM(cosh)
TENSOA_BY_LIBM(acosh)
TENSOA_BY_LIBM(atanh)
TENSOA_BY_LIBM(atan)
TENSOA_BY_LIBM(asin)
TENSOA_BY_LIBM(acos)
TENSOA_BY_LIBM(erfc)
#undef TENSOA_BY_LIBM
/// Exact at powers of ten, by rounding.
inline V f_log10(V x) {
  return each([](float a) { return static_cast<float>(std::log10(static_cast<double>(a))); }, x);
}

// ---- functions of two numbers, and where()

inline V f_add(V a, V b) { return a + b; }
inline V f_sub(V a, V b) { return a - b; }
inline V f_mul(V a, V b) { return a * b; }
inline V f_div(V a, V b) { return a / b; }
inline V f_maximum(V a, V b) { return a == a ? largest(a, b) : a; }
inline V f_minimum(V a, V b) { return a == a ? smallest(a, b) : a; }
inline V truth(I x) { return from_bits(x & bits(all(1))); }
inline V f_lt(V a, V b) { return truth(a < b); }
inline V f_le(V a, V b) { return truth(a <= b); }
inline V f_gt(V a, V b) { return truth(a > b); }
inline V f_ge(V a, V b) { return truth(a >= b); }
inline V f_eq(V a, V b) { return truth(a == b); }
inline V f_ne(V a, V b) { return truth(a != b); }
inline V f_pow(V a, V b) {
  return each([](float x, float y) { return std::pow(x, y); }, a, b);
}
inline V f_atan2(V a, V b) {
  return each([](float y, float x) { return std::atan2(y, x); }, a, b);
}
inline V f_fmod(V a, V b) {
  return each([](float x, float y) { return std::fmod(x, y); }, a, b);
}
inline V f_hypot(V a, V b) {
  return each([](float x, float y) { return std::hypot(x, y); }, a, b);
}
inline V f_where(V condition, V a, V b) { return condition != 0 ? a : b; }

// ---- reductions; what is no number stays so

struct Sum {
  V operator()(V a, V b) const { return a + b; }
  float operator()(float a, float b) const { return a + b; }
};
struct Largest {
  V operator()(V a, V b) const { return f_maximum(a, b); }
  float operator()(float a, float b) const { return a > b || a != a ? a : b; }
};
struct Smallest {
  V operator()(V a, V b) const { return f_minimum(a, b); }
  float operator()(float a, float b) const { return a < b || a != a ? a : b; }
};

// ---- numbers of columns

struct Half {
  std::uint16_t bits;
};
struct BFloat {
  std::uint16_t bits;
};
template <class T>
inline float number(T x) {
  return static_cast<float>(x);
}
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
  return x == x ? static_cast<T>(x) : T{};
}

template <int kCount, class F>
inline void with_constant(int value, F f) {
  [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) {
    ((value == kIndex + 1 ? f(std::integral_constant<int, kIndex + 1>{}) : void()), ...);
  }(std::make_integer_sequence<int, kCount>{});
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
    for (int r = 0; r < n; ++r) to[r] = element<T>(x[r * L::kRow]);
  }

  template <class From>
  static void index(std::int64_t* y, From from, int n) {
    for (int r = 0; r < n; ++r) y[r] = static_cast<std::int64_t>(from[r]);
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

  // Rows of memory. Those that an index names outside of it are NaN when read, and are left out when added to.

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
    L::template write_rows<false>(x, width, to, n);
  }

  static void scatter(const float* x, int width, const Memory& memory, const std::int64_t* index,
                      int n) {
    float* to[L::kRows];
    for (int r = 0; r < n; ++r) to[r] = row_of(memory, index[r], nullptr);
    L::template write_rows<true>(x, width, to, n);
  }

  /// Gathered rows times one number each, or as they are (nullptr), are added to others and never come to scratch.
  static void pass_on(const float* factor, int width, Source from, const float* nan, Source to,
                      int n) {
    for (int r = 0; r < n; ++r) {
      const float* in = row_of(*from.memory, from.index[r], const_cast<float*>(nan));
      float* out = row_of(*to.memory, to.index[r], nullptr);
      const V times = all(factor ? factor[r * L::kRow] : 1);
      if (out)
        for (int i = 0; i < width; i += kLanes)
          store(out + i, load(out + i) + load(in + i) * times);
    }
  }
};

// ---- 48 rows, vectors of rows

template <int kStep, int... kIndex>
inline void exchange(V& a, V& b, std::integer_sequence<int, kIndex...>) {
  const V low =
      __builtin_shuffle(a, b, I{((kIndex & kStep) ? kLanes + kIndex - kStep : kIndex)...});
  const V high =
      __builtin_shuffle(a, b, I{((kIndex & kStep) ? kLanes + kIndex : kIndex + kStep)...});
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
  static constexpr int kRows = 48;
  static constexpr int kFeature = kRows;
  static constexpr int kRow = 1;
  static constexpr int kGroup = 3;  // vectors of rows in a register block

  static int vectors(int n) { return (n + kLanes - 1) / kLanes; }

  static V wide(const float* x, int i, int r) { return load(x + i * kFeature + r); }
  static V narrow(const float* x, int, int r) { return load(x + r); }
  static V constant(const float* c, int i, int) { return all(c[i]); }
  static V picked(const float* x, Places at, int i, int r) { return wide(x, at[i], r); }

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
        V in[kVectors];
#pragma GCC unroll 3
        for (int v = 0; v < kVectors; ++v) in[v] = load(from + v * kLanes);
#pragma GCC unroll 8
        for (int o = 0; o < kWidth; ++o) {
          const V weight = all(w[o]);
#pragma GCC unroll 3
          for (int v = 0; v < kVectors; ++v) sum[o][v] += in[v] * weight;
        }
      }
    }
#pragma GCC unroll 8
    for (int o = 0; o < kWidth; ++o)
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v)
        store(y + o * kFeature + row + v * kLanes, is_relu ? f_relu(sum[o][v]) : sum[o][v]);
  }

  /// `width` outputs of every group.
  [[gnu::noinline]] static void linear(float* y, int width, Groups x, const float* w, int n,
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
        for (int v = 0; v < kVectors; ++v) sum[o][v] += in[v] * load(z + o * kFeature + v * kLanes);
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
                                       int n, F f, float scale) {
    const auto from = [&](int i) { return x + (at ? at[i] : i) * kFeature; };
    for (int t = 0; t < times; ++t)
      for (int r = 0; r < n; r += kLanes) {
        V result = load(from(t * width) + r);
        for (int i = 1; i < width; ++i) result = f(result, load(from(t * width + i) + r));
        store(y + t * kFeature + r, result * all(scale));
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
        V mean[rows] = {}, square[rows] = {};
        for (int i = 0; i < (is_centered ? 0 : width); ++i)
          for (int v = 0; v < rows; ++v) mean[v] += load(from + i * kFeature + v * kLanes);
        for (int v = 0; v < rows; ++v) mean[v] /= all(static_cast<float>(width));
        for (int i = 0; i < width; ++i)
          for (int v = 0; v < rows; ++v) {
            const V d = load(from + i * kFeature + v * kLanes) - mean[v];
            square[v] += d * d;
          }
        for (int v = 0; v < rows; ++v)
          square[v] = all(1) / square_root(square[v] / all(static_cast<float>(width)) + all(eps));
        for (int i = 0; i < width; ++i)
          for (int v = 0; v < rows; ++v) {
            const V d = (load(from + i * kFeature + v * kLanes) - mean[v]) * square[v];
            const V result = d * all(w[i]) + all(b[i]);
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

  template <bool kIsSum>
  [[gnu::noinline]] static void write_rows(const float* x, int width, float* const* to, int n) {
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
          if (r + j < n && (!kIsSum || to[r + j])) {
            float* p = to[r + j] + i;
            store(p, kIsSum ? load(p) + a[j] : a[j]);
          }
      }
  }
};

// ---- few rows, vectors of features

/// `kPitch`: numbers of scratch memory for a row.
template <int kPitch>
struct Few : Common<Few<kPitch>> {
  static constexpr int kRows = 4;
  static constexpr int kFeature = 1;
  static constexpr int kRow = kPitch;

  static V wide(const float* x, int i, int r) { return load(x + i + r * kPitch); }
  static V narrow(const float* x, int, int r) { return all(x[r * kPitch]); }
  static V constant(const float* c, int i, int) { return load(c + i); }
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
        const V weight = load(at(v));
#pragma GCC unroll 4
        for (int r = 0; r < kCount; ++r) sum[chain][r][v] += all(from[r * step]) * weight;
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
  [[gnu::noinline]] static void linear(float* y, int width, Groups x, const float* w, int n,
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
            for (int k = 0; k < inner; ++k) sum += all(left[k]) * load(right + k * columns + j);
            store(to + j, sum);
          }
        }
  }

  template <class F>
  [[gnu::noinline]] static void reduce(float* y, const float* x, Places at, int width, int times,
                                       int n, F f, float scale) {
    const auto place = [&](int i) { return at ? at[i] : i; };
    for (int r = 0; r < n; ++r, x += kPitch, y += kPitch)
      for (int t = 0; t < times; ++t) {
        float result = x[place(t * width)];
        for (int i = 1; i < width; ++i) result = f(result, x[place(t * width + i)]);
        y[t] = result * scale;
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
      V sum = {}, square = {};
      for (int i = 0; i < (is_centered ? 0 : width); i += kLanes) sum += valid(i, load(x + i));
      const V mean = all(sum_of(sum) / static_cast<float>(width));
      for (int i = 0; i < width; i += kLanes) {
        const V d = valid(i, load(x + i) - mean);
        square += d * d;
      }
      const V inverse = all(1 / std::sqrt(sum_of(square) / static_cast<float>(width) + eps));
      for (int i = 0; i < width; i += kLanes) {
        const V result = (load(x + i) - mean) * inverse * load(w + i) + load(b + i);
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

  template <bool kIsSum>
  static void write_rows(const float* x, int width, float* const* to, int n) {
    for (int r = 0; r < n; ++r)
      for (int i = 0; i < width; i += kLanes)
        if (!kIsSum || to[r]) {
          const V row = lanes() < width - i ? load(x + i + r * kPitch) : V{};
          store(to[r] + i, kIsSum ? load(to[r] + i) + row : row);
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
