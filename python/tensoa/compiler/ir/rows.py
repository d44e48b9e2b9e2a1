# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors of a model as arrays of planes.

A tensor with rows is an array of planes, with the dimension of the rows left at size 1: what moves numbers about (permute,
cat, select, expand …) moves planes here and costs nothing when the program runs.
"""

import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensoa.compiler.errors import NotFused
from tensoa.compiler.ir.integers import Step
from tensoa.compiler.ir.program import Value
from tensoa.dtypes import FLOAT32, DType


@dataclass(frozen=True)
class InputPlane:
    """A plane of an input block, not yet used as a number or as an index."""

    block: int
    plane: int
    dtype: str  # of the column
    domain: int
    is_scalar: bool  # one number for all rows
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Double:
    """A number of float64: number `at` of a value of words (program.py)."""

    value: Value
    at: int

    @property
    def words(self) -> tuple[tuple[Value, int], tuple[Value, int]]:
        """The planes of the high word and of the low one."""
        return (self.value, self.at), (self.value, self.at + self.value.width // 2)


@dataclass(frozen=True)
class RowNumber:
    """`times` the number of the row, and a plane, or a number: the place of an element among those of all rows."""

    times: int
    plane: Any


@dataclass(eq=False)
class Rows:
    """A tensor with rows: `planes` has its shape, with 1 in the place `axis` of the rows. A plane is an InputPlane, a
    (Value, number in its row), a Double, a RowNumber, or a Python number, the same in all rows.

    A dimension that is rows and elements in one, as after view(-1, F), has the elements of one row in that place; `outer`
    of them vary more slowly than the rows.
    """

    planes: np.ndarray
    axis: int
    domain: int
    dtype: DType = FLOAT32  # of the model's tensor
    outer: int = 1

    @property
    def is_integer(self) -> bool:
        return self.dtype.is_integer

    @property
    def has_doubles(self) -> bool:
        return any(isinstance(plane, Double) for plane in self.planes.reshape(-1))

    @property
    def are_columns(self) -> bool:
        """Whether these are columns, as they are or after steps."""
        return all(isinstance(plane, InputPlane) for plane in self.planes.reshape(-1))


def plane_array(shape: Sequence[int], items: Sequence[Any]) -> np.ndarray:
    """An array of planes of this shape (one -1 stands for what is left)."""
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        array[i] = item
    return array.reshape(shape)


def key_of(plane: Any) -> Any:
    """A plane as a key: of numbers those of a double, since 0 == -0 and NaN != NaN."""
    return struct.pack("d", plane) if isinstance(plane, (int, float)) else plane


def numbers_of(constant: Any) -> tuple[tuple[int, ...], list[Any]]:
    """(shape, all numbers in order) of a number of Python, or of an array (NumPy's or torch's)."""
    if isinstance(constant, float):
        return (), [float(np.float32(constant))]  # as a tensor of it
    if isinstance(constant, int):
        return (), [constant]
    return tuple(constant.shape), constant.reshape(-1).tolist()


def need_rows(*tensors: Any) -> None:
    """Raises NotFused for a tensor that has rows and elements in one dimension."""
    for tensor in tensors:
        if isinstance(tensor, Rows) and tensor.planes.shape[tensor.axis] != 1:
            raise NotFused("rows and elements in one dimension")


def permute(tensor: Rows, dims: Iterable[int]) -> Rows:
    dims = [dim % tensor.planes.ndim for dim in dims]
    return Rows(tensor.planes.transpose(dims), dims.index(tensor.axis), tensor.domain)


def transpose(tensor: Rows, a: int, b: int) -> Rows:
    dims = list(range(tensor.planes.ndim))
    dims[a], dims[b] = dims[b], dims[a]
    return permute(tensor, dims)


def reshape(tensor: Rows, shape: Sequence[int], axis: int) -> Rows:
    """To a shape with the elements of one row (1 as a rule) at `axis`, where the rows are then."""
    before = math.prod(tensor.planes.shape[: tensor.axis]) * tensor.outer
    if before % math.prod(shape[:axis]) != 0:
        raise NotFused("a reshape across the rows")
    outer = before // math.prod(shape[:axis])
    if shape[axis] % outer != 0:
        raise NotFused("a reshape across the rows")
    return replace(tensor, planes=tensor.planes.reshape(shape), axis=axis, outer=outer)


def select(tensor: Rows, dim: int, at: int) -> Rows:
    """Without a dimension: element `at` of it."""
    dim %= tensor.planes.ndim
    if dim == tensor.axis:
        raise NotFused("one row taken out of all")
    return Rows(tensor.planes.take(at, axis=dim), tensor.axis - (dim < tensor.axis), tensor.domain)


def take(tensor: Rows, dim: int, places: Any) -> Rows:
    """Elements of a dimension: a slice, or an array of places."""
    dim %= tensor.planes.ndim
    if dim == tensor.axis:
        raise NotFused("some of the rows taken out of all")
    if isinstance(places, slice):
        return Rows(tensor.planes[(slice(None),) * dim + (places,)], tensor.axis, tensor.domain)
    return Rows(tensor.planes.take(places, axis=dim), tensor.axis, tensor.domain)


def unfold(tensor: Rows, dim: int, size: int, step: int) -> Rows:
    """Windows of a dimension, with their elements in a new last one."""
    dim %= tensor.planes.ndim
    starts = np.arange(0, tensor.planes.shape[dim] - size + 1, step)
    found = take(tensor, dim, starts[:, None] + np.arange(size))
    return replace(found, planes=np.moveaxis(found.planes, dim + 1, -1), axis=tensor.axis)


def split(tensor: Rows, sizes: int | Sequence[int], dim: int = 0) -> list[Rows]:
    dim %= tensor.planes.ndim
    if dim == tensor.axis:
        raise NotFused("some of the rows taken out of all")
    if isinstance(sizes, int):
        sizes = [sizes] * -(-tensor.planes.shape[dim] // sizes)
    return [Rows(part, tensor.axis, tensor.domain) for part in np.split(tensor.planes, np.cumsum(sizes)[:-1], axis=dim)]


def unsqueeze(tensor: Rows, dim: int) -> Rows:
    dim %= tensor.planes.ndim + 1
    return Rows(np.expand_dims(tensor.planes, dim), tensor.axis + (dim <= tensor.axis), tensor.domain)


def squeeze(tensor: Rows, dims: int | Sequence[int]) -> Rows:
    rank = tensor.planes.ndim
    dims = [dim % rank for dim in ([dims] if isinstance(dims, int) else dims)]
    dims = [dim for dim in dims if dim != tensor.axis and tensor.planes.shape[dim] == 1]
    axis = tensor.axis - sum(dim < tensor.axis for dim in dims)
    return Rows(tensor.planes.squeeze(tuple(dims)), axis, tensor.domain)


def concatenate(tensors: Sequence[Any], dim: int = 0) -> Rows:
    first = next(tensor for tensor in tensors if isinstance(tensor, Rows))
    dim %= first.planes.ndim
    planes = []
    for tensor in tensors:
        if not isinstance(tensor, Rows):
            raise NotFused("a constant that differs from row to row")
        if tensor.domain != first.domain:
            raise NotFused("tensors of different rows side by side")
        planes.append(tensor.planes)
    if dim == first.axis:
        need_rows(*tensors)
        return replace(first, planes=np.concatenate(planes, axis=dim), outer=len(planes))
    return Rows(np.concatenate(planes, axis=dim), first.axis, first.domain)


def diagonal(tensor: Rows, offset: int = 0, a: int = 0, b: int = 1) -> Rows:
    a, b = a % tensor.planes.ndim, b % tensor.planes.ndim
    if tensor.axis in (a, b):
        raise NotFused("a diagonal across the rows")
    axis = tensor.axis - (a < tensor.axis) - (b < tensor.axis)
    return Rows(tensor.planes.diagonal(offset, a, b), axis, tensor.domain)


def flip(tensor: Rows, dims: Iterable[int]) -> Rows:
    dims = [dim % tensor.planes.ndim for dim in dims]
    if tensor.axis in dims:
        raise NotFused("rows in reverse order")
    return replace(tensor, planes=np.flip(tensor.planes, tuple(dims)))


def roll(tensor: Rows, shifts: Sequence[int], dims: Sequence[int] = ()) -> Rows:
    dims = [dim % tensor.planes.ndim for dim in dims]
    if tensor.axis in dims or not dims:
        raise NotFused("rows moved to others")
    return replace(tensor, planes=np.roll(tensor.planes, shifts, dims))


def pad(tensor: Rows, widths: Sequence[int], number: float = 0.0) -> Rows:
    """`widths`: before and after, of the last dimension, then of the one before it, …; negative ones cut elements."""
    pairs = [(0, 0)] * (tensor.planes.ndim - len(widths) // 2) + list(zip(widths[::2], widths[1::2]))[::-1]
    if any(pairs[tensor.axis]):
        raise NotFused("more or fewer rows")
    cut = tuple(slice(max(0, -first), size - max(0, -last)) for (first, last), size in zip(pairs, tensor.planes.shape))
    more = [(max(0, first), max(0, last)) for first, last in pairs]
    return replace(tensor, planes=np.pad(tensor.planes[cut], more, constant_values=float(number)))
