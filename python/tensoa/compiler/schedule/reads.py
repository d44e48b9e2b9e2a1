# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The reads of the expression of a root: the terms of sums, and the roots at the leaves with their index."""

from collections.abc import Iterator

from tensoa.compiler import operations as ops
from tensoa.compiler.schedule.addresses import Indices, Linear, applied, through, through_view, variable
from tensoa.compiler.schedule.roots import Roots
from tensoa.compiler.tensors import Size, Tensor

Leaf = tuple[Tensor, Indices]


def terms_of(inner: Tensor, index: Indices) -> tuple[list[Leaf], list[tuple[str, Size]]]:
    """The factors of a term of a sum, each with its index, and the variables that terms are joined along with their sizes."""
    if isinstance(inner.op, ops.Reduce):
        (x,) = inner.args
        rest = iter(index)
        at = [variable(f"k{i}") if i in inner.op.axes else next(rest) for i in range(len(x.shape))]
        return [(x, at)], [(f"k{i}", x.shape[i]) for i in inner.op.axes]
    assert isinstance(inner.op, ops.Contract)
    op = inner.op
    named: dict[str, Linear | None] = dict(zip(op.out, index))
    summed = [(label, size) for label, size in zip(op.left, inner.args[0].shape) if label not in op.out]
    named |= {label: variable(f"k{label}") for label, _ in summed}
    factors = [(arg, [named[label] for label in labels]) for arg, labels in zip(inner.args, (op.left, op.right))]
    return list(factors), [(f"k{label}", size) for label, size in summed]


def leaves(tensor: Tensor, index: Indices, roots: Roots, is_top: bool = True) -> Iterator[Leaf]:
    """The roots that an expression reads. What other rows have is a leaf, too."""
    if tensor in roots and not is_top:
        yield tensor, index
    elif isinstance(tensor.op, ops.View):
        yield from leaves(tensor.args[0], through_view(tensor.op, tensor.args[0], index), roots, False)
    elif isinstance(tensor.op, (ops.Map, ops.Cast, ops.Concat)):
        for arg in tensor.args:
            yield from leaves(arg, index, roots, False)
    elif isinstance(tensor.op, (ops.Reduce, ops.Contract)):
        for arg, at in terms_of(tensor, index)[0]:
            yield from leaves(arg, at, roots, False)
    elif isinstance(tensor.op, ops.Lookup):
        x = tensor.args[0]
        here = [Linear() if one is None else applied(one, index) for one in tensor.op.index]
        yield through(x, [None if isinstance(size, str) else one for one, size in zip(here, x.shape)])


def has_lookup(tensor: Tensor, roots: Roots, is_top: bool = True) -> bool:
    """Whether an expression reads elements whose places depend on the data."""
    if tensor in roots and not is_top:
        return False
    return isinstance(tensor.op, ops.Lookup) or any(has_lookup(arg, roots, False) for arg in tensor.args)
