# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Operators on tensors with a number for every pair of rows (ir/pairs.py)."""

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.fx import Node

from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontends.torch_export import arithmetic
from tensoa.compiler.frontends.torch_export.shapes import Shapes
from tensoa.compiler.ir import FUNCTIONS, pairs, rows
from tensoa.compiler.ir.builder import Operand
from tensoa.compiler.ir.pairs import Pairs
from tensoa.compiler.ir.rows import Rows, plane_array

#: Operators that are formulas of numbers: they do the same to numbers of pairs.
FORMULAS = (
    "_to_copy clamp hardtanh gelu elu leaky_relu square isnan isinf logical_not logical_and logical_or logical_xor "
    "bitwise_and bitwise_or bitwise_xor bitwise_not pow where"
).split()


def run(walk: Shapes, node: Node, name: str, args: Operand, kwargs: Operand) -> Operand:
    """What an operator gives, one of whose arguments is Pairs."""
    if name in OPERATIONS:
        return OPERATIONS[name](walk, node, *args, **kwargs)
    if name in FORMULAS:
        return arithmetic.OPERATIONS[name](walk, node, *args, **kwargs)
    if name in FUNCTIONS and not kwargs:
        if node.meta["val"].dtype == torch.bool:
            name = {"add": "maximum"}.get(name, name)
        return walk.function(name, *args)
    raise NotFused(f"{name} of a number for every pair of rows")


def same(walk: Shapes, node: Node, tensor: Pairs, *args: Operand, **kwargs: Operand) -> Operand:
    return tensor


def permute(walk: Shapes, node: Node, tensor: Pairs, dims: Any) -> Operand:
    return pairs.permuted(walk.pairs, tensor, dims)


def transpose(walk: Shapes, node: Node, tensor: Pairs, a: int = 0, b: int = 1) -> Operand:
    dims = list(range(tensor.planes.ndim))
    dims[a], dims[b] = dims[b], dims[a]
    return pairs.permuted(walk.pairs, tensor, dims)


def view(walk: Shapes, node: Node, tensor: Pairs, *args: Operand) -> Operand:
    sizes = [walk.domain_of(size) for size in node.meta["val"].shape]
    shape = tuple(size for size, _ in sizes)
    axes = tuple(i for i, (_, domain) in enumerate(sizes) if domain is not None)

    def between(shape: tuple[int, ...], axes: Operand) -> Operand:
        return [math.prod(shape[: axes[0]]), math.prod(shape[axes[0] : axes[1]])]

    if len(axes) != 2 or between(shape, axes) != between(tensor.planes.shape, tensor.axes):
        raise NotFused("a reshape across the rows")
    return Pairs(tensor.planes.reshape(shape), axes, tensor.domains)


def unsqueeze(walk: Shapes, node: Node, tensor: Pairs, dim: int) -> Operand:
    dim %= tensor.planes.ndim + 1
    first, second = (axis + (dim <= axis) for axis in tensor.axes)
    return Pairs(np.expand_dims(tensor.planes, dim), (first, second), tensor.domains)


def squeeze(walk: Shapes, node: Node, tensor: Pairs, dims: Any) -> Operand:
    dims = [dim % tensor.planes.ndim for dim in ([dims] if isinstance(dims, int) else dims)]
    dims = [dim for dim in dims if dim not in tensor.axes and tensor.planes.shape[dim] == 1]
    axes = tuple(axis - sum(dim < axis for dim in dims) for axis in tensor.axes)
    return Pairs(tensor.planes.squeeze(tuple(dims)), axes, tensor.domains)


def select(walk: Shapes, node: Node, tensor: Pairs, dim: int, at: Operand) -> Operand:
    dim %= tensor.planes.ndim
    if dim in tensor.axes:
        raise NotFused("one row taken out of all")
    first, second = (axis - (dim < axis) for axis in tensor.axes)
    return Pairs(tensor.planes.take(at, axis=dim), (first, second), tensor.domains)


def slices(
    walk: Shapes, node: Node, tensor: Pairs, dim: int = 0, start: Any = None, stop: Any = None, step: int = 1
) -> Operand:
    dim %= tensor.planes.ndim
    if dim not in tensor.axes:
        return replace(tensor, planes=tensor.planes[(slice(None),) * dim + (slice(start, stop, step),)])
    size, domain = walk.domain_of(node.meta["val"].shape[dim])
    if start in (0, None) and step == 1 and (size, domain) == (1, tensor.domains[tensor.axes.index(dim)]):
        return tensor
    raise NotFused("some of the rows taken out of all")


def expand(walk: Shapes, node: Node, tensor: Pairs, *args: Operand, **kwargs: Operand) -> Operand:
    sizes = [walk.domain_of(size)[0] for size in node.meta["val"].shape]
    first, second = (axis + len(sizes) - tensor.planes.ndim for axis in tensor.axes)
    return Pairs(np.broadcast_to(tensor.planes, sizes), (first, second), tensor.domains)


def matmul(walk: Shapes, node: Node, a: Operand, b: Operand) -> Operand:
    if isinstance(a, Pairs) and isinstance(b, Rows) and b.planes.ndim > 1:
        return pairs.attended(walk, a, b)
    if isinstance(b, Pairs) and isinstance(a, Rows) and a.planes.ndim > 1:
        turned = pairs.attended(walk, transpose(walk, node, b, -1, -2), rows.transpose(a, -1, -2))
        return rows.transpose(turned, -1, -2)
    raise NotFused("a product of a number for every pair of rows with something else than rows")


def softmax(walk: Shapes, node: Node, tensor: Pairs, dim: int, half_to_float: Operand) -> Operand:
    if dim % tensor.planes.ndim in tensor.axes:
        return pairs.softmax(walk.pairs, tensor) if dim % tensor.planes.ndim == tensor.axes[1] else _not_last()
    raise NotFused("a softmax over elements of pairs of rows")


def _not_last() -> Operand:
    raise NotFused("a softmax over rows that are not the last dimension")


def _dims(tensor: Operand, dims: Any) -> Operand:
    dims = range(tensor.planes.ndim) if dims in (None, []) else dims if isinstance(dims, (list, tuple)) else [dims]
    return [dim % tensor.planes.ndim for dim in dims]


def reduction(name: str) -> Callable[..., Operand]:
    def run(walk: Shapes, node: Node, tensor: Pairs, dims: Any = None, keep: bool = False, **kwargs: Operand) -> Operand:
        dims = _dims(tensor, dims)
        over = [dim for dim in dims if dim in tensor.axes]
        if not over and kwargs.get("dtype") in (None, torch.float32):
            return pairs.reduced(walk.pairs, tensor, dims, keep, functools.partial(walk.reduce, name))
        if len(dims) == 1 and name in ("amax", "amin") and not kwargs:
            return _extreme(walk, tensor, dims[0], keep, name)[0]
        if dims == [tensor.planes.ndim - 1] and name == "sum" and not kwargs:
            ones = Rows(plane_array((1, 1), [1.0]), 0, tensor.domains[1])
            found = pairs.attended(walk, tensor, ones)
            return found if keep else rows.squeeze(found, -1)
        raise NotFused(f"{name} of a number for every pair of rows")

    return run


def norm(
    walk: Shapes, node: Node, tensor: Pairs, order: float = 2, dims: Any = None, keep: bool = False, **kwargs: Operand
) -> Operand:
    dims = _dims(tensor, dims)
    if kwargs or set(dims) & set(tensor.axes):
        raise NotFused("a norm over all rows")
    return pairs.reduced(walk.pairs, tensor, dims, keep, arithmetic.norm(walk, order, "a norm"))


def _extreme(walk: Shapes, tensor: Pairs, dim: int, keep: Operand, name: str) -> Operand:
    """The largest or the least over the rows of a dimension, and the place of its row; NaN is either."""
    found = pairs.nearest(walk, tensor, dim, 1, True, is_negated=name == "amin")
    return list(found) if keep else [rows.squeeze(one, dim) for one in found]


def topk(
    walk: Shapes, node: Node, tensor: Pairs, count: int, dim: Operand = -1, largest: bool = True, is_sorted: bool = True
) -> Operand:
    if dim % tensor.planes.ndim not in tensor.axes:
        raise NotFused("the order of elements of pairs of rows")
    return list(pairs.nearest(walk, tensor, dim, count, largest))


def gather(walk: Shapes, node: Node, tensor: Pairs, dim: int, index: Operand, **kwargs: Operand) -> Operand:
    if not isinstance(index, Rows):
        raise NotFused("pairs of rows taken by an index that is not one of rows")
    return pairs.gathered(walk, tensor, dim, index)


def extreme(name: str) -> Callable[..., Operand]:
    def run(walk: Shapes, node: Node, tensor: Pairs, *args: Operand) -> Operand:
        if not args or not isinstance(args[0], int):
            raise NotFused("a sum or maximum over all rows")
        dim, keep = (*args, False)[:2]
        if dim % tensor.planes.ndim not in tensor.axes:
            raise NotFused("the extreme of elements of pairs of rows")
        return _extreme(walk, tensor, dim, keep, name)

    return run


def place(name: str) -> Callable[..., Operand]:
    def run(walk: Shapes, node: Node, tensor: Pairs, dim: Any = None, keep: bool = False) -> Operand:
        if dim is None or dim % tensor.planes.ndim not in tensor.axes:
            raise NotFused("the extreme of elements of pairs of rows")
        return _extreme(walk, tensor, dim, keep, name)[1]

    return run


OPERATIONS: dict[str, Callable[..., Operand]] = {
    **dict.fromkeys("alias clone contiguous detach lift_fresh_copy dropout".split(), same),
    "permute": permute,
    "transpose": transpose,
    "t": transpose,
    "view": view,
    "reshape": view,
    "unsqueeze": unsqueeze,
    "squeeze": squeeze,
    "select": select,
    "slice": slices,
    "expand": expand,
    **dict.fromkeys("matmul bmm mm".split(), matmul),
    "_softmax": softmax,
    **{name: reduction(name) for name in ("sum", "mean", "amax", "amin")},
    "linalg_vector_norm": norm,
    "topk": topk,
    "gather": gather,
    "max": extreme("amax"),
    "min": extreme("amin"),
    "argmax": place("amax"),
    "argmin": place("amin"),
}
