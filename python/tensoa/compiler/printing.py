# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Common parts of C++ and CUDA C++: text of kernels and of numbers, expressions of tensors, and what prints a nest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from tensoa.compiler import operations as ops
from tensoa.compiler.constants import Pool
from tensoa.compiler.functions import FLOATS, Array, kind_of, start_of
from tensoa.compiler.passes import is_row_gather, is_selection
from tensoa.compiler.schedule.addresses import Indices, Linear, flat, row_major, through, through_view
from tensoa.compiler.schedule.nests import Buffer, Loop, Nest, Nests
from tensoa.compiler.schedule.roots import Reason
from tensoa.compiler.schedule.streams import Keys, Previous, are_rows
from tensoa.compiler.tensors import Tensor
from tensoa.dtypes import DType

STRUCTS = {"sum": "JoinSum", "prod": "JoinProd", "max": "JoinMax", "min": "JoinMin", "logaddexp": "JoinLogAddExp"}
SHORT = ("float16", "bfloat16")


def joined(files: Sequence[Path]) -> str:
    """The files of kernels/ one behind the other, as compilers of programs see no files of ours, without what they include of
    each other, which comes before.
    """
    lines = [line for file in files for line in file.read_text().splitlines() if not line.startswith('#include "')]
    return "\n".join(lines) + "\n"


def float_literal(number: float, nan: str, infinity: str) -> str:
    """A number of float32; `nan`, `infinity`: their names."""
    number = float(np.float32(number))
    if np.isnan(number):
        return nan
    if np.isinf(number):
        return infinity if number > 0 else f"-{infinity}"
    return f"{number.hex()}f"


def substituted(text: str, args: list[str]) -> str:
    """An expression of x, y, z with arguments for them."""
    pieces, word = [], ""
    for letter in text + " ":
        if letter.isalnum() or letter == "_":
            word += letter
            continue
        pieces.append(args["xyz".index(word)] if word in ("x", "y", "z") else word)
        pieces.append(letter)
        word = ""
    return "".join(pieces).strip()


def converted(x: str, of: DType, to: DType, type_of: Callable[[DType], str], cast: str) -> str:
    """A number as one of another dtype that is not bool. `type_of`: the type of a dtype; `cast`: what makes one of another."""
    kind = type_of(to)
    if to.is_float:
        wide = x if type_of(of) == kind else f"{cast}<{kind}>({x})"
        return f"short_of({wide}, {str(to.name == 'bfloat16').lower()})" if to.name in SHORT and of is not to else wide
    if kind_of(of) == FLOATS:
        x = f"integer_of<{kind}>({x})"
    elif type_of(of) != kind:
        x = f"{cast}<{kind}>({x})"
    bits = {"int8": 8, "uint8": 8, "int16": 16}.get(to.name)
    return x if bits is None or of.is_bool else f"narrowed({x}, {bits}, {str(to.name != 'uint8').lower()})"


def loops_around(loops: Sequence[Loop], body: str, unroll: int = 0) -> str:
    """`unroll`: how often, of the outermost; 1: none; 0: as the compiler likes."""
    for loop in reversed(loops):
        hint = f"\n#pragma unroll {unroll}\n" if unroll == 1 or (unroll and loop is loops[0]) else ""
        body = f"{hint}for (int {loop.name} = 0; {loop.name} < {loop.end}; ++{loop.name}) {{ {body} }}"
    return body


def join_of(tensor: Tensor) -> str:
    """The function that joins the terms of a sum."""
    return tensor.op.fn if isinstance(tensor.op, ops.Reduce) else "sum"


def form_of(nest: Nest) -> str:
    """The form in which a nest is printed."""
    root = nest.root
    if nest.is_copy:
        return "map"
    if are_rows(root):
        return "keys"
    if is_row_gather(root):
        return "gather"
    if nest.reason is Reason.ROWS:
        return "added"
    if nest.inner is not None:
        return "sum"
    return root.op.name if root.op.is_together or isinstance(root.op, ops.Column) else "map"


@dataclass
class Place:
    """Memory of a root: `pointer` to the elements of the row that is calculated, in the order of `buffer`, and the `step`
    between neighbours. On a CPU, `base`: the pointer of the first row; of few rows, each is `pitch` elements behind the last.
    """

    pointer: str
    buffer: Buffer
    step: int = 1
    base: str = ""
    pitch: int = 0

    def at(self, index: Indices) -> Linear:
        return flat(index, self.buffer.strides).times(self.step)

    def element(self, at: str) -> str:
        """An element by its number in the order of `buffer`."""
        return f"{self.pointer}[{at}]" if self.step == 1 else f"{self.pointer}[({at}) * {self.step}]"


class Address(NamedTuple):
    """An element in memory: the pointer, and the element from there on. Constants and keys are common to all rows."""

    pointer: str
    at: Linear
    is_common: bool

    @property
    def text(self) -> str:
        return f"{self.pointer} + {self.at.text()}"


class Language(NamedTuple):
    """How numbers of a dtype are written, in registers; `joining`: the struct of a function that joins two."""

    type_of: Callable[[DType], str]
    literal: Callable[[float | int | bool, DType], str]
    cast: Callable[[str, DType, DType], str]
    joining: Callable[[str, DType], str]


class Constants:
    """Constants as they lie in the memory of a program."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    def pointer(self, data: Array, dtype: DType) -> str:
        raise NotImplementedError


class Printer:
    """Prints values of a stage by of_OPERATION, and its nests by print_FORM, as form_of() says."""

    language: ClassVar[Language]

    def __init__(self, nests: Nests, weights: Constants) -> None:
        self.nests, self.weights = nests, weights
        self.places: dict[Tensor, Place] = {}
        self.replaced: dict[Tensor, str] = {}  # the text of values that have one already

    def read(self, dtype: DType, pointer: str, at: Linear, is_common: bool) -> str:
        """A number in memory, in registers. `is_common`: whether it is the same for all rows."""
        raise NotImplementedError

    def of_iota(self, op: ops.Iota, tensor: Tensor, index: Indices, first: str = "") -> str:
        raise NotImplementedError

    # -- addresses

    def address(self, tensor: Tensor, index: Indices) -> Address:
        """Of a root or a constant, or of a view of one."""
        if tensor not in self.nests.roots:
            tensor, index = through(tensor, index)
        if tensor not in self.nests.roots and isinstance(tensor.op, ops.Constant):
            return Address(self.weights.pointer(tensor.op.data, tensor.dtype), flat(index, row_major(tensor.inner)), True)
        place = self.places[tensor]
        return Address(place.pointer, place.at(index), place.buffer.is_common)

    def first_along(self, tensor: Tensor, index: Indices, axis: int) -> tuple[Address, int]:
        """The first element along an axis that is not of rows, and the step to the next one."""
        first, following = ([Linear(at) if i == axis else one for i, one in enumerate(index)] for at in (0, 1))
        start = self.address(tensor, first)
        return start, self.address(tensor, following).at.offset - start.at.offset

    # -- values

    def value(self, tensor: Tensor, index: Indices, is_top: bool = False) -> str:
        if tensor in self.replaced:
            return self.replaced[tensor]
        if tensor in self.nests.roots and not is_top:
            place = self.places[tensor]
            return self.read(tensor.dtype, place.pointer, place.at(index), place.buffer.is_common)
        name = "lookup" if isinstance(tensor.op, ops.Lookup) else tensor.op.name
        text: str = getattr(self, f"of_{name}")(tensor.op, tensor, index)
        return text

    def of_view(self, op: ops.View, tensor: Tensor, index: Indices) -> str:
        return self.value(tensor.args[0], through_view(op, tensor.args[0], index))

    def of_keys(self, op: Keys, tensor: Tensor, index: Indices) -> str:
        """The numbers of rows; other keys are in memory."""
        (counted,) = tensor.args
        assert isinstance(counted.op, ops.Iota)
        return self.of_iota(counted.op, counted, index, "key + ")

    def of_previous(self, op: Previous, tensor: Tensor, index: Indices) -> str:
        return self.value(tensor.args[0], index)

    def of_cast(self, op: ops.Cast, tensor: Tensor, index: Indices) -> str:
        (arg,) = tensor.args
        return self.language.cast(self.value(arg, index), arg.dtype, op.dtype)

    # -- nests

    def printed(self, nest: Nest) -> str:
        text: str = getattr(self, f"print_{form_of(nest)}")(nest)
        return text

    def epilogue(self, nest: Nest, has_bias: bool = False, sum_text: str = "acc") -> str:
        """The expression of the root from the accumulator `sum_text`; `has_bias`: of which the bias is a part."""
        assert nest.inner is not None
        self.replaced = {nest.inner: sum_text}
        if nest.bias is not None and has_bias:
            self.replaced[nest.bias[0]] = sum_text
        value = self.value(nest.root, nest.index, True)
        self.replaced = {}
        return value

    def with_blocks_before(self, nest: Nest, at: Linear, value: str) -> str:
        """The value that is joined to that of the blocks before."""
        if nest.stream is None or isinstance(nest.root.op, ops.Sort):
            return value
        place, dtype = self.places[nest.buffer.root], nest.root.dtype
        before = self.read(dtype, place.pointer, at.times(place.step), False)
        if nest.factor is not None:
            before = f"mul_of({before}, {self.value(nest.factor, nest.index)})"
        return f"{self.language.joining(join_of(nest.root), dtype)}::join({before}, {value})"

    def start_of_stream(self, result: Tensor) -> str:
        """The value before the first block."""
        if isinstance(result.op, ops.Sort):
            return "-1"
        if isinstance(result.op, ops.Gather):
            return f"nothing<{self.language.type_of(result.dtype)}>()"
        return self.language.literal(start_of(getattr(result.op, "fn", "sum"), result.dtype), result.dtype)

    def numbers_of(self, nest: Nest) -> Tensor:
        """The numbers that an order along rows finds."""
        return next(root for root in self.nests.roots.reasons if is_selection(root) and root.args[1] is nest.stream)
