# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Which compiler makes a fused program of a model, or of its parts: the one place that knows of two.

`TENSOA_COMPILER=typed` in the environment: typed tensors and loop nests (tensoa.compiler.typed). Otherwise row programs
(tensoa.compiler.ir), as before; this goes when the typed compiler has all that they have.
"""

import os
from dataclasses import dataclass

import torch

from tensoa.binding import Binding
from tensoa.compiler import parts, stages
from tensoa.compiler.backends import cpu, cuda
from tensoa.compiler.errors import NotFused, surprises_as_not_fused
from tensoa.compiler.frontends import torch_export
from tensoa.compiler.frontends.torch_export.follow import RowFollower
from tensoa.compiler.ir import Program as RowProgram
from tensoa.compiler.typed.program import Program

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
    from tensoa.compiler.typed import frontend, passes

    with surprises_as_not_fused():
        return of_typed(passes.simplified(frontend.capture(exported, binding, rules)))


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


def parts_for_cpu(graph: torch_export.Graph, limits: parts.Limits) -> parts.Partition[RowProgram] | parts.Partition[Program]:
    """The parts of a graph that become programs for CPUs."""
    if not is_typed():
        return parts.partition(graph, limits, RowFollower)
    from tensoa.compiler.typed import cpu as typed_cpu
    from tensoa.compiler.typed import passes
    from tensoa.compiler.typed.frontend.follow import TypedFollower

    def verified(program: Program) -> Program:
        simple = passes.simplified(program)
        typed_cpu.schedule(simple)
        return simple

    return parts.partition(graph, limits, lambda one: TypedFollower(one, verified))


def parts_for_cuda(graph: torch_export.Graph, limits: parts.Limits) -> parts.Partition[RowProgram]:
    """The parts of a graph that become kernels for GPUs: row programs."""
    return parts.partition(graph, limits, RowFollower)


def of_part(program: RowProgram | Program) -> CpuProgram:
    """The C++ of a part, a program of either compiler. Raises NotFused."""
    return of_typed(program) if isinstance(program, Program) else of_rows(program)


def of_typed(program: Program) -> CpuProgram:
    """The C++ of a typed program, whose passes are done. Raises NotFused."""
    from tensoa.compiler.typed import cpu as typed_cpu

    with surprises_as_not_fused():
        domains = [int(symbol.removeprefix("rows")) for symbol in program.rows]
        return CpuProgram(typed_cpu.generate(program), domains, typed_cpu.described(program))


def of_rows(program: RowProgram) -> CpuProgram:
    """The C++ of a row program."""
    with surprises_as_not_fused():
        plan = stages.plan(program)
        source = cpu.generate(program, plan)
    return CpuProgram(source, list(program.domains), stages.described(plan, program))
