# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Operations that become part of the weights of layers."""

import numpy as np
import pytest

from tensoa.compiler import build, interpret
from tensoa.compiler import operations as ops
from tensoa.compiler.passes import simplified
from tensoa.compiler.program import Output, Program
from tensoa.dtypes import DTYPES, FLOAT32, INT64

ROWS, WIDTH, OUTPUTS = 9, 6, 20
OTHER = build.apply(
    "mul", build.column(2, range(OUTPUTS), FLOAT32, ("hits", OUTPUTS)), build.filled(2, FLOAT32, ("hits", OUTPUTS))
)


def layer(seed, dtype=FLOAT32, inputs=WIDTH):
    """With a mean that is far from zero."""
    draw = np.random.default_rng(seed)
    x = build.cast(build.column(0, range(inputs), FLOAT32, ("hits", inputs)), dtype)
    weight = build.constant(draw.normal(size=(OUTPUTS, inputs)), dtype)
    bias = build.constant(draw.normal(size=OUTPUTS) + 1000, dtype)
    return build.apply("add", build.contract(x, weight, "nk", "ok", "no"), build.with_axis(bias, 0, "hits"))


def gathered(x):
    places = build.view(build.column(1, [0], INT64, ("hits", 1)), x.shape, [build.axis(0), build.affine(0)])
    return build.gather(x, places, [None, build.axis(1)])


def mean_of(x, count=OUTPUTS, is_quotient=True):
    total = build.reduce("sum", x, [1])
    if is_quotient:
        return build.apply("div", total, build.filled(count, x.dtype, ("hits",)))
    return build.apply("mul", total, build.filled(np.float32(1) / np.float32(count), x.dtype, ("hits",)))


def less(x, mean):
    return build.apply("sub", x, build.with_axis(mean, 1, OUTPUTS))


def sums_left(*values):
    """The sums of the program, whose numbers are those that it had."""
    program = Program(("hits",), tuple(Output(10 + i, tuple(range(OUTPUTS)), x, x.dtype) for i, x in enumerate(values)))
    draw = np.random.default_rng(0)
    planes = {(block, i): draw.normal(size=ROWS).astype(np.float32) for block in (0, 2) for i in range(OUTPUTS)}
    planes[1, 0] = draw.integers(0, ROWS, ROWS)
    made = simplified(program)
    for got, wanted in zip(*(interpret.interpret(each, planes, [ROWS]) for each in (made, program)), strict=True):
        np.testing.assert_allclose(got, wanted, atol=2e-3)  # the mean of 1000 is rounded in what is compared with
    return sum(isinstance(tensor.op, ops.Reduce) for tensor in made.tensors())


X = layer(1)
CENTRED = {
    "a layer": less(X, mean_of(X)),
    "by a product": less(X, mean_of(X, is_quotient=False)),
    "a sum of layers": less(y := build.apply("add", X, layer(2)), mean_of(y)),
    "rows of a layer": less(y := build.apply("sub", gathered(X), layer(2)), mean_of(y)),
    "float64": less(y := layer(3, dtype=DTYPES["float64"]), mean_of(y)),
}
LEFT = {
    "another mean": less(X, mean_of(X, OUTPUTS - 1)),
    "the mean of something else": less(X, mean_of(layer(2))),
    "a sum with what is not a layer": less(y := build.apply("add", X, OTHER), mean_of(y)),
    "a layer of one input, which is not a sum": less(y := layer(4, inputs=1), mean_of(y)),
    "a function of a layer": less(y := build.apply("relu", X), mean_of(y)),
    "a short dtype, of which each operation is rounded": less(y := layer(3, dtype=DTYPES["float16"]), mean_of(y)),
}


@pytest.mark.parametrize("name", CENTRED)
def test_a_mean_is_part_of_the_weights(name):
    assert sums_left(CENTRED[name]) == 0


@pytest.mark.parametrize("name", LEFT)
def test_other_means_stay(name):
    assert sums_left(LEFT[name]) == 1


def test_a_layer_that_something_else_reads_is_not_made_twice():
    assert sums_left(less(X, mean_of(X)), build.apply("relu", X)) == 1


# ---- factors of inputs

FACTORS = np.float32([0.3, -7, 11, 1e-3, 100, 1 / 3])
ITEMS = build.column(0, range(2 * WIDTH), FLOAT32, ("hits", 2, WIDTH))


def scaled(factors, fn="mul", x=ITEMS):
    numbers = build.constant(factors, x.dtype)
    axes = [build.axis(i) for i in range(3 - len(numbers.shape), 3)]
    return build.apply(fn, x, build.view(numbers, x.shape, axes))


def products_left(x, left="nik", right="ok", size=1):
    """The products with numbers in the program of a layer, whose numbers are those that it had. `size`: of the weights."""
    weight = build.constant(np.random.default_rng(5).normal(size=(OUTPUTS // 2, WIDTH)) * size, x.dtype)
    args = (x, weight) if left == "nik" else (weight, x)
    value = build.contract(*args, left, right, "nio")
    program = Program(("hits",), (Output(10, tuple(range(OUTPUTS)), value, value.dtype),))
    planes = {(0, i): np.random.default_rng(i).normal(size=ROWS).astype(np.float32) for i in range(2 * WIDTH)}
    made = simplified(program)
    (got,), (wanted,) = (interpret.interpret(each, planes, [ROWS]) for each in (made, program))
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-4 * size)
    return sum(isinstance(tensor.op, ops.Map) for tensor in made.tensors())


@pytest.mark.parametrize("fn", ["mul", "div"])
@pytest.mark.parametrize("labels", [("nik", "ok"), ("ok", "nik")])
def test_factors_of_inputs_are_part_of_the_weights(fn, labels):
    assert products_left(scaled(FACTORS, fn), *labels) == 0
    assert products_left(scaled(np.float32(3), fn), *labels) == 0


@pytest.mark.parametrize("factors", [FACTORS * np.float32(1e-8), FACTORS * 0, FACTORS * np.float32(1e30), FACTORS * np.inf])
def test_factors_with_which_numbers_vanish_or_overflow_elsewhere_stay(factors):
    assert products_left(scaled(factors)) == 1


@pytest.mark.parametrize("size", [1e37, 1e-43])
def test_factors_with_which_weights_vanish_or_overflow_stay(size):
    assert products_left(scaled(FACTORS), size=size) == 1


def test_factors_of_items_stay():
    assert products_left(scaled(np.stack([FACTORS, FACTORS + 1]))) == 1
    assert products_left(scaled(np.stack([FACTORS, FACTORS]))) == 0


def test_factors_of_short_dtypes_stay():
    short = build.cast(ITEMS, DTYPES["float16"])
    assert products_left(scaled(FACTORS, x=short)) > 0
