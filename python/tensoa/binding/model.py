# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A model on columns of a binding: what it takes, and what it gives."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from tensoa.binding.blocks import Binding, argument_names
from tensoa.binding.columns import (
    FEW_ROWS,
    FEWEST_ROWS,
    LARGE,
    MANY_NUMBERS,
    NORMAL,
    ROWS,
    SPECIAL,
    Columns,
    all_of,
    bits,
    collections_of,
    is_integer,
    trial_rows,
)
from tensoa.command import step
from tensoa.errors import InputError, Unsupported, first_line

FIRST = (0, 1)  # an integer that any table has: categories are counted from one of them
LIMITS = (100, 64, 50, 32, 20, 16, 10, 8, 6, 5, 4, 3, 2)  # numbers of rows of tables, those that are tried


@contextlib.contextmanager
def as_exported() -> Iterator[None]:
    """Encoder layers of torch calculate as torch.export sees them: their fast path, which it does not, gives other numbers
    for rows that a mask leaves out.
    """
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def results_of(module: Any, binding: Binding, columns: Columns) -> list[torch.Tensor]:
    """The results of the module itself. Raises InputError for what it cannot take or should not give."""
    tensors = binding.tensors(columns.inputs)
    before = [tensor.clone() for tensor in tensors]
    try:
        with as_exported():
            results = binding.apply(module, tensors)
    except InputError:
        raise
    except Exception as error:  # whatever the user's model throws
        rows = " and ".join(dict.fromkeys(str(tensor.shape[1]) for tensor in columns.inputs))
        raise InputError(
            f"the model fails on columns of the binding with {rows} rows: {first_line(error)}; expected a model that takes "
            + ", ".join(f"{block.name} {list(block.shape('n'))}".replace("'", "") for block in binding.inputs)
            + " with any number of rows n"
        ) from error
    if any(not torch.equal(bits(a.reshape(-1)), bits(b.reshape(-1))) for a, b in zip(before, tensors)):
        raise Unsupported("the model writes one of its inputs")
    for block, result in zip(binding.outputs, results):
        block.check_result(result)
    return results


def _named(function: Any, args: tuple, kwargs: dict) -> dict[str, Any]:
    return {argument.name: value for argument, value in zip(function._schema.arguments, args)} | kwargs


def _indices_of(named: dict[str, Any]) -> Iterator[tuple[int, torch.Tensor]]:
    """(place among the indices, the index) of each that is not empty, in the arguments of an operation."""
    for name in ("index", "indices"):
        found = named.get(name)
        for i, index in enumerate(found if isinstance(found, (list, tuple)) else [found]):
            if isinstance(index, torch.Tensor) and is_integer(index.dtype) and index.numel():
                yield i, index


class _WithoutNegativeIndices(TorchDispatchMode):
    """Raises IndexError for a negative index, which torch counts from the end in some places, and programs do not."""

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if any(index.min() < 0 for _, index in _indices_of(_named(function, args, kwargs))):
            raise IndexError("a negative index")
        return function(*args, **kwargs)


def with_lengths(module: Any, binding: Binding) -> tuple[Binding, dict[int, int]]:
    """(the binding, lengths): collections that the model needs to be of one length become the first of them. `lengths`: for
    each collection the first with the same number of rows.
    """
    collections = collections_of(binding)
    few = [replace(block, integers=(0, 0) if is_integer(block.column_dtype) else None) for block in binding.inputs]

    def of(lengths: dict[int, int]) -> list:
        return [replace(block, collection=lengths[block.collection]) for block in few]

    few_rows = trial_rows(binding, FEW_ROWS)

    def runs(lengths: dict[int, int]) -> bool:
        rows = {collection: few_rows[2 * i] for i, collection in enumerate(collections)}
        try:
            candidate = replace(binding, inputs=tuple(of(lengths)))
            with as_exported():
                candidate.call(module, Columns(candidate, rows, (), "cpu").inputs)
        except Exception:  # whatever the user's model throws
            return False
        return True

    each = {collection: collection for collection in collections}
    if not 1 < len(collections) <= len(ROWS) // 2:
        return binding, each
    found = next((lengths for lengths in _partitions(collections) if runs(lengths)), each)
    inputs = [replace(block, collection=found[block.collection]) for block in binding.inputs]
    return replace(binding, inputs=tuple(inputs)), found


def _partitions(collections: Sequence[int]) -> list[dict[int, int]]:
    """All partitions of the collections into groups of one number of rows, {collection: the first of its group}; those with the
    most groups first.
    """
    ways: list[dict[int, int]] = [{}]
    for collection in collections:
        ways = [{**way, collection: first} for way in ways for first in (*dict.fromkeys(way.values()), collection)]
    return sorted(ways, key=lambda way: -len(set(way.values())))


class _Indices(TorchDispatchMode):
    """Notes which numbers index which tensors: (the size of a table, the one index into it, None where there are several)."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, int | None]] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        named = _named(function, args, kwargs)
        table = named.get("self", named.get("weight"))
        if isinstance(table, torch.Tensor) and table.dim():
            for i, index in _indices_of(named):
                low, high = int(index.min()), int(index.max())
                self.found.append((table.shape[int(named.get("dim", 0)) + i], low if low == high else None))
        return result


def with_examples(module: Any, binding: Binding) -> Binding:
    """The binding, with the range of made-up integers for each block: all of the dtype where the model takes that; what the
    table has that it indexes; rows of the smallest collection where it takes those, as for an index; else the largest range of
    LIMITS that it takes, which may begin below zero, or at one.
    """
    chosen = [i for i, block in enumerate(binding.inputs) if is_integer(block.column_dtype) and block.examples is None]
    collections = collections_of(binding)
    if not chosen or len(collections) > len(ROWS) // 2:
        return binding
    step("which integers the model takes")
    ranges: dict[int, tuple[int, int] | None] = dict.fromkeys(chosen)
    few_rows, fewest_rows = trial_rows(binding, FEW_ROWS), trial_rows(binding, FEWEST_ROWS)
    many_rows = trial_rows(binding, ROWS, MANY_NUMBERS)

    def limited(ranges: dict[int, tuple[int, int] | None]) -> Binding:
        inputs = [replace(block, integers=ranges.get(i)) for i, block in enumerate(binding.inputs)]
        return replace(binding, inputs=tuple(inputs))

    def call(changed: dict[int, tuple[int, int] | None], all_rows: Sequence[int], numbers: str = NORMAL) -> None:
        candidate = limited({**ranges, **changed})
        rows = {collection: all_rows[2 * i] for i, collection in enumerate(collections)}
        with as_exported(), _WithoutNegativeIndices():
            candidate.call(module, Columns(candidate, rows, (), "cpu", numbers=numbers).inputs)

    def runs(changed: dict[int, tuple[int, int] | None], all_rows: Sequence[int] = few_rows, numbers: str = NORMAL) -> bool:
        try:
            call(changed, all_rows, numbers)
        except Exception:  # whatever the user's model throws
            return False
        return True

    def takes_all_of(some: Sequence[int], all_rows: Sequence[int]) -> bool:
        wide: dict[int, tuple[int, int] | None] = {i: all_of(binding.inputs[i].column_dtype) for i in some}
        return all(runs(wide, all_rows, numbers) for numbers in (SPECIAL, LARGE, NORMAL))

    def indices(number: int, others: int, i: int, all_rows: Sequence[int]) -> list[tuple[int, int | None]]:
        with _Indices() as seen:
            call({**dict.fromkeys(chosen, (others, others)), i: (number, number)}, all_rows)
        return seen.found

    def of_tables(i: int) -> tuple[int, int] | None:
        """The integers that stay within all tables that block i indexes: those whose index goes up by one where its number
        does, and whose sizes do not depend on the number of rows.
        """
        for first in FIRST:
            try:
                one, two = (indices(first, first, i, rows) for rows in (fewest_rows, fewest_rows[1:]))
                other = indices(first + 1, first, i, fewest_rows)
            except Exception:  # whatever the user's model throws
                continue
            same = len(one) == len(two) == len(other)
            ends = [
                (first - at, first - at + size - 1)
                for (size, at), (size_of_two, _), (_, next_at) in zip(one, two, other)
                if at is not None and next_at == at + 1 and size == size_of_two
            ]
            if same and ends:
                found = max(low for low, _ in ends), min(high for _, high in ends)
                return found if runs({**dict.fromkeys(chosen, (first, first)), i: found}, fewest_rows) else None
        return None

    if takes_all_of(chosen, fewest_rows):
        return limited({i: all_of(binding.inputs[i].column_dtype) for i in chosen})
    ranges |= {i: of_tables(i) for i in chosen}
    left, first = [i for i in chosen if ranges[i] is None], 0
    if left and not runs({}, many_rows):
        for first in FIRST:
            ranges |= dict.fromkeys(left, (first, first))
            if runs({}):
                break
        else:
            return binding  # it fails for another reason, which result_rows() tells
    for i in left:
        dtype = binding.inputs[i].column_dtype
        if takes_all_of([i], few_rows):
            ranges[i] = all_of(dtype)
        elif ranges[i] is not None and runs({i: None}, many_rows):
            ranges[i] = None
        elif ranges[i] is not None:
            high = next((b - 1 for b in LIMITS if b > first and runs({i: (first, b - 1)})), first)
            lowest = LIMITS if torch.iinfo(dtype).min < 0 else ()
            low = next((low for low in (*(1 - b for b in lowest), *range(first)) if runs({i: (low, high)})), first)
            ranges[i] = (low, high)
    return limited(ranges)


def takes_rows(module: "WithoutResults", columns: Binding, counts: Sequence[int]) -> bool:
    """Whether the model takes these numbers of rows of an example."""
    columns = with_examples(module, with_lengths(module, columns)[0])
    for count in counts:
        rows = {collection: count * (1 + 2 * collection) for collection in collections_of(columns)}
        try:
            with as_exported():
                columns.value(module, columns.tensors(Columns(columns, rows, (), "cpu", seed=count).inputs))
        except Exception:  # whatever the user's model throws
            return False
    return True


class WithoutResults:
    """A model that gives nothing, to try what it takes before its results are known."""

    def __init__(self, module: nn.Module) -> None:
        self.module, self.argument_names = module, argument_names(module)

    def __call__(self, *tensors: torch.Tensor, **named: torch.Tensor) -> tuple:
        self.module(*tensors, **named)
        return ()


def result_rows(module: Any, binding: Binding, device: str) -> list[dict[str, int]]:
    """The number of rows of each output: the position of the input collection that it follows, or a number."""
    collections = collections_of(binding)
    if not binding.inputs or not binding.outputs:
        raise InputError("the binding has no inputs or no outputs; expected at least one block of each")
    if len(collections) > len(ROWS) // 2:
        raise InputError(f"the binding has {len(collections)} input collections, at most {len(ROWS) // 2} are possible")
    step("how many rows the model gives")
    seen, few_rows = [], trial_rows(binding, FEW_ROWS)
    for first in (0, 1):
        rows = {collection: few_rows[first + 2 * i] for i, collection in enumerate(collections)}
        results = results_of(module, binding, Columns(binding, rows, (), device))
        dimension = [1 if block.is_transposed else 0 for block in binding.outputs]
        seen.append((rows, [result.shape[at] for result, at in zip(results, dimension)]))
    rules = []
    for i, block in enumerate(binding.outputs):
        (rows, counts), (other_rows, other_counts) = seen
        follows = [c for c in collections if rows[c] == counts[i] and other_rows[c] == other_counts[i]]
        if follows:
            rules.append({"collection": follows[0]})
        elif counts[i] == other_counts[i]:
            rules.append({"rows": counts[i]})
        else:
            raise InputError(
                f'block "{block.name}": the model gave {counts[i]} rows for inputs of {list(rows.values())} rows; '
                "expected the number of rows of one of the input collections, or always the same number"
            )
    return rules
