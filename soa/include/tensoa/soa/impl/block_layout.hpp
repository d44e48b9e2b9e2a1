// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "tensoa/soa/portable_collection.hpp"

// The blocks of a layout: how many, their views, and where each starts.

namespace tensoa {
namespace detail {

template <class Field>
inline constexpr bool kIsBlock = false;
template <template <template <class> class> class Layout>
inline constexpr bool kIsBlock<Tag<Block<Layout>>> = true;

/// Members of a layout that are blocks.
template <template <template <class> class> class Layout>
inline constexpr std::size_t kBlockCount = apply_fields<kMemberCount<Layout>>(
    Layout<Tagged>{}, [](auto... tag) { return (std::size_t{kIsBlock<decltype(tag)>} + ...); });

template <class Field>
struct ViewOf;
template <template <template <class> class> class Layout>
struct ViewOf<Block<Layout>> {
  using Type = View<Layout>;
  using Const = ConstView<Layout>;
};
template <class Field>
using BlockView = typename ViewOf<Field>::Type;
template <class Field>
using ConstBlockView = typename ViewOf<Field>::Const;

/// Where each block starts in the allocation, in bytes; the last one is where it ends.
template <template <template <class> class> class Layout>
constexpr std::array<std::size_t, kMemberCount<Layout> + 1> block_offsets(
    const std::array<std::size_t, kMemberCount<Layout>>& capacities) noexcept {
  std::array<std::size_t, kMemberCount<Layout> + 1> offsets{};
  std::size_t block = 0;
  for_each_tag<Layout>([&]<template <template <class> class> class Inner>(Tag<Block<Inner>>) {
    offsets[block + 1] = offsets[block] + MemoryPlan<Inner>(capacities[block]).bytes;
    ++block;
  });
  return offsets;
}

template <template <template <class> class> class Layout>
std::string name_of_block(std::size_t block) {
  return "PortableCollection, block " + std::string(kMemberNames<Layout>[block]);
}

/// @throws ConfigError naming the block whose capacity is less
template <template <template <class> class> class Layout, std::size_t kBlocks>
void check_block_sizes(const std::array<std::size_t, kBlocks>& sizes,
                       const std::array<std::size_t, kBlocks>& capacities) {
  for (std::size_t block = 0; block < kBlocks; ++block) {
    check_resize(sizes[block], capacities[block], name_of_block<Layout>(block));
  }
}

}  // namespace detail

}  // namespace tensoa
