# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Which compiler makes a fused program of a model: the one place that knows of two.

`TENSOA_COMPILER=typed` in the environment: typed tensors and loop nests (tensoa.compiler.typed). Otherwise row programs
(tensoa.compiler.ir), as before; this goes when the typed compiler has all that they have.
"""

import os
from dataclasses import dataclass

import torch

from tensoa.binding import Binding
from tensoa.compiler import stages
from tensoa.compiler.backends import cpu, cuda
from tensoa.compiler.errors import NotFused, surprises_as_not_fused
from tensoa.compiler.frontends import torch_export
from tensoa.compiler.ir import Program

SWITCH = "TENSOA_COMPILER"


@dataclass(frozen=True)
class CpuProgram:
    """`domains`: the collections, in the order of the row counts of a call; `stages`: what they do, in words."""

    source: cpu.Source
    domains: list[int]
    stages: list[str]


def is_typed() -> bool:
    return os.environ.get(SWITCH) == "typed"


def for_cpu(exported: torch.export.ExportedProgram, binding: Binding, rules: list[dict[str, int]]) -> CpuProgram:
    """The C++ of a fused program. Raises NotFused."""
    if not is_typed():
        return of_rows(torch_export.row_program(exported, binding, rules))
    from tensoa.compiler.typed import cpu as typed_cpu
    from tensoa.compiler.typed import frontend, passes

    with surprises_as_not_fused():
        program = passes.simplified(frontend.capture(exported, binding, rules))
        domains = sorted({block.collection for block in binding.inputs})
        return CpuProgram(typed_cpu.generate(program), domains, typed_cpu.described(program))


def for_cuda(
    exported: torch.export.ExportedProgram, binding: Binding, rules: list[dict[str, int]], precision: str, deterministic: bool
) -> cuda.CudaKernels | str:
    """The kernels of typed tensors for GPUs, or, in words, why they are those of row programs."""
    if not is_typed():
        return ""
    from tensoa.compiler.typed import cuda as typed_cuda
    from tensoa.compiler.typed import frontend, passes

    try:
        with surprises_as_not_fused():
            program = passes.simplified(frontend.capture(exported, binding, rules))
            domains = sorted({block.collection for block in binding.inputs})
            return typed_cuda.generate(program, domains, precision, deterministic)
    except NotFused as reason:
        return str(reason)


def of_rows(program: Program) -> CpuProgram:
    """The C++ of a row program."""
    with surprises_as_not_fused():
        plan = stages.plan(program)
        source = cpu.generate(program, plan)
    return CpuProgram(source, list(program.domains), stages.described(plan, program))
