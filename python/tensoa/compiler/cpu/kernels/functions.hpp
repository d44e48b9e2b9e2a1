// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
/// Functions of float32 by the names of functions.py. NaN stays NaN, as in torch; polynomials are our own fits, 1 to 2 ulp.

#include "vectors.hpp"

namespace {

inline V f_abs(V x) { return from_bits(bits(x) & 0x7fffffff); }
inline V with_sign(V x, V sign) {
  return from_bits((bits(x) & 0x7fffffff) | (bits(sign) & INT32_MIN));
}
inline V f_sqrt(V x) { return square_root(x); }
inline V f_relu(V x) { return largest(V{}, x); }
inline V f_floor(V x) { return rounded<_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC>(x); }
inline V f_ceil(V x) { return rounded<_MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC>(x); }
inline V f_round(V x) { return rounded<_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC>(x); }
inline V f_trunc(V x) { return rounded<_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC>(x); }

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

/// x = n ln 2 + r; n is whole.
struct Reduced {
  V n, r;
};
inline Reduced reduced(V x) {
  const V n = f_round(x * all(kLog2E));
  return {n, fused(n, all(-kLn2Low), fused(n, all(-kLn2High), x))};
}
inline V power_of_two(V n) { return power_of_two(__builtin_convertvector(n, I)); }
/// What is not a number stays so.
inline V between(V x, float low, float high) { return smallest(all(high), largest(all(low), x)); }
inline V exp_of(Reduced a) {
  const V y = fused(polynomial(kExp, a.r) * a.r, a.r, a.r) + all(1);
#ifdef __AVX512F__
  return _mm512_scalef_ps(y, a.n);
#else
  const I n = __builtin_convertvector(a.n, I),
          half = n >> 1;  // in two steps: results may be subnormal
  return (y * power_of_two(half)) * power_of_two(n - half);
#endif
}
inline V f_exp(V x) { return exp_of(reduced(between(x, -104, 89))); }
/// Exact at whole numbers.
inline V f_exp2(V x) {
  x = between(x, -152, 129);
  const V n = f_round(x);
  return exp_of({n, (x - n) * all(kLn2)});
}
inline V f_expm1(V x) {
  const V y = between(x, -80, 89);
  const Reduced a = reduced(y);
  const V q = fused(polynomial(kExp, a.r) * a.r, a.r, a.r);
  const V scale = power_of_two(a.n - 1);
  const V result = fused(scale, q, scale - all(0.5f)) * all(2);
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
  const V low = fused(a.square, all(-0.5f), fused(a.exponent, all(kLn2Low), a.cube));
  return logarithm_or_special(x, fused(a.exponent, all(kLn2High), a.f + low));
}
/// Exact at powers of two.
inline V f_log2(V x) {
  const Logarithm a = logarithm(x);
  const V low = fused(a.square, all(-0.5f), a.cube);
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
  const V small = fused(polynomial(kErf, square), x, x);
  const V b = a > 4 ? all(4) : a;
  const V large = all(1) - f_exp(-fused(b, polynomial(kErfc, b), b));
  const V result = a < 1 ? small : with_sign(large, x);
  return x == x ? result : x;
}
inline V f_asinh(V x) {
  const V a = f_abs(x), square = a * a;
  const V near = f_log1p(a + square / (all(1) + square_root(fused(a, a, all(1)))));
  const V far = f_log(a) + all(0.693147181f);
  return with_sign(a < 1e18f ? near : far, x);
}
#ifdef __AVX512F__
inline V f_to_float16(V x) {
  return _mm512_cvtph_ps(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
#else
inline V f_to_float16(V x) {
  return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
#endif
inline V f_to_bfloat16(V x) {
  const I odd = (bits(x) >> 16) & 1;
  return x == x ? from_bits((bits(x) + 0x7fff + odd) & -0x10000) : x;
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

inline V f_maximum(V a, V b) { return a == a ? largest(a, b) : a; }
inline V f_minimum(V a, V b) { return a == a ? smallest(a, b) : a; }

}  // namespace
