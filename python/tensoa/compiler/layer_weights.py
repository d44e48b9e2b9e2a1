# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Operations that become part of the weights of layers: the mean taken off their results, and the factors of their inputs."""

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from tensoa.compiler import build
from tensoa.compiler import operations as ops
from tensoa.compiler.functions import Array
from tensoa.compiler.interpret import constant_value
from tensoa.compiler.operations import axis, is_constant
from tensoa.compiler.program import Program
from tensoa.compiler.tensors import Tensor

_MOST_SCALED = 2.0**20  # of a factor and of its inverse: only near the largest and the least floats something else overflows


def centred_layers(program: Program) -> Callable[[Tensor], Tensor | None]:
    """A rule for the tensors of a program, in their order: sums of layers, less their mean, are those of layers with centred
    weights. What something else reads would be calculated twice.
    """
    tensors = program.tensors()
    readers = Counter(arg for tensor in tensors for arg in tensor.args)
    readers.update(output.value for output in program.outputs)
    before = iter(tensors)

    def rule(tensor: Tensor) -> Tensor | None:
        """`tensor`: with other arguments, what `before` comes to."""
        old, axes = next(before), _axes_of_mean(tensor)
        if axes is None or readers[old.args[0]] > 2:  # the sum for the mean, and this difference
            return None
        return _centred(tensor.args[0], old.args[0], axes, readers)

    return rule


def _axes_of_mean(tensor: Tensor) -> tuple[int, ...] | None:
    """The axes of which the mean is taken off; None where it is something else."""
    if not isinstance(tensor.op, ops.Map) or tensor.op.fn != "sub" or tensor.dtype.name not in ("float32", "float64"):
        return None
    x, repeated = tensor.args
    mean = repeated.args[0] if isinstance(repeated.op, ops.View) else repeated
    if not isinstance(mean.op, ops.Map) or mean.op.fn not in ("mul", "div") or not is_constant(mean.args[1]):
        return None
    total, factor = mean.args[0], np.unique(constant_value(_of_one_row(mean.args[1])))
    if not isinstance(total.op, ops.Reduce) or total.op.fn != "sum" or total.args[0] is not x:
        return None
    sizes = [size for i in total.op.axes if isinstance(size := x.shape[i], int)]
    kept = [axis(i) for i in range(len(x.shape)) if i not in total.op.axes]
    count = factor.dtype.type(math.prod(sizes))
    is_mean = len(sizes) == len(total.op.axes) and list(factor) == [count if mean.op.fn == "div" else 1 / count]
    return total.op.axes if is_mean and repeated is build.view(mean, x.shape, kept) else None


def _of_one_row(tensor: Tensor) -> Tensor:
    """A constant without axes of rows."""
    for i in reversed(range(len(tensor.shape))):
        tensor = build.select(tensor, i, 0) if isinstance(tensor.shape[i], str) else tensor
    return tensor


def _centred(tensor: Tensor, old: Tensor, axes: Sequence[int], readers: Counter[Tensor]) -> Tensor | None:
    """The tensor less its mean along some axes; None where that costs something. `old`: what it was, with these readers."""
    if is_constant(tensor):
        return _constant_centred(tensor, axes)
    if type(tensor.op) is not type(old.op):
        return None
    if isinstance(tensor.op, ops.Contract) and readers[old] <= 2:
        return _layer_centred(tensor.op, tensor, axes)
    if isinstance(tensor.op, ops.Gather) and readers[old.args[0]] == 1:
        far = _axes_of_source(tensor.op, tensor, axes)
        source = _centred(tensor.args[0], old.args[0], far, readers) if far else None
        return None if source is None else build.gather(source, tensor.args[1], tensor.op.index)
    if isinstance(tensor.op, ops.Map) and tensor.op.fn in ("add", "sub"):
        parts = [_centred(arg, own, axes, readers) if readers[own] == 1 or is_constant(own) else None
                 for arg, own in zip(tensor.args, old.args)]  # fmt: skip
        found = [part for part in parts if part is not None]
        return build.apply(tensor.op.fn, *found) if len(found) == len(parts) else None
    return None


def _axes_of_source(op: ops.Gather, tensor: Tensor, axes: Sequence[int]) -> list[int]:
    """The axes along which a gathered tensor is read whole, at one place; none where it is not."""
    x, places = tensor.args
    index = places.op.index if isinstance(places.op, ops.View) else [axis(i) for i in range(len(places.shape))]
    if any(number in axes for one in index for number, _ in one.terms):
        return []
    found = [j for i in axes for j, one in enumerate(op.index) if one == axis(i) and x.shape[j] == tensor.shape[i]]
    return found if len(found) == len(axes) else []


def _less_mean(numbers: Array, axes: Sequence[int]) -> Array:
    wide = numbers.astype(np.float64)
    with np.errstate(invalid="ignore"):  # infinities
        return np.asarray(wide - wide.mean(axis=tuple(axes), keepdims=True))


def _constant_centred(tensor: Tensor, axes: Sequence[int]) -> Tensor:
    inner = [i for i, size in enumerate(tensor.shape) if isinstance(size, int)]
    numbers = _less_mean(constant_value(_of_one_row(tensor)), [inner.index(i) for i in axes])
    return build.view(build.constant(numbers, tensor.dtype), tensor.shape, [axis(i) for i in inner])


def _layer_centred(op: ops.Contract, tensor: Tensor, axes: Sequence[int]) -> Tensor | None:
    """A layer whose weights alone have the axes. A product of one input is not a sum: it is rounded once, as its mean is."""
    labels = {op.out[i] for i in axes}
    for n, (own, other) in enumerate(((op.left, op.right), (op.right, op.left))):
        weight = tensor.args[n]
        inputs = math.prod(size for label, size in zip(own, weight.shape) if label not in op.out and isinstance(size, int))
        if inputs > 1 and labels <= set(own) and not labels & set(other) and is_constant(weight) and not weight.rows:
            numbers = _less_mean(constant_value(weight), [own.index(label) for label in labels])
            made = build.constant(numbers, weight.dtype)
            args = (made, tensor.args[1]) if n == 0 else (tensor.args[0], made)
            return build.contract(*args, op.left, op.right, op.out)
    return None


def scaled_inputs(tensor: Tensor) -> Tensor | None:
    """A layer of inputs that are multiplied or divided by one number each is a layer with other weights."""
    if not isinstance(tensor.op, ops.Contract) or tensor.dtype.name not in ("float32", "float64"):
        return None
    op, (x, y) = tensor.op, tensor.args
    for scaled, weight, own, other in ((x, y, op.left, op.right), (y, x, op.right, op.left)):
        factor = _factor_of(scaled) if is_constant(weight) and not weight.rows else None
        if factor is None:
            continue
        labels = [label for label, size in zip(own, scaled.shape) if isinstance(size, int)]
        first = factor[tuple(slice(1) if label in op.out else slice(None) for label in labels)]
        if (first != factor).any():  # another one for other items
            continue
        summed = "".join(label for label in labels if label not in op.out)
        first = first.reshape([size for size, label in zip(factor.shape, labels) if label in summed])
        numbers = constant_value(weight)
        with np.errstate(all="ignore"):
            made = np.einsum(f"{summed},{other}->{other}", first, numbers).astype(numbers.dtype)
        if (np.isfinite(made) == np.isfinite(numbers)).all() and ((made == 0) == (numbers == 0)).all():
            return build.contract(scaled.args[0], build.constant(made, weight.dtype), own, other, op.out)
    return None


def _factor_of(x: Tensor) -> Array | None:
    """The factors of the numbers of a row; None where that is not a moderate constant."""
    if not isinstance(x.op, ops.Map) or x.op.fn not in ("mul", "div") or not is_constant(x.args[1]):
        return None
    with np.errstate(all="ignore"):
        factor = constant_value(_of_one_row(x.args[1])).astype(np.float64)
        factor = 1 / factor if x.op.fn == "div" else factor
        is_moderate = np.all((np.abs(factor) <= _MOST_SCALED) & (np.abs(factor) >= 1 / _MOST_SCALED))
    return factor if is_moderate else None
