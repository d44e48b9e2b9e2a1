# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Runs generated programs for CPUs, and compares them with row_programs.py."""

import ctypes

import numpy as np
import pytest

import row_programs
from tensoa.compiler import ir, stages
from tensoa.compiler.backends import cpu
from tensoa.compiler.ir import Output, Program, Value, apply, gather, linear, pack, scatter

GUARD = 3  # elements around the rows of a plane, which no program may write
NUMPY_TYPES = {"float16": np.float16, "bfloat16": np.uint16, "float32": np.float32, "float64": np.float64}
RUNNABLE = [
    level for level, flag in (("x86-64-v4", "avx512vl"), ("x86-64-v3", "avx2")) if flag in open("/proc/cpuinfo").read().split()
]

needs_level = pytest.mark.skipif(not RUNNABLE, reason="no CPU of level x86-64-v3 here")


# ---- running


class Block(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("pitch", ctypes.c_int64)]


class Library:
    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.tensoa_program_abi.restype = ctypes.c_int64
        self.library.tensoa_program_workspace.restype = ctypes.c_int64

    def run(self, blocks, rows):
        rows = (ctypes.c_int64 * len(rows))(*rows)
        size = self.library.tensoa_program_workspace(rows)
        memory = np.full(size + 128, 0xFF, np.uint8)  # NaN wherever it is read before it was written
        start = -memory.ctypes.data % 64
        self.library.tensoa_program_run(
            (Block * len(blocks))(*[Block(*block) for block in blocks]),
            rows,
            ctypes.c_void_p(memory.ctypes.data + start),
        )
        assert (memory[start + size :] == 0xFF).all() and (memory[:start] == 0xFF).all(), "not in the workspace"


def compiled(program, folder, level):
    path = folder / f"{level}.so"
    cpu.build(cpu.generate(program, stages.plan(program)), level, path)
    return Library(path)


def numbers_of(dtype, count, random, below):
    if dtype == "bool":
        return random.integers(0, 2, count).astype(bool)
    if "int" in dtype:
        return random.integers(0, max(1, min(below, 100)), count).astype(dtype)
    values = random.normal(size=count)
    if dtype == "bfloat16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(NUMPY_TYPES[dtype])


def widened(dtype, values):
    return (values.astype(np.uint32) << 16).view(np.float32) if dtype == "bfloat16" else values


class Blocks:
    """Memory of the blocks of a program: planes with gaps, at odd addresses, filled with numbers."""

    def __init__(self, program, rows, seed=0, below=None):
        random = np.random.default_rng(seed)
        self.program, self.rows = program, rows
        places, dtypes, domains = {}, {}, {}
        for value in program.values():
            if value.op in ("input", "index"):
                planes = value.planes if value.op == "input" else (value.plane,)
                places.setdefault(value.block, set()).update(planes)
                dtypes[value.block], domains[value.block] = value.dtype, value.domain
        for output in program.outputs:
            places.setdefault(output.block, set()).update(output.planes)
            dtypes[output.block], domains[output.block] = "float32", output.value.domain
        self.memory, self.blocks, self.planes = {}, [], {}
        for block in range(max(places) + 1):
            if block not in places:  # the program does not use it
                self.blocks.append((None, 0))
                continue
            count, dtype = rows[domains[block]], dtypes[block]
            pitch = count + GUARD + block
            size = pitch * (max(places[block]) + 1) + GUARD
            smallest = min(rows) if below is None else below
            memory = numbers_of(dtype, size + 1, random, smallest)[1:]  # not aligned to more than an element
            self.memory[block] = memory
            first = memory[GUARD:]
            self.blocks.append((first.ctypes.data, pitch))
            self.planes[block] = {p: first[p * pitch : p * pitch + count] for p in range(max(places[block]) + 1)}
        self.dtypes = dtypes

    def check(self, library, tolerance=2e-5):
        """Runs the library, and compares all of the memory with what it must be."""
        expected = {block: memory.copy() for block, memory in self.memory.items()}
        wide = {b: {p: widened(self.dtypes[b], x) for p, x in planes.items()} for b, planes in self.planes.items()}
        with np.errstate(all="ignore"):
            results = row_programs.evaluate(self.program, wide, self.rows)
        library.run(self.blocks, self.rows)
        for output, result in zip(self.program.outputs, results):
            for i, place in enumerate(output.planes):
                got, truth = self.planes[output.block][place], result[:, i]
                scale = max(1.0, np.nanmax(np.abs(result[np.isfinite(result)]), initial=0.0))
                np.testing.assert_allclose(got, truth, rtol=tolerance, atol=tolerance * scale)
                start = (got.ctypes.data - self.memory[output.block].ctypes.data) // 4
                expected[output.block][start : start + len(got)] = got
        for block, memory in self.memory.items():
            assert np.array_equal(memory.view(np.uint8), expected[block].view(np.uint8)), f"block {block} changed"


def columns(domain, block, planes, dtype="float32", is_scalar=False):
    attributes = {"block": block, "planes": tuple(planes), "dtype": dtype, "is_scalar": is_scalar}
    return Value("input", domain, len(planes), (), attributes)


def index(domain, block, plane, dtype="int32"):
    return Value("index", domain, 1, (), {"block": block, "plane": plane, "dtype": dtype})


def norm(x, random=None, eps=1e-5):
    weight = None if random is None else random.normal(size=x.width).astype(np.float32)
    bias = None if random is None else random.normal(size=x.width).astype(np.float32)
    return Value("norm", x.domain, x.width, (x,), {"weight": weight, "bias": bias, "eps": eps, "is_centered": False})


def reduce(x, name):
    return Value("reduce", x.domain, 1, (x,), {"name": name})


def dense(x, width, random):
    return linear(x, random.normal(size=(width, x.width)) / np.sqrt(x.width), random.normal(size=width))


def function(name):
    return ir.FUNCTIONS[name].numpy


levels = pytest.mark.parametrize("level", RUNNABLE)
ROWS = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 25, 47, 48, 49, 57, 1000)


def graph_network(width, random, dtype="int32", iterations=2):
    """Iterations that gather states of nodes, and sum messages and states of edges in both directions."""
    nodes, edges = columns(0, 0, (0, 1, 2)), columns(1, 1, (0, 1))
    source, target = index(1, 2, 0, dtype), index(1, 2, 1, dtype)
    h = pack([(apply("tanh", dense(nodes, width, random)), 0, width), (nodes, 0, 3)])
    e = dense(edges, width, random)
    for _ in range(iterations):
        here, there = gather(h, source), gather(h, target)
        hidden = norm(dense(pack([(here, 0, h.width), (there, 0, h.width), (e, 0, width)]), width, random), random)
        e = apply("add", e, dense(apply("relu", hidden), width, random))
        weight = apply("sigmoid", dense(e, 1, random))
        message = scatter(apply("mul", weight, here), target, 0)
        state = scatter(e, source, 0)
        update = dense(pack([(message, 0, h.width), (h, 0, h.width), (state, 0, width)]), width, random)
        h = pack([(apply("relu", norm(update)), 0, width), (nodes, 0, 3)])
    score = apply("sigmoid", dense(pack([(gather(h, source), 0, width), (gather(nodes, target), 1, 3)]), 1, random))
    return Program(("nodes", "edges"), [Output(3, (0,), score), Output(4, (1, 0), pack([(h, width - 1, width + 1)]))])
