# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A program next to the runtime of its model."""

import time

import pytest
import torch

from exporting import THREE_TO_TWO, Module, bind
from tensoa.errors import InputError
from tensoa.package import timing
from tensoa.package.cases import Cases


@pytest.mark.parametrize(
    "shares, is_slower",
    [
        ((0.5, 0.6, 0.9), True),
        ((0.5, 0.5, 1.11), False),  # with some number of rows it is faster
        ((0.5, 0.5, 1.09), True),
        ((0.95, 0.95, 0.95), False),  # too near to each other
        ((1.0, 0.8, 0.9), True),
        ((0.9,), True),
        ((0.92,), False),
    ],
)
def test_only_what_is_clearly_slower_and_nowhere_faster_is_slower(shares, is_slower):
    assert timing.Compared("its runtime", shares).is_slower() == is_slower


def test_the_line_says_the_rows():
    assert str(timing.Compared("ONNX Runtime", (0.5, 1.251))) == "ONNX Runtime takes 0.50, 1.25 of its time at 1, 16 rows"


class Own(Module):
    """Its runtime works for `seconds` times the number of rows to the given power, or raises."""

    framework = "its runtime"

    def __init__(self, seconds, power=1):
        super().__init__(lambda m, x: x @ m.weight)
        self.seconds, self.power, self.called, self.given = seconds, power, [], []

    def reference(self):
        def call(tensors):
            assert [tuple(one.stride()) for one in tensors] == [(3, 1)]
            self.called.append(len(tensors[0]))
            self.given.append(tensors[0])
            if self.seconds is None:
                raise RuntimeError("out of memory")
            work(self.seconds * len(tensors[0]) ** self.power)

        return call


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


class Program:
    def __init__(self, call=lambda: work(1e-3)):
        self.call, self.rows = call, []

    def prepared(self, columns, rows):
        self.rows += rows
        return self.call


def compared(module, framework="its runtime", program=None):
    tried = Cases(module, bind(*THREE_TO_TWO), [{"collection": 0}])
    return timing.compared(program or Program(), tried, framework)


def test_both_are_timed_with_the_rows_that_take_no_second():
    found = compared(Own(4e-4))
    assert found.framework == "its runtime" and found.shares == pytest.approx((0.4, 6.4, 400), rel=0.2)
    assert len(compared(Own(4e-2)).shares) == 1  # 16 rows take 0.64 s


def test_no_more_rows_are_called_after_a_call_that_takes_long():
    quadratic, slow = Own(2e-4, power=2), Own(0.6)
    before = time.thread_time()
    assert len(compared(quadratic).shares) == 2  # 1000 rows would take 200 s
    assert max(quadratic.called) == 64 and time.thread_time() - before < 5
    with pytest.raises(timing.NotTimed, match="^a call with 1 row takes more than 0.5 s$"):
        compared(slow)
    assert slow.called == [1]


def test_arguments_are_made_once_and_tensors_of_the_runtime_in_each_call():
    own, program = Own(1e-4), Program()
    compared(own, program=program)
    assert program.rows == timing.CALLED
    first, second = own.given[:2]
    assert first.data_ptr() != second.data_ptr() and torch.equal(first, second)


def test_another_framework_one_that_fails_and_one_that_is_missing_are_not_timed_which_is_said():
    missing, refused = Own(1e-4), Own(1e-4)
    missing.reference = lambda: None

    def raises():
        raise InputError("no such operator")

    refused.reference = raises
    for module, framework, said in (
        (Own(1e-4), "another", "the package is compared with its runtime, not with another"),
        (Own(None), "its runtime", "its runtime fails: out of memory"),
        (missing, "its runtime", "its runtime is not installed"),
        (refused, "its runtime", "no such operator"),
    ):
        with pytest.raises(timing.NotTimed, match=f"^{said}$"):
            compared(module, framework)


def test_an_error_of_the_program_is_not_one_of_its_runtime():
    def fails():
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="^out of memory$"):
        compared(Own(1e-4), program=Program(fails))


def test_threads_are_as_before():
    before = torch.get_num_threads()
    with pytest.raises(timing.NotTimed):
        compared(Own(None))
    assert torch.get_num_threads() == before
