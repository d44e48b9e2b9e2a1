// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/block_kernels.hpp"

#if defined(__AVX2__)

#include <immintrin.h>

#include "kernels/block_kernels_impl.hpp"

namespace tensoa::forest {
namespace {

struct Avx2 : Vectors<Avx2> {
  static constexpr int kWords = 4;

  /// Level `level` of the search for 8 values: `place` among its 2^level thresholds. Of a register, one instruction
  /// picks 8 thresholds; larger levels are picked by the upper bits of the place.
  template <int kTables>
  [[gnu::always_inline]] static inline __m256 pick(const float* table, __m256i place, int bit) {
    if constexpr (kTables == 1) {
      return _mm256_permutevar8x32_ps(_mm256_load_ps(table), place);
    } else {
      const __m256 low = pick<kTables / 2>(table, place, bit - 1);
      const __m256 high = pick<kTables / 2>(table + std::ptrdiff_t{4} * kTables, place, bit - 1);
      return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(place, 31 - bit)));
    }
  }

  template <int kLevels>
  [[gnu::always_inline]] static inline __m256i search(__m256 values, const float* table) {
    const auto next = [&](__m256i place, __m256 thresholds) {
      const __m256 is_above = _mm256_cmp_ps(values, thresholds, _CMP_GE_OQ);
      return _mm256_sub_epi32(_mm256_add_epi32(place, place), _mm256_castps_si256(is_above));
    };
    __m256i place = _mm256_setzero_si256();
    place = next(place, _mm256_broadcast_ss(table + 1));
    // Lower levels lie closer than a register is long; what follows them is not picked.
    if constexpr (kLevels > 1)
      place = next(place, _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 2), place));
    if constexpr (kLevels > 2)
      place = next(place, _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 4), place));
    if constexpr (kLevels > 3) place = next(place, pick<1>(table + 8, place, 2));
    if constexpr (kLevels > 4) place = next(place, pick<2>(table + 16, place, 3));
    if constexpr (kLevels > 5) place = next(place, pick<4>(table + 32, place, 4));
    if constexpr (kLevels > 6) place = next(place, pick<8>(table + 64, place, 5));
    if constexpr (kLevels > 7) place = next(place, pick<16>(table + 128, place, 6));
    return place;
  }

  template <int kLevels>
  static void quantise_levels(const float* values, int n, const float* table, bool zero_is_missing,
                              std::uint8_t* left, std::uint8_t* right) {
    const __m256 zero = _mm256_set1_ps(zero_is_missing ? kLightgbmZero : -1.0F);
    const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFF'FFFF));
    // The lowest byte of each number, side by side in both halves.
    const __m256i lowest =
        _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12,
                         -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    for (int i = 0; i < n; i += 8) {
      const __m256 eight = _mm256_loadu_ps(values + i);
      const __m256i place = search<kLevels>(eight, table);
      const __m256 is_zero = _mm256_cmp_ps(_mm256_and_ps(eight, magnitude), zero, _CMP_LE_OQ);
      const __m256i is_missing =
          _mm256_castps_si256(_mm256_or_ps(is_zero, _mm256_cmp_ps(eight, eight, _CMP_UNORD_Q)));
      store_bytes(left + i, _mm256_shuffle_epi8(_mm256_andnot_si256(is_missing, place), lowest));
      store_bytes(right + i, _mm256_shuffle_epi8(_mm256_or_si256(is_missing, place), lowest));
    }
  }

  static void store_bytes(std::uint8_t* to, __m256i halves) {
    const auto low = static_cast<std::uint32_t>(_mm256_extract_epi32(halves, 0));
    const auto high = static_cast<std::uint32_t>(_mm256_extract_epi32(halves, 4));
    const std::uint64_t both = low | std::uint64_t{high} << 32;
    __builtin_memcpy(to, &both, sizeof both);
  }

  template <int kWords>
  static void compare(const std::uint8_t* bins, const std::uint8_t* questions, std::size_t count,
                      std::uint64_t* tests) {
    constexpr int kParts = 2 * kWords;
    __m256i parts[kParts];
    for (int part = 0; part < kParts; ++part) {
      parts[part] =
          _mm256_load_si256(reinterpret_cast<const __m256i*>(bins + std::ptrdiff_t{32} * part));
    }
    auto* words = reinterpret_cast<char*>(tests);
    for (std::size_t q = 0; q < count; ++q) {
      const __m256i least = _mm256_set1_epi8(static_cast<char>(questions[q]));
      for (int part = 0; part < kParts; ++part) {
        const __m256i is_least =
            _mm256_cmpeq_epi8(_mm256_max_epu8(parts[part], least), parts[part]);
        const int rows = _mm256_movemask_epi8(is_least);
        __builtin_memcpy(words, &rows, sizeof rows);
        words += sizeof rows;
      }
    }
  }

  /// 32 rows at a time: of each plane, the bit of a row as a byte.
  template <int kPlanes, class Sum>
  static void add(const std::uint64_t* planes, int words, int n, const Sum* leaves, Sum* sums) {
    const __m256i byte_of_row = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2,
                                                 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
    const __m256i bit_of_row = _mm256_set1_epi64x(static_cast<long long>(0x8040'2010'0804'0201ULL));
    alignas(32) std::uint8_t numbers[32];
    for (int first = 0; first < n; first += 32) {
      __m256i leaf = _mm256_setzero_si256();
      for (int p = 0; p < kPlanes; ++p) {
        int rows;
        __builtin_memcpy(
            &rows, reinterpret_cast<const char*>(planes + std::ptrdiff_t{p} * words) + first / 8,
            sizeof rows);
        const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(rows), byte_of_row);
        const __m256i is_set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit_of_row), bit_of_row);
        leaf = _mm256_sub_epi8(_mm256_add_epi8(leaf, leaf), is_set);
      }
      _mm256_store_si256(reinterpret_cast<__m256i*>(numbers), leaf);
#pragma GCC unroll 32
      for (int i = 0; i < 32; ++i) sums[first + i] += leaves[numbers[i]];
    }
  }
};

}  // namespace

const BlockKernels* avx2_block_kernels() noexcept {
  return __builtin_cpu_supports("avx2") != 0 ? kKernelsOf<Avx2> : nullptr;
}

}  // namespace tensoa::forest

#else

namespace tensoa::forest {

const BlockKernels* avx2_block_kernels() noexcept { return nullptr; }

}  // namespace tensoa::forest

#endif
