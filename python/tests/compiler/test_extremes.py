# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The largest and the least by index: on CPUs, and kernels of GPUs on a CPU, give the numbers of row_programs.py, to the
last bit where they are only chosen.
"""

import numpy as np
import pytest
import torch

import cuda_programs
import row_programs
from bindings import block, bound
from captured_programs import captured
from cpu_programs import columns, dense, index
from random_programs import hard_numbers
from tensoa.compiler import passes, stages
from tensoa.compiler.backends import cuda
from tensoa.compiler.ir import Program, apply, constant, gather, linear, pack, reduce, scatter
from test_cuda import compiled
from wide_models import EdgeMax, GraphAttention

NAMES = ("amax", "amin")
WIDTHS = (1, 2, 8, 20, 33)
ROWS = ((40, 333), (5, 0), (1, 1), (3, 9), (200, 60))  # nodes, edges
INTEGERS = "int32"


def program_of(values):
    """Outputs of both domains, blocks 3 and 4; each value is an output of its own."""
    return Program(("nodes", "edges"), row_programs.side_by_side(values, 3))


def of_choices(names=NAMES, widths=WIDTHS):
    """Values that are numbers of the inputs, or one product of two of them."""
    source, target, values = index(1, 2, 0, INTEGERS), index(1, 2, 1, INTEGERS), []
    factor = columns(1, 1, (7,))
    for width in widths:
        nodes, edges = columns(0, 0, range(width)), columns(1, 1, range(width))
        there = gather(apply("neg", nodes), source)
        for name in names:
            found = scatter(edges, target, 0, name)
            values += [found, gather(found, source), apply("maximum", nodes, found), reduce("amin", found)]
            values += [scatter(there, target, 0, name), scatter(apply("mul", there, factor), target, 0, name)]
            values.append(pack([(scatter(apply("abs", edges), source, 0, name), 0, width), (nodes, 0, 1)]))
    return program_of(values)


def of_ordinary_numbers():
    """Of extremes, and of both kinds of scatters together; what lies beside the numbers of a row does not count."""
    random, at, values = np.random.default_rng(0), index(1, 2, 1, INTEGERS), []
    for width in (1, 3, 20, 33):
        nodes = columns(0, 0, range(width))
        edges = dense(columns(1, 1, range(4)), width, random)
        sums, most, least = (scatter(edges, at, 0, name) for name in ("sum", *NAMES))
        values += [linear(most, random.normal(size=(9, width))), apply("sub", apply("add", sums, most), least)]
        values += [apply("mul", most, least), linear(least, np.ones((1, width)))]
        for names in (NAMES, ("sum", "amax"), ("sum", "sum")):  # only sums may share memory
            values.append(apply("add", *(scatter(edges, at, 0, name) for name in names)))
        share = apply("exp", apply("sub", edges, gather(apply("maximum", most, constant(0, [-1e30])), at)))
        values += [apply("div", share, gather(scatter(share, at, 0), at)), apply("mul", nodes, reduce("sum", most))]
    return program_of(values)


def inputs_of(rows, seed, is_sorted=False, is_hard=True):
    """Columns of each block; a tenth of the indices names no row where numbers are hard, and all nodes are named where not."""
    draw, (nodes, edges) = np.random.default_rng(seed), rows
    numbers = [hard_numbers(33, n, seed + i) if is_hard else draw.normal(size=(33, n)) for i, n in enumerate(rows)]
    at = draw.integers(0, max(1, nodes // 2) if is_hard else nodes, (2, edges))
    if is_hard:
        at = np.where(draw.random(at.shape) < 0.1, draw.choice([-1, nodes, 2**31 - 1, -(2**31)], at.shape), at)
    elif edges >= nodes:
        at[1, :nodes] = np.arange(nodes)
    at = np.sort(at, axis=1) if is_sorted else at
    return [*(part.astype(np.float32) for part in numbers), at.astype(INTEGERS)]


def kernels_on_cpu(program, folder, with_totals):
    (made,) = cuda_programs.on_cpu([cuda.generate(program, stages.plan(program, with_totals=with_totals))], folder)

    def run(blocks, rows):
        made.bind([type("Block", (), {"address": one.ctypes.data, "pitch": one.shape[1]}) for one in blocks], rows)()

    return run


def on_a_gpu(program, folder, with_totals):
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    loaded = cuda_programs.Loaded(*compiled(program, "tf32x3", with_totals))

    def run(blocks, rows):
        there = [cuda_programs.Block(list(one), one.shape[1], torch.from_numpy(one).dtype) for one in blocks]
        loaded.bind(there, rows)()
        torch.cuda.synchronize()
        for here, one in zip(blocks, there):
            here[...] = one.numpy()

    return run


def results(program, run, inputs, rows):
    """Of the program, and of row_programs.py."""
    with np.errstate(all="ignore"):
        truth = row_programs.evaluate(program, inputs, rows)
    outputs = [sum(output.value.width for output in program.outputs if output.block == 3 + i) for i in range(2)]
    blocks = [*inputs, *(np.full((count, n), 77, np.float32) for count, n in zip(outputs, rows) if count)]
    run(blocks, rows)
    return [blocks[output.block][list(output.planes)].T for output in program.outputs], truth


PROCESSORS = []
for make, name in ((kernels_on_cpu, "kernels on a cpu"), (on_a_gpu, "gpu")):
    PROCESSORS += [pytest.param(make, False, id=name), pytest.param(make, True, id=f"{name}, with totals")]


@pytest.mark.parametrize(("processor", "with_totals"), PROCESSORS)
@pytest.mark.parametrize("widths", [WIDTHS[:3], WIDTHS[3:]], ids=str)
def test_hard_numbers_are_chosen_as_they_are(processor, with_totals, widths, tmp_path):
    program = of_choices(widths=widths)
    run = processor(program, tmp_path, with_totals)
    for seed, rows in enumerate(ROWS):
        for is_sorted in (False, True):
            got, truth = results(program, run, inputs_of(rows, 10 * seed, is_sorted), rows)
            for result, expected in zip(got, truth):
                with np.errstate(over="ignore"):
                    np.testing.assert_array_equal(result, expected.astype(np.float32))


@pytest.mark.parametrize(("processor", "with_totals"), PROCESSORS)
def test_layers_and_sums_beside_extremes(processor, with_totals, tmp_path):
    program = of_ordinary_numbers()
    run = processor(program, tmp_path, with_totals)
    for seed, rows in enumerate(((40, 333), (1, 1), (9, 60))):
        got, truth = results(program, run, inputs_of(rows, seed, is_hard=False), rows)
        for result, expected in zip(got, truth):
            assert np.isfinite(expected).all()
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max(initial=1.0))


@pytest.mark.parametrize("processor", [kernels_on_cpu, on_a_gpu])
def test_no_edge_gives_the_start_and_a_number_that_is_none_stays_so(processor, tmp_path):
    """Of zeros of both signs one is chosen, and infinities are numbers."""
    at, edges = index(1, 2, 0, INTEGERS), columns(1, 1, (0, 1))
    program = program_of([scatter(edges, at, 0, name) for name in NAMES])
    nan, inf = np.nan, np.inf
    numbers = np.array([[nan, 2, -inf, -inf, -0.0, -0.0, -3, -2, inf], [-nan, -inf, -inf, inf, -0.0, 0.0, nan, nan, 7]])
    inputs = [np.zeros((1, 6), np.float32), numbers.astype(np.float32), np.array([[0, 0, 1, 1, 2, 2, 3, 3, 5]], INTEGERS)]
    (most, least), _ = results(program, processor(program, tmp_path, False), inputs, (6, 9))
    np.testing.assert_array_equal(most.T, [[nan, -inf, 0, -2, -inf, inf], [nan, inf, 0, nan, -inf, 7]])
    np.testing.assert_array_equal(least.T, [[nan, -inf, 0, -3, inf, inf], [nan, -inf, 0, nan, inf, 7]])


@pytest.mark.parametrize("model", [GraphAttention, EdgeMax])
@pytest.mark.parametrize(("processor", "with_totals"), PROCESSORS)
def test_networks_are_fused_as_a_whole(processor, with_totals, model, tmp_path):
    torch.manual_seed(3)
    module = model().requires_grad_(False)
    inputs = [block("x", 4), block("edges", 2, "int64", 1, "columns")]
    program = passes.simplify(captured(module, bound(inputs, [block("y", 2)])))
    run, draw = processor(program, tmp_path, with_totals), np.random.default_rng(4)
    for nodes, edges in ROWS:
        x, at = draw.normal(size=(4, nodes)).astype(np.float32), draw.integers(0, nodes, (2, edges))
        y = np.zeros((2, nodes), np.float32)
        run([x, at, y], (nodes, edges))
        truth = module.double()(torch.from_numpy(x.T).double(), torch.from_numpy(at)).numpy()
        np.testing.assert_allclose(y.T, truth, rtol=1e-5, atol=1e-5)


def test_extremes_need_no_lists_and_are_the_same_bits_anyhow():
    program = of_choices()
    assert cuda.generate(program, stages.plan(program)) == cuda.generate(program, stages.plan(program, with_totals=True))


def test_stages_say_what_they_reduce():
    at = index(1, 2, 0)
    values = [scatter(columns(1, 1, range(width)), at, 0, name) for width, name in ((3, "sum"), (2, "amax"), (1, "amin"))]
    assert stages.describe(stages.plan(program_of(values)).stages[0]) == "sum 3 by index, amax 2 by index, amin 1 by index"


def test_programs_compile_for_gpus():
    for architecture in cuda.ARCHITECTURES:
        source = cuda.generate(of_choices(), stages.plan(of_choices())).source
        assert cuda.compile(source, architecture)[:4] == b"\x7fELF"
