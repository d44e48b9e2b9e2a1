# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Rows taken and reduced by index."""

from dataclasses import replace

import numpy as np
import torch

from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontends.torch_export import row_numbers
from tensoa.compiler.ir import REDUCTIONS, Value
from tensoa.compiler.ir.rows import Rows, numbers_of, plane_array, select, take
from tensoa.dtypes import DTYPES


def embedding(walk, node, table, tensor, *args, **kwargs):
    """Rows of a table, for each number of the tensor."""
    if isinstance(table, Rows):
        return index_select(walk, node, table, 0, tensor)
    return walk.looked_up(table, tensor)


def gather(walk, node, tensor, dim, index, **kwargs):
    """Rows by an index that is the same for all elements that it has, or elements of each row."""
    if not isinstance(index, Rows):
        return take(tensor, dim, _alike(index, dim))
    if not isinstance(tensor, Rows) or dim % tensor.planes.ndim != tensor.axis:
        return walk.taken(tensor, dim, index)
    part = tuple(slice(size) for size in index.planes.shape)
    return walk.gathered(replace(tensor, planes=tensor.planes[part]), walk.index(index))


def _alike(index, dim):
    """The places of a constant index that is the same along all other dimensions."""
    places = index.movedim(dim, 0).flatten(1)
    if places.numel() and (places != places[:, :1]).any():
        raise NotFused("elements taken by a constant index that differs along other dimensions")
    return places[:, 0].numpy()


def index_select(walk, node, tensor, dim, index):
    return index_by(walk, node, tensor, [None] * (dim % tensor.planes.ndim) + [index])


def index_by(walk, node, tensor, indices):
    used = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    if any(row_numbers.are_in(index) for _, index in used):
        return row_numbers.taken(walk, tensor, used)
    if isinstance(tensor, Rows) and _are_places(tensor, indices):
        return replace(tensor, planes=tensor.planes[_numpy(indices)], axis=walk.shape_of(node)[1])
    if len(used) != 1:
        raise NotFused("indices in several dimensions")
    dim, index = used[0]
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
    raise NotFused("columns taken by an index that is not a constant list")


def _are_places(tensor, indices):
    """Whether constants name elements of a row, the same in all rows."""
    used = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    return all(dim != tensor.axis and isinstance(index, torch.Tensor) and index.dtype != torch.bool for dim, index in used)


def _numpy(indices):
    return tuple(slice(None) if index is None else index.numpy() for index in indices)


def index_put(walk, node, base, indices, source, accumulate=False):
    used = [index for index in indices if index is not None]
    if not accumulate and len(used) == 1 and used[0].dtype in (torch.bool, DTYPES["bool"]):
        return _where(walk, node, base, len(indices) - 1, used[0], source)
    if not accumulate and isinstance(base, Rows) and _are_places(base, indices):
        return _with_places(base, _numpy(indices), source)
    if not accumulate or len(used) != 1 or indices[0] is None:
        raise NotFused("rows that are overwritten by index")
    if not isinstance(used[0], Rows) or used[0].planes.ndim != 1:
        raise NotFused("rows summed by an index that is not one column")
    return walk.scattered(base, walk.index(used[0]), source, *walk.shape_of(node))


def _where(walk, node, base, dim, mask, source):
    """x[mask] = number, where the mask has some dimensions of x."""
    shape, axis, domain = walk.shape_of(node)
    if isinstance(source, Rows) or source.numel() != 1:
        raise NotFused("places of a mask that get different numbers")
    trailing = (1,) * (len(shape) - dim - (mask.planes.ndim if isinstance(mask, Rows) else mask.dim()))
    if isinstance(mask, Rows):
        if mask.axis + dim != axis:
            raise NotFused("rows that are overwritten by index")
        mask = replace(mask, planes=mask.planes.reshape(*mask.planes.shape, *trailing))
    else:
        mask = mask.reshape(*mask.shape, *trailing)
    base = base if isinstance(base, Rows) else walk.filled(base, shape, axis, domain)
    return walk.function("where", mask, source.reshape(()), base)


def _with_places(base, places, source):
    """`base` with `source` at constant places of its rows."""
    if not isinstance(source, Rows):
        source = replace(base, planes=plane_array(*numbers_of(source)))
    elif source.domain != base.domain:
        raise NotFused("a tensor of other rows in places of a row")
    planes = base.planes.copy()
    planes[places] = source.planes
    return replace(base, planes=planes)


def scatter_reduce(walk, node, base, dim, index, source, how="sum", include_self=True):
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


def index_reduce(walk, node, base, dim, index, source, how, *, include_self=True):
    if not isinstance(index, Rows) or index.planes.ndim != 1:
        raise NotFused("rows reduced by an index that is not one column")
    return _reduced(walk, _base(walk, node, base, dim), walk.index(index), source, how, include_self)


def _base(walk, node, base, dim) -> Rows:
    """What rows along `dim` are joined to."""
    shape, axis, domain = walk.shape_of(node)
    if axis is None or dim % len(shape) != axis:
        raise NotFused("a scatter inside a row")
    return base if isinstance(base, Rows) else walk.filled(base, shape, axis, domain)


def _reduced(walk, base: Rows, index: Value, source, how: str, include_self: bool) -> Rows:
    """What `how` makes of a tensor and of the rows of `source` at `index`; without `include_self` of these alone, and of the
    tensor where there are none.
    """
    if how not in ("sum", "mean", "amax", "amin"):
        raise NotFused(f"rows reduced by index ({how})")
    m, name, axis = walk.map, "sum" if how == "mean" else how, base.axis

    def reduced(start, rows, shape, name=name):
        return walk.scattered(start, index, rows, shape, axis, base.domain, name)

    if include_self and how != "mean":
        return reduced(base, source, base.planes.shape)
    one = (1,) * base.planes.ndim
    counts = reduced(torch.zeros(()), Rows(plane_array(one, [1.0]), axis, index.domain), one, "sum")
    if include_self:
        sums = reduced(base, source, base.planes.shape)
        return walk.elementwise(lambda x, n, k: m("div", x, m("add", n, k)), sums, counts, 1.0)

    def found(x, n, k, old):
        return m("where", m("ge", n, k), m("div", x, m("maximum", n, k)) if how == "mean" else x, old)

    alone = reduced(torch.tensor(REDUCTIONS[name].start), source, base.planes.shape)
    return walk.elementwise(found, alone, counts, 1.0, base)


OPERATIONS = {
    "embedding": embedding,
    "gather": gather,
    "index_select": index_select,
    "index": index_by,
    "index_put": index_put,
    "scatter_add": scatter_reduce,
    "scatter_reduce": scatter_reduce,
    "index_reduce": index_reduce,
}
