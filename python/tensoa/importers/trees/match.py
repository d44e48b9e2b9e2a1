# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Which column of a binding each feature of a model is."""

import difflib
from collections.abc import Sequence
from typing import NamedTuple

from tensoa.binding import Binding
from tensoa.errors import InputError


class Place(NamedTuple):
    """A column: the number of the input block, and of the column in it, where a vector counts as its parts."""

    block: int
    column: int


def places(features: list[str], count: int, binding: Binding) -> list[Place]:
    """The column of each of `count` features: by name, or in order where the model has no names. Raises InputError."""
    columns = [Place(b, i) for b, block in enumerate(binding.inputs) for i in range(len(block.places))]
    by_name: dict[str, list[Place]] = {}
    for place in columns:
        for name in _names(binding, place):
            by_name.setdefault(name, []).append(place)
    if not features or (are_made_up(features) and features[0] not in by_name):
        if len(columns) != count:
            raise InputError(
                f"the model has {count} features without names, the binding has {len(columns)} input columns: "
                f"{_listed(binding, columns)}; expected the columns of the features, in their order"
            )
        return columns
    return [_place(name, by_name, binding, columns) for name in features]


def _place(name: str, by_name: dict[str, list[Place]], binding: Binding, columns: list[Place]) -> Place:
    found = by_name.get(name, [])
    if len(found) == 1:
        return found[0]
    if found:
        blocks = ", ".join(f'"{binding.inputs[place.block].name}"' for place in found)
        raise InputError(f'feature "{name}": the blocks {blocks} have a column of this name; expected one, rename the others')
    near = difflib.get_close_matches(name, by_name, 1, 0)
    raise InputError(
        f'the binding lacks feature "{name}" of the model; its input columns are {_listed(binding, columns)}'
        + (f'; the nearest name is "{near[0]}"' if near else "")
    )


def _names(binding: Binding, place: Place) -> set[str]:
    """The names that a column may have: x, or x[1] and x_1 of a vector; with its block before it, separated by a dot."""
    block = binding.inputs[place.block]
    column, part = divmod(place.column, block.planes_per_column)
    names = {block.plane_name(place.column)}
    if block.element:
        names.add(f"{block.columns[column]}_{part}")
    return names | {f"{block.name}.{name}" for name in names}


PREFIXES = {"XGBoost": "f", "LightGBM": "Column_"}  # of the names that a framework makes up where it was given none


def made_up(source: str, count: int) -> list[str]:
    """The names of features that have none: those of the framework that `source` begins with, else those of XGBoost."""
    prefix = next((its for name, its in PREFIXES.items() if source.startswith(name)), PREFIXES["XGBoost"])
    return [f"{prefix}{i}" for i in range(count)]


def are_made_up(features: list[str]) -> bool:
    """Whether a framework counted the columns: f0, Column_0."""
    return any(features == made_up(source, len(features)) for source in PREFIXES)


def _listed(binding: Binding, columns: list[Place]) -> str:
    return few([binding.inputs[place.block].plane_name(place.column) for place in columns])


def few(names: Sequence[str]) -> str:
    """The first of many names."""
    return ", ".join(names[:40]) + (f", … ({len(names)})" if len(names) > 40 else "")
