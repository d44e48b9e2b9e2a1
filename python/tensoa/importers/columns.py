# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Columns of a block for the names that a network has."""

import difflib
from collections.abc import Sequence

from tensoa.errors import InputError


def order_of(names: Sequence[str], columns: Sequence[str], what: str, notes: list[str]) -> list[int] | None:
    """Where each of the names is among the columns; None, and a line in `notes`, where the columns have none of them, but their
    number.
    """
    if set(names) <= set(columns):
        if len(columns) != len(names):
            extra = [column for column in columns if column not in names]
            raise InputError(f"{what}: the block has {', '.join(extra)}, too, which the network does not take")
        return [columns.index(name) for name in names]
    missing = [name for name in names if name not in columns]
    if len(missing) == len(names) == len(columns):
        pairs = ", ".join(f'"{name}" is {column}' for name, column in zip(names, columns))
        notes.append(f"{what}: columns in order, as they have other names: {pairs}")
        return None
    near = difflib.get_close_matches(missing[0], columns, 1)
    advice = f"; the nearest is {near[0]}" if near else ""
    raise InputError(f"{what}: the block has no {', '.join(missing)}, it has {', '.join(columns)}{advice}")
