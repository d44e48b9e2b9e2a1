# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Rows taken and reduced by index."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch.fx import Node

from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontends.torch_export import places
from tensoa.compiler.frontends.torch_export.shapes import Shapes
from tensoa.compiler.ir import REDUCTIONS, Value
from tensoa.compiler.ir.builder import Operand
from tensoa.compiler.ir.rows import Rows, plane_array, select, take


def embedding(walk: Shapes, node: Node, table: Operand, tensor: Rows, *args: Operand, **kwargs: Operand) -> Operand:
    """Rows of a table, for each number of the tensor."""
    if isinstance(table, Rows):
        return index_select(walk, node, table, 0, tensor)
    return walk.looked_up(table, tensor)


def gather(walk: Shapes, node: Node, tensor: Rows, dim: int, index: Operand, **kwargs: Operand) -> Operand:
    """Rows by an index that is the same for all elements that it has, or elements of each row."""
    if not isinstance(index, Rows):
        return take(tensor, dim, _alike(index, dim))
    if not isinstance(tensor, Rows) and tensor.dim() == 1:
        return index_by(walk, node, tensor, [index])
    if not isinstance(tensor, Rows) or dim % tensor.planes.ndim != tensor.axis:
        return walk.taken(tensor, dim, index)
    part = tuple(slice(size) for size in index.planes.shape)
    return walk.gathered(replace(tensor, planes=tensor.planes[part]), walk.index(index))


def _alike(index: Operand, dim: int) -> Operand:
    """The places of a constant index that is the same along all other dimensions."""
    places = index.movedim(dim, 0).flatten(1)
    if places.numel() and (places != places[:, :1]).any():
        raise NotFused("elements taken by a constant index that differs along other dimensions")
    return places[:, 0].numpy()


def index_select(walk: Shapes, node: Node, tensor: Rows, dim: int, index: Operand) -> Operand:
    return index_by(walk, node, tensor, [None] * (dim % tensor.planes.ndim) + [index])


def index_by(walk: Shapes, node: Node, tensor: Rows, indices: Operand) -> Operand:
    used = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    dim, index = used[0]
    if isinstance(tensor, Rows) and isinstance(index, Rows) and index.dtype.is_bool and len(used) == 1:
        return places.Chosen(tensor, index)
    if isinstance(tensor, Rows) and len(used) == 1 and dim == tensor.axis and places.are_numbers_of_rows(index):
        return tensor if places.are_own(index) and index.planes.ndim == 1 else places.in_all_rows(walk, tensor, index)
    if isinstance(tensor, Rows) and (len(used) > 1 or not isinstance(index, Rows)):
        return places.Places(walk, tensor, indices).taken()
    if len(used) != 1:
        raise NotFused("constants taken by indices in several dimensions")
    if not isinstance(tensor, Rows):
        if dim or tensor.dim() > 2:
            raise NotFused("constants taken by index")
        if not index.are_columns:  # a negative one counts from the end
            index = walk.function("where", walk.function("lt", index, 0), walk.function("add", index, len(tensor)), index)
        found = walk.looked_up(tensor.reshape(len(tensor), -1), index)
        return found if tensor.dim() == 2 else select(found, -1, 0)
    if dim == tensor.axis:
        if not isinstance(index, Rows) or (index.planes.shape != (1,) and tensor.axis != 0):
            raise NotFused("rows taken by an index that is not one column")
        if index.planes.shape == (1,):
            return walk.gathered(tensor, walk.index(index))
        columns = [replace(index, planes=plane_array((1,), [plane]), axis=0) for plane in index.planes.reshape(-1)]
        parts = [walk.gathered(tensor, walk.index(column)).planes[0] for column in columns]
        planes = np.stack(parts).reshape(*index.planes.shape, *tensor.planes.shape[1:])  # elements and rows as in the index
        return Rows(planes, index.axis, index.domain)
    raise NotFused("columns taken by an index that depends on the inputs")


def index_put(walk: Shapes, node: Node, base: Operand, indices: Operand, source: Operand, accumulate: bool = False) -> Operand:
    used = [index for index in indices if index is not None]
    shape, axis, domain = walk.shape_of(node)
    is_of_rows = indices[0] is not None and not places.are_numbers_of_rows(used[0])
    if len(used) == 1 and isinstance(used[0], Rows) and used[0].dtype.is_bool and not accumulate and indices[0] is not None:
        return places.write_masked(walk, places.of_rows(walk, node, base), used[0], source)
    if len(used) > 1 or axis != 0 or not is_of_rows:
        return places.write(walk, node, places.of_rows(walk, node, base), indices, source, accumulate)
    if not accumulate:
        raise NotFused("rows that are overwritten by index")
    if not isinstance(used[0], Rows) or used[0].planes.ndim != 1:
        raise NotFused("rows summed by an index that is not one column")
    return walk.scattered(base, walk.index(used[0]), source, shape, axis, domain)


def scatter_reduce(
    walk: Shapes,
    node: Node,
    base: Operand,
    dim: int,
    index: Operand,
    source: Operand,
    how: str = "sum",
    include_self: bool = True,
) -> Operand:
    shape, axis, _ = walk.shape_of(node)
    if axis is not None and dim % len(shape) != axis and include_self:
        return places.scatter(walk, node, base, dim, index, source, how)
    base = _base(walk, node, base, dim)
    column = walk.index(index)  # the same for all elements that it has; others stay as they are
    if not isinstance(source, Rows):
        source = walk.filled(source, index.planes.shape, base.axis, index.domain)
    if source.axis != base.axis:
        raise NotFused("a sum whose rows are not those of its index")
    part = tuple(slice(size) for size in index.planes.shape)
    planes = base.planes.copy()
    some, source = (replace(tensor, planes=tensor.planes[part]) for tensor in (base, source))
    planes[part] = _reduced(walk, some, column, source, how, include_self).planes
    return replace(base, planes=planes)


def index_reduce(
    walk: Shapes, node: Node, base: Operand, dim: int, index: Operand, source: Operand, how: str, *, include_self: bool = True
) -> Operand:
    if not isinstance(index, Rows) or index.planes.ndim != 1:
        raise NotFused("rows reduced by an index that is not one column")
    return _reduced(walk, _base(walk, node, base, dim), walk.index(index), source, how, include_self)


def _base(walk: Shapes, node: Node, base: Operand, dim: int) -> Rows:
    """What rows along `dim` are joined to."""
    shape, axis, domain = walk.rows_of(node)
    if dim % len(shape) != axis:
        raise NotFused("a scatter inside a row")
    return base if isinstance(base, Rows) else walk.filled(base, shape, axis, domain)


def _reduced(walk: Shapes, base: Rows, index: Value, source: Operand, how: str, include_self: bool) -> Rows:
    """What `how` makes of a tensor and of the rows of `source` at `index`; without `include_self` of these alone, and of the
    tensor where there are none.
    """
    if how not in ("sum", "mean", "amax", "amin"):
        raise NotFused(f"rows reduced by index ({how})")
    m, name, axis = walk.map, "sum" if how == "mean" else how, base.axis

    def reduced(start: Operand, rows: Rows, shape: tuple[int, ...], name: str = name) -> Rows:
        return walk.scattered(start, index, rows, shape, axis, base.domain, name)

    if include_self and how != "mean":
        return reduced(base, source, base.planes.shape)
    one = (1,) * base.planes.ndim
    counts = reduced(torch.zeros(()), Rows(plane_array(one, [1.0]), axis, index.domain), one, "sum")
    if include_self:
        sums = reduced(base, source, base.planes.shape)
        return walk.elementwise(lambda x, n, k: m("div", x, m("add", n, k)), sums, counts, 1.0)

    def found(x: Operand, n: Operand, k: Operand, old: Operand) -> Operand:
        return m("where", m("ge", n, k), m("div", x, m("maximum", n, k)) if how == "mean" else x, old)

    alone = reduced(torch.tensor(REDUCTIONS[name].start), source, base.planes.shape)
    return walk.elementwise(found, alone, counts, 1.0, base)


OPERATIONS: dict[str, Callable[..., Operand]] = {
    "embedding": embedding,
    "gather": gather,
    "index_select": index_select,
    "index": index_by,
    "_unsafe_index": index_by,
    "index_put": index_put,
    "scatter": places.scatter,
    "scatter_add": scatter_reduce,
    "scatter_reduce": scatter_reduce,
    "index_reduce": index_reduce,
}
