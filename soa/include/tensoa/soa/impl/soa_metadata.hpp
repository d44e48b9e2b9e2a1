// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tensoa/soa/bound_block.hpp"
#include "tensoa/soa/columns.hpp"
#include "tensoa/soa/memory_plan.hpp"
#include "tensoa/soa/records.hpp"

// Declarations that the templates of soa_metadata.hpp need.

namespace tensoa {

template <template <template <class> class> class... Layouts>
class SoAMetadata;

namespace detail {

[[noreturn]] void throw_impossible_rows(const std::string& rows);

/// The most rows that a tensor may have; no memory can hold more.
inline constexpr std::size_t kMostRows = std::size_t{1} << 48U;

template <std::integral Rows>
std::size_t checked_rows(Rows rows) {
  if (std::cmp_less(rows, 0) || std::cmp_greater(rows, kMostRows)) {
    throw_impossible_rows(std::to_string(rows));
  }
  return static_cast<std::size_t>(rows);
}

template <template <template <class> class> class A, template <template <class> class> class B>
inline constexpr bool kIsSameLayout = std::is_same_v<A<Pointer>, B<Pointer>>;

/// How often a layout is among others.
template <template <template <class> class> class Layout,
          template <template <class> class> class... Others>
inline constexpr std::size_t kCountOf = (std::size_t{kIsSameLayout<Layout, Others>} + ...);

template <template <template <class> class> class Layout>
BoundColumn bound_column(const Record<Layout>& record) {
  constexpr MemoryPlan<Layout> kEmpty(0);
  const std::uint32_t field = record.column.field;
  return {std::string(kFieldNames<Layout>[field]), field,
          static_cast<std::uint32_t>(kColumnOffsets<Layout>[field]),
          static_cast<std::uint32_t>(kEmpty.offset_of[field] / kAlignment), record.column.info};
}

[[noreturn]] void throw_other_rows(const BoundBlock& block, std::size_t rows, std::size_t others);

/// Blocks over several layouts, and more over one of these or over another.
struct JoinedBlocks {
  template <template <template <class> class> class... First,
            template <template <class> class> class Second>
  static auto of(const SoAMetadata<First...>& first, const SoAMetadata<Second>& second) {
    if constexpr ((kIsSameLayout<First, Second> || ...)) {
      SoAMetadata<First...> both = first;
      const std::size_t position = SoAMetadata<First...>::template position_of<Second>();
      if (first.sizes_[position] != second.sizes_[0]) {
        throw_other_rows(second.blocks_[0], second.sizes_[0], first.sizes_[position]);
      }
      both.take(second, position);
      return both;
    } else {
      auto both = std::apply(
          [&](auto... rows) { return SoAMetadata<First..., Second>(rows..., second.sizes_[0]); },
          first.sizes_);
      both.take(first, 0);
      both.take(second, sizeof...(First));
      return both;
    }
  }
};

}  // namespace detail
}  // namespace tensoa
