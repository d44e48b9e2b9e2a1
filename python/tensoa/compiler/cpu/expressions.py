# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Expressions of C++: the value of a tensor at an index, as a vector.

A layout says what the lanes are: rows (Tile: number after number, 48 rows each) or the last loop of a nest (few rows: row after
row). Everything else is the same text.
"""

import numpy as np

from tensoa.compiler import operations as ops
from tensoa.compiler.constants import Pool
from tensoa.compiler.functions import BOOLS, FUNCTIONS, Array, kind_of
from tensoa.compiler.printing import STRUCTS, Address, Constants, Language, Printer, converted, float_literal, substituted
from tensoa.compiler.schedule.addresses import (
    Indices,
    Linear,
    applied,
    base_of,
    flat,
    row_major,
    width_of,
)
from tensoa.compiler.schedule.nests import Nests
from tensoa.compiler.tensors import Tensor
from tensoa.dtypes import DType

#: Of truth values, which are 0 and -1.
OF_BOOLS = {"lt": "lt_of(y, x)", "le": "le_of(y, x)", "gt": "gt_of(y, x)", "ge": "ge_of(y, x)"}
_STORED = {"float": np.float32, "double": np.float64, "std::int32_t": np.int32, "std::int64_t": np.int64}


def type_of(dtype: DType) -> str:
    """Of a number in registers and in scratch memory."""
    if dtype.is_float:
        return "double" if dtype.name == "float64" else "float"
    return "std::int64_t" if dtype.name == "int64" else "std::int32_t"


def literal(value: float | int | bool, dtype: DType) -> str:
    """A number of a dtype in C++, of its type in registers."""
    if dtype.is_bool:
        return str(-int(value))
    if not dtype.is_float:
        return "INT64_MIN" if int(value) == -(1 << 63) else f"{int(value)}{'LL' if dtype.name == 'int64' else ''}"
    if dtype.name != "float64":
        return float_literal(value, "NAN", "INFINITY")
    number = float(value)
    return "NAN" if np.isnan(number) else f"{'-' if number < 0 else ''}INFINITY" if np.isinf(number) else number.hex()


def cast_text(x: str, of: DType, to: DType) -> str:
    """A number of one dtype as one of another."""
    if to.is_bool:
        return x if of.is_bool else f"mask_of({x} != 0)"
    return converted(f"(-{x})" if of.is_bool else x, of, to, type_of, "cast_of")


def joining(fn: str, dtype: DType) -> str:
    """The struct of numbers.hpp. The truth values 0 and -1 are in the opposite order."""
    if dtype.is_bool:
        return {"max": "JoinMin", "min": "JoinMax"}[fn]
    return STRUCTS[fn]


class Arguments:
    """Numbers that have names in the text of a function, so that stages that differ only in them have the same text."""

    def __init__(self) -> None:
        self.names: dict[tuple[str, int], str] = {}

    def name(self, kind: str, number: int) -> str:
        """`kind`: what the number is of; equal ones of a kind have one name."""
        return self.names.setdefault((kind, number), f"{kind}{len(self.names)}")


class Weights(Constants):
    """Constants as they lie in the library."""

    def __init__(self, pool: Pool, arguments: Arguments) -> None:
        super().__init__(pool)
        self.arguments = arguments

    def pointer(self, data: Array, dtype: DType) -> str:
        """To an array of the type in registers, behind which a vector may be read."""
        stored = -data.astype(np.int32) if dtype.is_bool else data.astype(_STORED[type_of(dtype)])
        return self.at(type_of(dtype), stored.tobytes() + bytes(64))

    def packed(self, numbers: Array) -> str:
        """To weights of a layer."""
        return self.at("float", numbers.tobytes())

    def at(self, kind: str, data: bytes) -> str:
        return f"weights_at<{kind}>({self.arguments.name('w', self.pool.place(data))})"


class Expressions(Printer):
    """The values of a stage in one layout; `vector`: the loop variable that the lanes are, where they are not rows."""

    language = Language(type_of, literal, cast_text, joining)
    weights: Weights

    def __init__(self, nests: Nests, weights: Weights, is_tile: bool) -> None:
        super().__init__(nests, weights)
        self.is_tile = is_tile
        self.scale = " * kTileRows" if is_tile else ""
        self.vector: str | None = None
        self.count = "N"  # of lanes that are elements
        self.reads: list[Linear] = []
        self.joined: dict[str, str] = {}

    # -- what is known of a nest before its text

    def lanes(self, tensor: Tensor, is_top: bool = True) -> int:
        """Bytes of the widest number of the expression of a root: 8 or 4."""
        widest = width_of(tensor.dtype)
        if tensor in self.nests.roots and not is_top:
            return widest
        return max([widest, *(self.lanes(arg, False) for arg in tensor.args)])

    # -- addresses

    def rows_of(self, tensor: Tensor) -> tuple[str, int] | None:
        """Of few rows: the first row of a root, or of a view of one, and how far rows are apart."""
        root = tensor if tensor in self.nests.roots else base_of(tensor)
        place = self.places[root]
        return None if self.is_tile else (place.base, place.pitch)

    def element(self, address: Address) -> str:
        """Of row r of a tile."""
        return f"{address.pointer} + ({address.at.text()}){'' if address.is_common else self.scale}"

    def read(self, dtype: DType, pointer: str, at: Linear, is_common: bool) -> str:
        for gone in self.joined:
            at = at.without(gone)
        self.reads.append(at)
        kind = type_of(dtype)
        if self.is_tile and not is_common:
            return f"load_of<{kind}, N>({pointer} + ({at.text()}){self.scale} + r)"
        step = 0 if self.is_tile else at.step(self.vector)
        where = f"{pointer} + {at.text()}"
        if step == 0:
            return f"all_of<{kind}, N>(*({where}))"
        return f"load_of<{kind}, N>({where})" if step == 1 else f"strided<{kind}, N>({where}, {step}, {self.count})"

    # -- values

    def of_constant(self, op: ops.Constant, tensor: Tensor, index: Indices) -> str:
        if op.data.size == 1:
            return f"all_of<{type_of(op.dtype)}, N>({literal(op.data.reshape(-1)[0], op.dtype)})"
        return self.read(op.dtype, self.weights.pointer(op.data, op.dtype), flat(index, row_major(tensor.inner)), True)

    def of_iota(self, op: ops.Iota, tensor: Tensor, index: Indices, first: str = "") -> str:
        kind = type_of(op.dtype)
        at = index[0]
        if at is None:
            lanes = " + cast_of<KIND>(lanes_of<N>())".replace("KIND", kind) if self.is_tile else ""
            return f"(all_of<{kind}, N>(static_cast<{kind}>(first + {'r' if self.is_tile else 'q'})){lanes})"
        for gone in self.joined:
            at = at.without(gone)
        self.reads.append(Linear(-1, {"": 1}))
        step = 0 if self.is_tile else at.step(self.vector)
        lanes = f" + cast_of<{kind}>(lanes_of<N>() * {step})" if step else ""
        return f"(all_of<{kind}, N>(static_cast<{kind}>({first}{at.text()})){lanes})"

    def of_map(self, op: ops.Map, tensor: Tensor, index: Indices) -> str:
        args = [self.value(arg, index) for arg in tensor.args]
        kind = kind_of(tensor.args[-1].dtype)
        text = OF_BOOLS.get(op.fn) if kind == BOOLS else None
        return f"({substituted(text or FUNCTIONS[op.fn].cpp, args)})"

    def of_lookup(self, op: ops.Lookup, tensor: Tensor, index: Indices) -> str:
        """Of elements of the own row."""
        x, number = tensor.args
        here = [None if isinstance(size, str) or one is None else applied(one, index) for one, size in zip(op.index, x.shape)]
        (pointer, at, is_common), stride = self.first_along(x, here, op.axis)
        self.reads.append(Linear(-1, {"": 1}))
        sought = self.value(number, index)
        scale, step = 1, at.step(self.vector)
        if self.is_tile and not is_common:
            scale, step = 48, 1
        elif self.is_tile:
            step = 0
        at_row = f"{pointer} + ({at.text()}) * {scale}{' + r' if scale == 48 else ''}"
        more = f"{x.shape[op.axis]}, {stride * scale}, {step}, {'N' if self.is_tile else self.count}"
        return f"{op.kernel}<{type_of(tensor.dtype)}, N>({at_row}, {sought}, {more})"
