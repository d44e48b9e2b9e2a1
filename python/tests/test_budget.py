# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The time and memory that a package may take."""

import subprocess
import sys
import threading
import time

import pytest
import torch
from torch import nn

import tensoa
from tensoa.budget import MEMORY, SECONDS, Budget, budget_of, within
from tensoa.command import step
from tensoa.errors import InputError, Unsupported

MUCH = 1e9
BUSY = "while True: pass"


def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_time_of_this_process_ends_the_block_with_the_step():
    step("counting sheep")
    with pytest.raises(Unsupported, match=r"^its time, more than 0.3 s of CPU \(--seconds\), at the step: counting sheep$"):
        with within(Budget(0.3, MUCH)):
            work(60)


def test_time_of_processes_that_it_started_counts():
    started = time.monotonic()
    with pytest.raises(Unsupported, match="its time"):
        with within(Budget(0.5, MUCH)):
            subprocess.run([sys.executable, "-c", BUSY], timeout=60, check=False)
    assert time.monotonic() - started < 50


def test_memory_ends_the_block():
    with pytest.raises(Unsupported, match=r"its memory, more than 0.2 GiB \(--memory\)"):
        with within(Budget(MUCH, 0.2)):
            kept = [torch.ones(1 << 20) for _ in range(150)]  # 0.6 GiB
            work(60)
            del kept


def test_what_handles_the_errors_of_models_does_not_keep_it():
    with pytest.raises(Unsupported, match="its time"):
        with within(Budget(0.2, MUCH)):
            while True:
                try:
                    work(60)
                except Exception:
                    pass


def test_what_takes_less_is_left_alone_and_its_errors_pass():
    with within(Budget(MUCH, MUCH)):
        work(0.01)
    with pytest.raises(KeyError):
        with within(Budget(MUCH, MUCH)):
            raise KeyError("of the block")


def test_several_blocks_share_one_budget():
    budget = Budget(1.0, MUCH)
    with within(budget):
        work(0.6)
    begin = time.process_time()
    with pytest.raises(Unsupported, match="its time"):
        with within(budget):
            work(60)
    assert time.process_time() - begin < 10
    with within(Budget(1.0, MUCH)):
        work(0.6)


def test_what_was_done_before_a_budget_was_made_does_not_count():
    work(0.6)
    with within(Budget(0.5, MUCH)):
        work(0.1)


def test_another_thread_is_not_limited():
    done = []

    def run():
        with within(Budget(1e-6, MUCH)):
            work(0.5)
        done.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert done == [True]


def test_larger_models_may_take_more():
    assert budget_of(10, None, None) == Budget(SECONDS, MEMORY)
    assert budget_of(50_000_000, None, 3) == Budget(5 * SECONDS, 3)


@pytest.mark.parametrize("wrong", [{"seconds": 0}, {"memory": -1}, {"seconds": float("nan")}])
def test_no_budget_is_refused(wrong, tmp_path):
    with pytest.raises(InputError, match=f"{next(iter(wrong))}: got .*, expected more than 0"):
        tensoa.compile(nn.Linear(3, 2), tmp_path / "m.pt2", columns=["input=a,b,c"], report=lambda line: None, **wrong)
    assert [*tmp_path.iterdir()] == []


def test_a_package_that_takes_more_becomes_a_program_of_torch_export(tmp_path):
    lines, module = [], nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
    tensoa.compile(module, tmp_path / "m.pt2", columns=["input=a,b,c"], seconds=0.3, report=lines.append)
    (said,) = [line for line in lines if line.startswith("not compiled ahead of time: its time, more than 0.3 s of CPU")]
    assert said.endswith("; run just in time by torch.export")
    x = torch.randn(9, 3)
    torch.testing.assert_close(torch.export.load(tmp_path / "m.pt2").module()(x), module(x))
