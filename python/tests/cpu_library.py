# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the C++ of typed programs on planes of memory, and compares nothing."""

import ctypes
from unittest import mock

import numpy as np

from cpu_programs import GUARD, RUNNABLE, Block
from tensoa.compiler import cpu
from tensoa.compiler import operations as ops
from tensoa.compiler.operations import storage
from tensoa.compiler.passes import simplified


def compiled_quickly():
    """In this block programs are compiled with -O0, in an eighth of the time."""
    return mock.patch.object(cpu.library, "FLAGS", ["-O0" if flag == "-O3" else flag for flag in cpu.library.FLAGS])


class Library:
    def __init__(self, program, folder, level=None, name="program"):
        self.program = program
        path = folder / f"{name}.so"
        self.source = cpu.generate(simplified(program))
        cpu.build(self.source, level or RUNNABLE[0], path)
        self.library = ctypes.CDLL(str(path))
        self.library.tensoa_program_workspace.restype = ctypes.c_int64

    def run(self, planes, rows):
        """The planes that each output is written to, by block. `planes`: as interpret() takes them."""
        memory, blocks = self.blocks(planes, dict(zip(self.program.rows, rows)))
        before = {block: array.copy() for block, (array, _) in memory.items()}
        self.call(blocks, rows)
        written = {output.block: output for output in self.program.outputs}
        found = {}
        for block, (array, count) in memory.items():
            if block in written:
                planes_ = written[block].planes
                found[block] = np.stack([array[plane, GUARD : GUARD + count] for plane in planes_]).copy()
                for plane in planes_:
                    array[plane, GUARD : GUARD + count] = before[block][plane, GUARD : GUARD + count]
            assert array.tobytes() == before[block].tobytes(), f"block {block}: written outside of its rows"
        return found

    def blocks(self, planes, counts):
        """Memory of each block, [planes, guard + rows + guard]."""
        memory = {}
        for tensor in self.program.tensors():
            if isinstance(tensor.op, ops.Column):
                count = counts[tensor.shape[0]]
                array = np.zeros((max(tensor.op.planes) + 1, count + 2 * GUARD), storage_of(tensor.dtype))
                for plane in tensor.op.planes:
                    array[plane, GUARD : GUARD + count] = stored(planes[tensor.op.block, plane], tensor.dtype)
                memory[tensor.op.block] = array, count
        for output in self.program.outputs:
            count = counts[output.value.shape[0]]
            shape = (max(output.planes) + 1, count + 2 * GUARD)
            memory[output.block] = np.full(shape, 1, storage_of(output.column)), count
        blocks = []
        for block in range(max(memory) + 1):
            if block in memory:
                array = memory[block][0]
                blocks.append(Block(array.ctypes.data + GUARD * array.itemsize, array.shape[1]))
            else:
                blocks.append(Block(None, 0))
        return memory, blocks

    def call(self, blocks, rows):
        counts = (ctypes.c_int64 * len(rows))(*rows)
        size = self.library.tensoa_program_workspace(counts)
        memory = np.full(size + 128, 0xFF, np.uint8)  # NaN wherever it is read before it was written
        start = -memory.ctypes.data % 64
        self.library.tensoa_program_run((Block * len(blocks))(*blocks), counts, ctypes.c_void_p(memory.ctypes.data + start))
        assert (memory[start + size :] == 0xFF).all() and (memory[:start] == 0xFF).all(), "not in the workspace"


def storage_of(dtype):
    """The dtype of columns for numbers of a dtype."""
    return np.uint16 if dtype.name in ("float16", "bfloat16") else np.dtype(dtype.name)


def stored(numbers, dtype):
    if dtype.name == "float16":
        return numbers.astype(np.float16).view(np.uint16)
    if dtype.name == "bfloat16":
        return (np.ascontiguousarray(numbers, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return numbers


def loaded(numbers, dtype):
    """The opposite, as the interpreter has them."""
    if dtype.name == "float16":
        return numbers.view(np.float16).astype(np.float32)
    if dtype.name == "bfloat16":
        return (numbers.astype(np.uint32) << 16).view(np.float32)
    return numbers.astype(storage(dtype))
