# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Pools: a number for each window, dimension by dimension."""

import math
from collections.abc import Callable

import torch

from tensoa.importers.onnx.operators.table import Results, operator
from tensoa.importers.onnx.operators.windows import Pad, Windows, padded, windows
from tensoa.importers.onnx.values import Call, Refused


def _all_windows(call: Call, x: torch.Tensor) -> tuple[Windows, list[int]]:
    """(the windows, elements to add behind each dimension so that the last windows are whole)."""
    made = windows(call, x.shape[2:], call.attribute("kernel_shape"))
    automatic = call.attribute("auto_pad", "NOTSET")
    if automatic.startswith("SAME") and any(dilation != 1 for dilation in made.dilations):
        raise Refused(f"auto_pad {automatic} with dilations, which ONNX Runtime reads otherwise")
    ceil, more = call.attribute("ceil_mode", 0), []
    for elements, stride, span, (before, behind) in zip(x.shape[2:], made.strides, made.spans(), made.pads):
        room = elements + before + behind - span
        if room < 0:
            raise Refused(f"windows of {span} elements in {elements + before + behind}")
        count = -(-room // stride) if ceil else room // stride
        if ceil and count * stride >= elements + before:
            count -= 1  # a window that lies behind the picture
        more.append(max(0, count * stride - room))
    return made, more


def _reduced(x: torch.Tensor, made: Windows, reduce: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """`reduce(windows [..., size])`, for each dimension of the picture."""
    rank = len(made.sizes)
    for i, (size, stride, dilation, span) in enumerate(zip(made.sizes, made.strides, made.dilations, made.spans())):
        x = reduce(x.unfold(x.dim() - rank + i, span, stride)[..., ::dilation][..., :size])
    return x


def _with(pads: list[Pad], more: list[int]) -> list[Pad]:
    return [(before, behind + add) for (before, behind), add in zip(pads, more)]


@operator("MaxPool")
def _max(call: Call) -> Results:
    x = call.tensor(0)
    made, more = _all_windows(call, x)
    is_by_columns = call.attribute("storage_order", 0)
    least = -math.inf if x.is_floating_point() else torch.iinfo(x.dtype).min
    whole = padded(x, _with(made.pads, more), least)
    if len(call.node.outputs) == 1:
        return _reduced(whole, made, lambda one: one.amax(-1))
    sizes = list(x.shape[2:])
    places = torch.arange(math.prod(sizes), device=x.device)
    places = places.reshape(sizes[::-1]).permute(*reversed(range(len(sizes)))) if is_by_columns else places.reshape(sizes)
    images = torch.arange(x.shape[0] * x.shape[1], device=x.device).reshape(*x.shape[:2], *[1] * len(sizes))
    places = padded(places + images * math.prod(sizes), _with(made.pads, more), 0)
    return _with_places(whole, places, made)


def _with_places(x: torch.Tensor, places: torch.Tensor, made: Windows) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest of each window, and where it is: the first."""
    rank = len(made.sizes)
    for i in reversed(range(rank)):
        span, stride, dilation = made.spans()[i], made.strides[i], made.dilations[i]
        axis = x.dim() - rank + i
        values, indices = (one.unfold(axis, span, stride)[..., ::dilation] for one in (x, places))
        at = values.argmax(-1, keepdim=True)
        x, places = values.gather(-1, at).squeeze(-1), indices.gather(-1, at).squeeze(-1)
    return x, places


@operator("AveragePool")
def _average(call: Call) -> Results:
    x = call.tensor(0)
    made, more = _all_windows(call, x)
    ones = torch.ones((1, 1, *x.shape[2:]), dtype=x.dtype, device=x.device)
    if call.attribute("count_include_pad", 0):
        ones = padded(padded(ones, made.pads, 1.0), [(0, add) for add in more])
    else:
        ones = padded(ones, _with(made.pads, more))
    total, count = (_reduced(one, made, lambda part: part.sum(-1)) for one in (padded(x, _with(made.pads, more)), ones))
    return total / count


@operator("LpPool")
def _norm(call: Call) -> Results:
    x, order = call.tensor(0), call.attribute("p", 2)
    made, more = _all_windows(call, x)
    powers = padded(x.abs() ** order, _with(made.pads, more))
    return _reduced(powers, made, lambda one: one.sum(-1)) ** (1 / order)


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def _global(call: Call) -> Results:
    x = call.tensor(0)
    axes = list(range(2, x.dim()))
    if call.node.operator == "GlobalMaxPool":
        return x.amax(axes, keepdim=True)
    if call.node.operator == "GlobalAveragePool":
        return x.mean(axes, keepdim=True)
    order = call.attribute("p", 2)
    return (x.abs() ** order).sum(axes, keepdim=True) ** (1 / order)
