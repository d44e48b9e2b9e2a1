# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Attention and neighbours among all rows: what torch.export gives for them becomes a row program, whose code for CPUs and
whose kernels, on a CPU, give what the model gives in float64.
"""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as f

import cpu_programs
import cuda_programs
import row_programs
from bindings import block, bound
from captured_programs import Results, assert_same, captured, check
from cpu_programs import RUNNABLE, columns, needs_level
from everywhere import Everywhere
from tensoa.binding.model import result_rows, with_examples
from tensoa.compiler import ir, lift, passes, routes, stages
from tensoa.compiler.backends import cuda
from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontends.torch_export import exported_program
from tensoa.compiler.ir import Output, Program
from tensoa.compiler.typed import cpu
from tensoa.package import fused
from tensoa.package.checks import validate
from wide_models import AllHits, AllNeighbours, all_kinds

WIDTH = 8
ROWS = (1, 15, 16, 17, 100, 1000)
LAYER = {"d_model": WIDTH, "nhead": 2, "dim_feedforward": 12, "dropout": 0.0, "batch_first": True}


def heads(x, *shape):
    """[n, 8] -> [..., 2, n, 4]"""
    return x.view(-1, 2, 4).transpose(0, 1).reshape(*shape, 2, x.shape[0], 4)


def of_heads(y):
    return y.reshape(2, y.shape[-2], 4).transpose(0, 1).flatten(1)


def attention(*shape):
    return lambda m, x: of_heads(f.scaled_dot_product_attention(*(heads(part, *shape) for part in (x, x + 1, x * x))))


def multihead(batch_first, with_weights=False, has_mask=False):
    def run(m, x):
        y = x[None] if batch_first else x[:, None]
        mask = (x[:, 0] < -0.5)[None] if has_mask else None
        return m.layer(y, y, y, need_weights=with_weights, key_padding_mask=mask)[0].reshape(-1, WIDTH)

    return run, {"layer": nn.MultiheadAttention(WIDTH, 2, batch_first=batch_first)}


def softmax_of(m, x):
    """Written out: scales, biases of rows, and masks of both."""
    same = x[:, None, 0].sign() == x[None, :, 0].sign()
    score = (x / 2) @ x.t() * 0.5 + x[:, 1] - x[:, 2:3]
    return torch.softmax(score.masked_fill(~same, -torch.inf), -1) @ x[:, 3:] + torch.softmax(score.t(), 1) @ x[:, :5]


def einsum(m, x):
    h = x.view(-1, 2, 4)
    return torch.einsum("hij,jhd->ihd", torch.softmax(torch.einsum("ihd,jhd->hij", h, h) / 2, -1), h).flatten(1)


def kernel_of_distances(m, x):
    """GravNet's weights, but of all rows; the turned product too."""
    weights = torch.exp(-(torch.cdist(x[:, :3], x[:, :3]) ** 2))
    return torch.cat([weights @ x / weights.sum(1, keepdim=True), (x[:, :2].t() @ weights.t()).t()], 1)


def graph_attention(m, x):
    score = f.leaky_relu(x[:, None, 0] + x[None, :, 1])
    return torch.softmax(score, 1) @ x


def of_other_distances(m, x):
    return 1 / (1 + sum(torch.cdist(x, x, p=order) for order in (1, 3, torch.inf))) @ x


def two_layers(m, x):
    return m.layer(x[None])[0]


def masked_layer(m, x):
    return m.layer(x, src_key_padding_mask=x[:, 0] < -0.5)


ATTENTION = {
    "rows": (lambda m, x: f.scaled_dot_product_attention(x, x, x), {}),
    "[1, n, d]": (lambda m, x: f.scaled_dot_product_attention(x[None], x[None], x[None], scale=0.3)[0], {}),
    "[h, n, d]": (attention(), {}),
    "[1, h, n, d]": (attention(1), {}),
    "written out": (softmax_of, {}),
    "einsum": (einsum, {}),
    "MultiheadAttention": multihead(True),
    "MultiheadAttention, rows first": multihead(False),
    "MultiheadAttention, weights": multihead(True, with_weights=True),
    "MultiheadAttention, mask": multihead(True, has_mask=True),
    "encoder, mask": (masked_layer, {"layer": nn.TransformerEncoderLayer(**LAYER)}),
    "two layers": (
        two_layers,
        {"layer": nn.TransformerEncoder(nn.TransformerEncoderLayer(**LAYER, norm_first=True), 2, enable_nested_tensor=False)},
    ),
    "exp of distances": (kernel_of_distances, {}),
    "distances of other orders": (of_other_distances, {}),
    "graph attention": (graph_attention, {}),
}


def by_differences(m, x):
    places = (x[:, None, :3] - x[None, :, :3]).square().sum(-1).topk(4, largest=False).indices
    return (x[places] - x[:, None]).amax(1)


def by_products(m, x):
    square = (x**2).sum(1)
    found = (square[:, None] + square[None] - 2 * x @ x.t()).topk(4, largest=False)
    return torch.cat([x[found.indices].mean(1), found.values[:, 1:]], 1)


def by_distances(m, x):
    found = torch.cdist(x[None, :, :2], x[None, :, :2])[0].topk(4, largest=False)
    return (x[found.indices] * torch.exp(-10 * found.values)[..., None]).sum(1)


def by_norms(m, x):
    places = torch.norm(x[:, None] - x[None], dim=-1).topk(4, largest=False).indices
    return x[places.reshape(-1)].view(-1, 4, WIDTH).sum(1)


def gathered(m, x):
    places = torch.cdist(x, x).topk(4, largest=False).indices
    return torch.gather(x[None].expand(x.shape[0], -1, -1), 1, places[..., None].expand(-1, -1, WIDTH)).amax(1)


def roots(m, x):
    """Of products, most of which have none: those come last."""
    found = torch.sqrt(x[:, :2] @ x[:, :2].t()).topk(4, largest=False)
    return torch.cat([x[found.indices[:, 0]], torch.nan_to_num(found.values[:, :1])], 1)


def extremes(m, x):
    product = x @ x.t()
    values = [product.amax(1), product.amin(0), product.min(1).values, product.max(1).values]
    return torch.cat([torch.stack(values, 1), x[product.argmax(1)][:, :2], x[product.argmin(1)][:, :2]], 1)


NEIGHBOURS = {
    "differences": by_differences,
    "products": by_products,
    "distances": by_distances,
    "norms": by_norms,
    "gather": gathered,
    "extremes": extremes,
    "roots": roots,
}
MODELS = {**ATTENTION, **{name: (function, {}) for name, function in NEIGHBOURS.items()}}


def module_of(name):
    torch.manual_seed(3)
    function, members = MODELS[name]
    module = Results(function, **copy.deepcopy(members)).eval().requires_grad_(False)
    width = module(torch.randn(7, WIDTH)).shape[1]
    return module, with_examples(module, bound([block("x", WIDTH)], [block("y", width)])), width


def on_cpu(module, binding, folder, level):
    made = routes.for_cpu(exported_program(module, binding), binding, result_rows(module, binding, "cpu"))
    cpu.build(made.source, level, folder / "program.so")
    load = fused.load(folder / "program.so")
    return lambda blocks, rows: load(SimpleNamespace(blocks=[(one.ctypes.data, one.shape[1]) for one in blocks]), rows)


def kernels_on_cpu(program, folder):
    program = passes.unrolled(passes.heads_apart(program))
    (made,) = cuda_programs.on_cpu([cuda.generate(program, stages.plan(program), "ieee")], folder)

    def run(blocks, rows):
        made.bind([type("Block", (), {"address": one.ctypes.data, "pitch": one.shape[1]}) for one in blocks], rows)()

    return run


@pytest.mark.parametrize("name", MODELS)
def test_what_people_write_is_one_row_program(name):
    module, binding, _ = module_of(name)
    program = check(module, binding, rows=(37,))
    assert any(value.op in ("attend", "nearest") for value in program.values())


def test_queries_and_keys_of_two_collections_with_integers_that_say_what_belongs_together():
    def of_pairs(m, x, i, clusters, j):
        scores = (x @ clusters.t()).masked_fill(i != j.t(), -1e9)
        nearest = torch.cdist(x, clusters).argmin(1)
        return torch.softmax(scores, 1) @ clusters + clusters[nearest]

    inputs = [block("x", 4), block("i", 1, "int16"), block("clusters", 4, collection=1), block("j", 1, "int16", 1)]
    program = assert_same(of_pairs, inputs, (4,))
    assert {value.op for value in program.values()} >= {"attend", "nearest", "row", "gather"}


def check_runs(run, name, exact, width, rows_of):
    for rows in rows_of:
        if name in NEIGHBOURS and rows < 4:
            continue
        x = np.random.default_rng(rows).normal(size=(WIDTH, rows)).astype(np.float32)
        y = np.full((width, rows), 77, np.float32)
        run([x, y], [rows])
        truth = exact(torch.from_numpy(x.T).double()).numpy()
        np.testing.assert_allclose(y.T, truth, rtol=2e-5, atol=2e-5 * np.abs(truth).max())


@needs_level
@pytest.mark.parametrize("name", MODELS)
def test_programs_give_what_the_model_gives_in_float64(name, tmp_path):
    module, binding, width = module_of(name)
    check_runs(on_cpu(module, binding, tmp_path, RUNNABLE[0]), name, module.double(), width, ROWS)


@needs_level
def test_an_extreme_of_what_is_no_number_is_none(tmp_path):
    def function(m, x):
        product = x @ x.t()
        values = [product.amin(1), product.amax(1), product.min(0).values]
        return torch.stack([*values, product.argmin(1).float(), product.argmax(1).float()], 1)

    module = Results(function)

    def fill(inputs):
        inputs[0][0, 2:4] = torch.nan

    program = Everywhere(module, bound([block("x", 3)], [block("y", 5)]), tmp_path)
    for where, (x,), (got,) in program.results((4, 17, 100), fill):
        torch.testing.assert_close(got.T, module(x), equal_nan=True, msg=where)


@pytest.mark.parametrize("processor", ["a narrow CPU", "kernels"])
@pytest.mark.parametrize("name", ["written out", "encoder, mask", "distances", "extremes"])
def test_other_processors_give_it_too(processor, name, tmp_path):
    module, binding, width = module_of(name)
    if processor == "kernels":
        run = kernels_on_cpu(passes.simplify(captured(module, binding)), tmp_path)
    elif RUNNABLE:
        run = on_cpu(module, binding, tmp_path, "x86-64-v3")
    else:
        pytest.skip("no CPU of level x86-64-v3 here")
    check_runs(run, name, module.double(), width, ROWS[:-1])


# ---- programs of their own


def dot(count):
    return (("dot", 0, 0, count),)


def program_of(*values, domains=("rows",)):
    """Each value is an output of its own, in block `len(domains)` and on."""
    first = len(domains)
    return Program(domains, [Output(first + i, tuple(range(value.width)), value) for i, value in enumerate(values)])


def results(run, program, inputs, rows):
    """Of the program, and of row_programs.py; [rows, width] of each output."""
    blocks = [*inputs]
    for output in program.outputs:
        blocks.append(np.full((output.value.width, rows[output.value.domain]), 77, np.float32))
    run(blocks, rows)
    with np.errstate(all="ignore"):
        truth = row_programs.evaluate(program, inputs, rows)
    return [one.T for one in blocks[len(inputs) :]], truth


def test_a_mask_of_minus_infinity_and_large_scores(tmp_path):
    """Nothing overflows, what is masked does not count, and where all is masked softmax gives NaN, torch's attention zero."""
    x, mask = columns(0, 0, range(4)), columns(0, 0, (4,))
    keys = ir.pack([(x, 0, 4), (mask, 0, 1)])
    score = (("dot", 0, 0, 4), ("key", 4), ("add", 0, 1))
    program = program_of(*(ir.attend(x, keys, x, score, weights) for weights in ("softmax", "safe")))
    run = kernels_on_cpu(program, tmp_path)
    for scale in (1, 1e4, 1e18):
        numbers = np.random.default_rng(1).normal(size=(5, 150)).astype(np.float32)
        numbers[:4] *= np.float32(scale)
        numbers[4] = np.where(np.arange(150) % 3, -np.inf, 0)
        numbers[4, :70] = -np.inf  # all of the first block of keys
        got, truth = results(run, program, [numbers], [150])
        for one, right in zip(got, truth):
            assert np.isfinite(one).all()
            np.testing.assert_allclose(one, right, rtol=2e-5, atol=2e-5 * np.abs(right).max())
        numbers[4] = -np.inf
        (plain, safe), _ = results(run, program, [numbers], [150])
        assert np.isnan(plain).all() and (safe == 0).all()


def test_values_that_are_infinite_count_also_with_weights_of_zero(tmp_path):
    """0 * infinity is no number, and a score that is none is not one of minus infinity."""
    x, mask = columns(0, 0, range(3)), columns(0, 0, (3,))
    keys = ir.pack([(x, 0, 3), (mask, 0, 1)])
    program = program_of(ir.attend(x, keys, x, (("dot", 0, 0, 1), ("key", 3), ("add", 0, 1)), "safe"))
    run = kernels_on_cpu(program, tmp_path)
    numbers = np.random.default_rng(3).normal(size=(4, 90)).astype(np.float32)
    numbers[3] = -np.inf
    numbers[1, 40] = np.inf  # a value that no score reads
    (got,), _ = results(run, program, [numbers.copy()], [90])
    assert np.isnan(got[:, 1]).all() and (got[[0, 39, 89]][:, [0, 2]] == 0).all()
    numbers[1, 40], numbers[3, 77] = 0, np.nan
    (got,), _ = results(run, program, [numbers], [90])
    assert np.isnan(got).all()


def test_what_is_no_number_stays_so(tmp_path):
    x = columns(0, 0, range(3))
    program = program_of(ir.attend(x, x, x, dot(3)), ir.attend(x, x, x, dot(3), "sum"))
    numbers = np.random.default_rng(2).normal(size=(3, 90)).astype(np.float32)
    numbers[0, 77] = np.nan
    got, _ = results(kernels_on_cpu(program, tmp_path), program, [numbers], [90])
    assert all(np.isnan(one).all() for one in got)


@pytest.mark.parametrize("count", [1, 3, 20])
def test_equal_distances_give_the_first_rows_and_missing_rows_none(count, tmp_path):
    """Few different numbers, of both signs of zero, infinities and NaN: the order is exact."""
    x = columns(0, 0, (0,))
    score = (("query", 0), ("key", 0), ("mul", 0, 1))
    key_alone = (("key", 0),)
    values = [ir.nearest(x, x, one, count, is_largest) for one in (score, key_alone) for is_largest in (False, True)]
    there = [ir.gather(x, ir.row(value, count - 1)) for value in values]
    program = program_of(*values, *there)
    run = kernels_on_cpu(program, tmp_path)
    some = np.array([0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan], np.float32)
    for rows in (1, 2, 9, 16, 17, 130):
        numbers = np.random.default_rng(rows).choice(some, (1, rows))
        got, truth = results(run, program, [numbers], [rows])
        for one, right in zip(got, truth):
            np.testing.assert_array_equal(one, right)
        assert rows >= count or (got[0][:, rows:] == -1).all()


def test_rows_of_one_collection_among_those_of_another(tmp_path):
    x, other = columns(0, 0, range(6)), columns(1, 1, range(6))
    heads = [ir.attend(x, other, ir.pack([(other, 1, 5)]), dot(3), weights, 2) for weights in ("softmax", "sum")]
    near = ir.nearest(x, other, (("distance", 0, 0, 6),), 2)
    program = program_of(*heads, near, ir.gather(other, ir.row(near, 1)), domains=("hits", "clusters"))
    run = kernels_on_cpu(program, tmp_path)
    for rows in ((20, 0), (0, 20), (1, 70), (70, 1), (33, 130)):
        inputs = [np.random.default_rng(i).normal(size=(6, n)).astype(np.float32) for i, n in enumerate(rows)]
        got, truth = results(run, program, inputs, rows)
        for one, right in zip(got, truth):
            np.testing.assert_allclose(one, right, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("widths", [(1, 1), (3, 1), (1, 20), (40, 33)], ids=str)
def test_widths(widths, tmp_path):
    inner, width = widths
    x, v = columns(0, 0, range(inner)), columns(0, 0, range(width))
    sums = ir.scatter(v, cpu_programs.index(0, 1, 0), 0)  # as values, in memory that rows are added to
    values = [ir.attend(x, x, v, dot(inner)), ir.attend(x, x, sums, dot(inner)), ir.attend(v, sums, x, dot(width), "safe")]
    program = Program(("rows",), [Output(2 + i, tuple(range(value.width)), value) for i, value in enumerate(values)])
    draw = np.random.default_rng(5)
    inputs = [draw.normal(size=(max(widths), 70)).astype(np.float32), draw.integers(0, 70, (1, 70)).astype(np.int32)]
    got, truth = results(kernels_on_cpu(program, tmp_path), program, inputs, [70])
    for one, right in zip(got, truth):
        np.testing.assert_allclose(one, right, rtol=2e-5, atol=2e-5 * np.abs(right).max())


@needs_level
@pytest.mark.parametrize("name", ["attention of all rows", "neighbours of all rows"])
def test_packages_are_checked_with_as_few_rows_as_the_model_takes(name, tmp_path):
    kind = all_kinds()[name]
    module = kind.module.eval()
    binding = with_examples(module, kind.binding())
    rules = result_rows(module, binding, "cpu")
    cpu.build(routes.for_cpu(exported_program(module, binding), binding, rules).source, RUNNABLE[0], tmp_path / "program.so")
    found = validate(fused.load(tmp_path / "program.so"), module, binding, rules, is_whole=True)
    normal = [check.rows[0] for check in found if check.numbers == "normal"]
    assert normal == ([33, 1000] if "neighbours" in name else [1, 2, 33, 1000])
    assert max(error for check in found if check.numbers == "normal" for error in check.relative_error.values()) < 2e-6


@pytest.mark.parametrize("model", [AllHits, AllNeighbours])
def test_programs_compile_for_gpus(model):
    module = model().eval()
    program = captured(module, with_examples(module, bound([block("x", 4)], [block("y", 2)])))
    entry, files = fused.for_cuda(passes.simplify(program), "tf32x3", deterministic=True)
    assert entry.deterministic and all(len(files[code.file]) > 1000 for code in entry.cuda.code)


def test_heads_too_wide_for_registers_are_not_for_gpus():
    x = columns(0, 0, range(80))
    with pytest.raises(NotFused, match="what reads all rows: 80 numbers of each, at most 72 are held in registers"):
        fused.for_cuda(program_of(ir.attend(x, x, x, dot(80))), "tf32x3", deterministic=False)


class OfSets(nn.Module):
    """Sets inside a row, whose elements are rows of their own on GPUs, and all rows."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 12), nn.Linear(12, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        h = self.b(torch.relu(self.a(x.view(-1, 4, 2))).sum(1))[None]
        h = (h + self.attention(h, h, h)[0])[0]
        return h[torch.cdist(h, h).topk(3, largest=False).indices].amax(1)


def test_elements_that_are_rows_of_their_own_beside_all_rows():
    torch.manual_seed(1)
    module = OfSets().eval().requires_grad_(False)
    program = passes.simplify(captured(module, with_examples(module, bound([block("x", 8)], [block("y", 8)]))))
    lifted = lift.lifted(passes.heads_apart(program))
    x = np.random.default_rng(1).normal(size=(8, 40))
    (got,) = row_programs.evaluate(lifted, [x], [40])
    np.testing.assert_allclose(got, module.double()(torch.from_numpy(x.T)).numpy(), rtol=1e-6, atol=1e-6)
    assert cuda.compile(cuda.generate(lifted, stages.plan(lifted)).source, "sm_90")[:4] == b"\x7fELF"


def test_stages_say_what_reads_all_rows():
    x = columns(0, 0, range(4))
    program = program_of(ir.attend(x, x, x, dot(2), times=2), ir.nearest(x, x, dot(4), 3))
    assert stages.describe(stages.plan(program).stages[-1]) == "2 x attend 2 -> 2, least 3 of all rows"


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda m, x: (x @ x.t())[:, 0:1] + x, "some of the rows taken out of all"),
        (lambda m, x: (x @ x.t() + torch.eye(x.shape[0])) @ x, "eye of a number of rows"),
        (lambda m, x: torch.softmax(x @ x.t(), 0) @ x, "a softmax over rows that are not the last dimension"),
        (lambda m, x: (torch.softmax(x @ x.t(), 1) * x[:, 0]) @ x, "a softmax over all rows that something else than"),
        (lambda m, x: torch.cdist(x, x).topk(65).values[:, :3], "the order of 65 rows among all, at most 64 are kept in order"),
        (lambda m, x: (x @ x.t()).cumsum(1) @ x, "cumsum of a number for every pair of rows"),
        (lambda m, x: f.scaled_dot_product_attention(x, x, x, is_causal=True), "attention among rows that is causal"),
        (lambda m, x: x @ (x.t() @ x), "a product of two tensors that both depend on the inputs"),
    ],
)
def test_what_is_not_fused_is_named(function, reason):
    with pytest.raises(NotFused, match=reason):
        captured(Results(function), bound([block("x", 3)], [block("y", 3)]))
