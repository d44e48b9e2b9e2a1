# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Attention and neighbours among all rows: the code for CPUs, and kernels of GPUs on a CPU, give what the model gives in
float64.
"""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as f

import cuda_programs
from bindings import block, bound
from captured_programs import Results, assert_runs, assert_same, check, fused_program
from cpu_programs import RUNNABLE, needs_level
from everywhere import Everywhere
from tensoa.binding.model import result_rows, with_examples
from tensoa.compiler import cpu, routes
from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontend import exported_program
from tensoa.compiler.schedule.streams import is_stream
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
    load = fused.Program(folder / "program.so")
    return lambda blocks, rows: load(SimpleNamespace(blocks=[(one.ctypes.data, one.shape[1]) for one in blocks]), rows)


def kernels_on_cpu(module, binding, folder):
    exported = exported_program(module, binding)
    made = routes.for_cuda(exported, binding, result_rows(module, binding, "cpu"), "ieee", False).made
    (loaded,) = cuda_programs.on_cpu([made], folder)

    def run(blocks, rows):
        loaded.bind([SimpleNamespace(address=one.ctypes.data, pitch=one.shape[1]) for one in blocks], rows)()

    return run


@pytest.mark.parametrize("name", MODELS)
def test_what_people_write_is_one_program(name):
    module, binding, _ = module_of(name)
    program = check(module, binding, rows=(37,))
    assert any(map(is_stream, program.tensors()))


def test_queries_and_keys_of_two_collections_with_integers_that_say_what_belongs_together():
    def of_pairs(m, x, i, clusters, j):
        scores = (x @ clusters.t()).masked_fill(i != j.t(), -1e9)
        nearest = torch.cdist(x, clusters).argmin(1)
        return torch.softmax(scores, 1) @ clusters + clusters[nearest]

    inputs = [block("x", 4), block("i", 1, "int16"), block("clusters", 4, collection=1), block("j", 1, "int16", 1)]
    assert any(map(is_stream, assert_same(of_pairs, inputs, (4,)).tensors()))


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
def test_extremes_of_nan_are_those_of_torch(tmp_path):
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
        run = kernels_on_cpu(module, binding, tmp_path)
    elif RUNNABLE:
        run = on_cpu(module, binding, tmp_path, "x86-64-v3")
    else:
        pytest.skip("no CPU of level x86-64-v3 here")
    check_runs(run, name, module.double(), width, ROWS[:-1])


def all_of(module, inputs, outputs, folder, rows, fill=None):
    """(where, tensors, results) of all programs of a function of rows."""
    yield from Everywhere(Results(module), bound(inputs, outputs), folder).results(rows, fill)


@needs_level
def test_a_mask_of_minus_infinity_and_large_scores(tmp_path):
    """Nothing overflows, what is masked does not count, and where all is masked softmax gives NaN."""

    def function(m, x, mask):
        return torch.softmax(x @ x.t() + mask.t(), 1) @ x

    inputs, outputs = [block("x", 4), block("mask", 1)], [block("y", 4)]
    program = Everywhere(Results(function), bound(inputs, outputs), tmp_path)
    for scale in (1, 1e4, 1e18):

        def fill(inputs, scale=scale):
            inputs[0].mul_(scale)
            at = torch.arange(inputs[1].shape[1])
            inputs[1][0] = torch.where((at % 3 == 0) & (at >= 70), 0, -torch.inf)

        for where, (x, mask), (got,) in program.results((150,), fill):
            truth = function(None, x.double(), mask.double())
            assert torch.isfinite(got).all(), where
            torch.testing.assert_close(got.T.double(), truth, rtol=2e-5, atol=2e-5 * truth.abs().max().item(), msg=where)
    for where, _, (got,) in program.results((150,), lambda inputs: inputs[1].fill_(-torch.inf)):
        assert got.isnan().all(), where


@needs_level
def test_values_that_are_infinite_count_also_with_weights_of_zero(tmp_path):
    """0 * infinity is not a number, and a score that is none is not one of minus infinity."""

    def function(m, x, mask):
        q, k = x[:, :1][None, None], x[:, :1][None, None]
        return f.scaled_dot_product_attention(q, k, x[None, None], attn_mask=mask.t().expand(x.shape[0], -1), scale=1.0)[0, 0]

    def infinite(inputs):
        inputs[1].fill_(-torch.inf)
        inputs[0][1, 40] = torch.inf  # a value that no score reads

    def no_number(inputs):
        inputs[1].fill_(-torch.inf)
        inputs[1][0, 77] = torch.nan

    program = Everywhere(Results(function), bound([block("x", 3), block("mask", 1)], [block("y", 3)]), tmp_path)
    for where, _, (got,) in program.results((90,), infinite):
        assert got[1].isnan().all() and (got[[0, 2]] == 0).all(), where
    for where, _, (got,) in program.results((90,), no_number):
        assert got.isnan().all(), where


@needs_level
@pytest.mark.parametrize("count", [1, 3, 20])
def test_equal_distances_give_the_first_rows(count, tmp_path):
    """Few different numbers, of both signs of zero, infinities and NaN: the order is exact."""

    def function(m, x):
        products, keys = x * x.t(), x.t().expand(x.shape[0], -1)
        found = [one.topk(count, largest=largest).indices for one in (products, keys) for largest in (False, True)]
        return *[places.float() for places in found], x[found[0][:, -1]]

    def fill(inputs):
        some = torch.tensor([0.0, -0.0, 1.0, -1.0, 2.5, torch.inf, -torch.inf, torch.nan])
        inputs[0].copy_(some[torch.randint(len(some), inputs[0].shape)])

    def right(x):
        """numpy's stable sort, NaN as the largest."""
        with np.errstate(invalid="ignore"):
            scores = [x * x.T, np.broadcast_to(x.T, (len(x), len(x)))]
        for one in scores:
            keys, last = np.where(np.isnan(one), np.inf, one), np.isnan(one)
            for sign in (1, -1):
                yield np.lexsort((sign * keys, sign * last), axis=1)[:, :count]

    torch.manual_seed(1)
    outputs = [*(block(name, count) for name in "abcd"), block("there", 1)]
    for where, (x,), got in all_of(function, [block("x", 1)], outputs, tmp_path, (20, 33, 130), fill):
        truth = list(right(x.numpy()))
        for one, places in zip(got, truth):
            np.testing.assert_array_equal(one.T.numpy(), places, err_msg=where)
        np.testing.assert_array_equal(got[4][0].numpy(), x.numpy()[truth[0][:, -1], 0], err_msg=where)


@needs_level
@pytest.mark.parametrize("name", ["attention of all rows", "neighbours of all rows"])
def test_packages_are_checked_with_as_few_rows_as_the_model_takes(name, tmp_path):
    kind = all_kinds()[name]
    module = kind.module.eval()
    binding = with_examples(module, kind.binding())
    rules = result_rows(module, binding, "cpu")
    cpu.build(routes.for_cpu(exported_program(module, binding), binding, rules).source, RUNNABLE[0], tmp_path / "program.so")
    found = validate(fused.Program(tmp_path / "program.so"), module, binding, rules, is_whole=True)
    normal = [check.rows[0] for check in found if check.numbers == "normal"]
    assert normal == ([33, 1000] if "neighbours" in name else [1, 2, 33, 1000])
    assert max(error for check in found if check.numbers == "normal" for error in check.relative_error.values()) < 2e-6


@pytest.mark.parametrize("model", [AllHits, AllNeighbours])
def test_programs_compile_for_gpus(model):
    module = model().eval()
    binding = with_examples(module, bound([block("x", 4)], [block("y", 2)]))
    rules = result_rows(module, binding, "cpu")
    entry, files = fused.for_cuda(routes.for_cuda(exported_program(module, binding), binding, rules, "tf32x3", True), "tf32x3")
    assert entry.deterministic and all(len(files[code.file]) > 1000 for code in entry.cuda.code)


class OfSets(nn.Module):
    """Sets inside a row, and all rows."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 12), nn.Linear(12, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        h = self.b(torch.relu(self.a(x.view(-1, 4, 2))).sum(1))[None]
        h = (h + self.attention(h, h, h)[0])[0]
        return h[torch.cdist(h, h).topk(3, largest=False).indices].amax(1)


@needs_level
def test_sets_inside_a_row_together_with_all_rows(tmp_path):
    torch.manual_seed(1)
    assert_runs(OfSets().requires_grad_(False), bound([block("x", 8)], [block("y", 8)]), tmp_path, rows=(3, 40))


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x: torch.softmax(x @ x.t(), 0) @ x,
        lambda m, x: (torch.softmax(x @ x.t(), 1) * x[:, 0]) @ x,
        lambda m, x: f.scaled_dot_product_attention(x, x, x, is_causal=True),
    ],
)
def test_softmax_along_either_axis_and_of_the_rows_before_is_fused(function):
    assert_same(function, [block("x", 3)], (3,))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda m, x: (x @ x.t())[:, 0:1] + x, "some of the rows taken out of all"),
        (lambda m, x: (x @ x.t() + torch.eye(x.shape[0])) @ x, "the operation aten.eye.default"),
        (lambda m, x: torch.cdist(x, x).topk(65).values[:, :3], "65 rows"),
        (lambda m, x: (x @ x.t()).cumsum(1) @ x, "a running sum over the rows"),
    ],
)
def test_what_is_not_fused_is_named(function, reason):
    with pytest.raises(NotFused, match=reason):
        fused_program(Results(function), bound([block("x", 3)], [block("y", 3)]))
