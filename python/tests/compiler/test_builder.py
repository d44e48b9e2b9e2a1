# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The builder alone: what a front end of any framework writes programs with, and one place for a new function."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cuda_programs
import row_programs
from tensoa.compiler import ir, passes, stages
from tensoa.compiler.backends import cuda
from tensoa.compiler.errors import NotFused
from tensoa.compiler.ir import rows
from tensoa.compiler.ir.operations import Function
from tensoa.compiler.ir.rows import plane_array
from tensoa.errors import InputError

PYTHON = Path(__file__).parents[2]


def on_gpu(program, planes, folder):
    """The planes of block 1, of kernels that run on the CPU. `planes`: of block 0, [planes, rows]."""
    program = passes.unrolled(program)
    (loaded,) = cuda_programs.on_cpu([cuda.generate(program, stages.plan(program))], folder)
    result = np.zeros((program.outputs[0].value.width, planes.shape[1]), np.float32)
    blocks = [type("Block", (), {"address": one.ctypes.data, "pitch": one.shape[1]}) for one in (planes, result)]
    loaded.bind(blocks, [planes.shape[1]])()
    return result


def test_a_function_is_added_in_one_place(tmp_path, monkeypatch):
    """A line in the table, and the back end and the reference have it."""
    bump = Function(
        "bump",
        2,
        numpy=lambda x, y: x / (1 + x * x) + np.floor(y),
        cuda="x / (1.f + x * x) + floorf(y)",
        keeps_zero=True,
        bound=lambda bounds: 0.5 + bounds[1],
    )
    monkeypatch.setitem(ir.FUNCTIONS, "bump", bump)
    x = ir.columns(0, 0, range(5))
    layer = ir.linear(ir.apply("bump", x, ir.apply("tanh", x)), np.linspace(-1, 1, 15).reshape(3, 5), [1, 2, 3])
    program = passes.simplify(ir.Program((0,), [ir.Output(1, (0, 1, 2), layer)]))
    assert ir.Bounds()(layer.args[0]) == 1.5
    planes = np.random.default_rng(1).normal(size=(5, 60)).astype(np.float32)
    (expected,) = row_programs.evaluate(program, [planes.astype(float)], [60])
    np.testing.assert_allclose(on_gpu(program, planes, tmp_path), expected.T, rtol=1e-5, atol=1e-6)


def test_a_function_that_the_back_end_does_not_have_is_named(monkeypatch):
    monkeypatch.delenv("TENSOA_VERIFY_IR")  # which knows the functions, too
    program = ir.Program((0,), [ir.Output(1, (0,), ir.apply("gudermannian", ir.columns(0, 0, (0,))))])
    with pytest.raises(InputError, match="has no function 'gudermannian'"):
        cuda.generate(program, stages.plan(program))


@pytest.mark.parametrize(
    "op, attributes, message",
    [
        ("conv", {}, "a row program has no operation 'conv', expected one of input, index"),
        ("linear", {"weight": None, "biasx": None}, r"linear: got the attributes .*, expected \['weight', 'bias', 'times'\]"),
        ("reduce", {}, r"reduce: got the attributes .*, expected \['name', 'times'\]"),
    ],
)
def test_values_with_wrong_attributes_are_refused(op, attributes, message):
    with pytest.raises(InputError, match=message):
        ir.Value(op, 0, 1, (), attributes)


def tensor(planes, steps=()):
    """[n, planes] of block 0."""
    items = [rows.InputPlane(0, i, "float32", 0, False, steps) for i in range(planes)]
    return ir.Rows(plane_array((1, planes), items), 0, 0)


def softmax_of_pairs(builder):
    """[n, 6] as [n, 3, 2]: softmax of every pair, then a layer over all."""
    x = rows.reshape(tensor(6), (1, 3, 2), 0)

    def softmax(value, times):
        exps = builder.map("exp", value)
        return builder.map("div", exps, builder.each(builder.reduce("sum", exps, times), value))

    flat = rows.reshape(builder.spread(x, [-1], softmax), (1, 6), 0)
    result = builder.layer(builder.function("mul", flat, 2.0), np.arange(12).reshape(2, 6) / 7, np.array([0.5, -0.5]))
    return ir.Program((0,), [ir.Output(1, (0, 1), builder.value(result.planes, 0))])


def test_tensors_of_the_builder_mean_what_numpy_means(tmp_path):
    program = passes.simplify(softmax_of_pairs(ir.Builder()))
    planes = np.random.default_rng(2).normal(size=(6, 50))
    exps = np.exp(planes.T.reshape(50, 3, 2))
    expected = (2 * exps / exps.sum(2, keepdims=True)).reshape(50, 6) @ (np.arange(12).reshape(2, 6) / 7).T + [0.5, -0.5]
    (got,) = row_programs.evaluate(program, [planes], [50])
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_what_is_no_row_program_says_why():
    builder = ir.Builder()
    x, other = tensor(2), ir.Rows(plane_array((1, 2), [1.0, 2.0]), 0, 1)
    for wrong, message in (
        (lambda: builder.function("add", x, other), "arithmetic between tensors of different rows"),
        (lambda: builder.function("add", x, np.ones((7, 2))), "a constant that differs from row to row"),
        (lambda: builder.index(tensor(1)), "indices of float32"),
        (lambda: builder.reduced(x, [0], (2,), 0, None), "a sum or maximum over all rows"),
        (lambda: rows.select(x, 0, 3), "one row taken out of all"),
        (lambda: rows.concatenate([x, x, rows.concatenate([x, x], 0)], 0), "rows and elements in one dimension"),
    ):
        with pytest.raises(NotFused, match=message):
            wrong()


def test_a_program_is_built_and_generated_without_torch():
    code = """
import sys
import numpy as np
from tensoa.compiler import ir, passes, stages
from tensoa.compiler.backends import cuda

builder = ir.Builder()
planes = [ir.InputPlane(0, i, "float32", 0, False) for i in range(3)]
x = ir.Rows(ir.rows.plane_array((1, 3), planes), 0, 0)
h = builder.function("relu", builder.layer(x, np.array([[1, 2, 3], [0, -1, 0]], np.float32), np.array([0.5, 0.25])))
program = passes.simplify(ir.Program((0,), [ir.Output(1, (0, 1), builder.value(h.planes, 0))]))
assert cuda.generate(passes.unrolled(program), stages.plan(passes.unrolled(program))).kernels
assert "torch" not in sys.modules, "torch was imported"
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=PYTHON, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
