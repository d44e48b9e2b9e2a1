# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What moves numbers about, which costs nothing when a program runs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.fx import Node

from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontends.torch_export import arithmetic
from tensoa.compiler.frontends.torch_export.shapes import Shapes
from tensoa.compiler.ir import pairs, rows
from tensoa.compiler.ir.builder import Operand
from tensoa.compiler.ir.rows import Rows


def same(walk: Shapes, node: Node, tensor: Rows, *args: Operand, **kwargs: Operand) -> Operand:
    return tensor


def view(walk: Shapes, node: Node, tensor: Rows, *args: Operand) -> Operand:
    shape, axis, _ = walk.shape_of(node)
    if axis is None:
        raise NotFused("a reshape across the rows")
    return rows.reshape(tensor, shape, axis)


def slices(walk: Shapes, node: Node, tensor: Rows, dim: int = 0, start: Any = None, stop: Any = None, step: int = 1) -> Operand:
    if dim % tensor.planes.ndim == tensor.axis:
        if walk.shape_of(node)[2] == tensor.domain and start in (0, None) and step == 1:
            return tensor
        raise NotFused("some of the rows taken out of all")
    return rows.take(tensor, dim, slice(start, stop, step))


def expand(walk: Shapes, node: Node, tensor: Rows, *args: Operand, **kwargs: Operand) -> Operand:
    sizes = [walk.domain_of(size) for size in node.meta["val"].shape]
    if sum(domain is not None for _, domain in sizes) == 2:
        return pairs.expanded(walk.pairs, tensor, sizes)
    shape, axis, domain = walk.shape_of(node)
    if axis is None or domain != tensor.domain:
        raise NotFused("one tensor for all rows")
    return Rows(np.broadcast_to(tensor.planes, shape), axis, domain)


def repeat(walk: Shapes, node: Node, tensor: Rows, sizes: Any) -> Operand:
    axis = tensor.axis + len(sizes) - tensor.planes.ndim
    if isinstance(sizes[axis], torch.SymInt) or sizes[axis] != 1:
        raise NotFused("rows put behind rows")
    return Rows(np.tile(tensor.planes, sizes), axis, tensor.domain)


def copy(walk: Shapes, node: Node, base: Operand, source: Operand, *args: Operand) -> Operand:
    """`source` in the shape and the dtype of `base`: what x[…] = source makes of the places that it writes."""
    dtype = node.meta["val"].dtype
    if isinstance(source, Rows):
        return expand(walk, node, arithmetic.cast(walk, node, source, dtype=dtype))
    shape, axis, domain = walk.rows_of(node)
    return walk.filled(torch.as_tensor(source).to(dtype).expand(shape), shape, axis, domain)


def _with(base: Operand, source: Operand, dim: int, places: Operand) -> Operand:
    """`base` with `source` at these places of a dimension."""
    if not isinstance(source, Rows) or source.domain != base.domain:
        raise NotFused("a constant that differs from row to row")
    planes = base.planes.copy()
    planes[(slice(None),) * (dim % planes.ndim) + (places,)] = source.planes
    return replace(base, planes=planes)


def slice_scatter(
    walk: Shapes, node: Node, base: Operand, source: Operand, dim: int = 0, start: Any = None, stop: Any = None, step: int = 1
) -> Operand:
    if dim % base.planes.ndim != base.axis:
        return _with(base, source, dim, slice(start, stop, step))
    if start in (0, None) and step == 1 and isinstance(source, Rows) and source.domain == base.domain:
        return source
    raise NotFused("some of the rows changed among all")


def select_scatter(walk: Shapes, node: Node, base: Operand, source: Operand, dim: int, at: Operand) -> Operand:
    if dim % base.planes.ndim == base.axis:
        raise NotFused("one row changed among all")
    return _with(base, source, dim, at)


def _of_tensors(move: Operand) -> Callable[..., Operand]:
    """An operation that the number of rows does not matter for."""
    return lambda walk, node, *args, **kwargs: move(*args, **kwargs)


def stack(tensors: Operand, dim: int = 0) -> Operand:
    if not all(isinstance(tensor, Rows) for tensor in tensors):
        raise NotFused("a constant that differs from row to row")
    return rows.concatenate([rows.unsqueeze(tensor, dim) for tensor in tensors], dim)


OPERATIONS: dict[str, Callable[..., Operand]] = {
    **dict.fromkeys("alias clone contiguous detach lift_fresh_copy dropout".split(), same),
    "view": view,
    "reshape": view,
    "permute": _of_tensors(rows.permute),
    "transpose": _of_tensors(rows.transpose),
    "t": _of_tensors(lambda tensor: rows.transpose(tensor, 0, 1)),
    "select": _of_tensors(rows.select),
    "slice": slices,
    "split_with_sizes": _of_tensors(rows.split),
    "split": _of_tensors(rows.split),
    "unsqueeze": _of_tensors(rows.unsqueeze),
    "squeeze": _of_tensors(rows.squeeze),
    "expand": expand,
    "copy": copy,
    "slice_scatter": slice_scatter,
    "select_scatter": select_scatter,
    "cat": _of_tensors(rows.concatenate),
    "stack": _of_tensors(stack),
    "repeat": repeat,
    "constant_pad_nd": _of_tensors(rows.pad),
    "diagonal": _of_tensors(rows.diagonal),
    "flip": _of_tensors(rows.flip),
    "unfold": _of_tensors(rows.unfold),
    "roll": _of_tensors(rows.roll),
}
