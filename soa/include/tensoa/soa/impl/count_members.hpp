// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "tensoa/soa/impl/apply_fields.hpp"

// The policies under which a layout is counted, and the count of its members.

namespace tensoa {

template <template <template <class> class> class Layout>
struct Sub;

namespace detail {

template <class Field>
using Pointer = Field*;

/// Stands for a field where only its type matters.
template <class Field>
struct Tag {
  using Type = Field;
};

template <class Field>
struct TagOf {
  using Type = Tag<Field>;
};
template <class Field>
using Tagged = typename TagOf<Field>::Type;
template <template <template <class> class> class Layout>
struct TagOf<Sub<Layout>> {
  using Type = Layout<Tagged>;
};

struct AnyPointer {
  template <class T>
  constexpr operator T*()
      const {  // NOLINT(google-explicit-constructor): initialises any field of the count
    return nullptr;
  }
};

template <class Aggregate, class... Counted>
constexpr std::size_t count_fields() {
  if constexpr (requires { Aggregate{Counted{}..., AnyPointer{}}; }) {
    return count_fields<Aggregate, Counted..., AnyPointer>();
  } else {
    return sizeof...(Counted);
  }
}

/// Stands for a base class of `Aggregate`, whichever it has.
template <class Aggregate>
struct AnyBaseOf {
  template <class Base>
    requires(std::is_base_of_v<Base, Aggregate> && !std::is_same_v<Base, Aggregate>)
  constexpr operator Base&() const;  // NOLINT(google-explicit-constructor): only declared
};
template <class Aggregate>
concept HasBase = requires { Aggregate{AnyBaseOf<Aggregate>{}}; };

template <class>
using Byte = std::byte;

/// Whether braces around each of `kCount` pointers initialise the aggregate: not where one of them
/// is a struct or an array of several.
template <class Aggregate, std::size_t... kIndex>
constexpr bool has_members(std::index_sequence<kIndex...>) {
  return requires { Aggregate{{(static_cast<void>(kIndex), AnyPointer{})}...}; };
}

template <template <template <class> class> class Layout>
constexpr std::size_t count_members() {
  using Pointers = Layout<Pointer>;
  static_assert(std::is_aggregate_v<Pointers> && !HasBase<Pointers>,
                "a layout is a plain struct: no constructors, private members, virtual functions "
                "or base classes");
  constexpr std::size_t kCount = count_fields<Pointers>();
  constexpr bool kAllAreFields = sizeof(Pointers) == kCount * sizeof(void*) &&
                                 sizeof(Layout<Byte>) == kCount &&
                                 has_members<Pointers>(std::make_index_sequence<kCount>());
  static_assert(kAllAreFields || std::is_empty_v<Pointers>,
                "every member of a layout is a field: F<int> n, not int n; F<Vector<float, 3>> x, "
                "not F<float> x[3]; F<Sub<Point>> p, not Point<F> p");
  static_assert(kCount >= 1 && kCount <= kMaxFields, "a layout has 1 to 64 fields");
  return kCount;
}

}  // namespace detail

}  // namespace tensoa
