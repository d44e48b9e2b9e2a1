# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Which values of a model its results are, as the output blocks of a binding request them, and what is said of that."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tensoa.binding import Binding, Block, argument_names
from tensoa.errors import InputError

Asked = Binding | Sequence[str]  # the output blocks of a binding, or names of values; no names: all outputs
MOST_LISTED = 40


def chosen(asked: Asked | None, outputs: Sequence[str], inner: Mapping[str, str]) -> dict[str, str]:
    """{name of each result: the value that it is}. `inner`: the values that are not outputs, by all names that they have.

    Blocks go to values by name, to outputs before others. Where none fits and their numbers are equal, or where
    the binding requests it, outputs go to blocks in order. Raises InputError for any other block that fits nothing.
    """
    all_of = {name: name for name in outputs}
    names = [block.name for block in asked.outputs] if isinstance(asked, Binding) else list(asked or ())
    match = asked.match if isinstance(asked, Binding) else "name"
    if not names or (match == "order" and len(names) == len(outputs)):
        return all_of
    if match == "order":
        raise InputError(
            f"the binding has {len(names)} output blocks, to be taken in order, the model has {len(outputs)} outputs: "
            f"{_listed(outputs)}; expected equal numbers, or Match::kByName and the names of those that are wanted"
        )
    known = with_places({**inner, **all_of}) | all_of
    missing = [name for name in names if name not in known]
    if not missing:
        return {name: known[name] for name in names}
    is_in_order = match == "auto" and len(missing) == len(names) == len(outputs)
    misplaced = [name for name, output in zip(names, outputs) if {known[one] for one in _alike(name, known)} - {output}]
    if is_in_order and not misplaced:
        return all_of
    name = (misplaced if is_in_order else missing)[0]
    near = _nearest(name, [*outputs, *inner])
    raise InputError(
        f'block "{name}": the model has no output and no inner value of this name; its outputs are {_listed(outputs)}'
        + (f'; the nearest name is "{near}"' if near else "")
    )


def notes(results: Mapping[str, str], outputs: Sequence[str]) -> list[str]:
    """Lines for people on `results` that are inner values."""
    return [
        f'block "{name}" is not an output of the model, but its inner value "{value}"'
        for name, value in results.items()
        if value not in outputs
    ]


def with_places(values: Mapping[str, str]) -> dict[str, str]:
    """The values by their names, and by these with and without the ":0" of TensorFlow, where no other has that name."""
    others = {name.removesuffix(":0") if name.endswith(":0") else f"{name}:0": value for name, value in values.items()}
    return {**others, **values}


def lines(module: Any, columns: Binding) -> Iterator[str]:
    """For people: what goes in order, as no name fits, and what else an importer found out (module.notes)."""
    result_names = getattr(module, "result_names", ())
    if result_names and columns.match != "order":
        yield from _order(argument_names(module) or [], columns.inputs, "inputs")
        yield from _order(result_names, columns.outputs, "outputs")
    yield from getattr(module, "notes", ())


def _order(names: Sequence[str], blocks: Sequence[Block], what: str) -> Iterator[str]:
    if len(names) == len(blocks) and not {block.name for block in blocks} <= set(names):
        pairs = ", ".join(f'"{name}" is block "{block.name}"' for name, block in zip(names, blocks))
        yield f"{what} in order, as the blocks have other names: {pairs}"


def one_of(asked: Asked | None, chain: Sequence[str]) -> tuple[str, list[str]]:
    """(the value that a model gives that is layers after each other, notes). Raises InputError."""
    results = chosen(asked, chain[-1:], {name: name for name in chain})
    if len(results) > 1:
        raise InputError(
            f"the binding requests {', '.join(results)}, expected one of them: layers after each other give one result"
        )
    value = next(iter(results.values()))
    return value, notes(results, chain[-1:])


def _alike(name: str, known: Iterable[str]) -> set[str]:
    """The names that differ from this one in case and marks only."""
    return {other for other in known if _plain(other) == _plain(name) != ""}


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.removesuffix(":0")).casefold()


def _nearest(name: str, names: Sequence[str]) -> str | None:
    """One that differs in case and marks only, or ends as this one does, or has the most letters in common."""
    alike = [*_alike(name, names), *(other for other in names if _plain(name) and _plain(other).endswith(_plain(name)))]
    return next(iter(alike or difflib.get_close_matches(name, names, 1)), None)


def _listed(names: Sequence[str]) -> str:
    more = f", … ({len(names)})" if len(names) > MOST_LISTED else ""
    return ", ".join(f'"{name}"' for name in names[:MOST_LISTED]) + more
