# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A small TCP proxy in a thread of this process, which makes a network bad on request."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, fields
from types import TracebackType
from typing import Any, Self

CHUNK = 16384


@dataclass
class Toxics:
    """Changes of the proxy to the bytes; also to connections that are open already, from their next bytes on. 0: nothing."""

    delay: float = 0.0  # seconds, for each chunk in each direction; chunks that arrive meanwhile wait as well
    bandwidth: float = 0.0  # bytes per second, in each direction
    slow_reader: float = 0.0  # bytes per second that are read from the client, with a small receive buffer
    reset_after: int = 0  # bytes of the server's replies, of one connection; then a TCP reset
    half_open: bool = False  # nothing is passed on; a connection accepted in this state stays dead


def _reset(writer: asyncio.StreamWriter) -> None:
    """Closes a connection with a TCP reset."""
    with contextlib.suppress(OSError):
        raw: Any = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class ToxicProxy:
    """Forwards connections from a free port of 127.0.0.1 to `target` (host:port); a context manager.

    `set` changes what it does to the bytes; `cut` resets all open connections; `refuse` and `accept` close and open the port.
    """

    def __init__(self, target: str):
        host, port = target.rsplit(":", 1)
        self.target = (host, int(port))
        self.toxics = Toxics()
        self.port = 0
        self.accepted = 0  # the number of connections since the start
        self.forwarded = [0, 0]  # bytes to the server, bytes to the client
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def set(self, **toxics: float) -> None:
        """Replaces all toxics: those not given are off. TypeError for an unknown name."""
        self.toxics = Toxics(**toxics)  # type: ignore[arg-type]

    def set_text(self, text: str) -> None:
        """The same from "delay=0.1 bandwidth=1e6"; ValueError for an unknown name or a bad number."""
        kinds = {field.name: field.type for field in fields(Toxics)}
        pairs = [part.partition("=") for part in text.split()]
        if unknown := [name for name, _, _ in pairs if name not in kinds]:
            raise ValueError(f"unknown toxic {unknown[0]}; there are: {' '.join(kinds)}")
        self.set(**{name: float(value) for name, _, value in pairs})

    def cut(self) -> None:
        """Resets all open connections."""
        self._run(self._cut())

    def refuse(self) -> None:
        """Closes the port, so that connecting fails; open connections stay."""
        self._run(self._close())

    def accept(self) -> None:
        """Opens the port, the same one again after `refuse`."""
        self._run(self._open())

    def __enter__(self) -> Self:
        self._thread.start()
        self.accept()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.refuse()
        self.cut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        done: Future[None] = asyncio.run_coroutine_threadsafe(work, self._loop)
        done.result(10)

    async def _open(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, limit=CHUNK)
            self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
            await asyncio.sleep(0)

    async def _cut(self) -> None:
        for writer in list(self._writers):
            _reset(writer)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.accepted += 1
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            await self._serve(reader, writer)
        except (OSError, asyncio.CancelledError):
            _reset(writer)
        finally:
            self._writers.discard(writer)
            self._tasks.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.toxics.slow_reader:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        if self.toxics.half_open:
            while await reader.read(CHUNK):
                pass
            return
        to_reader, to_writer = await asyncio.open_connection(*self.target, limit=CHUNK)
        self._writers.add(to_writer)
        try:
            up = asyncio.create_task(self._pump(reader, to_writer, 0, writer))
            down = asyncio.create_task(self._pump(to_reader, writer, 1, writer))
            try:
                # Either side's end is the end of both: gRPC never half-closes a connection.
                done, _ = await asyncio.wait([up, down], return_when=asyncio.FIRST_COMPLETED)
            finally:
                up.cancel()
                down.cancel()
                await asyncio.gather(up, down, return_exceptions=True)
            if any(task.exception() for task in done if not task.cancelled()):
                _reset(writer)
                _reset(to_writer)
        finally:
            self._writers.discard(to_writer)
            to_writer.close()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, direction: int, client: asyncio.StreamWriter
    ) -> None:
        """Copies one direction; 0 is to the server."""
        passed = 0
        while True:
            slow = self.toxics.slow_reader if direction == 0 else 0.0
            data = await reader.read(1024 if slow else CHUNK)
            if not data:
                return
            while self.toxics.half_open:
                await asyncio.sleep(0.05)
            rate = min(filter(None, (slow, self.toxics.bandwidth)), default=0.0)
            if wait := self.toxics.delay + (len(data) / rate if rate else 0.0):
                await asyncio.sleep(wait)
            limit = self.toxics.reset_after
            if direction == 1 and limit and passed + len(data) > limit:
                writer.write(data[: max(0, limit - passed)])
                await asyncio.sleep(0.01)
                _reset(client)
                raise ConnectionResetError
            writer.write(data)
            await writer.drain()
            passed += len(data)
            self.forwarded[direction] += len(data)
