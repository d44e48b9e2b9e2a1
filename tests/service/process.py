# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A child process that cannot outlive the program that started it, and the ports it listens on."""

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

# Waits until the other end of its stdin is closed, however that program ended. Then it kills the process group and removes its
# shared memory and its folder. dash does not accept `kill -9 -- -PGID`.
GUARD = 'read -r _; kill -s KILL -- "-$1"; test -z "$2" || rm -f /dev/shm/"$2"*; test -z "$3" || rm -rf "$3"'


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


def states_of_group(group: int) -> set[str]:
    """Letters of /proc for the threads of the processes of `group`."""
    states = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if int(_state_and_group(stat)[1]) == group:
                states |= {_state_and_group(thread)[0] for thread in stat.parent.glob("task/*/stat")}
    return states


def _state_and_group(stat: Path) -> tuple[str, str]:
    state, _, group = stat.read_text().rpartition(")")[2].split()[:3]  # the name before may hold spaces
    return state, group


def is_group_alive(group: int) -> bool:
    """Whether a process of `group` has not ended yet; one that no process has waited for (a zombie) has ended."""
    return not states_of_group(group) <= {"Z", "X"}


def start_guard(group: int, shared_memory: str = "", folder: str | Path = "") -> subprocess.Popen[bytes]:
    """Starts a guard: when this program ends, `group` is killed, and regions with the prefix and the folder are removed."""
    return subprocess.Popen(
        ["sh", "-c", GUARD, "guard", str(group), shared_memory, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


class Process:
    """A program with a log file, in a separate process group; a context manager that starts it and stops it.

    A class derived from it sets `command`, `env`, and `shared_memory`: the prefix of its names in /dev/shm.
    Files are in `folder`; None: in a temporary one, which is removed when the context ends.
    """

    def __init__(self, name: str, folder: Path | None = None):
        self.name = name
        self._temporary = "" if folder else tempfile.mkdtemp(prefix=f"tensoa-{name}-")
        self.folder = folder or Path(self._temporary)
        self.log = self.folder / f"{name}.log"
        self.command: list[str | Path] = []
        self.env: dict[str, str] | None = None
        self.shared_memory = ""
        self.stop_timeout = 10.0  # seconds
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
        self._guard = start_guard(self.pid, self.shared_memory, self._temporary)
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
        # The kernel ends the children of the process some time after the signal. They are not children of this process.
        group = self.pid
        self.signal_group(signal.SIGKILL)
        wait_until(lambda: not is_group_alive(group), f"the processes of {self.name} end", interval=0.01)
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
        group = self.pid  # its threads run on until the one that gets the signal does
        wait_until(lambda: states_of_group(group) <= {"T", "Z", "X"}, f"the threads of {self.name} stop", interval=0.002)

    def resume(self) -> None:
        self.signal_group(signal.SIGCONT)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self._remove_folder()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        self._remove_folder()

    def _remove_folder(self) -> None:
        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)
