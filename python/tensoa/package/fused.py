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
import torch

from tensoa.binding.columns import Columns
from tensoa.compiler import lift, passes, stages
from tensoa.compiler.backends import cuda
from tensoa.compiler.backends.processors import CPU_FLAGS
from tensoa.compiler.errors import NotFused, surprises_as_not_fused
from tensoa.compiler.ir import Program
from tensoa.compiler.typed import cpu
from tensoa.package.manifest import BUILT, CHECKED, Check, CpuVariant, CudaProgram, Fused, GpuCode

if TYPE_CHECKING:
    from tensoa.compiler.routes import CpuProgram

FOLDER = "fused/"  # of the files in a package, below model/
# Bytes of a linear layer, at most: each block of threads reads them all, where a library's product shares them among all
# multiprocessors. H200, 16 -> n -> n -> 2, one row, fused and by TorchInductor: n = 256: 27 and 66 us, 512: 79 and 52,
# 1024: 305 and 88.
CUDA_WEIGHTS = 1 << 19
CUDA_OPERATIONS = 256  # of a kernel, at most: NVRTC takes 11 s for 174, and more than linear time
# Of the operations of the longest kernel, where copies for the groups of a row are as fast as rows of their own, or faster:
# H100, 16 384 rows, copies and rows: 36 and 2 operations, 4 and 14 us; 174 and 163 (LSTM), 59 and 163; 203 and 6, 166 and 42.
CUDA_FEW_COPIES, CUDA_SAME_LENGTH = 40, 0.8
CUDA_WORKSPACE = 1 << 30  # bytes between kernels; more rows run in several parts

Files = dict[str, bytes]
Run = Callable[[Columns, Sequence[int]], None]


class _Block(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("pitch", ctypes.c_int64)]


def load(library: str | PathLike) -> Run:
    """run(columns, rows): calls a program built for this processor on Columns that are whole."""
    program = ctypes.CDLL(str(library))
    program.tensoa_program_workspace.restype = ctypes.c_int64

    def run(columns: Columns, rows: Sequence[int]) -> None:
        blocks = (_Block * len(columns.blocks))(*(_Block(*block) for block in columns.blocks))
        counts = (ctypes.c_int64 * len(rows))(*rows)
        workspace = np.empty(program.tensoa_program_workspace(counts) + 64, np.uint8)
        aligned = workspace.ctypes.data + -workspace.ctypes.data % 64
        program.tensoa_program_run(blocks, counts, ctypes.c_void_p(aligned))

    return run


def for_cpu(
    made: "CpuProgram", flags: set[str], check: Callable[[Run], list[Check]], folder: str
) -> tuple[Fused, Files, list[Check]]:
    """(what the manifest says, files, checks) of a program for CPUs.

    `flags`: what this processor has. `check(run)` is called for every program that it can run, and returns what it found.
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
            checks.append(check(load(library)))
            status = CHECKED
        name = f"{FOLDER}{level}.so"
        variants.append(CpuVariant(level, name, CPU_FLAGS[level], status))
        files[name] = library.read_bytes()
    if not checks:
        raise NotFused("this processor runs none of the programs, so that they cannot be checked")
    return Fused(made.domains, made.stages, True, cpu=variants), files, checks[0]


def code_for(code: Sequence[GpuCode], architecture: str) -> GpuCode | None:
    """The entry of `code` that runs on GPUs of `architecture`: the latest of its generation; None where there is none."""

    def number(name: str) -> int:
        digits = name.removeprefix("sm_")
        return int(digits) if digits.isdigit() else 0

    here = number(architecture)
    numbers = {number(entry.architecture): entry for entry in code}
    fitting = [n for n in numbers if 0 < n <= here and n // 10 == here // 10]
    return numbers[max(fitting)] if fitting else None


def for_cuda(program: Program, precision: str, deterministic: bool) -> tuple[Fused, Files]:
    """(what the manifest says, files) of a row program for GPUs. It is not run here. Raises NotFused where the compiler would
    take minutes.
    """
    return of_kernels(kernels_for_cuda(program, precision, deterministic), precision)


def of_kernels(kernels: cuda.CudaKernels, precision: str) -> tuple[Fused, Files]:
    """(what the manifest says, files) of a program for GPUs. Compiles it."""
    entry, files = cuda_files(kernels, FOLDER)
    return Fused(kernels.domains, kernels.stages, kernels.is_the_same, cuda=entry, precision=precision), files


def cuda_files(kernels: cuda.CudaKernels, folder: str) -> tuple[CudaProgram, Files]:
    """What the manifest says of kernels, and their files in `folder` of the package."""
    made, weights = kernels.made, folder + "weights.bin"
    files, code = {weights: made.weights}, []
    for architecture in cuda.ARCHITECTURES:
        name = f"{folder}{architecture}.cubin"
        files[name] = cuda.compile(made.source, architecture)
        code.append(GpuCode(architecture, name, BUILT))
    return CudaProgram(made.params, made.kernels, made.buffers, made.steps, weights, code, kernels.rows_at_once, True), files


def kernels_for_cuda(program: Program, precision: str, deterministic: bool) -> cuda.CudaKernels:
    """The kernels of a row program. Raises NotFused."""
    domains = list(program.domains)
    for value in program.values():
        if value.op == "linear":
            check_weights(value.attributes["weight"])
    with surprises_as_not_fused():
        program = _without_groups(program)
        plan = stages.plan(program, with_totals=deterministic)
        most = _longest(plan)
        if most > CUDA_OPERATIONS:
            raise NotFused(f"the size of its code: a kernel of {most} operations, at most {CUDA_OPERATIONS} are compiled")
        made = cuda.generate(program, plan, precision)
    bytes_of_row = max(1, sum(buffer.row_bytes for buffer in made.buffers))
    at_once = max(1, CUDA_WORKSPACE // bytes_of_row // 16) * 16 if program.lifted and _has_rows_apart(program) else 0
    has_sums = any(buffer.value.name == "sum" for stage in plan.stages for buffer in stage.sums)
    return cuda.CudaKernels(made, domains, stages.described(plan, program), deterministic or not has_sums, at_once)


def check_weights(weight: np.ndarray | torch.Tensor) -> None:
    """Raises NotFused for those of a linear layer that kernels for GPUs would read too often."""
    if weight.nbytes > CUDA_WEIGHTS:
        sizes = " x ".join(str(size) for size in weight.shape)
        raise NotFused(f"a linear layer of {sizes} weights, more than a kernel for GPUs reads fast")


def _without_groups(program: Program) -> Program:
    """A program for kernels that keep a row in registers: groups of a row are rows of their own, or, where they are few,
    copies of the code.
    """
    program = passes.heads_apart(program)
    if not lift.is_grouped(program):
        return passes.unrolled(program)
    are_many = lift.copies(program) > CUDA_OPERATIONS
    try:
        rows = lift.lifted(program)
    except NotFused:
        if are_many:
            raise
        return passes.unrolled(program)
    if are_many:
        return rows
    copies = passes.unrolled(program)
    of_copies, of_rows = _longest(stages.plan(copies)), _longest(stages.plan(rows))
    return copies if of_copies <= CUDA_FEW_COPIES or of_rows > CUDA_SAME_LENGTH * of_copies else rows


def _longest(plan: stages.Plan) -> int:
    return max(len(stage.values) for stage in plan.stages)


_OF_OTHERS = ("gather", "scatter", "attend", "nearest")  # operations of other rows than the own one


def _has_rows_apart(program: Program) -> bool:
    """Whether no row needs another."""
    has_others = any(value.op in _OF_OTHERS or value.attributes.get("is_scalar") for value in program.values())
    return len(program.domains) == 1 and not has_others
