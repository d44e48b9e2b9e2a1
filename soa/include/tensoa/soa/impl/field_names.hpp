// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
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

template <std::size_t kCount, class Aggregate>
inline constexpr auto kMemberAddresses = apply_fields<kCount>(
    declared<Aggregate>.object, [](auto&... members) { return std::tuple{&members...}; });

template <std::size_t kCount, class Aggregate>
constexpr std::array<std::string_view, kCount> find_field_names() {
  return []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array{
        name_of_member<AddressOf{std::get<kIndex>(kMemberAddresses<kCount, Aggregate>)}>()...};
  }(std::make_index_sequence<kCount>());
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

}  // namespace tensoa::detail
