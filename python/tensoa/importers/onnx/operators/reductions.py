# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Sums, extremes and their places along axes."""

import math
from collections.abc import Callable

import torch

from tensoa.importers.onnx.operators.table import Results, operator
from tensoa.importers.onnx.values import Call

Reduction = Callable[[torch.Tensor, list[int], bool], torch.Tensor]  # over axes, which may be kept


def _axes(call: Call, rank: int) -> list[int] | None:
    """The axes of a reduction, from the first; None where nothing is reduced."""
    since = 13 if call.node.operator == "ReduceSum" else 18
    given = call.attribute("axes") if call.opset < since else call.numbers(1) if call.has(1) else None
    is_nothing = call.attribute("noop_with_empty_axes", 0)
    if not given:
        return None if is_nothing else list(range(rank))
    return sorted({call.axis(axis, rank) for axis in given})


def _extreme(function: Reduction, least: float) -> Reduction:
    """Of numbers, and of truth values, which torch does not order; `least` is that of no numbers."""

    def reduce(x: torch.Tensor, axes: list[int], keep: bool) -> torch.Tensor:
        if x.dtype == torch.bool:
            return reduce(x.to(torch.int8), axes, keep) > 0
        if any(isinstance(x.shape[axis], int) and x.shape[axis] == 0 for axis in axes):
            sizes = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
            number = least if x.is_floating_point() else torch.iinfo(x.dtype).max * (1 if least > 0 else -1)
            full = torch.full(sizes, number, dtype=x.dtype, device=x.device)
            return full if keep else full.sum(axes, dtype=x.dtype)
        return function(x, axes, keep)

    return reduce


def _product(x: torch.Tensor, axes: list[int], keep: bool) -> torch.Tensor:
    for axis in reversed(axes):
        x = x.prod(axis, keepdim=keep, dtype=x.dtype)
    return x


def _sum(x: torch.Tensor, axes: list[int], keep: bool) -> torch.Tensor:
    return x.sum(axes, keepdim=keep, dtype=x.dtype) if axes else x


def _mean(x: torch.Tensor, axes: list[int], keep: bool) -> torch.Tensor:
    if x.is_floating_point():
        return x.mean(axes, keepdim=keep) if axes else x
    count = math.prod(x.shape[axis] for axis in axes)
    return torch.div(_sum(x, axes, keep), count, rounding_mode="trunc")


def _as_floats(function: Reduction) -> Reduction:
    """Of integers, in floats between."""

    def reduce(x: torch.Tensor, axes: list[int], keep: bool) -> torch.Tensor:
        floats = x if x.is_floating_point() else x.double()
        return function(floats, axes, keep).to(x.dtype)

    return reduce


REDUCTIONS: dict[str, Reduction] = {
    "ReduceSum": _sum,
    "ReduceMean": _mean,
    "ReduceProd": _product,
    "ReduceMax": _extreme(torch.amax, -math.inf),
    "ReduceMin": _extreme(torch.amin, math.inf),
    "ReduceL1": lambda x, axes, keep: _sum(x.abs(), axes, keep),
    "ReduceL2": _as_floats(lambda x, axes, keep: torch.sqrt(_sum(x * x, axes, keep))),
    "ReduceSumSquare": lambda x, axes, keep: _sum(x * x, axes, keep),
    "ReduceLogSum": _as_floats(lambda x, axes, keep: torch.log(_sum(x, axes, keep))),
    "ReduceLogSumExp": _as_floats(lambda x, axes, keep: torch.logsumexp(x, axes, keep) if axes else x),
}


def _reduction(call: Call) -> Results:
    x = call.tensor(0)
    axes, keep = _axes(call, x.dim()), bool(call.attribute("keepdims", 1))
    function = REDUCTIONS[call.node.operator]
    return function(x, [] if axes is None else axes, keep) if axes is None or axes else function(x[None], [0], False)


operator(*REDUCTIONS)(_reduction)


@operator("ArgMax", "ArgMin")
def _place(call: Call) -> Results:
    x = call.tensor(0)
    axis, keep = call.axis(call.attribute("axis", 0), x.dim()), bool(call.attribute("keepdims", 1))
    function = torch.argmax if call.node.operator == "ArgMax" else torch.argmin
    if not call.attribute("select_last_index", 0):
        return function(x, axis, keep)
    return x.shape[axis] - 1 - function(x.flip(axis), axis, keep)


@operator("TopK")
def _top_k(call: Call) -> Results:
    x, count = call.tensor(0), call.integer(1)
    call.ignore("sorted")  # they always are
    axis = call.axis(call.attribute("axis", -1), x.dim())
    values, places = torch.sort(x, dim=axis, descending=bool(call.attribute("largest", 1)), stable=True)
    return values.narrow(axis, 0, count), places.narrow(axis, 0, count)


@operator("CumSum")
def _cumulative_sum(call: Call) -> Results:
    x, axis = call.tensor(0), call.axis(call.integer(1), call.tensor(0).dim())
    is_reverse = call.attribute("reverse", 0)
    x = x.flip(axis) if is_reverse else x
    total = torch.cumsum(x, axis, dtype=x.dtype)
    if call.attribute("exclusive", 0):
        total = torch.cat([torch.zeros_like(total.narrow(axis, 0, 1)), total.narrow(axis, 0, x.shape[axis] - 1)], axis)
    return total.flip(axis) if is_reverse else total


def _hardmax(x: torch.Tensor, axis: int) -> torch.Tensor:
    place = torch.argmax(x, axis, keepdim=True)
    shape = [1] * x.dim()
    shape[axis] = x.shape[axis]
    return (torch.arange(x.shape[axis], device=x.device).reshape(shape) == place).to(x.dtype)


CHOICES: dict[str, Callable[[torch.Tensor, int], torch.Tensor]] = {
    "Softmax": torch.softmax,
    "LogSoftmax": torch.log_softmax,
    "Hardmax": _hardmax,
}


@operator(*CHOICES)
def _choice(call: Call) -> Results:
    """Before opset 13 over all dimensions from the axis on."""
    x, function = call.tensor(0), CHOICES[call.node.operator]
    if call.opset >= 13:
        return function(x, call.axis(call.attribute("axis", -1), x.dim()))
    axis = call.axis(call.attribute("axis", 1), x.dim()) if x.dim() > 1 else 0
    return function(x, axis) if axis == x.dim() - 1 else function(x.flatten(axis), axis).reshape(x.shape)
