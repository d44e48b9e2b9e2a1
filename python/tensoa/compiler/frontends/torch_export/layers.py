# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Products with weights, and of two tensors that depend on the inputs."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.fx import Node

from tensoa.compiler import ir
from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontends.torch_export.arithmetic import softmax
from tensoa.compiler.frontends.torch_export.shapes import Shapes
from tensoa.compiler.ir import pairs, rows
from tensoa.compiler.ir.builder import Operand
from tensoa.compiler.ir.rows import Rows, need_rows, plane_array

MOST_DOUBLES = 1 << 14  # products of a layer in float64, whose weights are in the code


def _of_doubles(walk: Shapes, tensor: Rows, weight: Operand, bias: Operand) -> Operand:
    """A linear layer over the last dimension, input by input."""
    outputs, inputs = weight.shape
    if isinstance(weight, Rows) or tensor.axis == tensor.planes.ndim - 1:
        raise NotFused("a product of float64 whose weights depend on the inputs, or over all rows")
    if inputs * outputs > MOST_DOUBLES:
        raise NotFused(f"a layer of {inputs} x {outputs} in float64")
    total = None if bias is None else bias
    for i in range(inputs):
        term = walk.double("mul", rows.take(tensor, -1, slice(i, i + 1)), weight[:, i])
        total = term if total is None else walk.double("add", total, term)
    return total


def linear(walk: Shapes, node: Node, tensor: Rows, weight: Operand, bias: Operand = None) -> Operand:
    if isinstance(tensor, Rows) and tensor.has_doubles:
        return _of_doubles(walk, tensor, weight, bias)
    return walk.layer(tensor, weight, bias)


def _of_all_rows(walk: Shapes, a: Operand, b: Operand) -> Operand:
    """A product of rows with all rows, or None of all else."""
    are_rows = isinstance(a, Rows) and isinstance(b, Rows)
    if are_rows and a.axis == a.planes.ndim - 2 and b.axis == b.planes.ndim - 1 and b.planes.ndim > 1:
        if a.has_doubles or b.has_doubles:
            raise NotFused("a product over all rows of float64")
        return pairs.sums(walk.pairs, "dot", a, _swapped(b))
    return None


def matmul(walk: Shapes, node: Node, a: Operand, b: Operand) -> Operand:
    found = _of_all_rows(walk, a, b)
    if found is not None:
        return found
    ranks = [arg.planes.ndim if isinstance(arg, Rows) else arg.dim() for arg in (a, b)]
    if ranks[1] == 2 and not isinstance(b, Rows):
        return linear(walk, node, a, b.t())
    if ranks == [2, 2]:
        return mm(walk, node, a, b)
    if min(ranks) < 2:
        return _of_vectors(walk, node, a, b, ranks)
    if ranks[0] == 2 and not isinstance(a, Rows):
        return _swapped(linear(walk, node, _swapped(b), a))
    return bmm(walk, node, a, b)


def _of_vectors(walk: Shapes, node: Node, a: Operand, b: Operand, ranks: Operand) -> Operand:
    """A vector is a matrix of one row, or of one column."""
    product = matmul(walk, node, _unsqueezed(a, 0) if ranks[0] == 1 else a, _unsqueezed(b, 1) if ranks[1] == 1 else b)
    dims = [dim for dim, rank in ((-2, ranks[0]), (-1, ranks[1])) if rank == 1]
    return rows.squeeze(product, dims) if isinstance(product, Rows) else product


def bmm(walk: Shapes, node: Node, a: Operand, b: Operand) -> Operand:
    """[…, i, k] by […, k, j]"""
    found = _of_all_rows(walk, a, b)
    if found is not None:
        return found
    if any(isinstance(arg, Rows) and arg.has_doubles for arg in (a, b)):
        return _product_of_doubles(walk, a, b)
    (left, right), axis, domain = walk.broadcast(_unsqueezed(a, -2), _swapped(_unsqueezed(b, -3)))  # […, i, j, k]
    if axis >= left.ndim - 1:
        raise NotFused("a product over all rows")
    times, inner = math.prod(left.shape[:-3]), left.shape[-1]
    x = walk.value(left[..., :, 0, :], domain)
    y = walk.value(right[..., 0, :, :].swapaxes(-1, -2), domain)
    value = ir.product(x, y, inner, times)
    return Rows(plane_array(left.shape[:-1], [(value, i) for i in range(value.width)]), axis, domain)


def _product_of_doubles(walk: Shapes, a: Operand, b: Operand) -> Operand:
    """By the columns of a and the rows of b."""
    inner = (a.planes if isinstance(a, Rows) else a).shape[-1]
    total = None
    for i in range(inner):
        column, row = (_part(a, -1, i), _part(b, -2, i))
        term = walk.double("mul", column, row)
        total = term if total is None else walk.double("add", total, term)
    return total


def _part(tensor: Rows, dim: int, i: Operand) -> Operand:
    return rows.take(tensor, dim, slice(i, i + 1)) if isinstance(tensor, Rows) else tensor.narrow(dim, i, 1)


def _unsqueezed(tensor: Rows, dim: int) -> Operand:
    return rows.unsqueeze(tensor, dim) if isinstance(tensor, Rows) else tensor.unsqueeze(dim)


def _swapped(tensor: Rows) -> Operand:
    return rows.transpose(tensor, -1, -2) if isinstance(tensor, Rows) else tensor.transpose(-1, -2)


def mm(walk: Shapes, node: Node, a: Operand, b: Operand, bias: Operand = None) -> Operand:
    found = _of_all_rows(walk, a, b)
    if found is not None and bias is None:
        return found
    if isinstance(a, Rows) and not isinstance(b, Rows) and a.axis == 0:
        return linear(walk, node, a, b.t(), bias)
    if isinstance(b, Rows) and not isinstance(a, Rows) and b.axis == 1 and bias is None:
        need_rows(b)
        value = walk.linear(walk.value(b.planes, b.domain), a)
        return walk.rows((value.width, 1), 1, value)
    raise NotFused("a product of two tensors that both depend on the inputs, or over all rows")


def addmm(walk: Shapes, node: Node, bias: Operand, a: Operand, b: Operand, beta: float = 1, alpha: float = 1) -> Operand:
    if alpha != 1:
        a = walk.function("mul", a, float(alpha)) if isinstance(a, Rows) else a * alpha
    if beta != 1:
        bias = walk.function("mul", bias, float(beta)) if isinstance(bias, Rows) else bias * beta
    if isinstance(bias, torch.Tensor) and bias.dim() == 1 and isinstance(a, Rows):
        return mm(walk, node, a, b, bias)
    return walk.function("add", mm(walk, node, a, b), bias)


def trilinear(
    walk: Shapes,
    node: Node,
    a: Operand,
    b: Operand,
    c: Operand,
    expand_a: Sequence[int],
    expand_b: Sequence[int],
    expand_c: Sequence[int],
    dims: Any,
    unroll: int = 1,
) -> Operand:
    """Sums of products of three tensors that are broadcast: nn.Bilinear."""
    wide = []
    for tensor, places in ((a, expand_a), (b, expand_b), (c, expand_c)):
        for dim in sorted(places):
            tensor = _unsqueezed(tensor, dim)
        wide.append(tensor)
    product = functools.reduce(functools.partial(walk.function, "mul"), sorted(wide, key=lambda one: not isinstance(one, Rows)))
    shape, axis, _ = walk.shape_of(node)
    return walk.reduced(product, dims, shape, axis, functools.partial(walk.reduce, "sum"))


def attention(
    walk: Shapes,
    node: Node,
    query: Operand,
    key: Operand,
    value: Operand,
    mask: Operand = None,
    dropout: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
) -> Operand:
    """Among the elements of a row, or among rows. Where a mask leaves nothing, the result is zero, as torch has it."""
    if dropout:
        raise NotFused("random numbers (dropout)")
    if enable_gqa:  # several heads of the query to one of the key
        heads = [(one.planes if isinstance(one, Rows) else one).shape[-3] for one in (query, key)]
        places = np.arange(heads[0]) // (heads[0] // heads[1])
        key, value = (rows.take(one, -3, places) if isinstance(one, Rows) else one[..., places, :, :] for one in (key, value))
    if is_causal:
        sizes = [one.planes.shape[-2] for one in (query, key) if isinstance(one, Rows) and one.axis != one.planes.ndim - 2]
        if len(sizes) != 2:
            raise NotFused("attention among rows that is causal")
        mask = torch.ones(sizes).tril() != 0
    size = query.planes.shape[-1] if isinstance(query, Rows) else query.shape[-1]
    scaled = walk.function("mul", query, size**-0.5 if scale is None else scale)
    scores = matmul(walk, node, scaled, _swapped(key))
    if mask is not None:
        is_truth = mask.dtype == torch.bool if isinstance(mask, torch.Tensor) else mask.dtype.is_bool
        scores = walk.function("where", mask, scores, -math.inf) if is_truth else walk.function("add", scores, mask)
    if isinstance(scores, pairs.Pairs):
        return pairs.attended(walk, pairs.softmax(walk.pairs, scores, is_safe=True), value)
    weights = softmax(walk, node, scores, -1, False)
    if mask is not None:
        shape = (*scores.planes.shape[:-1], 1)
        is_there = walk.function("ne", scores, -math.inf)
        is_any = walk.reduced(is_there, [-1], shape, scores.axis, functools.partial(walk.reduce, "amax"))
        weights = walk.function("where", is_any, weights, 0.0)
    return matmul(walk, node, weights, value)


OPERATIONS: dict[str, Callable[..., Operand]] = {
    "scaled_dot_product_attention": attention,
    "linear": linear,
    "_trilinear": trilinear,
    "matmul": matmul,
    "bmm": bmm,
    "mm": mm,
    "addmm": addmm,
}
