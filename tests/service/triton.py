# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA Triton as a process: the server of the wheel nvidia-pytriton, with its Python back-end and back-ends of ours."""

import http.client
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import wheels
from certificates import Certificates
from process import Process, free_port


def write_backends(folder: Path, backends: Mapping[str, Path]) -> None:
    """Writes the folder that Triton takes back-ends from. Links and not copies: $ORIGIN of the libraries must stay valid."""
    server = wheels.packages() / "pytriton" / "tritonserver"
    files = [
        server / "backends" / "python" / "libtriton_python.so",
        server / "backends" / "python" / "triton_python_backend_utils.py",
        server / "python_backend_stubs" / wheels.python_version() / "triton_python_backend_stub",
    ]
    (folder / "python").mkdir(parents=True)
    for file in files:
        (folder / "python" / file.name).symlink_to(file)
    for name, library in backends.items():
        (folder / name).mkdir()
        (folder / name / f"libtriton_{name}.so").symlink_to(library.resolve())


class Triton(Process):
    """A Triton server on free ports of 127.0.0.1; a context manager.

    Parameters: `backends` has a shared library for each name of a back-end; `explicit` lists the models to load in the explicit
    mode (models are loaded and unloaded by request; None: the server loads all); `options` are more arguments of tritonserver.
    The log and all files are in `folder`, by default a temporary one that is removed when the server stops.
    """

    def __init__(
        self,
        repository: Path,
        *,
        backends: Mapping[str, Path] | None = None,
        explicit: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
        tls: Certificates | None = None,
        mutual: bool = False,
        name: str = "triton",
        folder: Path | None = None,
    ):
        super().__init__(name, folder)
        self.repository = repository
        self.http_port = free_port()
        self.port = free_port()
        while self.port == self.http_port:
            self.port = free_port()
        prefix = f"tensoa_{os.getpid()}_{self.port}_"
        write_backends(self.folder / f"{name}-backends", backends or {})
        command: list[str | Path] = [
            wheels.packages() / "pytriton" / "tritonserver" / "bin" / "tritonserver",
            f"--model-repository={repository}",
            f"--backend-directory={self.folder / f'{name}-backends'}",
            "--http-address=127.0.0.1",
            f"--http-port={self.http_port}",
            "--grpc-address=127.0.0.1",
            f"--grpc-port={self.port}",
            "--allow-metrics=false",
            "--exit-timeout-secs=5",
            f"--backend-config=python,shm-region-prefix-name={prefix}",
        ]
        if explicit is not None:
            command += ["--model-control-mode=explicit", *(f"--load-model={model}" for model in explicit)]
        if tls:
            command += ["--grpc-use-ssl=true", f"--grpc-server-cert={tls.server}", f"--grpc-server-key={tls.server_key}"]
            command += ["--grpc-use-ssl-mutual=true"] if mutual else []
            command += [f"--grpc-root-cert={tls.authority}"]
        command += options
        self.command = command
        self.env = {**wheels.environment(), **(env or {})}
        self.shared_memory = prefix

    @property
    def address(self) -> str:
        """Returns host:port of gRPC."""
        return f"127.0.0.1:{self.port}"

    def serve(self, model: str, file: Path) -> None:
        """Exchanges the file of a model of tensoa's back-end; a server that polls has loaded it after a second or two."""
        written = self.repository.with_name(f"{self.name}-next")
        shutil.copy(file, written)
        written.replace(self.repository / model / "1" / "model.pt2")

    def is_ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=1)
        try:
            connection.request("GET", "/v2/health/ready")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()
