# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Expressions of CUDA C++: the value of a tensor at an index, of row q of a block."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tensoa.compiler import operations as ops
from tensoa.compiler.constants import Pool
from tensoa.compiler.cpu.expressions import converted, substituted
from tensoa.compiler.functions import FUNCTIONS, Array
from tensoa.compiler.kernel_text import float_literal
from tensoa.compiler.schedule.addresses import Indices, Linear, applied, flat, row_major, through, through_view
from tensoa.compiler.schedule.nests import Buffer, Nests
from tensoa.compiler.schedule.streams import Keys, Previous
from tensoa.compiler.tensors import Tensor, entry_of
from tensoa.dtypes import DType

_STORED = {"float": np.float32, "double": np.float64, "int": np.int32, "int64": np.int64}


def type_of(dtype: DType) -> str:
    """Of a number in registers."""
    if dtype.is_float:
        return "double" if dtype.name == "float64" else "float"
    return "bool" if dtype.is_bool else "int64" if dtype.name == "int64" else "int"


def memory_type(dtype: DType) -> str:
    """Of a number in scratch memory and between kernels."""
    return "int" if dtype.is_bool else type_of(dtype)


def literal(value: float | int | bool, dtype: DType) -> str:
    """A number of a dtype in C++, of its type in registers."""
    if dtype.is_bool:
        return str(bool(value)).lower()
    if dtype.name == "float64":
        return f"double_of({int(np.float64(value).view(np.uint64)):#x}ull)"
    if dtype.is_float:
        return float_literal(value, "not_a_number()", "float_of(0x7f800000u)")
    if dtype.name == "int64":
        return f"static_cast<int64>({int(value) & (1 << 64) - 1}ull)"
    return f"static_cast<int>({int(value) & (1 << 32) - 1}u)"


@dataclass
class Place:
    """Memory of a root: `pointer` to the elements of row q, in the order of `buffer`, and the `step` between neighbours."""

    pointer: str
    buffer: Buffer
    step: int = 1

    def at(self, index: Indices) -> Linear:
        return flat(index, self.buffer.strides).times(self.step)

    def element(self, at: str) -> str:
        """An element by its number in the order of `buffer`."""
        return f"{self.pointer}[{at}]" if self.step == 1 else f"{self.pointer}[({at}) * {self.step}]"


@dataclass
class Address:
    """An element in memory: the pointer, and the element from there on."""

    pointer: str
    at: Linear

    @property
    def text(self) -> str:
        return f"{self.pointer} + {self.at.text()}"


class Weights:
    """Constants as they lie in the memory of the program."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    def pointer(self, data: Array, dtype: DType) -> str:
        kind = memory_type(dtype)
        return self.at(kind, data.astype(_STORED[kind]).tobytes())

    def floats(self, numbers: Array) -> str:
        return self.at("float", np.ascontiguousarray(numbers, np.float32).tobytes())

    def at(self, kind: str, data: bytes) -> str:
        return f"reinterpret_cast<const {kind}*>(weights + {self.pool.place(data)})"


class Expressions:
    """The values of a stage."""

    def __init__(self, nests: Nests, weights: Weights) -> None:
        self.nests, self.weights = nests, weights
        self.places: dict[Tensor, Place] = {}
        self.replaced: dict[Tensor, str] = {}

    # -- addresses

    def address(self, tensor: Tensor, index: Indices) -> Address:
        """Of a root or a constant, or of a view of one."""
        if tensor not in self.nests.roots:
            tensor, index = through(tensor, index)
        if tensor not in self.nests.roots and isinstance(tensor.op, ops.Constant):
            return Address(self.weights.pointer(tensor.op.data, tensor.dtype), flat(index, row_major(tensor.inner)))
        place = self.places[tensor]
        return Address(place.pointer, place.at(index))

    def along(self, tensor: Tensor, index: Indices, axis: int) -> tuple[Address, int]:
        """The first element along an axis that is not of rows, and the step to the next one."""
        first, following = ([Linear(at) if i == axis else one for i, one in enumerate(index)] for at in (0, 1))
        start = self.address(tensor, first)
        return start, self.address(tensor, following).at.offset - start.at.offset

    @staticmethod
    def loaded(dtype: DType, pointer: str, at: str) -> str:
        return f"({pointer}[{at}] != 0)" if dtype.is_bool else f"{pointer}[{at}]"

    # -- values

    def value(self, tensor: Tensor, index: Indices, is_top: bool = False) -> str:
        if tensor in self.replaced:
            return self.replaced[tensor]
        if tensor in self.nests.roots and not is_top:
            place = self.places[tensor]
            return self.loaded(tensor.dtype, place.pointer, place.at(index).text())
        printer = entry_of(_PRINTERS, tensor.op)
        assert printer is not None, tensor
        return printer(self, tensor.op, tensor, index)

    def of_view(self, op: ops.View, tensor: Tensor, index: Indices) -> str:
        return self.value(tensor.args[0], through_view(op, tensor.args[0], index))

    def of_constant(self, op: ops.Constant, tensor: Tensor, index: Indices) -> str:
        if op.data.size == 1:
            return literal(op.data.reshape(-1)[0], op.dtype)
        address = self.address(tensor, index)
        return self.loaded(op.dtype, address.pointer, address.at.text())

    def of_iota(self, op: ops.Iota, tensor: Tensor, index: Indices, first: str = "") -> str:
        at = index[0]
        return f"static_cast<{type_of(op.dtype)}>({'first + q' if at is None else first + at.text()})"

    def of_keys(self, op: Keys, tensor: Tensor, index: Indices) -> str:
        """The numbers of rows; other keys are in memory."""
        (counted,) = tensor.args
        assert isinstance(counted.op, ops.Iota)
        return self.of_iota(counted.op, counted, index, "key + ")

    def of_previous(self, op: Previous, tensor: Tensor, index: Indices) -> str:
        return self.value(tensor.args[0], index)

    def of_map(self, op: ops.Map, tensor: Tensor, index: Indices) -> str:
        args = [self.value(arg, index) for arg in tensor.args]
        return f"({substituted(FUNCTIONS[op.fn].cpp, args)})"

    def of_cast(self, op: ops.Cast, tensor: Tensor, index: Indices) -> str:
        (arg,) = tensor.args
        return cast_text(self.value(arg, index), arg.dtype, op.dtype)

    def of_lookup(self, op: ops.Lookup, tensor: Tensor, index: Indices) -> str:
        """Of elements of the own row."""
        x, number = tensor.args
        here = [None if isinstance(size, str) or one is None else applied(one, index) for one, size in zip(op.index, x.shape)]
        start, step = self.along(x, here, op.axis)
        return f"{op.kernel}<{type_of(tensor.dtype)}>({start.text}, {self.value(number, index)}, {x.shape[op.axis]}, {step})"


def cast_text(x: str, of: DType, to: DType) -> str:
    """A number of one dtype as one of another."""
    if to.is_bool:
        return x if of.is_bool else f"({x} != 0)"
    return converted(x, of, to, type_of, "static_cast")


_PRINTERS: dict[type, Callable[..., str]] = {
    ops.View: Expressions.of_view,
    ops.Constant: Expressions.of_constant,
    ops.Iota: Expressions.of_iota,
    ops.Map: Expressions.of_map,
    ops.Cast: Expressions.of_cast,
    ops.Lookup: Expressions.of_lookup,
    Keys: Expressions.of_keys,
    Previous: Expressions.of_previous,
}
