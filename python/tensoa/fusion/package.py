# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The fused part of a package: code for every processor that it is for, and how to call it (docs/ahead_of_time.md)."""

import ctypes
import platform
import re
from pathlib import Path

import torch

from tensoa.fusion import cpu, cuda, passes, stages
from tensoa.fusion.capture import NotFused, capture, surprises_as_not_fused

FOLDER = "fused/"  # of the files in a package, below model/
CUDA_OPERATIONS = 256  # of a kernel, at most: NVRTC takes 11 s for 174, and more than linear time
CHECKED, BUILT = "checked", "built, not run"

# What code of a level of x86-64 may use, by the names of /proc/cpuinfo; best first.
_V3 = "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave".split()
CPU_FLAGS = {"x86-64-v4": [*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"], "x86-64-v3": _V3}


def program_of(exported, binding, rules):
    """The row program of a model, simplified. Raises NotFused."""
    with surprises_as_not_fused():
        return passes.simplify(capture(exported, binding, rules))


def cpu_flags():
    """What this processor has, by the names of /proc/cpuinfo."""
    text = Path("/proc/cpuinfo").read_text()
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return set(found.group(1).split()) if found else set()


class Block(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("pitch", ctypes.c_int64)]


def load(library):
    """run(columns, rows): calls a program built for this processor on Columns that are whole."""
    program = ctypes.CDLL(str(library))
    program.tensoa_program_workspace.restype = ctypes.c_int64

    def run(columns, rows):
        blocks = (Block * len(columns.blocks))(*columns.blocks)
        rows = (ctypes.c_int64 * len(rows))(*rows)
        workspace = torch.empty(program.tensoa_program_workspace(rows) + 64, dtype=torch.uint8)
        aligned = workspace.data_ptr() + -workspace.data_ptr() % 64
        program.tensoa_program_run(blocks, rows, ctypes.c_void_p(aligned))

    return run


def for_cpu(program, flags, check, folder):
    """(entry of the manifest, files) of a program for CPUs.

    `flags`: what this processor has. `check(run)` is called for every program that it can run, and returns what it found.
    Raises NotFused on machines that there are no programs for.
    """
    if platform.machine() != "x86_64":
        raise NotFused(f"there are no fused programs for {platform.machine()}")
    with surprises_as_not_fused():
        plan = stages.plan(program)
        source = cpu.generate(program, plan)
    variants, files, checks = [], {}, []
    for level in cpu.LEVELS:
        library = Path(folder) / f"{level}.so"
        cpu.build(source, level, library)
        status = BUILT
        if flags.issuperset(CPU_FLAGS[level]):
            checks.append(check(load(library)))
            status = CHECKED
        name = f"{FOLDER}{level}.so"
        variants.append({"name": level, "file": name, "cpu_flags": CPU_FLAGS[level], "status": status})
        files[name] = library.read_bytes()
    if not checks:
        raise NotFused("this processor runs none of the programs, so that they cannot be checked")
    return {**_entry(program, plan, True), "cpu": variants}, files, checks[0]


def code_for(code, architecture):
    """The entry of `code` that runs on GPUs of `architecture`: the latest of its generation; None where there is none."""

    def number(name):
        digits = name.removeprefix("sm_")
        return int(digits) if digits.isdigit() else 0

    here = number(architecture)
    numbers = {number(entry["architecture"]): entry for entry in code}
    fitting = [n for n in numbers if 0 < n <= here and n // 10 == here // 10]
    return numbers[max(fitting)] if fitting else None


def for_cuda(program, precision, deterministic):
    """(entry of the manifest, files) of a program for GPUs. It is not run here. Raises NotFused where the compiler would
    take minutes: kernels keep a row in registers, so that groups of it are not loops but copies of code.
    """
    with surprises_as_not_fused():
        program = passes.unrolled(program)
        plan = stages.plan(program, with_totals=deterministic)
        most = max(len(stage.values) for stage in plan.stages)
        if most > CUDA_OPERATIONS:
            raise NotFused(f"the size of its code: a kernel of {most} operations, at most {CUDA_OPERATIONS} are compiled")
        made = cuda.generate(program, plan, precision)
    files = {FOLDER + "weights.bin": made.weights}
    code = []
    for architecture in cuda.ARCHITECTURES:
        name = f"{FOLDER}{architecture}.cubin"
        files[name] = cuda.compile(made.source, architecture)
        code.append({"architecture": architecture, "file": name, "status": BUILT})
    entry = {"params": made.params, "kernels": made.kernels, "buffers": made.buffers, "steps": made.steps}
    entry["weights"] = FOLDER + "weights.bin"
    is_the_same = deterministic or not any(stage.sums for stage in plan.stages)
    return {**_entry(program, plan, is_the_same), "cuda": {**entry, "code": code}, "precision": precision}, files


def _entry(program, plan, deterministic):
    return {
        "domains": list(program.domains),
        "stages": [stages.describe(stage) for stage in plan.stages],
        "deterministic": deterministic,
    }
