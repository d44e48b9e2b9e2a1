# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The numbers of rows (torch.arange): places of elements among those of all rows, where each row takes its own.

x[torch.arange(n), place], and x.view(n * k, -1)[(place + torch.arange(n)[:, None] * k).view(-1)].
"""

import math
from dataclasses import replace

import numpy as np

from tensoa.compiler.errors import NotFused
from tensoa.compiler.ir.rows import NUMBERS_OF_ROWS, RowNumber, Rows, plane_array


def arange(walk, node, *ends):
    start, _, step = (0, *ends, 1) if len(ends) == 1 else (*ends, 1)[:3]
    dtype = node.meta["val"].dtype
    (elements,), axis, domain = walk.shape_of(node)
    if (start, step) != (0, 1) or axis is None or dtype.is_floating_point:
        raise NotFused(NUMBERS_OF_ROWS)
    return Rows(plane_array((elements,), [RowNumber(elements, i) for i in range(elements)]), 0, domain)


def are_in(tensor):
    return isinstance(tensor, Rows) and any(isinstance(plane, RowNumber) for plane in tensor.planes.reshape(-1))


def calculated(walk, name, args):
    """A sum or a product with numbers of rows; None of all else."""
    if name not in ("add", "mul") or not any(map(are_in, args)):
        return None
    arrays, axis, domain = walk.broadcast(*args)
    planes = [{"add": _sum, "mul": _product}[name](*pair) for pair in zip(*(array.reshape(-1) for array in arrays))]
    return Rows(plane_array(arrays[0].shape, planes), axis, domain)


def _sum(a, b):
    number, other = (a, b) if isinstance(a, RowNumber) else (b, a)
    if not isinstance(number, RowNumber) or isinstance(other, RowNumber):
        raise NotFused(NUMBERS_OF_ROWS)
    if isinstance(other, int) and isinstance(number.place, int):
        return replace(number, place=number.place + other)
    if number.place != 0:
        raise NotFused(NUMBERS_OF_ROWS)
    return replace(number, place=other)


def _product(a, b):
    number, other = (a, b) if isinstance(a, RowNumber) else (b, a)
    if not isinstance(number, RowNumber) or not isinstance(other, int) or not isinstance(number.place, int):
        raise NotFused(NUMBERS_OF_ROWS)
    return RowNumber(number.times * other, number.place * other)


def taken(walk, tensor, used):
    """Elements of each row of a tensor by an index [(dimension, index)] that names this row."""
    if not isinstance(tensor, Rows) or tensor.outer != 1:
        raise NotFused("constants taken by the number of a row")
    elements = tensor.planes.shape[tensor.axis]
    used = dict(used)
    own = used.pop(tensor.axis, None)
    others = [index for _, index in sorted(used.items())]
    if not are_in(own) or own.domain != tensor.domain or own.outer != 1 or any(map(are_in, others)) or len(others) > 1:
        raise NotFused(NUMBERS_OF_ROWS)
    if any(not isinstance(plane, RowNumber) or plane.times != elements for plane in own.planes.reshape(-1)):
        raise NotFused(NUMBERS_OF_ROWS)
    places = replace(own, planes=plane_array(own.planes.shape, [plane.place for plane in own.planes.reshape(-1)]))
    dims = [tensor.axis]
    if not others:
        if not _are_below(walk, places, elements):
            raise NotFused("elements of all rows taken by an index that is not known to be one of its row")
    elif elements != 1 or any(place != 0 for place in places.planes.reshape(-1)):
        raise NotFused(NUMBERS_OF_ROWS)
    else:
        dims.append(next(iter(used)))
        elements = tensor.planes.shape[dims[1]]
        (arrays, axis, _) = walk.broadcast(places, *others)
        places = Rows(arrays[1], axis, tensor.domain)
        if not _are_below(walk, places, elements):  # a negative one counts from the end
            wrapped = walk.function("add", places, elements)
            places = walk.function("where", walk.function("lt", places, 0), wrapped, places)
    return _of_each_row(walk, tensor, dims, elements, places)


def _are_below(walk, places, elements):
    planes = places.planes.reshape(-1)
    if all(isinstance(plane, int) for plane in planes):
        return all(0 <= plane < elements for plane in planes)
    return walk.is_within(places, 0, elements - 1)


def _of_each_row(walk, tensor, dims, elements, places):
    """`places` along `dims` of the tensor as one dimension, put where indexing by a list for each of them puts it."""
    first = min(dims) if max(dims) - min(dims) < len(dims) else 0
    moved = np.moveaxis(tensor.planes, dims, range(len(dims)))
    rest = moved.shape[len(dims) :]
    one = Rows(moved.reshape(1, elements, math.prod(rest)), 0, tensor.domain, tensor.dtype)
    flat = places.planes.reshape(1, -1, 1)
    if all(isinstance(plane, int) for plane in flat.reshape(-1)):
        planes = one.planes[:, flat.astype(np.int64).reshape(-1)]
    else:
        wide = np.broadcast_to(flat, (*flat.shape[:2], one.planes.shape[2]))
        planes = walk.taken(one, 1, Rows(wide, 0, tensor.domain)).planes
    planes = planes.reshape(*places.planes.shape, *rest)
    count = places.planes.ndim
    planes = np.moveaxis(planes, range(count), range(first, first + count))
    return Rows(planes, first + places.axis, tensor.domain)
