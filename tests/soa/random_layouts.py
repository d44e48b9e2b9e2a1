# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a header with random layouts for the property tests: `random_layouts.py SEED HEADER`.

The same seed gives the same header with every Python: of its generators only random() is promised to stay as it is.
"""

import random
import sys
from pathlib import Path

ELEMENTS = {  # C++ type: enumerator of DType, bytes
    "bool": ("kBool", 1),
    "std::uint8_t": ("kU8", 1),
    "std::int8_t": ("kI8", 1),
    "std::int16_t": ("kI16", 2),
    "std::int32_t": ("kI32", 4),
    "std::int64_t": ("kI64", 8),
    "Half": ("kF16", 2),
    "BFloat16": ("kBF16", 2),
    "float": ("kF32", 4),
    "double": ("kF64", 8),
}
KINDS = ("kPlain", "kPlain", "kVector", "kMatrix", "kScalar")
MAX_FIELDS = 64
SMALL = 16  # bytes a row: what a test with a million rows has memory for
# Number of fields of each layout, None for a random one; the first ones are small.
COUNTS = (1, 2, 3, 5, MAX_FIELDS) + (None,) * 7


class Deck:
    """Draws each card once before any comes again, so that few draws meet all cards."""

    def __init__(self, cards, rng):
        self.cards, self.rng, self.left = tuple(cards), rng, []

    def draw(self):
        if not self.left:
            self.left = list(self.cards)
        return self.left.pop(below(self.rng, len(self.left)))


class Field:
    def __init__(self, element, kind, rng):
        self.element, self.kind = element, kind
        self.dtype, size = ELEMENTS[element]
        self.rows = 1 + below(rng, 5) if kind == "kVector" else 1 + below(rng, 4) if kind == "kMatrix" else 1
        self.columns = 1 + below(rng, 4) if kind == "kMatrix" else 1
        self.bytes_of_a_row = 0 if kind == "kScalar" else self.rows * self.columns * size

    def type(self):
        return {
            "kPlain": self.element,
            "kVector": f"Vector<{self.element}, {self.rows}>",
            "kMatrix": f"Matrix<{self.element}, {self.rows}, {self.columns}>",
            "kScalar": f"Scalar<{self.element}>",
        }[self.kind]


def below(rng, limit):
    return int(rng.random() * limit)


def random_fields(count, is_small, rng, elements, kinds):
    """Few types for many fields, so that there are columns that go together."""
    while True:
        types = [Field(elements.draw(), kinds.draw(), rng) for _ in range(1 + below(rng, min(count, 6)))]
        fields = [types[below(rng, len(types))] for _ in range(count)]
        if not is_small or sum(field.bytes_of_a_row for field in fields) <= SMALL:
            return fields


class Layout:
    """Members are (name, type, columns); the columns of a nested layout have its name before theirs."""

    def __init__(self, name, fields, nested, rng):
        # Letters and a number: no keyword, no reserved name, no name twice.
        names = iter(f"{chr(ord('a') + below(rng, 26))}{'_long' * below(rng, 2)}{i}" for i in range(MAX_FIELDS))
        self.name, self.columns, members = name, [], []
        inner_at = below(rng, len(fields)) if nested and len(fields) < MAX_FIELDS else None
        for position, field in enumerate(fields):
            if position == inner_at:
                member = next(names)
                members.append(f"  F<Sub<{nested.name}>> {member};")
                self.columns += [(f"{member}.{column}", inner) for column, inner in nested.columns]
            member = next(names)
            members.append(f"  F<{field.type()}> {member};")
            self.columns.append((member, field))
        self.text = "\n".join(("template <template <class> class F>", f"struct {name} {{", *members, "};"))

    def source(self):
        columns = ",\n".join(
            f'        any_column("{path}", {{ColumnKind::{field.kind}, DType::{field.dtype}, {field.rows}, '
            f"{field.columns}}}, view.{path})"
            for path, field in self.columns
        )
        records = ", ".join(f"records.{path}()" for path, _ in self.columns)
        return f"""
{self.text}

template <>
struct Description<{self.name}> {{
  static constexpr std::string_view kText = R"({self.text})";
  static std::vector<AnyColumn> columns(const View<{self.name}>& view) {{
    return {{
{columns}}};
  }}
  static std::vector<Record<{self.name}>> records(const Records<{self.name}>& records) {{
    return {{{records}}};
  }}
}};
"""


def main(seed, header):
    rng = random.Random(seed)
    elements, kinds = Deck(ELEMENTS, rng), Deck(KINDS, rng)
    layouts = []
    for index, count in enumerate(COUNTS):
        is_small = index < COUNTS.index(MAX_FIELDS)
        fields = random_fields(count or 1 + below(rng, MAX_FIELDS), is_small, rng, elements, kinds)
        # Random ones hold another layout, which may hold one too.
        nestable = [] if count else [other for other in layouts if len(other.columns) < MAX_FIELDS]
        nested = nestable[below(rng, len(nestable))] if nestable else None
        layouts.append(Layout(f"Layout{index}", fields, nested, rng))
    visits = "\n".join(f"  visit.template operator()<Layout{i}>();" for i in range(len(layouts)))
    pairs = "\n".join(
        f"  visit.template operator()<Layout{i}, Layout{len(layouts) - 1 - i}>();" for i in range(0, len(layouts), 2)
    )
    Path(header).write_text(f"""// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Written by tests/soa/random_layouts.py; do not edit.
// clang-format off

#include "soa/random_choice.hpp"

namespace tensoa::test {{

inline constexpr std::uint32_t kSeed = {seed};
{"".join(layout.source() for layout in layouts)}
/// Calls `visit.template operator()<Layout>()` for each random layout.
template <class Visit>
void for_each_random_layout(Visit visit) {{
{visits}
}}

/// Calls `visit.template operator()<A, B>()` for a few pairs of random layouts.
template <class Visit>
void for_each_random_pair(Visit visit) {{
{pairs}
}}

}}  // namespace tensoa::test
""")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
