// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
/// Functions of float64.

#include "functions.hpp"

namespace {

/// Half the lanes of V.
using D = double __attribute__((vector_size(kLanes * 4)));
using L64 = std::int64_t __attribute__((vector_size(kLanes * 4)));
using HalfV = float __attribute__((vector_size(kLanes * 2)));

inline D all_doubles(double x) { return x - D{}; }  // 0 + -0 would be 0

#ifdef __AVX512F__
inline D fused(D a, D b, D c) { return _mm512_fmadd_pd(a, b, c); }
inline D sqrt(D x) { return _mm512_sqrt_pd(x); }
inline bool is_everywhere(L64 where) {
  return _mm512_movepi64_mask(reinterpret_cast<__m512i>(where)) == 0xff;
}
template <int kMode>
inline D whole_of(D x) {
  return _mm512_roundscale_pd(x, kMode);
}
#else
inline D fused(D a, D b, D c) { return _mm256_fmadd_pd(a, b, c); }
inline D sqrt(D x) { return _mm256_sqrt_pd(x); }
inline bool is_everywhere(L64 where) {
  return _mm256_movemask_pd(reinterpret_cast<__m256d>(where)) == 0xf;
}
template <int kMode>
inline D whole_of(D x) {
  return _mm256_round_pd(x, kMode);
}
#endif
inline D floor(D x) { return whole_of<_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC>(x); }
inline D ceil(D x) { return whole_of<_MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC>(x); }
inline D rint(D x) { return whole_of<_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC>(x); }
inline D trunc(D x) { return whole_of<_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC>(x); }
inline L64 bits(D x) { return reinterpret_cast<L64>(x); }
inline D from_bits(L64 x) { return reinterpret_cast<D>(x); }
inline D fabs(D x) { return from_bits(bits(x) & INT64_MAX); }

// The functions of most models, in all lanes at the same time, from Taylor series; lanes outside `where` call libm.

template <int kTerms>
inline D series(const double (&c)[kTerms], D x) {
  D y = D{} + c[kTerms - 1];
  for (int i = kTerms - 2; i >= 0; --i) y = fused(y, x, all_doubles(c[i]));
  return y;
}
template <class F>
inline D by_libm_outside(L64 where, D result, F f, D x) {
  if (is_everywhere(where)) return result;
  for (int i = 0; i < kLanes / 2; ++i)
    if (!where[i]) result[i] = f(x[i]);
  return result;
}
/// An integer of few bits, in the low bits.
inline L64 as_integer(D whole) { return bits(whole + 0x1.8p52); }
inline D double_power_of_two(D n) { return from_bits((as_integer(n) + 1023) << 52); }

/// 1 / k! from k = 2 on.
constexpr double kExpTerms[] = {1. / 2,       1. / 6,        1. / 24,        1. / 120,
                                1. / 720,     1. / 5040,     1. / 40320,     1. / 362880,
                                1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800};
inline D exp(D x) {
  const D n = rint(x * 0x1.71547652b82fep+0);
  const D r =
      fused(n, all_doubles(-0x1.a39ef35793c76p-33), fused(n, all_doubles(-0x1.62e42feep-1), x));
  const D y = fused(series(kExpTerms, r) * r, r, r) + 1.0;
  const D half = trunc(n * 0.5);
  const D result = (y * double_power_of_two(half)) * double_power_of_two(n - half);
  return by_libm_outside(
      fabs(x) < 745.0, result, [](double a) { return std::exp(a); }, x);
}
/// (sinh(x) - x) / x^3 of x^2.
constexpr double kSinhTerms[] = {1. / 6,
                                 1. / 120,
                                 1. / 5040,
                                 1. / 362880,
                                 1. / 39916800,
                                 1. / 6227020800,
                                 1. / 1307674368000,
                                 1. / 355687428096000,
                                 1. / 121645100408832000};
inline D sinh(D x) {
  const D a = fabs(x), square = x * x, e = exp(a) * 0.5;
  const D large = from_bits(bits(e - 0.25 / e) | (bits(x) & INT64_MIN));
  const D result = a < 1.0 ? fused(series(kSinhTerms, square) * square, x, x) : large;
  return by_libm_outside(
      a < 700.0, result, [](double b) { return std::sinh(b); }, x);
}
/// (cosh(x) - 1) / x^2 of x^2.
constexpr double kCoshTerms[] = {1. / 2,
                                 1. / 24,
                                 1. / 720,
                                 1. / 40320,
                                 1. / 3628800,
                                 1. / 479001600,
                                 1. / 87178291200,
                                 1. / 20922789888000,
                                 1. / 6402373705728000};
inline D cosh(D x) {
  const D a = fabs(x), square = x * x, e = exp(a) * 0.5;
  const D result =
      a < 1.0 ? fused(series(kCoshTerms, square), square, all_doubles(1.0)) : e + 0.25 / e;
  return by_libm_outside(
      a < 700.0, result, [](double b) { return std::cosh(b); }, x);
}
/// log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + s^2 (2/3 + 2/5 s^2 ...)), where s = f / (2 + f).
constexpr double kLogTerms[] = {2. / 3,  2. / 5,  2. / 7,  2. / 9,  2. / 11, 2. / 13,
                                2. / 15, 2. / 17, 2. / 19, 2. / 21, 2. / 23};
inline D log(D x) {
  const L64 wide = bits(x) - 0x3fe6a09e667f3bcd;  // from sqrt(1/2) on
  const L64 exponent = wide >> 52;
  const D n = __builtin_convertvector(exponent, D);
  const D f = from_bits(bits(x) - (exponent << 52)) - 1.0;
  const D s = f / (f + 2.0), square = s * s, half = f * f * 0.5;
  const D terms = fused(series(kLogTerms, square), square, half);
  const D low = fused(s, terms, n * 0x1.a39ef35793c76p-33);
  const D result = fused(n, all_doubles(0x1.62e42feep-1), f - (half - low));
  const L64 is_usual = (x >= 0x1p-1022) & (x < INFINITY);
  return by_libm_outside(
      is_usual, result, [](double a) { return std::log(a); }, x);
}
/// (sin(r) - r) / r^3 and (cos(r) - 1 + r^2 / 2) / r^4, of r^2.
constexpr double kSinTerms[] = {
    -1. / 6,        1. / 120,        -1. / 5040,          1. / 362880,
    -1. / 39916800, 1. / 6227020800, -1. / 1307674368000, 1. / 355687428096000};
constexpr double kCosTerms[] = {
    1. / 24,        -1. / 720,         1. / 40320,         -1. / 3628800,
    1. / 479001600, -1. / 87178291200, 1. / 20922789888000};
/// sin(x + quarter pi / 2)
inline D sine(D x, int quarter) {
  const D n = rint(x * 0x1.45f306dc9c883p-1);
  D r = fused(n, all_doubles(-0x1.921fb544p+0), x);
  r = fused(n, all_doubles(-0x1.0b4611a6p-34), r);
  r = fused(n, all_doubles(-0x1.3198a2e037073p-69), r);
  const L64 turn = as_integer(n) + quarter;
  const D square = r * r;
  const D odd = fused(series(kSinTerms, square) * square, r, r);
  const D even = fused(series(kCosTerms, square) * square, square,
                       fused(square, all_doubles(-0.5), all_doubles(1.0)));
  const D result = (turn & 1) != 0 ? even : odd;
  return from_bits(bits(result) ^ ((turn & 2) << 62));
}
inline D sin(D x) {
  const D inside = x == 0.0 ? x : sine(x, 0);  // of -0 it is -0
  return by_libm_outside(
      fabs(x) < 1e5, inside, [](double a) { return std::sin(a); }, x);
}
inline D cos(D x) {
  return by_libm_outside(
      fabs(x) < 1e5, sine(x, 1), [](double a) { return std::cos(a); }, x);
}
#define TENSOA_OF_DOUBLES(name)                                  \
  inline D name(D x) {                                           \
    for (int i = 0; i < kLanes / 2; ++i) x[i] = std::name(x[i]); \
    return x;                                                    \
  }
TENSOA_OF_DOUBLES(exp2)
TENSOA_OF_DOUBLES(expm1)
TENSOA_OF_DOUBLES(log2)
TENSOA_OF_DOUBLES(log10)
TENSOA_OF_DOUBLES(log1p)
TENSOA_OF_DOUBLES(tan)
TENSOA_OF_DOUBLES(tanh)
TENSOA_OF_DOUBLES(asinh)
TENSOA_OF_DOUBLES(acosh)
TENSOA_OF_DOUBLES(atanh)
TENSOA_OF_DOUBLES(atan)
TENSOA_OF_DOUBLES(asin)
TENSOA_OF_DOUBLES(acos)
TENSOA_OF_DOUBLES(erf)
TENSOA_OF_DOUBLES(erfc)
#undef TENSOA_OF_DOUBLES

}  // namespace
