// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/block_kernels.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

#include <immintrin.h>

#include "kernels/block_kernels_impl.hpp"

// No gathers: they take two to three times as long here as picking from registers (docs/decisions/0035-forests.md).

namespace tensoa::forest {
namespace {

struct Avx512 : Vectors<Avx512> {
  static constexpr int kWords = 8;

  /// Of 2^(bit + 1) numbers the one at `place`: an instruction picks from 32, larger tables by the upper bits.
  template <int kTables>
  [[gnu::always_inline]] static inline __m512 pick(const float* table, __m512i place, int bit) {
    if constexpr (kTables == 1) {
      return _mm512_permutex2var_ps(_mm512_load_ps(table), place, _mm512_load_ps(table + 16));
    } else {
      const __m512 low = pick<kTables / 2>(table, place, bit - 1);
      const __m512 high = pick<kTables / 2>(table + std::ptrdiff_t{16} * kTables, place, bit - 1);
      return _mm512_mask_blend_ps(_mm512_test_epi32_mask(place, _mm512_set1_epi32(1 << bit)), low,
                                  high);
    }
  }

  template <int kLevels>
  [[gnu::always_inline]] static inline __m512i search(__m512 values, const float* table) {
    const __m512i one = _mm512_set1_epi32(1);
    const auto next = [&](__m512i place, __m512 thresholds) {
      const __mmask16 is_above = _mm512_cmp_ps_mask(values, thresholds, _CMP_GE_OQ);
      const __m512i twice = _mm512_add_epi32(place, place);
      return _mm512_mask_add_epi32(twice, is_above, twice, one);
    };
    __m512i place = next(_mm512_setzero_si512(), _mm512_set1_ps(table[1]));
    // Lower levels lie closer than a register is long; what follows them is not picked.
    if constexpr (kLevels > 1)
      place = next(place, _mm512_permutexvar_ps(place, _mm512_loadu_ps(table + 2)));
    if constexpr (kLevels > 2)
      place = next(place, _mm512_permutexvar_ps(place, _mm512_loadu_ps(table + 4)));
    if constexpr (kLevels > 3)
      place = next(place, _mm512_permutexvar_ps(place, _mm512_loadu_ps(table + 8)));
    if constexpr (kLevels > 4)
      place = next(place, _mm512_permutexvar_ps(place, _mm512_load_ps(table + 16)));
    if constexpr (kLevels > 5) place = next(place, pick<1>(table + 32, place, 4));
    if constexpr (kLevels > 6) place = next(place, pick<2>(table + 64, place, 5));
    if constexpr (kLevels > 7) place = next(place, pick<4>(table + 128, place, 6));
    return place;
  }

  template <int kLevels>
  static void quantise_levels(const float* values, int n, const float* table, bool zero_is_missing,
                              std::uint8_t* left, std::uint8_t* right) {
    const __m512 zero = _mm512_set1_ps(zero_is_missing ? kLightgbmZero : -1.0F);
    for (int i = 0; i < n; i += 16) {
      const __m512 sixteen = _mm512_loadu_ps(values + i);
      const __m128i bins = _mm512_cvtepi32_epi8(search<kLevels>(sixteen, table));
      const auto is_missing =
          static_cast<__mmask16>(_mm512_cmp_ps_mask(_mm512_abs_ps(sixteen), zero, _CMP_LE_OQ) |
                                 _mm512_cmp_ps_mask(sixteen, sixteen, _CMP_UNORD_Q));
      const __m128i missing = _mm_movm_epi8(is_missing);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(left + i), _mm_andnot_si128(missing, bins));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(right + i), _mm_or_si128(missing, bins));
    }
  }

  template <int kWords>
  static void compare(const std::uint8_t* bins, const std::uint8_t* questions, std::size_t count,
                      std::uint64_t* tests) {
    __m512i parts[kWords];
    for (int w = 0; w < kWords; ++w) parts[w] = _mm512_loadu_si512(bins + std::ptrdiff_t{64} * w);
    for (std::size_t q = 0; q < count; ++q) {
      const __m512i least = _mm512_set1_epi8(static_cast<char>(questions[q]));
#pragma GCC unroll 8
      for (int w = 0; w < kWords; ++w) *tests++ = _mm512_cmpge_epu8_mask(parts[w], least);
    }
  }

  /// Of 8 rows the leaf, of 32 doubles and more: as pick(), for numbers twice as long.
  template <int kTables>
  [[gnu::always_inline]] static inline __m512d pick(const double* table, __m512i place, int bit) {
    if constexpr (kTables == 1) {
      return _mm512_permutex2var_pd(_mm512_load_pd(table), place, _mm512_load_pd(table + 8));
    } else {
      const __m512d low = pick<kTables / 2>(table, place, bit - 1);
      const __m512d high = pick<kTables / 2>(table + std::ptrdiff_t{8} * kTables, place, bit - 1);
      return _mm512_mask_blend_pd(_mm512_test_epi64_mask(place, _mm512_set1_epi64(1LL << bit)), low,
                                  high);
    }
  }

  /// 64 rows at a time: of each plane, the bit of a row as a byte.
  template <int kPlanes, class Sum>
  static void add(const std::uint64_t* planes, int words, int n, const Sum* leaves, Sum* sums) {
    alignas(64) std::uint8_t numbers[64];
    for (int first = 0; first < n; first += 64) {
      __m512i leaf = _mm512_setzero_si512();
#pragma GCC unroll 8
      for (int p = 0; p < kPlanes; ++p) {
        const __m512i bit = _mm512_set1_epi8(static_cast<char>(1U << (kPlanes - 1 - p)));
        leaf =
            _mm512_mask_add_epi8(leaf, planes[std::ptrdiff_t{p} * words + first / 64], leaf, bit);
      }
      _mm512_store_si512(numbers, leaf);
      add_64<kPlanes>(numbers, leaves, sums + first);
    }
  }

  template <int kPlanes>
  [[gnu::always_inline]] static inline void add_64(const std::uint8_t* numbers, const float* leaves,
                                                   float* sums) {
    constexpr int kTables = kPlanes > 5 ? 1 << (kPlanes - 5) : 1;
    constexpr int kHighest = kPlanes > 5 ? kPlanes - 1 : 4;
    for (int i = 0; i < 64; i += 16) {
      const __m512i place =
          _mm512_cvtepu8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(numbers + i)));
      const __m512 picked = pick<kTables>(leaves, place, kHighest);
      _mm512_store_ps(sums + i, _mm512_add_ps(_mm512_load_ps(sums + i), picked));
    }
  }

  template <int kPlanes>
  [[gnu::always_inline]] static inline void add_64(const std::uint8_t* numbers,
                                                   const double* leaves, double* sums) {
    constexpr int kTables = kPlanes > 4 ? 1 << (kPlanes - 4) : 1;
    constexpr int kHighest = kPlanes > 4 ? kPlanes - 1 : 3;
    for (int i = 0; i < 64; i += 8) {
      const __m512i place =
          _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(numbers + i)));
      const __m512d picked = pick<kTables>(leaves, place, kHighest);
      _mm512_store_pd(sums + i, _mm512_add_pd(_mm512_load_pd(sums + i), picked));
    }
  }
};

}  // namespace

const BlockKernels* avx512_block_kernels() noexcept {
  const bool is_there =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  return is_there ? kKernelsOf<Avx512> : nullptr;
}

}  // namespace tensoa::forest

#else

namespace tensoa::forest {

const BlockKernels* avx512_block_kernels() noexcept { return nullptr; }

}  // namespace tensoa::forest

#endif
