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
    """Its runtime works for so many seconds for a row, or raises."""

    framework = "its runtime"

    def __init__(self, seconds):
        super().__init__(lambda m, x: x @ m.weight)
        self.seconds = seconds

    def reference(self):
        def call(tensors):
            assert [tuple(one.stride()) for one in tensors] == [(3, 1)]
            if self.seconds is None:
                raise RuntimeError("out of memory")
            work(self.seconds * len(tensors[0]))

        return call


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def compared(module, framework="its runtime"):
    tried = Cases(module, bind(*THREE_TO_TWO), [{"collection": 0}])
    return timing.compared(lambda columns, rows: work(1e-3), tried, framework)


def test_both_are_timed_with_the_rows_that_take_no_second():
    found = compared(Own(4e-4))
    assert found.framework == "its runtime" and found.shares == pytest.approx((0.4, 6.4, 400), rel=0.2)
    assert len(compared(Own(4e-2)).shares) == 1  # 16 rows would take 0.64 s


def test_another_framework_one_that_fails_and_one_that_is_missing_are_not_timed():
    missing, refused = Own(1e-4), Own(1e-4)
    missing.reference = lambda: None

    def raises():
        raise InputError("no such operator")

    refused.reference = raises
    assert compared(Own(1e-4), "another") is None
    assert [compared(module) for module in (Own(None), missing, refused)] == [None] * 3


def test_threads_are_as_before():
    before = torch.get_num_threads()
    compared(Own(None))
    assert torch.get_num_threads() == before
