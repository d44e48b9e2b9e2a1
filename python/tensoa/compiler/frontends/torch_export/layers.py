# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Products with weights, and of two tensors that depend on the inputs."""

import math

import torch

from tensoa.compiler import ir
from tensoa.compiler.errors import NotFused
from tensoa.compiler.ir import rows
from tensoa.compiler.ir.rows import Rows, need_rows, plane_array

MOST_DOUBLES = 1 << 14  # products of a layer in float64, whose weights are in the code


def _of_doubles(walk, tensor, weight, bias):
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


def linear(walk, node, tensor, weight, bias=None):
    if isinstance(tensor, Rows) and tensor.has_doubles:
        return _of_doubles(walk, tensor, weight, bias)
    return walk.layer(tensor, weight, bias)


def matmul(walk, node, a, b):
    ranks = [arg.planes.ndim if isinstance(arg, Rows) else arg.dim() for arg in (a, b)]
    if ranks[1] == 2 and not isinstance(b, Rows):
        return linear(walk, node, a, b.t())
    if ranks == [2, 2]:
        return mm(walk, node, a, b)
    if min(ranks) < 2:
        raise NotFused("a product with a vector")
    if ranks[0] == 2 and not isinstance(a, Rows):
        return _swapped(linear(walk, node, _swapped(b), a))
    return bmm(walk, node, a, b)


def bmm(walk, node, a, b):
    """[…, i, k] by […, k, j]"""
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


def _product_of_doubles(walk, a, b):
    """By the columns of a and the rows of b."""
    inner = (a.planes if isinstance(a, Rows) else a).shape[-1]
    total = None
    for i in range(inner):
        column, row = (_part(a, -1, i), _part(b, -2, i))
        term = walk.double("mul", column, row)
        total = term if total is None else walk.double("add", total, term)
    return total


def _part(tensor, dim, i):
    return rows.take(tensor, dim, slice(i, i + 1)) if isinstance(tensor, Rows) else tensor.narrow(dim, i, 1)


def _unsqueezed(tensor, dim):
    return rows.unsqueeze(tensor, dim) if isinstance(tensor, Rows) else tensor.unsqueeze(dim)


def _swapped(tensor):
    return rows.transpose(tensor, -1, -2) if isinstance(tensor, Rows) else tensor.transpose(-1, -2)


def mm(walk, node, a, b, bias=None):
    if isinstance(a, Rows) and not isinstance(b, Rows) and a.axis == 0:
        return linear(walk, node, a, b.t(), bias)
    if isinstance(b, Rows) and not isinstance(a, Rows) and b.axis == 1 and bias is None:
        need_rows(b)
        value = walk.linear(walk.value(b.planes, b.domain), a)
        return walk.rows((value.width, 1), 1, value)
    raise NotFused("a product of two tensors that both depend on the inputs, or over all rows")


def addmm(walk, node, bias, a, b, **kwargs):
    if kwargs:
        raise NotFused("addmm with factors")
    if isinstance(bias, torch.Tensor) and bias.dim() == 1 and isinstance(a, Rows):
        return mm(walk, node, a, b, bias)
    return walk.function("add", mm(walk, node, a, b), bias)


OPERATIONS = {"linear": linear, "matmul": matmul, "bmm": bmm, "mm": mm, "addmm": addmm}
