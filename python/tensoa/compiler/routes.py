# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Which compiler makes a fused program of a model, or of its parts: the one place that knows of two.

CPUs: typed tensors and loop nests (tensoa.compiler.typed). GPUs: row programs (tensoa.compiler.ir), or, with
`TENSOA_COMPILER=typed` in the environment, typed tensors.
"""

import os
from dataclasses import dataclass

import torch

from tensoa.binding import Binding
from tensoa.compiler import parts
from tensoa.compiler.backends import cuda
from tensoa.compiler.errors import NotFused, surprises_as_not_fused
from tensoa.compiler.frontends import torch_export
from tensoa.compiler.frontends.torch_export.follow import RowFollower
from tensoa.compiler.ir import Program as RowProgram
from tensoa.compiler.typed import cpu, frontend, passes
from tensoa.compiler.typed import cuda as typed_cuda
from tensoa.compiler.typed.frontend.follow import TypedFollower
from tensoa.compiler.typed.program import Program

SWITCH = "TENSOA_COMPILER"  # of GPUs


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
) -> cuda.CudaKernels | str:
    """The kernels of typed tensors for GPUs, or, in words, why they are those of row programs."""
    if not _is_typed():
        return ""
    try:
        with surprises_as_not_fused():
            program = passes.simplified(frontend.capture(exported, binding, rules))
            domains = sorted({block.collection for block in binding.inputs})
            return typed_cuda.generate(program, domains, precision, deterministic)
    except NotFused as reason:
        return str(reason)


def _is_typed() -> bool:
    """Whether typed tensors make the kernels for GPUs."""
    return os.environ.get(SWITCH) == "typed"


def parts_for_cpu(graph: torch_export.Graph, limits: parts.Limits) -> parts.Partition[Program]:
    """The parts of a graph that become programs for CPUs."""
    return parts.partition(graph, limits, lambda one: TypedFollower(one, _verified))


def _verified(program: Program) -> Program:
    simple = passes.simplified(program)
    cpu.schedule(simple)
    return simple


def parts_for_cuda(
    graph: torch_export.Graph, limits: parts.Limits, precision: str, deterministic: bool
) -> parts.Partition[RowProgram] | parts.Partition[Program]:
    """The parts of a graph that become kernels for GPUs."""
    if not _is_typed():
        return parts.partition(graph, limits, RowFollower)

    def verified(program: Program) -> Program:
        simple = passes.simplified(program)
        typed_cuda.generate(simple, (), precision, deterministic)
        return simple

    return parts.partition(graph, limits, lambda one: TypedFollower(one, verified))


def kernels_of_part(program: Program, precision: str, deterministic: bool) -> cuda.CudaKernels:
    """The kernels of a part of typed tensors. Raises NotFused."""
    with surprises_as_not_fused():
        return typed_cuda.generate(program, (), precision, deterministic)


def of_program(program: Program) -> CpuProgram:
    """The C++ of a typed program, whose passes are done. Raises NotFused."""
    with surprises_as_not_fused():
        domains = [int(symbol.removeprefix("rows")) for symbol in program.rows]
        return CpuProgram(cpu.generate(program), domains, cpu.described(program))
