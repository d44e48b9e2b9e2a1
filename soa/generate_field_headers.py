# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the header that needs one line for each number of fields (C++20 has no structured-binding packs).

Run `python3 soa/generate_field_headers.py` in the root of the repository after changing MAX_FIELDS or a template.
"""

from pathlib import Path

MAX_FIELDS = 64
FOLDER = Path(__file__).parent / "include/tensoa/soa/impl"

APPLY_FIELDS = """// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Written by soa/generate_field_headers.py; do not edit.
// clang-format off

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

def branch(count: int) -> str:
    names = ", ".join(f"f{i}" for i in range(count))
    condition = f"{'if' if count == 1 else 'else if'} constexpr (kCount == {count})"
    return f"  {condition} {{ auto&& [{names}] = aggregate; return function({names}); }}"


if __name__ == "__main__":
    branches = "\n".join(branch(count) for count in range(1, MAX_FIELDS + 1))
    (FOLDER / "apply_fields.hpp").write_text(APPLY_FIELDS.replace("@BRANCHES@", branches).replace("@MAX@", str(MAX_FIELDS)))
