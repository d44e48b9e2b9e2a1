# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Typed tensors: equal ones are one object, the verifier refuses what breaks a rule, the dump is read by people."""

import gc

import numpy as np
import pytest

from tensoa.compiler import build, tensors
from tensoa.compiler import operations as ops
from tensoa.compiler.operations import affine, axis
from tensoa.compiler.program import Output, Program, transformed
from tensoa.compiler.tensors import Malformed
from tensoa.dtypes import DTYPES, FLOAT32, INT64


def hits(*inner, block=0, dtype=FLOAT32):
    return build.column(block, range(int(np.prod(inner))), dtype, ("hits", *inner))


def test_equal_tensors_are_one_object_and_are_freed():
    x = hits(3)
    assert hits(3) is x and build.apply("neg", x) is build.apply("neg", hits(3))
    assert build.constant([1.0, 2.0], FLOAT32) is build.constant(np.array([1, 2]), FLOAT32)
    assert build.constant(1.0, FLOAT32) is not build.constant(1.0, DTYPES["float64"])
    before = len(tensors._made)
    y = build.apply("exp", build.apply("neg", x))
    assert len(tensors._made) > before - 1 and y.args[0] is build.apply("neg", x)
    del y
    gc.collect()
    assert len(tensors._made) < before + 2


def test_a_view_of_a_view_is_one_view():
    x = hits(3, 4)
    y = build.permute(build.part(x, 2, 3, 4, -1), [0, 2, 1])
    assert y.args == (x,) and y.op.index == (axis(0), axis(2), affine(3, (1, -1)))
    assert build.permute(build.permute(x, [0, 2, 1]), [0, 2, 1]) is x


@pytest.mark.parametrize(
    "make, rule",
    [
        (lambda: build.part(hits(4), 1, 2, 3), "inside of 0..3, got 2..4"),
        (lambda: build.view(hits(4), ("hits", 4), [affine(0), axis(1)]), "a coordinate of hits"),
        (lambda: build.view(hits(4), ("hits", 4), [axis(0), axis(0)]), "no row number in the index"),
        (lambda: build.view(hits(4), ("edges", 4), [axis(0), axis(1)]), "a coordinate of hits"),
        (lambda: build.apply("add", hits(4), hits(3)), "arguments of one shape"),
        (lambda: build.apply("add", hits(4), hits(4, dtype=INT64)), "arguments of one dtype"),
        (lambda: build.apply("exp", hits(4, dtype=INT64)), "floats"),
        (lambda: build.apply("where", hits(4), hits(4), hits(4)), "truth values"),
        (lambda: build.apply("no such function", hits(4)), "a known function"),
        (lambda: build.contract(hits(3), hits(4, block=1), "rk", "rk", "r"), "one size of label k, got 3 and 4"),
        (lambda: build.contract(hits(3), hits(4, block=1), "rk", "rj", "r"), "summed labels that both"),
        (lambda: build.concat([hits(3), hits(3, 1)], 1), "differ in the size of one axis"),
        (lambda: build.gather(hits(3), hits(3), [None, axis(1)]), "places that are integers"),
        (lambda: build.scatter("sum", hits(3), hits(1, dtype=INT64), 0, "hits"), "a place for each element"),
        (lambda: build.sort(hits(3), 1, 4), "at most 3 places, got 4"),
        (lambda: build.reduce("mean", hits(3), [1]), "a joining"),
        (lambda: build.column(0, [1], FLOAT32, ("hits", 2)), "a plane for each of 2 elements, got 1"),
    ],
)
def test_a_broken_rule_is_refused_where_it_is_made(make, rule):
    with tensors.made_by("this pass"), pytest.raises(Malformed) as error:
        make()
    assert rule in str(error.value) and "made by this pass" in str(error.value)


def test_a_pass_that_breaks_a_rule_is_named():
    x = hits(4)
    program = Program(("hits",), (Output(1, (0, 1, 2, 3), build.apply("neg", x), FLOAT32),))

    def rule(tensor):
        return build.part(tensor, 1, 1, 4) if isinstance(tensor.op, ops.Map) else None

    with pytest.raises(Malformed, match=r"view\[i0, i1\+1\] of float32\[hits, 4\].*made by shift"):
        transformed(program, rule, "shift")


def test_a_program_needs_known_rows_and_one_row_axis_first():
    with pytest.raises(Malformed, match="has rows of hits, expected edges"):
        Program(("edges",), (Output(1, (0,), hits(1), FLOAT32),))
    with pytest.raises(Malformed, match="expected rows and then fixed sizes"):
        Program(("hits",), (Output(1, (0,), build.constant([1.0], FLOAT32), FLOAT32),))


def test_dump():
    weight = build.constant(np.ones((2, 3)), FLOAT32)
    y = build.apply("relu", build.contract(hits(3), weight, "rk", "ok", "ro"))
    program = Program(("hits",), (Output(1, (0, 1), y, FLOAT32),))
    lines = program.dump().splitlines()
    assert lines[0] == "program of rows hits"
    assert lines[1] == "  %0 = column [block 0, planes 0..2](): float32[hits, 3]"
    assert lines[2].startswith("  %1 = constant [") and lines[2].endswith("](): float32[2, 3]")
    assert lines[3:] == [
        "  %2 = contract [rk,ok->ro](%0, %1): float32[hits, 2]",
        "  %3 = map [relu](%2): float32[hits, 2]",
        "  block 1, planes 0,1 of float32 = %3",
    ]
