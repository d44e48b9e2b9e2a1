# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""One function for each operation of a row program, which makes its value. All numbers but those of `double` become float32."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tensoa.compiler.ir.integers import Step
from tensoa.compiler.ir.program import Score, Value


def columns(
    domain: int,
    block: int,
    planes: Sequence[int],
    dtype: str = "float32",
    is_scalar: bool = False,
    steps: tuple[Step, ...] = (),
) -> Value:
    """The numbers of planes of input block `block`, whose columns have this dtype."""
    attributes = {"block": block, "planes": tuple(planes), "dtype": dtype, "is_scalar": is_scalar, "steps": steps}
    return Value("input", domain, len(planes), (), attributes)


def index(domain: int, block: int, plane: int, dtype: str = "int64", steps: tuple[Step, ...] = ()) -> Value:
    """The integers of a plane of input block `block`, which name rows."""
    return Value("index", domain, 1, (), {"block": block, "plane": plane, "dtype": dtype, "steps": steps})


def constant(domain: int, array: ArrayLike) -> Value:
    numbers = np.ascontiguousarray(array, dtype=np.float32).reshape(-1)
    return Value("constant", domain, len(numbers), (), {"array": numbers})


def linear(x: Value, weight: ArrayLike, bias: ArrayLike | None = None, times: int = 1) -> Value:
    """weight [out, in] @ x + bias [out], of each of `times` groups."""
    weight = np.ascontiguousarray(weight, dtype=np.float32)
    bias = None if bias is None else np.ascontiguousarray(bias, dtype=np.float32)
    attributes = {"weight": weight, "bias": bias, "times": times}
    return Value("linear", x.domain, times * weight.shape[0], (x,), attributes)


def product(x: Value, y: Value, inner: int, times: int = 1) -> Value:
    """Of each group a matrix [a, inner] of x by one [inner, c] of y."""
    width = x.width // (times * inner) * (y.width // inner)
    return Value("product", x.domain, width, (x, y), {"inner": inner, "times": times})


def norm(
    x: Value,
    weight: np.ndarray | None,
    bias: np.ndarray | None,
    eps: float,
    times: int = 1,
    is_centered: bool = False,
) -> Value:
    """Layer normalisation of each group."""
    attributes = {"weight": weight, "bias": bias, "eps": eps, "is_centered": is_centered, "times": times}
    return Value("norm", x.domain, x.width, (x,), attributes)


def reduce(name: str, x: Value, times: int = 1) -> Value:
    """The function `name` of REDUCTIONS of each group."""
    return Value("reduce", x.domain, times, (x,), {"name": name, "times": times})


def order(x: Value, count: int, is_largest: bool = False, times: int = 1) -> Value:
    """The places of the `count` least (or largest) numbers of each group, in order."""
    attributes = {"count": count, "is_largest": is_largest, "times": times}
    return Value("order", x.domain, times * count, (x,), attributes)


def take(x: Value, places: Value, inner: int = 1, times: int = 1) -> Value:
    """The elements, of `inner` numbers each, that each group of `places` names in the same group of x."""
    return Value("take", x.domain, places.width * inner, (x, places), {"inner": inner, "times": times})


def apply(name: str, *args: Value) -> Value:
    """The function `name` of FUNCTIONS; the result is as wide as its widest argument."""
    return Value("map", args[0].domain, max(argument.width for argument in args), args, {"name": name})


def copy(value: Value) -> Value:
    """The same numbers, in memory of their own where they are stored: adding -0 changes no number."""
    return apply("add", value, constant(value.domain, [-0.0]))


def double(domain: int, name: str, operands: Sequence[tuple[Value, str] | np.ndarray], is_short: bool = False) -> Value:
    """The function `name` of FUNCTIONS in float64, of (value, "words" or "floats") and of constants."""
    kinds: list[str | bytes] = []
    args: list[Value] = []
    numbers: list[int] = []
    for operand in operands:
        if isinstance(operand, np.ndarray):
            kinds.append(np.ascontiguousarray(operand, np.float64).tobytes())
            numbers.append(operand.size)
            continue
        value, kind = operand
        kinds.append(kind)
        args.append(value)
        numbers.append(value.width // 2 if kind == "words" else value.width)
    width = max(numbers) * (1 if is_short else 2)
    return Value("double", domain, width, tuple(args), {"name": name, "kinds": tuple(kinds), "is_short": is_short})


def pack(parts: Sequence[tuple[Value, int, int]]) -> Value:
    """`parts`: (value, start, stop) in order. A value that is taken whole and alone is itself."""
    merged: list[tuple[Value, int, int]] = []
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


def lookup(index: Value, table: np.ndarray) -> Value:
    """Row `index` of a constant table [rows, width]."""
    return Value("lookup", index.domain, table.shape[1], (index,), {"table": table})


def row(x: Value, number: int) -> Value:
    """One number of x as an index."""
    return Value("row", x.domain, 1, (x,), {"number": number})


def gather(x: Value, index: Value) -> Value:
    """Row `index` of x, for each row of the index."""
    return Value("gather", index.domain, x.width, (x, index))


def scatter(x: Value, index: Value, domain: int, name: str = "sum") -> Value:
    """For each row of `domain` the function `name` of REDUCTIONS of the rows of x whose index is this row."""
    return Value("scatter", domain, x.width, (x, index), {"name": name})


def attend(q: Value, k: Value, v: Value, score: Score, weights: str = "softmax", times: int = 1) -> Value:
    """Of each group the sum of v in all rows, weighted by the scores of q in this row and k in those."""
    return Value("attend", q.domain, v.width, (q, k, v), {"score": score, "weights": weights, "times": times})


def nearest(q: Value, k: Value, score: Score, count: int, is_largest: bool = False) -> Value:
    """The `count` rows of k with the least (or largest) scores with q in this row, in order."""
    return Value("nearest", q.domain, count, (q, k), {"score": score, "count": count, "is_largest": is_largest})
