# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The work of a stage, in words for people: "linear 3 -> 64, relu, linear 64 -> 2"."""

import math
from collections.abc import Iterable

from tensoa.compiler import operations as ops
from tensoa.compiler.operations import is_constant
from tensoa.compiler.passes import is_row_gather, is_selection
from tensoa.compiler.schedule.addresses import base_of
from tensoa.compiler.schedule.stages import Stage, is_free
from tensoa.compiler.schedule.streams import is_stream
from tensoa.compiler.tensors import Size, Tensor


def describe(stage: Stage) -> str:
    """Nothing of what costs nothing; functions of integers only where there are no others."""
    made = [tensor for tensor in stage.values if tensor not in stage.earlier and not is_free(tensor) and not _is_bias(tensor)]
    floats = [tensor for tensor in made if tensor.dtype.is_float or isinstance(tensor.op, ops.Sort)]
    words = [word for tensor in floats or made if (word := word_of(tensor))]
    for scatter in stage.scatters:
        width = math.prod(scatter.inner[1:] if not scatter.rows else scatter.inner)
        is_total = not scatter.rows and scatter.shape[0] == 1
        assert isinstance(scatter.op, ops.Scatter)
        words.append(f"{scatter.op.fn} {width} {'of all rows' if is_total else 'by index'}")
    return ", ".join(words) or "copy"


def word_of(tensor: Tensor) -> str:
    """The work of an operation; empty for one that only moves numbers."""
    op, where = tensor.op, " of all rows" if is_stream(tensor) else ""
    if isinstance(op, ops.Contract):
        return _product(tensor, op) + where
    if isinstance(op, ops.Map):
        return op.fn + (" of float64" if tensor.dtype.name == "float64" else "")
    if isinstance(op, ops.Reduce):
        return f"{op.fn} {_count(tensor.args[0].shape[i] for i in op.axes)}".removesuffix(" 1") + where
    if isinstance(op, ops.Scan):
        return f"running {op.fn}"
    if isinstance(op, ops.Scatter):
        return f"{op.fn} by index"
    if isinstance(op, ops.Sort):
        size = tensor.args[0].shape[op.axis]
        return f"{'largest' if op.is_largest else 'least'} {op.k} of {'all rows' if isinstance(size, str) else size}"
    if isinstance(op, ops.Gather) and not is_selection(tensor):
        return _gather(tensor, op)
    if isinstance(op, ops.Lookup) and not is_selection(tensor):
        return f"{op.name} {tensor.args[0].shape[op.axis]}"
    return ""


def _product(tensor: Tensor, op: ops.Contract) -> str:
    sizes: dict[str, Size] = dict(zip(op.left + op.right, tensor.args[0].shape + tensor.args[1].shape))
    summed = _count(sizes[label] for label in op.left if label not in op.out)
    weights = [labels for arg, labels in zip(tensor.args, (op.left, op.right)) if is_constant(arg)]
    own = [{label for label in op.out if label not in other} for other in (op.right, op.left)]
    left, right = (_count(sizes[label] for label in labels) for labels in own)
    if not weights:
        return f"product {left} x {summed} x {right}"
    outputs = {label for label in weights[0] if label in op.out}
    width, times = (_count(sizes[label] for label in op.out if (label in outputs) == is_own) for is_own in (True, False))
    return (f"{times} x " if times > 1 else "") + f"linear {summed} -> {width}"


def _gather(tensor: Tensor, op: ops.Gather) -> str:
    if is_row_gather(tensor):
        return f"gather {_count(tensor.shape)}"
    if is_constant(base_of(tensor.args[0])):
        return f"lookup {_count(tensor.shape)}"
    return f"take {_count(tensor.shape)} by place"


def _count(sizes: Iterable[Size]) -> int:
    return math.prod(size for size in sizes if isinstance(size, int))


def _is_bias(tensor: Tensor) -> bool:
    """Whether it adds constants to a product: they are a part of the layer."""
    if not isinstance(tensor.op, ops.Map) or tensor.op.fn != "add":
        return False
    kinds = [isinstance(arg.op, ops.Contract) for arg in tensor.args], [is_constant(arg) for arg in tensor.args]
    return any(product and constant for product, constant in zip(kinds[0], reversed(kinds[1])))
