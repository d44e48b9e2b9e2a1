# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Addresses in loops: numbers that are affine in loop variables, and how views compose to them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tensoa.compiler import operations as ops
from tensoa.compiler.operations import Affine
from tensoa.compiler.tensors import Tensor
from tensoa.dtypes import DType


@dataclass(frozen=True)
class Linear:
    """offset + the sum of factor * loop variable."""

    offset: int = 0
    terms: dict[str, int] = field(default_factory=dict)

    def plus(self, other: "Linear", times: int = 1) -> "Linear":
        terms = dict(self.terms)
        for name, factor in other.terms.items():
            terms[name] = terms.get(name, 0) + factor * times
        return Linear(self.offset + other.offset * times, {name: factor for name, factor in terms.items() if factor})

    def times(self, factor: int) -> "Linear":
        return self if factor == 1 else Linear().plus(self, factor)

    def step(self, variable: str | None) -> int:
        return self.terms.get(variable, 0) if variable else 0

    def without(self, *variables: str) -> "Linear":
        return Linear(self.offset, {name: factor for name, factor in self.terms.items() if name not in variables})

    def text(self) -> str:
        parts = [name if factor == 1 else f"{name} * {factor}" for name, factor in self.terms.items()]
        return " + ".join([*parts, *([str(self.offset)] if self.offset or not parts else [])])


def variable(name: str) -> Linear:
    return Linear(0, {name: 1})


#: The index of each axis of a tensor; None for rows, which are read by the row itself.
Indices = Sequence[Linear | None]


def applied(one: Affine, index: Indices) -> Linear:
    """An affine of coordinates, of which rows are left out."""
    total = Linear(one.offset)
    for number, factor in one.terms:
        at = index[number]
        if at is not None:
            total = total.plus(at, factor)
    return total


def through_view(op: ops.View, x: Tensor, index: Indices) -> Indices:
    """The index of the argument of a view."""
    return [None if isinstance(size, str) else applied(one, index) for one, size in zip(op.index, x.shape)]


def base_of(tensor: Tensor) -> Tensor:
    """The tensor below a view."""
    return base_of(tensor.args[0]) if isinstance(tensor.op, ops.View) else tensor


def through(tensor: Tensor, index: Indices) -> tuple[Tensor, Indices]:
    """The tensor that a view is of, and its index."""
    if not isinstance(tensor.op, ops.View):
        return tensor, index
    return through(tensor.args[0], through_view(tensor.op, tensor.args[0], index))


def index_of(tensor: Tensor) -> list[Linear | None]:
    """The index of an element: a variable for each axis that is not of rows."""
    return [None if isinstance(size, str) else variable(f"i{i}") for i, size in enumerate(tensor.shape)]


def far_source(tensor: Tensor, index: Indices) -> tuple[Tensor, Indices]:
    """The tensor of gathered rows, and the index of an element there."""
    assert isinstance(tensor.op, ops.Gather)
    here, x = [None if one is None else applied(one, index) for one in tensor.op.index], tensor.args[0]
    return through(x, [None if isinstance(size, str) else one for size, one in zip(x.shape, here)])


def strides_of(tensor: Tensor, order: Sequence[int] | None) -> list[int]:
    """Of the elements of a row in memory between stages, in an order of its axes."""
    places = [i for i, size in enumerate(tensor.shape) if isinstance(size, int)]
    order = order or places
    steps = row_major([size for number in order if isinstance(size := tensor.shape[number], int)])
    return [steps[order.index(place)] for place in places]


def row_major(sizes: Sequence[int]) -> list[int]:
    return [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]


def flat(index: Indices, strides: Sequence[int]) -> Linear:
    """The element of a row, by the strides of the axes that are not rows."""
    total = Linear()
    for one, stride in zip([one for one in index if one is not None], strides):
        total = total.plus(one, stride)
    return total


def width_of(dtype: DType) -> int:
    """Bytes of a number in scratch memory: integers of up to 32 bits and truth values are int32, short floats are float."""
    return 8 if dtype.name in ("float64", "int64") else 4


def elements_of(tensor: Tensor) -> int:
    """Of a row."""
    return math.prod(tensor.inner)


def buffer_pitch(tensor: Tensor) -> int:
    """Floats from row to row of memory between stages."""
    return -(-elements_of(tensor) // 16) * 16 * width_of(tensor.dtype) // 4
