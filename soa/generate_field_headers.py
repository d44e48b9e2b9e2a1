# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the two headers that need one line for each number of fields (C++20 has no structured-binding packs).

Run `python3 soa/generate_field_headers.py` in the root of the repository after changing MAX_FIELDS or a template.
"""

from pathlib import Path

MAX_FIELDS = 64
FOLDER = Path(__file__).parent / "include/tensoa/soa/impl"

HEAD = """// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Written by soa/generate_field_headers.py; do not edit.
// clang-format off
"""

APPLY_FIELDS = HEAD + """
#include <cstddef>

namespace tensoa::detail {

inline constexpr std::size_t kMaxFields = @MAX@;

/// Calls `function` with the members of an aggregate of kCount members, in declaration order.
template <std::size_t kCount, class Aggregate, class Function>
constexpr decltype(auto) apply_fields(Aggregate&& aggregate, Function&& function) {
  static_assert(kCount >= 1 && kCount <= kMaxFields, "a layout has 1 to @MAX@ fields");
@BRANCHES@
}

}  // namespace tensoa::detail
"""

FIELD_NAMES = HEAD + """
#include <array>
#include <cstddef>
#include <string_view>

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
constexpr std::array<std::string_view, kCount> find_field_names() {
@BRANCHES@
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

}  // namespace tensoa::detail
"""


def branches(body: str) -> str:
    """One `if constexpr` a line; `body` has @NAMES@ for the bindings and @EACH@ for the names of members."""
    lines = []
    for count in range(1, MAX_FIELDS + 1):
        names = [f"f{i}" for i in range(count)]
        each = ", ".join(f"name_of_member<AddressOf{{&{name}}}>()" for name in names)
        text = body.replace("@NAMES@", ", ".join(names)).replace("@EACH@", each)
        lines.append(f"  {'if' if count == 1 else 'else if'} constexpr (kCount == {count}) {{ {text} }}")
    return "\n".join(lines)


def write(name: str, template: str, body: str) -> None:
    text = template.replace("@BRANCHES@", branches(body)).replace("@MAX@", str(MAX_FIELDS))
    (FOLDER / name).write_text(text)


if __name__ == "__main__":
    write("apply_fields.hpp", APPLY_FIELDS, "auto&& [@NAMES@] = aggregate; return function(@NAMES@);")
    write("field_names.hpp", FIELD_NAMES, "auto& [@NAMES@] = declared<Aggregate>.object; return {@EACH@};")
