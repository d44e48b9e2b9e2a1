# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Passes: the same numbers with less work."""

import numpy as np
import pytest

from tensoa.compiler import build, interpret
from tensoa.compiler import operations as ops
from tensoa.compiler.passes import is_row_gather, simplified
from tensoa.compiler.program import Output, Program
from tensoa.dtypes import FLOAT32, INT64

NODES, EDGES, WIDTH = 7, 15, 4
X = build.column(0, range(WIDTH), FLOAT32, ("nodes", WIDTH))
Y = build.column(1, range(WIDTH), FLOAT32, ("edges", WIDTH))


def place(shape):
    numbers = build.column(2, [0], INT64, ("edges", 1))
    return build.view(numbers, shape, [build.axis(0), build.affine(0)])


def passed(value):
    """The program through the passes, with the same numbers to a rounding of products."""
    width = int(np.prod(value.inner))
    program = Program(("nodes", "edges"), (Output(3, tuple(range(width)), value, FLOAT32),))
    draw = np.random.default_rng(0)
    planes = {(block, i): draw.normal(size=n).astype(np.float32) for block, n in ((0, NODES), (1, EDGES)) for i in range(WIDTH)}
    planes[2, 0] = draw.integers(0, NODES - 1, EDGES)  # no edge is of the last one
    planes[1, 0][:] = -0.0
    made = simplified(program)
    (wanted,), (got,) = (interpret.interpret(each, planes, [NODES, EDGES]) for each in (program, made))
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)
    assert np.array_equal(np.signbit(got), np.signbit(wanted))
    return made


def kinds(program):
    return [type(tensor.op) for tensor in program.tensors()]


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_sums_by_index_are_not_added_to_zeros(zero):
    total = build.scatter("sum", Y, place(Y.shape), 0, "nodes")
    for args in ((build.filled(zero, FLOAT32, X.shape), total), (total, build.filled(zero, FLOAT32, X.shape))):
        assert ops.Map not in kinds(passed(build.apply("add", *args)))


def test_other_numbers_and_other_joinings_are_added():
    total = build.scatter("sum", Y, place(Y.shape), 0, "nodes")
    largest = build.scatter("max", build.apply("abs", Y), place(Y.shape), 0, "nodes")
    assert ops.Map in kinds(passed(build.apply("add", build.filled(1.0, FLOAT32, X.shape), total)))
    assert kinds(passed(build.apply("add", build.filled(0.0, FLOAT32, X.shape), largest))).count(ops.Map) == 2


@pytest.mark.parametrize("read", [(0, 1, WIDTH), (0, 1, 2), (1, 1, 3), (3, -1, 2)], ids=["all", "first", "last", "turned"])
@pytest.mark.parametrize(("outputs", "right", "out"), [((3,), "ok", "no"), ((), "k", "n")])
def test_layers_of_gathered_rows_are_made_for_each_row_of_the_source(outputs, right, out, read):
    first, step, size = read
    gathered = build.gather(X, place((Y.shape[0], size)), [None, build.affine(first, (1, step))])
    weight = build.constant(np.random.default_rng(1).normal(size=(*outputs, size)), FLOAT32)
    program = passed(build.contract(gathered, weight, "nk", right, out))
    (gather,) = (tensor for tensor in program.tensors() if is_row_gather(tensor))
    assert isinstance(gather.args[0].op, ops.Contract) and gather.args[0].rows == ("nodes",)


def test_an_order_of_other_numbers_reads_a_table_of_one_axis():
    table = build.constant(np.arange(WIDTH), FLOAT32)
    order = build.sort(X, 1, WIDTH, True)
    passed(build.gather(table, order, [None]))
