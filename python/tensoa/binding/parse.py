# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON of a binding."""

import json
import math
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import torch

from tensoa.binding.blocks import Binding, Block
from tensoa.binding.examples import kind_of_table
from tensoa.dtypes import DTYPES
from tensoa.errors import InputError

SCHEMA = 1
RANKS = {"plain": 0, "scalar": 0, "vector": 1, "matrix": 2}


def line_in_words(model: str = "MODEL", out: str = "FILE.pt2") -> str:
    """The command that makes a package without a binding."""
    return f"tensoa compile {model} --out {out} --columns BLOCK=COLUMN,COLUMN"


def without_columns(model: str, out: str) -> InputError:
    """The error of a command that lacks --binding."""
    return InputError(
        f"--out {out}: got no columns; expected --binding BINDING.json, the description of a C++ layout, or columns in words: "
        f"{line_in_words(model, out)}"
    )


def _member(where: str, mapping: Any, key: str, kind: type) -> Any:
    value = mapping.get(key) if isinstance(mapping, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InputError(f'{where}: "{key}" is {json.dumps(value)}, expected {kind.__name__}')
    return value


def _chosen(where: str, mapping: Any, key: str, choices: Iterable[str]) -> str:
    value = _member(where, mapping, key, str)
    if value not in choices:
        raise InputError(f'{where}: "{key}" is "{value}", expected one of {", ".join(choices)}')
    return value


def _parse_block(where: str, text: Any) -> Block:
    kind = _chosen(where, text, "kind", RANKS)
    element = tuple(_member(where, text, "element", list))
    if len(element) != RANKS[kind] or not all(isinstance(size, int) and size > 0 for size in element):
        raise InputError(f'{where}: "element" is {list(element)}, expected {RANKS[kind]} sizes for a {kind} column')
    columns = _member(where, text, "columns", list)
    starts = tuple(_member(where, column, "plane", int) for column in columns)
    if not starts or min(starts) != 0:
        raise InputError(f"{where}: the planes of its columns are {list(starts)}, expected to be counted from 0")
    name, names = _member(where, text, "name", str), tuple(_member(where, column, "name", str) for column in columns)
    _check_planes(f'{where}: block "{name}"', names, starts, math.prod(element))
    return Block(
        name=name,
        collection=_member(where, text, "collection", int),
        is_transposed=_chosen(where, text, "shape", ("rows", "columns")) == "columns",
        kind=kind,
        element=element,
        column_dtype=getattr(torch, _chosen(where, text, "column_dtype", DTYPES)),
        dtype=getattr(torch, _chosen(where, text, "dtype", DTYPES)),
        columns=names,
        starts=starts,
    )


def _check_planes(block: str, names: Sequence[str], starts: Sequence[int], count: int) -> None:
    """A column may be in a block more than once; two columns have no plane in common."""
    owners: dict[int, str] = {}
    for name, start in zip(names, starts):
        for plane in range(start, start + count):
            other = owners.setdefault(plane, name)
            if other != name:
                raise InputError(f"{block}: the columns {other} and {name} have both plane {plane}, expected another for each")


def parse(text: Any, where: str = "binding") -> Binding:
    """The Binding of parsed JSON. Raises InputError."""
    schema = _member(where, text, "schema", int)
    if schema != SCHEMA:
        raise InputError(f"{where}: got schema {schema}, expected {SCHEMA}; write it with this version of tensoa")
    return Binding(
        match=_chosen(where, text, "match", ("auto", "order", "name")),
        inputs=tuple(_parse_block(where, block) for block in _member(where, text, "inputs", list)),
        outputs=tuple(_parse_block(where, block) for block in _member(where, text, "outputs", list)),
        text=text,
    )


def load(path: str | PathLike) -> Binding:
    """The Binding of a file. Raises InputError."""
    try:
        text = json.loads(Path(path).read_text())
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        table = kind_of_table(path)
        if table:
            raise InputError(
                f"{path}: is {table}, rows and not what describe(metadata) writes; rows belong to --example, or "
                f"without a description: {line_in_words()} --example FILE.parquet"
            ) from error
        raise InputError(
            f"{path}: got no JSON ({error}), expected what describe(metadata) writes; without it: {line_in_words()}"
        ) from error
    return parse(text, str(path))
