# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors with a number for every pair of rows: what is described until something over all rows takes it.

A score is a description as steps, in order; operands of functions are numbers of earlier steps:

    ("query", i), ("key", i)        number i of the own row, or of the other one
    ("number", x)                   a constant
    ("dot", i, j, count)            the sum of the products of `count` numbers, from i and from j on
    ("distance", i, j, count)       the sum of the squares of their differences
    (name of FUNCTIONS, step, …)
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensoa.compiler.errors import NotFused
from tensoa.compiler.ir import build
from tensoa.compiler.ir.operations import FUNCTIONS
from tensoa.compiler.ir.program import Score, Value
from tensoa.compiler.ir.rows import Rows, need_rows, numbers_of, plane_array
from tensoa.dtypes import FLOAT32, DType

SUMS = ("dot", "distance")  # steps that are loops over numbers of both rows
MOST_STEPS, MOST_SUMS = 256, 8  # of a score
MOST_NEAREST = 64  # rows that are kept in order


@dataclass(frozen=True, eq=False)
class Pair:
    """A number of a pair of rows, one of side 0 and one of side 1.

    | name | args |
    | --- | --- |
    | row | side, plane of Rows |
    | one of SUMS | planes of side 0, as many of side 1 |
    | softmax | Pair, is_safe: over the rows of side 1 |
    | of FUNCTIONS | Pairs and Python numbers |
    """

    name: str
    args: tuple


@dataclass(frozen=True, eq=False)
class PairNumbers:
    """Numbers side by side, which take the place of a Value in formulas."""

    numbers: tuple[Any, ...]  # Pair, or float

    @property
    def width(self) -> int:
        return len(self.numbers)


@dataclass(eq=False)
class Pairs:
    """A tensor: `planes` has its shape, with 1 in the places `axes` of the rows of side 0 and, behind it, of side 1."""

    planes: np.ndarray
    axes: tuple[int, int]
    domains: tuple[int, int]
    dtype: DType = FLOAT32  # of the model's tensor

    @property
    def is_integer(self) -> bool:
        return self.dtype.is_integer

    @property
    def has_doubles(self) -> bool:
        """As Rows: there are no pairs of float64."""
        return False


class Expressions:
    """Makes each Pair once. `once(key, make)` is that of a Builder."""

    def __init__(self, once: Callable[[Any, Callable[[], Any]], Any]) -> None:
        self._once = once

    def pair(self, name: str, *args: Any) -> Pair:
        key = tuple(id(arg) if isinstance(arg, Pair) else _key(arg) for arg in args)
        return self._once(("pair", name, *key), lambda: Pair(name, args))

    def of_rows(self, planes: np.ndarray, side: int) -> np.ndarray:
        """Planes of Rows as those of pairs."""
        items = [p if isinstance(p, (int, float)) else self.pair("row", side, p) for p in planes.reshape(-1)]
        return plane_array(planes.shape, items)

    def function(self, name: str, *args: Any) -> Any:
        if not any(isinstance(arg, Pair) for arg in args):
            return float(FUNCTIONS[name].numpy(*(np.float64(arg) for arg in args)))
        return self.pair(name, *args)

    def map(self, name: str, *args: PairNumbers) -> PairNumbers:
        width = max(arg.width for arg in args)
        columns = [arg.numbers * (width // arg.width) for arg in args]
        return PairNumbers(tuple(self.function(name, *numbers) for numbers in zip(*columns)))

    def reduce(self, name: str, x: PairNumbers, times: int) -> PairNumbers:
        count = x.width // times
        groups = [x.numbers[i : i + count] for i in range(0, x.width, count)]
        return PairNumbers(tuple(self._reduced(name, group) for group in groups))

    def _reduced(self, name: str, numbers: Sequence[Any]) -> Any:
        if name == "mean":
            return self.function("div", self._reduced("sum", numbers), float(len(numbers)))
        if name == "sum" and (found := _as_sum(numbers)):
            return self.pair(*found)
        join = {"sum": "add", "amax": "maximum", "amin": "minimum"}[name]
        return functools.reduce(lambda x, y: self.function(join, x, y), numbers)

    def swapped(self, pair: Any) -> Any:
        """With the sides exchanged."""
        if not isinstance(pair, Pair):
            return pair
        if pair.name == "softmax":
            raise NotFused("a softmax over all rows that something else than a product takes")
        if pair.name == "row":
            return self.pair("row", 1 - pair.args[0], pair.args[1])
        if pair.name in SUMS:
            return self.pair(pair.name, *pair.args[::-1])
        return self.pair(pair.name, *map(self.swapped, pair.args))


def _key(arg: Any) -> Any:
    return ("number", repr(arg)) if isinstance(arg, (int, float)) else arg


def _as_sum(numbers: Sequence[Any]) -> tuple | None:
    """("dot" or "distance", planes, planes) of a sum that is one."""

    def sides(pair: Any) -> tuple | None:
        """What two planes, one of each side, a function is of."""
        if not isinstance(pair, Pair) or len(pair.args) != 2:
            return None
        rows = {arg.args[0]: arg.args[1] for arg in pair.args if isinstance(arg, Pair) and arg.name == "row"}
        return (rows[0], rows[1]) if len(rows) == 2 else None

    kinds, planes = set(), []
    for pair in numbers:
        if not isinstance(pair, Pair) or pair.name != "mul":
            return None
        x, y = pair.args
        is_distance = x is y and isinstance(x, Pair) and x.name == "sub"
        found = sides(x if is_distance else pair)
        if found is None:
            return None
        kinds.add("distance" if is_distance else "dot")
        planes.append(found)
    first, second = zip(*planes)
    return (kinds.pop(), first, second) if len(kinds) == 1 else None


# ---- tensors


def places(*args: Any) -> list[tuple[int, int]]:
    """(dimension from the end, domain) of the rows of tensors together, in the order of the dimensions."""
    found = set()
    for arg in args:
        if isinstance(arg, Pairs):
            found |= {(axis - arg.planes.ndim, domain) for axis, domain in zip(arg.axes, arg.domains)}
        elif isinstance(arg, Rows):
            found.add((arg.axis - arg.planes.ndim, arg.domain))
    return sorted(found)


def are_pairs(*args: Any) -> bool:
    """Whether a function of these tensors has a number for every pair of rows."""
    found = places(*args)
    return len(found) == 2 and found[0][0] != found[1][0]


def permuted(expressions: Expressions, tensor: Pairs, dims: Sequence[int]) -> Pairs:
    dims = [dim % tensor.planes.ndim for dim in dims]
    planes, first, second = tensor.planes.transpose(dims), *(dims.index(axis) for axis in tensor.axes)
    if first < second:
        return Pairs(planes, (first, second), tensor.domains)
    return Pairs(_swapped(expressions, planes), (second, first), tensor.domains[::-1])


def _swapped(expressions: Expressions, planes: np.ndarray) -> np.ndarray:
    return plane_array(planes.shape, [expressions.swapped(pair) for pair in planes.reshape(-1)])


def elementwise(expressions: Expressions, make: Callable[..., PairNumbers], *args: Any) -> Pairs:
    """make(*PairNumbers) over broadcast arguments."""
    found = places(*args)
    if len(found) != 2 or found[0][0] == found[1][0]:
        raise NotFused("arithmetic between tensors of different rows")
    need_rows(*args)
    arrays = []
    for arg in args:
        array = arg.planes if isinstance(arg, (Rows, Pairs)) else plane_array(*numbers_of(arg))
        if any(array.ndim >= -axis and array.shape[axis] != 1 for axis, _ in found):
            raise NotFused("a constant that differs from row to row")
        if isinstance(arg, Rows):
            array = expressions.of_rows(array, found.index((arg.axis - array.ndim, arg.domain)))
        arrays.append(array)
    whole = np.broadcast_arrays(*arrays)
    shape = whole[0].shape
    numbers = make(*(PairNumbers(tuple(array.reshape(-1))) for array in whole)).numbers
    (first, first_domain), (second, second_domain) = found
    planes = plane_array(shape, list(numbers) * (whole[0].size // len(numbers)))
    return Pairs(planes, (first + len(shape), second + len(shape)), (first_domain, second_domain))


def expanded(expressions: Expressions, tensor: Rows, sizes: Sequence[tuple[int, int | None]]) -> Pairs:
    """To (elements, domain) of each dimension, two of which are rows: those of the tensor, and others that it is alike for."""
    need_rows(tensor)
    (first, first_domain), (second, second_domain) = ((i, domain) for i, (_, domain) in enumerate(sizes) if domain is not None)
    side = (first, second).index(tensor.axis + len(sizes) - tensor.planes.ndim)
    planes = np.broadcast_to(expressions.of_rows(tensor.planes, side), [elements for elements, _ in sizes])
    return Pairs(planes, (first, second), (first_domain, second_domain))


def sums(expressions: Expressions, kind: str, a: Rows, b: Rows) -> Pairs:
    """[…, n, m] of a […, n, d] and b […, m, d]: one of SUMS over d."""
    need_rows(a, b)
    rank = max(a.planes.ndim, b.planes.ndim)
    left, right = np.broadcast_arrays(a.planes, b.planes)
    items = []
    for x, y in zip(left.reshape(-1, left.shape[-1]), right.reshape(-1, left.shape[-1])):
        items.append(expressions.pair(kind, tuple(x), tuple(y)))
    return Pairs(plane_array((*left.shape[:-2], 1, 1), items), (rank - 2, rank - 1), (a.domain, b.domain))


def reduced(expressions: Expressions, tensor: Pairs, dims: Sequence[int], keep: bool, make: Callable) -> Pairs:
    """make(numbers, times) of the planes along `dims`, none of which are rows."""
    rank = tensor.planes.ndim
    dims = sorted(dim % rank for dim in dims)
    moved = np.moveaxis(tensor.planes, dims, range(rank - len(dims), rank))
    shape = moved.shape[: rank - len(dims)]
    times = int(np.prod(shape, dtype=int))
    numbers = make(PairNumbers(tuple(moved.reshape(-1))), times).numbers
    planes = plane_array(shape, list(numbers))
    if keep:
        return Pairs(np.expand_dims(planes, dims), tensor.axes, tensor.domains)
    first, second = (axis - sum(dim < axis for dim in dims) for axis in tensor.axes)
    return Pairs(planes, (first, second), tensor.domains)


def softmax(expressions: Expressions, tensor: Pairs, is_safe: bool = False) -> Pairs:
    """Over the rows of side 1, the last dimension; `is_safe`: zeros where all numbers are -inf."""
    if tensor.axes[1] != tensor.planes.ndim - 1:
        raise NotFused("a softmax over rows that are not the last dimension")
    items = [expressions.pair("softmax", pair, is_safe) for pair in tensor.planes.reshape(-1)]
    return Pairs(plane_array(tensor.planes.shape, items), tensor.axes, tensor.domains)


# ---- what takes them


class Lowered:
    """The score of a Pair, and the planes of each side that it needs; side 1 has the keys."""

    def __init__(self, pair: Any) -> None:
        self.steps: list[tuple] = []
        self.sides: tuple[list[Any], list[Any]] = ([], [])
        self._known: dict[Any, int] = {}
        self._step(pair)
        if len(self.steps) > MOST_STEPS:
            raise NotFused(f"a score of {len(self.steps)} functions between rows, at most {MOST_STEPS} are computed")
        if (count := sum(step[0] in SUMS for step in self.steps)) > MOST_SUMS:
            raise NotFused(f"a score of {count} products between rows, at most {MOST_SUMS} are computed")

    @property
    def score(self) -> Score:
        return tuple(self.steps)

    def _step(self, pair: Any) -> int:
        key = pair if isinstance(pair, Pair) else _key(pair)
        if key not in self._known:
            step = self._made(pair)
            self.steps.append(step)
            self._known[key] = len(self.steps) - 1
        return self._known[key]

    def _made(self, pair: Any) -> tuple:
        if not isinstance(pair, Pair):
            return "number", float(pair)
        if pair.name == "softmax":
            raise NotFused("a softmax over all rows that something else than a product takes")
        if pair.name == "row":
            side, plane = pair.args
            self.sides[side].append(plane)
            return ("query", "key")[side], len(self.sides[side]) - 1
        if pair.name in SUMS:
            first = [len(planes) for planes in self.sides]
            for planes, more in zip(self.sides, pair.args):
                planes.extend(more)
            return pair.name, *first, len(pair.args[0])
        return pair.name, *(self._step(arg) for arg in pair.args)


def _values(builder: Any, heads: Sequence[Lowered], domains: Sequence[int]) -> Iterator[Value]:
    """The numbers of the own row, and those of the other one, of all heads side by side."""
    for side, domain in enumerate(domains):
        planes = [plane for head in heads for plane in head.sides[side]]
        yield builder.value(plane_array((-1,), planes or [0.0] * len(heads)), domain)


def attended(builder: Any, tensor: Pairs, values: Rows) -> Rows:
    """[…, n, c] of scores […, n, m] and values […, m, c]."""
    need_rows(values)
    rank = tensor.planes.ndim
    if tensor.axes != (rank - 2, rank - 1) or values.axis != values.planes.ndim - 2 or values.domain != tensor.domains[1]:
        raise NotFused("a product over all rows of something else than their values")
    batch = np.broadcast_shapes(tensor.planes.shape[:-2], values.planes.shape[:-2])
    scores = np.broadcast_to(tensor.planes, (*batch, 1, 1)).reshape(-1)
    planes = np.broadcast_to(values.planes, (*batch, *values.planes.shape[-2:]))
    parts = planes.reshape(len(scores), -1)
    made: list[tuple[str, Lowered]] = []
    for pair in scores:
        weights = "sum"
        if isinstance(pair, Pair) and pair.name == "softmax":
            weights, pair = ("safe" if pair.args[1] else "softmax"), pair.args[0]
        made.append((weights, Lowered(pair)))
    (weights, first), width = made[0], parts.shape[1]
    alike = all((one, lowered.score) == (weights, first.score) for one, lowered in made)
    items = []
    for at in [slice(None)] if alike else [slice(i, i + 1) for i in range(len(made))]:
        weights, lowered = made[at][0]
        heads = [head for _, head in made[at]]
        q, k = _values(builder, heads, tensor.domains)
        v = builder.value(parts[at].reshape(-1), tensor.domains[1])
        value = build.attend(q, k, v, lowered.score, weights, len(heads))
        items += [(value, i) for i in range(width * len(heads))]
    return Rows(plane_array((*batch, 1, width), items), len(batch), tensor.domains[0])


def nearest(builder: Any, tensor: Pairs, dim: int, count: int, is_largest: bool, is_negated: bool = False) -> tuple[Rows, Rows]:
    """The `count` least (or largest) numbers over the rows along a dimension, in order, and the places of these rows.
    NaN is larger than all. `is_negated`: in the order of the negative numbers.
    """
    if tensor.is_integer:
        raise NotFused("the order of integers between rows")
    if count > MOST_NEAREST:
        raise NotFused(f"the order of {count} rows among all, at most {MOST_NEAREST} are kept in order")
    tensor, axis = _keys_last(builder, tensor, dim)
    found: list[list] = [[], []]
    for pair in tensor.planes.reshape(-1):
        is_root = isinstance(pair, Pair) and pair.name == "sqrt"
        ordered = pair.args[0] if is_root and _is_distance(pair.args[0]) else pair  # which has the same order
        lowered = Lowered(builder.pairs.function("neg", ordered) if is_negated else ordered)
        q, k = _values(builder, [lowered], tensor.domains)
        value = build.nearest(q, k, lowered.score, count, is_largest)
        for i in range(count):
            row = builder.once(("row", id(value), i), functools.partial(build.row, value, i))
            found[0].append((at(builder, pair, row, tensor.domains), 0))
            found[1].append((value, i))
    shape = (*tensor.planes.shape[:-1], count)
    results = [Rows(np.moveaxis(plane_array(shape, planes), -1, dim), axis, tensor.domains[0]) for planes in found]
    return results[0], results[1]


def _is_distance(pair: Any) -> bool:
    """Whether a pair is never negative, and so has a root."""
    if not isinstance(pair, Pair):
        return False
    if pair.name == "maximum":
        return any(isinstance(arg, (int, float)) and arg >= 0 for arg in pair.args)
    return pair.name == "distance"


def gathered(builder: Any, tensor: Pairs, dim: int, index: Rows) -> Rows:
    """As torch.gather: of the rows along a dimension those that an index of the other rows names."""
    need_rows(index)
    dim %= tensor.planes.ndim
    if dim not in tensor.axes or index.axis == dim or index.axis not in tensor.axes:
        raise NotFused("pairs of rows taken by an index that is not one of rows")
    planes, domains = tensor.planes, tensor.domains
    if tensor.axes[0] == dim:
        planes, domains = _swapped(builder.pairs, planes), domains[::-1]
    part = tuple(slice(1 if i == dim else size) for i, size in enumerate(index.planes.shape))
    pairs, named = np.broadcast_to(planes[part], index.planes.shape).reshape(-1), index.planes.reshape(-1)
    found = plane_array(index.planes.shape, [None] * len(named)).reshape(-1)
    for plane in dict.fromkeys(named):
        row = builder.index(Rows(plane_array((1,), [plane]), 0, index.domain, index.dtype))
        where = [i for i, other in enumerate(named) if other == plane]
        if all(isinstance(pairs[i], Pair) and pairs[i].name == "row" and pairs[i].args[0] == 1 for i in where):
            numbers = Rows(plane_array((1, -1), [pairs[i].args[1] for i in where]), 0, domains[1])
            found[where] = builder.gathered(numbers, row).planes[0]
        else:
            found[where] = plane_array((-1,), [(at(builder, pairs[i], row, domains), 0) for i in where])
    return Rows(found.reshape(index.planes.shape), index.axis, index.domain)


def _keys_last(builder: Any, tensor: Pairs, dim: int) -> tuple[Pairs, int]:
    """With the rows along `dim` as side 1 and as the last dimension; the other dimension of rows as it was."""
    rank = tensor.planes.ndim
    dim %= rank
    (axis,) = (axis for axis in tensor.axes if axis != dim)
    order = [i for i in range(rank) if i != dim]
    return permuted(builder.pairs, tensor, [*order, dim]), axis


def at(builder: Any, pair: Any, row: Value, domains: Sequence[int]) -> Value:
    """The number of a pair of the own row and of the row of side 1 that an index names."""

    def value(planes: Sequence[Any], side: int) -> Value:
        rows = Rows(plane_array((1, -1), list(planes)), 0, domains[side])
        return builder.value((builder.gathered(rows, row) if side else rows).planes, domains[0])

    if not isinstance(pair, Pair):
        return builder.number(pair, domains[0])
    if pair.name == "softmax":
        raise NotFused("a softmax over all rows that something else than a product takes")
    if pair.name == "row":
        return value([pair.args[1]], pair.args[0])
    if pair.name in SUMS:
        x, y = (value(planes, side) for side, planes in enumerate(pair.args))
        if pair.name == "dot":
            return builder.reduce("sum", builder.map("mul", x, y), 1)
        difference = builder.map("sub", x, y)
        return builder.reduce("sum", builder.map("mul", difference, difference), 1)
    return builder.map(pair.name, *(at(builder, arg, row, domains) for arg in pair.args))
