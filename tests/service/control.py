# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Commands for the test bench over TCP, for test programs that are not written in Python.

A command is one line, the answer one line: "ok" or "error: why". One connection may send several commands.

    triton N serve MODEL FILE   of run.py --update: exchanges the file of a model
    triton N ACTION       N counts from 0; ACTION: stop (SIGTERM), kill, start, pause (SIGSTOP), resume
    kserve ACTION
    envoy ACTION          also: drain (GOAWAY), drain-server N, restore-servers, wait-healthy NUMBER
    proxy set [NAME=VALUE...]   delay, bandwidth, slow_reader, reset_after, half_open; those not given are off
    proxy cut | refuse | accept
"""

import socketserver
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from envoy import Envoy
from process import Process, ServiceProblem
from toxic_proxy import ToxicProxy
from triton import Triton


class Control:
    """Serves the commands on a free port of 127.0.0.1; a context manager."""

    def __init__(
        self,
        tritons: Sequence[Triton] = (),
        kserve: Process | None = None,
        envoy: Envoy | None = None,
        proxy: ToxicProxy | None = None,
    ):
        self.tritons, self.kserve, self.envoy, self.proxy = list(tritons), kserve, envoy, proxy
        control = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                for line in self.rfile:
                    self.wfile.write(f"{control.answer(line.decode())}\n".encode())

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    def answer(self, line: str) -> str:
        """Obeys one command and returns the answer."""
        try:
            with self._lock:
                self._obey(line.split())
        except (ServiceProblem, ValueError, IndexError, TypeError, OSError) as problem:
            return "error: " + " ".join(str(problem).split())
        return "ok"

    def _obey(self, words: list[str]) -> None:
        match words:
            case ["triton", number, "serve", model, file]:
                self.tritons[int(number)].serve(model, Path(file))
            case ["triton", number, action]:
                self._act(self.tritons[int(number)], action)
            case ["kserve", action] if self.kserve:
                self._act(self.kserve, action)
            case ["envoy", "drain"] if self.envoy:
                self.envoy.drain()
            case ["envoy", "drain-server", number] if self.envoy:
                self.envoy.set_servers(self.envoy.servers, [self.envoy.servers[int(number)]])
            case ["envoy", "restore-servers"] if self.envoy:
                self.envoy.set_servers(self.envoy.servers)
            case ["envoy", "wait-healthy", number] if self.envoy:
                self.envoy.wait_for_healthy(int(number))
            case ["envoy", action] if self.envoy:
                self._act(self.envoy, action)
            case ["proxy", "set", *toxics] if self.proxy:
                self.proxy.set_text(" ".join(toxics))
            case ["proxy", "cut" | "refuse" | "accept" as action] if self.proxy:
                getattr(self.proxy, action)()
            case _:
                raise ValueError(f"unknown command {' '.join(words)!r}, or it is for something that does not run here")

    @staticmethod
    def _act(process: Process, action: str) -> None:
        actions: dict[str, Callable[[], object]] = {
            "stop": process.stop,
            "kill": process.kill,
            "start": process.start,
            "pause": process.pause,
            "resume": process.resume,
        }
        if action not in actions:
            raise ValueError(f"unknown action {action!r}; there are: {' '.join(actions)}")
        if action == "start" and process.is_running():
            raise ValueError(f"{process.name} runs already")
        actions[action]()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
