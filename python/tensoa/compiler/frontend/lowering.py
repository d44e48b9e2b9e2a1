# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Lowerings: the table of torch operators by name, and what they are called with."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontend.values import Factors, Value, cast, number
from tensoa.compiler.passes import WIDE
from tensoa.compiler.tensors import Size
from tensoa.dtypes import DTYPES, DType, name_of

#: Operator of torch, without its overload -> its function: f(context, *arguments, **named arguments).
LOWERINGS: dict[str, Callable[..., Any]] = {}


Lowering = TypeVar("Lowering", bound=Callable[..., Any])


def lowers(*names: str) -> Callable[[Lowering], Lowering]:
    """Registers a function for operators of torch."""

    def register(function: Lowering) -> Lowering:
        LOWERINGS.update(dict.fromkeys(names, function))
        return function

    return register


def dtype_of(dtype: object) -> DType:
    found = DTYPES.get(name_of(dtype))
    if found is None:
        raise NotFused(f"numbers of {name_of(dtype)}")
    return found


def calculated(dtype: DType) -> DType:
    """The dtype that numbers of a dtype are calculated in: float32 for short floats, rounded where the model converts to them
    and in columns.
    """
    return WIDE[dtype] if dtype.is_float and dtype in WIDE else dtype


class Context:
    """The node that is lowered: what torch says of its result and of its arguments, and the symbols of rows."""

    def __init__(self, node: torch.fx.Node, symbols: dict[Any, str]) -> None:
        self.node, self.symbols = node, symbols

    @property
    def name(self) -> str:
        """Of the operator, without its overload."""
        return str(self.node.target._schema.name.split("::")[1])  # type: ignore[union-attr]

    @property
    def meta(self) -> Any:
        """The result, as a tensor without numbers."""
        return self.node.meta["val"]

    @property
    def dtype(self) -> DType:
        """The dtype that the result is calculated in."""
        return calculated(dtype_of(self.meta.dtype))

    @property
    def given(self) -> list[Any]:
        """The values that torch has recorded for the arguments."""
        return [arg.meta["val"] if isinstance(arg, torch.fx.Node) else arg for arg in self.node.args]

    def factors(self, size: Any) -> Factors:
        """A size of torch as row symbols and a fixed number, the rows first. Raises NotFused for sums of sizes, and for 0."""
        if isinstance(size, int):
            if size == 0:
                raise NotFused("a tensor without elements")
            return [size] if size != 1 else []
        expression = size.node.expr if hasattr(size, "node") else size
        found: list[Size] = []
        fixed = 1
        for base, power in expression.as_powers_dict().items():
            if base.is_Integer:
                fixed *= int(base) ** int(power)
            elif base in self.symbols and power.is_Integer and power > 0:
                found += [self.symbols[base]] * int(power)
            else:
                raise NotFused(f"a size of {expression}")
        return [*found, *([fixed] if fixed != 1 else [])]

    def shape(self) -> list[Factors]:
        return [self.factors(size) for size in self.meta.shape]

    def promoted(self, *arguments: Any) -> list[Value]:
        """Tensors and numbers of an operator in the dtype that torch calculates with: that of the result, where it is one of
        arithmetic.
        """
        return [self.as_value(argument, self.dtype) for argument in arguments]

    def compared(self, *arguments: Any) -> list[Value]:
        """The same for operators whose result says nothing of it, as comparisons."""
        dtype = calculated(dtype_of(torch.result_type(*self.given[:2])))
        return [self.as_value(argument, dtype) for argument in arguments]

    def as_value(self, argument: Any, dtype: DType) -> Value:
        return cast(argument, dtype) if isinstance(argument, Value) else number(argument, dtype)


def fixed_number(x: Any, what: str) -> Any:
    """A number of the program's text, not of its data."""
    if isinstance(x, (bool, int, float)):
        return x
    raise NotFused(f"{what} that is not a number of the program")


def dims_of(dims: Any, value: Value) -> list[int]:
    """Axes of torch as a list; all where none are named."""
    if dims is None or (isinstance(dims, Sequence) and not dims):
        return list(range(value.rank))
    return [dims] if isinstance(dims, int) else list(dims)
