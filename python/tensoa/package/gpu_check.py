# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a package for GPUs on this machine's, by the program `tensoa`, as child processes.

Children, because a CUDA graph that cannot be captured may take its process along.
"""

import json
import signal
import subprocess
import tempfile
from os import PathLike
from pathlib import Path

from tensoa.errors import InputError
from tensoa.package.checks import Differs
from tensoa.package.fused import code_for
from tensoa.package.manifest import CHECKED, GpuCheck, Json, Target

TIMEOUT = 600  # seconds of a child


def has_gpu() -> bool:
    import torch  # only where it is requested

    return torch.cuda.is_available()


def run(program: str | PathLike, package: str | PathLike) -> GpuCheck:
    """The result of `PROGRAM check`. Raises Differs where the package is wrong, not where it has no CUDA graphs; InputError
    where PROGRAM cannot be run.
    """
    found, problem = _child(program, package)
    if problem:
        raise Differs(f"the package fails on this machine's GPU: {problem}")
    graphs, problem = _child(program, package, "--cuda-graphs")
    errors: dict[str, float] = {}
    for row in found["rows"]:
        errors[row["block"]] = max(errors.get(row["block"], 0.0), row["max_rel_error"])
    return GpuCheck(
        architecture=found["architecture"],
        gpu=found["gpu"],
        relative_error=errors,
        cuda_graphs=True if not problem else graphs.get("cuda_graphs", problem),
    )


def _child(program: str | PathLike, package: str | PathLike, *options: str) -> tuple[Json, str]:
    """(the JSON of `PROGRAM check`, what went wrong or nothing)."""
    with tempfile.TemporaryDirectory(prefix="tensoa-check-") as folder:
        file = Path(folder) / "check.json"
        command = [str(program), "check", str(package), *options, "--device", "cuda", "--json", str(file)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        except OSError as error:
            raise InputError(f"--program {program}: cannot run: {error.strerror}") from error
        except subprocess.TimeoutExpired:
            return {}, f"the process did not end in {TIMEOUT} s"
        try:
            found = json.loads(file.read_text())
        except (OSError, ValueError):
            found = {}
        if done.returncode == 0 and (options or found.get("rows")):
            return found, ""
        if done.returncode < 0:
            return found, f"the process died of {signal.Signals(-done.returncode).name}"
        lines = [line.removeprefix("tensoa: ") for line in done.stderr.splitlines() if line.strip()]
        return found, lines[-1] if lines else f"exit status {done.returncode} without a word"


def record_check(target: Target, check: GpuCheck) -> None:
    """Adds what run() found to a target, in the place of what was found on that architecture before."""
    others = [other for other in target.gpu_checks or [] if other.architecture != check.architecture]
    target.gpu_checks = [*others, check]
    if target.fused is not None and target.fused.cuda is not None:
        code = code_for(target.fused.cuda.code, check.architecture)
        if code is not None:
            code.status, code.gpu = CHECKED, check.gpu


def summary_lines(check: GpuCheck) -> list[str]:
    """Lines for people."""
    worst = max(check.relative_error.values(), default=0.0)
    graphs = check.cuda_graphs
    return [
        f"checked on {check.gpu} ({check.architecture}): relative error {worst:.1e}",
        "CUDA graphs: " + ("can be captured" if graphs is True else f"no: {graphs}"),
    ]
