# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The order of the elements of a row, and the distances between them."""

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.fx import Node

from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontends.torch_export.arithmetic import norm
from tensoa.compiler.frontends.torch_export.shapes import Shapes
from tensoa.compiler.ir import pairs, rows
from tensoa.compiler.ir.builder import Operand
from tensoa.compiler.ir.rows import Rows

MOST = 1024  # elements that are put in order: each number looks at all others


def _size(tensor: Rows, dim: int) -> Operand:
    dim %= tensor.planes.ndim
    if dim == tensor.axis:
        raise NotFused("the order of rows")
    size = tensor.planes.shape[dim]
    if size > MOST:
        raise NotFused(f"the order of {size} elements, at most {MOST} are put in order")
    return size


def sort(walk: Shapes, node: Node, tensor: Rows, dim: Operand = -1, descending: bool = False, **kwargs: Operand) -> Operand:
    return list(walk.ordered(tensor, dim, _size(tensor, dim), descending))


def sort_stable(
    walk: Shapes, node: Node, tensor: Rows, dim: Operand = -1, descending: bool = False, stable: Any = None
) -> Operand:
    return sort(walk, node, tensor, dim, descending)


def topk(
    walk: Shapes, node: Node, tensor: Rows, count: int, dim: Operand = -1, largest: bool = True, is_sorted: bool = True
) -> Operand:
    _size(tensor, dim)
    return list(walk.ordered(tensor, dim, count, largest))


def kthvalue(walk: Shapes, node: Node, tensor: Rows, place: int, dim: Operand = -1, keep: bool = False) -> Operand:
    _size(tensor, dim)
    found = [rows.take(one, dim, slice(place - 1, place)) for one in walk.ordered(tensor, dim, place, False)]
    return found if keep else [rows.squeeze(one, dim) for one in found]


def _running(name: str, how: Callable[..., Operand]) -> Callable[..., Operand]:
    """The function `name` of all elements up to each, on CPUs in float64, as torch has it there."""

    def run(walk: Shapes, node: Node, tensor: Rows, dim: int, dtype: Any = None) -> Operand:
        join = functools.partial(walk.function, name)
        if walk.device == "cuda" or not tensor.dtype.is_float or tensor.has_doubles:
            return how(tensor, dim, join)
        return walk.double("identity", how(walk.doubled(tensor), dim, join), is_short=True)

    return run


def logcumsumexp(walk: Shapes, node: Node, tensor: Rows, dim: int) -> Operand:
    def join(a: Operand, b: Operand) -> Operand:
        f = walk.function
        most, least = f("maximum", a, b), f("minimum", a, b)
        total = f("add", most, f("log1p", f("exp", f("sub", least, most))))
        return f("where", f("eq", least, most), f("add", most, math.log(2)), total)  # also of two infinities

    return _doubling(tensor, dim, join, start=-math.inf)


def _doubling(tensor: Rows, dim: int, join: Callable[..., Operand], start: float = 0.0, what: str = "sum") -> Operand:
    """Of the last 1, 2, 4, … elements up to each. Nothing else is done with them, so that an infinity stays where it is.
    `start`: what changes no number.
    """
    dim = _inside(tensor, dim, what)
    size, step = tensor.planes.shape[dim], 1
    while step < size:
        widths = [(step, 0) if i == dim else (0, 0) for i in range(tensor.planes.ndim)]
        shifted = np.pad(tensor.planes, widths, constant_values=start)
        shifted = shifted[tuple(slice(size) if i == dim else slice(None) for i in range(tensor.planes.ndim))]
        tensor = join(tensor, Rows(shifted, tensor.axis, tensor.domain, tensor.dtype))
        step *= 2
    return tensor


def _one_by_one(tensor: Rows, dim: int, join: Callable[..., Operand]) -> Operand:
    """In their order: 0 · 10³⁰ · 10³⁰ is 0, while 10³⁰ · 10³⁰ is an infinity, and 0 times that is no number."""
    dim = _inside(tensor, dim, "product")
    elements = [rows.take(tensor, dim, slice(i, i + 1)) for i in range(tensor.planes.shape[dim])]
    return rows.concatenate(list(itertools.accumulate(elements, join)), dim) if elements else tensor


def _inside(tensor: Rows, dim: int, what: str) -> int:
    dim %= tensor.planes.ndim
    if dim == tensor.axis:
        raise NotFused(f"a running {what} over the rows")
    return dim


def searchsorted(
    walk: Shapes,
    node: Node,
    edges: Operand,
    numbers: Operand,
    out_int32: bool = False,
    right: bool = False,
    side: Any = None,
    sorter: Any = None,
) -> Operand:
    """How many edges a number is not below; what is no number is behind all of them. Among edges of the row, where NaN may be,
    it is searched as torch does.
    """
    if sorter is not None:
        raise NotFused("searchsorted with sorter")
    if not isinstance(numbers, Rows):
        raise NotFused("constants placed between edges that depend on the inputs")
    comparison = "gt" if right or side == "right" else "ge"
    if isinstance(edges, Rows):
        return _bisected(walk, edges, numbers, comparison)
    if not (edges.diff() >= 0).all():
        raise NotFused("constant edges that are not in order")
    size = edges.shape[-1]
    among = rows.unsqueeze(numbers, -1)
    if edges.dim() > 1:
        edges = edges.unsqueeze(-2)
    above = walk.function(comparison, edges, among)
    shape = above.planes.shape[:-1]
    count = walk.reduced(above, [-1], shape, above.axis, lambda value, times: walk.reduce("sum", value, times))
    return walk.function("sub", size, count)


def _bisected(walk: Shapes, edges: Rows, numbers: Rows, comparison: str) -> Rows:
    """Where a binary search ends, step by step."""
    f, size = walk.function, edges.planes.shape[-1]
    first = f("mul", f("ne", numbers, numbers), 0.0)
    last = f("add", first, float(size))
    for _ in range(size.bit_length()):
        middle = f("floor", f("mul", f("add", first, last), 0.5))
        is_above = f(comparison, walk.taken(edges, -1, middle), numbers)
        is_open = f("lt", first, last)
        last, first = (
            f("where", f("mul", is_open, is_above), middle, last),
            f("where", f("gt", is_open, is_above), f("add", middle, 1.0), first),
        )
    return first


def bucketize(
    walk: Shapes, node: Node, numbers: Operand, edges: Operand, out_int32: bool = False, right: bool = False
) -> Operand:
    return searchsorted(walk, node, edges, numbers, right=right)


def distances(walk: Shapes, node: Node, a: Operand, b: Operand, order: float = 2.0, mode: Any = None) -> Operand:
    """Between all pairs of elements, from their differences, or of rows."""
    are_rows = isinstance(a, Rows) and isinstance(b, Rows)
    if are_rows and order == 2 and (a.axis, b.axis) == (a.planes.ndim - 2, b.planes.ndim - 2):
        squares = pairs.sums(walk.pairs, "distance", a, b)
        return walk.function("sqrt", squares)
    difference = walk.function("sub", _unsqueezed(a, -2), _unsqueezed(b, -3))
    build = norm(walk, order, "distances")
    if isinstance(difference, pairs.Pairs):
        return pairs.reduced(walk.pairs, difference, [-1], False, build)
    return walk.reduced(difference, [-1], difference.planes.shape[:-1], difference.axis, build)


def _unsqueezed(tensor: Rows, dim: int) -> Operand:
    if isinstance(tensor, torch.Tensor):
        return tensor.unsqueeze(dim)
    return rows.unsqueeze(tensor, dim)


OPERATIONS: dict[str, Callable[..., Operand]] = {
    "sort": sort,
    "topk": topk,
    "kthvalue": kthvalue,
    "cumsum": _running("add", _doubling),
    "cumprod": _running("mul", _one_by_one),
    "logcumsumexp": logcumsumexp,
    "searchsorted": searchsorted,
    "bucketize": bucketize,
    "cdist": distances,
    "_cdist_forward": distances,
}
