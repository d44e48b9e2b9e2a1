# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The domain of a model: ranges of its columns in which made-up rows give finite numbers.

Nothing is read from the model's operators: it is called. A call is the better, the more of its results are finite; of equal
ones, the more of what all operations on the way give, so that one column of a logarithm is found among many. Ranges are tried
for all columns together, for each block and for each column, then parts of the best range.
"""

import math
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from tensoa.binding.blocks import Binding, Block
from tensoa.binding.columns import EVERYWHERE, FEW_ROWS, Columns, Range, all_of, collections_of, is_integer, trial_rows
from tensoa.binding.model import as_exported, with_examples
from tensoa.command import step

ENOUGH = 0.25  # the share of rows in which each plane of the results is finite: nothing is searched for
GOOD = 0.75  # the same, of ranges that are searched for: no better ones are
HARDLY_ANY = 0.05  # a smaller share of finite numbers checks nothing
INTEGERS = ((0, 63), (1, 63), (-63, -1))
_POSITIVE: tuple[Range, ...] = ((0, math.inf), (1, math.inf), (64, math.inf), (4096, math.inf))
RANGES: tuple[Range, ...] = (
    *_POSITIVE,
    *((-high, -low) for low, high in _POSITIVE),
    *((-1, 1), (0, 1), (-1, 0), (-1 / 16, 1 / 16)),
)
_OCTAVES: tuple[Range, ...] = tuple((2.0**k, 2.0 ** (k + 1)) for k in range(-6, 14))
NARROW_RANGES: tuple[Range, ...] = (*_OCTAVES, *((-high, -low) for low, high in _OCTAVES))
PARTS = 4  # of a range that are tried, again and again
MOST_CALLS, MOST_SECONDS = 1000, 15.0  # of the CPU, of 60 of tensoa.budget; what is best until then is taken
_NAMED = 5  # columns in a line for people


class _Results(TorchDispatchMode):
    """Of the floats that operations of torch give: how many there are, how many are finite, and whether one of the operations
    gives NaN alone.
    """

    numbers, finite, has_only_nan = 0, 0, False

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        results = function(*args, **(kwargs or {}))
        for result in results if isinstance(results, (tuple, list)) else [results]:
            if isinstance(result, torch.Tensor) and result.is_floating_point() and result.numel():
                self.numbers += result.numel()
                self.finite += int(result.isfinite().sum())
                self.has_only_nan |= bool(result.isnan().all())
        return results


class _Call:
    """A call of the model on made-up rows: of each plane of each output block the share of rows that are finite. Of integers
    and truth values a choice among NaN alone counts as none.
    """

    def __init__(self, module: Any, binding: Binding) -> None:
        self.binding = binding
        rows = dict(zip(collections_of(binding), trial_rows(binding, FEW_ROWS)))
        seen = _Results()
        self.shares: list[torch.Tensor] = []
        try:
            columns = Columns(binding, rows, (), "cpu")
            with as_exported(), seen:
                results = binding.call(module, columns.inputs)
            for block, result in zip(binding.outputs, results):
                planes = block.planes(result)
                of_choice = torch.full((len(planes),), 0.0 if seen.has_only_nan else 1.0)
                is_float = planes.is_floating_point() and planes.shape[1] > 0
                self.shares.append(planes.isfinite().float().mean(1) if is_float else of_choice)
        except Exception:  # whatever the user's model throws: result_rows() says it
            self.shares = []
        self.inside = seen.finite / max(1, seen.numbers)

    @property
    def least(self) -> float:
        return min((float(share.min()) for share in self.shares), default=0.0)

    @property
    def order(self) -> tuple[float, float]:
        """The larger, the better."""
        return (float(torch.cat(self.shares).mean()) if self.shares else -1.0, self.inside)


_known: weakref.WeakKeyDictionary[nn.Module, tuple[Binding, tuple[Binding, list[str]]]] = weakref.WeakKeyDictionary()


def made_up(module: nn.Module, binding: Binding) -> tuple[Binding, list[str]]:
    """with_domain() of with_examples(). For the same binding what was found before: a model whose package takes too long is
    made a program that runs just in time next.
    """
    of, found = _known.get(module, (None, None))
    if found is None or of is not binding:
        found = with_domain(module, with_examples(module, binding))
        _known[module] = binding, found
    return found


def with_domain(module: Any, binding: Binding) -> tuple[Binding, list[str]]:
    """(the binding, lines for people). Its blocks of made-up numbers have ranges in which the model gives finite numbers, where
    it gives hardly any without; the lines say which, and which columns of the results stay without a check.
    """
    first = _Call(module, binding)
    if not first.shares or first.least >= ENOUGH:
        return binding, []
    step("which numbers the model takes")
    best, is_cut = _searched(module, first)
    lines = [*_lines_of_ranges(binding, best.binding), *_lines_of_unchecked(best)]
    if is_cut:
        limits = f"{MOST_CALLS} calls or {MOST_SECONDS:.0f} s of CPU"
        lines.append(
            f"the search for rows in which the model gives finite numbers ended after {limits}; give some with --example"
        )
    return best.binding, lines


def _searched(module: Any, first: _Call) -> tuple[_Call, bool]:
    """The best call, and whether a limit ended the search."""
    best, left, end = first, MOST_CALLS, time.thread_time() + MOST_SECONDS

    def may_try() -> bool:
        return left > 0 and time.thread_time() < end

    def tried(change: Callable[[Block], Block], at: tuple[int, ...]) -> _Call:
        nonlocal left
        left -= 1
        blocks = (change(block) if i in at else block for i, block in enumerate(best.binding.inputs))
        return _Call(module, replace(best.binding, inputs=tuple(blocks)))

    def improve(changes: list[tuple[Callable[[Block], Block], tuple[int, ...]]]) -> bool:
        nonlocal best
        calls = (tried(*change) for change in changes if may_try())
        found = max(calls, key=lambda call: call.order, default=best)
        is_better = found.order > best.order
        best = found if is_better else best
        return is_better

    floats, integers = _made_up(first.binding)
    places = _places(first.binding, floats)
    for ranges in (RANGES, NARROW_RANGES):
        for at, plane in places:
            if best.least < GOOD:
                improve([(_ranged(one, plane), at) for one in ranges])
        for i in integers:
            if best.least < GOOD:
                improve([(_with_integers(one), (i,)) for one in INTEGERS])
        for at, plane in places:
            while best.least < GOOD and improve([(_ranged(one, plane), at) for one in _parts(best.binding, at, plane)]):
                pass
        if best.least >= ENOUGH:
            break
    for at, plane in places:  # a range that does not improve the result is left out
        if plane is not None and may_try() and _range_of(best.binding.inputs[at[0]], plane) != EVERYWHERE:
            other = tried(_ranged(EVERYWHERE, plane), at)
            best = other if other.order >= best.order else best
    return best, not may_try()


def _made_up(binding: Binding) -> tuple[list[int], list[int]]:
    """The positions of the blocks of floats, and of those of integers of any size, that have no examples."""
    made_up = [(i, block) for i, block in enumerate(binding.inputs) if block.examples is None]
    floats = [i for i, block in made_up if block.column_dtype.is_floating_point]
    wide = [
        i
        for i, block in made_up
        if is_integer(block.column_dtype) and block.column_dtype.is_signed and block.integers == all_of(block.column_dtype)
    ]
    return floats, wide


def _places(binding: Binding, floats: list[int]) -> list[tuple[tuple[int, ...], int | None]]:
    """(blocks, plane or None for all of them): what may have a range, the largest first."""
    planes = [((i,), plane) for i in floats for plane in range(len(binding.inputs[i].places))]
    blocks = [((i,), None) for i in floats] if len(floats) > 1 else []
    return [*([(tuple(floats), None)] if len(planes) > 1 else []), *blocks, *planes]


def _ranged(wanted: Range, plane: int | None) -> Callable[[Block], Block]:
    def change(block: Block) -> Block:
        old = block.ranges or (EVERYWHERE,) * len(block.places)
        return replace(block, ranges=tuple(wanted if plane in (None, i) else one for i, one in enumerate(old)))

    return change


def _with_integers(limits: tuple[int, int]) -> Callable[[Block], Block]:
    return lambda block: replace(block, integers=limits)


def _range_of(block: Block, plane: int) -> Range:
    return block.ranges[plane] if block.ranges else EVERYWHERE


def _parts(binding: Binding, at: tuple[int, ...], plane: int | None) -> list[Range]:
    """Of a range with two ends."""
    if not at:
        return []
    low, high = _range_of(binding.inputs[at[0]], plane or 0)
    width = (high - low) / PARTS
    return [(low + i * width, low + (i + 1) * width) for i in range(PARTS)] if math.isfinite(width) else []


# ---- lines for people


def _lines_of_ranges(before: Binding, after: Binding) -> Iterator[str]:
    names: dict[str, list[str]] = {}
    for old, block in zip(before.inputs, after.inputs):
        for plane in range(len(block.places)):
            if block.integers != old.integers:
                names.setdefault("from {} to {}".format(*block.integers or ()), []).append(block.plane_name(plane))
            elif _range_of(block, plane) != EVERYWHERE:
                names.setdefault(_text(_range_of(block, plane)), []).append(block.plane_name(plane))
    if names:
        found = "; ".join(f"{_some(columns)} {text}" for text, columns in names.items())
        yield f"made-up rows are where the model gives finite numbers: {found}"


def _lines_of_unchecked(call: _Call) -> Iterator[str]:
    has_examples = any(block.examples is not None for block in call.binding.inputs)
    rows = "the rows of --example" if has_examples else "all rows that were made up"
    for block, shares in zip(call.binding.outputs, call.shares):
        names = [block.plane_name(i) for i, share in enumerate(shares.tolist()) if share < HARDLY_ANY]
        if names:
            yield (
                f'not checked: block "{block.name}", {_some(names)}: the model gives hardly any finite numbers for {rows}; '
                f"export with {'other ' if has_examples else ''}--example, rows that the model is made for"
            )


def _some(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} others" if len(names) > _NAMED else "")


def _text(one: Range) -> str:
    low, high = one
    if math.isinf(high):
        return f"above {low:g}"
    return f"below {high:g}" if math.isinf(low) else f"from {low:g} to {high:g}"
