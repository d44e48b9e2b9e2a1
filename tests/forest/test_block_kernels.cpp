// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/block_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/aligned.hpp"

namespace tensoa::forest {

const BlockKernels* doubled_avx512_block_kernels() noexcept;  // of avx512_double/

namespace {

struct Named {
  std::string name;
  const BlockKernels* (*kernels)();
};

/// The kernels of one kind of processor give what the plain ones give.
class BlockKernelsTest : public testing::TestWithParam<Named> {
 protected:
  void SetUp() override {
    if (GetParam().kernels() == nullptr)
      GTEST_SKIP() << "this processor has no " << GetParam().name;
  }

  /// `check(kernels, plain)` for each number of words.
  template <class Check>
  void for_each_width(const Check& check) {
    for (int i = 0; i < 4; ++i) {
      const BlockKernels& kernels = GetParam().kernels()[i];
      SCOPED_TRACE(std::to_string(kernels.words) + " words");
      check(kernels,
            plain_block_kernels()[std::bit_width(static_cast<unsigned>(kernels.words - 1))]);
    }
  }

  AlignedVector<std::uint64_t> random_words(std::size_t n) {
    AlignedVector<std::uint64_t> words(n);
    std::ranges::generate(words, random_);
    return words;
  }

  std::mt19937_64 random_{7};
};

TEST_P(BlockKernelsTest, QuantiseFindsTheBinsOfAllValuesAndWhatIsMissing) {
  for_each_width([&](const BlockKernels& kernels, const BlockKernels& plain) {
    for (int levels = 1; levels <= kPageLevels; ++levels) {
      const std::size_t size =
          (std::size_t{1} << levels) - 1 - static_cast<std::size_t>(levels > 2 ? random_() % 2 : 0);
      AlignedVector<float> table(256, std::numeric_limits<float>::quiet_NaN());
      for (int level = 0; level < levels; ++level) {
        for (std::size_t k = 0; k < std::size_t{1} << level; ++k) {
          const std::size_t sorted = ((2 * k + 1) << (levels - 1 - level)) - 1;
          if (sorted < size) table[(std::size_t{1} << level) + k] = static_cast<float>(sorted) - 10;
        }
      }
      const int n = 64 * kernels.words - static_cast<int>(random_() % 20);
      AlignedVector<float> values(static_cast<std::size_t>(64 * kernels.words));
      for (float& value : values) {
        constexpr float kSpecial[] = {std::numeric_limits<float>::quiet_NaN(),
                                      std::numeric_limits<float>::infinity(),
                                      -std::numeric_limits<float>::infinity(),
                                      -0.0F,
                                      kLightgbmZero,
                                      -kLightgbmZero,
                                      2 * kLightgbmZero,
                                      1e-45F};
        value = static_cast<float>(static_cast<int>(random_() % 560)) / 2 - 15;
        if (random_() % 4 == 0) value = kSpecial[random_() % std::size(kSpecial)];
      }
      for (const bool zero_is_missing : {false, true}) {
        const auto bins = [&](const BlockKernels& of) {
          AlignedVector<std::uint8_t> left(kMostRows);
          AlignedVector<std::uint8_t> right(kMostRows);
          of.quantise(values.data(), n, table.data(), levels, zero_is_missing, left.data(),
                      right.data());
          left.resize(static_cast<std::size_t>(n));
          right.resize(static_cast<std::size_t>(n));
          left.insert(left.end(), right.begin(), right.end());
          return left;
        };
        EXPECT_EQ(bins(kernels), bins(plain)) << levels << " levels";
      }
    }
  });
}

TEST_P(BlockKernelsTest, CompareGivesOneBitARow) {
  for_each_width([&](const BlockKernels& kernels, const BlockKernels& plain) {
    AlignedVector<std::uint8_t> bins(kMostRows);
    for (std::uint8_t& bin : bins) bin = static_cast<std::uint8_t>(random_());
    std::vector<std::uint8_t> questions;
    for (unsigned q = 1; q < 256; ++q) questions.push_back(static_cast<std::uint8_t>(q));
    const auto tests = [&](const BlockKernels& of) {
      AlignedVector<std::uint64_t> words(questions.size() * static_cast<std::size_t>(of.words));
      of.compare(bins.data(), questions.data(), questions.size(), words.data());
      return words;
    };
    EXPECT_EQ(tests(kernels), tests(plain));
  });
}

TEST_P(BlockKernelsTest, PlainComparisonIsThatOfNumbers) {
  const BlockKernels& plain = plain_block_kernels()[0];
  AlignedVector<std::uint8_t> bins(64);
  for (std::uint8_t& bin : bins) bin = static_cast<std::uint8_t>(random_());
  for (unsigned q = 0; q < 256; ++q) {
    const auto question = static_cast<std::uint8_t>(q);
    std::uint64_t word = 0;
    plain.compare(bins.data(), &question, 1, &word);
    for (unsigned row = 0; row < 64; ++row) ASSERT_EQ(word >> row & 1U, bins[row] >= q ? 1U : 0U);
  }
}

TEST_P(BlockKernelsTest, FullAndRaggedTreesGiveTheLeavesOfPlainOnes) {
  for_each_width([&](const BlockKernels& kernels, const BlockKernels& plain) {
    const auto words = static_cast<std::size_t>(kernels.words);
    constexpr std::size_t kTests = 50;
    const auto tests = random_words(kTests * words);
    for (std::size_t depth = 1; depth <= kMostPlanes; ++depth) {
      std::vector<std::uint32_t> nodes(std::size_t{1} << depth);
      for (std::uint32_t& node : nodes) node = static_cast<std::uint32_t>(random_() % kTests);
      std::vector<ReachNode> reach;
      for (std::uint16_t i = 0; i < depth; ++i) {
        reach.push_back({static_cast<std::uint16_t>(random_() % (2 * i + 1U)), 0,
                         static_cast<std::uint32_t>(random_() % kTests)});
      }
      std::vector<std::uint16_t> slots_of_planes;
      ReachPlanes ends{};
      for (std::size_t p = 0; p < depth; ++p) {
        for (std::size_t i = 0; i < p; ++i)
          slots_of_planes.push_back(static_cast<std::uint16_t>(random_() % (2 * depth + 1)));
        ends.ends[p] = static_cast<std::uint16_t>(slots_of_planes.size());
      }
      const auto planes = [&](const BlockKernels& of) {
        AlignedVector<std::uint64_t> all(2 * kMostPlanes * words);
        AlignedVector<std::uint64_t> slots((2 * depth + 1) * words);
        of.select[depth - 1](tests.data(), nodes.data(), all.data());
        of.reach(tests.data(), reach.data(), reach.size(), slots_of_planes.data(), ends,
                 static_cast<int>(depth), slots.data(), all.data() + kMostPlanes * words);
        return all;
      };
      EXPECT_EQ(planes(kernels), planes(plain)) << "depth " << depth;
    }
  });
}

template <class Sum>
AlignedVector<Sum> added(const BlockKernels& of, std::size_t planes,
                         const AlignedVector<std::uint64_t>& bits, int n,
                         const AlignedVector<Sum>& leaves) {
  AlignedVector<Sum> sums(kMostRows, Sum{0.5F});
  if constexpr (std::is_same_v<Sum, float>) {
    of.add_float[planes - 1](bits.data(), n, leaves.data(), sums.data());
  } else {
    of.add_double[planes - 1](bits.data(), n, leaves.data(), sums.data());
  }
  sums.resize(static_cast<std::size_t>(n));
  return sums;
}

TEST_P(BlockKernelsTest, AddTakesTheLeafOfEachRow) {
  for_each_width([&](const BlockKernels& kernels, const BlockKernels& plain) {
    const auto bits = random_words(kMostPlanes * static_cast<std::size_t>(kernels.words));
    AlignedVector<float> floats(256);
    AlignedVector<double> doubles(256);
    for (std::size_t i = 0; i < 256; ++i) {
      doubles[i] = static_cast<double>(random_() % 100'000) / 777;
      floats[i] = static_cast<float>(doubles[i]);
    }
    const int n = 64 * kernels.words - static_cast<int>(random_() % 40);
    for (std::size_t planes = 1; planes <= kMostPlanes; ++planes) {
      EXPECT_EQ(added(kernels, planes, bits, n, floats), added(plain, planes, bits, n, floats))
          << planes;
      EXPECT_EQ(added(kernels, planes, bits, n, doubles), added(plain, planes, bits, n, doubles))
          << planes;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Processors, BlockKernelsTest,
                         testing::Values(Named{"Avx2", avx2_block_kernels},
                                         Named{"Avx512", avx512_block_kernels},
                                         Named{"DoubledAvx512", doubled_avx512_block_kernels}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tensoa::forest
