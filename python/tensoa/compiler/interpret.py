# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What the operations mean, in NumPy: slow, one function an operation, no choice of how.

Every value is an array of its own dtype (float16 and bfloat16 in float32, rounded after each operation). Sums and products of
floats are made in float64 and rounded once.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tensoa.compiler import operations as ops
from tensoa.compiler.build import rounded
from tensoa.compiler.functions import FUNCTIONS, JOININGS, Array, start_of
from tensoa.compiler.operations import Affine, storage
from tensoa.compiler.program import Program
from tensoa.compiler.tensors import Op, Size, Tensor, in_order

Planes = Mapping[tuple[int, int], Array]  # of the input blocks, by block and plane
Rows = Mapping[str, int]


class _Call:
    """What an operation is evaluated with."""

    def __init__(self, planes: Planes, rows: Rows) -> None:
        self.planes, self.rows = planes, rows

    def size(self, size: Size) -> int:
        return self.rows[size] if isinstance(size, str) else size

    def shape(self, tensor: Tensor) -> tuple[int, ...]:
        return tuple(map(self.size, tensor.shape))


def interpret(program: Program, planes: Planes, rows: Sequence[int]) -> list[Array]:
    """The value of each output, an array [rows, …] of its tensor's dtype; `rows` in the order of the program's symbols."""
    values = _evaluated(program.tensors(), _Call(planes, dict(zip(program.rows, rows))))
    return [values[output.value] for output in program.outputs]


def constant_value(tensor: Tensor) -> Array:
    """The value of a tensor that is made of constants."""
    return _evaluated(in_order(tensor), _Call({}, {}))[tensor]


def _evaluated(tensors: Sequence[Tensor], call: _Call) -> dict[Tensor, Array]:
    values: dict[Tensor, Array] = {}
    with np.errstate(all="ignore"):
        for tensor in tensors:
            value = _MEANINGS[type(tensor.op)](call, tensor.op, tensor, *(values[arg] for arg in tensor.args))
            assert value.shape == call.shape(tensor) and value.dtype == storage(tensor.dtype), tensor
            values[tensor] = rounded(value, tensor.dtype)
    return values


def _column(call: _Call, op: ops.Column, tensor: Tensor) -> Array:
    found = [call.planes[op.block, plane][: None if tensor.rows else 1] for plane in op.planes]
    return np.stack(found, 1).reshape(call.shape(tensor)).astype(storage(tensor.dtype))


def _constant(call: _Call, op: ops.Constant, tensor: Tensor) -> Array:
    return op.data


def _iota(call: _Call, op: ops.Iota, tensor: Tensor) -> Array:
    return np.arange(call.size(op.size)).astype(storage(tensor.dtype))


def _map(call: _Call, op: ops.Map, tensor: Tensor, *args: Array) -> Array:
    return np.asarray(FUNCTIONS[op.fn].numpy(*args), storage(tensor.dtype))


def cast(x: Array, to: np.dtype[np.generic]) -> Array:
    """An array of another dtype, as Cast says."""
    if x.dtype.kind != "f" or to.kind not in "iu":
        return (x != 0) if to.kind == "b" else x.astype(to)
    through = to if to.itemsize == 8 else np.dtype(np.int32)
    limit = 2.0 ** (8 * through.itemsize - 1)
    least = -(1 << 8 * through.itemsize - 1)
    is_inside = (x >= -limit) & (x < limit)
    return np.where(is_inside, np.where(is_inside, x, 0).astype(through), np.asarray(least, through)).astype(to)


def _cast(call: _Call, op: ops.Cast, tensor: Tensor, x: Array) -> Array:
    return cast(x, storage(tensor.dtype))


def _wide(fn: str, x: Array) -> Array:
    """Sums and the like of floats are made in float64."""
    return x if x.dtype.kind != "f" or JOININGS[fn].is_choice else x.astype(np.float64)


def _joined(fn: str, x: Array, axes: tuple[int, ...], start: float) -> Array:
    wide = _wide(fn, x)
    first = np.asarray(start).astype(wide.dtype)
    return np.asarray(JOININGS[fn].numpy.reduce(wide, axis=axes, initial=first, dtype=wide.dtype)).astype(x.dtype)


def _reduce(call: _Call, op: ops.Reduce, tensor: Tensor, x: Array) -> Array:
    return _joined(op.fn, x, op.axes, start_of(op.fn, tensor.dtype))


def _contract(call: _Call, op: ops.Contract, tensor: Tensor, x: Array, y: Array) -> Array:
    letters = {label: chr(97 + i) for i, label in enumerate(dict.fromkeys(op.left + op.right))}
    spec = ",".join("".join(letters[label] for label in labels) for labels in (op.left, op.right))
    spec += "->" + "".join(letters[label] for label in op.out)
    wide = np.dtype(np.float64) if x.dtype.kind == "f" else x.dtype
    return np.asarray(np.einsum(spec, x.astype(wide), y.astype(wide), optimize=False)).astype(x.dtype)


def _coordinates(one: Affine, grid: Sequence[Array]) -> Array | int:
    return one.offset + sum((factor * grid[number] for number, factor in one.terms), np.asarray(0))


def _view(call: _Call, op: ops.View, tensor: Tensor, x: Array) -> Array:
    shape = call.shape(tensor)
    grid = np.indices(shape, sparse=True)
    index = tuple(_coordinates(one, grid) for one in op.index)
    return np.broadcast_to(x[index] if index else x, shape)


def _concat(call: _Call, op: ops.Concat, tensor: Tensor, *parts: Array) -> Array:
    return np.concatenate(parts, op.axis)


def _gather(call: _Call, op: ops.Gather, tensor: Tensor, x: Array, places: Array) -> Array:
    size = x.shape[op.axis]
    otherwise = np.asarray(np.nan if x.dtype.kind == "f" else 0).astype(x.dtype)
    if size == 0:
        return np.full(places.shape, otherwise)
    is_inside = (places >= 0) & (places < size)
    grid = np.indices(places.shape, sparse=True)
    at = np.where(is_inside, places, 0).astype(np.int64)
    index = tuple(at if one is None else _coordinates(one, grid) for one in op.index)
    return np.where(is_inside, x[index], otherwise)


def _scatter(call: _Call, op: ops.Scatter, tensor: Tensor, x: Array, places: Array) -> Array:
    wide = _wide(op.fn, x)
    result = np.full(call.shape(tensor), start_of(op.fn, tensor.dtype), wide.dtype)
    is_inside = (places >= 0) & (places < result.shape[op.axis])
    index = list(np.nonzero(is_inside))
    index[op.axis] = places[is_inside].astype(np.int64)
    JOININGS[op.fn].numpy.at(result, tuple(index), wide[is_inside])
    return result.astype(x.dtype)


def _sort(call: _Call, op: ops.Sort, tensor: Tensor, x: Array) -> Array:
    # Equal numbers have one rank, so that the first of them comes first in both directions.
    rank = np.apply_along_axis(lambda line: np.searchsorted(np.sort(line), line), op.axis, x) if x.size else x.astype(np.int64)
    order = np.argsort(-rank if op.is_largest else rank, axis=op.axis, kind="stable")
    taken = np.take(order, np.arange(min(op.k, x.shape[op.axis])), op.axis).astype(np.int32)
    missing = [(0, op.k - taken.shape[i] if i == op.axis else 0) for i in range(x.ndim)]
    return np.pad(taken, missing, constant_values=-1)


def _scan(call: _Call, op: ops.Scan, tensor: Tensor, x: Array) -> Array:
    wide = _wide(op.fn, x)
    return np.asarray(JOININGS[op.fn].numpy.accumulate(wide, axis=op.axis, dtype=wide.dtype)).astype(x.dtype)


_MEANINGS: dict[type[Op], Callable[..., Array]] = {
    ops.Column: _column,
    ops.Constant: _constant,
    ops.Iota: _iota,
    ops.Map: _map,
    ops.Cast: _cast,
    ops.Reduce: _reduce,
    ops.Contract: _contract,
    ops.View: _view,
    ops.Concat: _concat,
    ops.Gather: _gather,
    ops.Scatter: _scatter,
    ops.Sort: _sort,
    ops.Scan: _scan,
}


def written(value: Array, planes: Sequence[int], column: np.dtype[np.generic]) -> list[Array]:
    """What an output writes to each of its planes."""
    flat = value.reshape(value.shape[0], math.prod(value.shape[1:]))
    return [cast(flat[:, i], column) for i in range(len(planes))]
