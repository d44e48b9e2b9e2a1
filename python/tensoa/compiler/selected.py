# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A value that reads a part of a tensor is made of that part alone, so that the rest has no memory: a step in time of a layer,
a part of a concat. For targets whose fast memory is small.
"""

import functools

from tensoa.compiler import build
from tensoa.compiler import operations as ops
from tensoa.compiler.operations import Affine, affine, same_but
from tensoa.compiler.program import Program, transformed
from tensoa.compiler.tensors import Shape, Tensor, make


def selected(program: Program) -> Program:
    """The program whose views read parts."""
    program = transformed(program, part_of_concat, "parts of concats")
    while True:
        read = _read_by_steps(program)
        changed = transformed(program, functools.partial(of_step, read), "steps")
        if changed == program:
            return program
        program = changed


def part_of_concat(tensor: Tensor) -> Tensor | None:
    """A view of a concat that is inside of one of its parts is of the part."""
    if not isinstance(tensor.op, ops.View) or not isinstance(tensor.args[0].op, ops.Concat):
        return None
    (concat,), op = tensor.args, tensor.args[0].op
    assert isinstance(op, ops.Concat)
    along, start = tensor.op.index[op.axis], 0
    span = _span(along, tensor.shape)
    for part in concat.args:
        size = part.shape[op.axis]
        assert isinstance(size, int)
        if span is not None and start <= span[0] and span[1] < start + size:
            there = affine(along.offset - start, *along.terms)
            return build.view(part, tensor.op.shape, same_but(tensor.op.index, op.axis, there))
        start += size
    return None


def _span(one: Affine, shape: Shape) -> tuple[int, int] | None:
    """The least and the largest index; None where it has rows."""
    low = high = one.offset
    for number, factor in one.terms:
        size = shape[number]
        if not isinstance(size, int):
            return None
        low, high = low + min(0, factor * (size - 1)), high + max(0, factor * (size - 1))
    return low, high


def _read_by_steps(program: Program) -> dict[Tensor, int]:
    """Products and functions, with the axis of which each reader has one place. It is not one of the outputs of a layer."""
    readers: dict[Tensor, list[Tensor]] = {}
    for tensor in program.tensors():
        for arg in tensor.args:
            readers.setdefault(arg, []).append(tensor)
    written = {output.value for output in program.outputs}
    found: dict[Tensor, int] = {}
    for tensor, users in readers.items():
        if tensor in written or not all(isinstance(user.op, ops.View) for user in users):
            continue
        for place in _axes(tensor):
            size = tensor.shape[place]
            if isinstance(size, int) and size > 1 and not any(_view(user).index[place].terms for user in users):
                found.setdefault(tensor, place)
    return found


def _axes(tensor: Tensor) -> list[int]:
    """Along which places of the tensor need one place of its arguments."""
    if isinstance(tensor.op, ops.Contract):
        return [i for i, label in enumerate(tensor.op.out) if label in tensor.op.left]
    return list(range(len(tensor.shape))) if isinstance(tensor.op, (ops.Map, ops.Cast)) else []


def _view(tensor: Tensor) -> ops.View:
    assert isinstance(tensor.op, ops.View)
    return tensor.op


def of_step(read: dict[Tensor, int], tensor: Tensor) -> Tensor | None:
    """One place of the axis that `read` has for a tensor is made of that place of its arguments."""
    if not isinstance(tensor.op, ops.View) or tensor.args[0] not in read:
        return None
    (whole,), op = tensor.args, tensor.args[0].op
    place = read[whole]
    at = tensor.op.index[place].offset
    if isinstance(op, ops.Contract):
        label = op.out[place]
        where = [labels.find(label) for labels in (op.left, op.right)]
        left, right, out = (labels.replace(label, "") for labels in (op.left, op.right, op.out))
        op = ops.Contract(left, right, out)
    else:
        where = [place] * len(whole.args)
    step = make(op, *(arg if i < 0 else build.select(arg, i, at) for i, arg in zip(where, whole.args)))
    return build.view(step, tensor.op.shape, [one for i, one in enumerate(tensor.op.index) if i != place])
