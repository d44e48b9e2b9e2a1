// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// A double of the instructions of AVX-512 that block_kernels_avx512.cpp uses, in plain C++, from their description in Intel's
/// Intrinsics Guide: processors of developers and of CI may lack them.

#include_next <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>

namespace tensoa::avx512_double {

template <class T>
struct Lanes {
  static constexpr int kCount = 64 / sizeof(T);
  T at[kCount];
};
using Floats = Lanes<float>;
using Doubles = Lanes<double>;
struct Integers {
  std::uint8_t bytes[64];
};

template <class T>
Lanes<T> as(const Integers& from) {
  Lanes<T> all;
  std::memcpy(&all, &from, sizeof all);
  return all;
}
template <class T>
Integers as_integers(const Lanes<T>& from) {
  Integers all;
  std::memcpy(&all, &from, sizeof all);
  return all;
}
template <class T, class Of>
Lanes<T> each(const Of& of) {
  Lanes<T> all;
  for (int i = 0; i < Lanes<T>::kCount; ++i) all.at[i] = of(i);
  return all;
}
template <class T, class Of>
auto mask(const Of& of) {
  std::uint64_t bits = 0;
  for (int i = 0; i < Lanes<T>::kCount; ++i) bits |= std::uint64_t{of(i)} << i;
  return bits;
}
inline bool has(std::uint64_t bits, int i) { return (bits >> i & 1U) != 0; }

template <class T>
Lanes<T> load(const void* from) {
  Lanes<T> all;
  std::memcpy(&all, from, sizeof all);
  return all;
}
template <class T>
void store(T* to, const Lanes<T>& all) {
  std::memcpy(to, &all, sizeof all);
}
inline Integers load_integers(const void* from) {
  Integers all;
  std::memcpy(&all, from, sizeof all);
  return all;
}
inline void store_integers(void* to, const Integers& all) { std::memcpy(to, &all, sizeof all); }

template <class T>
Lanes<T> plus(const Lanes<T>& a, const Lanes<T>& b) {
  return each<T>([&](int i) { return a.at[i] + b.at[i]; });
}
template <class T>
Lanes<T> blend(std::uint64_t second, const Lanes<T>& a, const Lanes<T>& b) {
  return each<T>([&](int i) { return has(second, i) ? b.at[i] : a.at[i]; });
}
template <class T>
Integers set_integers(T value) {
  return as_integers(each<T>([&](int) { return value; }));
}
template <class T>
Integers add_integers(std::uint64_t added, const Integers& a, const Integers& b) {
  const auto x = as<T>(a);
  const auto y = as<T>(b);
  return as_integers(
      each<T>([&](int i) { return static_cast<T>(has(added, i) ? x.at[i] + y.at[i] : x.at[i]); }));
}
template <class T>
std::uint64_t test(const Integers& a, const Integers& b) {
  const auto x = as<T>(a);
  const auto y = as<T>(b);
  return mask<T>([&](int i) { return (x.at[i] & y.at[i]) != 0; });
}
template <class T>
Integers widened(const std::uint8_t* from) {
  return as_integers(each<T>([&](int i) { return static_cast<T>(from[i]); }));
}
inline const std::uint8_t* bytes_of(const __m128i& from) {
  return reinterpret_cast<const std::uint8_t*>(&from);
}

/// Of two registers, the number at the lowest bits of the place.
template <class T, class Place>
Lanes<T> picked(const Lanes<T>& a, const Integers& places, const Lanes<T>& b) {
  const auto place = as<Place>(places);
  constexpr unsigned kCount = Lanes<T>::kCount;
  return each<T>([&](int i) {
    const auto p = static_cast<unsigned>(place.at[i]) % (2 * kCount);
    return p < kCount ? a.at[p] : b.at[p - kCount];
  });
}

inline std::uint16_t compare(const Floats& a, const Floats& b, int how) {
  return static_cast<std::uint16_t>(mask<float>([&](int i) {
    const float x = a.at[i];
    const float y = b.at[i];
    return how == _CMP_GE_OQ ? x >= y : how == _CMP_LE_OQ ? x <= y : std::isnan(x) || std::isnan(y);
  }));
}
inline __m128i lowest_bytes(const Integers& from) {
  const auto all = as<std::uint32_t>(from);
  alignas(16) std::uint8_t bytes[16];
  for (int i = 0; i < 16; ++i) bytes[i] = static_cast<std::uint8_t>(all.at[i]);
  return _mm_load_si128(reinterpret_cast<const __m128i*>(bytes));
}
inline __m128i bytes_of_mask(std::uint64_t bits) {
  alignas(16) std::uint8_t bytes[16];
  for (int i = 0; i < 16; ++i) bytes[i] = has(bits, i) ? 0xFF : 0;
  return _mm_load_si128(reinterpret_cast<const __m128i*>(bytes));
}
inline std::uint64_t at_least(const Integers& a, const Integers& b) {
  return mask<std::uint8_t>([&](int i) { return a.bytes[i] >= b.bytes[i]; });
}
inline Floats magnitudes(const Floats& a) {
  return each<float>([&](int i) { return std::abs(a.at[i]); });
}

}  // namespace tensoa::avx512_double

#define __m512 tensoa::avx512_double::Floats
#define __m512d tensoa::avx512_double::Doubles
#define __m512i tensoa::avx512_double::Integers
#define _mm512_abs_ps tensoa::avx512_double::magnitudes
#define _mm512_add_epi32(a, b) \
  tensoa::avx512_double::add_integers<std::uint32_t>(~std::uint64_t{0}, a, b)
#define _mm512_add_pd tensoa::avx512_double::plus<double>
#define _mm512_add_ps tensoa::avx512_double::plus<float>
#undef _mm512_cmp_ps_mask  // clang has macros
#undef _mm512_cmpge_epu8_mask
#define _mm512_cmp_ps_mask tensoa::avx512_double::compare
#define _mm512_cmpge_epu8_mask tensoa::avx512_double::at_least
#define _mm512_cvtepi32_epi8 tensoa::avx512_double::lowest_bytes
#define _mm512_cvtepu8_epi32(a) \
  tensoa::avx512_double::widened<std::uint32_t>(tensoa::avx512_double::bytes_of(a))
#define _mm512_cvtepu8_epi64(a) \
  tensoa::avx512_double::widened<std::uint64_t>(tensoa::avx512_double::bytes_of(a))
#define _mm512_load_pd tensoa::avx512_double::load<double>
#define _mm512_load_ps tensoa::avx512_double::load<float>
#define _mm512_loadu_ps tensoa::avx512_double::load<float>
#define _mm512_loadu_si512 tensoa::avx512_double::load_integers
#define _mm512_mask_add_epi32(from, k, a, b) \
  tensoa::avx512_double::add_integers<std::uint32_t>(k, a, b)
#define _mm512_mask_add_epi8(from, k, a, b) \
  tensoa::avx512_double::add_integers<std::uint8_t>(k, a, b)
#define _mm512_mask_blend_pd tensoa::avx512_double::blend<double>
#define _mm512_mask_blend_ps tensoa::avx512_double::blend<float>
#define _mm512_permutex2var_pd tensoa::avx512_double::picked<double, std::uint64_t>
#define _mm512_permutex2var_ps tensoa::avx512_double::picked<float, std::uint32_t>
#define _mm512_permutexvar_ps(place, a) \
  tensoa::avx512_double::picked<float, std::uint32_t>(a, place, a)
#define _mm512_set1_epi32 tensoa::avx512_double::set_integers<std::int32_t>
#define _mm512_set1_epi64 tensoa::avx512_double::set_integers<long long>
#define _mm512_set1_epi8 tensoa::avx512_double::set_integers<char>
#define _mm512_set1_ps(value) tensoa::avx512_double::each<float>([&](int) { return value; })
#define _mm512_setzero_si512() \
  tensoa::avx512_double::Integers {}
#define _mm512_store_pd tensoa::avx512_double::store<double>
#define _mm512_store_ps tensoa::avx512_double::store<float>
#define _mm512_store_si512 tensoa::avx512_double::store_integers
#define _mm512_test_epi32_mask tensoa::avx512_double::test<std::uint32_t>
#define _mm512_test_epi64_mask tensoa::avx512_double::test<std::uint64_t>
#define _mm_movm_epi8 tensoa::avx512_double::bytes_of_mask
