# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Fused CPU programs, compiled and run, against an interpreter of row programs in float64."""

import contextlib
import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import row_programs
from tensoa.command import InputError
from tensoa.fusion import cpu, graph, package, stages
from tensoa.fusion.capture import NotFused
from tensoa.fusion.graph import Output, Program, Value, apply, constant, gather, linear, pack, scatter

GUARD = 3  # elements around the rows of a plane, which nobody may write
NUMPY_TYPES = {"float16": np.float16, "bfloat16": np.uint16, "float32": np.float32, "float64": np.float64}
RUNNABLE = [
    level
    for level, flag in (("x86-64-v4", "avx512vl"), ("x86-64-v3", "avx2"))
    if flag in open("/proc/cpuinfo").read().split()
]

pytestmark = pytest.mark.skipif(not RUNNABLE, reason="no CPU of level x86-64-v3 here")


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
    return row_programs.FUNCTIONS.get(name) or getattr(np, name)


levels = pytest.mark.parametrize("level", RUNNABLE)
ROWS = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 25, 47, 48, 49, 57, 1000)


@levels
@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 33, 64, 67, 130])
def test_networks_of_all_widths_and_rows(width, level, tmp_path):
    random = np.random.default_rng(width)
    x = columns(0, 0, (4, 0, 1))
    h = apply("relu", dense(x, width, random))
    h = apply("relu", norm(dense(h, width, random), random))
    h = apply("add", h, apply("relu", dense(pack([(x, 0, 3), (h, 0, width)]), width, random)))
    y = linear(norm(h), random.normal(size=(2, width)) / np.sqrt(width))
    program = Program(("rows",), [Output(1, (2, 0), y), Output(1, (5,), reduce(h, "mean"))])
    library = compiled(program, tmp_path, level)
    assert library.library.tensoa_program_abi() == cpu.ABI
    for rows in ROWS:
        Blocks(program, [rows], seed=rows).check(library)


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


@levels
@pytest.mark.parametrize("width, dtype", [(5, "int64"), (16, "int32"), (33, "uint8")])
def test_graph_networks(width, dtype, level, tmp_path):
    program = graph_network(width, np.random.default_rng(width), dtype)
    library = compiled(program, tmp_path, level)
    for rows in ((1, 0), (0, 0), (1, 1), (3, 2), (2, 9), (49, 1), (50, 48), (7, 500), (300, 1001)):
        Blocks(program, rows, seed=rows[1], below=rows[0]).check(library, 1e-4)


def groups_of(random):
    """Values of 6 groups in a row, with all operations over groups: [(value, why it is there)]."""
    x, y = columns(0, 0, range(30)), columns(0, 0, range(30, 48))  # 6 x 5 and 6 x 3
    weight, bias = random.normal(size=(9, 5)) / 2, random.normal(size=9)
    wide = linear(x, random.normal(size=(67, 5)) / 2, random.normal(size=67), 6)
    turned = pack([(x, j * 5 + i, j * 5 + i + 1) for i in range(5) for j in range(6)])
    pairs = pack([part for i in range(3) for j in range(6) for part in ((x, 5 * i, 5 * i + 5), (x, 5 * j, 5 * j + 5))])
    uneven = pack([(x, 0, 10), (y, 0, 4), (x, 12, 13), (x, 20, 25)])
    each = pack([(y, i // 5, i // 5 + 1) for i in range(30)])
    mean = graph.reduce("mean", x, 6)
    shifted = apply("sub", x, pack([(mean, i // 5, i // 5 + 1) for i in range(30)]))
    fixed = constant(0, random.normal(size=30))
    h = apply("relu", linear(x, weight, bias, 6))
    gain = random.normal(size=9).astype(np.float32), random.normal(size=9).astype(np.float32)
    return [
        h,
        apply("relu", wide),
        linear(pairs, random.normal(size=(4, 10)), None, 18),
        linear(turned, random.normal(size=(3, 6)), None, 5),
        linear(uneven, random.normal(size=(2, 4)), None, 5),
        graph.norm(h, *gain, 1e-2, 6),
        apply("relu", graph.norm(apply("add", h, h), None, None, 1e-2, 6)),
        graph.norm(linear(x, weight - weight.mean(axis=0), None, 6), *gain, 1e-2, 6, is_centered=True),
        *(graph.reduce(name, x, 6) for name in cpu.REDUCTIONS),
        *(graph.reduce(name, turned, 5) for name in cpu.REDUCTIONS),
        apply("mul", x, each),
        apply("mul", apply("exp", shifted), apply("add", turned, fixed)),
        graph.product(x, y, 3, 2),  # 2 x [5, 3] x [3, 3]
        graph.product(turned, turned, 6),  # [5, 6] x [6, 5]
        graph.product(y, fixed, 6),
        graph.product(linear(x, random.normal(size=(8, 30))), linear(x, random.normal(size=(38, 30))), 2),  # [4, 2] x [2, 19]
        pack([(turned, 3, 9), (h, 50, 54)]),
    ]


@levels
def test_operations_on_the_groups_of_a_row(level, tmp_path):
    values = groups_of(np.random.default_rng(6))
    program = Program(("rows",), [Output(1 + i, tuple(range(v.width)), v) for i, v in enumerate(values)])
    library = compiled(program, tmp_path, level)
    for rows in (0, 1, 2, 5, 8, 9, 47, 48, 49, 300):
        Blocks(program, [rows], seed=rows).check(library)


@levels
def test_a_value_is_not_replaced_while_it_is_read_in_another_order(level, tmp_path):
    x = columns(0, 0, range(40))
    h = apply("sin", x)
    reverse = pack([(h, i, i + 1) for i in reversed(range(40))])
    later = apply("exp", apply("add", pack([(h, 20, 40), (h, 0, 20)]), h))
    for i, value in enumerate((apply("sub", h, reverse), apply("neg", reverse), later)):
        program = Program(("rows",), [Output(1, tuple(range(40)), value)])
        (tmp_path / str(i)).mkdir()
        library = compiled(program, tmp_path / str(i), level)
        for rows in (1, 7, 50):
            Blocks(program, [rows], seed=rows).check(library)


@levels
@pytest.mark.parametrize("width", [1, 5, 16, 33])
def test_rows_of_constant_tables(width, level, tmp_path):
    random = np.random.default_rng(width)
    table = random.normal(size=(9, width)).astype(np.float32)
    looked_up = Value("lookup", 0, width, (index(0, 1, 0, "int8"),), {"table": table})
    y = dense(apply("relu", dense(pack([(columns(0, 0, (0,)), 0, 1), (looked_up, 0, width)]), 7, random)), 2, random)
    program = Program(("rows",), [Output(2, (0, 1), y), Output(3, (0,), pack([(looked_up, width - 1, width)]))])
    library = compiled(program, tmp_path, level)
    for rows in (0, 1, 9, 49, 1000):
        Blocks(program, [rows], seed=rows, below=9).check(library)
    blocks = Blocks(program, [5], below=9)
    blocks.planes[1][0][:] = (8, -1, 9, 0, 100)
    library.run(blocks.blocks, [5])
    assert list(np.isnan(blocks.planes[3][0])) == [False, True, True, False, True]


def test_iterations_share_their_code():
    """Stages that differ only in weights and buffers are one function."""
    program = graph_network(8, np.random.default_rng(0), iterations=5)
    plan = stages.plan(program)
    source = cpu.generate(program, plan)
    assert source.count("run_stage<Stage") == len(plan.stages) > source.count("struct Stage") + 3


@levels
def test_columns_of_every_type(level, tmp_path):
    outputs, numbers = len(cpu.TYPES), list(cpu.TYPES).index("float32")
    factor = columns(0, numbers, (0,))
    values = [apply("mul", columns(0, i, (1, 0), dtype), factor) for i, dtype in enumerate(cpu.TYPES)]
    program = Program(("rows",), [Output(outputs + i, (0, 1), value) for i, value in enumerate(values)])
    library = compiled(program, tmp_path, level)
    for rows in (1, 8, 9, 50):
        Blocks(program, [rows], below=100).check(library)


DOMAINS = {  # where functions are compared
    "log": (1e-30, 1e30),
    "log2": (1e-30, 1e30),
    "log10": (1e-30, 1e30),
    "exp2": (-126, 127),
    "log1p": (-0.999, 1e3),
    "sqrt": (0, 1e6),
    "rsqrt": (1e-6, 1e6),
    "acosh": (1, 100),
    "atanh": (-0.99, 0.99),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "exp": (-87, 88),
    "sinh": (-30, 30),
    "cosh": (-30, 30),
    "expm1": (-20, 80),
    "asinh": (-1e4, 1e4),
    "tan": (-1.5, 1.5),
}


@levels
def test_functions_of_one_number_are_exact_to_three_units(level, tmp_path):
    x = columns(0, 0, range(len(graph.UNARY)))
    parts = [apply(name, pack([(x, i, i + 1)])) for i, name in enumerate(graph.UNARY)]
    program = Program(("rows",), [Output(1, tuple(range(x.width)), pack([(part, 0, 1) for part in parts]))])
    library = compiled(program, tmp_path, level)
    rows = 20000
    blocks, random = Blocks(program, [rows]), np.random.default_rng(1)
    for i, name in enumerate(graph.UNARY):
        low, high = DOMAINS.get(name, (-8, 8))
        numbers = random.uniform(low, high, rows)
        if name in ("log", "log2", "log10", "sqrt", "rsqrt"):
            numbers = np.exp(random.uniform(np.log(max(low, 1e-6)), np.log(high), rows))
        elif low < 0:
            numbers[::2] *= np.exp(random.uniform(-12, 0, rows // 2))  # small ones too
        blocks.planes[0][i][:] = numbers
    library.run(blocks.blocks, [rows])
    for i, name in enumerate(graph.UNARY):
        got = blocks.planes[1][i]
        with np.errstate(all="ignore"):
            truth = function(name)(blocks.planes[0][i].astype(float))
        unit = np.spacing(np.abs(truth).astype(np.float32))
        assert (np.abs(got - truth) / unit).max() <= 3, f"{name}: {(np.abs(got - truth) / unit).max()} units"


@levels
def test_what_is_no_number_or_not_finite(level, tmp_path):
    names = "exp exp2 expm1 log log2 log10 log1p tanh sigmoid erf asinh relu sqrt abs neg floor".split()
    numbers = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1e-42, 3e38, -3e38, 1e-30, 200.0, -200.0], np.float32)
    x = columns(0, 0, (0,))
    program = Program(("rows",), [Output(1, (i,), apply(name, x)) for i, name in enumerate(names)])
    library = compiled(program, tmp_path, level)
    blocks = Blocks(program, [len(numbers)])
    blocks.planes[0][0][:] = numbers
    library.run(blocks.blocks, [len(numbers)])
    for i, name in enumerate(names):
        with np.errstate(all="ignore"):
            truth = function(name)(numbers.astype(float)).astype(np.float32)
        np.testing.assert_allclose(blocks.planes[1][i], truth, rtol=1e-6, atol=0, err_msg=name)
        if name != "relu":  # of torch gives either zero
            assert np.array_equal(np.signbit(blocks.planes[1][i][3:5]), np.signbit(truth[3:5])), f"{name} of -0"


@levels
def test_functions_of_several_numbers(level, tmp_path):
    a, b, narrow = columns(0, 0, range(5)), columns(0, 0, range(5, 10)), columns(0, 0, (3,))
    fixed, one = constant(0, [0.5, -1.0, 2.0, 0.0, 3.0]), constant(0, [2.0])
    program_values = []
    for name in graph.BINARY:
        first = apply("abs", a) if name == "pow" else a
        program_values += [apply(name, first, b), apply(name, first, narrow), apply(name, first, fixed)]
        program_values += [apply(name, one, b), apply(name, narrow, one)]
    program_values.append(apply("where", apply("gt", a, b), fixed, narrow))
    program_values += [reduce(a, name) for name in cpu.REDUCTIONS]
    program = Program(
        ("rows",), [Output(1 + i, tuple(range(value.width)), value) for i, value in enumerate(program_values)]
    )
    library = compiled(program, tmp_path, level)
    for rows in (1, 5, 20, 48, 100):
        Blocks(program, [rows], seed=rows).check(library)


@levels
def test_numbers_for_all_rows_and_centred_norms(level, tmp_path):
    random = np.random.default_rng(4)
    x, scalar = columns(0, 0, range(20)), columns(0, 1, (1, 0, 2), is_scalar=True)
    weight = random.normal(size=(19, 23))
    hidden = linear(pack([(x, 0, 20), (scalar, 0, 3)]), weight - weight.mean(axis=0))
    centred = Value("norm", 0, 19, (hidden,), {"weight": None, "bias": None, "eps": 1e-5, "is_centered": True})
    there = gather(scalar, index(0, 2, 0))
    program = Program(("rows",), [Output(3, range(19), apply("relu", centred)), Output(4, range(3), there)])
    library = compiled(program, tmp_path, level)
    for rows in (1, 8, 9, 50):
        Blocks(program, [rows], seed=rows).check(library)


@levels
def test_constants_and_cut_values_wherever_values_may_be(level, tmp_path):
    random = np.random.default_rng(5)
    x, fixed = columns(0, 0, range(9)), constant(0, random.normal(size=3))
    mixed = pack([(x, 2, 5), (fixed, 0, 3), (x, 5, 6)])
    nested = pack([(mixed, 1, 5), (x, 0, 2)])
    values = [mixed, dense(nested, 4, random), norm(nested), dense(fixed, 2, random), fixed]
    values += [scatter(mixed, index(0, 1, 0), 0), scatter(fixed, index(0, 1, 0), 0), gather(fixed, index(0, 1, 0))]
    program = Program(("rows",), [Output(2 + i, tuple(range(v.width)), v) for i, v in enumerate(values)])
    library = compiled(program, tmp_path, level)
    for rows in (1, 6, 12, 60):
        Blocks(program, [rows], seed=rows).check(library)


@levels
@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed, level, tmp_path):
    """Values made from random earlier ones, in two domains."""
    random = np.random.default_rng(seed)
    values = [columns(0, 0, (0, 3)), columns(1, 1, (1, 0, 2)), constant(0, [0.5]), constant(1, [0.25, -0.5])]
    indices = {0: index(0, 2, 0), 1: index(1, 3, 0, "int64")}

    def pick(domain=None, width=None):
        fitting = [v for v in values if domain in (None, v.domain) and width in (None, v.width)]
        return fitting[random.integers(len(fitting))]

    for _ in range(40):
        x = pick()
        kind = random.integers(8)
        if kind == 0:
            made = dense(x, int(random.choice([1, 2, 5, 16, 19, 40])), random)
        elif kind == 1:
            made = apply(str(random.choice(["relu", "tanh", "sigmoid", "abs", "neg", "erf"])), x)
        elif kind == 2:
            made = apply(str(random.choice(["add", "maximum", "lt"])), x, pick(x.domain, x.width))
        elif kind == 3:
            made = norm(x, random, 1e-1) if x.width > 1 else x
        elif kind == 4:
            made = gather(x, indices[int(random.integers(2))]) if x.op != "constant" else x
        elif kind == 5:
            made = scatter(apply("tanh", x), indices[x.domain], int(random.integers(2)))
        elif kind == 6:
            other = pick(x.domain)
            made = pack([(x, 0, x.width), (other, other.width // 2, other.width)])
        else:
            made = apply("mul", x, reduce(apply("tanh", x), "mean"))
        if made.width < 200:
            values.append(made)
    outputs = [v for v in values[-6:] if v.width]
    program = Program(("a", "b"), [Output(4 + i, tuple(range(v.width)), v) for i, v in enumerate(outputs)])
    library = compiled(program, tmp_path, level)
    for rows in ((1, 1), (2, 7), (9, 50), (49, 100)):
        Blocks(program, rows, seed=seed).check(library, 2e-4)


@levels
def test_indices_outside_read_nan_and_add_nothing(level, tmp_path):
    nodes, edges = columns(0, 0, (0, 1)), columns(1, 1, (0,))
    source = index(1, 2, 0)
    h = apply("neg", nodes)
    outputs = [Output(3, (0, 1), gather(h, source)), Output(4, (0, 1), gather(nodes, source))]
    program = Program(("nodes", "edges"), [*outputs, Output(5, (0,), scatter(edges, source, 0))])
    library = compiled(program, tmp_path, level)
    for rows in ((4, 7), (4, 60)):
        blocks = Blocks(program, rows, below=4)
        blocks.planes[2][0][:] = 1
        blocks.planes[2][0][[0, 3, 5]] = (-1, 4, 2**31 - 1)
        library.run(blocks.blocks, rows)
        for block in (3, 4):
            for plane in blocks.planes[block].values():
                assert np.isnan(plane[[0, 3, 5]]).all() and not np.isnan(np.delete(plane, [0, 3, 5])).any()
        sums = blocks.planes[5][0]
        assert sums[[0, 2, 3]].tolist() == [0, 0, 0]
        np.testing.assert_allclose(sums[1], np.delete(blocks.planes[1][0], [0, 3, 5]).sum(dtype=float), rtol=1e-5)


@levels
def test_results_are_the_same_bits_every_time(level, tmp_path):
    program = graph_network(12, np.random.default_rng(3))
    library = compiled(program, tmp_path, level)
    blocks, rows = Blocks(program, (20, 999)), (20, 999)
    library.run(blocks.blocks, rows)
    before = blocks.memory[4].copy()
    library.run(blocks.blocks, rows)
    assert np.array_equal(before.view(np.uint32), blocks.memory[4].view(np.uint32))


def test_libraries_need_libm_and_libc_only(tmp_path):
    x = columns(0, 0, (0,))
    program = Program(("rows",), [Output(1, (0,), apply("sin", x))])
    compiled(program, tmp_path, RUNNABLE[0])
    text = subprocess.run(["objdump", "-p", tmp_path / f"{RUNNABLE[0]}.so"], capture_output=True, text=True).stdout
    needed = {line.split()[1] for line in text.splitlines() if "NEEDED" in line}
    assert needed <= {"libm.so.6", "libc.so.6"}


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda x: apply("gamma", x), "no function 'gamma'"),
        (lambda x: columns(0, 0, (0,), "complex64"), "cannot read columns of complex64"),
    ],
)
def test_what_cannot_be_generated_is_named(make, words):
    program = Program(("rows",), [Output(1, (0,), make(columns(0, 0, (0,))))])
    with pytest.raises(InputError, match=words):
        cpu.generate(program, stages.plan(program))


def test_a_program_that_would_take_long_to_compile_is_not_fused():
    x = columns(0, 0, range(3))
    values = [apply("sin", apply("add", x, constant(0, [i, 0, 0]))) for i in range(cpu.LINES)]
    program = Program(("rows",), [Output(1 + i, (0, 1, 2), value) for i, value in enumerate(values)])
    with pytest.raises(NotFused, match=f"the size of its code: .* lines, at most {cpu.LINES} are compiled"):
        cpu.generate(program, stages.plan(program))
    wide = apply("exp", columns(0, 0, range(cpu.FEATURES + 1)))
    program = Program(("rows",), [Output(1, (0,), graph.reduce("sum", wide))])
    with pytest.raises(NotFused, match=f"numbers for a row at a time, at most {cpu.FEATURES} are held"):
        cpu.generate(program, stages.plan(program))


def test_a_chain_that_is_too_long_to_follow_is_not_fused(tmp_path):
    value = columns(0, 0, (0,))
    for _ in range(5000):
        value = apply("sin", value)
    with pytest.raises(NotFused, match="an unexpected error .RecursionError"):
        package.for_cpu(Program(("rows",), [Output(1, (0,), value)]), set(), None, tmp_path)


SLOW = "int f(int x) {" + "".join(f"if (x == {i}) x = x * x + {i};" for i in range(40000)) + "return x; }"


def test_a_compiler_that_takes_too_long_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(cpu, "SECONDS", 1)
    with pytest.raises(NotFused, match="the size of its code: the compiler took longer than 1 CPU s"):
        cpu.build(SLOW, "x86-64-v3", tmp_path / "slow.so")
    assert not (tmp_path / "slow.so").exists()


@pytest.mark.parametrize(
    "script, error, message",
    [
        ("sh -c 'while :; do :; done'; echo 'Abgebrochen' >&2; exit 1", NotFused, "took longer than 1 CPU s"),
        ("kill -KILL $$", NotFused, "ended with the signal 'SIGKILL'"),
        ('echo "an error in the locale $LC_ALL" >&2; exit 1', InputError, "an error in the locale C$"),
    ],
)
def test_a_compiler_is_judged_in_every_language(script, error, message, tmp_path, monkeypatch):
    compiler = tmp_path / "compiler"
    compiler.write_text(f"#!/bin/sh\n{script}\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setattr(cpu, "SECONDS", 1)
    with pytest.raises(error, match=message):
        cpu.build("", "x86-64-v3", tmp_path / "no.so")


def processes_of(folder):
    """Those that name the folder in their arguments."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if str(folder).encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def wait_until(condition):
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_compiler_ends_with_the_process_that_started_it(number, tmp_path):
    (tmp_path / "source.cpp").write_text(SLOW)
    (tmp_path / "temporary").mkdir()
    package = str(pathlib.Path(cpu.__file__).parents[2])
    code = "import sys; from tensoa.fusion import cpu; cpu.build(open(sys.argv[1]).read(), 'x86-64-v3', sys.argv[2])"
    exporter = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "source.cpp", tmp_path / "slow.so"],
        env={**os.environ, "PYTHONPATH": package, "TMPDIR": str(tmp_path / "temporary")},
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: len(processes_of(tmp_path)) >= 4)  # the exporter, its guard, g++, its part
    exporter.send_signal(number)
    exporter.wait()
    wait_until(lambda: not processes_of(tmp_path))
    wait_until(lambda: not list((tmp_path / "temporary").iterdir()))


def test_compiler_errors_are_named(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="cannot compile a fused program for x86-64-v3: .*error"):
        cpu.build("not C++", "x86-64-v3", tmp_path / "no.so")
    with pytest.raises(InputError, match="level 'armv8', expected one of x86-64-v4, x86-64-v3"):
        cpu.build("", "armv8", tmp_path / "no.so")
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(InputError, match="no C\\+\\+ compiler 'no-such-compiler'.*set CXX"):
        cpu.build("", "x86-64-v3", tmp_path / "no.so")
