#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a command with real servers around it.

    tests/service/run.py --triton mlp identity --servers 2 --envoy --proxy -- COMMAND ARGUMENT...

COMMAND finds in its environment (host:port on 127.0.0.1 each):
    TENSOA_TEST_TRITON      the Triton servers, separated by commas
    TENSOA_TEST_REPOSITORY  folder of their models, with --update at the start; NAME/1/weights.f32 has the float32 numbers of a
                            network (models.py: weights)
    TENSOA_TEST_TRITON_RESTRICTED  one more Triton with --restricted: it refuses shared memory
    TENSOA_TEST_ENVOY       Envoy in front of them (of the second server where there is no Triton)
    TENSOA_TEST_KSERVE      the second server of the protocol; a model MODEL.FAULT answers wrongly (kserve_faults.py)
    TENSOA_TEST_KSERVE_TLS  the same with --tls: certificates of TENSOA_TEST_CERTIFICATES
    TENSOA_TEST_KSERVE_MTLS the same, and the client must have a certificate
    TENSOA_TEST_KSERVE_EXPIRED  the same, and its certificate has expired
    TENSOA_TEST_KSERVE_TOKEN  the same without TLS; every call must have the bearer token of the file TENSOA_TEST_TOKEN_FILE;
                            that of TENSOA_TEST_EXPIRED_TOKEN_FILE has expired
    TENSOA_TEST_KSERVE_TLS_TOKEN  with TLS and that token
    TENSOA_TEST_PROXY       a bad network in front of the first of these servers
    TENSOA_TEST_CONTROL     commands: stop and kill servers, change the network (control.py)
    TENSOA_TEST_FOLDER      an empty folder, removed afterwards

Exit status: that of COMMAND; 77 where the servers are not installed; 3 where one of them does not start.
"""

import argparse
import concurrent.futures
import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from certificates import Certificates
from control import Control
from envoy import Envoy
from kserve import KserveServer
from models import MODELS, write_repository
from process import Process, ServiceProblem, start_guard
from toxic_proxy import ToxicProxy
from triton import Triton
from wheels import SKIPPED, missing


def parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Returns the options and the command after "--"."""
    parser = argparse.ArgumentParser(prog="run.py", description=(__doc__ or "").split("\n")[0], epilog="-- COMMAND follows")
    parser.add_argument(
        "--triton", nargs="+", default=[], metavar="MODEL", help=f"NAME or NAME=KIND; kinds: {' '.join(MODELS)}"
    )
    parser.add_argument("--repository", type=Path, help="a model repository of your own, for Triton, in addition to --triton")
    parser.add_argument("--backend", action="append", default=[], metavar="NAME=LIBRARY", help="one more back-end of Triton")
    parser.add_argument("--servers", type=int, default=1, help="the number of Triton servers")
    parser.add_argument("--explicit", action="store_true", help="Triton loads models by request only")
    parser.add_argument("--update", action="store_true", help="each Triton has its own repository, and looks for changes")
    parser.add_argument("--restricted", action="store_true", help="one more Triton, which refuses shared memory")
    parser.add_argument("--envoy", action="store_true")
    parser.add_argument("--retries", type=int, default=2, help="of Envoy")
    parser.add_argument("--kserve", action="store_true", help="the second server")
    parser.add_argument("--tls", action="store_true", help="the second server also with TLS, with mTLS and with a bearer token")
    parser.add_argument("--proxy", action="store_true")
    parser.add_argument("--logs", type=Path, help="folder that keeps the logs of the servers")
    at = arguments.index("--") if "--" in arguments else len(arguments)
    options, command = parser.parse_args(arguments[:at]), arguments[at + 1 :]
    if not command:
        parser.error("no COMMAND after --")
    for entry in options.triton:
        if entry.partition("=")[2] not in MODELS and entry not in MODELS:
            parser.error(f"there is no model {entry}; there are: {' '.join(MODELS)}")
    if options.restricted and not options.triton:
        parser.error("--restricted needs --triton")
    if options.servers < 1:
        parser.error("--servers must be 1 or more")
    if (options.envoy or options.proxy) and not (options.triton or options.repository or options.kserve):
        parser.error("--envoy and --proxy need --triton or --kserve")
    return options, command


class Servers:
    """All that was requested, running until `stack` is closed; `env` is for the command."""

    def __init__(self, options: argparse.Namespace, stack: contextlib.ExitStack, folder: Path, logs: Path):
        self.options, self.stack, self.folder, self.logs = options, stack, folder, logs
        self.env: dict[str, str] = {}
        self.processes: list[Process] = []
        self.tritons = self._tritons() if options.triton or options.repository else []
        self.kserve = self._second([], "TENSOA_TEST_KSERVE") if options.kserve else None
        if options.tls:
            self._secured()
        addresses = [server.address for server in self.tritons] or ([self.kserve.address] if self.kserve else [])
        envoy = proxy = None
        if options.envoy:
            envoy = Envoy(addresses, retries=options.retries, health_checks=bool(self.tritons), folder=logs)
            self._start(envoy, "TENSOA_TEST_ENVOY", envoy.address)
        if options.proxy:
            proxy = stack.enter_context(ToxicProxy(addresses[0]))
            self.env["TENSOA_TEST_PROXY"] = proxy.address
        control = stack.enter_context(Control(self.tritons, self.kserve, envoy, proxy))
        self.env["TENSOA_TEST_CONTROL"] = control.address
        work = folder / "work"
        work.mkdir()
        self.env["TENSOA_TEST_FOLDER"] = str(work)

    def _start(self, process: Process, variable: str, value: str | Path) -> None:
        self.processes.append(process)
        self.stack.enter_context(process)
        self.env[variable] = str(value)

    def _tritons(self) -> list[Triton]:
        repository = self.folder / "models"
        if self.options.repository:
            shutil.copytree(self.options.repository, repository)
        write_repository(repository, self.options.triton)
        backends = {name: Path(path) for name, _, path in (entry.partition("=") for entry in self.options.backend)}
        self.env["TENSOA_TEST_REPOSITORY"] = str(repository)
        polls = ["--model-control-mode=poll", "--repository-poll-secs=1"] if self.options.update else []
        servers = [
            Triton(
                self._own(repository, i) if self.options.update else repository,
                backends=backends,
                explicit=[] if self.options.explicit else None,
                options=polls,
                name=f"triton-{i}",
                folder=self.logs,
            )
            for i in range(self.options.servers)
        ]
        self.processes += servers
        for server in servers:
            self.stack.callback(server.stop)
        with concurrent.futures.ThreadPoolExecutor(len(servers)) as pool:
            list(pool.map(Triton.start, servers))
        self.env["TENSOA_TEST_TRITON"] = ",".join(server.address for server in servers)
        if self.options.restricted:
            refusing = ["--grpc-restricted-protocol=shared-memory:tensoa-key=tensoa-value"]
            refuser = Triton(repository, backends=backends, options=refusing, name="triton-restricted", folder=self.logs)
            self._start(refuser, "TENSOA_TEST_TRITON_RESTRICTED", refuser.address)
        return servers

    def _own(self, repository: Path, number: int) -> Path:
        return Path(shutil.copytree(repository, self.folder / f"models-{number}"))

    def _second(self, options: list[str | Path], variable: str) -> KserveServer:
        name = variable.removeprefix("TENSOA_TEST_").lower()
        server = KserveServer(options=options, name=name, folder=self.logs)
        self._start(server, variable, server.address)
        return server

    def _secured(self) -> None:
        certificates = Certificates.make(self.folder / "certificates")
        self._second(["--tls", certificates.folder], "TENSOA_TEST_KSERVE_TLS")
        self._second(["--tls", certificates.folder, "--mutual"], "TENSOA_TEST_KSERVE_MTLS")
        self._second(["--tls", certificates.folder, "--certificate", "expired"], "TENSOA_TEST_KSERVE_EXPIRED")
        token, expired = self._token("token"), self._token("expired_token")
        self._second(["--token-file", token, "--expired-token-file", expired], "TENSOA_TEST_KSERVE_TOKEN")
        self._second(["--tls", certificates.folder, "--token-file", token], "TENSOA_TEST_KSERVE_TLS_TOKEN")
        self.env["TENSOA_TEST_CERTIFICATES"] = str(certificates.folder)
        self.env["TENSOA_TEST_TOKEN_FILE"] = str(token)
        self.env["TENSOA_TEST_EXPIRED_TOKEN_FILE"] = str(expired)

    def _token(self, name: str) -> Path:
        file = self.folder / name
        file.touch(mode=0o600)
        file.write_text(secrets.token_urlsafe(16) + "\n")
        return file


def run_command(command: list[str], env: dict[str, str], folder: Path) -> int:
    """Runs the command to its end and returns its exit status; if this program ends earlier, kills it and removes `folder`."""
    with subprocess.Popen(command, env={**os.environ, **env}, start_new_session=True) as child:
        guard = start_guard(child.pid, folder=folder)
        try:
            status = child.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            guard.kill()
            guard.communicate()
    return status if status >= 0 else 128 - status


def _end(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def main() -> int:
    options, command = parse(sys.argv[1:])
    if reason := missing():
        print(f"skipped: {reason}")
        return SKIPPED
    if not shutil.which(command[0]):
        print(f"run.py: there is no program {command[0]}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, _end)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tensoa-service-", ignore_cleanup_errors=True)))
        logs = options.logs or folder / "logs"
        shutil.rmtree(logs, ignore_errors=True)
        logs.mkdir(parents=True)
        try:
            servers = Servers(options, stack, folder, logs)
        except (ServiceProblem, OSError) as problem:
            print(f"run.py: {problem}", file=sys.stderr)
            return 3
        status = run_command(command, servers.env, folder)
        if status not in (0, SKIPPED):
            for process in servers.processes:
                print(f"== the end of the log of {process.name}\n{process.log_tail()}", file=sys.stderr)
        return status


if __name__ == "__main__":
    sys.exit(main())
