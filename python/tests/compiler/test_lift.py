# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Groups of a row as rows of their own: the same function, of few kernels, and what those read of other parts of a row."""

import random

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as f

import cuda_programs
import row_programs
from tensoa.compiler import ir, lift, stages
from tensoa.compiler.backends import cuda
from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontends import torch_export
from tensoa.compiler.ir import Output, Program, Value
from tensoa.compiler.ir.program import ARGUMENT
from tensoa.package import fused
from test_cuda import columns, needs_gpu, norm, one_output
from test_width import traced
from wide_models import all_kinds
from width_models import Kind, block, mlp

MODELS = {
    "DeepSets, 30 padded": 3, "layer over 128 hits": 3, "attention, pair bias": 5, "interaction network": 5, "ParticleNet": 8,
    "GravNet": 6, "GarNet": 4, "Conv2d, jet image": 4, "calorimeter autoencoder": 4, "encoder layer, mask": 4, "sort": 3,
    "spline flow": 7,
}  # fmt: skip
ROWS = 9


def random_program(seed):
    """Operations that a seed draws, on groups of elements of a row; the last values are outputs."""
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    x = columns(draw.choice([6, 12, 24, 40]))
    values = [x, ir.apply("abs", columns(tuple(range(x.width))[::-1])), ir.constant(0, numbers.normal(size=x.width))]

    def times_of(width, least=1):
        return draw.choice([n for n in range(1, width + 1) if width % n == 0 and width // n >= least])

    def step():
        x, y = draw.choice(values), draw.choice(values)
        kind = draw.choice("linear norm reduce map two pack turn turn product order take".split())
        times = times_of(x.width)
        inside = x.width // times
        if kind == "linear":
            out = draw.choice([1, 2, 3, 8, 11])
            return ir.linear(x, numbers.normal(size=(out, inside)) / np.sqrt(inside), numbers.normal(size=out), times)
        if kind == "norm":
            times = times_of(x.width, min(2, x.width))
            weight = numbers.uniform(0.5, 1.5, x.width // times).astype(np.float32)
            return ir.norm(x, weight, None, 1e-3, times)
        if kind == "reduce":
            return ir.reduce(draw.choice(["sum", "mean", "amax", "amin"]), x, times)
        if kind == "map":
            return ir.apply(draw.choice(["relu", "tanh", "neg", "sin"]), x)
        if kind == "two":
            other = y if y.width in (1, x.width) else ir.pack([(y, i % y.width, i % y.width + 1) for i in range(x.width)])
            return ir.apply(draw.choice(["add", "mul", "maximum"]), x, other)
        if kind == "turn":  # the elements of a row as columns
            return ir.pack([(x, at, at + 1) for at in np.arange(x.width).reshape(times, -1).T.reshape(-1).tolist()])
        if kind == "pack":
            first = draw.randrange(x.width)
            return ir.pack([(x, first, x.width), (y, 0, draw.randint(1, y.width)), (ir.constant(0, [0.5]), 0, 1)])
        if kind == "product":
            inner = times_of(y.width)
            rows = draw.randint(1, 3)
            left = ir.pack([(x, i % x.width, i % x.width + 1) for i in range(rows * inner)])
            return ir.product(left, y, inner)
        count = draw.randint(1, min(4, inside))
        places = ir.order(x, count, draw.random() < 0.5, times)
        return places if kind == "order" else ir.take(x, places, 1, times)

    for _ in range(draw.randint(3, 9)):
        value = step()
        if value.width <= 96:
            values.append(ir.apply("tanh", value) if draw.random() < 0.3 else value)
    last = [value for value in values[-3:] if value.op != "constant"]
    return Program((0,), row_programs.side_by_side(last, 1))


def data(seed, planes=400):
    return np.random.default_rng(seed).normal(size=(planes, ROWS)).astype(np.float32)


def calculated(program, loaded):
    """The outputs of a loaded program, [rows, width], for data(0)."""
    planes = 1 + max(max(output.planes) for output in program.outputs)
    blocks = [cuda_programs.Block(list(data(0)), ROWS, pitch=ROWS + 3, device=loaded.device)]
    blocks.append(cuda_programs.Block(planes, ROWS, pitch=ROWS + 2, device=loaded.device))
    loaded.bind(blocks, [ROWS])()
    return [blocks[1].numpy()[list(output.planes)].T for output in program.outputs]


def on_cpu(programs, folder):
    """Of each program its outputs, as the kernels calculate them."""
    made = [cuda.generate(program, stages.plan(program)) for program in programs]
    return [calculated(*one) for one in zip(programs, cuda_programs.on_cpu(made, folder))]


def expect_equal(got, want, what):
    assert np.array_equal(np.isnan(got), np.isnan(want)), what
    assert np.nanmax(np.abs(got - want), initial=0) <= 3e-6 * max(1.0, np.nanmax(np.abs(want), initial=0)), what


def row_program_of(kind, device="cpu"):
    """(columns, the program for a device)"""
    _, columns_of, rules, exported = traced(kind)
    return columns_of, torch_export.row_program(exported, columns_of, rules, device)


@pytest.fixture(scope="module")
def models():
    kinds = all_kinds()
    return {name: row_program_of(kinds[name], "cuda")[1] for name in MODELS}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_few_kernels_without_groups(models, name):
    program = models[name]
    lifted = lift.lifted(program)
    assert lift.is_grouped(program)
    assert all(value.times == 1 and value.op not in ("product", "take") for value in lifted.values())
    plan = stages.plan(lifted)
    assert len(plan.stages) == MODELS[name]
    assert max(len(stage.values) for stage in plan.stages) < 30
    for got, want in zip(*(row_programs.evaluate(p, [data(1)], [ROWS]) for p in (lifted, program))):
        expect_equal(got, want, name)


def test_the_kernels_of_models_calculate_what_the_models_do(models, tmp_path):
    found = on_cpu([lift.lifted(program) for program in models.values()], tmp_path)
    for (name, program), got in zip(models.items(), found):
        for one, want in zip(got, row_programs.evaluate(program, [data(0)], [ROWS])):
            expect_equal(one, want, name)


def test_random_programs_keep_their_meaning():
    for seed in range(300):
        program = random_program(seed)
        results = (row_programs.evaluate(p, [data(seed)], [ROWS]) for p in (lift.lifted(program), program))
        for got, want in zip(*results):
            expect_equal(got, want, seed)


def test_the_kernels_of_random_programs_calculate_what_they_do(tmp_path):
    # Without places: float32 and float64 may order numbers that are nearly equal in another way.
    drawn = (random_program(seed) for seed in range(1000, 1060))
    programs = [p for p in drawn if lift.is_grouped(p) and not any(v.op == "order" for v in p.values())][:16]
    found = on_cpu([lift.lifted(program) for program in programs], tmp_path)
    for at, (program, got) in enumerate(zip(programs, found)):
        for one, want in zip(got, row_programs.evaluate(program, [data(0)], [ROWS])):
            expect_equal(one, want, at)


def special():
    """Orders of numbers that are equal, no numbers, infinite; places that name nothing; padding of several kinds."""
    x = columns(10)
    zero, none = ir.constant(0, [0.0]), ir.constant(0, [np.nan])
    infinite = ir.apply("div", x, ir.constant(0, [0.0]))
    hard = ir.pack([(x, 0, 3), (none, 0, 1), (infinite, 3, 6), (zero, 0, 1), (x, 2, 3), (ir.apply("neg", zero), 0, 1)])
    orders = [ir.order(hard, 10, is_largest) for is_largest in (False, True)]
    one = ir.order(hard, 1, times=2)
    places = ir.pack([(ir.constant(0, [-1.0, 5.0, 1.0, np.nan, 4.0]), 0, 5)])
    taken = ir.take(x, places, 2)
    window = ir.pack([(part, *where) for i in range(5) for part, *where in ((zero, 0, 1), (x, i, i + 2), (zero, 0, 1))])
    padded = ir.linear(window, np.arange(12).reshape(3, 4) / 7, None, 5)
    several = ir.pack([(value, i, i + 1) for i in range(10) for value in (x, ir.apply("exp", norm(x)), padded)])
    sums = ir.reduce("amax", several, 10)
    values = [*orders, one, taken, padded, sums, ir.apply("add", ir.product(x, x, 5), ir.constant(0, [1.0]))]
    return Program((0,), row_programs.side_by_side(values, 1))


def test_special_numbers_and_places(tmp_path):
    program = special()
    (found,) = on_cpu([lift.lifted(program)], tmp_path)
    for at, (got, want) in enumerate(zip(found, row_programs.evaluate(program, [data(0)], [ROWS]))):
        expect_equal(got, want, at)


@needs_gpu
def test_kernels_on_a_gpu_calculate_what_programs_do(models):
    architecture = "sm_{}{}".format(*torch.cuda.get_device_capability())
    for program in (*models.values(), special()):
        lifted = lift.lifted(program)
        made = cuda.generate(lifted, stages.plan(lifted))
        found = calculated(lifted, cuda_programs.Loaded(made, cuda.compile(made.source, architecture)))
        for got, want in zip(found, row_programs.evaluate(program, [data(0)], [ROWS])):
            expect_equal(got, want, stages.describe(stages.plan(program).stages[0]))


def test_parts_from_too_many_operations_are_refused():
    x = columns(2)
    many = [ir.linear(x, np.full((2, 2), at), None) for at in range(130)]
    turned = ir.pack([(value, at, at + 1) for at in range(2) for value in many])
    with pytest.raises(NotFused, match="parts of a row with 2 numbers, from 128 or more operations"):
        lift.lifted(one_output(ir.norm(turned, None, None, 1e-3, 2)))


def test_a_value_of_all_parts_is_stored_as_one_row():
    x = columns(12)
    h = ir.linear(x, np.ones((5, 3)), None, 4)
    turned = ir.pack([(h, i, i + 1) for i in np.arange(20).reshape(4, 5).T.reshape(-1).tolist()])
    program = lift.lifted(one_output(ir.norm(turned, None, None, 1e-3, 5)))
    made = cuda.generate(program, stages.plan(program))
    assert made.buffers[0].row_bytes == 4 * 20
    assert [step.times for step in made.steps] == [4, 5, 1]
    reads = [value for value in program.values() if value.op == "regroup"]
    assert any((value.places // ARGUMENT == 0).all() and value.places.shape == (5, 1, 4) for value in reads)


def test_functions_of_columns_are_computed_where_they_are_needed():
    x = columns(12)
    mask = ir.apply("gt", x, ir.constant(0, [0.0]))
    h = ir.apply("mul", ir.linear(x, np.ones((1, 1)), None, 12), mask)
    total = ir.apply("add", ir.reduce("sum", h, 3), ir.reduce("sum", mask, 3))
    plan = stages.plan(lift.lifted(one_output(total)))
    assert not any(buffer.value.op == "map" and buffer.value.name == "gt" for buffer in plan.buffers)


@pytest.mark.parametrize("name", ["sum", "amax", "amin"])
def test_reductions_by_index_are_read_by_parts(name, tmp_path):
    x, at = columns(4), Value("index", 0, 1, (), {"block": 1, "plane": 0, "dtype": "int64"})
    reduced = ir.apply("maximum", ir.scatter(x, at, 0, name), ir.constant(0, [-3.0]))
    total = ir.apply("minimum", reduced, ir.constant(0, [3.0]))
    both = ir.pack([(total, 0, 4), (ir.scatter(ir.pack([(x, 1, 2)]), at, 0, "sum"), 0, 1), (total, 1, 2)])
    program = Program((0,), [Output(2, (0, 1), ir.reduce("amax", ir.linear(both, np.ones((3, 3)), None, 2), 2))])
    lifted = lift.lifted(program)
    index = np.array([0, 0, 3, 8, 8, 8, 1, 2, 20])
    want = row_programs.evaluate(program, [data(0, 4), [index]], [ROWS])[0]
    assert np.array_equal(row_programs.evaluate(lifted, [data(0, 4), [index]], [ROWS])[0], want)
    (loaded,) = cuda_programs.on_cpu([cuda.generate(lifted, stages.plan(lifted))], tmp_path)

    blocks = [
        cuda_programs.Block(list(data(0, 4)), ROWS, device="cpu"),
        cuda_programs.Block([index], ROWS, torch.int64, device="cpu"),
    ]
    blocks.append(cuda_programs.Block(2, ROWS, device="cpu"))
    loaded.bind(blocks, [ROWS])()
    expect_equal(blocks[2].numpy().T, want, "sums")


class OfSets(nn.Module):
    """Embedded categories of 6 elements."""

    def __init__(self, elements=6):
        super().__init__()
        self.elements, self.table, self.layers = elements, nn.Embedding(7, 5), mlp(8, 16, 2)

    def forward(self, x, kinds):
        x = torch.cat([x.view(-1, self.elements, 3), self.table(kinds.clamp(0, 6))], -1)
        return self.layers(x).sum(1)


class OfNodes(nn.Module):
    """A norm of parts of what was summed over two kinds of edges."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 12), nn.Linear(3, 12)

    def forward(self, x, edges):
        zeros = torch.zeros(x.shape[0], 12, dtype=x.dtype)
        h = zeros.index_add(0, edges[1], self.a(x)[edges[0]])
        h = h + zeros.index_add(0, edges[1], torch.tanh(self.b(x)[edges[0]]))
        return f.layer_norm(h.view(-1, 4, 3), (3,)).amax(1)


class OfEdges(nn.Module):
    """Messages that are summed, and whose parts are normalised."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 12)

    def forward(self, x, edges):
        h = torch.tanh(self.a(torch.sin(x)[edges[1]] * x[edges[0]]))
        parts = f.layer_norm(h.view(-1, 4, 3), (3,)).amax(1)
        sums = torch.zeros(x.shape[0], 3, dtype=x.dtype).index_add(0, edges[0], parts)
        return torch.cat([sums, torch.zeros(x.shape[0], 12, dtype=x.dtype).index_add(0, edges[0], h)], 1)


GRAPH = [block("x", 3), block("edges", 2, "int64", 1, "columns")]
SHARED = {
    "embedding": Kind(OfSets(), [block("x", 18), block("k", 6, "int64")], [block("y", 2)]),
    "added sums": Kind(OfNodes(), GRAPH, [block("y", 3)]),
    "summed": Kind(OfEdges(), GRAPH, [block("y", 15)]),
}


@pytest.mark.parametrize("with_totals", [False, True])
@pytest.mark.parametrize("name", SHARED)
def test_what_others_read_too_is_right_in_parts(name, with_totals, tmp_path):
    columns_of, program = row_program_of(SHARED[name])
    lifted = lift.lifted(program)
    assert program.lifted == () and lifted.lifted
    (loaded,) = cuda_programs.on_cpu([cuda.generate(lifted, stages.plan(lifted, with_totals), "ieee")], tmp_path)
    numbers = np.random.default_rng(3)
    rows = [9, 23][: len(program.domains)]
    given = []
    for block_of in columns_of.inputs:
        count = rows[min(block_of.collection, len(rows) - 1)]
        is_float = "float" in str(block_of.dtype)
        shape = (18 if name == "embedding" and is_float else 6, count)
        drawn = numbers.normal(size=shape).astype(np.float32) if is_float else numbers.integers(0, 7, shape)
        given.append(drawn)
    (want,) = row_programs.evaluate(program, given, rows)
    blocks = [
        cuda_programs.Block(list(one), one.shape[1], torch.float32 if one.dtype == np.float32 else torch.int64, device="cpu")
        for one in given
    ]
    blocks.append(cuda_programs.Block(want.shape[1], rows[0], device="cpu"))
    loaded.bind(blocks, rows)()
    got = blocks[-1].numpy()[list(program.outputs[0].planes)].T
    assert np.abs(got - want).max() < 2e-5 * max(1.0, np.abs(want).max())


def test_too_many_buffers_are_not_fused():
    kind = Kind(OfSets(70), [block("x", 210), block("k", 70, "int64")], [block("y", 2)])
    program = row_program_of(kind)[1]
    with pytest.raises(NotFused, match="what lies between its kernels: 7[0-9] buffers, at most 64 are possible"):
        fused.for_cuda(program, "tf32x3", deterministic=False)
