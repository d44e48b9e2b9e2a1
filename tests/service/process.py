# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A child process that cannot outlive the program that started it, and the ports it listens on."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

# Kills the process group and removes its shared memory when the other end of its stdin is closed, however that program ended.
GUARD = 'read -r _; kill -s KILL -- "-$1" 2>/dev/null; test -z "$2" || rm -f /dev/shm/"$2"*'


class ServiceProblem(Exception):
    """A server of the test bench did not do what was expected of it."""


def free_port() -> int:
    """Returns a port of 127.0.0.1 that is free now, below the ports that the kernel gives to outgoing connections."""
    draw = random.SystemRandom()
    for _ in range(1000):
        port = draw.randrange(20000, 32000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                return port
    raise ServiceProblem("no free port on 127.0.0.1 between 20000 and 32000")


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 30.0, interval: float = 0.05) -> None:
    """Waits until `condition` returns True; ServiceProblem after `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise ServiceProblem(f"{what}: not within {seconds:g} s")
        time.sleep(interval)


class Process:
    """A program with a log file, in a process group of its own; a context manager that starts it and stops it.

    Parameters: `shared_memory` is the prefix of names in /dev/shm that belong to the process; `stop_timeout` is in seconds.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        folder: Path,
        env: Mapping[str, str] | None = None,
        shared_memory: str = "",
        stop_timeout: float = 10.0,
    ):
        self.name = name
        self.command = [str(part) for part in command]
        self.log = folder / f"{name}.log"
        self.env = env
        self.shared_memory = shared_memory
        self.stop_timeout = stop_timeout
        self._child: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    def is_ready(self) -> bool:
        """Whether the process can be used; classes of servers ask the server."""
        return True

    @property
    def pid(self) -> int:
        if self._child is None:
            raise ServiceProblem(f"{self.name} does not run")
        return self._child.pid

    def is_running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def start(self) -> None:
        """Starts the program and waits until it is ready. The log of an earlier run is continued."""
        with open(self.log, "ab") as log:
            self._child = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.env,
                start_new_session=True,
            )
        self._guard = subprocess.Popen(
            ["sh", "-c", GUARD, "guard", str(self.pid), self.shared_memory],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            wait_until(self._is_ready_or_gone, f"{self.name} is not ready")
        except BaseException:
            self.kill()
            raise
        if not self.is_running():
            status = self._child.returncode
            self._clean()
            raise ServiceProblem(f"{self.name} ended with status {status}; the end of its log:\n{self.log_tail()}")

    def _is_ready_or_gone(self) -> bool:
        return not self.is_running() or self.is_ready()

    def log_tail(self, lines: int = 20) -> str:
        """Returns the last lines of the log."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def signal(self, number: int) -> None:
        """Sends a signal to the process alone, not to its children."""
        if self.is_running():
            os.kill(self.pid, number)

    def signal_group(self, number: int) -> None:
        """Sends a signal to the process and all its children."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def stop(self) -> float:
        """Sends SIGTERM, waits, and kills the process if it does not end. Returns the seconds it took."""
        start = time.monotonic()
        if self._child is not None:
            self.signal_group(signal.SIGCONT)
            self.signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(self.stop_timeout)
            self.kill()
        return time.monotonic() - start

    def kill(self) -> None:
        """Kills the process and its children with SIGKILL, and removes their shared memory."""
        if self._child is not None:
            self.signal(signal.SIGKILL)
            self._child.wait()
            self._clean()

    def _clean(self) -> None:
        self.signal_group(signal.SIGKILL)
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()
        if self.shared_memory:
            for region in Path("/dev/shm").glob(f"{self.shared_memory}*"):
                region.unlink(missing_ok=True)
        self._child = self._guard = None

    def pause(self) -> None:
        """Stops the process and its children with SIGSTOP: its connections stay open, and nothing answers."""
        self.signal_group(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal_group(signal.SIGCONT)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
