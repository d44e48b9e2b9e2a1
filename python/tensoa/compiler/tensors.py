# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Typed tensors: frozen, hash-consed values with a dtype and a shape, made in one place that verifies them.

A tensor is an operation and its arguments; dtype and shape follow from these by the rule of the operation. Two equal tensors
are one object, so `is` compares them and dicts are keyed by them. An axis has a fixed size (int), or one element for each row
of a collection (str, the row symbol).
"""

import contextlib
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import ClassVar

from tensoa.compiler.functions import Array
from tensoa.dtypes import DType


class BlockSize(int):
    """The largest size of an axis that is a block of rows; the size is known at run time. Equal to no other size."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockSize) and int(self) == int(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(("block", int(self)))


Size = int | str
Shape = tuple[Size, ...]


class Malformed(Exception):
    """A tensor or a program that breaks a rule: a bug of the pass that the message names."""


class BrokenRule(Exception):
    """The rule that the arguments of an operation break; make() says which tensor and which pass."""


def need(holds: bool, rule: str) -> None:
    """Raises BrokenRule unless `holds`."""
    if not holds:
        raise BrokenRule(rule)


_pass: ContextVar[str] = ContextVar("pass", default="no pass")


@contextlib.contextmanager
def made_by(name: str) -> Iterator[None]:
    """Errors about tensors that are made inside name this pass."""
    token = _pass.set(name)
    try:
        yield
    finally:
        _pass.reset(token)


@dataclass(frozen=True)
class Evaluation:
    """The inputs of an evaluation: planes of the input blocks, by block and plane, and the number of rows of symbols."""

    planes: Mapping[tuple[int, int], Array]
    rows: Mapping[str, int]

    def shape(self, tensor: "Tensor") -> tuple[int, ...]:
        return tuple(self.rows[size] if isinstance(size, str) else size for size in tensor.shape)


class Op(ABC):
    """An operation with its attributes. Subclasses are frozen dataclasses."""

    name: ClassVar[str]
    is_together: ClassVar[bool] = False  # its elements are made together, from arguments that lie in memory

    @abstractmethod
    def result(self, args: tuple["Tensor", ...]) -> tuple[DType, Shape]:
        """Dtype and shape of the result. Raises BrokenRule."""

    def value(self, tensor: "Tensor", args: tuple[Array, ...], given: Evaluation) -> Array:
        """The meaning of the operation, in NumPy: the numbers of `tensor`, which it makes, from those of its arguments.
        Operations of schedules have no meaning outside of them.
        """
        raise NotImplementedError(self.name)

    def describe(self) -> str:
        """The attributes in a dump."""
        return ""


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Tensor:
    op: Op
    args: tuple["Tensor", ...]
    dtype: DType
    shape: Shape

    @property
    def rows(self) -> tuple[str, ...]:
        """The row symbols of its axes, in order."""
        return tuple(size for size in self.shape if isinstance(size, str))

    @property
    def inner(self) -> tuple[int, ...]:
        """The fixed sizes of its axes, in order."""
        return tuple(size for size in self.shape if isinstance(size, int))

    @property
    def type(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"

    def __repr__(self) -> str:
        return f"{self.op.name}[{self.op.describe()}]: {self.type}"


_made: weakref.WeakValueDictionary[tuple[Op, tuple[Tensor, ...]], Tensor] = weakref.WeakValueDictionary()


def make(op: Op, *args: Tensor) -> Tensor:
    """The tensor of an operation on arguments. Raises Malformed where these break its rule."""
    key = (op, args)
    found = _made.get(key)
    if found is None:
        try:
            dtype, shape = op.result(args)
            for size in shape:
                need(isinstance(size, str) or size > 0, f"a size of at least 1, got {size}")
        except BrokenRule as error:
            given = ", ".join(arg.type for arg in args) or "no arguments"
            raise Malformed(f"{op.name}[{op.describe()}] of {given}: expected {error}; made by {_pass.get()}") from None
        found = _made[key] = Tensor(op, args, dtype, shape)
    return found


def in_order(*roots: Tensor) -> list[Tensor]:
    """All tensors that these need, and they themselves: arguments first, each once."""
    done: dict[Tensor, None] = {}
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        tensor, is_visited = stack.pop()
        if is_visited:
            done.setdefault(tensor)
        elif tensor not in done:
            stack.append((tensor, True))
            stack += [(arg, False) for arg in reversed(tensor.args)]
    return list(done)
