# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Row programs: what a model does to rows of numbers.

A value has the rows of a domain (hits, edges: a collection of the binding) and `width` numbers in each row. All operations
but two stay in their row: `gather` reads rows of another domain, `scatter` sums rows into another domain. So everything
between gathers and scatters is one loop over rows, which is one kernel (stages.py).
"""

import math
from dataclasses import dataclass, field

import numpy as np

from tensoa.fusion import integers

#: Operations of one number, and of two. `x` of `leaky_relu`, `elu`, `clamp` … come with constants as further arguments.
UNARY = (
    "neg abs sqrt rsqrt reciprocal exp exp2 expm1 log log2 log10 log1p "
    "sin cos tan tanh sinh cosh asinh acosh atanh atan asin acos "
    "sigmoid relu erf erfc floor ceil round trunc sign"
).split()
COMPARISONS = "lt le gt ge eq ne".split()
BINARY = ["add", "sub", "mul", "div", "minimum", "maximum", "pow", "atan2", "fmod", "hypot", *COMPARISONS]


@dataclass(eq=False)
class Value:
    """[rows of `domain`, `width`], float32 (or int64 for `index`). Made by `op` from `args`.

    | op | args | attributes | in every row |
    | --- | --- | --- | --- |
    | input | | block, planes, dtype, is_scalar, steps | the numbers of these planes of input block `block` after the
      steps (integers.py), as float32; of scalar columns the first number of each plane, in every row |
    | index | | block, plane, dtype, steps | one number of an integer plane after the steps, to gather and scatter with |
    | constant | | array [width] | the same numbers in every row |
    | linear | x | times, weight [out, in], bias [out] or None | weight @ x + bias, of every group of x |
    | product | x, y | times, inner | of every group of x, a matrix [a, inner], and of y, [inner, c]: x @ y, [a, c] |
    | map | one or more | name | a function of UNARY or BINARY, or `where` (condition, a, b); arguments have the same
      width, or width 1, which stands for all |
    | norm | x | times, weight, bias ([width of a group] or None), eps, is_centered | layer normalisation of every group;
      the mean of each is zero where `is_centered` |
    | reduce | x | times, name: sum, mean, amax, amin | one number of every group |
    | pack | any | ranges: (start, stop) of each argument | the numbers side by side |
    | lookup | index | table [rows, width] | row `index` of a constant table |
    | gather | x, index | | row `index` of x; the result has the domain of `index` |
    | scatter | x, index | | the sum of all rows of x whose index is this row; the result has the domain `domain` |

    A group is one of `times` equal parts of a row, side by side (1 where it is not said): the elements of a set in a row.
    """

    op: str
    domain: int  # position in Program.domains
    width: int
    args: tuple = ()
    attributes: dict = field(default_factory=dict)

    @property
    def times(self):
        return self.attributes.get("times", 1)

    @property
    def steps(self):
        """Of an input or an index; none where it does not say."""
        return self.attributes.get("steps", ())

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
    each row, as `dtype`. What is no number becomes the integer 0.
    """

    block: int
    planes: tuple
    value: Value
    dtype: str = "float32"


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


def linear(x, weight, bias=None, times=1):
    weight = np.ascontiguousarray(weight, dtype=np.float32)
    bias = None if bias is None else np.ascontiguousarray(bias, dtype=np.float32)
    attributes = {"weight": weight, "bias": bias, "times": times}
    return Value("linear", x.domain, times * weight.shape[0], (x,), attributes)


def product(x, y, inner, times=1):
    width = x.width // (times * inner) * (y.width // inner)
    return Value("product", x.domain, width, (x, y), {"inner": inner, "times": times})


def norm(x, weight, bias, eps, times=1, is_centered=False):
    attributes = {"weight": weight, "bias": bias, "eps": eps, "is_centered": is_centered, "times": times}
    return Value("norm", x.domain, x.width, (x,), attributes)


def reduce(name, x, times=1):
    return Value("reduce", x.domain, times, (x,), {"name": name, "times": times})


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



class Bounds:
    """The largest absolute value that a number of a value can have, from the graph alone; inf where it is not known."""

    def __init__(self):
        self._known = {}

    def __call__(self, value):
        if id(value) not in self._known:
            self._known[id(value)] = (value, float(self._make(value)))  # the value is kept, so that its id stays its own
        return self._known[id(value)][1]

    def _make(self, value):
        if value.op == "input":
            return self._of_column(value)
        if value.op == "constant":
            return np.abs(value.array).max(initial=0.0)
        if value.op == "lookup":
            return np.abs(value.table).max(initial=0.0)
        if value.op == "norm":
            gain = 1.0 if value.weight is None else np.abs(value.weight).max()
            return gain * math.sqrt(value.width // value.times) + (0.0 if value.bias is None else np.abs(value.bias).max())
        if value.op in ("pack", "gather"):
            return max(self(argument) for argument in value.args if argument.op != "index")
        if value.op == "linear":
            bound = self(value.args[0])
            if math.isinf(bound):
                return bound
            return np.abs(value.weight).sum(axis=1).max() * bound + (
                0.0 if value.bias is None else np.abs(value.bias).max()
            )
        if value.op == "product":
            bounds = [self(argument) for argument in value.args]
            return value.inner * math.prod(bounds) if all(map(math.isfinite, bounds)) else math.inf
        if value.op == "reduce":
            return self(value.args[0]) * (value.args[0].width // value.times if value.name == "sum" else 1)
        if value.op == "map":
            return self._of_map(value.name, [self(argument) for argument in value.args])
        return math.inf

    @staticmethod
    def _of_column(value):
        dtype = str(value.dtype).removeprefix("torch.")
        if "float" in dtype:
            return math.inf
        largest = max(map(abs, integers.interval(dtype, value.steps)))
        return largest if largest < 1 << 24 else math.inf

    @staticmethod
    def _of_map(name, bounds):
        if name in ("sin", "cos", "tanh", "sigmoid", "erf", "sign", *COMPARISONS):
            return 1.0
        if name in "neg abs relu floor ceil round trunc".split():
            return math.ceil(bounds[0]) if math.isfinite(bounds[0]) else math.inf
        if name in ("add", "sub"):
            return sum(bounds)
        if name == "mul":
            return math.prod(bounds) if all(map(math.isfinite, bounds)) else math.inf
        if name in ("minimum", "maximum"):
            return max(bounds)
        return max(bounds[1:]) if name == "where" else math.inf
