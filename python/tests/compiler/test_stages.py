# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of thousands of values, as unrolled loops make them: passes and stages take time in proportion."""

import time

import numpy as np
import pytest

from tensoa.compiler import ir, passes, stages
from tensoa.compiler.ir import Output, Program, Value


def chain(count, is_branched):
    """y = linear(x) after `count` times x = x * a + b, where b is x itself if it is branched."""
    attributes = {"block": 0, "planes": (0, 1), "dtype": "float32", "is_scalar": False}
    value = Value("input", 0, 2, (), attributes)
    for i in range(count):
        scaled = ir.apply("mul", value, ir.constant(0, [1.0 + 1e-8 * i]))
        value = ir.apply("add", scaled, value if is_branched else ir.constant(0, [1e-8 * i]))
    return Program((0,), [Output(1, (0, 1), ir.linear(value, np.eye(2)))])


def seconds(work, make):
    """CPU time of work(make()), the best of three."""
    best = float("inf")
    for _ in range(3):
        program = make()
        start = time.process_time()
        work(program)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("is_branched", [False, True])
@pytest.mark.parametrize("work", [passes.simplify, stages.plan])
def test_time_grows_with_the_number_of_values(work, is_branched):
    few, many = (seconds(work, lambda count=count: chain(count, is_branched)) for count in (200, 2000))
    assert many < 35 * few  # 10 in proportion, 100 as its square


def test_long_chain_of_constants_becomes_one_layer():
    program = passes.simplify(chain(1200, False))
    linear = program.outputs[0].value
    assert [value.op for value in program.values()] == ["input", "linear"] and linear.args[0].op == "input"
    scale, shift = 1.0, 0.0
    for i in range(1200):
        scale, shift = scale * np.float32(1.0 + 1e-8 * i), shift * np.float32(1.0 + 1e-8 * i) + np.float32(1e-8 * i)
    np.testing.assert_allclose(np.diag(linear.weight), scale, rtol=1e-5)
    np.testing.assert_allclose(linear.bias, shift, rtol=1e-5)
