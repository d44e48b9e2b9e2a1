# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Bindings: blocks of columns, and the argument or result of a model that each one is."""

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from tensoa.errors import InputError


@dataclass(frozen=True)
class Argument:
    """`planes` planes of a block: `first`, `first + step`, … counted from the block's first in memory."""

    first: int
    step: int
    planes: int


@dataclass(frozen=True)
class Block:
    """One named tensor over columns: [n, k, …], or [k, n] where `is_transposed`."""

    name: str
    collection: int
    is_transposed: bool
    kind: str
    element: tuple  # (), (R,) or (R, C)
    column_dtype: torch.dtype
    dtype: torch.dtype
    columns: tuple  # their names
    starts: tuple  # the first plane of each
    integers: tuple | None = None  # the least and the largest that the model takes; None: rows of the smallest collection
    #: Of floats, in the order of `places`: the ends of where made-up numbers lie. None: everywhere.
    ranges: tuple[tuple[float, float], ...] | None = None
    #: [planes, rows] of a file of the user, in the order of `places`.
    examples: torch.Tensor | None = field(default=None, compare=False)

    def plane_name(self, i: int) -> str:
        """Of plane `i` of those in `places`: the column, and which of its planes where it has several."""
        column, part = divmod(i, self.planes_per_column)
        return self.columns[column] + (f"[{part}]" if self.element else "")

    @property
    def planes_per_column(self) -> int:
        return math.prod(self.element)

    @property
    def places(self) -> list[int]:
        """Where each plane lies, in the order of the tensor's elements (a matrix is column-major)."""
        return [start + i for start in self.starts for i in range(self.planes_per_column)]

    def shape(self, rows: Any) -> tuple:
        """Of the tensor that the model gets."""
        columns = len(self.columns)
        if self.is_transposed:
            return (columns, rows)
        return (rows, *(() if self.element and columns == 1 else (columns,)), *self.element)

    def input_arguments(self) -> list[Argument]:
        """One argument: the planes themselves where they lie at equal distances, else the whole range around them."""
        even = _evenly_spaced(self.places)
        return [even or Argument(0, 1, max(self.places) + 1)]

    def output_arguments(self, is_fixed: bool = False) -> list[Argument]:
        """As inputs, but never more than what is written: where distances differ, an argument for each column.

        One for each plane where the number of rows `is_fixed`: torch.export would fix the pitch with it.
        """
        if is_fixed:
            return [Argument(place, 1, 1) for place in self.places]
        even = _evenly_spaced(self.places)
        return [even] if even else [Argument(start, 1, self.planes_per_column) for start in self.starts]

    def tensor(self, argument: torch.Tensor) -> torch.Tensor:
        """The tensor [n, k, …] out of the input argument."""
        places = self.places
        planes = argument if _evenly_spaced(places) else torch.stack([argument[place] for place in places])
        columns = len(self.columns)
        leading = (columns,) if columns > 1 else ()
        if self.is_transposed:
            tensor = planes
        elif len(self.element) == 2:
            tensor = planes.unflatten(0, (*leading, self.element[1], self.element[0])).movedim(-1, 0).transpose(-1, -2)
        elif self.element:
            tensor = planes.unflatten(0, (*leading, self.element[0])).movedim(-1, 0)
        else:
            tensor = planes.t()
        return tensor if self.dtype == self.column_dtype else tensor.to(self.dtype)

    def planes(self, tensor: torch.Tensor) -> torch.Tensor:
        """The planes [k, n] of a tensor [n, k, …]; the opposite of tensor()."""
        if self.is_transposed:
            return tensor
        if len(self.element) == 2:
            tensor = tensor.transpose(-1, -2)
        return tensor.movedim(0, -1).flatten(0, -2) if tensor.dim() > 1 else tensor.unsqueeze(0)

    def write(self, tensor: torch.Tensor, arguments: Sequence[torch.Tensor]) -> None:
        """Writes a result into the output arguments."""
        planes = self.planes(tensor)
        sizes = [argument.shape[0] for argument in arguments]
        for argument, part in zip(arguments, planes.split(sizes) if len(sizes) > 1 else [planes]):
            argument.copy_(part)

    def check_result(self, result: Any, rows: int | None = None) -> None:
        """Raises InputError unless the result is exactly what the block holds. A single plain column takes [n] too."""
        if not isinstance(result, torch.Tensor):
            raise InputError(f'block "{self.name}": the model gave a {type(result).__name__}, expected a tensor')
        got, row_dimension = tuple(result.shape), 1 if self.is_transposed else 0
        if rows is None and len(got) > row_dimension:
            rows = got[row_dimension]
        is_one_column = len(self.columns) == 1 and not self.element
        if got != self.shape(rows) and not (is_one_column and got == (rows,)):
            expected = ", ".join(str(size) for size in self.shape("n"))
            raise InputError(f'block "{self.name}": the model gave the shape {list(got)}, expected [{expected}]')
        if result.dtype != self.dtype:
            names = [str(dtype).removeprefix("torch.") for dtype in (result.dtype, self.dtype)]
            raise InputError(f'block "{self.name}": the model gave {names[0]}, expected {names[1]}')


@dataclass(frozen=True)
class Binding:
    """The blocks that a model reads and writes."""

    match: str  # "auto", "order" or "name": Match of tensoa/engine/model_metadata.hpp
    inputs: tuple
    outputs: tuple
    text: dict  # the JSON

    def call(
        self,
        module: Callable,
        arguments: Sequence[torch.Tensor],
        convert: Callable[[torch.Tensor], torch.Tensor] = lambda tensor: tensor,
    ) -> list[torch.Tensor]:
        """Calls the model as the blocks say, on tensors that `convert` may change; one result for each output block."""
        return self.apply(module, [convert(tensor) for tensor in self.tensors(arguments)])

    def tensors(self, arguments: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """One for each input block, row-major, as models expect them: some take views that columns do not have."""
        return [block.tensor(argument).contiguous() for block, argument in zip(self.inputs, arguments)]

    def apply(self, module: Callable, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Calls the model on a tensor for each input block; one result for each output block."""
        return self.results(self.value(module, tensors))

    def value(self, module: Callable, tensors: Sequence[torch.Tensor]) -> Any:
        """The model's own results for a tensor for each input block."""
        if self.goes_by_name(argument_names(module)):
            return module(**{block.name: tensor for block, tensor in zip(self.inputs, tensors)})
        return module(*tensors)

    def goes_by_name(self, arguments: list[str] | None) -> bool:
        """Whether the input blocks go to the `arguments` (names, None where unknown) of their names, and not in order.
        Raises InputError for a block that would go in order to another argument than that of its name.
        """
        if self.match != "auto" or arguments is None:
            return self.match == "name"
        names = [block.name for block in self.inputs]
        if names == arguments[: len(names)]:
            return False
        if set(names) <= set(arguments):
            return True
        for i, name in enumerate(names):
            if name in arguments and arguments.index(name) != i:
                raise InputError(
                    f'the model takes {arguments}, block "{name}" is number {i + 1} of {names}; name all blocks as their '
                    "arguments, which may then stand in any order, or rename this one, or request Match::kByOrder"
                )
        return False

    def results(self, value: Any) -> list[Any]:
        """One tensor for each output block: those with names by name, then the others in order, as `match` says."""
        names = [block.name for block in self.outputs]
        flat = list(_flatten(value))
        own = sorted(str(result.name) for result in flat)
        if isinstance(value, dict) and own != sorted(names):
            raise InputError(f"the model gave a dict of {own}, the output blocks are {sorted(names)}")
        if len(flat) != len(names):
            raise InputError(f"the model gave {len(flat)} results, there are {len(names)} output blocks: {names}")
        members = [result.name for result in flat if result.is_member]
        by_name = self.match == "name" or (
            self.match == "auto" and set(members) <= set(names) and len(set(members)) == len(members)
        )
        found, others = {}, []
        for result in flat:
            if result.name is None or (result.is_member and not by_name):
                others.append(result)
            elif result.name in found:
                raise InputError(f'the model gave two results called "{result.name}"')
            elif result.name not in names:
                raise InputError(f'the model gave "{result.name}", the output blocks are {names}; name them as the results')
            else:
                found[result.name] = result.tensor
        for place, result in zip([name for name in names if name not in found], others):
            is_misplaced = result.name in names and result.name != place and members.count(result.name) == 1
            if self.match == "auto" and is_misplaced:
                raise InputError(
                    f'the model gave "{result.name}" in the place of block "{place}" of {names}; name them all as the '
                    "results, none of them, or request Match::kByOrder"
                )
            found[place] = result.tensor
        return [found[name] for name in names]


def require_binding(columns: Any) -> None:
    """Raises InputError for what is not a Binding."""
    if not isinstance(columns, Binding):
        raise InputError(
            f'the columns are a {type(columns).__name__}, expected a Binding, as tensoa.binding.load("binding.json") gives it; '
            'for columns in words: tensoa.compile(module, "model.pt2", columns={"features": ["pt", "eta"]})'
        )


def named_results(value: Any) -> list[tuple[str | None, Any]]:
    """(name, tensor) of each result of a model: of a dict, a named tuple, else None. Members that are None are not results."""
    return [(result.name, result.tensor) for result in _flatten(value)]


def absent_results(value: Any) -> list[str]:
    """Which members of the value of a model are None, for people: "result 3", or the name that it has."""
    members = [*_members(value)]
    is_alone = len(members) == 1  # a value that is None, which is not left out
    return [one.name or f"result {i + 1}" for i, one in enumerate(members) if one.tensor is None and not is_alone]


def argument_names(module: Any) -> list[str] | None:
    """Of the module's forward, in order; None where it takes any."""
    if hasattr(module, "argument_names"):
        return module.argument_names
    if isinstance(module, torch.jit.ScriptModule):
        forward: Any = module.forward
        return [argument.name for argument in forward.schema.arguments[1:]]
    parameters = inspect.signature(getattr(module, "forward", module)).parameters.values()
    if any(parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) for parameter in parameters):
        return None
    return [parameter.name for parameter in parameters]


def _evenly_spaced(places: Sequence[int]) -> Argument | None:
    """The Argument of planes at one ascending distance, or None."""
    step = places[1] - places[0] if len(places) > 1 else 1
    if step < 1 or any(b - a != step for a, b in zip(places, places[1:])):
        return None
    return Argument(places[0], step, len(places))


class _Result(NamedTuple):
    name: str | None
    is_member: bool  # of a named tuple
    tensor: object


def _flatten(value: Any) -> Iterator[_Result]:
    """A model that gives several values may give None for what it has not, by its options."""
    members = [*_members(value)]
    yield from members if len(members) == 1 else (one for one in members if one.tensor is not None)


def _members(value: Any, member: str | None = None) -> Iterator[_Result]:
    if isinstance(value, dict):
        for name, entry in value.items():
            yield _Result(name, False, entry)
    elif isinstance(value, (tuple, list)):
        for name, entry in zip(getattr(value, "_fields", [None] * len(value)), value):
            yield from _members(entry, name)
    else:
        yield _Result(member, member is not None, value)
