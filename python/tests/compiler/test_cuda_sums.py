# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Sums by index in CUDA programs with totals: no atomics on floats, nothing more to launch than a count, and on a GPU
the same bits at every call, which are those of float64.
"""

import re

import numpy as np
import pytest
import torch

import cuda_programs
import row_programs
from bindings import GRAPH
from tensoa.compiler import ir, stages
from tensoa.compiler.backends import cuda
from tensoa.compiler.ir import Output, Program, apply, gather, scatter
from tensoa.package import fused
from tensoa.tracking.interaction_network import InteractionNetwork
from test_cuda import assert_close, columns, compiled, gpu_results, index, message_passing, needs_gpu, network_of
from test_torch_export import exatrkx

NETWORKS = {
    "message passing": message_passing,
    "ours": lambda: network_of(InteractionNetwork(32, 4), GRAPH),
    "exatrkx": lambda: network_of(exatrkx(64), GRAPH[:2]),
}


def generated(program, with_totals=True, precision="tf32x3"):
    return cuda.generate(program, stages.plan(program, with_totals=with_totals), precision)


def kernels_of(program, with_totals=True):
    source = generated(program, with_totals).source
    return source[source.index('extern "C"') :]


def sums_alone(width):
    return Program((0, 1), [Output(2, tuple(range(width)), scatter(columns(width, 1), index(1, 1, 0, "int32"), 0))])


# ---- without a GPU


@pytest.mark.parametrize("name", NETWORKS)
def test_nothing_is_added_to_memory(name):
    program = NETWORKS[name]()
    assert "scatter" in kernels_of(program, with_totals=False)
    assert not any(word in kernels_of(program) for word in ("scatter", "add_to", "atomic"))


@pytest.mark.parametrize("name", NETWORKS)
def test_a_call_has_one_more_kernel_that_counts_and_one_memory_set_to_zero(name):
    program = NETWORKS[name]()
    without, steps = generated(program, with_totals=False).steps, generated(program).steps
    assert [type(step) for step in steps[:2]] == [cuda.Zero, cuda.Launch] and steps[1].domain == 1
    assert [step.domain for step in steps[2:]] == [step.domain for step in without]


def test_what_is_stored_anyway_is_summed_where_it_lies():
    """States of edges, which the next round reads: two sums of them store nothing more than the lists."""
    program = NETWORKS["ours"]()

    def bytes_of_edges(with_totals):
        return sum(b.row_bytes for b in generated(program, with_totals).buffers if b.domain == 1)

    assert bytes_of_edges(True) - bytes_of_edges(False) == 2 * 8


def test_a_sum_that_no_stage_reads_in_its_own_row_has_a_stage_of_its_own():
    at = index(1, 1)
    share = apply("div", columns(3, 1), gather(scatter(columns(3, 1), at, 0), at))
    program = Program((0, 1), [Output(2, (0, 1, 2), share)])
    plan = stages.plan(program, with_totals=True)
    assert [stages.describe(stage) for stage in plan.stages if stage.domain == 0] == ["total 3"]
    assert kernels_of(program).count("total<") == 1


def test_programs_compile_and_spill_no_more_than_others():
    for name, program in NETWORKS.items():
        log, program = [], program()
        for architecture in cuda.ARCHITECTURES if name == "ours" else ["sm_90"]:
            assert cuda.compile(generated(program).source, architecture, log)[:4] == b"\x7fELF"
        spilled = [int(number) for number in re.findall(r"(\d+) bytes spill stores", "".join(log))]
        assert spilled and max(spilled) <= 64, name


@pytest.mark.parametrize("deterministic", [True, False])
def test_a_package_says_whether_its_results_are_always_the_same_bits(deterministic, monkeypatch):
    monkeypatch.setattr(cuda, "compile", lambda source, architecture: b"")
    with_sums, without_sums = message_passing(), Program((0,), [Output(1, (0,), columns(1))])
    extremes = Program((0, 1), [Output(2, (0,), scatter(columns(1, 1), index(1, 1, 0, "int32"), 0, "amax"))])
    assert fused.for_cuda(with_sums, "tf32x3", deterministic)[0].deterministic is deterministic
    for program in (without_sums, extremes):
        assert fused.for_cuda(program, "tf32x3", deterministic)[0].deterministic is True


def test_sums_by_one_column_after_different_steps_have_lists_of_their_own(tmp_path):
    """By a column of integers, and by one more than it."""
    x, steps = columns(3, 1), (ir.Step("add", 1, "int32"),)
    here, next_one = ir.index(1, 1, 0, "int32"), ir.index(1, 1, 0, "int32", steps)
    sums = [scatter(x, at, 0) for at in (here, next_one)]
    program = Program((0, 1), [Output(2 + i, (0, 1, 2), value) for i, value in enumerate(sums)])
    made = generated(program)
    (runs,) = cuda_programs.on_cpu([made], tmp_path)
    rows, random = (5, 40), np.random.default_rng(1)
    numbers, at = random.normal(size=(3, 40)).astype(np.float32), random.integers(-1, 5, (1, 40)).astype(np.int32)
    blocks = [
        cuda_programs.Block(list(numbers), 40, device="cpu"),
        cuda_programs.Block(list(at), 40, torch.int32, device="cpu"),
    ]
    blocks += [cuda_programs.Block(3, 5, device="cpu") for _ in sums]
    runs.bind(blocks, rows)()
    expected = row_programs.evaluate(program, [numbers.astype(float), at], rows)
    assert not np.allclose(*expected)
    for block, result in zip(blocks[2:], expected):
        np.testing.assert_allclose(block.numpy(), result.T, rtol=1e-5, atol=1e-6)


# ---- on a GPU


def loaded(program, precision="tf32x3"):
    return cuda_programs.Loaded(*compiled(program, precision, with_totals=True))


@needs_gpu
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("precision", ["tf32x3", "ieee"])
def test_networks_give_what_float64_gives(name, precision):
    program = NETWORKS[name]()
    kernels = loaded(program, precision)
    for rows in ((1, 1), (2, 17), (37, 111), (500, 4001), (3, 4001), (5, 0), (0, 0)):
        assert_close(gpu_results(program, rows, loaded=kernels), 2e-5)


@needs_gpu
@pytest.mark.parametrize("name", NETWORKS)
def test_calls_with_others_in_flight_give_the_same_bits(name):
    program, rows, random = NETWORKS[name](), (500, 4001), np.random.default_rng(0)
    kernels = loaded(program)

    def blocks():
        found = {}
        for value in program.values():
            if value.op in ("input", "index"):
                last = max(value.planes) if value.op == "input" else value.plane
                before = found.get(value.block, (0, 0, 0))[2]
                found[value.block] = value.domain, value.dtype, max(last + 1, before)
        made = []
        for at in range(1 + max([*found, *(output.block for output in program.outputs)])):
            if at in found:
                domain, dtype, planes = found[at]
                is_index = dtype.startswith("int")
                size = planes, rows[domain]
                numbers = random.integers(0, rows[0], size) if is_index else random.normal(size=size)
                made.append(cuda_programs.Block(list(numbers), rows[domain], getattr(torch, dtype)))
            else:
                of = [output for output in program.outputs if output.block == at]
                planes = 1 + max((place for output in of for place in output.planes), default=0)
                made.append(cuda_programs.Block(planes, rows[of[0].value.domain if of else 0]))
        return made

    def bits(made):
        return [made[output.block].numpy().view(np.uint32).copy() for output in program.outputs]

    inputs = blocks()
    kernels.bind(inputs, rows)()
    torch.cuda.synchronize()
    alone, outputs = bits(inputs), {output.block for output in program.outputs}
    lanes = []
    for _ in range(4):
        mine = list(inputs)
        for at in outputs:
            mine[at] = cuda_programs.Block(len(inputs[at].planes), inputs[at].planes.shape[1])
        lanes.append((torch.cuda.Stream(), mine, kernels.bind(mine, rows)))
    noise, other = torch.randn(2048, 2048, device="cuda"), torch.cuda.Stream()
    torch.cuda.synchronize()
    for _ in range(20):
        with torch.cuda.stream(other):
            noise @ noise
        for stream, _, launch in lanes:
            with torch.cuda.stream(stream):
                launch()
        torch.cuda.synchronize()
        for _, mine, _ in lanes:
            assert all(np.array_equal(a, b) for a, b in zip(alone, bits(mine)))


def summed(kernels, numbers, index, rows):
    """The sums of columns [width, n] by an index, three times: the same bits."""
    results = []
    for _ in range(3):
        blocks = [cuda_programs.Block(list(numbers), len(index)), cuda_programs.Block([index], len(index), torch.int32)]
        blocks.append(cuda_programs.Block(len(numbers), rows))
        kernels.bind(blocks, (rows, len(index)))()
        torch.cuda.synchronize()
        results.append(blocks[2].numpy())
    assert all(np.array_equal(results[0].view(np.uint32), other.view(np.uint32)) for other in results)
    return results[0]


@needs_gpu
@pytest.mark.parametrize("width", [1, 3, 20])
def test_sums_of_any_size_of_lists_and_of_numbers_are_rounded_once(width):
    kernels, random = loaded(sums_alone(width)), np.random.default_rng(width)
    for rows, count in ((1, 30000), (40, 30000), (3000, 100), (7, 2000), (20000, 30000)):
        for spread in (0, 1, count):  # numbers alike, columns apart, every number apart by many powers of two
            numbers = random.normal(size=(width, count))
            if spread:
                numbers *= 2.0 ** random.integers(-149, 100, (width, spread))
            numbers, at = numbers.astype(np.float32), random.integers(0, rows, count)
            truth, largest = np.zeros((width, rows)), np.zeros((width, rows))
            for i in range(width):
                np.add.at(truth[i], at, numbers[i].astype(float))
                np.maximum.at(largest[i], at, np.abs(numbers[i]))
            times = np.bincount(at, minlength=rows).astype(float)
            allowed = np.abs(truth) * 2.0**-24 + largest * times**2 * 2.0**-61 + 2.0**-149 + largest * 2.0**-45
            assert (np.abs(summed(kernels, numbers, at, rows) - truth) <= allowed).all()


@needs_gpu
def test_what_is_not_finite_is_summed_by_itself():
    kernels, at = loaded(sums_alone(3)), np.repeat(np.arange(6), 300)
    numbers = np.random.default_rng(0).normal(size=(3, 1800)).astype(np.float32)
    numbers[0, [310, 620, 915, 920, 1200]] = np.inf, -np.inf, np.inf, -np.inf, np.nan
    numbers[2, 1500:] = 3e38
    got = summed(kernels, numbers, at, 6)
    assert np.isfinite(got[0, [0, 5]]).all() and got[0, 1] == np.inf and got[0, 2] == -np.inf
    assert np.isnan(got[0, [3, 4]]).all() and np.isfinite(got[1]).all()
    assert np.isfinite(got[2, :5]).all() and got[2, 5] == np.inf
