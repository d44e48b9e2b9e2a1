# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the CUDA C++ of typed programs: on a GPU, or, without one, the CUDA source by an emulation of the host
(cuda_on_cpu.hpp).
"""

import contextlib

import numpy as np
import torch

from cpu_library import storage_of, stored
from cuda_programs import BACKWARDS, MANY, Block, Loaded, on_cpu, switched_on
from tensoa.compiler import cuda
from tensoa.compiler import operations as ops
from tensoa.compiler.cuda import compile
from tensoa.compiler.errors import NotFused
from tensoa.compiler.passes import simplified

PAD = 3  # elements behind each plane


def architectures():
    """None, for the emulation, and that of the GPU here."""
    return [None, "sm_{}{}".format(*torch.cuda.get_device_capability())] if torch.cuda.is_available() else [None]


class CudaLibrary:
    """As cpu_library.Library. `architecture`: of this machine's GPU; None: by the emulation."""

    def __init__(
        self, program, folder, architecture=None, name="programs", precision="tf32x3", made=None, loaded=None,
        deterministic=False,
    ):  # fmt: skip
        self.program = program
        self.made = made or cuda.generate(simplified(program), precision=precision, deterministic=deterministic)
        if loaded is not None:
            self.loaded = loaded
        elif architecture is None:
            (self.loaded,) = on_cpu([self.made.made], folder, name)
        else:
            self.loaded = Loaded(self.made.made, compile(self.made.made.source, architecture))

    def runs(self, planes, rows):
        """run() on a GPU; by the emulation of the code for few rows and of that for many, each also with the last warp first,
        so that a missing barrier shows.
        """
        yield self.run(planes, rows)
        if self.loaded.device == "cpu":
            for switches in ([BACKWARDS], [MANY], [MANY, BACKWARDS]):
                with switched_on(switches):
                    yield self.run(planes, rows)

    def run(self, planes, rows):
        """The planes that each output is written to, by block. `planes`: as interpret() takes them."""
        counts, device = dict(zip(self.program.rows, rows)), self.loaded.device
        blocks = {}
        for tensor in self.program.tensors():
            if isinstance(tensor.op, ops.Column):
                op = tensor.op
                used = {plane: planes[op.block, plane] for plane in op.planes}
                blocks[op.block] = memory_block(used, counts[tensor.shape[0]], tensor.dtype, device)
        for output in self.program.outputs:
            used = dict.fromkeys(output.planes)
            blocks[output.block] = memory_block(used, counts[output.value.shape[0]], output.column, device)
        empty = memory_block({0: None}, 1, self.program.outputs[0].column, device)
        self.loaded.bind([blocks.get(i, empty) for i in range(self.made.made.params.blocks)], rows)()
        if device == "cuda":
            torch.cuda.synchronize()
        counted = [(output, counts[output.value.shape[0]]) for output in self.program.outputs]
        return {one.block: planes_found(blocks[one.block], one.planes, count, one.column) for one, count in counted}


def memory_block(planes, rows, dtype, device):
    """A block with elements behind each plane. `planes`: {plane: numbers, or None: 1}; others are 1."""
    memory = np.full((max(planes) + 1, rows + PAD), 77).astype(storage_of(dtype))
    memory[:, :rows] = 1
    for plane, numbers in planes.items():
        if numbers is not None:
            memory[plane, :rows] = stored(numbers, dtype)
    made = Block(0, 0, device=device)
    made.memory = torch.from_numpy(np.frombuffer(memory.tobytes() + bytes(8), np.uint8).copy()).to(device)
    made.address, made.pitch = made.memory.data_ptr(), rows + PAD
    return made


def planes_found(block, planes, rows, dtype):
    """The numbers that a program wrote to some planes, and nowhere else."""
    kind, planes = np.dtype(storage_of(dtype)), list(planes)
    size = (max(planes) + 1) * block.pitch
    table = block.memory.cpu().numpy()[: size * kind.itemsize].view(kind).reshape(-1, block.pitch)
    others, behind = np.delete(table, planes, 0)[:, :rows], table[:, rows:]
    assert (others == 1).all() and (behind == np.array(77).astype(kind)).all(), "written outside of its rows"
    return table[planes, :rows].copy()


def cuda_libraries(programs, folder, architecture=None, precision="ieee", deterministic=False):
    """{key: CudaLibrary} of {key: program} but those that are refused; for the emulation by one run of the compiler."""
    made = {}
    for key, program in programs.items():
        with contextlib.suppress(NotFused):
            made[key] = cuda.generate(simplified(program), precision=precision, deterministic=deterministic)
    loaded = dict.fromkeys(made)
    if architecture is None and made:
        loaded = dict(zip(made, on_cpu([one.made for one in made.values()], folder, "all")))
    return {key: CudaLibrary(programs[key], folder, architecture, made=made[key], loaded=loaded[key]) for key in made}
