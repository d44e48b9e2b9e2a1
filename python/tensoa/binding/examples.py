# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Columns of a user's file, to check a package with: numbers as the model will see them."""

import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from tensoa.binding.blocks import Binding, Block
from tensoa.errors import BindingError, InputError, first_line

ROWS = 100_000  # the largest number of rows that is read from a file
INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls its index in files of Arrow
#: Advice for columns without numbers, by the beginnings of their kinds.
WAYS_OUT = {
    "timestamp|duration|(date|time).*64": 'times become numbers by x.cast("int64"), of pandas by x.astype("int64")',
    "(date|time)32": 'these times become numbers by x.cast("int32")',
    "(large_)?(string|binary|utf8)|bytes": "text has no numbers: leave it out, or encode it, as integers that count categories",
}
#: How files of tables begin.
TABLES = {
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"FEA1": "a Feather file",
    b"\xff\xff\xff\xff": "an Arrow stream",
}


def kind_of_table(path: str | PathLike) -> str:
    """ "a Parquet file" and the like, by its first bytes, of CSV by its name; nothing for a file that is not a table."""
    try:
        with open(path, "rb") as file:
            content = file.read(max(map(len, TABLES)))
    except OSError:
        return ""
    of_name = "a CSV file" if Path(path).suffix == ".csv" else ""
    return next((kind for beginning, kind in TABLES.items() if content.startswith(beginning)), of_name)


class Example(dict[str, torch.Tensor | None]):
    """Columns of numbers by name, as tensors of one dimension; None for one in which numbers are missing (nulls). Numbers in
    lists stand one behind the other, fields of records are called jets.pt.

    `others`: by name, what the columns are that hold no numbers. `lengths`: of each column how many rows there are, and the
    lengths of the lists that they are in: columns for which that is equal have the same rows.
    """

    def __init__(self, columns: Mapping[str, torch.Tensor | None] = MappingProxyType({})) -> None:
        super().__init__(columns)
        self.others: dict[str, str] = {}
        self.lengths: dict[str, tuple] = {name: (len(one),) for name, one in columns.items() if one is not None}

    def add(self, name: str, numbers: torch.Tensor | None, lengths: tuple) -> None:
        """A name that is there already is left out: which column is meant cannot be said."""
        if not name:
            self.leave_out('""', "a column without a name")
        elif name in self or name in self.others:
            self.leave_out(name, "there several times")
        else:
            self[name], self.lengths[name] = numbers, lengths

    def leave_out(self, name: str, kind: str) -> None:
        self.pop(name, None)
        self.others[name] = kind

    @property
    def listed(self) -> str:
        """Its columns, for messages."""
        names = [*self, *(f"{name} ({kind})" for name, kind in self.others.items())]
        return ", ".join(names[:40]) + (f", … ({len(names)})" if len(names) > 40 else "") or "no columns"


def way_out(kinds: Collection[str]) -> str:
    """The advice for columns of these kinds (Example.others), as the end of a message."""
    ways = [advice for known, advice in WAYS_OUT.items() if any(re.match(known, kind) for kind in kinds)]
    return "".join(f"; {advice}" for advice in ways)


def read(path: str | PathLike, option: str = "--example") -> Example:
    """The columns of numbers of a Parquet, Arrow or CSV file. Raises InputError, which begins with the name of the option that
    the path was given by.
    """
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    readers = {".parquet": pyarrow.parquet.read_table, ".csv": pyarrow.csv.read_csv, ".csv.gz": pyarrow.csv.read_csv}
    readers |= dict.fromkeys((".arrow", ".ipc", ".feather"), _read_arrow)
    reader = next((reader for ending, reader in readers.items() if fspath(path).endswith(ending)), None)
    if reader is None:
        raise InputError(f"{option} {path}: expected a file that ends in {', '.join(readers)}")
    try:
        return _of_table(reader(path))
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"{option} {path}: cannot be read: {first_line(error)}") from error


def _read_arrow(path: str | PathLike) -> Any:
    """The table of a file in one of Arrow's two formats."""
    import pyarrow

    with pyarrow.memory_map(fspath(path)) as file:
        is_file = file.read(6) == b"ARROW1"
        file.seek(0)
        return (pyarrow.ipc.open_file if is_file else pyarrow.ipc.open_stream)(file).read_all()


def columns_of(example: Any) -> Example:
    """As read(), of the path of a file, a table (of pyarrow, pandas, polars: anything with __arrow_c_stream__), a structured
    array of NumPy, an array of Awkward Array, or a mapping of names to numbers, to records or to arrays of Awkward Array.
    Raises InputError.
    """
    import pyarrow

    if isinstance(example, (str, PathLike)):
        return read(example, "example")
    found = Example()
    try:
        if _is_awkward(example):
            _add_awkward(found, "", example)
        elif isinstance(example, Mapping):  # which need not be equally long: those of a collection are
            _add_each(found, "", example)
        elif isinstance(example, np.ndarray) and example.dtype.names:
            _add_each(found, "", _fields_of(example))
        elif "pandas" in sys.modules and isinstance(example, sys.modules["pandas"].DataFrame):
            return _of_table(pyarrow.Table.from_pandas(example, preserve_index=False))
        else:
            return _of_table(pyarrow.table(example))
    except (TypeError, ValueError, RuntimeError, pyarrow.ArrowException) as error:
        raise InputError(
            f"example: got a {type(example).__name__} ({first_line(error)}), expected the path of a Parquet, Arrow or CSV "
            "file, a table, a structured array of NumPy, an array of Awkward Array, or arrays by name"
        ) from error
    return found


def _is_awkward(example: Any) -> bool:
    return "awkward" in sys.modules and isinstance(example, sys.modules["awkward"].Array)


def _add_each(found: Example, prefix: str, example: Mapping) -> None:
    import pyarrow

    for key, one in example.items():
        if not isinstance(key, str):
            raise TypeError(f"its name {key!r} is a {type(key).__name__}")
        name = prefix + key
        if isinstance(one, Mapping):
            _add_each(found, f"{name}.", one)
        elif isinstance(one, np.ndarray) and one.dtype.names:
            _add_each(found, f"{name}.", _fields_of(one))
        elif _is_awkward(one):
            _add_awkward(found, name, one)
        else:
            try:
                column = one if isinstance(one, pyarrow.ChunkedArray) else pyarrow.chunked_array([_arrow_array(one)])
                _add_arrow(found, name, column.slice(0, ROWS), (min(len(column), ROWS),))
            except (TypeError, ValueError, pyarrow.ArrowException) as error:
                found.leave_out(name, first_line(error))


def _fields_of(records: np.ndarray) -> dict[str, np.ndarray]:
    return {name: records[name] for name in records.dtype.names or ()}


def _arrow_array(numbers: Any) -> Any:
    import pyarrow

    if isinstance(numbers, pyarrow.Array):
        return numbers
    if isinstance(numbers, (list, tuple)) and any(isinstance(one, (list, tuple, Mapping)) for one in numbers):
        return pyarrow.array(numbers)
    numbers = numbers.detach().cpu() if isinstance(numbers, torch.Tensor) else numbers
    array = np.atleast_1d(numbers if isinstance(numbers, np.ma.MaskedArray) else np.asarray(numbers))
    if array.ndim != 1:
        raise ValueError(f"an array [{', '.join(map(str, array.shape))}], expected one for each column")
    return pyarrow.array(array.astype(array.dtype.newbyteorder("="), copy=False))


def _add_awkward(found: Example, prefix: str, example: Any) -> None:
    from tensoa import lists  # imports awkward

    example = example[:ROWS]
    for path, *others in lists.paths(example).values() if example.fields else [[()]]:
        name = ".".join((prefix, *path) if prefix else path)
        if others:
            found.leave_out(name, "there several times")
            continue
        try:
            numbers, offsets, _ = lists.column(example, path, "float32", 0, "it")
        except lists.NullsError:
            found.add(name, None, ())
            continue
        except BindingError as error:  # no numbers
            found.leave_out(name, first_line(error).removeprefix("it is ").partition(", expected")[0])
            continue
        if numbers.ndim == 1:
            lengths = (len(example), *(np.diff(level).tobytes() for level in offsets))
            found.add(name, torch.as_tensor(numbers[:ROWS].copy()), lengths)
        else:
            found.leave_out(name, f"an array [{', '.join(map(str, numbers.shape))}]")


def _of_table(table: Any) -> Example:
    table, found = table.slice(0, ROWS), Example()
    columns = [*zip(table.column_names, table.columns)]
    for name, column in columns:
        one = Example()
        _add_arrow(one, name, column, (len(table),))
        hidden = {*table.column_names} - {name}  # the name of a column wins over that of a field
        for field, numbers in one.items():
            if field not in hidden or field == name:
                found.add(field, numbers, one.lengths[field])
        for field, kind in one.others.items():
            if field not in hidden:
                found.leave_out(field, kind)
    return found


def _add_arrow(found: Example, name: str, column: Any, lengths: tuple, has_nulls: bool = False) -> None:
    """The content of a chunked array of Arrow: the elements of lists, the fields of structs."""
    import pyarrow
    from pyarrow import compute

    kind, types = column.type, pyarrow.types
    if isinstance(kind, pyarrow.BaseExtensionType):
        _add_arrow(found, name, column.cast(kind.storage_type), lengths, has_nulls)
    elif types.is_dictionary(kind):
        _add_arrow(found, name, column.cast(kind.value_type), lengths, has_nulls)
    elif types.is_struct(kind):
        for field, part in zip(kind, column.flatten()):
            _add_arrow(found, f"{name}.{field.name}" if name else field.name, part, lengths, has_nulls)
    elif any(is_kind(kind) for is_kind in _list_kinds()):
        inner = (*lengths, compute.list_value_length(column).cast("int64").to_numpy().tobytes())
        _add_arrow(found, name, compute.list_flatten(column), inner, has_nulls or column.null_count > 0)
    elif INDEX.fullmatch(name):
        found.leave_out(name, "the index of pandas")
    elif types.is_null(kind):  # of no rows, as in an empty CSV file, or nulls
        found.add(name, None if len(column) or has_nulls else torch.empty(0), lengths)
    elif not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)):
        found.leave_out(name, str(kind))
    elif has_nulls or column.null_count:
        found.add(name, None, lengths)
    else:
        numbers = column.slice(0, ROWS)
        numbers = (numbers.cast(pyarrow.float64()) if types.is_decimal(kind) else numbers).to_numpy()
        found.add(name, torch.as_tensor(numbers.copy()), lengths)


def _list_kinds() -> tuple[Callable[[Any], bool], ...]:
    from pyarrow import types

    return (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view, types.is_large_list_view)


def with_columns(binding: Binding, columns: Mapping[str, torch.Tensor | None]) -> Binding:
    """The binding with the examples of `columns`, {name: tensor}, for each input block that they have all planes of: by the
    name of the column, or NAME_0, NAME_1, … of its planes. Raises InputError where they have only some, or nothing, and where
    columns of one collection have other numbers of rows.
    """
    found = columns if isinstance(columns, Example) else Example(columns)
    inputs, wanted = [], []
    of_collections: dict[int, str] = {}  # the first column of each
    for block in binding.inputs:
        names = [_name(block, i) for i in range(len(block.places))]
        missing = [name for name in names if name not in found]
        wanted += names
        nulls = [name for name in names if name in found and found[name] is None]
        if nulls:
            raise InputError(
                f'block "{block.name}": the examples have nulls in {", ".join(nulls)}; expected a number in every row'
            )
        others = {name: found.others[name] for name in missing if name in found.others}
        if others:
            listed = ", ".join(f"{name} is {kind}" for name, kind in others.items())
            raise InputError(f'block "{block.name}": of the examples {listed}; expected numbers{way_out(others.values())}')
        if not missing:
            tensors = [tensor for tensor in map(found.get, names) if tensor is not None]
            if min(map(len, tensors)) == 0:
                raise InputError(f'block "{block.name}": the examples have no rows; expected at least one')
            first = names[0] if block.kind == "scalar" else of_collections.setdefault(block.collection, names[0])
            _require_same_rows(block, found, [first, *names])
            planes = [_converted(block, name, tensor) for name, tensor in zip(names, tensors)]
            block = replace(block, examples=torch.stack(planes))
        elif len(missing) < len(names):
            raise InputError(f'block "{block.name}": the examples have no {", ".join(missing)}; expected all of its columns')
        inputs.append(block)
    if all(block.examples is None for block in inputs):
        raise InputError(f"the examples have {', '.join(found) or 'no columns'}; expected some of {', '.join(wanted)}")
    return replace(binding, inputs=tuple(inputs))


def _require_same_rows(block: Block, found: Example, names: Sequence[str]) -> None:
    """Raises InputError where columns are of other rows than the first."""
    other = next((name for name in names if found.lengths[name] != found.lengths[names[0]]), None)
    if other is None:
        return
    counts = [0 if (numbers := found[name]) is None else len(numbers) for name in (names[0], other)]
    what = "lists of other lengths" if counts[0] == counts[1] else f"{counts[0]} rows of {names[0]} and {counts[1]} of {other}"
    which = f" in {names[0]} and {other}" if counts[0] == counts[1] else ""
    raise InputError(
        f'block "{block.name}": the examples have {what}{which}; expected the same rows in all blocks of a collection; other '
        "ones are of another collection, as in x=r,phi@hits"
    )


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
