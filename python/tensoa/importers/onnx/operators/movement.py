# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Operators that move numbers: shapes, slices, joins, and tensors of one number."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch.nn import functional

from tensoa.importers.onnx.operators.table import Results, on_known, operator
from tensoa.importers.onnx.values import Call, Known, Refused, known

OPEN = 10**9  # the end of a slice from which it is that of its axis: exporters write this, or the largest integer

# ---- constants


@operator("Constant")
def _constant(call: Call) -> Results:
    for name, dtype in (("value_int", np.int64), ("value_float", np.float32)):
        for given in (name, f"{name}s"):
            if given in call.node.attributes:
                return Known(np.array(call.attribute(given), dtype))
    array = call.attribute("value")
    if array is None:
        raise Refused(f"a constant of {', '.join(call.node.attributes)}; expected numbers")
    return Known(array)


@operator("ConstantOfShape")
def _constant_of_shape(call: Call) -> Results:
    value = call.attribute("value", np.zeros(1, np.float32)).reshape(-1)
    sizes = call.numbers(0)
    call.check_size(sizes)
    tensor = call.as_tensor(Known(value))
    return torch.full(sizes, value[0].item(), dtype=tensor.dtype, device=call.device)


@operator("EyeLike")
def _eye_like(call: Call) -> Results:
    x = call.tensor(0)
    dtype = x.dtype if call.attribute("dtype") is None else call.dtype(call.attribute("dtype"))
    rows, columns = x.shape
    difference = torch.arange(columns, device=x.device) - torch.arange(rows, device=x.device)[:, None]
    return (difference == call.attribute("k", 0)).to(dtype)


# ---- shapes


def _same_symbol(a: object, b: object) -> bool:
    if isinstance(a, torch.SymInt) and isinstance(b, torch.SymInt):
        return a.node.expr == b.node.expr
    return isinstance(a, int) and isinstance(b, int) and a == b


def _reshaped(shape: Sequence[int], wanted: Sequence[int], is_zero_meant: bool = False) -> list[int]:
    """The sizes of a reshape; -1 is calculated here, so that the same symbol on both sides is not divided."""
    sizes = [shape[i] if size == 0 and not is_zero_meant and i < len(shape) else size for i, size in enumerate(wanted)]
    at = [i for i, size in enumerate(sizes) if isinstance(size, int) and size == -1]
    if len(at) != 1:
        return sizes
    rest, others = list(shape), []
    for i, size in enumerate(sizes):
        found = next((j for j, other in enumerate(rest) if _same_symbol(size, other)), None)
        if i in at:
            continue
        if found is None:
            others.append(size)
        else:
            rest.pop(found)
    total, divisor = math.prod(rest), math.prod(others)
    if isinstance(total, int) and isinstance(divisor, int) and (divisor == 0 or total % divisor):
        return sizes  # torch says what is wrong
    sizes[at[0]] = total // divisor
    return sizes


def _reshape_sizes(call: Call, shape: Sequence[int]) -> list[int]:
    return _reshaped(shape, call.numbers(1), bool(call.attribute("allowzero", 0)))


@operator("Reshape")
def _reshape(call: Call) -> Results:
    x = call.tensor(0)
    return x.reshape(_reshape_sizes(call, x.shape))


@on_known("Reshape")
def _reshape_known(call: Call) -> Results:
    array = call.array(0)
    return known(array.reshape(_reshape_sizes(call, array.shape)), array.dtype)


@operator("Flatten")
def _flatten(call: Call) -> Results:
    x = call.tensor(0)
    axis = call.attribute("axis", 1)
    axis = axis + x.dim() if axis < 0 else axis
    before, behind = x.shape[:axis], x.shape[axis:]
    return x.reshape(math.prod(before), math.prod(behind))


def _axes(call: Call, since: int) -> list[int] | None:
    """Given as an input from the opset `since` on, as an attribute before; None where they are not given."""
    if call.opset < since:
        return call.attribute("axes")
    return call.numbers(1) if call.has(1) else None


def _squeezed(call: Call, shape: Sequence[int]) -> list[int]:
    given = _axes(call, 13)
    if given is None:
        return [size for size in shape if isinstance(size, torch.SymInt) or size != 1]
    axes = {call.axis(axis, len(shape)) for axis in given}
    wrong = [axis for axis in axes if isinstance(shape[axis], int) and shape[axis] != 1]
    if wrong:
        raise Refused(f"axis {wrong[0]} has {shape[wrong[0]]} elements, expected one")
    return [size for axis, size in enumerate(shape) if axis not in axes]


def _unsqueezed(call: Call, shape: Sequence[int]) -> list[int]:
    given = _axes(call, 13)
    if given is None:
        raise Refused("it has no axes")
    rank = len(shape) + len(given)
    axes = {call.axis(axis, rank) for axis in given}
    if len(axes) != len(given):
        raise Refused(f"axes {given}: expected different ones")
    rest = iter(shape)
    return [1 if axis in axes else next(rest) for axis in range(rank)]


SQUEEZES = {"Squeeze": _squeezed, "Unsqueeze": _unsqueezed}


@operator(*SQUEEZES)
def _squeeze(call: Call) -> Results:
    x = call.tensor(0)
    return x.reshape(SQUEEZES[call.node.operator](call, x.shape))


@on_known(*SQUEEZES)
def _squeeze_known(call: Call) -> Results:
    array = call.array(0)
    return Known(array.reshape(SQUEEZES[call.node.operator](call, array.shape)))


@operator("Transpose")
def _transpose(call: Call) -> Results:
    x = call.tensor(0)
    return x.permute(call.attribute("perm", list(range(x.dim()))[::-1]))


@operator("Expand")
def _expand(call: Call) -> Results:
    x, wanted = call.tensor(0), call.numbers(1)
    rank = max(x.dim(), len(wanted))
    own, wanted = [1] * (rank - x.dim()) + [*x.shape], [1] * (rank - len(wanted)) + wanted
    sizes = [a if isinstance(b, int) and b == 1 else b for a, b in zip(own, wanted)]
    call.check_size(sizes)
    return x.expand(sizes)


@on_known("Expand")
def _expand_known(call: Call) -> Results:
    array, wanted = call.array(0), call.numbers(1)
    if any(isinstance(size, torch.SymInt) for size in wanted):
        return _expand(call)
    call.check_size(wanted)
    return Known(np.array(np.broadcast_to(array, np.broadcast_shapes(array.shape, tuple(wanted)))))


@operator("Tile")
def _tile(call: Call) -> Results:
    x, times = call.tensor(0), call.numbers(1)
    call.check_size([size * n for size, n in zip(x.shape, times)])
    return x.repeat(times)


@operator("DepthToSpace")
def _depth_to_space(call: Call) -> Results:
    x, size = call.tensor(0), call.attribute("blocksize")
    n, c, h, w = x.shape
    if call.attribute("mode", "DCR") == "DCR":
        x = x.reshape(n, size, size, c // size**2, h, w).permute(0, 3, 4, 1, 5, 2)
    else:
        x = x.reshape(n, c // size**2, size, size, h, w).permute(0, 1, 4, 2, 5, 3)
    return x.reshape(n, c // size**2, h * size, w * size)


@operator("SpaceToDepth")
def _space_to_depth(call: Call) -> Results:
    x, size = call.tensor(0), call.attribute("blocksize")
    n, c, h, w = x.shape
    x = x.reshape(n, c, h // size, size, w // size, size).permute(0, 3, 5, 1, 2, 4)
    return x.reshape(n, c * size**2, h // size, w // size)


# ---- parts


def _slices(call: Call, rank: int) -> list[slice]:
    """One slice for each dimension."""
    starts, ends = call.numbers(1), call.numbers(2)
    axes = call.numbers(3) if call.has(3) else range(len(starts))
    steps = call.numbers(4) if call.has(4) else [1] * len(starts)
    slices = [slice(None)] * rank
    for axis, start, end, step in zip(axes, starts, ends, steps):
        if step == 0:
            raise Refused("a step of 0")
        slices[call.axis(axis, rank)] = slice(start, end, step)
    return slices


@operator("Slice")
def _slice(call: Call) -> Results:
    x = call.tensor(0)
    for axis, one in enumerate(_slices(call, x.dim())):
        is_open = isinstance(one.stop, int) and one.stop >= OPEN
        if one.step is None or (one.start == 0 and is_open and one.step == 1):
            continue
        if one.step > 0:
            x = x[(slice(None),) * axis + (one,)]
        else:
            at = range(*_backward(one, x.shape[axis]).indices(x.shape[axis]))
            x = x.index_select(axis, torch.tensor([*at], dtype=torch.int64, device=x.device))
    return x


def _backward(one: slice, size: int) -> slice:
    """As Python reads it: an end below all elements is none, not one counted from the last."""
    return slice(one.start, None if one.stop < -size else one.stop, one.step)


@on_known("Slice")
def _slice_known(call: Call) -> Results:
    array = call.array(0)
    slices = _slices(call, array.ndim)
    slices = [one if one.step is None or one.step > 0 else _backward(one, size) for one, size in zip(slices, array.shape)]
    return known(array[tuple(slices)], array.dtype)


@operator("Concat")
def _concat(call: Call) -> Results:
    return torch.cat(call.tensors(), call.attribute("axis"))


@on_known("Concat")
def _concat_known(call: Call) -> Results:
    arrays = [call.array(i) for i in range(len(call.inputs))]
    return known(np.concatenate(arrays, call.attribute("axis")), arrays[0].dtype)


@operator("Split")
def _split(call: Call) -> Results:
    x, count = call.tensor(0), len(call.node.outputs)
    axis = call.axis(call.attribute("axis", 0), x.dim())
    sizes = call.attribute("split") if call.opset < 13 else call.numbers(1) if call.has(1) else None
    count = call.attribute("num_outputs", count)
    if sizes is None:
        part = -(-x.shape[axis] // count)
        sizes = [part] * (count - 1) + [x.shape[axis] - part * (count - 1)]
    return torch.split(x, sizes, axis)


@operator("Pad")
def _pad(call: Call) -> Results:
    x, mode = call.tensor(0), call.attribute("mode", "constant")
    pads = call.numbers(1)
    axes = [call.axis(axis, x.dim()) for axis in call.numbers(3)] if call.has(3) else range(x.dim())
    half = len(pads) // 2
    each = [(0, 0)] * x.dim()
    for axis, begin, end in zip(axes, pads[:half], pads[half:]):
        each[axis] = begin, end
    call.check_size([size + sum(pair) for size, pair in zip(x.shape, each)])
    if mode == "constant":
        number = call.array(2).item() if call.has(2) else 0
        return functional.pad(x, [number for pair in reversed(each) for number in pair], value=number)
    if mode not in ("reflect", "edge", "wrap"):
        raise Refused(f"mode {mode}")
    for axis, (begin, end) in enumerate(each):
        if begin or end:
            kept = np.arange(x.shape[axis])[max(0, -begin) : x.shape[axis] + min(0, end)]
            places = np.pad(kept, (max(0, begin), max(0, end)), mode)
            x = x.index_select(axis, torch.from_numpy(places).to(x.device))
    return x


@operator("CenterCropPad")
def _center_crop_pad(call: Call) -> Results:
    x, sizes = call.tensor(0), call.numbers(1)
    for axis, size in zip(call.attribute("axes", range(x.dim())), sizes):
        axis = call.axis(axis, x.dim())
        more = size - x.shape[axis]
        if more < 0:
            x = x.narrow(axis, -more // 2, size)
        elif more > 0:
            call.check_size([*x.shape[:axis], size, *x.shape[axis + 1 :]])
            x = functional.pad(x, [0, 0] * (x.dim() - 1 - axis) + [more // 2, more - more // 2])
    return x


@operator("Trilu")
def _trilu(call: Call) -> Results:
    diagonal = call.integer(1) if call.has(1) else 0
    return (torch.triu if call.attribute("upper", 1) else torch.tril)(call.tensor(0), diagonal)


@operator("ReverseSequence")
def _reverse_sequence(call: Call) -> Results:
    x, lengths = call.tensor(0), call.tensor(1)
    time, batch = call.attribute("time_axis", 0), call.attribute("batch_axis", 1)
    at = torch.arange(x.shape[time], device=x.device)[:, None]
    at = torch.where(at < lengths, lengths - 1 - at, at)
    shape = [1] * x.dim()
    shape[time], shape[batch] = x.shape[time], x.shape[batch]
    return torch.gather(x, time, (at if time < batch else at.t()).reshape(shape).expand(x.shape))
