# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Columns of a user's file, to check a package with: numbers as the model will see them."""

from dataclasses import replace
from pathlib import Path

import torch

from tensoa.command import InputError, first_line

ROWS = 100_000  # at most so many are read of a file


def read(path):
    """The columns of a Parquet or CSV file by name, as tensors of one dimension. Raises InputError."""
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    readers = {".parquet": pyarrow.parquet.read_table, ".csv": pyarrow.csv.read_csv}
    reader = readers.get(Path(path).suffix)
    if reader is None:
        raise InputError(f"--examples {path}: expected a file called FILE.parquet or FILE.csv")
    try:
        table = reader(path).slice(0, ROWS)
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"--examples {path}: cannot be read: {first_line(error)}") from error
    columns = {}
    for name, column in zip(table.column_names, table.columns):
        is_number = pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type)
        if (is_number or pyarrow.types.is_boolean(column.type)) and column.null_count == 0:
            columns[name] = torch.as_tensor(column.to_numpy().copy())
    return columns


def with_columns(binding, columns):
    """The binding with the examples of `columns`, {name: tensor}, for each input block that they have all planes of: by the
    name of the column, or NAME_0, NAME_1, … of its planes. Raises InputError where they have only some, or nothing.
    """
    inputs, wanted = [], []
    for block in binding.inputs:
        names = [_name(block, i) for i in range(len(block.places))]
        missing = [name for name in names if name not in columns]
        wanted += names
        if not missing:
            tensors = [columns[name] for name in names]
            if min(map(len, tensors)) == 0:
                raise InputError(f'block "{block.name}": the examples have no rows; expected at least one')
            block = replace(block, examples=torch.stack([tensor.to(block.column_dtype) for tensor in tensors]))
        elif len(missing) < len(names):
            raise InputError(f'block "{block.name}": the examples have no {", ".join(missing)}; expected all of its columns')
        inputs.append(block)
    if all(block.examples is None for block in inputs):
        raise InputError(f"the examples have {', '.join(columns) or 'no columns'}; expected some of {', '.join(wanted)}")
    return replace(binding, inputs=tuple(inputs))


def _name(block, i):
    column, part = divmod(i, block.planes_per_column)
    return block.columns[column] + (f"_{part}" if block.element else "")
