# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The calls that are tried with a model, and the model's results."""

import contextlib
import functools
from collections.abc import Container, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from tensoa.binding import Binding, Block
from tensoa.binding.columns import (
    LARGE,
    NORMAL,
    SMALL,
    SPECIAL,
    Columns,
    all_of,
    as_double,
    collections_of,
    is_integer,
    rows_by,
    trial_rows,
)
from tensoa.binding.model import as_exported, results_of
from tensoa.binding.real_rows import EQUAL, REAL_ROWS, TIED
from tensoa.errors import InputError
from tensoa.package.float64 import QUANTISING, SHORT, Shaken, in_double, near_in_double, results_in_double, rounded_otherwise

MOST_ROWS = 1000
FEW_ROWS, FEWEST_ROWS = 33, 5
MOST_BYTES = 64 << 20  # of one tensor in float64 that a model makes on its way: fewer rows are tried of models that make more
MOST_MADE = 1 << 26  # numbers of all tensors together that a call makes: fewer rows are tried of models that make more
MOST_WORK = 2_000_000_000  # multiplications and additions of products in a call: fewer rows are tried of models that have more
# 0 rows: of models with a fixed number of result rows; of others nothing runs then.
KINDS = (NORMAL, SMALL, LARGE, SPECIAL, *REAL_ROWS)
CASES = (*((NORMAL, rows) for rows in (0, 1, 2, FEW_ROWS, MOST_ROWS)), *((kind, 100) for kind in KINDS[1:]))
WITH_EQUAL_ROWS = (SPECIAL, EQUAL, TIED)  # any of which may be chosen
#: Operators that choose among elements, and which argument says the dimension.
ORDERS = {"topk": 2, "kthvalue": 2, "sort": 1, "argmin": 1, "argmax": 1, "min": 1, "max": 1}
DRAWS = 4  # of roundings, which say how much such a row may change


class Case:
    """Columns of one call, and what the model makes of them: planes in its own precision and in float64.

    `short`: the shortest floats inside, if they are short; `epsilon`: their unit, where the model cannot say in float64 how
    far it is off.
    """

    short: torch.dtype | None = None
    epsilon, is_quantised = 0.0, False

    def __init__(
        self,
        module: Any,
        exact: Any,
        near: Any,
        binding: Binding,
        rules: list[dict],
        numbers: str,
        count: int,
        rows: dict[int, int],
        **options: Any,
    ) -> None:
        self.numbers, self.count, self.rows = numbers, count, rows
        self.has_floats = any(block.column_dtype.is_floating_point for block in binding.inputs)
        options = {"seed": count, "is_misaligned": count % 2 == 1, "numbers": numbers, **options}
        columns = Columns(binding, rows, rules, "cpu", **options)
        self._columns: Columns | None = columns
        self._again = lambda: Columns(binding, rows, rules, "cpu", **options)
        self._module, self._binding = module, binding
        results = results_of(module, binding, columns)
        self.eager = [block.planes(result) for block, result in zip(binding.outputs, results)]
        self.exact = results_in_double(exact, binding, columns, as_double) or self.eager
        self.near: list[torch.Tensor] | None = None  # in float64 too, of inputs and weights that are rounded otherwise
        if numbers != NORMAL:
            self.near = results_in_double(near, binding, columns, rounded_otherwise, seed=1)

    def released(self) -> Columns:
        """The columns, which are forgotten here, and made again for another program: their planes lie far apart."""
        columns, self._columns = self._columns or self._again(), None
        return columns

    def rounded_otherwise(self) -> Iterator[list[torch.Tensor] | None]:
        """The results in float64, of inputs and weights that are rounded otherwise in each draw."""
        for seed in range(1, DRAWS + 1):
            convert = functools.partial(rounded_otherwise, seed=seed)
            yield results_in_double(near_in_double(self._module, seed), self._binding, self._again(), convert, seed)

    @functools.cached_property
    def shaken(self) -> list[torch.Tensor] | None:
        """The results where arithmetic is a last place off; None where the model fails then."""
        try:
            with as_exported(), Shaken(self.count):
                results = self._binding.call(self._module, self._again().inputs)
        except Exception:  # an index that a comparison gives
            return None
        return [block.planes(result) for block, result in zip(self._binding.outputs, results)]

    def __str__(self) -> str:
        return f"{self.count} rows" + ("" if self.numbers == NORMAL else f" of {self.numbers} numbers")


class Cases:
    """The calls that are tried with a model. The model's results are calculated once, for all programs."""

    def __init__(self, module: Any, binding: Binding, rules: list[dict]) -> None:
        self.module, self.binding, self.rules = module, binding, rules
        self._known: dict[tuple, Case] = {}

    @functools.cached_property
    def _seen(self) -> "_Seen":
        return _seen(self.module, self.binding, self.rules)

    def of(self, most: int = MOST_ROWS, kinds: Container[str] = KINDS, **options: Any) -> Iterator[Case]:
        """The calls with at most `most` rows of the first collection, with these kinds of numbers."""
        binding, seen = self.binding, self._seen
        exact = near = None  # the model in float64, twice: much memory, where a case is new
        drawn = [block for block in binding.inputs if block.examples is None]
        has_floats = any(block.column_dtype.is_floating_point for block in drawn)
        has_sizes = has_floats or any(_takes_all(block) for block in drawn)
        costs = ((MOST_BYTES, 8 * seen.numbers), (MOST_MADE, seen.made), (MOST_WORK, seen.work))
        fitting = (limit * seen.rows // max(1, used) for limit, used in costs)
        most = min(most, max(FEW_ROWS if seen.orders_rows else FEWEST_ROWS, min(fitting)))
        done = set()
        for numbers, count in CASES:
            count = min(count, most)
            rows = rows_of(binding, count)
            if count == 0 and not all(block.column_dtype.is_floating_point for block in binding.inputs):
                continue  # an index into nothing
            if (
                numbers not in kinds
                or (numbers, count) in done
                or sum(rows_by(self.rules, rows)) == 0
                or (numbers != NORMAL and not has_sizes)
                or (numbers in REAL_ROWS and not has_floats)
                or (numbers in WITH_EQUAL_ROWS and seen.orders_rows)
            ):
                continue
            done.add((numbers, count))
            key = (numbers, count, *sorted(options.items()))
            try:
                if key not in self._known:
                    if exact is None:
                        exact, near = in_double(self.module), near_in_double(self.module)
                    self._known[key] = case = Case(
                        self.module, exact, near, binding, self.rules, numbers, count, rows, **options
                    )
                    case.short, case.is_quantised = seen.short, seen.is_quantised
                    if case.short is not None and case.exact is case.eager:
                        case.epsilon = torch.finfo(case.short).eps
                yield self._known[key]
            except InputError:
                if numbers == NORMAL and not (seen.orders_rows and count < FEW_ROWS):
                    raise  # a model need not take every number, nor fewer rows than it chooses


def cases_of(module: Any, binding: Binding, rules: list[dict], most: int = MOST_ROWS, **options: Any) -> Iterator[Case]:
    """The calls that are tried with a model; see Cases."""
    return Cases(module, binding, rules).of(most, **options)


def rows_of(binding: Binding, count: int) -> dict[int, int]:
    """Of each collection, `count` of the first and others of the rest."""
    return {collection: count * (1 + 2 * collection) for collection in collections_of(binding)}


class _Seen(TorchDispatchMode):
    """Of the tensors that operations of torch give: the numbers in the largest, those `made` in all of them, and the shortest
    of short floats; the `work` of products, convolutions and attention; and whether numbers are quantised, so that one of two
    neighbours may be as good as the other, and whether an operation chooses among all rows for each row. `rows`: of the first
    collection, `counts`: of all.
    """

    numbers, made, work, is_quantised, orders_rows = 0, 0, 0, False, False
    short: torch.dtype | None = None

    def __init__(self, rows: int, counts: Container[int]) -> None:
        super().__init__()
        self.rows, self.counts = rows, counts

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        results = function(*args, **(kwargs or {}))
        self.is_quantised = self.is_quantised or function.namespace == QUANTISING
        if function.overloadpacket in flop_registry:
            self.work += flop_registry[function.overloadpacket](*args, **(kwargs or {}), out_val=results)
        at = ORDERS.get(function.overloadpacket.__name__)
        if at is not None and args[0].dim():
            dim = args[at] if len(args) > at and isinstance(args[at], int) else -1
            sizes = list(args[0].shape)
            self.orders_rows |= sizes.pop(dim) in self.counts and any(size in self.counts for size in sizes)
        for result in results if isinstance(results, (tuple, list)) else [results]:
            if isinstance(result, torch.Tensor):
                self.numbers, self.made = max(self.numbers, result.numel()), self.made + result.numel()
                if result.dtype in SHORT:
                    self.short = max(self.short or result.dtype, result.dtype, key=lambda dtype: torch.finfo(dtype).eps)
        return results


def _seen(module: Any, binding: Binding, rules: list[dict]) -> _Seen:
    """Observes the module in a call with few rows."""
    (few,) = trial_rows(binding, (FEW_ROWS,))[:1]
    rows = rows_of(binding, few)
    columns = Columns(binding, rows, rules, "cpu", seed=FEW_ROWS)
    seen = _Seen(few, set(rows.values()))
    with contextlib.suppress(Exception), torch.no_grad(), as_exported(), seen:  # whatever a model throws: a case says it
        binding.call(module, columns.inputs)
    return seen


def _takes_all(block: Block) -> bool:
    return is_integer(block.column_dtype) and block.integers == all_of(block.column_dtype)
