# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pooling inside a row: windows of its elements, which are planes put side by side.

Channels come last wherever numbers are made, so that the next window is a few runs of features.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from torch.fx import Node

from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontends.torch_export.shapes import Shapes
from tensoa.compiler.ir import rows
from tensoa.compiler.ir.builder import Operand
from tensoa.compiler.ir.rows import Rows, plane_array

MOST_MAPS = 16  # elements of a window: larger ones are reduced, smaller ones are maps of all windows at once


def _channels_last(tensor: Rows, rank: int) -> Operand:
    """[1, …, channels] of a tensor [n, channels, …] with `rank` dimensions, or [n, channels] without n."""
    if not isinstance(tensor, Rows) or tensor.axis != 0 or tensor.planes.ndim != rank:
        raise NotFused("windows over the rows")
    rows.need_rows(tensor)
    return rows.permute(tensor, [0, *range(2, rank), 1])


def _channels_first(tensor: Rows) -> Operand:
    last = tensor.planes.ndim - 1
    return rows.permute(tensor, [0, last, *range(1, last)])


def _each(numbers: Operand, count: int) -> Operand:
    """A number for each dimension."""
    numbers = list(numbers)
    return numbers * count if len(numbers) == 1 else numbers


def _places(size: int, width: int, step: int, before: int = 0, apart: int = 1, is_ceil: bool = False) -> np.ndarray:
    """[windows, width] of the places in a dimension of `size` elements; -1 of those before and behind it."""
    left = size + 2 * before - apart * (width - 1) - 1
    count = (-(-left // step) if is_ceil else left // step) + 1
    if is_ceil and (count - 1) * step >= size + before:
        count -= 1  # a window that begins behind the elements
    if count < 1:
        raise NotFused("a window wider than the row")
    places = np.arange(count)[:, None] * step - before + np.arange(width) * apart
    return np.where((places >= 0) & (places < size), places, -1)


def _windows(planes: np.ndarray, places: Operand, fill: Operand) -> Operand:
    """[1, windows of each dimension…, elements of each…, channels] of planes [1, …, channels]."""
    for i, found in enumerate(places):
        widths = [(0, 0)] * planes.ndim
        widths[1 + i] = (0, 1)
        planes = np.pad(planes, widths, constant_values=fill) if (found < 0).any() else planes
        planes = np.moveaxis(planes.take(found, axis=1 + i), 2 + i, -2)
    return planes


def convolution(
    walk: Shapes,
    node: Node,
    tensor: Rows,
    weight: Operand,
    bias: Operand,
    stride: Operand,
    padding: Operand,
    dilation: Operand,
    is_transposed: bool,
    more: Operand,
    groups: int,
) -> Operand:
    """A linear layer over each window: its elements, and of each the channels."""
    if isinstance(weight, Rows) or isinstance(bias, Rows):
        raise NotFused("a convolution whose weights depend on the inputs")
    last = _channels_last(tensor, weight.dim())
    count = weight.dim() - 2
    stride, padding, dilation, more = (_each(numbers, count) for numbers in (stride, padding, dilation, more))
    planes = last.planes
    if is_transposed:
        planes, weight = _undone(planes, weight, stride, padding, dilation, more, groups)
        stride, padding = [1] * count, [0] * count
    pads = [(0, 0), *((before, before) for before in padding), (0, 0)]
    if any(before for before, _ in pads):
        planes = np.pad(planes, pads, constant_values=0.0)
    if any(isinstance(plane, float) for plane in planes.reshape(-1)):
        value = walk.value(planes, tensor.domain)  # once: windows then are runs of features
        planes = walk.rows(planes.shape, 0, value).planes
    shape = zip(planes.shape[1:-1], weight.shape[2:], stride, dilation)
    places = [_places(size, width, step, 0, apart) for size, width, step, apart in shape]
    windows = _windows(planes, places, 0.0)
    channels, outputs = windows.shape[-1] // groups, weight.shape[0] // groups
    parts = []
    for group in range(groups):
        of_group = windows[..., group * channels : (group + 1) * channels].reshape(*windows.shape[: count + 1], -1)
        weights = weight[group * outputs : (group + 1) * outputs].movedim(1, -1).flatten(1)
        biases = None if bias is None else bias[group * outputs : (group + 1) * outputs]
        parts.append(walk.layer(replace(last, planes=of_group, axis=0), weights, biases))
    return _channels_first(rows.concatenate(parts, -1))


def _undone(
    planes: np.ndarray, weight: Operand, stride: Operand, padding: Operand, dilation: Operand, more: Operand, groups: int
) -> Operand:
    """(planes, weight) of the convolution that a transposed one is: over its elements with zeros between them."""
    for i, step in enumerate(stride):
        spread = list(planes.shape)
        spread[1 + i] = (spread[1 + i] - 1) * step + 1
        wide = plane_array(spread, [0.0] * math.prod(spread))
        wide[(slice(None),) * (1 + i) + (slice(None, None, step),)] = planes
        reach = dilation[i] * (weight.shape[2 + i] - 1) - padding[i]
        ends = [reach, reach + more[i]]
        widths = [(0, 0)] * planes.ndim
        widths[1 + i] = tuple(max(0, end) for end in ends)
        wide = np.pad(wide, widths, constant_values=0.0)
        cut = slice(max(0, -ends[0]), wide.shape[1 + i] - max(0, -ends[1]))
        planes = wide[(slice(None),) * (1 + i) + (cut,)]
    inputs, outputs, *size = weight.shape
    grouped = weight.reshape(groups, inputs // groups, outputs, *size).transpose(1, 2)
    flipped = grouped.reshape(groups * outputs, inputs // groups, *size).flip(list(range(2, weight.dim())))
    return planes, flipped


def _pooled(walk: Shapes, tensor: Rows, places: Operand, name: str, fill: Operand) -> Operand:
    """The sum or the extreme of each window, with the channels last."""
    windows = _windows(tensor.planes, places, fill)
    count = len(places)
    windows = windows.reshape(*windows.shape[: count + 1], -1, windows.shape[-1])
    if windows.shape[-2] > MOST_MAPS:
        moved = replace(tensor, planes=np.moveaxis(windows, -2, -1))
        make = functools.partial(walk.reduce, "sum" if name == "add" else "amax")
        return walk.reduced(moved, [-1], moved.planes.shape[:-1], 0, make)
    parts = [replace(tensor, planes=windows[..., i, :]) for i in range(windows.shape[-2])]
    return functools.reduce(lambda x, y: walk.function(name, x, y), parts)


def _mean(walk: Shapes, tensor: Rows, places: Operand, counts: Operand) -> Operand:
    """Of each window, whose number of elements is the product of counts[dimension][window]."""
    total = _pooled(walk, tensor, places, "add", 0.0)
    numbers = functools.reduce(np.multiply.outer, counts).astype(np.float32)
    return _channels_first(walk.function("div", total, numbers[..., None]))


def _max_pool(count: int) -> Callable[..., Operand]:
    def run(
        walk: Shapes,
        node: Node,
        tensor: Rows,
        width: Any,
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        is_ceil: bool = False,
    ) -> Operand:
        if any(user.users for user in node.users if user.args[1] == 1):
            raise NotFused("the places of a maximum in windows")
        last = _channels_last(tensor, count + 2)
        arguments = (_each(numbers, count) for numbers in (width, stride or width, padding, dilation))
        shape = zip(last.planes.shape[1:-1], *arguments)
        places = [_places(size, wide, step, before, apart, is_ceil) for size, wide, step, before, apart in shape]
        return [_channels_first(_pooled(walk, last, places, "maximum", -math.inf)), None]

    return run


def _avg_pool(count: int) -> Callable[..., Operand]:
    def run(
        walk: Shapes,
        node: Node,
        tensor: Rows,
        width: Any,
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        is_ceil: bool = False,
        is_padding_counted: bool = True,
        divisor: Any = None,
    ) -> Operand:
        last = _channels_last(tensor, count + 2)
        arguments = (_each(numbers, count) for numbers in (width, stride or width, padding))
        shape = list(zip(last.planes.shape[1:-1], *arguments))
        places = [_places(size, wide, step, before, is_ceil=is_ceil) for size, wide, step, before in shape]
        counts = [(found >= 0).sum(1) for found in places]
        if divisor is not None:
            counts = [np.full(len(found), divisor if i == 0 else 1) for i, found in enumerate(places)]
        elif is_padding_counted:
            reach = [np.arange(len(found)) * step - before for found, (_, _, step, before) in zip(places, shape)]
            counts = [np.minimum(start + wide, size + before) - start for start, (size, wide, _, before) in zip(reach, shape)]
        return _mean(walk, last, places, counts)

    return run


def _adaptive(count: int, is_max: bool = False) -> Callable[..., Operand]:
    def run(walk: Shapes, node: Node, tensor: Rows, sizes: Any) -> Operand:
        if is_max and any(user.users for user in node.users if user.args[1] == 1):
            raise NotFused("the places of a maximum in windows")
        last = _channels_last(tensor, count + 2)
        places = []
        for size, windows in zip(last.planes.shape[1:-1], _each(sizes, count)):
            at = np.arange(windows)
            start, stop = at * size // windows, -(-(at + 1) * size // windows)
            found = start[:, None] + np.arange((stop - start).max())
            places.append(np.where(found < stop[:, None], found, -1))
        if is_max:
            return [_channels_first(_pooled(walk, last, places, "maximum", -math.inf)), None]
        return _mean(walk, last, places, [(found >= 0).sum(1) for found in places])

    return run


OPERATIONS: dict[str, Callable[..., Operand]] = {
    "convolution": convolution,
    "max_pool2d_with_indices": _max_pool(2),
    "max_pool3d_with_indices": _max_pool(3),
    "avg_pool1d": _avg_pool(1),
    "avg_pool2d": _avg_pool(2),
    "avg_pool3d": _avg_pool(3),
    "adaptive_max_pool2d": _adaptive(2, is_max=True),
    "adaptive_max_pool3d": _adaptive(3, is_max=True),
    "adaptive_avg_pool1d": _adaptive(1),
    "_adaptive_avg_pool2d": _adaptive(2),
    "_adaptive_avg_pool3d": _adaptive(3),
}
