# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Operators of torch that read or write elements by an index, and those that order them."""

from collections.abc import Sequence
from typing import Any

from tensoa.compiler.errors import NotFused
from tensoa.compiler.typed import build
from tensoa.compiler.typed import operations as ops
from tensoa.compiler.typed.frontend.lowering import Context, lowers
from tensoa.compiler.typed.frontend.movement import one_axis, tidy, to_shape
from tensoa.compiler.typed.frontend.values import Factors, Value, agreed, apply, broadcast, cast, number, replaced
from tensoa.compiler.typed.functions import BOOLS, INTEGERS, kind_of, start_of
from tensoa.compiler.typed.operations import Affine, affine, axis
from tensoa.compiler.typed.tensors import Size, Tensor
from tensoa.dtypes import INT64


def from_the_end(places: Value, size: Size) -> Value:
    """Negative places count from the end of an axis of fixed size; of rows they name none."""
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
    """x[:, …, places, …]: the axes of the places take the place of an axis."""
    if kind_of(places.dtype) == BOOLS:
        raise NotFused("rows that are chosen by a mask, of which only the data knows the number")
    dim = x.dim(dim)
    x, place = one_axis(x, dim)
    size = x.tensor.shape[place]
    at = from_the_end(places, size).tensor
    count = len(at.shape)
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


@lowers("index", "_unsafe_index")
def index(context: Context, x: Value, places: Sequence[Value | None]) -> Value:
    named = [i for i, one in enumerate(places) if one is not None]
    if len(named) == 1:
        one = places[named[0]]
        assert one is not None
        return indexed(x, named[0], one)
    return _several(x, [(i, one) for i, one in enumerate(places) if one is not None])


def _several(x: Value, places: Sequence[tuple[int, Value]]) -> Value:
    """Several places together: the axes become one, and so do the places."""
    dims = [dim for dim, _ in places]
    if dims != list(range(dims[0], dims[0] + len(dims))):
        raise NotFused("places of axes that are not next to each other")
    wide = broadcast(*(cast(one, INT64) for _, one in places))
    total = None
    for dim, one in zip(dims, wide):
        size = x.size(dim)
        one = from_the_end(one, size)
        inside = apply("and", apply("ge", one, number(0, INT64)), apply("lt", one, number(size, INT64)))
        one = apply("where", inside, one, number(-(1 << 40), INT64))
        total = one if total is None else apply("add", apply("mul", total, number(size, INT64)), one)
    assert total is not None
    merged = Value(x.tensor, (*x.groups[: dims[0]], sum(x.groups[d] for d in dims), *x.groups[dims[-1] + 1 :]))
    beyond = apply("lt", total, number(0, INT64))  # names none, also from the end
    total = apply("where", beyond, number(1 << 40, INT64), total)
    return indexed(merged, dims[0], total)


def aligned(x: Value, dim: int, places: Value) -> tuple[Value, Value]:
    """x and places with the same factors of all axes but one; each axis of x is in the places."""
    for other in range(x.rank):
        if other != x.dim(dim) and x.factors(other) != places.factors(other):
            (x, places), _ = agreed([x, places], other)
    return x, places


@lowers("gather")
def gather(context: Context, x: Value, dim: int, places: Value, **named: Any) -> Value:
    x, places = aligned(one_axis(x, dim)[0], dim, places)
    place = x.axes(dim)[0]
    at = from_the_end(places, x.tensor.shape[place]).tensor
    index: list[Affine | None] = []
    for d in range(x.rank):
        if d == x.dim(dim):
            index.append(None)
        elif x.groups[d]:
            index += [axis(i) for i in places.axes(d)] or [affine(0)] * x.groups[d]
    return tidy(Value(build.gather(x.tensor, at, index), places.groups))


def scattered(fn: str, into: Value, dim: int, places: Value, source: Value) -> Value:
    """`into` joined with elements of `source` by places of its shape."""
    dim = into.dim(dim)
    source, places = aligned(one_axis(source, dim)[0], dim, one_axis(places, dim)[0])
    place = source.axes(dim)[0]
    into, _ = one_axis(into, dim)
    for other in range(into.rank):
        if other != dim:
            source = _as(source, other, into.factors(other))
            places = _as(places, other, into.factors(other))
    at = from_the_end(places, into.tensor.shape[place]).tensor
    made = build.scatter(fn, source.tensor, at, place, into.tensor.shape[place])
    joined = build.apply({"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}[fn], into.tensor, made)
    return tidy(Value(joined, into.groups))


def _as(x: Value, dim: int, factors: Factors) -> Value:
    if x.factors(dim) == factors:
        return x
    raise NotFused("a scatter of some elements of an axis")


@lowers("scatter_add")
def scatter_add(context: Context, into: Value, dim: int, places: Value, source: Value) -> Value:
    return scattered("sum", into, dim, places, source)


_REDUCTIONS = {"sum": "sum", "prod": "prod", "amax": "max", "amin": "min", "add": "sum", "multiply": "prod"}


@lowers("scatter_reduce")
def scatter_reduce(
    context: Context, into: Value, dim: int, places: Value, source: Value, reduce: str, include_self: bool = True
) -> Value:
    if reduce not in _REDUCTIONS:
        raise NotFused(f"a scatter by {reduce}")
    if not include_self:
        return _scattered_alone(_REDUCTIONS[reduce], into, dim, places, source)
    return scattered(_REDUCTIONS[reduce], into, dim, places, source)


def _scattered_alone(fn: str, into: Value, dim: int, places: Value, source: Value) -> Value:
    """Elements of `into` that nothing is joined to stay."""
    blank = to_shape(number(start_of(fn, into.dtype), into.dtype), [into.factors(d) for d in range(into.rank)])
    found = scattered(fn, blank, dim, places, source)
    zeros = to_shape(number(0, INT64), [into.factors(d) for d in range(into.rank)])
    ones = to_shape(number(1, INT64), [source.factors(d) for d in range(source.rank)])
    is_joined = apply("gt", scattered("sum", zeros, dim, places, ones), number(0, INT64))
    return apply("where", is_joined, found, into)


@lowers("index_add")
def index_add(context: Context, into: Value, dim: int, places: Value, source: Value, alpha: float = 1) -> Value:
    if alpha != 1:
        source = apply("mul", source, number(alpha, source.dtype))
    return scattered("sum", into, dim, _along(places, source, dim), source)


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


@lowers("index_put", "_unsafe_index_put")
def index_put(context: Context, into: Value, places: Sequence[Value | None], values: Value, accumulate: bool = False) -> Value:
    named = [(i, one) for i, one in enumerate(places) if one is not None]
    if len(named) != 1 or kind_of(named[0][1].dtype) == BOOLS:
        raise NotFused("elements that are written by several indices, or by a mask")
    dim, one = named[0]
    if not accumulate:
        raise NotFused("elements that are written by an index, where the last one of equal ones counts")
    shape = [*(into.factors(d) for d in range(dim)), [*one.tensor.shape], *(into.factors(d) for d in range(dim + 1, into.rank))]
    source = to_shape(cast(values, into.dtype), shape)
    return scattered("sum", into, dim, _along(Value(one.tensor, one.groups), source, dim), source)


# ---- order


@lowers("topk")
def topk(context: Context, x: Value, k: int, dim: int = -1, largest: bool = True, is_sorted: bool = True) -> Any:
    return ordered(x, dim, k, largest)


@lowers("sort")
def sort(context: Context, x: Value, dim: Any = -1, descending: bool = False, **named: Any) -> Any:
    if isinstance(dim, bool):
        dim, descending = -1, dim
    dim, descending = named.get("dim", dim), named.get("descending", descending)
    return ordered(x, dim, x.size(dim), descending)


@lowers("argsort")
def argsort(context: Context, x: Value, dim: int = -1, descending: bool = False, **named: Any) -> Value:
    return ordered(x, named.get("dim", dim), x.size(dim), named.get("descending", descending))[1]


def ordered(x: Value, dim: int, k: int, is_largest: bool) -> tuple[Value, Value]:
    """The k least or largest of an axis, and their places."""
    x, place = one_axis(x, dim)
    places = build.sort(x.tensor, place, k, is_largest)
    index = [None if i == place else axis(i) for i in range(len(x.tensor.shape))]
    values = build.gather(x.tensor, places, index)
    return tuple(tidy(replaced(x, dim, one, 1)) for one in (values, build.cast(places, INT64)))  # type: ignore[return-value]


@lowers("masked_select", "nonzero")
def data_dependent(context: Context, *args: Any) -> Value:
    raise NotFused("a number of rows that only the data knows")
