# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Fused programs of a model, or of its parts, for CPUs and GPUs: from an exported program to source code."""

from dataclasses import dataclass

import torch

from tensoa.binding import Binding
from tensoa.compiler import cpu, cuda, frontend, parts, passes
from tensoa.compiler.cuda import CudaKernels
from tensoa.compiler.errors import surprises_as_not_fused
from tensoa.compiler.frontend.graph import Graph
from tensoa.compiler.program import Program


@dataclass(frozen=True)
class CpuProgram:
    """`domains`: the collections, in the order of the row counts of a call; `stages`: what they do, in words."""

    source: cpu.Source
    domains: list[int]
    stages: list[str]


def for_cpu(exported: torch.export.ExportedProgram, binding: Binding, rules: list[dict[str, int]]) -> CpuProgram:
    """The C++ of a fused program. Raises NotFused."""
    with surprises_as_not_fused():
        return of_program(passes.simplified(frontend.capture(exported, binding, rules)))


def for_cuda(
    exported: torch.export.ExportedProgram, binding: Binding, rules: list[dict[str, int]], precision: str, deterministic: bool
) -> CudaKernels:
    """The kernels of a fused program. Raises NotFused."""
    with surprises_as_not_fused():
        program = passes.simplified(frontend.capture(exported, binding, rules))
        domains = sorted({block.collection for block in binding.inputs})
        return cuda.generate(program, domains, precision, deterministic)


def parts_for_cpu(graph: Graph, limits: parts.Limits) -> parts.Partition:
    """The parts of a graph that become programs for CPUs."""

    def verified(program: Program) -> Program:
        simple = passes.simplified(program)
        cpu.schedule(simple)
        return simple

    return parts.partition(graph, limits, verified)


def parts_for_cuda(graph: Graph, limits: parts.Limits, precision: str, deterministic: bool) -> parts.Partition:
    """The parts of a graph that become kernels for GPUs."""

    def verified(program: Program) -> Program:
        simple = passes.simplified(program)
        cuda.generate(simple, (), precision, deterministic)
        return simple

    return parts.partition(graph, limits, verified)


def kernels_of_part(program: Program, precision: str, deterministic: bool) -> CudaKernels:
    """The kernels of a part. Raises NotFused."""
    with surprises_as_not_fused():
        return cuda.generate(program, (), precision, deterministic)


def of_program(program: Program) -> CpuProgram:
    """The C++ of a typed program, whose passes are done. Raises NotFused."""
    with surprises_as_not_fused():
        domains = [int(symbol.removeprefix("rows")) for symbol in program.rows]
        return CpuProgram(cpu.generate(program), domains, cpu.described(program))
