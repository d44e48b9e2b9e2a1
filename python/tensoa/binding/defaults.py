# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks of a model for which no columns were given: those that its file names, those of an example, or one for each number
of a row where the file says the sizes: x_0, x_1, … (tensoa.binding.words.counted).
"""

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from tensoa.binding.blocks import argument_names
from tensoa.binding.examples import Example
from tensoa.binding.trial import only_shape
from tensoa.binding.words import CALL, Words, counted, shape_text
from tensoa.dtypes import DTYPES, name_of
from tensoa.errors import InputError

MOST_PLACES = 40  # that are written out in the line to type
MOST_COLUMNS = 1 << 20  # that have no names; kMostPlanes of onnx/src/inspect.cpp
Sizes = tuple[int | None, ...]  # of a tensor, None where they are free


@dataclass(frozen=True)
class Taken:
    """One argument as the file of a model describes it; modules have it as `taken_by_file`. `shape`: sizes, None where they are
    free; no shape where the file says none. `columns`: the names that the file has for them. `rows`: its name for their number.
    """

    name: str
    dtype: torch.dtype
    shape: Sizes | None
    columns: tuple[str, ...] = ()
    rows: str = ""

    @property
    def width(self) -> int | None:
        return self.shape[1] if self.shape is not None and len(self.shape) == 2 else None

    @property
    def names(self) -> tuple[str, ...]:
        """Of its columns: of one column, the name of the argument."""
        return self.columns or ((self.name,) if self.width == 1 else ())

    @property
    def numbers(self) -> tuple[str, ...]:
        """A name for each number of a row, where the file says all sizes but that of the rows, or they are for one row."""
        sizes = self.shape or ()
        has_rows = sizes.count(None) == 1 or (None not in sizes and sizes[:1] == (1,))
        is_possible = has_rows and 0 < math.prod(size for size in sizes if size is not None) <= MOST_COLUMNS
        return counted(self.name, sizes) if is_possible and name_of(self.dtype) in DTYPES else ()

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.name} {name_of(self.dtype)}"
        sizes = [str(size) if size is not None else "n" if i == 0 else "?" for i, size in enumerate(self.shape)]
        return f"{self.name} {name_of(self.dtype)}[{', '.join(sizes)}]"


def needed_arguments(module: Any) -> list[str] | None:
    """The arguments that have no default; None where it takes any."""
    arguments = argument_names(module)
    if arguments is None or hasattr(module, "argument_names") or isinstance(module, torch.jit.ScriptModule):
        return arguments
    parameters = inspect.signature(module.forward).parameters
    return [name for name in arguments if parameters[name].default is inspect.Parameter.empty]


def taken_by_file(module: Any) -> dict[str, Taken]:
    """By the names of arguments; of programs of torch.export what they were exported with."""
    found = getattr(module, "taken_by_file", ())
    if isinstance(module, torch.fx.GraphModule):
        inputs = [(node.target, node.meta.get("val")) for node in module.graph.nodes if node.op == "placeholder"]
        found = [
            Taken(str(name), one.dtype, _sizes(one), rows=_rows_name(one))
            for name, one in inputs
            if isinstance(one, torch.Tensor)
        ]
    return {one.name: one for one in found if isinstance(one, Taken)} if isinstance(found, (list, tuple)) else {}


def _sizes(tensor: torch.Tensor) -> tuple[int | None, ...]:
    return tuple(size if isinstance(size, int) else None for size in tensor.shape)


def _rows_name(tensor: torch.Tensor) -> str:
    return next((str(size) for size in tensor.shape if not isinstance(size, int)), "")


def line_of(module: Any, names: Sequence[str], known: Mapping[str, Words] | None = None) -> str:
    """The words for arguments: known columns, and placeholders for the others."""
    return " ".join(_text(name, taken_by_file(module).get(name), (known or {}).get(name)) for name in names)


def _text(name: str, taken: Taken | None, known: Words | None) -> str:
    if known is not None:
        columns = shape_text(known.sizes) if known.is_counted else "=" + ",".join(known.columns)
        dtype, rows = known.dtype, known.rows
    else:
        columns, dtype = _places_text(taken), name_of(taken.dtype) if taken is not None else ""
        rows = CALL if taken is not None and taken.shape == () else ""
    return f"{name}{columns}" + (f":{dtype}" if dtype not in ("", "float32") else "") + (f"@{rows}" if rows else "")


def _places_text(taken: Taken | None) -> str:
    """Where people type the columns of an argument, or its sizes."""
    sizes = None if taken is None else taken.shape
    if sizes == ():
        return "=COLUMN"
    if sizes is None or (len(sizes) == 2 and (sizes[1] or 0) > MOST_PLACES):
        return "=COLUMN,COLUMN,…"
    if len(sizes) == 2 and sizes[0] is None and sizes[1] is not None:
        return "=" + ",".join(["COLUMN"] * sizes[1])
    at = sizes.index(None) if None in sizes else None
    return f"[{','.join('n' if i == at else 'SIZE' if size is None else str(size) for i, size in enumerate(sizes))}]"


def taken_text(module: Any, names: Sequence[str]) -> str:
    """Arguments for messages, with dtype and shape where the file says them."""
    of_file = taken_by_file(module)
    return ", ".join(str(of_file.get(name, name)) for name in names)


def words_of_model(module: Any, example: Example | None) -> list[Words]:
    """A block for each argument: of the columns that its file names, else of the column of the example that has its name, or
    the fields of the record that has it; all columns of the example where there is one argument; without an example those that
    are counted. Raises InputError where that would be a guess.
    """
    needed = needed_arguments(module)
    if needed is None:
        raise InputError(
            "columns: the model takes arguments of which it does not state the names; expected the columns of each: "
            f"--columns {line_of(module, ['BLOCK'])}"
        )
    of_file = taken_by_file(module)
    if example is None and len(needed) == 1 and not of_file and (shape := only_shape(module)) is not None:
        of_file = {needed[0]: Taken(needed[0], torch.float32, shape)}
    of_each = {name: _words_of(name, of_file.get(name), example) for name in argument_names(module) or needed}
    found = {name: one for name, one in of_each.items() if one is not None}
    is_whole = example is not None and set(example) <= {column for one in found.values() for column in one.columns}
    if len(needed) == 1 and example is not None and not is_whole:
        (name,) = needed
        is_by_chance = name in found and found[name].columns == (name,) and not (name in of_file and of_file[name].names)
        if name in found and not is_by_chance:
            return [found[name]]
        if _has_width(of_file.get(name), len(example)):
            return [Words(name, tuple(example))]
    if needed and all(name in found for name in needed):
        blocks = [one for name, one in found.items() if name in needed or example is not None]
        return _in_collections(blocks, _rows_of(blocks, of_file, example))
    has = f"; the example has {example.listed}" if example is not None else ""
    raise InputError(
        f"columns: the model takes {taken_text(module, needed)}; expected the columns of each: --columns "
        f"{line_of(module, needed, found)}{has}"
    )


def _words_of(name: str, taken: Taken | None, example: Example | None) -> Words | None:
    if taken is not None and name_of(taken.dtype) in DTYPES:
        for names, sizes in ((taken.names, ()), (taken.numbers, taken.shape or ())):
            if names and (example is None or any(column in example for column in names)):
                return Words(name, names, name_of(taken.dtype), sizes=sizes)
    if example is None:
        return None
    columns = tuple(column for column in example if column.startswith(f"{name}.")) or (name,)
    return Words(name, columns) if columns[0] in example and _has_width(taken, len(columns)) else None


def _has_width(taken: Taken | None, width: int) -> bool:
    return taken is None or taken.width in (None, width)


def _rows_of(blocks: Sequence[Words], of_file: Mapping[str, Taken], example: Example | None) -> list:
    """Of each block the number of its rows: that of the example, or the name that the file has for it."""
    if example is not None:
        return [example.lengths.get(one.columns[0]) for one in blocks]
    return [of_file[one.name].rows if one.name in of_file else "" for one in blocks]


def _in_collections(blocks: list[Words], rows: Sequence) -> list[Words]:
    """Blocks of the same rows are of one collection, which has the name of the first of them."""
    if len(set(rows)) == 1:
        return blocks
    return [replace(one, rows=blocks[rows.index(its)].name) for one, its in zip(blocks, rows)]


def unnamed_text(blocks: Sequence[Words]) -> str:
    """A line on blocks whose columns have no names in the file."""
    names = ", ".join(f"{one.columns[0]} to {one.columns[-1]}" if len(one.columns) > 1 else one.columns[0] for one in blocks)
    line = " ".join(f"{one.name}{shape_text(one.sizes) if len(one.sizes) > 2 else ''}=COLUMN,…" for one in blocks)
    return f"columns: {names}, as the file has no names for them; yours: --columns {line}"


def left_out(blocks: Sequence[Words], example: Example) -> list[str]:
    """The columns of the example that no block has, for people."""
    taken = {column for one in blocks for column in one.columns}
    return [*(name for name in example if name not in taken), *(f"{name} ({kind})" for name, kind in example.others.items())]
