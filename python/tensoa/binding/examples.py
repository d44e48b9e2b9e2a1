# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Columns of a user's file, to check a package with: numbers as the model will see them."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tensoa.binding.blocks import Binding, Block
from tensoa.errors import BindingError, InputError, first_line

ROWS = 100_000  # at most so many are read of a file
#: How files of tables begin.
TABLES = {
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"FEA1": "a Feather file",
    b"\xff\xff\xff\xff": "an Arrow stream",
}


def kind_of_table(path: str | PathLike) -> str:
    """ "a Parquet file" and the like, by its first bytes, of CSV by its name; nothing for a file that is no table."""
    try:
        with open(path, "rb") as file:
            content = file.read(max(map(len, TABLES)))
    except OSError:
        return ""
    of_name = "a CSV file" if Path(path).suffix == ".csv" else ""
    return next((kind for beginning, kind in TABLES.items() if content.startswith(beginning)), of_name)


def read(path: str | PathLike, option: str = "--examples") -> dict[str, torch.Tensor | None]:
    """The columns of numbers of a Parquet or CSV file by name, as tensors of one dimension; None for one in which numbers
    are missing (nulls). Raises InputError, which begins with the name of the option that the path was given by.
    """
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    readers = {".parquet": pyarrow.parquet.read_table, ".csv": pyarrow.csv.read_csv}
    reader = readers.get(Path(path).suffix)
    if reader is None:
        raise InputError(f"{option} {path}: expected a file called FILE.parquet or FILE.csv")
    try:
        table = reader(path).slice(0, ROWS)
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"{option} {path}: cannot be read: {first_line(error)}") from error
    return _numbers(table)


def columns_of(example: Any) -> dict[str, torch.Tensor | None]:
    """As read(), of the path of a file, a table (of pyarrow, pandas, polars: anything with __arrow_c_stream__), an array of
    Awkward Array, of which what its lists hold counts, or a mapping of names to numbers. Raises InputError.
    """
    import pyarrow

    if isinstance(example, (str, PathLike)):
        return read(example, "example")
    if "awkward" in sys.modules and isinstance(example, sys.modules["awkward"].Array):
        return _in_lists(example)
    try:
        if isinstance(example, Mapping):  # which need not be equally long: those of a collection are
            return {name: numbers for key, one in example.items() for name, numbers in _numbers(_column(key, one)).items()}
        return _numbers(pyarrow.table(example).slice(0, ROWS))
    except (TypeError, ValueError, RuntimeError, pyarrow.ArrowException) as error:
        raise InputError(
            f"example: got a {type(example).__name__} ({first_line(error)}), expected the path of a Parquet or CSV file, "
            "a table, an array of Awkward Array, or arrays by name"
        ) from error


def _in_lists(example: Any) -> dict[str, torch.Tensor | None]:
    from tensoa import lists  # imports awkward

    columns: dict[str, torch.Tensor | None] = {}
    for name, (path, *_) in lists.paths(example).items():
        try:
            numbers = lists.column(example, path, "float32", 0, name)[0][:ROWS]
        except lists.NullsError:
            columns[name] = None
            continue
        except BindingError:  # no numbers
            continue
        if numbers.ndim == 1 and numbers.dtype.kind in "biuf":
            columns[name] = torch.as_tensor(numbers.copy())
    return columns


def _column(name: str, numbers: Any) -> Any:
    import pyarrow

    numbers = numbers.detach().cpu() if isinstance(numbers, torch.Tensor) else numbers
    return pyarrow.table({name: np.atleast_1d(np.asarray(numbers))}).slice(0, ROWS)


def _numbers(table: Any) -> dict[str, torch.Tensor | None]:
    import pyarrow

    columns: dict[str, torch.Tensor | None] = {}
    for name, column in zip(table.column_names, table.columns):
        is_number = pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type)
        if column.null_count and (is_number or pyarrow.types.is_boolean(column.type) or pyarrow.types.is_null(column.type)):
            columns[name] = None
        elif is_number or pyarrow.types.is_boolean(column.type):
            columns[name] = torch.as_tensor(column.to_numpy().copy())
    return columns


def with_columns(binding: Binding, columns: dict[str, torch.Tensor | None]) -> Binding:
    """The binding with the examples of `columns`, {name: tensor}, for each input block that they have all planes of: by the
    name of the column, or NAME_0, NAME_1, … of its planes. Raises InputError where they have only some, or nothing.
    """
    inputs, wanted = [], []
    for block in binding.inputs:
        names = [_name(block, i) for i in range(len(block.places))]
        missing = [name for name in names if name not in columns]
        wanted += names
        nulls = [name for name in names if name in columns and columns[name] is None]
        if nulls:
            raise InputError(
                f'block "{block.name}": the examples have nulls in {", ".join(nulls)}; expected a number in every row'
            )
        if not missing:
            tensors = [tensor for tensor in map(columns.get, names) if tensor is not None]
            if min(map(len, tensors)) == 0:
                raise InputError(f'block "{block.name}": the examples have no rows; expected at least one')
            planes = [_converted(block, name, tensor) for name, tensor in zip(names, tensors)]
            block = replace(block, examples=torch.stack(planes))
        elif len(missing) < len(names):
            raise InputError(f'block "{block.name}": the examples have no {", ".join(missing)}; expected all of its columns')
        inputs.append(block)
    if all(block.examples is None for block in inputs):
        raise InputError(f"the examples have {', '.join(columns) or 'no columns'}; expected some of {', '.join(wanted)}")
    return replace(binding, inputs=tuple(inputs))


def _converted(block: Block, name: str, tensor: torch.Tensor) -> torch.Tensor:
    """In the dtype of the block's columns, which holds all of the numbers; floats may be rounded."""
    dtype, numbers = block.column_dtype, tensor.numpy()
    if dtype.is_floating_point:
        is_held = np.isfinite(tensor.to(dtype).double().numpy()) | ~np.isfinite(numbers)
    else:
        low, high = (0, 1) if dtype == torch.bool else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
        is_held = (numbers >= low) & (numbers < high + 1) & (np.trunc(numbers) == numbers)
    if not is_held.all():
        row = int(is_held.argmin())
        raise InputError(
            f'block "{block.name}": row {row} of {name} of the examples is {numbers[row]}; '
            f"expected numbers that columns of {str(dtype).removeprefix('torch.')} hold"
        )
    return tensor.to(dtype)


def _name(block: Block, i: int) -> str:
    column, part = divmod(i, block.planes_per_column)
    return block.columns[column] + (f"_{part}" if block.element else "")
