# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Fused CPU programs, compiled and run, against an interpreter of row programs in float64."""

import numpy as np
import pytest

from cpu_programs import ROWS, Blocks, columns, compiled, dense, graph_network, index, levels, needs_level, norm, reduce
from tensoa.compiler import ir, stages
from tensoa.compiler.backends import cpu
from tensoa.compiler.ir import Output, Program, Value, apply, constant, linear, pack
from tensoa.dtypes import DTYPES

pytestmark = needs_level


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
    mean = ir.reduce("mean", x, 6)
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
        ir.norm(h, *gain, 1e-2, 6),
        apply("relu", ir.norm(apply("add", h, h), None, None, 1e-2, 6)),
        ir.norm(linear(x, weight - weight.mean(axis=0), None, 6), *gain, 1e-2, 6, is_centered=True),
        *(ir.reduce(name, x, 6) for name in ir.REDUCTIONS),
        *(ir.reduce(name, turned, 5) for name in ir.REDUCTIONS),
        apply("mul", x, each),
        apply("mul", apply("exp", shifted), apply("add", turned, fixed)),
        ir.product(x, y, 3, 2),  # 2 x [5, 3] x [3, 3]
        ir.product(turned, turned, 6),  # [5, 6] x [6, 5]
        ir.product(y, fixed, 6),
        ir.product(linear(x, random.normal(size=(8, 30))), linear(x, random.normal(size=(38, 30))), 2),  # [4, 2] x [2, 19]
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
    source = cpu.generate(program, plan).text
    assert source.count("run_stage<Stage") == len(plan.stages) > source.count("struct Stage") + 3


@levels
def test_columns_of_every_type(level, tmp_path):
    outputs, numbers = len(DTYPES), list(DTYPES).index("float32")
    factor = columns(0, numbers, (0,))
    values = [apply("mul", columns(0, i, (1, 0), dtype), factor) for i, dtype in enumerate(DTYPES)]
    program = Program(("rows",), [Output(outputs + i, (0, 1), value) for i, value in enumerate(values)])
    library = compiled(program, tmp_path, level)
    for rows in (1, 8, 9, 50):
        Blocks(program, [rows], below=100).check(library)
