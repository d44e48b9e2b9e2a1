// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
/// Numbers of float64, which lie in scratch memory as words of 32 bits: vectors of the high ones and of the low ones.

#include "functions.hpp"

namespace {

/// Half as many lanes as V has.
using D = double __attribute__((vector_size(kLanes * 4)));
using L64 = std::int64_t __attribute__((vector_size(kLanes * 4)));
using HalfV = float __attribute__((vector_size(kLanes * 2)));
using SomeDoubles = double __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

/// The numbers of the lanes of a V: the first half of them, then the others.
struct Doubles {
  D a, b;
};
/// Words of them.
struct Words {
  V high, low;
};

template <int kFrom, int... kIndex>
inline D with_words(V low, V high, std::integer_sequence<int, kIndex...>) {
  const I places = {(kFrom + kIndex / 2 + (kIndex % 2 ? kLanes : 0))...};
  return reinterpret_cast<D>(__builtin_shuffle(low, high, places));
}
inline Doubles doubles(V high, V low) {
  constexpr auto kAll = std::make_integer_sequence<int, kLanes>{};
  return {with_words<0>(low, high, kAll), with_words<kLanes / 2>(low, high, kAll)};
}
template <int kWord, int... kIndex>
inline V word_of(Doubles x, std::integer_sequence<int, kIndex...>) {
  return __builtin_shuffle(reinterpret_cast<V>(x.a), reinterpret_cast<V>(x.b), I{(2 * kIndex + kWord)...});
}
inline Words words(Doubles x) {
  constexpr auto kAll = std::make_integer_sequence<int, kLanes>{};
  return {word_of<1>(x, kAll), word_of<0>(x, kAll)};
}
inline Doubles lengthened(V x) {
  HalfV halves[2];
  std::memcpy(halves, &x, sizeof(x));
  return {__builtin_convertvector(halves[0], D), __builtin_convertvector(halves[1], D)};
}
inline V shortened(Doubles x) {
  const HalfV halves[] = {__builtin_convertvector(x.a, HalfV), __builtin_convertvector(x.b, HalfV)};
  V y;
  std::memcpy(&y, halves, sizeof(y));
  return y;
}
inline Doubles everywhere(double x) { return {D{} + x, D{} + x}; }
inline D load_doubles(const float* p) { return *reinterpret_cast<const SomeDoubles*>(p); }
/// Constants: number i, and the lanes from i on.
inline Doubles constant_number(const float* c, int i) {
  double x;
  std::memcpy(&x, c + 2 * i, sizeof(x));
  return everywhere(x);
}
inline Doubles constant_numbers(const float* c, int i) {
  return {load_doubles(c + 2 * i), load_doubles(c + 2 * i + kLanes)};
}

template <class F, class... Arguments>
inline Doubles by_halves(F f, Arguments... x) {
  return {f(x.a...), f(x.b...)};
}

/// A product that is rounded, so that a difference of two equal ones is zero.
inline D times(D x, D y) {
  D product = x * y;
  asm("" : "+x"(product));
  return product;
}
#ifdef __AVX512F__
inline D sqrt(D x) { return _mm512_sqrt_pd(x); }
#else
inline D sqrt(D x) { return _mm256_sqrt_pd(x); }
#endif
inline D fabs(D x) { return reinterpret_cast<D>(reinterpret_cast<L64>(x) & INT64_MAX); }
#define TENSOA_OF_DOUBLES(name)                                           \
  inline D name(D x) {                                                    \
    for (int i = 0; i < kLanes / 2; ++i) x[i] = std::name(x[i]);          \
    return x;                                                             \
  }
#define TENSOA_OF_TWO_DOUBLES(name)                                       \
  inline D name(D x, D y) {                                               \
    for (int i = 0; i < kLanes / 2; ++i) x[i] = std::name(x[i], y[i]);    \
    return x;                                                             \
  }
TENSOA_OF_DOUBLES(floor)
TENSOA_OF_DOUBLES(ceil)
TENSOA_OF_DOUBLES(rint)
TENSOA_OF_DOUBLES(trunc)
TENSOA_OF_DOUBLES(exp)
TENSOA_OF_DOUBLES(exp2)
TENSOA_OF_DOUBLES(expm1)
TENSOA_OF_DOUBLES(log)
TENSOA_OF_DOUBLES(log2)
TENSOA_OF_DOUBLES(log10)
TENSOA_OF_DOUBLES(log1p)
TENSOA_OF_DOUBLES(sin)
TENSOA_OF_DOUBLES(cos)
TENSOA_OF_DOUBLES(tan)
TENSOA_OF_DOUBLES(tanh)
TENSOA_OF_DOUBLES(sinh)
TENSOA_OF_DOUBLES(cosh)
TENSOA_OF_DOUBLES(asinh)
TENSOA_OF_DOUBLES(acosh)
TENSOA_OF_DOUBLES(atanh)
TENSOA_OF_DOUBLES(atan)
TENSOA_OF_DOUBLES(asin)
TENSOA_OF_DOUBLES(acos)
TENSOA_OF_DOUBLES(erf)
TENSOA_OF_DOUBLES(erfc)
TENSOA_OF_TWO_DOUBLES(pow)
TENSOA_OF_TWO_DOUBLES(atan2)
TENSOA_OF_TWO_DOUBLES(fmod)
TENSOA_OF_TWO_DOUBLES(hypot)
#undef TENSOA_OF_DOUBLES
#undef TENSOA_OF_TWO_DOUBLES

}  // namespace
