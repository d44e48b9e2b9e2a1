# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Operators of torch over several elements: sums, extremes, softmax, norms, pooling, running sums."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensoa.compiler import build
from tensoa.compiler import operations as ops
from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontend.lowering import Context, dims_of, lowers
from tensoa.compiler.frontend.movement import one_axis, padded, tidy
from tensoa.compiler.frontend.places import in_axis
from tensoa.compiler.frontend.values import (
    Value,
    apply,
    cast,
    known_numbers,
    number,
    reduced,
    replaced,
    reshaped,
    to_shape,
    unsqueezed,
    value_of,
    without,
)
from tensoa.compiler.operations import affine, axis
from tensoa.dtypes import BOOL, INT64


def count_of(x: Value, dims: Sequence[int]) -> Value:
    """The number of elements along some axes, as a number of the dtype of x: known, or the number of rows."""
    fixed, rows = 1, None
    for dim in dims:
        for factor in x.factors(dim):
            if isinstance(factor, int):
                fixed *= factor
            elif rows is None:
                rows = factor
            else:
                raise NotFused("a mean over two axes of rows")
    known = number(fixed, x.dtype)
    if rows is None:
        return known
    ones = build.filled(1, INT64, (rows,))
    counted = build.cast(build.reduce("sum", ones, [0]), x.dtype)
    return Value(counted, ()) if fixed == 1 else apply("mul", Value(counted, ()), known)


def mean_of(x: Value, dims: Sequence[int], keeps: bool) -> Value:
    return apply("div", reduced("sum", x, dims, keeps), count_of(x, dims))


@lowers("sum")
def sum_(context: Context, x: Value, dims: Any = None, keeps: bool = False, **named: Any) -> Value:
    return reduced("sum", cast(x, context.dtype), dims_of(dims, x), keeps)


@lowers("prod")
def prod(context: Context, x: Value, dim: Any = None, keeps: bool = False, **named: Any) -> Value:
    return reduced("prod", cast(x, context.dtype), dims_of(dim, x), keeps)


@lowers("mean")
def mean(context: Context, x: Value, dims: Any = None, keeps: bool = False, **named: Any) -> Value:
    x = cast(x, context.dtype)
    return mean_of(x, dims_of(dims, x), keeps)


@lowers("var", "std")
def var(context: Context, x: Value, dims: Any = None, correction: Any = 1, keepdim: bool = False, **named: Any) -> Value:
    return variance(x, dims_of(dims, x), keepdim, correction, context.name == "std")


@lowers("var_mean", "std_mean")
def var_mean(context: Context, x: Value, dims: Any = None, correction: Any = 1, keepdim: bool = False, **named: Any) -> Any:
    dims = dims_of(dims, x)
    return variance(x, dims, keepdim, correction, context.name == "std_mean"), mean_of(x, dims, keepdim)


def variance(x: Value, dims: Sequence[int], keeps: bool, correction: Any, is_root: bool) -> Value:
    correction = 1.0 if correction is None else float(correction)
    x, scale = scaled(x, dims)
    off = deviation(x, dims)
    total = reduced("sum", apply("mul", off, off), dims, True)
    count = apply("maximum", apply("sub", count_of(x, dims), number(correction, x.dtype)), number(0.0, x.dtype))
    mean_ = apply("div", total, count)
    found = apply("mul", apply("sqrt", mean_), scale) if is_root else apply("mul", apply("mul", mean_, scale), scale)
    return found if keeps else reduced("max", found, dims)


def scaled(x: Value, dims: Sequence[int]) -> tuple[Value, Value]:
    """x divided by a power of two near the largest of its numbers, which rounds nothing, and that power: no square and no sum
    overflows or vanishes whose root does not.
    """
    least, most = math.log2(np.finfo(x.dtype.name).tiny), math.log2(np.finfo(x.dtype.name).max) - 1
    largest = apply("maximum", reduced("max", apply("abs", x), dims, True), number(0.0, x.dtype))  # 0 of no rows
    exponent = apply("floor", apply("log2", largest))
    scale = apply("exp2", apply("maximum", apply("minimum", exponent, number(most, x.dtype)), number(least, x.dtype)))
    return apply("div", x, scale), scale


def deviation(x: Value, dims: Sequence[int]) -> Value:
    """x less its mean, of which the mean is taken off again: float32 leaves some of a mean far from zero out of the sum."""
    off = apply("sub", x, mean_of(x, dims, True))
    return apply("sub", off, mean_of(off, dims, True))


@lowers("amax", "amin")
def extreme(context: Context, x: Value, dims: Any = None, keeps: bool = False) -> Value:
    return reduced("max" if "amax" in str(context.node.target) else "min", x, dims_of(dims, x), keeps)


@lowers("any")
def truth(context: Context, x: Value, dims: Any = None, keeps: bool = False) -> Value:
    return cast(reduced("max", cast(x, BOOL), dims_of(dims, x), keeps), context.dtype)


@lowers("max", "min")
def extreme_and_place(context: Context, x: Value, dim: Any = None, keeps: bool = False) -> Any:
    fn = str(context.node.target).split(".")[1]
    if dim is None:
        return reduced(fn, x, dims_of(None, x))
    return reduced(fn, x, [dim], keeps), place_of_extreme(x, dim, fn == "max", keeps)


@lowers("argmax", "argmin")
def extreme_place(context: Context, x: Value, dim: Any = None, keeps: bool = False) -> Value:
    if dim is None:
        x, dim = reshaped(x, [[factor for d in range(x.rank) for factor in x.factors(d)]]), 0
        return without(place_of_extreme(x, dim, "argmax" in str(context.node.target), True), 0)
    return place_of_extreme(x, dim, "argmax" in str(context.node.target), keeps)


def place_of_extreme(x: Value, dim: int, is_largest: bool, keeps: bool) -> Value:
    """NaN is both the largest and the least for torch, also where infinities are; in an order it is the largest."""
    if x.dtype.is_float and not is_largest:
        x, is_largest = apply("neg", x), True
    x, place = one_axis(x, dim)
    found = replaced_groups(x, dim, build.cast(build.sort(x.tensor, place, 1, is_largest), INT64))
    return found if keeps else without(found, dim)


def replaced_groups(x: Value, dim: int, tensor: Any) -> Value:
    """A tensor with one element along an axis of torch."""
    dim = x.dim(dim)
    return tidy(Value(tensor, x.groups))


@lowers("_softmax")
def softmax(context: Context, x: Value, dim: int, *more: Any) -> Value:
    return softmax_of(cast(x, context.dtype), dim)


def softmax_of(x: Value, dim: int, is_safe: bool = False) -> Value:
    """`is_safe`: all are 0 where all of x are -infinity."""
    largest = reduced("max", x, [dim], True)
    if is_safe:
        is_low = apply("eq", largest, number(-math.inf, x.dtype))
        largest = apply("where", is_low, number(0.0, x.dtype), largest)
    exponential = apply("exp", apply("sub", x, largest))
    total = reduced("sum", exponential, [dim], True)
    if is_safe:
        total = apply("where", apply("eq", total, number(0.0, x.dtype)), number(1.0, x.dtype), total)
    return apply("div", exponential, total)


@lowers("_log_softmax")
def log_softmax(context: Context, x: Value, dim: int, *more: Any) -> Value:
    x = cast(x, context.dtype)
    off = apply("sub", x, reduced("max", x, [dim], True))
    total = reduced("sum", apply("exp", off), [dim], True)
    return apply("sub", off, apply("log", total))


@lowers("native_layer_norm")
def layer_norm(context: Context, x: Value, shape: Sequence[int], weight: Any, bias: Any, eps: float) -> Any:
    dims = list(range(x.rank - len(shape), x.rank))
    return normalised(x, dims, eps, weight, bias), None, None


def normalised(x: Value, dims: Sequence[int], eps: float, weight: Value | None, bias: Value | None) -> Value:
    """float32 leaves some of a mean far from zero out of the sum: what is off has a mean, too, which the sum of the squares has
    with it (the corrected two-pass algorithm of Chan, Golub and LeVeque, 1983), so that both sums are made together.
    """
    share = apply("div", number(1.0, x.dtype), count_of(x, dims))
    off = apply("sub", x, apply("mul", reduced("sum", x, dims, True), share))
    rest = apply("mul", reduced("sum", off, dims, True), share)
    squares = apply("mul", reduced("sum", apply("mul", off, off), dims, True), share)
    spread = apply("maximum", apply("sub", squares, apply("mul", rest, rest)), number(0.0, x.dtype))
    result = apply("mul", apply("sub", off, rest), apply("rsqrt", apply("add", spread, number(eps, x.dtype))))
    if weight is None or bias is None:
        result = result if weight is None else apply("mul", result, cast(weight, x.dtype))
        return result if bias is None else apply("add", result, cast(bias, x.dtype))
    return apply("fma", result, cast(weight, x.dtype), cast(bias, x.dtype))


@lowers("native_group_norm")
def group_norm(
    context: Context, x: Value, weight: Any, bias: Any, n: Any, channels: int, size: Any, groups: int, eps: float
) -> Any:
    shape = [x.factors(dim) for dim in range(x.rank)]
    apart = reshaped(x, [shape[0], [groups], [channels // groups], *shape[2:]])
    off = normalised(apart, list(range(2, apart.rank)), eps, None, None)
    result = reshaped(off, shape)
    parameters = [None if one is None else _per_channel(one, x.rank) for one in (weight, bias)]
    result = result if parameters[0] is None else apply("mul", result, parameters[0])
    result = result if parameters[1] is None else apply("add", result, parameters[1])
    return result, None, None


def _per_channel(x: Value, rank: int) -> Value:
    """[channels] as [channels, 1, …] of a tensor whose axis 1 they are."""
    for _ in range(rank - 2):
        x = unsqueezed(x, -1)
    return x


@lowers("_native_batch_norm_legit_no_training", "native_batch_norm")
def batch_norm(context: Context, x: Value, weight: Any, bias: Any, mean_: Value, var_: Value, *more: Any) -> Any:
    eps = more[-1]
    weight, bias = (None if one is None else cast(one, x.dtype) for one in (weight, bias))
    mean_, var_ = cast(mean_, x.dtype), cast(var_, x.dtype)
    deviation_ = apply("sqrt", apply("add", var_, number(eps, x.dtype)))
    scale = apply("reciprocal", deviation_)
    off = apply("sub", x, _per_channel(mean_, x.rank))
    scale = scale if weight is None else apply("mul", scale, weight)
    result = apply("mul", off, _per_channel(scale, x.rank))
    return result if bias is None else apply("add", result, _per_channel(bias, x.rank)), None, None


@lowers("_native_batch_norm_legit")
def batch_norm_of_batch(context: Context, x: Value, weight: Any, bias: Any, *more: Any) -> Any:
    """By the mean and variance of the batch itself."""
    if len(more) != 3:  # running ones, which it writes
        raise NotFused("a batch norm that is trained")
    others = [0, *range(2, x.rank)]
    parameters = [None if one is None else _per_channel(one, x.rank) for one in (weight, bias)]
    return normalised(x, others, more[-1], *parameters), None, None


# ---- windows


def windows(x: Value, dim: int, size: int, step: int, dilation: int, is_ceil: bool) -> Value:
    """Axis `dim` as windows, and their elements as a new last axis; is_ceil: a last window that is not whole."""
    dim = x.dim(dim)
    x, place = one_axis(x, dim)
    wide = dilation * (size - 1) + 1
    count = (x.size(dim) - wide) // step + 1
    last = len(x.tensor.shape)
    index = list(build.identity(x.tensor))
    index[place] = affine(0, (place, step), (last, dilation))
    shape = (*x.tensor.shape[:place], count, *x.tensor.shape[place + 1 :], size)
    return Value(build.view(x.tensor, shape, index), (*x.groups, 1))


def _pooled(x: Value, sizes: Any, steps: Any, pads: Any, dilations: Any, fill: float, is_ceil: bool) -> Value:
    """The windows of the last axes of an image as new last axes."""
    n = len(sizes)
    first = x.rank - n
    for i in range(n):
        step = steps[i] if steps else sizes[i]
        wide = dilations[i] * (sizes[i] - 1) + 1
        size = x.size(first + i) + 2 * pads[i]
        rest = -(size - wide) % step if is_ceil else 0
        if rest and (size + rest - wide) >= x.size(first + i) + pads[i]:
            rest = 0  # torch leaves out a window that begins behind the end
        x = padded(x, first + i, pads[i], pads[i] + rest, fill) if pads[i] or rest else x
    for i in range(n):
        x = windows(x, first + i, sizes[i], steps[i] if steps else sizes[i], dilations[i], is_ceil)
    return x


def _many(x: Any, n: int) -> list[int]:
    found = [x] if isinstance(x, int) else list(x)
    return found * n if len(found) == 1 else found


@lowers("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool(
    context: Context, x: Value, size: Any, step: Any = (), pad: Any = 0, dilation: Any = 1, is_ceil: bool = False
) -> Any:
    n = len(size) if not isinstance(size, int) else 1
    apart = _pooled(x, _many(size, n), _many(step, n) if step else [], _many(pad, n), _many(dilation, n), -math.inf, is_ceil)
    found = tidy(reduced("max", apart, range(apart.rank - n, apart.rank)))
    return found, None


@lowers("avg_pool2d", "avg_pool3d")
def avg_pool(
    context: Context, x: Value, size: Any, step: Any = (), pad: Any = 0, is_ceil: bool = False, with_pad: bool = True,
    divisor: Any = None,
) -> Value:  # fmt: skip
    n = len(size) if not isinstance(size, int) else 1
    sizes, pads, steps = _many(size, n), _many(pad, n), _many(step, n) if step else _many(size, n)
    apart = _pooled(x, sizes, steps, pads, [1] * n, 0.0, is_ceil)
    total = tidy(reduced("sum", apart, range(apart.rank - n, apart.rank)))
    if divisor:
        return apply("div", total, number(divisor, x.dtype))
    for i in range(n):
        dim = total.rank - n + i
        inside, starts = x.size(dim), [step_ * steps[i] - pads[i] for step_ in range(total.size(dim))]
        counts = [_elements(start, sizes[i], inside, pads[i] if with_pad else 0) for start in starts]
        count = value_of(build.constant(counts, x.dtype))
        for _ in range(dim + 1, total.rank):
            count = unsqueezed(count, count.rank)
        total = apply("div", total, count)
    return total


def _elements(start: int, size: int, inside: int, pad: int) -> int:
    """Of a window that are in an axis, or in its padding."""
    return min(start + size, inside + pad) - max(start, -pad)


@lowers("_adaptive_avg_pool2d", "_adaptive_avg_pool3d")
def adaptive_avg_pool(context: Context, x: Value, sizes: Any) -> Value:
    return _adaptive(x, _many(sizes, 1), lambda part, dim: mean_of(part, [dim], True))


@lowers("adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(context: Context, x: Value, sizes: Any) -> Any:
    return _adaptive(x, _many(sizes, 1), lambda part, dim: reduced("max", part, [dim], True)), None


def _adaptive(x: Value, sizes: Sequence[int], joined: Callable[[Value, int], Value]) -> Value:
    """Windows that are as equal as they can be; they may share elements."""
    for i, count in enumerate(sizes):
        dim = x.rank - len(sizes) + i
        x, place = one_axis(x, dim)
        size, parts = x.size(dim), []
        for j in range(count):
            start, end = j * size // count, -(-(j + 1) * size // count)
            part = joined(replaced(x, dim, build.part(x.tensor, place, start, end - start), 1), dim)
            parts.append(one_axis(part, dim)[0].tensor)
        x = tidy(replaced(x, dim, build.concat(parts, place), 1))
    return x


# ---- running sums


_RUNNING = {"cumsum": "sum", "cumprod": "prod", "logcumsumexp": "logaddexp"}


@lowers(*_RUNNING)
def cumulative(context: Context, x: Value, dim: int, **named: Any) -> Value:
    x, place = _not_along_rows(_RUNNING[context.name], cast(x, context.dtype), dim)
    return tidy(Value(build.scan(_RUNNING[context.name], x.tensor, place), x.groups))


def _not_along_rows(fn: str, x: Value, dim: int) -> tuple[Value, int]:
    """The value with a single axis to run along, and that axis."""
    if any(isinstance(factor, str) for factor in x.factors(dim)):
        raise NotFused(f"a running {fn} over the rows")
    return one_axis(x, dim)


@lowers("cummax", "cummin")
def cumulative_extreme(context: Context, x: Value, dim: int) -> Any:
    """torch's place is the last one that has the running extreme, which is NaN from the first NaN on."""
    fn = context.name.removeprefix("cum")
    one, place = _not_along_rows(fn, x, dim)
    running, numbers = build.scan(fn, one.tensor, place), one.tensor
    is_new = build.apply("eq", numbers, running)
    if one.dtype.is_float:
        is_new = build.apply("or", is_new, build.apply("ne", numbers, numbers))
    at = build.view(build.iota(numbers.shape[place], INT64), numbers.shape, [axis(place)])
    last = build.scan("max", build.apply("where", is_new, at, build.filled(0, INT64, at.shape)), place)
    return tuple(tidy(Value(found, one.groups)) for found in (running, last))


@lowers("bucketize")
def bucketize(context: Context, x: Any, edges: Value, *, right: bool = False, **named: Any) -> Value:
    x, edges = context.compared(x, edges)
    return _edges_below(context, x, edges, right)


@lowers("searchsorted")
def searchsorted(
    context: Context, edges: Value, x: Any, *, right: bool = False, side: str | None = None, sorter: Any = None, **named: Any
) -> Value:
    if sorter is not None:
        raise NotFused("edges in an order that is given")
    edges, x = context.compared(edges, x)
    return _edges_below(context, x, edges, right or side == "right")


_FEW_EDGES = 128  # that a CPU counts in less time than it searches


def _edges_below(context: Context, x: Value, edges: Value, right: bool) -> Value:
    """How many edges are below; NaN is above all. A few edges whose order is known are counted."""
    if edges.size(-1) > _FEW_EDGES or not are_in_order(edges):
        return cast(_searched(x, edges, right), context.dtype)
    apart, edges = unsqueezed(x, x.rank), unsqueezed(edges, -2) if edges.rank > 1 else edges
    below = apply("not", apply("gt" if right else "ge", edges, apart))
    return cast(reduced("sum", cast(below, INT64), [-1]), context.dtype)


def are_in_order(edges: Value) -> bool:
    known = known_numbers(edges)
    return known is not None and bool((np.diff(known) >= 0).all())


def _searched(x: Value, edges: Value, right: bool) -> Value:
    """Among the edges of all, or of each line of x."""
    edges = to_shape(edges, [*(x.factors(dim) for dim in range(x.rank - 1)), edges.factors(edges.rank - 1)])
    edges, x, index = in_axis(edges, -1, x)
    return tidy(Value(build.lookup(lambda at: ops.Search(at, right), edges.tensor, x.tensor, index), x.groups))
