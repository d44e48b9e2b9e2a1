# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A program next to the runtime that its model was made for: which of them takes less time."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from tensoa.binding.columns import Columns
from tensoa.command import step
from tensoa.package.cases import Cases, rows_of
from tensoa.package.reference import Function, in_order

ROWS = (1, 16, 1000)
CLEARLY = 1.1  # times as long: two that are nearer to each other may change places from run to run
TURNS, SHORTEST, LONGEST = 5, 5e-3, 0.5  # of which the shortest counts; seconds of a turn, and of a call that is timed

Run = Callable[[Columns, list[int]], None]
Call = Callable[[], object]


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


def compared(run: Run, tried: Cases, framework: str) -> Compared | None:
    """Times calls of a program and of module.reference() in turns, on one thread, in time of the processor. None where that is
    not the runtime `framework`, does not run here, or fails. More rows are left out where a call with them would take more than
    LONGEST.
    """
    module = tried.module
    if getattr(module, "framework", None) != framework:
        return None
    step(f"timing it next to {framework}")
    shares: list[float] = []
    with _one_thread():
        try:
            reference = module.reference()
            longest, before = 0.0, 1
            for rows in ROWS if reference is not None else ():
                if longest * rows / before > LONGEST:
                    break
                ours, own = _seconds(*_calls(run, reference, tried, rows))
                longest, before = max(ours, own), rows
                shares.append(own / ours)
        except Exception:  # whatever the runtime throws, also of so many rows
            return None
    return Compared(framework, shares) if shares else None


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _calls(run: Run, reference: Function, tried: Cases, rows: int) -> tuple[Call, Call]:
    """Of the same numbers: columns for the program, tensors in row-major order for its runtime."""
    of_each = rows_of(tried.binding, rows)
    columns = Columns(tried.binding, of_each, tried.rules, "cpu", seed=rows, is_whole=True)
    given = in_order(tried.module, tried.binding, tried.binding.tensors(columns.inputs))
    return lambda: run(columns, [*of_each.values()]), lambda: reference(given)


def _seconds(*calls: Call) -> list[float]:
    """The time of a call of each, the shortest of some turns."""
    counts = []
    for call in calls:
        call()  # what is made at the first one
        counts.append(max(1, int(SHORTEST / max(1e-9, _of_turn(call, 1)))))
    turns = [[_of_turn(call, count) for call, count in zip(calls, counts)] for _ in range(TURNS)]
    return [min(times) for times in zip(*turns)]


def _of_turn(call: Call, count: int) -> float:
    before = time.thread_time()
    for _ in range(count):
        call()
    return (time.thread_time() - before) / count
