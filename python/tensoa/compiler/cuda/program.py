# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A program for GPUs: its source, and the plan of its launches as in the manifest of a package (docs/ahead_of_time.md)."""

from dataclasses import dataclass, field

#: The most that the engine takes (kMostBlocks, kMostDomains, kMostBuffers of package/src).
LIMITS = {"blocks": 32, "domains": 8, "buffers": 64}


@dataclass(frozen=True)
class Params:
    """The lengths of the arrays that kernels are given; of LIMITS at most."""

    blocks: int
    domains: int
    buffers: int


@dataclass(frozen=True)
class KernelEntry:
    name: str
    threads: int
    shared_bytes: int
    rows_per_block: int
    blocks_per_sm: int  # the most that are launched for each multiprocessor; 0: all that the rows need


@dataclass(frozen=True)
class BufferEntry:
    domain: int
    row_bytes: int


@dataclass(frozen=True)
class Zero:
    """Sets a buffer to zero."""

    zero: int


@dataclass(frozen=True)
class Launch:
    """Runs a kernel over the rows of a domain, `times` of them for each."""

    kernel: int
    domain: int
    times: int = 1


@dataclass
class Generated:
    params: Params
    source: str = ""
    kernels: list[KernelEntry] = field(default_factory=list)
    buffers: list[BufferEntry] = field(default_factory=list)
    steps: list[Zero | Launch] = field(default_factory=list)
    weights: bytes = b""


@dataclass
class CudaKernels:
    """A program before it is compiled. `domains`: the collections, in the order of the row counts of a call; `stages`: what the
    kernels do, in words; `is_the_same`: whether every call gives the same bits; `rows_at_once`: of a call, 0 where all rows are
    needed together.
    """

    made: Generated
    domains: list[int]
    stages: list[str]
    is_the_same: bool
    rows_at_once: int
