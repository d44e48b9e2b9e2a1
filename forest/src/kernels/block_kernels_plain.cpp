// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/block_kernels_impl.hpp"

// For every processor: what a compiler makes of vectors and of loops over words of 64 bits.

namespace tensoa::forest {
namespace {

struct Plain {
  static constexpr int kWords = 8;

  template <int kWords>
  struct Bits {
    using type [[gnu::vector_size(8 * kWords)]] = std::uint64_t;
  };

  static void quantise(const float* values, int n, const float* table, int levels,
                       bool zero_is_missing, std::uint8_t* left, std::uint8_t* right) {
    for (int i = 0; i < n; ++i) {
      const float value = values[i];
      unsigned place = 1;
      for (int level = 0; level < levels; ++level)
        place = 2 * place + (value >= table[place] ? 1U : 0U);
      const bool is_missing =
          value != value || (zero_is_missing && value >= -kLightgbmZero && value <= kLightgbmZero);
      const unsigned bin = is_missing ? 0 : place - (1U << static_cast<unsigned>(levels));
      left[i] = static_cast<std::uint8_t>(bin);
      right[i] = static_cast<std::uint8_t>(is_missing ? kMissingByte : bin);
    }
  }

  /// Eight bins at a time: the highest bit of a byte says whether it is as large as that of `least`.
  static std::uint64_t at_least(std::uint64_t eight, std::uint64_t least) {
    constexpr std::uint64_t kHighest = 0x8080'8080'8080'8080;
    constexpr std::uint64_t kToTopByte = 0x0002'0408'1020'4081;  // collects bits 7, 15, … 63
    const std::uint64_t lower_bits = (eight | kHighest) - (least & ~kHighest);
    const std::uint64_t is_least = ((eight & ~least) | (~(eight ^ least) & lower_bits)) & kHighest;
    return ((is_least >> 7) * (kToTopByte << 7)) >> 56;
  }

  template <int kWords>
  static void compare(const std::uint8_t* bins, const std::uint8_t* questions, std::size_t count,
                      std::uint64_t* tests) {
    for (std::size_t q = 0; q < count; ++q) {
      const std::uint64_t least = std::uint64_t{0x0101'0101'0101'0101} * questions[q];
      for (int w = 0; w < kWords; ++w) {
        std::uint64_t word = 0;
        for (int part = 0; part < 8; ++part) {
          std::uint64_t eight;
          __builtin_memcpy(&eight, bins + std::ptrdiff_t{64} * w + std::ptrdiff_t{8} * part,
                           sizeof eight);
          word |= at_least(eight, least) << 8 * part;
        }
        *tests++ = word;
      }
    }
  }

  template <int kPlanes, class Sum>
  static void add(const std::uint64_t* planes, int words, int n, const Sum* leaves, Sum* sums) {
    for (int row = 0; row < n; ++row) {
      unsigned leaf = 0;
      for (int p = 0; p < kPlanes; ++p) {
        leaf = 2 * leaf + static_cast<unsigned>(planes[p * words + row / 64] >> (row % 64) & 1U);
      }
      sums[row] += leaves[leaf];
    }
  }
};

}  // namespace

const BlockKernels* plain_block_kernels() noexcept { return kKernelsOf<Plain>; }

}  // namespace tensoa::forest
