# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Row programs in NumPy, float64: what the tests compare with."""

import math

import numpy as np
import torch

from tensoa.fusion import integers

FUNCTIONS = {
    "neg": np.negative,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "add": np.add,
    "pow": np.power,
    "atan2": np.arctan2,
    "atan": np.arctan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": np.vectorize(math.erf, otypes=[float]),
    "erfc": np.vectorize(math.erfc, otypes=[float]),
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "where": lambda condition, a, b: np.where(condition != 0, a, b),
}


def _norm(x, weight, bias, eps, is_centered):
    mean = 0.0 if is_centered else x.mean(axis=-1, keepdims=True)
    y = (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + eps)
    return y * (1.0 if weight is None else weight) + (0.0 if bias is None else bias)


def _inside(index, rows):
    """Where an index names one of the rows."""
    return (index >= 0) & (index < rows)


def _rows_at(x, index):
    """Rows of x; NaN where the index names none."""
    result, inside = np.full((len(index), x.shape[1]), np.nan), _inside(index, len(x))
    result[inside] = x[index[inside]]
    return result


def _groups(value, array):
    """[rows, times, numbers of a group]"""
    return array.reshape(len(array), value.times, array.shape[1] // value.times)


def _column(value, columns, plane):
    """A plane of an input, after the steps."""
    column = columns[value.block][plane]
    if not value.steps:
        return column
    return integers.calculate(value.steps, torch.as_tensor(column.astype(np.int64))).numpy()


def evaluate(program, columns, rows):
    """One array [rows, width] for each output. `columns[block][plane]`: an array; `rows[domain]`: their number.

    An index that names no row reads NaN, and adds nothing.
    """
    done = {}
    for value in program.values():
        args = [done[id(argument)] for argument in value.args]
        if value.op == "input":
            result = np.stack([_column(value, columns, plane) for plane in value.planes], axis=1).astype(np.float64)
            if value.is_scalar:
                result = np.broadcast_to(result[:1], result.shape)
        elif value.op == "index":
            result = _column(value, columns, value.plane).astype(np.int64)
        elif value.op == "constant":
            result = np.broadcast_to(value.array.astype(np.float64), (rows[value.domain], value.width))
        elif value.op == "linear":
            result = _groups(value, args[0]) @ value.weight.astype(np.float64).T
            result = (result if value.bias is None else result + value.bias).reshape(-1, value.width)
        elif value.op == "product":
            x, y = (_groups(value, arg) for arg in args)
            x = x.reshape(*x.shape[:2], x.shape[2] // value.inner, value.inner)
            y = y.reshape(*y.shape[:2], value.inner, y.shape[2] // value.inner)
            result = (x @ y).reshape(-1, value.width)
        elif value.op == "map":
            function = FUNCTIONS.get(value.name) or getattr(np, value.name)
            result = np.broadcast_to(function(*args), (rows[value.domain], value.width)).astype(np.float64)
        elif value.op == "norm":
            result = _norm(_groups(value, args[0]), value.weight, value.bias, value.eps, value.is_centered)
            result = result.reshape(-1, value.width)
        elif value.op == "reduce":
            result = getattr(np, value.name)(_groups(value, args[0]), axis=2)
        elif value.op == "pack":
            result = np.concatenate([arg[:, a:b] for arg, (a, b) in zip(args, value.ranges)], axis=1)
        elif value.op == "lookup":
            result = _rows_at(value.table.astype(np.float64), args[0])
        elif value.op == "gather":
            result = _rows_at(args[0], args[1])
        else:
            result, inside = np.zeros((rows[value.domain], value.width)), _inside(args[1], rows[value.domain])
            np.add.at(result, args[1][inside], args[0][inside])
        done[id(value)] = result
    return [done[id(output.value)] for output in program.outputs]
