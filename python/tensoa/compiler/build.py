# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Makers of typed tensors: constants, and views by their names. A view of a view is one view."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensoa.compiler import operations as ops
from tensoa.compiler.functions import Array
from tensoa.compiler.operations import Affine, affine, axis, same_but
from tensoa.compiler.tensors import Shape, Size, Tensor, make
from tensoa.dtypes import DType


def rounded(data: Array, dtype: DType) -> Array:
    """Floats as numbers of a short dtype, in float32; others as they are."""
    if dtype.name == "float16":
        with np.errstate(over="ignore"):
            return data.astype(np.float16).astype(np.float32)
    if dtype.name == "bfloat16":
        bits = np.array(data, np.float32).view(np.uint32).astype(np.uint64)
        nearest = (bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000).astype(np.uint32).view(np.float32)
        return np.where(np.isnan(data), np.float32(np.nan), nearest)
    return data


def constant(data: Any, dtype: DType) -> Tensor:
    array = np.array(data, dtype=ops.storage(dtype), order="C")
    array = rounded(array, dtype)
    array.flags.writeable = False
    return make(ops.Constant(dtype, array.shape, ops.digest_of(dtype, array), array))


def filled(value: float | int | bool, dtype: DType, shape: Shape) -> Tensor:
    """The same number in every place."""
    return view(constant(value, dtype), shape, ())


def apply(fn: str, *args: Tensor) -> Tensor:
    return make(ops.Map(fn), *args)


def cast(x: Tensor, dtype: DType) -> Tensor:
    return x if x.dtype == dtype else make(ops.Cast(dtype), x)


def reduce(fn: str, x: Tensor, axes: Sequence[int]) -> Tensor:
    return make(ops.Reduce(fn, tuple(sorted(axes))), x) if axes else x


def contract(x: Tensor, y: Tensor, left: str, right: str, out: str) -> Tensor:
    return make(ops.Contract(left, right, out), x, y)


def concat(parts: Sequence[Tensor], place: int) -> Tensor:
    return parts[0] if len(parts) == 1 else make(ops.Concat(place), *parts)


# ---- views


def composed(outer: Sequence[Affine], inner: Affine) -> Affine:
    """`inner` of coordinates that are `outer` of those of the result."""
    offset = inner.offset
    factors: dict[int, int] = {}
    for number, factor in inner.terms:
        offset += factor * outer[number].offset
        for other, times in outer[number].terms:
            factors[other] = factors.get(other, 0) + factor * times
    return affine(offset, *factors.items())


def view(x: Tensor, shape: Shape, index: Sequence[Affine]) -> Tensor:
    """A coordinate of an axis of size 1 is 0 and left out of the index."""
    index = tuple(affine(one.offset, *(term for term in one.terms if shape[term[0]] != 1)) for one in index)
    if isinstance(x.op, ops.View):
        return view(x.args[0], shape, [composed(index, one) for one in x.op.index])
    if shape == x.shape and all(one == axis(i) or x.shape[i] == 1 for i, one in enumerate(index)):
        return x
    return make(ops.View(shape, index), x)


def identity(x: Tensor) -> list[Affine]:
    return [axis(i) for i in range(len(x.shape))]


def permute(x: Tensor, order: Sequence[int]) -> Tensor:
    """Axis i of the result is axis order[i] of x."""
    return view(x, tuple(x.shape[i] for i in order), [axis(order.index(i)) for i in range(len(order))])


def expand(x: Tensor, shape: Shape, axes: Sequence[int]) -> Tensor:
    """Axis i of x is axis axes[i] of the result, or is repeated along it where its size is 1."""
    return view(x, shape, [affine(0) if size == 1 else axis(to) for size, to in zip(x.shape, axes)])


def split(x: Tensor, place: int, sizes: Sequence[int]) -> Tensor:
    """One axis as several, row-major."""
    n = len(sizes)
    index = [axis(i if i < place else i + n - 1) for i in range(len(x.shape))]
    index[place] = affine(0, *((place + j, math.prod(sizes[j + 1 :])) for j in range(n)))
    return view(x, (*x.shape[:place], *sizes, *x.shape[place + 1 :]), index)


def part(x: Tensor, place: int, start: int, size: int, step: int = 1) -> Tensor:
    """`size` elements along an axis, from `start` on."""
    shape = (*x.shape[:place], size, *x.shape[place + 1 :])
    return view(x, shape, same_but(identity(x), place, affine(start, (place, step))))


def select(x: Tensor, place: int, at: int) -> Tensor:
    """One element of an axis; the axis is gone."""
    index = [axis(i - (i > place)) for i in range(len(x.shape))]
    return view(x, (*x.shape[:place], *x.shape[place + 1 :]), same_but(index, place, affine(at)))


def with_axis(x: Tensor, place: int, size: Size = 1) -> Tensor:
    """A new axis along which x is repeated."""
    index = [axis(i + (i >= place)) for i in range(len(x.shape))]
    return view(x, (*x.shape[:place], size, *x.shape[place:]), index)


# ---- nodes with their own index


def lookup(
    of: Callable[[tuple[Affine | None, ...]], ops.Lookup], x: Tensor, numbers: Tensor, index: Sequence[Affine | None]
) -> Tensor:
    """`of`: the operation with an index."""
    shape = numbers.shape
    cleaned = [
        None if one is None else affine(one.offset, *(term for term in one.terms if shape[term[0]] != 1)) for one in index
    ]
    return make(of(tuple(cleaned)), x, numbers)


def gather(x: Tensor, places: Tensor, index: Sequence[Affine | None]) -> Tensor:
    return lookup(ops.Gather, x, places, index)


def scatter(fn: str, x: Tensor, places: Tensor, place: int, size: Size) -> Tensor:
    return make(ops.Scatter(fn, place, size), x, places)


def sort(x: Tensor, place: int, k: int, is_largest: bool = False) -> Tensor:
    return make(ops.Sort(place, k, is_largest), x)


def scan(fn: str, x: Tensor, place: int) -> Tensor:
    return make(ops.Scan(fn, place), x)


def iota(size: Size, dtype: DType) -> Tensor:
    return make(ops.Iota(size, dtype))


def column(block: int, planes: Sequence[int], dtype: DType, shape: Shape) -> Tensor:
    return make(ops.Column(block, tuple(planes), dtype, shape))
