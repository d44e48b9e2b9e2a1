# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Floats that are joined by place with the same bits in every order, where the order of rows is that of the moment.

Numbers become integers, multiples of one power of two for each place, which leaves room for all of them; sums of these
have no order (the pre-rounding of Demmel and Nguyen, "Fast reproducible floating-point summation", 2013, with integers). The
largest number, the least one, and the count have no order either. A number is off by less than 2^-60 of the largest one times
their count, and the sum is rounded once.
"""

import math

from tensoa.compiler import build
from tensoa.compiler import operations as ops
from tensoa.compiler.errors import NotFused
from tensoa.compiler.functions import JOININGS
from tensoa.compiler.operations import affine, axis
from tensoa.compiler.program import Program, transformed
from tensoa.compiler.schedule.stages import joins_rows
from tensoa.compiler.tensors import Tensor
from tensoa.dtypes import DTYPES, INT64

FLOAT64 = DTYPES["float64"]

_BITS = 61  # of a sum, at most


def depends_on_order(tensor: Tensor) -> bool:
    """Whether bits of the result depend on the order in which rows are joined."""
    if not isinstance(tensor.op, ops.Scatter) or not joins_rows(tensor):
        return False
    return tensor.dtype.is_float and not JOININGS[tensor.op.fn].is_choice


def with_the_same_bits(program: Program) -> Program:
    """Raises NotFused for products of rows."""
    return transformed(program, _joined, "the same bits")


def _joined(tensor: Tensor) -> Tensor | None:
    if not depends_on_order(tensor):
        return None
    assert isinstance(tensor.op, ops.Scatter)
    if tensor.op.fn == "sum":
        return _sum(tensor, *tensor.args)
    if tensor.op.fn == "logaddexp":
        return _logarithm(tensor, *tensor.args)
    raise NotFused(f"a joining whose bits depend on the order of its rows ({tensor!r})")


def _number(value: float, like: Tensor) -> Tensor:
    return build.filled(value, like.dtype, like.shape)


def _is_finite(x: Tensor) -> Tensor:
    return build.apply("lt", build.apply("abs", x), _number(math.inf, x))


def _at_places(result: Tensor, tensor: Tensor, places: Tensor) -> Tensor:
    """The number that each joined number is joined to; `result` is as long as `tensor`, a scatter."""
    op = tensor.op
    assert isinstance(op, ops.Scatter)
    axes = range(len(places.shape))
    if op.size == 1:
        return build.view(result, places.shape, [affine(0) if i == op.axis else axis(i) for i in axes])
    return build.gather(result, places, [None if i == op.axis else axis(i) for i in axes])


def _counted(tensor: Tensor, places: Tensor) -> Tensor:
    """The numbers that are joined to each place, or more."""
    op = tensor.op
    assert isinstance(op, ops.Scatter)
    used = {op.axis}
    if isinstance(places.op, ops.View):
        used |= {number for one in places.op.index for number, _ in one.terms}
    else:
        used |= set(range(len(places.shape)))
    for i, size in enumerate(places.shape):  # a place that all elements have is counted once
        places = places if i in used or isinstance(size, str) else build.part(places, i, 0, 1)
    count = build.scatter("sum", build.filled(1, INT64, places.shape), places, op.axis, op.size)
    return build.expand(count, tensor.shape, range(len(tensor.shape)))


def _sum(tensor: Tensor, x: Tensor, places: Tensor) -> Tensor:
    op = tensor.op
    assert isinstance(op, ops.Scatter)
    largest, least = (build.scatter(fn, x, places, op.axis, op.size) for fn in ("max", "min"))
    largest = build.apply("maximum", largest, _number(0, largest))  # where nothing is joined they are infinite
    least = build.apply("minimum", least, _number(0, least))
    size = build.apply("maximum", largest, build.apply("neg", least))
    special = build.apply("add", largest, least)  # infinities and NaN
    bits = build.apply("add", *(build.apply("log2", build.cast(one, FLOAT64)) for one in (size, _counted(tensor, places))))
    has_bits = build.apply("and", _is_finite(size), build.apply("gt", size, _number(0, size)))
    exponent = build.apply("sub", _number(_BITS, bits), build.apply("ceil", bits))
    exponent = build.apply("where", has_bits, exponent, _number(0, exponent))
    whole = _scaled(build.cast(x, FLOAT64), _at_places(exponent, tensor, places), 1)
    integers = build.cast(build.apply("round", whole), INT64)
    total = build.scatter("sum", integers, places, op.axis, op.size)
    result = build.cast(_scaled(build.cast(total, FLOAT64), exponent, -1), tensor.dtype)
    return build.apply("where", _is_finite(size), result, special)


def _scaled(x: Tensor, exponent: Tensor, sign: int) -> Tensor:
    """x times the power of two, by two factors, as one may be no float64."""
    half = build.apply("floor", build.apply("mul", exponent, _number(0.5, exponent)))
    for part in (half, build.apply("sub", exponent, half)):
        x = build.apply("mul", x, build.apply("exp2", part if sign > 0 else build.apply("neg", part)))
    return x


def _logarithm(tensor: Tensor, x: Tensor, places: Tensor) -> Tensor:
    """The logarithm of a sum of exponentials, by the largest number."""
    op = tensor.op
    assert isinstance(op, ops.Scatter)
    largest = build.scatter("max", x, places, op.axis, op.size)
    reference = build.apply("where", _is_finite(largest), largest, _number(0, largest))
    terms = build.apply("exp", build.apply("sub", x, _at_places(reference, tensor, places)))
    total = _joined(build.scatter("sum", terms, places, op.axis, op.size))
    assert total is not None
    return build.apply("add", reference, build.apply("log", total))
