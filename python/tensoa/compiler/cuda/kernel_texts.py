# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The text of kernels: those that differ only in where weights and memory lie call one function, which is compiled once."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_GIVEN = re.compile(r"p\.(buffer|block|pitch|rows)\[(\d+)\]")
_TYPES = {"buffer": "void*", "block": "void*", "pitch": "int64", "rows": "int64"}


@dataclass(frozen=True)
class KernelText:
    """`bounds`: of its launch; `weights`: where its own begin; `rows`: C++ of how many there are."""

    name: str
    bounds: str
    weights: int
    rows: str
    body: str

    @property
    def given(self) -> dict[str, str]:
        """The members of `p` that it uses, in the order of first use, with the type."""
        return {found[0]: _TYPES[found[1]] for found in _GIVEN.finditer(self.inside)}

    @property
    def inside(self) -> str:
        """The text inside the kernel after `p` and `far_weights`."""
        return f"""extern __shared__ uint4 shared_memory[];
[[maybe_unused]] char* const shared = reinterpret_cast<char*>(shared_memory);
const int64 rows = {self.rows};
{self.body}"""

    @property
    def function(self) -> str:
        """The same with names for what it is given."""
        names = {text: f"given_{i}" for i, text in enumerate(self.given)}
        return _GIVEN.sub(lambda found: names[found[0]], self.inside)

    def kernel(self, inside: str) -> str:
        return f"""extern "C" __global__ void __launch_bounds__({self.bounds})
{self.name}(const __grid_constant__ Params p) {{
let_next_kernel_begin();
[[maybe_unused]] const char* far_weights = static_cast<const char*>(p.weights) + {self.weights};
{inside}
}}
"""


def printed(kernels: Sequence[KernelText]) -> list[str]:
    """Their texts in order; before them, the functions of those that are equal."""
    counts = Counter((kernel.function, kernel.bounds) for kernel in kernels)
    several = [key for key, count in counts.items() if count > 1]
    found = []
    for i, (function, _) in enumerate(several):
        given = next(kernel.given for kernel in kernels if kernel.function == function)
        parameters = "".join(f", {kind} given_{at}" for at, kind in enumerate(given.values()))
        found.append(f"__device__ __noinline__ void same_{i}(const char* far_weights{parameters}) {{\n{function}}}\n")
    for kernel in kernels:
        key = kernel.function, kernel.bounds
        call = f"same_{several.index(key)}({', '.join(['far_weights', *kernel.given])});" if key in several else ""
        found.append(kernel.kernel(call or kernel.inside))
    return found
