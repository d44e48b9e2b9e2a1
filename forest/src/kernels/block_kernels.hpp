// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// Works on a block of rows with the vector instructions of a processor. The sources behind it are compiled for those
// instructions, so they include nothing that has inline functions of others, and everything here is plain data.
//
// The method: a comparison is one bit a row, a tree combines bits of 64 to 512 rows at a time (../../docs/decisions/0035-forests.md).

namespace tensoa::forest {

inline constexpr int kMostWords = 8;  ///< of 64 rows, in a block
inline constexpr int kMostRows = 64 * kMostWords;

/// Thresholds of a page, at most: 255 is the bin of a missing value that goes right.
inline constexpr int kPage = 254;
inline constexpr int kMissingByte = 255;
inline constexpr int kPageLevels = 8;

inline constexpr int kMostPlanes = 8;  ///< so at most 256 leaves

/// The zeros of LightGBM (kZeroThreshold): these, and numbers that are nearer to 0.
inline constexpr float kLightgbmZero = 1e-35F;

/// Of a ragged tree: the rows that reach a node, in slot `parent`, part by the bits of `test` to the slots
/// 2 i + 1 (left) and 2 i + 2 (right) of node i.
struct ReachNode {
  std::uint16_t parent;
  std::uint16_t unused;
  std::uint32_t test;
};

/// Of a ragged tree, bit p of the number of the leaf that a row reaches, highest first: those that reach any of
/// the slots that end at ends[p].
struct ReachPlanes {
  std::uint16_t ends[kMostPlanes];
};

/// The kernels for blocks of up to `words` * 64 rows. Tests and planes have `words` words, the last ones of which
/// may stand for rows that are not there.
struct BlockKernels {
  int words;

  /// Bins of `n` values among the thresholds of a page.
  /// @param table level l of a search at [2^l, 2^(l+1)), 256 numbers; not a number where none is left
  /// @param values 64 bytes aligned or not, readable up to the next multiple of 16
  /// @param left,right bins with missing values at 0 and at kMissingByte; written up to the next multiple of 64
  void (*quantise)(const float* values, int n, const float* table, int levels, bool zero_is_missing,
                   std::uint8_t* left, std::uint8_t* right);

  /// Of each of `count` bins b: the rows whose bin is b at least, as bits.
  void (*compare)(const std::uint8_t* bins, const std::uint8_t* questions, std::size_t count,
                  std::uint64_t* tests);

  /// The planes of a full tree: of each row the number of its leaf, highest bit first.
  /// @param nodes tests of the nodes, level after level, from place 1 on
  void (*select[kMostPlanes])(const std::uint64_t* tests, const std::uint32_t* nodes,
                              std::uint64_t* planes);

  /// The same of a ragged one. @param slots memory of 2 * count + 1 times `words` words
  void (*reach)(const std::uint64_t* tests, const ReachNode* nodes, std::size_t count,
                const std::uint16_t* slots_of_planes, const ReachPlanes& ends, int levels,
                std::uint64_t* slots, std::uint64_t* planes);

  /// Adds to each sum the leaf of its row. @param leaves 32 at least, aligned to 64 bytes, as the sums are
  void (*add_float[kMostPlanes])(const std::uint64_t* planes, int n, const float* leaves,
                                 float* sums);
  void (*add_double[kMostPlanes])(const std::uint64_t* planes, int n, const double* leaves,
                                  double* sums);
};

/// The kernels of this processor for blocks of this many words at least, or the most there are.
const BlockKernels& block_kernels_for(int words) noexcept;

/// Of one kind of processor those for 1, 2, 4, and 8 words or the most it has; nullptr where it is another.
const BlockKernels* plain_block_kernels() noexcept;
const BlockKernels* avx2_block_kernels() noexcept;
const BlockKernels* avx512_block_kernels() noexcept;

}  // namespace tensoa::forest
