# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""kserve_server.py as a process."""

import os
import socket
from collections.abc import Sequence
from pathlib import Path

import wheels
from process import Process, free_port


class KserveServer(Process):
    """The second server of the protocol, on a free port of 127.0.0.1; a context manager.

    `options` are more arguments of kserve_server.py, such as --tls FOLDER, --mutual, --token-file FILE, --max-age-ms N.
    """

    def __init__(
        self,
        models: Sequence[str] = (),
        *,
        options: Sequence[str | Path] = (),
        name: str = "kserve",
        folder: Path | None = None,
    ):
        super().__init__(name, folder)
        self.port = free_port()
        program = Path(__file__).with_name("kserve_server.py")
        self.command = [wheels.PYTHON, program, "--port", str(self.port), *options]
        if models:
            self.command += ["--models", ",".join(models)]
        self.env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}

    @property
    def address(self) -> str:
        """Returns host:port of gRPC."""
        return f"127.0.0.1:{self.port}"

    def is_ready(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False
