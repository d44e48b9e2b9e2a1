# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Functions of numbers on CPUs, and indices that name no row."""

import numpy as np
import pytest

from cpu_programs import Blocks, columns, compiled, dense, function, graph_network, index, levels, needs_level, norm, reduce
from tensoa.compiler import ir
from tensoa.compiler.ir import Output, Program, Value, apply, constant, gather, linear, pack, scatter

pytestmark = needs_level

#: Functions of two numbers.
OF_TWO = [name for name, made in ir.FUNCTIONS.items() if made.arity == 2]


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
    x = columns(0, 0, range(len([n for n, f in ir.FUNCTIONS.items() if f.arity == 1])))
    parts = [apply(name, pack([(x, i, i + 1)])) for i, name in enumerate([n for n, f in ir.FUNCTIONS.items() if f.arity == 1])]
    program = Program(("rows",), [Output(1, tuple(range(x.width)), pack([(part, 0, 1) for part in parts]))])
    library = compiled(program, tmp_path, level)
    rows = 20000
    blocks, random = Blocks(program, [rows]), np.random.default_rng(1)
    for i, name in enumerate([n for n, f in ir.FUNCTIONS.items() if f.arity == 1]):
        low, high = DOMAINS.get(name, (-8, 8))
        numbers = random.uniform(low, high, rows)
        if name in ("log", "log2", "log10", "sqrt", "rsqrt"):
            numbers = np.exp(random.uniform(np.log(max(low, 1e-6)), np.log(high), rows))
        elif low < 0:
            numbers[::2] *= np.exp(random.uniform(-12, 0, rows // 2))  # small ones too
        blocks.planes[0][i][:] = numbers
    library.run(blocks.blocks, [rows])
    for i, name in enumerate([n for n, f in ir.FUNCTIONS.items() if f.arity == 1]):
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


# In two programs: one takes a slow machine nearly as long as compilers may take.
@pytest.mark.parametrize("names", [OF_TWO[::2], OF_TWO[1::2]], ids=["even", "odd"])
@levels
def test_functions_of_several_numbers(level, names, tmp_path):
    a, b, narrow = columns(0, 0, range(5)), columns(0, 0, range(5, 10)), columns(0, 0, (3,))
    fixed, one = constant(0, [0.5, -1.0, 2.0, 0.0, 3.0]), constant(0, [2.0])
    program_values = []
    for name in names:
        first = apply("abs", a) if name == "pow" else a
        program_values += [apply(name, first, b), apply(name, first, narrow), apply(name, first, fixed)]
        program_values += [apply(name, one, b), apply(name, narrow, one)]
    program_values.append(apply("where", apply("gt", a, b), fixed, narrow))
    program_values += [reduce(a, name) for name in ir.REDUCTIONS]
    program = Program(("rows",), [Output(1 + i, tuple(range(value.width)), value) for i, value in enumerate(program_values)])
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
