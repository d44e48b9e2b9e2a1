# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Views of parts, made of these parts alone."""

import numpy as np
import pytest

from tensoa.compiler import build, interpret
from tensoa.compiler import operations as ops
from tensoa.compiler.program import Output, Program
from tensoa.compiler.selected import selected
from tensoa.dtypes import FLOAT32

ROWS, PLANES = 5, 12


def hits(*inner, block=0):
    return build.column(block, range(int(np.prod(inner))), FLOAT32, ("hits", *inner))


def layer(x, left, out):
    draw = np.random.default_rng(0)
    weight = build.constant(draw.normal(size=(4, 3)).astype(np.float32), FLOAT32)
    return build.contract(x, weight, left, "ok", out)


def program_of(*values):
    outputs = [Output(10 + i, tuple(range(int(np.prod(x.inner)))), x, x.dtype) for i, x in enumerate(values)]
    return Program(("hits",), tuple(outputs))


def same_numbers(program):
    """The program with parts selected, which is checked to give the same numbers."""
    draw = np.random.default_rng(1)
    planes = {(block, i): draw.normal(size=ROWS).astype(np.float32) for block in (0, 1) for i in range(PLANES)}
    made = selected(program)
    for one, other in zip(*(interpret.interpret(each, planes, [ROWS]) for each in (program, made)), strict=True):
        np.testing.assert_array_equal(one, other)
    return made


def operations(program, kind):
    return [tensor for tensor in program.tensors() if isinstance(tensor.op, kind)]


def test_steps_of_a_layer_are_layers_of_steps():
    x = hits(4, 3)
    steps = build.apply("relu", layer(x, "ntk", "nto"))
    program = same_numbers(program_of(build.apply("sub", build.select(steps, 1, 0), build.select(steps, 1, 3))))
    assert [one.shape for one in operations(program, ops.Contract)] == [("hits", 4)] * 2


@pytest.mark.parametrize("place", [0, 1])
def test_a_step_of_a_concat_is_its_part(place):
    parts = [build.apply("exp", hits(1, 3, block=block)) for block in (0, 1)]
    program = same_numbers(program_of(build.select(build.concat(parts, 1), 1, place)))
    assert not operations(program, ops.Concat) and [one.op.block for one in operations(program, ops.Column)] == [place]


def test_views_over_the_border_of_parts_keep_the_concat():
    parts = [build.apply("exp", hits(2, 3, block=block)) for block in (0, 1)]
    assert operations(same_numbers(program_of(build.part(build.concat(parts, 1), 1, 1, 2))), ops.Concat)


def test_a_layer_that_something_reads_whole_stays():
    steps = layer(hits(4, 3), "ntk", "nto")
    program = same_numbers(program_of(build.select(steps, 1, 0), build.reduce("sum", steps, [1])))
    assert [one.shape for one in operations(program, ops.Contract)] == [("hits", 4, 4)]


def test_outputs_of_a_layer_are_not_layers_of_their_own():
    steps = layer(hits(3), "nk", "no")
    program = same_numbers(program_of(build.apply("sub", build.part(steps, 1, 0, 1), build.part(steps, 1, 3, 1))))
    assert [one.shape for one in operations(program, ops.Contract)] == [("hits", 4)]
