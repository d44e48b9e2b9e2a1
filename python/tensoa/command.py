# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What all commands share: errors of the user's input, and files that are whole or absent."""

import contextlib
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import torch


class InputError(Exception):
    """Wrong input or use. The message is one line: what, got, expected."""


def _temporary_beside(path):
    """An empty file in the folder of `path`, which is made where it is missing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise InputError(f"{path}: cannot write: {error.strerror}") from error
    os.close(handle)
    return Path(temporary)


@contextlib.contextmanager
def replacing(path):
    """Yields the name of a temporary file beside `path`, renamed to `path` at the end.

    When the block raises, the temporary is removed and `path` is as it was.
    Raises InputError where it cannot be written.
    """
    path = Path(path).resolve()  # a link stays a link
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: cannot write: it is not a regular file")
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


def check_writable(path):
    """Raises InputError now, before long work, where `path` could not be written after it."""
    _temporary_beside(Path(path)).unlink()


def check_device(name):
    """Raises InputError where torch has no such device."""
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device: got {name}, expected one that is here ({str(error).splitlines()[0]})") from error


@contextlib.contextmanager
def working(what):
    """Draws `what` and the seconds so far on stderr while the block runs, where that is a terminal. Yields print."""
    if not sys.stderr.isatty():
        yield print
        return
    done, start = threading.Event(), time.monotonic()

    def clear():
        print("\r\033[K", end="", file=sys.stderr, flush=True)

    def say(line):
        clear()
        print(line, flush=True)

    def draw():
        while not done.wait(0.2):
            print(f"\r{what}: {time.monotonic() - start:.0f} s", end="", file=sys.stderr, flush=True)

    drawing = threading.Thread(target=draw)
    drawing.start()
    try:
        yield say
    finally:
        done.set()
        drawing.join()
        clear()


def run(command):
    """Runs `command()`; returns the exit status: 0, or 2 after one line on stderr for wrong input."""
    try:
        command()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def first_line(error):
    """What an error says, short enough for a line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]
