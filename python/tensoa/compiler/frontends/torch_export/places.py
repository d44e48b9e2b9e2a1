# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Elements of a row that are read and written by indices in several dimensions, by truth values, and beside the number of
the row itself: x[arange(n), places], x.view(n * k, -1)[places + k * arange(n)], x[mask] = 0, x.scatter(1, places, y).
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch.fx import Node

from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontends.torch_export.shapes import Shapes
from tensoa.compiler.ir import FUNCTIONS, rows
from tensoa.compiler.ir.builder import Operand
from tensoa.compiler.ir.rows import RowNumber, Rows, numbers_of, plane_array

MOST_WRITTEN = 1 << 14  # numbers that are compared with the places of elements which are written


@dataclass(eq=False)
class Chosen:
    """The elements of a tensor that a mask is true for, all rows in one."""

    tensor: Rows
    mask: Rows

    def is_like(self, other: Operand) -> Operand:
        return self.mask.planes.shape == other.mask.planes.shape and bool((self.mask.planes == other.mask.planes).all())


def common_mask(name: str, args: Operand) -> Operand:
    """Of what an operation, number by number, is given."""
    chosen = [arg for arg in args if isinstance(arg, Chosen)]
    if name not in FUNCTIONS or any(isinstance(arg, Rows) for arg in args) or not all(map(chosen[0].is_like, chosen)):
        raise NotFused("elements of all rows that a mask is true for")
    return chosen[0].mask


def arange(walk: Shapes, node: Node, *args: Operand, **kwargs: Operand) -> Operand:
    """The number of each row."""
    elements, domain = walk.domain_of(node.meta["val"].shape[0])
    start, _, step = {1: (0, *args, 1), 2: (*args, 1), 3: args}[len(args)]
    if domain is None or (start, step) != (0, 1):
        raise NotFused("arange of a number of rows that does not count them from 0")
    return Rows(plane_array((elements,), [RowNumber(elements, i) for i in range(elements)]), 0, domain)


def counted(walk: Shapes, name: str, args: Operand) -> Operand:
    """A sum or product of numbers of rows: those of elements in a tensor that has rows and elements in one dimension."""
    (a, b), axis, domain = walk.broadcast(*args)
    planes = [_counted(name, *pair) for pair in zip(a.reshape(-1), b.reshape(-1))]
    return Rows(plane_array(a.shape, planes), axis, domain)


def _counted(name: str, a: Operand, b: Operand) -> Operand:
    if not isinstance(a, RowNumber):
        a, b = b, a
    if isinstance(a, RowNumber) and name == "add" and isinstance(b, int) and isinstance(a.plane, int):
        return RowNumber(a.times, a.plane + b)
    if isinstance(a, RowNumber) and name == "add" and not isinstance(b, RowNumber) and a.plane == 0:
        return RowNumber(a.times, b)
    if isinstance(a, RowNumber) and name == "mul" and isinstance(b, int) and isinstance(a.plane, int):
        return RowNumber(a.times * b, a.plane * b)
    raise NotFused("numbers of rows as numbers")


def are_numbers_of_rows(arg: Operand) -> Operand:
    return isinstance(arg, Rows) and any(isinstance(plane, RowNumber) for plane in arg.planes.reshape(-1))


def are_own(index: Operand) -> Operand:
    """Whether an index says of each row that it is this one."""
    return isinstance(index, Rows) and all(plane == RowNumber(1, 0) for plane in index.planes.reshape(-1))


def _listed(indices: Operand) -> Operand:
    """Constants of truth values as the places where they are."""
    for index in indices:
        is_mask = isinstance(index, torch.Tensor) and index.dtype == torch.bool
        yield from index.nonzero().unbind(1) if is_mask else [index]


class Places:
    """What indices name in a tensor: elements of some of its dimensions, the same in each row, or of each row its own.

    `at`: which of the elements of these dimensions, counted through all of them, as Rows or an array of the shape of the
    indices, which what is taken has from the dimension `first` on.
    """

    def __init__(self, walk: Shapes, tensor: Rows, indices: Operand) -> None:
        used = [(dim, index) for dim, index in enumerate(_listed(indices)) if index is not None]
        own = [index for dim, index in used if dim == tensor.axis]
        computed = [index for _, index in used if isinstance(index, Rows)]
        rows.need_rows(tensor, *computed)
        if own and not are_own(own[0]):
            raise NotFused("rows taken by an index that is not one column")
        if computed and not own:
            raise NotFused("columns taken by an index that depends on the inputs")
        if any(index.domain != tensor.domain for index in computed):
            raise NotFused("elements taken by an index of other rows")
        self.walk, self.tensor = walk, tensor
        named = [dim for dim, _ in used]
        dims = [dim for dim in named if dim != tensor.axis]
        rest = [dim for dim in range(tensor.planes.ndim) if dim not in named]
        shapes = [index.planes.shape if isinstance(index, Rows) else tuple(index.shape) for _, index in used]
        self.shape = np.broadcast_shapes(*shapes)
        self.first = named[0] if named == list(range(named[0], named[-1] + 1)) else 0
        self.order = [*dims, *rest, *([tensor.axis] if own else [])]
        self.sizes = [tensor.planes.shape[dim] for dim in self.order]
        self.count = math.prod(self.sizes[: len(dims)])
        self.rest = self.sizes[len(dims) : len(dims) + len(rest)]
        among = {index.axis + len(self.shape) - index.planes.ndim for index in [*own, *computed]}
        if len(among) > 1:
            raise NotFused("elements of each row taken for all rows")
        self.axis = among.pop() if own else len(self.shape) + rest.index(tensor.axis)
        self.at = self._joined([(tensor.planes.shape[dim], index) for dim, index in used if dim != tensor.axis])

    def _joined(self, used: Operand) -> Operand:
        walk, constant, computed, stride = self.walk, torch.tensor(0), [], 1
        for size, index in reversed(used):
            if not isinstance(index, Rows):
                constant = constant + torch.where(index < 0, index + size, index) * stride
            else:
                if not walk.is_within(index, 0, math.inf):  # a negative one counts from the end
                    index = walk.function("where", walk.function("lt", index, 0), walk.function("add", index, size), index)
                computed.append(index if stride == 1 else walk.function("mul", index, stride))
            stride *= size
        if not computed:
            return np.broadcast_to(constant.numpy(), self.shape)
        for index in [*computed[1:], *([constant] if constant.any() else [])]:
            computed[0] = walk.function("add", computed[0], index)
        return replace(computed[0], planes=np.broadcast_to(computed[0].planes, self.shape))

    @property
    def _elements(self) -> Operand:
        """[elements of the dimensions that are named, all others]"""
        return self.tensor.planes.transpose(self.order).reshape(self.count, -1)

    def _moved(self, array: np.ndarray, is_back: bool = False) -> Operand:
        """[shape of the indices, others] with the dimensions of the indices where torch has them."""
        front, there = range(len(self.shape)), range(self.first, self.first + len(self.shape))
        return np.moveaxis(array, there, front) if is_back else np.moveaxis(array, front, there)

    @property
    def _axis(self) -> Operand:
        rest = self.axis - len(self.shape)
        if rest < 0:
            return self.first + self.axis
        return rest if rest < self.first else self.axis

    def taken(self) -> Operand:
        if isinstance(self.at, Rows):
            found = taken_inside(self.walk, replace(self.tensor, planes=self._elements, axis=0), self.at)
        else:
            found = self._elements[self.at.reshape(-1)]
        return Rows(self._moved(found.reshape(*self.shape, *self.rest)), self._axis, self.tensor.domain)

    def written(self, source: Operand, join: Any = None) -> Operand:
        """The tensor with the numbers of `source` there; or, where `join` is given, join(what was there, source)."""
        shape = [*self.shape, *self.rest]
        target = self._moved(np.empty(shape, object))
        planes = source.planes if isinstance(source, Rows) else plane_array(*numbers_of(source))
        if isinstance(source, Rows) and source.axis + target.ndim - planes.ndim != self._axis:
            raise NotFused("elements written with those of other rows")
        numbers = self._moved(np.broadcast_to(planes, target.shape), is_back=True).reshape(math.prod(self.shape), -1)
        elements, domain = self._elements.copy(), self.tensor.domain
        if isinstance(self.at, Rows):
            whole, at = Rows(elements.T[None], 0, domain), self.at.planes.reshape(1, 1, -1)
            elements = written_inside(self.walk, whole, at, numbers.T[None], join).planes[0].T
        else:
            for some in _rounds(self.at.reshape(-1)):
                places, new = self.at.reshape(-1)[some], numbers[some]
                if join is not None:
                    new = join(*(Rows(array[None], 0, domain) for array in (elements[places], new))).planes[0]
                elements[places] = new
        planes = elements.reshape(self.sizes).transpose(np.argsort(self.order))
        return replace(self.tensor, planes=planes)


def _rounds(places: Operand) -> Operand:
    """Positions of places that are each another one, in order."""
    order = np.argsort(places, kind="stable")
    firsts = np.searchsorted(places[order], places[order])
    turn = np.empty(len(places), int)
    turn[order] = np.arange(len(places)) - firsts
    return [np.flatnonzero(turn == i) for i in range(turn.max(initial=-1) + 1)]


def taken_inside(walk: Shapes, elements: Operand, at: Operand) -> Operand:
    """Of elements [count, numbers of each], those at computed places, in order."""
    count, width = elements.planes.shape
    tensor = Rows(elements.planes.reshape(1, count, width), 0, elements.domain)
    places = np.broadcast_to(at.planes.reshape(1, -1, 1), (1, at.planes.size, width))
    return walk.taken(tensor, 1, Rows(places, 0, at.domain, at.dtype)).planes[0]


def written_inside(walk: Shapes, whole: Operand, at: Operand, numbers: Operand, join: Any = None) -> Operand:
    """Rows [..., count] with `numbers` [..., places] at computed places `at` of the last dimension; the last one counts."""
    count, written = whole.planes.shape[-1], at.shape[-1]
    if whole.planes.size * written > MOST_WRITTEN:
        raise NotFused(f"{whole.planes.size} elements written at {written} computed places")
    for i in range(written):
        here, new = (replace(whole, planes=array[..., i : i + 1]) for array in (at, numbers))
        is_there = walk.function("eq", here, torch.arange(count))
        whole = walk.function("where", is_there, new if join is None else join(whole, new), whole)
    return whole


def in_all_rows(walk: Shapes, tensor: Rows, index: Operand) -> Operand:
    """Elements of a tensor that has rows and elements in its first dimension, by places among those of all rows."""
    count = tensor.planes.shape[0]
    planes = index.planes.reshape(-1)
    if tensor.axis != 0 or tensor.outer != 1 or index.outer != 1 or index.domain != tensor.domain:
        raise NotFused("elements taken by an index of other rows")
    if any(plane.times != count for plane in planes):
        raise NotFused("rows taken by numbers of other rows")
    places = [plane.plane for plane in planes]
    elements = tensor.planes.reshape(count, -1)
    is_constant = all(isinstance(place, int) for place in places)
    at = Rows(plane_array((len(places),), places), 0, index.domain, index.dtype)
    if not (all(0 <= place < count for place in places) if is_constant else walk.is_within(at, 0, count - 1)):
        raise NotFused("elements of all rows taken by an index that is not known to be one of its row")
    found = elements[places] if is_constant else taken_inside(walk, Rows(elements, 0, tensor.domain), at)
    return Rows(found.reshape(*index.planes.shape, *tensor.planes.shape[1:]), index.axis, index.domain)


def _joining(walk: Shapes, node: Node, name: str) -> Operand:
    """A function of two tensors that joins what an operator writes at one place; a sum of truth values is one of them."""
    name = "maximum" if name == "add" and node.meta["val"].dtype == torch.bool else name
    return lambda old, new: walk.function(name, old, new)


def of_rows(walk: Shapes, node: Node, base: Operand) -> Operand:
    """What a node writes into, of which it has the shape; a constant is made for each row."""
    return base if isinstance(base, Rows) else walk.filled(base, *walk.rows_of(node))


def write(walk: Shapes, node: Node, base: Operand, indices: Operand, source: Operand, accumulate: bool = False) -> Operand:
    """base[indices] = source, or += source, inside each row."""
    join = _joining(walk, node, "add")
    return Places(walk, base, indices).written(source, join if accumulate else None)


def write_masked(walk: Shapes, base: Operand, mask: Operand, source: Operand) -> Operand:
    """base[mask] = source"""
    more = base.planes.ndim - mask.planes.ndim
    if mask.axis != base.axis or mask.domain != base.domain:
        raise NotFused("rows chosen by a mask of other rows")
    wide = replace(mask, planes=mask.planes.reshape(*mask.planes.shape, *[1] * more))
    if isinstance(source, Chosen):
        if not source.is_like(Chosen(base, mask)):
            raise NotFused("elements of one mask written at those of another")
        source = source.tensor
    elif isinstance(source, Rows) or source.dim() > more + 1 or (source.dim() == more + 1 and source.shape[0] != 1):
        raise NotFused("a number for each element that a mask is true for")
    elif source.dim() == more + 1:
        source = source[0]
    return walk.function("where", wide, source, base)


def scatter(walk: Shapes, node: Node, base: Operand, dim: int, index: Operand, source: Operand, reduce: Any = None) -> Operand:
    """base.scatter(dim, index, source) inside each row."""
    joins = {None: None, "add": "add", "sum": "add", "multiply": "mul", "prod": "mul", "amax": "maximum", "amin": "minimum"}
    if reduce not in joins:
        raise NotFused(f"elements joined by index ({reduce})")
    if not isinstance(index, Rows):
        raise NotFused("elements written by a constant index")
    name = joins[reduce]
    join = None if name is None else _joining(walk, node, name)
    shape, axis, domain = walk.rows_of(node)
    base, sizes = of_rows(walk, node, base), index.planes.shape
    if not isinstance(source, Rows):
        source = walk.filled(torch.as_tensor(source), sizes, axis, domain)
    rows.need_rows(base, index, source)
    dim %= len(shape)
    if source.axis != axis or index.axis != axis or {source.domain, index.domain} != {domain}:
        raise NotFused("elements written with those of other rows")
    part = tuple(slice(None) if i == dim else slice(size) for i, size in enumerate(sizes))
    arrays = (base.planes[part], index.planes, source.planes[tuple(map(slice, sizes))])
    some, at, new = (np.moveaxis(array, dim, -1) for array in arrays)
    whole = written_inside(walk, Rows(some, axis - (axis > dim), domain), at, new, join)
    planes = base.planes.copy()
    planes[part] = np.moveaxis(whole.planes, -1, dim)
    return replace(base, planes=planes)
