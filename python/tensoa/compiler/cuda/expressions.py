# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Expressions of CUDA C++: the value of a tensor at an index, of row q of a block."""

import numpy as np

from tensoa.compiler import operations as ops
from tensoa.compiler.functions import FUNCTIONS, Array
from tensoa.compiler.printing import STRUCTS, Constants, Language, Printer, converted, float_literal, substituted
from tensoa.compiler.schedule.addresses import Indices, Linear, applied
from tensoa.compiler.tensors import Tensor
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


def cast_text(x: str, of: DType, to: DType) -> str:
    """A number of one dtype as one of another."""
    if to.is_bool:
        return x if of.is_bool else f"({x} != 0)"
    return converted(x, of, to, type_of, "static_cast")


class Weights(Constants):
    """Constants as they lie in the memory of the program."""

    def pointer(self, data: Array, dtype: DType) -> str:
        kind = memory_type(dtype)
        return self.at(kind, data.astype(_STORED[kind]).tobytes())

    def floats(self, numbers: Array) -> str:
        return self.at("float", np.ascontiguousarray(numbers, np.float32).tobytes())

    def at(self, kind: str, data: bytes) -> str:
        return f"reinterpret_cast<const {kind}*>(weights + {self.pool.place(data)})"


class Expressions(Printer):
    """The values of a stage."""

    language = Language(type_of, literal, cast_text, lambda fn, dtype: STRUCTS[fn])
    weights: Weights

    def read(self, dtype: DType, pointer: str, at: Linear, is_common: bool) -> str:
        return self.loaded(dtype, pointer, at.text())

    @staticmethod
    def loaded(dtype: DType, pointer: str, at: str) -> str:
        return f"({pointer}[{at}] != 0)" if dtype.is_bool else f"{pointer}[{at}]"

    # -- values

    def of_constant(self, op: ops.Constant, tensor: Tensor, index: Indices) -> str:
        if op.data.size == 1:
            return literal(op.data.reshape(-1)[0], op.dtype)
        address = self.address(tensor, index)
        return self.loaded(op.dtype, address.pointer, address.at.text())

    def of_iota(self, op: ops.Iota, tensor: Tensor, index: Indices, first: str = "") -> str:
        at = index[0]
        return f"static_cast<{type_of(op.dtype)}>({'first + q' if at is None else first + at.text()})"

    def of_map(self, op: ops.Map, tensor: Tensor, index: Indices) -> str:
        args = [self.value(arg, index) for arg in tensor.args]
        return f"({substituted(FUNCTIONS[op.fn].cpp, args)})"

    def of_lookup(self, op: ops.Lookup, tensor: Tensor, index: Indices) -> str:
        """Of elements of the own row."""
        x, number = tensor.args
        here = [None if isinstance(size, str) or one is None else applied(one, index) for one, size in zip(op.index, x.shape)]
        start, step = self.first_along(x, here, op.axis)
        return f"{op.kernel}<{type_of(tensor.dtype)}>({start.text}, {self.value(number, index)}, {x.shape[op.axis]}, {step})"
