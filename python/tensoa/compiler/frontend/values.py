# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Values of the front end: tensors of torch as typed tensors.

torch merges axes ([rows, heads, width] becomes [rows, heads * width]), which is not an affine view. Here it costs nothing: an
axis of torch is a group of axes of the typed tensor, row-major, so that merging only changes the groups and splitting is a
view. An axis of size 1 is a group of no axes.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tensoa.compiler import build
from tensoa.compiler import operations as ops
from tensoa.compiler.errors import NotFused
from tensoa.compiler.functions import Array
from tensoa.compiler.interpret import constant_value
from tensoa.compiler.operations import affine, axis
from tensoa.compiler.tensors import Size, Tensor
from tensoa.dtypes import DType

Factors = list[Size]  # whose product is a size of torch, row-major


@dataclass(frozen=True)
class Value:
    """`groups`: how many axes of `tensor` each axis of torch is."""

    tensor: Tensor
    groups: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.groups)

    @property
    def dtype(self) -> DType:
        return self.tensor.dtype

    def axes(self, dim: int) -> range:
        """The axes of `tensor` that an axis of torch is."""
        dim = self.dim(dim)
        start = sum(self.groups[:dim])
        return range(start, start + self.groups[dim])

    def dim(self, dim: int) -> int:
        return dim % self.rank if self.rank else 0

    def factors(self, dim: int) -> Factors:
        return [self.tensor.shape[i] for i in self.axes(dim)]

    def size(self, dim: int) -> int:
        """Of an axis that has no rows."""
        return math.prod(fixed(self.factors(dim)))


@dataclass(frozen=True)
class Masked:
    """The elements of `value` where `mask`, which has its first axes, is true, one after the other: torch's value[mask]. Their
    number is known with the data only.
    """

    value: Value
    mask: Value


def fixed(factors: Iterable[Size]) -> list[int]:
    """Raises NotFused where a factor is a number of rows."""
    found = list(factors)
    for factor in found:
        if isinstance(factor, str):
            raise NotFused("an operation along the rows")
    return [factor for factor in found if isinstance(factor, int)]


def value_of(tensor: Tensor) -> Value:
    """Each axis of a tensor, but those of size 1, is one of torch."""
    kept = [i for i, size in enumerate(tensor.shape) if size != 1]
    index = [affine(0) if size == 1 else axis(kept.index(i)) for i, size in enumerate(tensor.shape)]
    slim = build.view(tensor, tuple(tensor.shape[i] for i in kept), index)
    return Value(slim, tuple(int(size != 1) for size in tensor.shape))


def replaced(value: Value, dim: int, tensor: Tensor, count: int) -> Value:
    """The value of `tensor`, in which axis `dim` of torch has `count` axes; the other axes are as before."""
    dim = value.dim(dim)
    return Value(tensor, (*value.groups[:dim], count, *value.groups[dim + 1 :]))


def flat(value: Value, dim: int) -> Value:
    """The value with one axis (or none) for an axis of torch: a copy where it was several."""
    axes = value.axes(dim)
    tensor = value.tensor
    while len(axes) > 1:
        (size,) = fixed(tensor.shape[axes[0] : axes[0] + 1])
        fixed(tensor.shape[axes[1] : axes[1] + 1])
        tensor = build.concat([build.select(tensor, axes[0], i) for i in range(size)], axes[0])
        axes = axes[:-1]
    return replaced(value, dim, tensor, len(axes))


def common(a: Factors, b: Factors) -> Factors | None:
    """Factors of which both are made; None where there are none."""
    a, b, found = list(a), list(b), Factors()
    while a and b:
        x, y = a.pop(0), b.pop(0)
        if x == y:
            found.append(x)
        elif isinstance(x, int) and isinstance(y, int) and y % x == 0:
            found.append(x)
            b.insert(0, y // x)
        elif isinstance(x, int) and isinstance(y, int) and x % y == 0:
            found.append(y)
            a.insert(0, x // y)
        else:
            return None
    return found if not a and not b else None


def refined(value: Value, dim: int, factors: Factors) -> Value:
    """An axis of torch as these factors: splits axes, and copies where that is not enough."""
    tensor, place = value.tensor, value.axes(dim).start
    if common(value.factors(dim), factors) != factors:
        value = flat(value, dim)
        return refined(value, dim, factors) if common(value.factors(dim), factors) == factors else _refuse(value, dim, factors)
    for i, factor in enumerate(factors):
        size = tensor.shape[place + i]
        if size != factor:
            assert isinstance(size, int) and isinstance(factor, int)
            tensor = build.split(tensor, place + i, (factor, size // factor))
    return replaced(value, dim, tensor, len(factors))


def _refuse(value: Value, dim: int, factors: Factors) -> Value:
    raise NotFused(f"an axis of {' x '.join(map(str, value.factors(dim)))} elements as {' x '.join(map(str, factors))}")


def agreed(values: Sequence[Value], dim: int) -> tuple[list[Value], Factors]:
    """Values with the same factors of an axis of torch, but those where its size is 1."""
    factors: Factors = []
    for value in values:
        own = value.factors(dim)
        if own and factors and common(factors, own) is None:
            if all(one.groups[dim] <= 1 for one in values):
                raise NotFused(f"axes of {' x '.join(map(str, factors))} and {' x '.join(map(str, own))} elements together")
            return agreed([flat(one, dim) if one.groups[dim] > 1 else one for one in values], dim)
        factors = (common(factors, own) or own) if own and factors else own or factors
    return [refined(value, dim, factors) if value.groups[dim] else value for value in values], factors


def broadcast(*values: Value) -> list[Value]:
    """The values in one shape, as torch does it."""
    rank = max(value.rank for value in values)
    found = [Value(value.tensor, (0,) * (rank - value.rank) + value.groups) for value in values]
    shape: list[Size] = []
    groups = []
    for dim in range(rank):
        found, factors = agreed(found, dim)
        shape += factors
        groups.append(len(factors))
    return [Value(_expanded(value, tuple(shape), groups), tuple(groups)) for value in found]


def _expanded(value: Value, shape: tuple[Size, ...], groups: Sequence[int]) -> Tensor:
    index = []
    for dim, count in enumerate(value.groups):
        start = sum(groups[:dim])
        index += [axis(start + i) for i in range(count)]
    return build.view(value.tensor, shape, index)


def reshaped(value: Value, target: Sequence[Factors]) -> Value:
    """The elements in the same order in other axes of torch, the product of these factors each."""
    tensor, place = value.tensor, 0
    groups = []
    for factors in target:
        start = place
        rows, rest = [n for n in factors if isinstance(n, str)], math.prod(n for n in factors if isinstance(n, int))
        while rows or rest > 1:
            size = tensor.shape[place] if place < len(tensor.shape) else 0
            if size in rows:
                rows.remove(str(size))
            elif isinstance(size, str) or rest == 1:
                raise NotFused(f"rows in another order, {tensor.type} as {target}")
            else:
                tensor, rest = _taken(tensor, place, rest)
            place += 1
        groups.append(place - start)
    for size in tensor.shape[place:]:  # 1, as of the only place of a convolution
        if size != 1:
            raise NotFused("a shape of another number of elements")
        tensor = build.select(tensor, place, 0)
    return Value(tensor, tuple(groups))


def _taken(tensor: Tensor, place: int, wanted: int) -> tuple[Tensor, int]:
    """Makes axis `place` one that divides `wanted`: (the tensor, what is left of `wanted`)."""
    if place >= len(tensor.shape):
        raise NotFused("a shape of another number of elements")
    (size,) = fixed(tensor.shape[place : place + 1])
    if wanted % size == 0:
        return tensor, wanted // size
    if size % wanted == 0:
        return build.split(tensor, place, (wanted, size // wanted)), 1
    if place + 1 >= len(tensor.shape) or isinstance(tensor.shape[place + 1], str):
        raise NotFused("elements of different rows in one row")
    merged = build.concat([build.select(tensor, place, i) for i in range(size)], place)
    return _taken(merged, place, wanted)


# ---- what lowerings are made of


def to_shape(x: Value, shape: Sequence[Factors]) -> Value:
    """Repeated along new axes and those of size 1."""
    x = Value(x.tensor, (0,) * (len(shape) - x.rank) + x.groups)
    index, sizes, groups = [], list[Size](), []
    for dim, factors in enumerate(shape):
        own = x.factors(dim) or factors
        if x.groups[dim]:
            index += [axis(len(sizes) + i) for i in range(len(own))]
        sizes += own
        groups.append(len(own))
    return Value(build.view(x.tensor, tuple(sizes), index), tuple(groups))


def unsqueezed(value: Value, dim: int) -> Value:
    dim = dim % (value.rank + 1)
    return Value(value.tensor, (*value.groups[:dim], 0, *value.groups[dim:]))


def without(value: Value, dim: int, place: int = 0) -> Value:
    """One element of an axis of torch, which is gone."""
    tensor = value.tensor
    for number in reversed(value.axes(dim)):
        (size,) = fixed(tensor.shape[number : number + 1])
        tensor = build.select(tensor, number, place % size)
        place //= size
    dim = value.dim(dim)
    return Value(tensor, value.groups[:dim] + value.groups[dim + 1 :])


def permuted(value: Value, dims: Sequence[int]) -> Value:
    order = [number for dim in dims for number in value.axes(dim)]
    return Value(build.permute(value.tensor, order), tuple(value.groups[value.dim(dim)] for dim in dims))


def apply(fn: str, *values: Value) -> Value:
    """A function of numbers, after broadcasting."""
    found = broadcast(*values)
    return Value(build.apply(fn, *(value.tensor for value in found)), found[0].groups)


def cast(value: Value, dtype: DType) -> Value:
    return Value(build.cast(value.tensor, dtype), value.groups)


def number(x: float | int | bool, dtype: DType) -> Value:
    """As torch, numbers of Python that an integer does not hold wrap around. Raises NotFused for one that rows give."""
    if not isinstance(x, (bool, int, float, np.number)):
        raise NotFused(f"a number that is known with the rows only ({x})")
    if isinstance(x, int) and dtype.limits is not None and not dtype.is_bool:
        low, high = dtype.limits
        x = int(low + (x - low) % (high - low + 1))
    return Value(build.constant(x, dtype), ())


def known_numbers(value: Value) -> Array | None:
    """The numbers of a constant, in the shape of torch."""
    base = value.tensor.args[0] if isinstance(value.tensor.op, ops.View) else value.tensor
    if not isinstance(base.op, ops.Constant):
        return None
    return constant_value(value.tensor).reshape([value.size(dim) for dim in range(value.rank)])


def reduced(fn: str, value: Value, dims: Sequence[int], keeps: bool = False) -> Value:
    """`keeps`: the axes stay, of size 1."""
    found = {value.dim(dim) for dim in dims}
    tensor = build.reduce(fn, value.tensor, [number for dim in found for number in value.axes(dim)])
    groups = [0 if dim in found else count for dim, count in enumerate(value.groups)]
    return Value(tensor, tuple(count for dim, count in enumerate(groups) if keeps or dim not in found))
