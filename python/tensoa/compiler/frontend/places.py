# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Operators of torch that read or write elements by an index, and those that order them."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensoa.compiler import build
from tensoa.compiler import operations as ops
from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontend.elementwise import floor_of_integers
from tensoa.compiler.frontend.lowering import Context, lowers
from tensoa.compiler.frontend.movement import cut, joined, one_axis, tidy
from tensoa.compiler.frontend.values import (
    Masked,
    Value,
    agreed,
    apply,
    broadcast,
    cast,
    fixed,
    known_numbers,
    number,
    permuted,
    replaced,
    reshaped,
    to_shape,
    unsqueezed,
    value_of,
    without,
)
from tensoa.compiler.functions import BOOLS, INTEGERS, kind_of, start_of
from tensoa.compiler.operations import Affine, affine, axis
from tensoa.compiler.tensors import Shape, Size, Tensor
from tensoa.dtypes import DTYPES, INT64

INT32 = DTYPES["int32"]


def from_the_end(places: Value, size: Size) -> Value:
    """The elements of torch's x[places]: negative ones count from the end of an axis of fixed size; of rows they name none."""
    if isinstance(size, str) or _are_places(places.tensor):
        return places
    is_negative = apply("lt", places, number(0, places.dtype))
    return apply("where", is_negative, apply("add", places, number(size, places.dtype)), places)


def _are_places(tensor: Tensor) -> bool:
    """Whether they come from an order of elements, and none is negative."""
    if isinstance(tensor.op, ops.Sort):
        return isinstance(tensor.args[0].shape[tensor.op.axis], int)
    is_moved = isinstance(tensor.op, (ops.View, ops.Concat, ops.Cast))
    return is_moved and kind_of(tensor.dtype) == INTEGERS and all(map(_are_places, tensor.args))


def indexed(x: Value, dim: int, places: Value) -> Value:
    """The axes of the places take the place of an axis. A place outside of it reads NaN (0 of integers)."""
    dim = x.dim(dim)
    x, place = one_axis(x, dim)
    at, count = places.tensor, len(places.tensor.shape)
    shape = (*x.tensor.shape[:place], *at.shape, *x.tensor.shape[place + 1 :])
    wide = build.view(at, shape, [axis(place + i) for i in range(count)])
    index: list[Affine | None] = [axis(i if i < place else i + count - 1) for i in range(len(x.tensor.shape))]
    index[place] = None
    groups = (*x.groups[:dim], *places.groups, *x.groups[dim + 1 :])
    return tidy(Value(build.gather(x.tensor, wide, index), groups))


@lowers("index_select")
def index_select(context: Context, x: Value, dim: int, places: Value) -> Value:
    return indexed(x, dim, places if places.rank else Value(places.tensor, (0,)))


@lowers("embedding")
def embedding(context: Context, table: Value, places: Value, *more: Any) -> Value:
    return indexed(table, 0, places)


@lowers("index")
def index(context: Context, x: Value, places: Sequence[Value | None]) -> Value | Masked:
    if len(places) == 1 and places[0] is not None and places[0].tensor.rows and kind_of(places[0].dtype) == BOOLS:
        return Masked(x, places[0])
    listed = _listed(places)
    x, named = _of_one_axis(x, listed)
    if len(named) > len(listed) == 1 and _affine_of(named[0][1].tensor) is None:
        return _of_any_row(x, *named)
    if len(named) == 1 and _affine_of(named[0][1].tensor) is None:
        dim, at = named[0]
        x, place = one_axis(x, dim)
        return indexed(x, dim, from_the_end(at, x.tensor.shape[place]))
    return _several(x, [i for i, _ in named], [one for _, one in named])


def _listed(places: Sequence[Value | None]) -> list[tuple[int, Value]]:
    """The axes that are named, and by what; masks that are known as the places where they are true."""
    named: list[tuple[int, Value]] = []
    dim = 0
    for one in places:
        mask = None if one is None or kind_of(one.dtype) != BOOLS else known_numbers(one)
        found = [one] if mask is None else [value_of(build.constant(found, INT64)) for found in np.nonzero(mask)]
        if any(one is not None and kind_of(one.dtype) == BOOLS for one in found):
            raise NotFused("rows that are chosen by a mask, whose number depends on the data")
        named += [(dim + i, part) for i, part in enumerate(found) if part is not None]
        dim += len(found)
    return named


def _of_one_axis(x: Value, named: Sequence[tuple[int, Value]]) -> tuple[Value, list[tuple[int, Value]]]:
    """Places of an axis that is rows and their elements are those of an axis of rows, and one of elements."""
    found = list[tuple[int, Value]]()
    shift = 0
    for dim, one in named:
        factors = x.factors(dim + shift)
        if len(factors) > 1 and isinstance(factors[0], str):
            count = math.prod(fixed(factors[1:]))
            dim += shift
            x = Value(x.tensor, (*x.groups[:dim], 1, x.groups[dim] - 1, *x.groups[dim + 1 :]))
            row, element = _apart(one, factors[0], count)
            found += [(dim, row), (dim + 1, element)]
            shift += 1
        else:
            found.append((dim + shift, one))
    return x, found


def _of_any_row(x: Value, rows: tuple[int, Value], elements: tuple[int, Value]) -> Value:
    """Elements of any rows: the rows, and of each the element."""
    dim, row = rows
    found = indexed(x, dim, row)
    place = dim + row.rank
    at = from_the_end(elements[1], found.size(place))
    for _ in range(dim):
        at = unsqueezed(at, 0)
    for _ in range(place, found.rank):
        at = unsqueezed(at, at.rank)
    at = to_shape(at, [[] if d == place else found.factors(d) for d in range(found.rank)])
    return without(taken_along(found, place, at), place)


def _apart(places: Value, rows: str, count: int) -> tuple[Value, Value]:
    """Places among the elements of all rows, of which each has `count`, as rows and places in them."""
    known, rest = _affine_and_rest(places.tensor)
    shape = places.tensor.shape
    of_rows = [number for number, factor in known.terms if shape[number] == rows and factor == count]
    other = affine(known.offset, *(term for term in known.terms if term[0] not in of_rows))
    least, most = _limits_of(other, rest, shape)
    if len(of_rows) == 1 and least >= 0 and most < count:
        row = build.view(build.iota(rows, INT64), shape, [axis(of_rows[0])])
        return Value(row, places.groups), Value(_sum_of(other, rest, shape), places.groups)
    places = cast(places, INT64)
    all_ = number(count, INT64)
    row_ = floor_of_integers(places, all_)
    return row_, apply("sub", places, apply("mul", row_, all_))


def _affine_and_rest(places: Tensor) -> tuple[Affine, Tensor | None]:
    """Places as the sum of what is affine in their coordinates, and the rest."""
    found = _affine_of(places)
    if found is not None:
        return found, None
    op = places.op
    if isinstance(op, ops.Map) and op.fn == "add":
        (one, x), (other, y) = map(_affine_and_rest, places.args)
        rest = build.apply("add", x, y) if x is not None and y is not None else y if x is None else x
        return _added(one, other), rest
    if isinstance(op, ops.View):
        inner, x = _affine_and_rest(places.args[0])
        return build.composed(op.index, inner), None if x is None else build.view(x, op.shape, op.index)
    return affine(0), places


def _added(one: Affine, other: Affine, sign: int = 1) -> Affine:
    factors = dict(one.terms)
    for number_, factor in other.terms:
        factors[number_] = factors.get(number_, 0) + sign * factor
    return affine(one.offset + sign * other.offset, *factors.items())


def _sum_of(known: Affine, rest: Tensor | None, shape: Shape) -> Tensor:
    """The opposite of _affine_and_rest, without rows in what is affine."""
    total = rest if rest is not None else build.filled(0, INT64, shape)
    total = build.cast(total, INT64)
    for number_, factor in known.terms:
        along = build.view(build.iota(shape[number_], INT64), shape, [axis(number_)])
        total = build.apply("add", total, build.apply("mul", along, build.filled(factor, INT64, shape)))
    return build.apply("add", total, build.filled(known.offset, INT64, shape)) if known.offset else total


def _limits_of(known: Affine, rest: Tensor | None, shape: Shape) -> tuple[float, float]:
    """The least and the largest that a sum may be."""
    least, most = (0.0, 0.0) if rest is None else limits_of(rest)
    for number_, factor in known.terms:
        size = shape[number_]
        if isinstance(size, str):
            return -math.inf, math.inf
        least, most = least + min(0, factor * (size - 1)), most + max(0, factor * (size - 1))
    return least + known.offset, most + known.offset


def limits_of(tensor: Tensor) -> tuple[float, float]:
    """Between which numbers all of a tensor of integers are, from what makes it."""
    op, limits = tensor.op, tensor.dtype.limits
    assert limits is not None
    if isinstance(op, ops.Sort) and isinstance(tensor.args[0].shape[op.axis], int):
        return 0, int(tensor.args[0].shape[op.axis]) - 1
    if isinstance(op, ops.Constant):
        return op.data.min(), op.data.max()
    if isinstance(op, (ops.View, ops.Concat)) or (isinstance(op, ops.Map) and op.fn in ("minimum", "maximum", "where")):
        of_args = [limits_of(arg) for arg in tensor.args if arg.dtype == tensor.dtype]
        ends = [[least for least, _ in of_args], [most for _, most in of_args]]
        join = {"minimum": (min, min), "maximum": (max, max)}.get(op.fn if isinstance(op, ops.Map) else "", (min, max))
        return join[0](ends[0]), join[1](ends[1])
    if isinstance(op, ops.Cast) and kind_of(tensor.args[0].dtype) == INTEGERS:
        found = limits_of(tensor.args[0])
        return found if limits[0] <= found[0] and found[1] <= limits[1] else limits
    return limits


def _several(x: Value, dims: Sequence[int], places: Sequence[Value]) -> Value:
    """x[..., places, places, ...]: their axes are where the first one is, or come first where other axes are in between."""
    wide = broadcast(*(cast(one, INT64) for one in places))
    others = [dim for dim in range(x.rank) if dim not in dims]
    known = [_inside(one.tensor, x, dim) for one, dim in zip(wide, dims)]
    asked = [i for i, one in enumerate(known) if one is None]
    x = permuted(x, [dims[i] for i in asked] + [dims[i] for i, one in enumerate(known) if one is not None] + others)
    at = _as_one(x, [wide[i] for i in asked]) if asked else None
    if at is not None:
        x, _ = one_axis(Value(x.tensor, (sum(x.groups[: len(asked)]), *x.groups[len(asked) :])), 0)
    shape, count = wide[0].tensor.shape, len(wide[0].tensor.shape)
    first = len(x.tensor.shape) - sum(x.groups[x.rank - len(others) :])
    index: list[Affine | None] = [None] * bool(asked) + [one for one in known if one is not None]
    index += [axis(count + i) for i in range(len(x.tensor.shape) - first)]
    full = (*shape, *x.tensor.shape[first:])
    if at is None:
        made = build.view(x.tensor, full, [one for one in index if one is not None])
    else:
        made = build.gather(x.tensor, build.view(at.tensor, full, [axis(i) for i in range(count)]), index)
    found = Value(made, (*wide[0].groups, *x.groups[x.rank - len(others) :]))
    ranks, start = list(range(wide[0].rank)), min(dims) if list(dims) == list(range(min(dims), max(dims) + 1)) else 0
    rest = list(range(wide[0].rank, found.rank))
    return tidy(permuted(found, [*rest[:start], *ranks, *rest[start:]]))


def _affine_of(places: Tensor) -> Affine | None:
    """Places that are affine in their own coordinates, as those of arange() are."""
    op = places.op
    if isinstance(op, ops.View):
        inner = _affine_of(places.args[0])
        return None if inner is None else build.composed(op.index, inner)
    if isinstance(op, ops.Iota):
        return axis(0)
    if isinstance(op, ops.Constant) and op.data.size == 1:
        return affine(int(op.data.reshape(-1)[0]))
    if isinstance(op, ops.Cast) and kind_of(places.args[0].dtype) == INTEGERS:
        return _affine_of(places.args[0])
    if isinstance(op, ops.Map) and op.fn in ("add", "sub", "mul"):
        one, other = map(_affine_of, places.args)
        if one is None or other is None:
            return None
        if op.fn != "mul":
            return _added(one, other, 1 if op.fn == "add" else -1)
        one, other = (one, other) if one.terms else (other, one)
        return None if other.terms else affine(one.offset * other.offset, *((i, n * other.offset) for i, n in one.terms))
    return None


def _inside(places: Tensor, x: Value, dim: int) -> Affine | None:
    """Places of an axis that a view has: known, and inside of the axis; those of rows are the row itself."""
    found, factors = _affine_of(places), x.factors(dim)
    if found is None or len(factors) != 1:
        return None
    (size,) = factors
    if isinstance(size, str):
        is_same = found.offset == 0 and [factor for _, factor in found.terms] == [1]
        return found if is_same and places.shape[found.terms[0][0]] == size else None
    sizes = [(factor, places.shape[number]) for number, factor in found.terms]
    if any(isinstance(n, str) for _, n in sizes):
        return None
    ends = [factor * (n - 1) for factor, n in sizes if isinstance(n, int)]
    least, most = found.offset + sum(min(0, end) for end in ends), found.offset + sum(max(0, end) for end in ends)
    if -size <= least and most < 0:
        return Affine(found.offset + size, found.terms)
    return found if least >= 0 and most < size else None


def _as_one(x: Value, places: Sequence[Value]) -> Value:
    """Places of the first axes of x as those of the axis that they are together; what is outside of one is outside of it."""
    if len(places) == 1:
        return from_the_end(places[0], x.tensor.shape[0] if x.groups[0] == 1 else x.size(0))
    total, is_inside = None, None
    for dim, one in enumerate(places):
        size = x.size(dim)
        one = from_the_end(one, size)
        inside = apply("and", apply("ge", one, number(0, INT64)), apply("lt", one, number(size, INT64)))
        is_inside = inside if is_inside is None else apply("and", is_inside, inside)
        total = one if total is None else apply("add", apply("mul", total, number(size, INT64)), one)
    assert total is not None and is_inside is not None
    return apply("where", is_inside, total, number(1 << 40, INT64))


def aligned(values: Sequence[Value], dim: int) -> list[Value]:
    """The values with the same factors of all axes but one; those where the size of an axis is 1 stay so."""
    first, found = values[0], [*values]
    for other in range(first.rank):
        if other != first.dim(dim):
            found, _ = agreed(found, other)
    return found


@lowers("gather")
def gather(context: Context, x: Value, dim: int, places: Value, **named: Any) -> Value:
    return taken_along(x, dim, places)


def taken_along(x: Value, dim: int, places: Value) -> Value:
    """Elements along an axis by places of the same other axes, of which x may have more."""
    for other in range(x.rank):
        wanted, own = places.factors(other), x.factors(other)
        if other != x.dim(dim) and own != wanted and all(isinstance(n, int) for n in (*own, *wanted)):
            x = cut(x, other, 0, places.size(other))
    x, places, index = in_axis(x, dim, places)
    return tidy(Value(build.gather(x.tensor, places.tensor, index), places.groups))


def in_axis(x: Value, dim: int, numbers: Value) -> tuple[Value, Value, list[Affine | None]]:
    """x and numbers of the same other axes, of which x may have some that are not repeated, and the index of a lookup along the
    axis `dim` of x, which is one.
    """
    x, numbers = aligned([one_axis(x, dim)[0], numbers], dim)
    index: list[Affine | None] = []
    for d in range(x.rank):
        if d == x.dim(dim):
            index.append(None)
        elif x.groups[d]:
            index += [axis(i) for i in numbers.axes(d)] or [affine(0)] * x.groups[d]
    return x, numbers, index


_JOINS = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}
_JOINS_OF_BOOLS = {"max": "or", "min": "and"}


def scattered(fn: str, into: Value, dim: int, places: Value, source: Value) -> Value:
    """`into` joined with elements of `source` by places of its shape."""
    return _in_part(into, dim, places, source, lambda *parts: _joined(fn, *parts))


def overwritten(into: Value, dim: int, places: Value, source: Value) -> Value:
    """`into` with elements of `source` at places of its shape."""
    return _in_part(into, dim, places, source, _overwritten)


Write = Callable[[Value, int, Value, Value], Value]


def _in_part(into: Value, dim: int, places: Value, source: Value, write: Write) -> Value:
    """torch writes where there are places: the source may have more elements of any axis, what is written to more of others."""
    dim = into.dim(dim)
    for other in range(into.rank):
        wanted, own = places.factors(other), into.factors(other)
        if source.factors(other) != wanted and all(isinstance(n, int) for n in (*source.factors(other), *wanted)):
            source = cut(source, other, 0, places.size(other))
        if other != dim and own != wanted and all(isinstance(n, int) for n in (*own, *wanted)):
            size, count = places.size(other), into.size(other)
            if size < count:
                first = _in_part(cut(into, other, 0, size), dim, places, source, write)
                return joined([first, cut(into, other, size, count - size)], other)
    return write(into, dim, places, source)


def _joined(fn: str, into: Value, dim: int, places: Value, source: Value) -> Value:
    into, source, at, place = _scatter_arguments(into, dim, places, source)
    made = build.scatter(fn, source.tensor, at, place, into.tensor.shape[place])
    joins = _JOINS_OF_BOOLS if kind_of(into.dtype) == BOOLS else _JOINS
    joined = build.apply(joins[fn], into.tensor, made)
    return tidy(Value(joined, into.groups))


def _overwritten(into: Value, dim: int, places: Value, source: Value) -> Value:
    """Of equal places the last: the largest number of an element is joined, and that element is taken."""
    into, source, at, place = _scatter_arguments(into, dim, places, source)
    numbers = build.view(build.iota(source.tensor.shape[place], INT32), at.shape, [axis(place)])
    last = build.scatter("max", numbers, at, place, into.tensor.shape[place])
    found = build.gather(source.tensor, last, [None if i == place else axis(i) for i in range(len(at.shape))])
    is_there = build.apply("ge", last, build.filled(0, INT32, last.shape))
    return tidy(Value(build.apply("where", is_there, found, into.tensor), into.groups))


def _scatter_arguments(into: Value, dim: int, places: Value, source: Value) -> tuple[Value, Value, Tensor, int]:
    """With one axis each for `dim`, which is the last one of these, and the same axes otherwise."""
    dim = into.dim(dim)
    into, source, places = aligned([one_axis(one, dim)[0] for one in (into, source, places)], dim)
    if any(one.groups != into.groups for one in (source, places)):
        raise NotFused("a scatter of some elements of an axis")
    place = into.axes(dim)[0]
    return into, source, places.tensor, place


@lowers("scatter")
def scatter(context: Context, into: Value, dim: int, places: Value, source: Any, *, reduce: str | None = None) -> Value:
    if not isinstance(source, Value):
        source = to_shape(number(source, into.dtype), [places.factors(d) for d in range(places.rank)])
    if reduce is not None:
        return scattered(_REDUCTIONS[reduce], into, dim, places, source)
    return overwritten(into, dim, places, source)


@lowers("scatter_add")
def scatter_add(context: Context, into: Value, dim: int, places: Value, source: Value) -> Value:
    return scattered("sum", into, dim, places, source)


_REDUCTIONS = {"sum": "sum", "prod": "prod", "amax": "max", "amin": "min", "add": "sum", "multiply": "prod"}


@lowers("scatter_reduce")
def scatter_reduce(
    context: Context, into: Value, dim: int, places: Value, source: Value, reduce: str, include_self: bool = True
) -> Value:
    if reduce == "mean":
        return _scattered_mean(into, dim, places, source, include_self)
    if not include_self:
        return _scattered_alone(_REDUCTIONS[reduce], into, dim, places, source)
    return scattered(_REDUCTIONS[reduce], into, dim, places, source)


def _scattered_mean(into: Value, dim: int, places: Value, source: Value, include_self: bool) -> Value:
    if not into.dtype.is_float:
        raise NotFused("a mean of integers by index")
    shape = [into.factors(d) for d in range(into.rank)]
    ones = to_shape(number(1, into.dtype), [source.factors(d) for d in range(source.rank)])
    total, count = (scattered("sum", to_shape(number(0, into.dtype), shape), dim, places, one) for one in (source, ones))
    if include_self:
        return apply("div", apply("add", into, total), apply("add", count, number(1, into.dtype)))
    return apply("where", apply("gt", count, number(0, into.dtype)), apply("div", total, count), into)


def _scattered_alone(fn: str, into: Value, dim: int, places: Value, source: Value) -> Value:
    """Elements of `into` that nothing is joined to stay."""
    blank = to_shape(number(start_of(fn, into.dtype), into.dtype), [into.factors(d) for d in range(into.rank)])
    found = scattered(fn, blank, dim, places, source)
    zeros = to_shape(number(0, INT64), [into.factors(d) for d in range(into.rank)])
    ones = to_shape(number(1, INT64), [source.factors(d) for d in range(source.rank)])
    is_joined = apply("gt", scattered("sum", zeros, dim, places, ones), number(0, INT64))
    return apply("where", is_joined, found, into)


@lowers("index_reduce")
def index_reduce(
    context: Context, into: Value, dim: int, places: Value, source: Value, reduce: str, include_self: bool = True
) -> Value:
    return scatter_reduce(context, into, dim, _along(places, source, dim), source, reduce, include_self)


def _along(places: Value, source: Value, dim: int) -> Value:
    """Places of one axis, for every element."""
    dim = source.dim(dim)
    groups = [0] * source.rank
    groups[dim] = len(places.tensor.shape)
    return to_shape(Value(places.tensor, tuple(groups)), [source.factors(d) for d in range(source.rank)])


@lowers("index_put")
def index_put(
    context: Context, into: Value, places: Sequence[Value | None], values: Value | Masked, accumulate: bool = False
) -> Value:
    named = [(i, one) for i, one in enumerate(places) if one is not None]
    if isinstance(values, Masked):
        return _where_chosen(into, named, values, accumulate)
    values = cast(values, into.dtype)
    if any(kind_of(one.dtype) == BOOLS for _, one in named):
        return _masked(into, named, values, accumulate)
    return _put(into, [i for i, _ in named], [one for _, one in named], values, accumulate)


def _where_chosen(into: Value, named: Sequence[tuple[int, Value]], values: Masked, accumulate: bool) -> Value:
    """Elements that a mask has chosen, where it has chosen them."""
    if [one for _, one in named] != [values.mask] or named[0][0] or accumulate:
        raise NotFused("elements of one mask written at those of another")
    mask = values.mask
    for _ in range(mask.rank, into.rank):
        mask = unsqueezed(mask, mask.rank)
    return apply("where", mask, cast(values.value, into.dtype), into)


def _masked(into: Value, named: Sequence[tuple[int, Value]], values: Value, accumulate: bool) -> Value:
    """A number in the places of a mask."""
    (dim, mask), *more = named
    if more or values.rank or accumulate:
        raise NotFused("elements that are written by a mask, whose number depends on the data")
    for _ in range(dim + mask.rank, into.rank):
        mask = unsqueezed(mask, mask.rank)
    return apply("where", mask, values, into)


def _put(into: Value, dims: Sequence[int], places: Sequence[Value], values: Value, accumulate: bool) -> Value:
    """into[..., places, places, ...] = values. Axes whose places are the coordinate itself are axes of the places and the
    values; the others become one, along which is written.
    """
    wide = broadcast(*(cast(one, INT64) for one in places))
    found = {dim: _own_axis(one, into, dim) for dim, one in zip(dims, wide)}
    own = {dim: axis_ for dim, axis_ in found.items() if axis_ is not None}
    asked, others = [dim for dim in dims if dim not in own], [dim for dim in range(into.rank) if dim not in dims]
    if not asked:
        raise NotFused("elements that are all written by their own index")
    order, n = [*own, *asked, *others], len(own)
    rest = [d for d in range(wide[0].rank) if d not in own.values()]
    at = _as_one(permuted(into, [*asked, *own, *others]), [one for dim, one in zip(dims, wide) if dim in asked])
    at = _merged(permuted(at, [*own.values(), *rest]), n, len(rest))
    start = min(dims) if list(dims) == list(range(min(dims), max(dims) + 1)) else 0
    shape = [into.factors(d) for d in others]
    shape[start:start] = [wide[0].factors(d) for d in range(wide[0].rank)]
    behind = [d for d in range(len(shape)) if not start <= d < start + wide[0].rank]
    source = permuted(to_shape(values, shape), [*(start + d for d in (*own.values(), *rest)), *behind])
    source = _merged(source, n, len(rest))
    for _ in others:
        at = unsqueezed(at, at.rank)
    at = to_shape(at, [source.factors(d) for d in range(source.rank)])
    to = permuted(into, order)
    if accumulate:
        made = scattered("max" if kind_of(into.dtype) == BOOLS else "sum", _merged(to, n, len(asked)), n, at, source)
    else:
        made = overwritten(_merged(to, n, len(asked)), n, at, source)
    made = reshaped(made, [to.factors(d) for d in range(to.rank)])
    return permuted(made, [order.index(dim) for dim in range(into.rank)])


def _merged(x: Value, first: int, count: int) -> Value:
    """Some axes of torch as one; a new one of size 1 where there are none."""
    return Value(x.tensor, (*x.groups[:first], sum(x.groups[first : first + count]), *x.groups[first + count :]))


def _own_axis(places: Value, into: Value, dim: int) -> int | None:
    """The axis of places whose coordinate they are, all along an axis of what is written."""
    found = _affine_of(places.tensor)
    if found is None or found.offset or [factor for _, factor in found.terms] != [1]:
        return None
    number = found.terms[0][0]
    axes = [d for d in range(places.rank) if list(places.axes(d)) == [number]]
    return axes[0] if axes and into.factors(dim) == [places.tensor.shape[number]] else None


# ---- order


@lowers("topk")
def topk(context: Context, x: Value, k: int, dim: int = -1, largest: bool = True, is_sorted: bool = True) -> Any:
    """torch does not state which of equal numbers is first, so the order of lengths may be that of their squares."""
    square = _under_root(x)
    if square is None:
        return ordered(x, dim, k, largest)
    values, places = ordered(square, dim, k, largest)
    return apply("sqrt", values), places


def _under_root(x: Value) -> Value | None:
    """The sum of squares that these are the roots of."""
    root = x.tensor
    if not isinstance(root.op, ops.Map) or root.op.fn != "sqrt" or not isinstance(root.args[0].op, ops.Reduce):
        return None
    (total,) = root.args
    (square,) = total.args
    is_square = isinstance(square.op, ops.Map) and square.op.fn == "mul" and square.args[0] is square.args[1]
    is_sum = isinstance(total.op, ops.Reduce) and total.op.fn == "sum"
    return Value(total, x.groups) if is_square and is_sum else None


@lowers("sort")
def sort(context: Context, x: Value, dim: Any = -1, descending: bool = False, **named: Any) -> Any:
    if isinstance(dim, bool):
        dim, descending = -1, dim
    dim, descending = named.get("dim", dim), named.get("descending", descending)
    return ordered(x, dim, x.size(dim), descending)


@lowers("kthvalue")
def kthvalue(context: Context, x: Value, k: int, dim: int = -1, keeps: bool = False) -> Any:
    found = [without(part, dim, k - 1) for part in ordered(x, dim, k, False)]
    return tuple(unsqueezed(one, x.dim(dim)) if keeps else one for one in found)


def ordered(x: Value, dim: int, k: int, is_largest: bool) -> tuple[Value, Value]:
    """The k least or largest of an axis, and their places."""
    x, place = one_axis(x, dim)
    places = build.sort(x.tensor, place, k, is_largest)
    index = [None if i == place else axis(i) for i in range(len(x.tensor.shape))]
    values = build.gather(x.tensor, places, index)
    return tuple(tidy(replaced(x, dim, one, 1)) for one in (values, build.cast(places, INT64)))  # type: ignore[return-value]


@lowers("masked_select", "nonzero")
def data_dependent(context: Context, *args: Any) -> Value:
    raise NotFused("a number of rows that depends on the data")
