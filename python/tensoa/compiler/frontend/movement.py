# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Operators of torch that move elements, and those that make tensors."""

from collections.abc import Sequence
from typing import Any

from tensoa.compiler import build
from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontend.lowering import Context, fixed_number, lowers
from tensoa.compiler.frontend.values import (
    Factors,
    Value,
    agreed,
    cast,
    flat,
    permuted,
    replaced,
    reshaped,
    to_shape,
    unsqueezed,
    value_of,
    without,
)
from tensoa.compiler.operations import affine, axis, same_but
from tensoa.dtypes import INT64, DType


@lowers("view", "_reshape_copy", "view_copy")
def reshape(context: Context, x: Value, *args: Any, **named: Any) -> Value:
    return reshaped(x, context.shape())


@lowers("unsqueeze")
def unsqueeze(context: Context, x: Value, dim: int) -> Value:
    return unsqueezed(x, dim)


@lowers("squeeze")
def squeeze(context: Context, x: Value, *dims: Any) -> Value:
    return reshaped(x, context.shape())


@lowers("permute")
def permute(context: Context, x: Value, dims: Sequence[int]) -> Value:
    return permuted(x, dims)


@lowers("expand")
def expand(context: Context, x: Value, *args: Any, **named: Any) -> Value:
    return to_shape(x, context.shape())


def one_axis(x: Value, dim: int) -> tuple[Value, int]:
    """The value with a single axis for one of torch, of whatever size: (the value, that axis)."""
    x = flat(x, dim)
    axes = x.axes(dim)
    if len(axes):
        return x, axes[0]
    place = axes.start
    return replaced(x, dim, build.with_axis(x.tensor, place), 1), place


def tidy(x: Value) -> Value:
    """Without axes of size 1."""
    groups = []
    for dim in range(x.rank):
        groups.append(sum(size != 1 for size in x.factors(dim)))
    return Value(value_of(x.tensor).tensor, tuple(groups))


@lowers("slice")
def slice_(context: Context, x: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Value:
    if x.factors(dim) == context.factors(context.meta.shape[x.dim(dim)]):
        return x
    if any(isinstance(factor, str) for factor in x.factors(dim)):
        raise NotFused("some of the rows taken out of all")
    places = range(x.size(dim))[start if start is None else fixed_number(start, "the start of a slice") : _end(end) : step]
    x, place = one_axis(x, dim)
    return tidy(replaced(x, dim, build.part(x.tensor, place, places[0], len(places), step), 1))


def cut(x: Value, dim: int, start: int, size: int) -> Value:
    """`size` elements of an axis from `start` on."""
    x, place = one_axis(x, dim)
    return tidy(replaced(x, dim, build.part(x.tensor, place, start, size), 1))


def _end(end: Any) -> int | None:
    return end if isinstance(end, int) else None


@lowers("select")
def select(context: Context, x: Value, dim: int, place: int) -> Value:
    return without(x, dim, place % x.size(dim))


@lowers("flip")
def flip(context: Context, x: Value, dims: Sequence[int]) -> Value:
    for dim in dims:
        x, place = one_axis(x, dim)
        size = x.size(dim)
        x = replaced(x, dim, build.part(x.tensor, place, size - 1, size, -1), 1)
    return tidy(x)


@lowers("diagonal")
def diagonal(context: Context, x: Value, offset: int = 0, one: int = 0, other: int = 1) -> Value:
    one, other = x.dim(one), x.dim(other)
    order = [dim for dim in range(x.rank) if dim not in (one, other)] + [one, other]
    x = permuted(x, order)
    x, _ = one_axis(x, x.rank - 2)
    x, last = one_axis(x, x.rank - 1)
    size = min(x.size(-2) - max(0, -offset), x.size(-1) - max(0, offset))
    index = [axis(i) for i in range(last - 1)]
    index += [affine(max(0, -offset), (last - 1, 1)), affine(max(0, offset), (last - 1, 1))]
    return tidy(Value(build.view(x.tensor, (*x.tensor.shape[: last - 1], size), index), x.groups[:-1]))


@lowers("unfold")
def unfold(context: Context, x: Value, dim: int, size: int, step: int) -> Value:
    dim = x.dim(dim)
    x, place = one_axis(x, dim)
    count = (x.size(dim) - size) // step + 1
    last = len(x.tensor.shape)
    shape = (*x.tensor.shape[:place], count, *x.tensor.shape[place + 1 :], size)
    index = same_but(build.identity(x.tensor), place, affine(0, (place, step), (last, 1)))
    return tidy(Value(build.view(x.tensor, shape, index), (*x.groups, 1)))


@lowers("cat")
def cat(context: Context, parts: Sequence[Value], dim: int = 0) -> Value:
    return joined([cast(part, context.dtype) for part in parts if part.rank == len(context.meta.shape)], dim)


def joined(parts: Sequence[Value], dim: int) -> Value:
    """One behind the other."""
    dim = parts[0].dim(dim)
    if any(isinstance(factor, str) for part in parts for factor in part.factors(dim)):
        return rows_behind_rows(parts, dim)
    for other in range(parts[0].rank):
        if other != dim:
            parts, factors = agreed(parts, other)
    found = [one_axis(part, dim) for part in parts]
    return tidy(replaced(found[0][0], dim, build.concat([part.tensor for part, _ in found], found[0][1]), 1))


def rows_behind_rows(parts: Sequence[Value], dim: int) -> Value:
    """Parts along an axis of rows: in an axis of their own, merged with that of the rows, so that it can be split off."""
    wide = []
    for part in parts:
        counts, rows = [], part.factors(dim)
        while rows and isinstance(rows[0], int):
            counts.append(rows.pop(0))
        axes = (*part.groups[:dim], len(counts), len(rows), *part.groups[dim + 1 :])
        wide.append(one_axis(Value(part.tensor, axes), dim)[0])
    for other in range(wide[0].rank):
        if other != dim:
            wide, _ = agreed(wide, other)
    place = wide[0].axes(dim)[0]
    found = build.concat([part.tensor for part in wide], place)
    groups = list(wide[0].groups)
    if found.shape[place] == 1:
        return tidy(Value(found, (*groups[:dim], groups[dim] + groups[dim + 1], *groups[dim + 2 :])))
    return Value(found, (*groups[:dim], groups[dim] + groups[dim + 1], *groups[dim + 2 :]))


@lowers("stack")
def stack(context: Context, parts: Sequence[Value], dim: int = 0) -> Value:
    return cat(context, [unsqueezed(part, dim) for part in parts], dim % len(context.meta.shape))


@lowers("split_with_sizes")
def split_with_sizes(context: Context, x: Value, sizes: Sequence[int], dim: int = 0) -> list[Value]:
    x, place = one_axis(x, dim)
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [tidy(replaced(x, dim, build.part(x.tensor, place, at, size), 1)) for at, size in zip(starts, sizes)]


@lowers("repeat")
def repeat(context: Context, x: Value, times: Sequence[int]) -> Value:
    """A new axis before each, merged with it."""
    x = Value(x.tensor, (0,) * (len(times) - x.rank) + x.groups)
    for dim, count in enumerate(times):
        for size in reversed(context.factors(count)):
            x = replaced(x, dim, build.with_axis(x.tensor, x.axes(dim).start, size), x.groups[dim] + 1)
    return x


@lowers("constant_pad_nd")
def pad(context: Context, x: Value, pads: Sequence[int], fill: Any = 0) -> Value:
    for i in range(len(pads) // 2):
        x = padded(x, x.rank - 1 - i, pads[2 * i], pads[2 * i + 1], fill)
    return x


def padded(x: Value, dim: int, before: int, after: int, fill: float) -> Value:
    """Numbers before and after an axis; less than none takes elements off."""
    x, place = one_axis(x, dim)
    size = x.size(dim)
    start, stop = max(0, -before), size - max(0, -after)
    parts = [build.part(x.tensor, place, start, stop - start)]

    def filled(count: int) -> list[Any]:
        shape = (*x.tensor.shape[:place], count, *x.tensor.shape[place + 1 :])
        return [build.filled(fill, x.dtype, shape)] if count > 0 else []

    return tidy(replaced(x, dim, build.concat([*filled(before), *parts, *filled(after)], place), 1))


# ---- tensors that are made


@lowers("full", "zeros", "ones", "full_like", "empty", "empty_permuted", "empty_strided")
def full(context: Context, *args: Any, **named: Any) -> Value:
    fill: Any = int("ones" in context.name)
    if "full" in context.name:
        fill = named.get("fill_value", args[-1])
    return to_shape(context.as_value(fill, context.dtype), context.shape())


@lowers("arange")
def arange(context: Context, *args: Any, **named: Any) -> Value:
    (factors,) = context.shape()
    start, step = 0, 1
    if "start" in str(context.node.target):
        start = fixed_number(args[0], "the first number of arange")
        step = fixed_number(args[2] if len(args) > 2 else named.get("step", 1), "the step of arange")
    counted = counter(factors, INT64)
    if (start, step) == (0, 1):
        return cast(counted, context.dtype)
    dtype: DType = context.dtype
    scaled = build.apply("mul", cast(counted, dtype).tensor, build.filled(step, dtype, counted.tensor.shape))
    return Value(build.apply("add", scaled, build.filled(start, dtype, counted.tensor.shape)), counted.groups)


def counter(factors: Factors, dtype: DType) -> Value:
    """0, 1, 2, … along one axis of torch."""
    if len(factors) > 1:
        raise NotFused(f"the numbers of {' x '.join(map(str, factors))} elements")
    if not factors:
        return Value(build.constant(0, dtype), (0,))
    return Value(build.iota(factors[0], dtype), (1,))


@lowers("slice_scatter")
def slice_scatter(
    context: Context, x: Value, source: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Value:
    """Written elements are gathered from both."""
    dim = x.dim(dim)
    if x.factors(dim) == source.factors(dim) and start in (None, 0) and step == 1:
        return cast(source, x.dtype)
    if any(isinstance(factor, str) for factor in x.factors(dim)):
        raise NotFused("some of the rows changed among all")
    places = range(x.size(dim))[start : _end(end) : step]
    both = cat(context, [x, cast(source, x.dtype)], dim)
    order = [x.size(dim) + places.index(i) if i in places else i for i in range(x.size(dim))]
    return taken(both, dim, order)


def taken(x: Value, dim: int, order: Sequence[int]) -> Value:
    """Elements of an axis in a known order: a gather, of which affine orders are views."""
    x, place = one_axis(x, dim)
    step = order[1] - order[0] if len(order) > 1 else 1
    if list(order) == [order[0] + step * i for i in range(len(order))] and step:
        return tidy(replaced(x, dim, build.part(x.tensor, place, order[0], len(order), step), 1))
    shape = (*x.tensor.shape[:place], len(order), *x.tensor.shape[place + 1 :])
    places = build.view(build.constant(order, INT64), shape, [axis(place)])
    index = [None if i == place else axis(i) for i in range(len(shape))]
    return tidy(replaced(x, dim, build.gather(x.tensor, places, index), 1))
