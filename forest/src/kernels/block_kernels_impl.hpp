// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/block_kernels.hpp"

// The kernels, from the operations that a source for one kind of processor defines before it includes this, as Isa:
//
//   static constexpr int kWords;                                the longest block: 4 or 8
//   template <int words> struct Isa::Bits { using type = …; };     `words` words of 64 rows, with & | ^ ~
//   static void quantise(…), as BlockKernels::quantise;
//   template <int words> static void compare(…);
//   template <int planes, class Sum> static void add(const std::uint64_t* planes, int words, int n, …);

namespace tensoa::forest {
namespace {

/// Common parts of the kinds of processors with vectors. Isa has quantise_levels<levels>(…), a search of that many levels.
template <class Isa>
struct Vectors {
  template <int kWords>
  struct Bits {
    using type [[gnu::vector_size(8 * kWords)]] = std::uint64_t;
  };

  static void quantise(const float* values, int n, const float* table, int levels,
                       bool zero_is_missing, std::uint8_t* left, std::uint8_t* right) {
    using Search = void (*)(const float*, int, const float*, bool, std::uint8_t*, std::uint8_t*);
    static constexpr Search kOfLevels[] = {
        Isa::template quantise_levels<1>, Isa::template quantise_levels<2>,
        Isa::template quantise_levels<3>, Isa::template quantise_levels<4>,
        Isa::template quantise_levels<5>, Isa::template quantise_levels<6>,
        Isa::template quantise_levels<7>, Isa::template quantise_levels<8>};
    kOfLevels[levels - 1](values, n, table, zero_is_missing, left, right);
  }
};

template <class Isa, int kWords>
struct Kernels {
  using Bits = typename Isa::template Bits<kWords>::type;

  static Bits load(const std::uint64_t* words) { return *reinterpret_cast<const Bits*>(words); }
  static void store(std::uint64_t* words, Bits bits) { *reinterpret_cast<Bits*>(words) = bits; }

  /// The bits of `right` where `chosen` has ones, of `left` elsewhere.
  [[gnu::always_inline]] static inline Bits choose(Bits chosen, Bits left, Bits right) {
    return left ^ (chosen & (left ^ right));
  }

  /// The tests of level `kTo` that rows are asked below `node` of level `kLevel`.
  template <int kLevel, int kTo>
  [[gnu::always_inline]] static inline Bits selected(const std::uint64_t* tests,
                                                     const std::uint32_t* nodes, std::size_t node,
                                                     const Bits* planes) {
    if constexpr (kLevel == kTo) {
      return load(tests + std::size_t{nodes[node]} * kWords);
    } else {
      return choose(planes[kLevel], selected<kLevel + 1, kTo>(tests, nodes, 2 * node, planes),
                    selected<kLevel + 1, kTo>(tests, nodes, 2 * node + 1, planes));
    }
  }

  template <int kLevels, int kLevel = 0>
  [[gnu::always_inline]] static inline void select_levels(const std::uint64_t* tests,
                                                          const std::uint32_t* nodes, Bits* planes,
                                                          std::uint64_t* stored) {
    planes[kLevel] = selected<0, kLevel>(tests, nodes, 1, planes);
    store(stored + kLevel * kWords, planes[kLevel]);
    if constexpr (kLevel + 1 < kLevels) {
      select_levels<kLevels, kLevel + 1>(tests, nodes, planes, stored);
    }
  }

  template <int kLevels>
  static void select(const std::uint64_t* tests, const std::uint32_t* nodes,
                     std::uint64_t* stored) {
    Bits planes[kLevels];
    select_levels<kLevels>(tests, nodes, planes, stored);
  }

  static void reach(const std::uint64_t* tests, const ReachNode* nodes, std::size_t count,
                    const std::uint16_t* slots_of_planes, const ReachPlanes& ends, int levels,
                    std::uint64_t* slots, std::uint64_t* planes) {
    store(slots, ~Bits{});
    for (std::size_t i = 0; i < count; ++i) {
      const Bits rows = load(slots + std::size_t{nodes[i].parent} * kWords);
      const Bits test = load(tests + std::size_t{nodes[i].test} * kWords);
      store(slots + (2 * i + 1) * kWords, rows & ~test);
      store(slots + (2 * i + 2) * kWords, rows & test);
    }
    std::size_t next = 0;
    for (int level = 0; level < levels; ++level) {
      Bits plane{};
      for (; next < ends.ends[level]; ++next) {
        plane = plane | load(slots + std::size_t{slots_of_planes[next]} * kWords);
      }
      store(planes + level * kWords, plane);
    }
  }

  template <int kPlanes, class Sum>
  static void add(const std::uint64_t* planes, int n, const Sum* leaves, Sum* sums) {
    Isa::template add<kPlanes>(planes, kWords, n, leaves, sums);
  }

  static void compare(const std::uint8_t* bins, const std::uint8_t* questions, std::size_t count,
                      std::uint64_t* tests) {
    Isa::template compare<kWords>(bins, questions, count, tests);
  }

  static constexpr BlockKernels kAll = {
      .words = kWords,
      .quantise = Isa::quantise,
      .compare = compare,
      .select = {select<1>, select<2>, select<3>, select<4>, select<5>, select<6>, select<7>,
                 select<8>},
      .reach = reach,
      .add_float = {add<1, float>, add<2, float>, add<3, float>, add<4, float>, add<5, float>,
                    add<6, float>, add<7, float>, add<8, float>},
      .add_double = {add<1, double>, add<2, double>, add<3, double>, add<4, double>, add<5, double>,
                     add<6, double>, add<7, double>, add<8, double>},
  };
};

template <class Isa>
constexpr BlockKernels kKernelsOf[] = {Kernels<Isa, 1>::kAll, Kernels<Isa, 2>::kAll,
                                       Kernels<Isa, 4>::kAll, Kernels<Isa, Isa::kWords>::kAll};

}  // namespace
}  // namespace tensoa::forest
