# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A program next to the runtime that its model was made for: which of them takes less time."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from tensoa.binding.columns import Columns
from tensoa.command import step
from tensoa.errors import InputError, first_line
from tensoa.package.cases import Cases, rows_of
from tensoa.package.reference import Function, in_order

ROWS = (1, 16, 1000)
CALLED = sorted({*ROWS, *(1 << i for i in range(10))})  # numbers of rows: a call shows whether twice its rows can be called
CLEARLY = 1.1  # times as long: two that are nearer to each other may change places from run to run
TURNS = 5  # of which the shortest counts
SHORTEST = 5e-3  # seconds: a turn repeats the call for at least this time
LONGEST = 0.5  # seconds: after a call that takes more, no more rows are called

Call = Callable[[], object]


class Program(Protocol):
    """A program that runs here."""

    def prepared(self, columns: Columns, rows: Sequence[int]) -> Callable[[], None]: ...


class NotTimed(Exception):
    """Why a runtime is not timed."""


@dataclass(frozen=True)
class Compared:
    """`shares`: the time of the runtime `framework` over the time of the program, of calls with the first of ROWS."""

    framework: str
    shares: Sequence[float]

    def is_slower(self) -> bool:
        """Whether the program is clearly slower in the geometric mean, and with no number of rows clearly faster."""
        return max(self.shares) <= CLEARLY and math.prod(self.shares) ** (1 / len(self.shares)) * CLEARLY <= 1

    def __str__(self) -> str:
        shares = ", ".join(f"{share:.2f}" for share in self.shares)
        return f"{self.framework} takes {shares} of its time at {', '.join(map(str, ROWS[: len(self.shares)]))} rows"


def compared(program: Program, tried: Cases, framework: str) -> Compared:
    """Times calls of a program and of module.reference() in turns, on one thread, in time of the processor, with those of ROWS
    that take at most LONGEST. Raises NotTimed where the reference is not the runtime `framework`, cannot be called, or takes
    more with the first; and what the program raises.
    """
    step(f"timing it next to {framework}")
    shares: list[float] = []
    with _one_thread():
        reference = _reference(tried, framework)
        for rows in CALLED:
            calls = _calls(program, reference, tried, rows)
            if any(_of_turn(call, 1) > LONGEST for call in calls):
                break
            if rows in ROWS:
                ours, own = _seconds(*calls)
                shares.append(own / ours)
    if not shares:
        raise NotTimed(f"a call with {ROWS[0]} row takes more than {LONGEST:g} s")
    return Compared(framework, shares)


def _reference(tried: Cases, framework: str) -> Function:
    """A call of the runtime. Raises NotTimed."""
    its = getattr(tried.module, "framework", "the model itself")
    if its != framework:
        raise NotTimed(f"the package is compared with {its}, not with {framework}")
    try:
        found = tried.module.reference()
    except InputError as error:
        raise NotTimed(first_line(error)) from error
    if found is None:
        raise NotTimed(f"{framework} is not installed")

    def reference(tensors: Sequence[torch.Tensor]) -> object:
        try:
            return found(tensors)
        except Exception as error:  # whatever the runtime throws
            raise NotTimed(f"{framework} fails: {first_line(error)}") from error

    return reference


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _calls(program: Program, reference: Function, tried: Cases, rows: int) -> tuple[Call, Call]:
    """Of the same columns, which the runtime gets as tensors in row-major order: that copy is part of its call."""
    binding, of_each = tried.binding, rows_of(tried.binding, rows)
    columns = Columns(binding, of_each, tried.rules, "cpu", seed=rows, is_whole=True)
    blocks = [block.tensor(argument) for block, argument in zip(binding.inputs, columns.inputs)]
    given = in_order(tried.module, binding, blocks)
    return program.prepared(columns, [*of_each.values()]), lambda: reference([block.contiguous() for block in given])


def _seconds(*calls: Call) -> list[float]:
    """The time of a call of each, the shortest of some turns."""
    counts = []
    for call in calls:
        counts.append(max(1, int(SHORTEST / max(1e-9, _of_turn(call, 1)))))
    turns = [[_of_turn(call, count) for call, count in zip(calls, counts)] for _ in range(TURNS)]
    return [min(times) for times in zip(*turns)]


def _of_turn(call: Call, count: int) -> float:
    before = time.thread_time()
    for _ in range(count):
        call()
    return (time.thread_time() - before) / count
