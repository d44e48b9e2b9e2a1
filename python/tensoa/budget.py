# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""How much time and memory a package may take to make. What takes more ends, so that another kind of program can be made."""

import contextlib
import os
import signal
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from tensoa.command import current_step, descendants
from tensoa.errors import InputError, Unsupported

SECONDS, MEMORY, PARAMETERS = 60.0, 1.5, 10_000_000  # CPU seconds, GiB, parameters of a model; a larger one gets more of both
PERIOD = 0.2  # seconds between two looks
AGAIN = 2.0  # seconds after which it is raised again, if something has swallowed it
SWALLOWING = ("__del__", weakref.__file__)  # names of functions and files: what is raised there is printed and lost
TICK, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


def used() -> tuple[float, float]:
    """(CPU seconds, GiB of memory) of this process and all that it started."""
    ended = os.times()
    seconds, pages = time.process_time() + ended.children_user + ended.children_system, _pages("self")
    for child in descendants():
        with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended
            numbers = (Path("/proc") / str(child) / "stat").read_text().rpartition(")")[2].split()
            seconds += sum(map(int, numbers[11:15])) / TICK
            pages += _pages(str(child))
    return seconds, pages * PAGE / (1 << 30)


def _pages(process: str) -> int:
    """The private pages of a process; pages of files, such as libraries, and shared pages do not count."""
    _, resident, shared = (Path("/proc") / process / "statm").read_text().split()[:3]
    return int(resident) - int(shared)


@dataclass(frozen=True)
class Budget:
    """`seconds` of CPU and `memory` in GiB, of this process and those that it starts, beyond what it had taken when this was
    made: one for all that is done for a package.
    """

    seconds: float
    memory: float
    before: tuple[float, float] = field(default_factory=used, compare=False)

    def __post_init__(self) -> None:
        """Raises InputError."""
        for name, value in (("seconds", self.seconds), ("memory", self.memory)):
            if not value > 0:
                raise InputError(f"{name}: got {value:g}, expected more than 0")


def budget_of(parameters: int, seconds: float | None, memory: float | None) -> Budget:
    """The limits that were given; the others in proportion to the number of parameters."""
    scale = max(1.0, parameters / PARAMETERS)
    return Budget(SECONDS * scale if seconds is None else seconds, MEMORY * scale if memory is None else memory)


class OverBudget(Unsupported):
    """Raised by the block of within() that is over its budget."""


class _Over(BaseException):
    """Passes what handles the errors of models."""


@contextlib.contextmanager
def within(budget: Budget) -> Iterator[None]:
    """Ends the block, with OverBudget, where no more is left of the budget. Outside of the main thread nothing is limited: only
    that one can be interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    watch = _Watch(budget)
    before = signal.signal(signal.SIGALRM, watch.interrupt)
    watch.thread.start()
    try:
        try:
            yield
        finally:
            watch.done.set()
    except _Over as over:
        watch.done.set()  # which a second one, while the first was under way, may have kept from being set
        raise OverBudget(str(over)) from None
    finally:
        watch.thread.join()
        signal.signal(signal.SIGALRM, before)


class _Watch:
    def __init__(self, budget: Budget) -> None:
        self.budget, self.reason = budget, ""
        self.done, self.is_raised = threading.Event(), False
        self.thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        wait = 0.0  # a budget that is used up ends immediately
        while not self.done.wait(wait):
            wait = AGAIN if self.is_raised else PERIOD
            seconds, memory = (now - before for now, before in zip(used(), self.budget.before))
            if seconds > self.budget.seconds:
                self.reason = f"its time, more than {self.budget.seconds:g} s of CPU (--seconds)"
            elif memory > self.budget.memory:
                self.reason = f"its memory, more than {self.budget.memory:g} GiB (--memory)"
            if self.reason:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)

    def interrupt(self, _: int, frame: FrameType | None) -> None:
        """Raises _Over, unless it would be lost here: it comes again then."""
        at: FrameType | None = frame
        while at is not None:
            if at.f_code.co_name in SWALLOWING or at.f_code.co_filename in SWALLOWING:
                return
            at = at.f_back
        if not self.done.is_set():
            self.is_raised = True
            raise _Over(f"{self.reason}, at the step: {current_step()}")
