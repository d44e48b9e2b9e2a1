# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The fused part of a package: code for every processor that it is for, and how to call it (docs/ahead_of_time.md)."""

import ctypes
import platform
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tensoa.binding.columns import Columns
from tensoa.compiler import cpu, cuda
from tensoa.compiler.cpu.processors import CPU_FLAGS
from tensoa.compiler.errors import NotFused
from tensoa.package.manifest import BUILT, CHECKED, Check, CpuVariant, CudaProgram, Fused, GpuCode

if TYPE_CHECKING:
    from tensoa.compiler.routes import CpuProgram

FOLDER = "fused/"  # of the files in a package, below model/

Files = dict[str, bytes]


class _Block(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("pitch", ctypes.c_int64)]


class Program:
    """A program built for this processor."""

    def __init__(self, library: str | PathLike) -> None:
        self.program = ctypes.CDLL(str(library))
        self.program.tensoa_program_workspace.restype = ctypes.c_int64

    def __call__(self, columns: Columns, rows: Sequence[int]) -> None:
        self.prepared(columns, rows)()

    def prepared(self, columns: Columns, rows: Sequence[int]) -> Callable[[], None]:
        """Returns the call with these columns, which are whole: its arguments and its workspace are made here."""
        return self.over(columns.blocks, rows, columns)

    def over(self, blocks_at: Sequence[tuple[int, int]], rows: Sequence[int], owner: object) -> Callable[[], None]:
        """Returns the call with blocks at these (addresses, pitches in elements). The call keeps `owner` alive."""
        blocks = (_Block * len(blocks_at))(*(_Block(*block) for block in blocks_at))
        counts = (ctypes.c_int64 * len(rows))(*rows)
        workspace = np.empty(self.program.tensoa_program_workspace(counts) + 64, np.uint8)
        aligned = ctypes.c_void_p(workspace.ctypes.data + -workspace.ctypes.data % 64)
        run = self.program.tensoa_program_run

        def call(_: object = (owner, workspace)) -> None:  # which live as long as the call
            run(blocks, counts, aligned)

        return call


def for_cpu(
    made: "CpuProgram", flags: set[str], check: Callable[[Program], list[Check]], folder: str
) -> tuple[Fused, Files, list[Check]]:
    """(what the manifest says, files, checks) of a program for CPUs.

    `flags`: what this processor has. `check(program)` is called for every program that it can run, and returns what it found.
    Raises NotFused on machines that there are no programs for.
    """
    if platform.machine() != "x86_64":
        raise NotFused(f"there are no fused programs for {platform.machine()}")
    variants, files, checks = [], {}, []
    for level in cpu.LEVELS:
        library = Path(folder) / f"{level}.so"
        cpu.build(made.source, level, library)
        status = BUILT
        if flags.issuperset(CPU_FLAGS[level]):
            checks.append(check(Program(library)))
            status = CHECKED
        name = f"{FOLDER}{level}.so"
        variants.append(CpuVariant(level, name, CPU_FLAGS[level], status))
        files[name] = library.read_bytes()
    if not checks:
        raise NotFused("this processor runs none of the programs, so that they cannot be checked")
    return Fused(made.domains, made.stages, True, cpu=variants), files, checks[0]


def code_for(code: Sequence[GpuCode], architecture: str) -> GpuCode | None:
    """The entry of `code` that runs on GPUs of `architecture`: the latest of its generation; None where no entry does."""

    def number(name: str) -> int:
        digits = name.removeprefix("sm_")
        return int(digits) if digits.isdigit() else 0

    here = number(architecture)
    numbers = {number(entry.architecture): entry for entry in code}
    fitting = [n for n in numbers if 0 < n <= here and n // 10 == here // 10]
    return numbers[max(fitting)] if fitting else None


def for_cuda(kernels: cuda.CudaKernels, precision: str) -> tuple[Fused, Files]:
    """(what the manifest says, files) of a program for GPUs. Compiles it; it is not run here."""
    entry, files = cuda_files(kernels, FOLDER)
    return Fused(kernels.domains, kernels.stages, kernels.is_the_same, cuda=entry, precision=precision), files


def cuda_files(kernels: cuda.CudaKernels, folder: str) -> tuple[CudaProgram, Files]:
    """The entries of the manifest on kernels, and their files in `folder` of the package."""
    made, weights = kernels.made, folder + "weights.bin"
    files, code = {weights: made.weights}, []
    for architecture in cuda.ARCHITECTURES:
        name = f"{folder}{architecture}.cubin"
        files[name] = cuda.compile(made.source, architecture)
        code.append(GpuCode(architecture, name, BUILT))
    return CudaProgram(made.params, made.kernels, made.buffers, made.steps, weights, code, kernels.rows_at_once, True), files
