# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Common parts of all commands: errors of the user's input, and files that are whole or absent."""

import contextlib
import glob
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path

from tensoa.errors import InputError

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # what ends a command from outside


def _temporary_beside(path: Path) -> Path:
    """An empty file in the folder of `path`, which is made where it is missing. Raises InputError."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: cannot write: it is not a regular file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise InputError(f"{path}: cannot write: {error.strerror}") from error
    os.close(handle)
    return Path(temporary)


@contextlib.contextmanager
def replacing(path: str | PathLike) -> Iterator[str]:
    """Yields the name of a temporary file next to `path`, renamed to `path` at the end.

    When the block raises, the temporary is removed and `path` is as it was.
    Raises InputError where it cannot be written.
    """
    path = Path(path).resolve()  # a link stays a link
    temporary = _temporary_beside(path)
    try:
        yield str(temporary)
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # mkstemp makes it private
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot write: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(path: str | PathLike) -> None:
    """Raises InputError now, before long work, where `path` could not be written after it."""
    _temporary_beside(Path(path)).unlink()


def check_device(name: str) -> None:
    """Raises InputError where torch has no such device."""
    import torch  # only where a device is requested: other commands need none

    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device: got {name}, expected one that is here ({str(error).splitlines()[0]})") from error


class _Progress:
    """The step of long work, on stderr: drawn again and again on a terminal; elsewhere one line for each step that takes
    longer than PATIENCE.
    """

    PATIENCE = 2  # seconds

    def __init__(self, what: str) -> None:
        self.what, self.start, self.since = what, time.monotonic(), time.monotonic()
        self.step: str | None = None
        self.is_terminal = sys.stderr.isatty()
        self.printed: float | None = None  # the beginning of the step that has its line
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._tell, daemon=True)

    def _tell(self) -> None:
        while not self.done.wait(0.2):
            now, step, since = time.monotonic(), self.step, self.since
            if self.is_terminal:
                text = f"{self.what}{': ' + step if step else ''}, {now - self.start:.0f} s"
                print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
            elif step and since != self.printed and now - since > self.PATIENCE:
                self.printed = since
                print(f"{self.what}: {step} …", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.is_terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def say(self, line: str) -> None:
        self.clear()
        print(line, flush=True)


_working: list[_Progress] = []  # the _Progress of now, if any


@contextlib.contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Tells on stderr what the block is at (step()) while it runs. Yields a function that prints a line."""
    progress = _Progress(what)
    progress.thread.start()
    _working.append(progress)
    try:
        yield progress.say
    finally:
        _working.pop()
        progress.done.set()
        progress.thread.join()
        progress.clear()


_steps = [""]  # the last one


def step(text: str) -> None:
    """Names the next step of the long work; shown within working()."""
    _steps[0] = text
    for progress in _working:
        progress.step, progress.since = text, time.monotonic()


def current_step() -> str:
    return _steps[0]


def descendants(children: Callable[[int], list[int]] | None = None) -> list[int]:
    """The processes that this one started, and those that they did. `children`: of a process; without it, those that the kernel
    lists, which takes little time; one may be missing where another has just ended.
    """
    if children is None:
        children = _children if Path("/proc/thread-self/children").exists() else _children_of_all()
    found = [os.getpid()]
    for process in found:
        found += children(process)
    return found[1:]


def _children(process: int) -> list[int]:
    found: list[int] = []
    for thread in glob.iglob(f"/proc/{process}/task/*/children"):
        with contextlib.suppress(OSError):  # it has ended
            found += map(int, Path(thread).read_text().split())
    return found


def _children_of_all() -> Callable[[int], list[int]]:
    """By the parents of all processes, which takes milliseconds."""
    children: dict[int, list[int]] = {}
    for file in glob.iglob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            parent = int(Path(file).read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(file.split("/")[2]))
    return lambda process: children.get(process, [])


def _end_children() -> None:
    """Compilers above all."""
    for process in descendants(_children_of_all()):
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)


@contextlib.contextmanager
def _ending_whole() -> Iterator[None]:
    """Ends by SIGINT, SIGTERM or SIGHUP leave no process and no temporary file behind. What was ignored stays ignored, as
    nohup and shells need.
    """

    def end(number: int, frame: object) -> None:
        for other in ENDING:
            signal.signal(other, signal.SIG_IGN)
        _end_children()  # first: a compiler whose parent is gone could not be found
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heeded = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(command: Callable[[], object]) -> int:
    """Runs `command()`; returns the exit status: 0, or 2 after one line on stderr for wrong input. Ended by a signal, the
    process leaves with status 128 + its number, no process and no temporary file behind it.
    """
    try:
        with _ending_whole(), warnings.catch_warnings():
            # Torch 2.15 says it to every user; before it did to developers alone (DeprecationWarning).
            warnings.filterwarnings("ignore", r"`torch\.jit\.\w+` is deprecated", FutureWarning)
            command()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
