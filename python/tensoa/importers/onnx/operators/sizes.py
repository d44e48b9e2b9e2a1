# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers that are known before the model runs: constants of shapes, and sizes, which may be symbols.

What is here runs on such numbers alone, so that shapes that are calculated from shapes stay known.
"""

import functools
import math
import operator as python
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tensoa.dtypes import name_of
from tensoa.importers.onnx.graph import DTYPES
from tensoa.importers.onnx.operators.table import Results, on_known, operator, required
from tensoa.importers.onnx.values import Call, Known, known


def _div(a: Any, b: Any) -> Any:
    """Rounds to zero."""
    if isinstance(a, int) and isinstance(b, int) and (a < 0) != (b < 0):
        return -(-a // b)
    return a // b


ARITHMETIC: dict[str, Callable] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Neg": lambda a: -a,
    "Abs": abs,
    "Identity": lambda a: a,
    "Max": lambda *numbers: max(numbers),
    "Min": lambda *numbers: min(numbers),
    "Div": _div,
}
COMPARISONS: dict[str, Callable] = {
    "Equal": lambda a, b: bool(a == b),
    "Greater": lambda a, b: bool(a > b),
    "GreaterOrEqual": lambda a, b: bool(a >= b),
    "Less": lambda a, b: bool(a < b),
    "LessOrEqual": lambda a, b: bool(a <= b),
    "Not": lambda a: not a,
    "And": lambda a, b: bool(a and b),
    "Or": lambda a, b: bool(a or b),
}


def _each(function: Callable, call: Call, dtype: Any = None) -> Known:
    arrays = [call.array(i) for i in range(len(call.inputs))]
    return known(np.frompyfunc(function, len(arrays), 1)(*arrays), dtype or arrays[0].dtype)


@on_known(*ARITHMETIC)
def _arithmetic(call: Call) -> Results:
    return _each(ARITHMETIC[call.node.operator], call)


@on_known(*COMPARISONS)
def _comparison(call: Call) -> Results:
    return _each(COMPARISONS[call.node.operator], call, bool)


@on_known("Where")
def _where(call: Call) -> Results:
    return _each(lambda condition, a, b: a if condition else b, call, call.array(1).dtype)


@on_known("Mod")
def _mod(call: Call) -> Results:
    function = (lambda a, b: a - _div(a, b) * b) if call.attribute("fmod", 0) else python.mod
    return _each(function, call)


@on_known("Cast")
def _cast(call: Call) -> Results:
    call.ignore("saturate", "round_mode")
    dtype = DTYPES.get(call.attribute("to"))
    if dtype == torch.bool:
        return _each(lambda number: bool(number != 0), call, bool)
    if dtype not in (torch.int32, torch.int64):
        return required("", "Cast", call.opset)(call)
    return known(call.array(0).astype(object), name_of(dtype))


@on_known("ReduceProd")
def _product(call: Call) -> Results:
    return _reduced(call, python.mul, 1)


@on_known("ReduceSum")
def _sum(call: Call) -> Results:
    return _reduced(call, python.add, 0)


def _reduced(call: Call, function: Callable, first: int) -> Results:
    """Over all numbers of a list."""
    array = call.array(0)
    axes = call.numbers(1) if call.has(1) else call.attribute("axes") or []
    call.ignore("axes", "noop_with_empty_axes")
    if array.ndim != 1 or (not axes and call.attribute("noop_with_empty_axes", 0)):
        return required("", call.node.operator, call.opset)(call)
    total = functools.reduce(function, array.tolist(), first)
    return known([total] if call.attribute("keepdims", 1) else total, array.dtype)


@operator("Shape")
def _shape(call: Call) -> Results:
    value = call.value(0)
    shape = [*(value.array if isinstance(value, Known) else value).shape]
    start, end = call.attribute("start", 0), call.attribute("end", len(shape))
    return known(shape[slice(start, end)])


@operator("Size")
def _size(call: Call) -> Results:
    return known(functools.reduce(python.mul, call.tensor(0).shape, 1))


@operator("Range")
def _range(call: Call) -> Results:
    if call.is_known:
        first, last, step = (call.integer(i) for i in range(3))
        if all(isinstance(number, int) for number in (first, last, step)):
            call.check_size([max(0, -((first - last) // step))])
            return known(np.arange(first, last, step, dtype=call.array(0).dtype))
        return torch.arange(first, last, step, device=call.device)
    numbers = [call.array(i).item() for i in range(3)]
    call.check_size([max(0, math.ceil((numbers[1] - numbers[0]) / numbers[2]))])
    dtype = call.tensor(0).dtype
    return torch.arange(*numbers, dtype=dtype, device=call.device)
