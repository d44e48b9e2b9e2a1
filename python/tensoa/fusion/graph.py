# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Row programs: what a model does to rows of numbers.

A value has the rows of a domain (hits, edges: a collection of the binding) and `width` numbers in each row. All operations
but two stay in their row: `gather` reads rows of another domain, `scatter` sums rows into another domain. So everything
between gathers and scatters is one loop over rows, which is one kernel (stages.py).
"""

from dataclasses import dataclass, field

import numpy as np

#: Operations of one number, and of two. `x` of `leaky_relu`, `elu`, `clamp` … come with constants as further arguments.
UNARY = (
    "neg abs sqrt rsqrt reciprocal exp expm1 log log1p sin cos tan tanh sinh cosh asinh acosh atanh atan asin acos "
    "sigmoid relu erf floor ceil round sign"
).split()
BINARY = "add sub mul div minimum maximum pow atan2 lt le gt ge eq ne".split()


@dataclass(eq=False)
class Value:
    """[rows of `domain`, `width`], float32 (or int64 for `index`). Made by `op` from `args`.

    | op | args | attributes | in every row |
    | --- | --- | --- | --- |
    | input | | block, planes, dtype, is_scalar | the numbers of these planes of input block `block`, as float32; of
      scalar columns the first number of each plane, in every row |
    | index | | block, plane, dtype | one number of an integer plane, to gather and scatter with |
    | constant | | array [width] | the same numbers in every row |
    | linear | x | weight [width, in], bias [width] or None | weight @ x + bias |
    | map | one or more | name | a function of UNARY or BINARY, or `where` (condition, a, b); arguments have the same
      width, or width 1, which stands for all |
    | norm | x | weight, bias ([width] or None), eps, is_centered | layer normalisation over the width; the mean of x is
      zero where `is_centered` |
    | reduce | x | name: sum, mean, amax, amin | one number |
    | pack | any | ranges: (start, stop) of each argument | the numbers side by side |
    | gather | x, index | | row `index` of x; the result has the domain of `index` |
    | scatter | x, index | | the sum of all rows of x whose index is this row; the result has the domain `domain` |
    """

    op: str
    domain: int  # position in Program.domains
    width: int
    args: tuple = ()
    attributes: dict = field(default_factory=dict)

    def __getattr__(self, name):
        try:
            return self.__dict__["attributes"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self):
        return f"{self.op}[{self.domain}:{self.width}]"


@dataclass
class Output:
    """`value` is written to block `block` (inputs are counted too, they come first): plane `planes[i]` takes number i of
    each row.
    """

    block: int
    planes: tuple
    value: Value


@dataclass
class Program:
    """`domains[i]`: the input collection of the binding that has the rows of domain i."""

    domains: tuple
    outputs: list

    def values(self):
        """All values that the outputs need, arguments before those that use them."""
        seen, ordered = set(), []
        stack = [(output.value, False) for output in reversed(self.outputs)]
        while stack:
            value, is_done = stack.pop()
            if is_done:
                ordered.append(value)
            elif id(value) not in seen:
                seen.add(id(value))
                stack.append((value, True))
                stack.extend((argument, False) for argument in reversed(value.args) if id(argument) not in seen)
        return ordered


def constant(domain, array):
    array = np.ascontiguousarray(array, dtype=np.float32).reshape(-1)
    return Value("constant", domain, len(array), (), {"array": array})


def linear(x, weight, bias=None):
    weight = np.ascontiguousarray(weight, dtype=np.float32)
    bias = None if bias is None else np.ascontiguousarray(bias, dtype=np.float32)
    return Value("linear", x.domain, weight.shape[0], (x,), {"weight": weight, "bias": bias})


def apply(name, *args):
    """The map `name`; the result is as wide as its widest argument."""
    return Value("map", args[0].domain, max(argument.width for argument in args), args, {"name": name})


def pack(parts):
    """`parts`: (value, start, stop) in order. A value that is taken whole and alone is itself."""
    merged = []
    for value, start, stop in parts:
        if merged and merged[-1][0] is value and merged[-1][2] == start:
            merged[-1] = (value, merged[-1][1], stop)
        else:
            merged.append((value, start, stop))
    if len(merged) == 1 and merged[0][1:] == (0, merged[0][0].width):
        return merged[0][0]
    ranges = tuple((start, stop) for _, start, stop in merged)
    width = sum(stop - start for start, stop in ranges)
    args = tuple(value for value, _, _ in merged)
    return Value("pack", args[0].domain, width, args, {"ranges": ranges})


def gather(x, index):
    return Value("gather", index.domain, x.width, (x, index))


def scatter(x, index, domain):
    return Value("scatter", domain, x.width, (x, index))
