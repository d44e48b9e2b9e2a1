// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "tensoa/soa/impl/apply_fields.hpp"

namespace tensoa::detail {

// Names of members at compile time: a structured binding of an object that is only declared gives the address of each
// member as a template argument, and the compiler spells that argument in __PRETTY_FUNCTION__.

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif
template <class T>
struct Declared {
  T object;
};
template <class T>
extern Declared<T> declared;

template <class T>
struct AddressOf {
  T value;
};
template <class T>
AddressOf(T) -> AddressOf<T>;

template <auto kAddress>
constexpr std::string_view name_of_member() {
  // g++: "… AddressOf<float**>{(& declared<…>.….Hit<Pointer>::x)}; …"; clang: "… {&declared<…>.object.x}]".
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t brace = text.find_last_of('}');
  const std::size_t end = text[brace - 1] == ')' ? brace - 1 : brace;
  const std::size_t begin = text.find_last_of(".:", end) + 1;
  return text.substr(begin, end - begin);
}

// A tuple of addresses that compiles faster than std::tuple, at 64 members.
template <std::size_t kIndex, class T>
struct MemberAddress {
  T* address;
};
template <class Indices, class... T>
struct MemberAddresses;
template <std::size_t... kIndex, class... T>
struct MemberAddresses<std::index_sequence<kIndex...>, T...> : MemberAddress<kIndex, T>... {};
template <std::size_t kIndex, class T>
consteval T* member_address(const MemberAddress<kIndex, T>& at) {
  return at.address;
}

// consteval: nothing of it is in the program, where the object is not, either.
template <class Aggregate, std::size_t... kIndex>
consteval auto list_names(std::index_sequence<kIndex...>) {
  constexpr auto kAddresses =
      apply_fields<sizeof...(kIndex)>(declared<Aggregate>.object, []<class... T>(T&... members) {
        return MemberAddresses<std::index_sequence<kIndex...>, T...>{{&members}...};
      });
  return std::array{name_of_member<AddressOf{member_address<kIndex>(kAddresses)}>()...};
}

template <std::size_t kCount, class Aggregate>
consteval std::array<std::string_view, kCount> find_field_names() {
  return list_names<Aggregate>(std::make_index_sequence<kCount>());
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

}  // namespace tensoa::detail
