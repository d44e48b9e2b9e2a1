# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""torch.export to typed programs: the results of the interpreter compared with the modules."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as f

from bindings import block, bound
from tensoa.binding.model import result_rows
from tensoa.compiler import cpu, frontend, interpret
from tensoa.compiler.errors import NotFused
from tensoa.compiler.passes import simplified
from wide_models import all_kinds

KINDS = all_kinds()
REFUSED = {
    "Fourier transform": "fft",
    "a counter inside": "something that is written",
    "random numbers inside": "randn",
}
NOT_EXPORTED = (  # for other reasons than the compiler
    "embedding", "flow, two collections", "int8, packed weights", "if on the data", "while on the data",
)  # fmt: skip


def captured(module, binding):
    exported = frontend.exported_program(module.eval(), binding)
    return frontend.capture(exported, binding, result_rows(module, binding, "cpu"))


def inputs(binding, rows, seed=0):
    """(planes of the typed program, tensors of the model)"""
    draw = np.random.default_rng(seed)
    planes, tensors = {}, []
    for i, one in enumerate(binding.inputs):
        name = str(one.column_dtype).removeprefix("torch.")
        shape = (max(one.places) + 1, rows[one.collection])
        data = draw.normal(size=shape) if "float" in name else draw.integers(0, min(rows.values()), shape)
        data = data.astype(name)
        planes.update({(i, plane): row for plane, row in enumerate(data)})
        tensors.append(one.tensor(torch.from_numpy(np.ascontiguousarray(data[one.places]))).contiguous())
    return planes, tensors


def check(module, binding, tolerance=2e-6):
    program = captured(module, binding)
    rows = {collection: 7 + 4 * i for i, collection in enumerate(sorted({b.collection for b in binding.inputs}))}
    planes, tensors = inputs(binding, rows)
    with torch.no_grad():
        results = binding.results(binding.value(module, tensors))
    got = interpret.interpret(program, planes, list(rows.values()))
    for output, value, one, result in zip(program.outputs, got, binding.outputs, results):
        truth = one.planes(result).numpy()
        shown = np.stack(interpret.written(value, output.planes, np.dtype(output.column.name)))
        scale = np.nanmax(np.abs(truth.astype(float)), initial=0.0)
        np.testing.assert_allclose(shown.astype(float), truth.astype(float), rtol=tolerance, atol=tolerance * scale)
    return program


@pytest.mark.parametrize("name", [name for name in KINDS if name not in NOT_EXPORTED])
def test_models_of_many_kinds(name):
    kind = KINDS[name]
    if name in REFUSED:
        with pytest.raises(NotFused, match=REFUSED[name]):
            captured(kind.module, kind.binding())
        return
    short = {"float16 inside": 2e-3, "bfloat16 inside": 1e-2}  # torch's layers round elsewhere
    check(kind.module.eval(), kind.binding(), short.get(name, 2e-6))


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *x):
        return self.function(*x)


OF_INTEGERS = {
    "overflow": lambda x: x * 2654435761 * 2654435761 + (x << 40),
    "shifts": lambda x: (x >> 3) ^ (x << 2) | 5,
    "quotients": lambda x: (x - 3) // 7 + (x - 3) % 7 * 100 + torch.div(x - 3, 7, rounding_mode="trunc"),
    "true quotient": lambda x: ((x / 7) * 1000).long(),
    "narrow": lambda x: (x.to(torch.int8) * 100).to(torch.int64) + (x.to(torch.uint8) - 9).to(torch.int64),
    "sums": lambda x: x.to(torch.int32).sum(1, keepdim=True).expand(-1, 4) + x.cumsum(1),
    "truth": lambda x: ((x > 2) & ~(x == 5) | (x < 0)).long(),
    "powers": lambda x: x**3 - x**2,
    "infinite": lambda x: x + x.isinf() + 2 * (x > 3).isinf() + 3 * x.isposinf() + 4 * x.isneginf(),
    "whole": lambda x: x.floor() + 2 * x.ceil() + 3 * x.trunc() + 4 * x.round(),
    "order": lambda x: x.sort(1, descending=True).indices + x.argmin(1, keepdim=True),
    "written": lambda x: torch.cat([x[:, :1], x[:, 1:].flip(1)], 1).index_add(1, torch.tensor([0, 0, 3]), x[:, :3]),
}


@pytest.mark.parametrize("name", OF_INTEGERS)
def test_integers_mean_what_torch_means(name):
    binding = bound([block("x", 4, "int64")], [block("y", 4, "int64")])
    check(Function(OF_INTEGERS[name]), binding, 0.0)


def written(x):
    """Of equal places the last one counts."""
    y = x.clone()
    y[:, torch.tensor([3, 3, -1])] = x[:, :3]
    return y


OF_SHAPES = {
    "merged and split": lambda x: x.view(-1, 3, 4).transpose(1, 2).reshape(-1, 12).view(-1, 2, 6).flip(2).flatten(1),
    "split where a copy is needed": lambda x: (
        x.view(-1, 4, 3).transpose(1, 2).reshape(-1, 2, 6).transpose(1, 2).reshape(-1, 12)
    ),
    "rows and elements in one axis": lambda x: (
        (x.view(-1, 4) @ torch.arange(8.0).view(4, 2)).view(-1, 3, 2).sum(1).repeat(1, 6)
    ),
    "an axis of one window": lambda x: (
        nn.functional.conv1d(x.view(-1, 3, 4), torch.arange(48.0).view(4, 3, 4) / 48).reshape(-1, 4).repeat(1, 3)
    ),
    "windows": lambda x: x.unfold(1, 5, 1).amax(2).repeat(1, 2)[:, :12],
    "diagonal": lambda x: torch.diagonal(x[:, :9].view(-1, 3, 3), 0, 1, 2).repeat(1, 4),
    "places": lambda x: x[:, [3, 1, 2, 2, 0, -1]].repeat(1, 2),
    "places of two axes": lambda x: x.view(-1, 3, 4)[:, [0, 2, 1], [1, 1, -1]].repeat(1, 4),
    "written slice": lambda x: torch.slice_scatter(x, x[:, :3] * 2, 1, 4, 10, 2),
    "written places": written,
    "written elements of rows": lambda x: torch.index_put(
        x.view(-1, 3, 4), (torch.arange(len(x))[:, None], x[:, :2].argmax(1, True), torch.tensor([1, 3])), x[:, 8:10]
    ).flatten(1),
    "written by scatter": lambda x: x.scatter(1, x[:, :6].argsort(1), x[:, 6:]),
    "masked": lambda x: torch.index_put(x, (x > 0.5,), torch.tensor(-3.0)),
    "elements that rows name": lambda x: x.view(-1, 3, 4)[
        torch.arange(len(x))[:, None], x[:, :3].argsort(1), torch.tensor([0, 2, -1])
    ].repeat(1, 4),
    "places of axes apart": lambda x: x.view(-1, 3, 2, 2)[:, [0, 2], :, [1, 0]].movedim(0, 1).flatten(1).repeat(1, 3),
    "windows that are not whole": lambda x: f.avg_pool1d(x[:, None], 5, 3, 2, True, False)[:, 0].repeat(1, 3)[:, :12],
    "adaptive windows": lambda x: (
        f.adaptive_avg_pool1d(x[:, None], 5)[:, 0] + f.adaptive_max_pool1d(x[:, None], 5)[:, 0]
    ).repeat(1, 3)[:, :12],
    "transposed convolution": lambda x: f.conv_transpose1d(
        x.view(-1, 4, 3), torch.arange(24.0).view(4, 2, 3) - 9, None, 2, 1, 1, 2, 2
    ).flatten(1)[:, :12],
    "norms": lambda x: x / (torch.norm(x, 3, 1, True) + torch.norm(x, 0, 1, True)) + x.kthvalue(2, 1, True).values,
    "merged axes joined by places": lambda x: torch.zeros(len(x), 12).index_add(
        0, torch.arange(len(x)) // 2, (x[:, :3, None] * x[:, None, 8:]).flatten(1)
    ),
    "outer": lambda x: torch.einsum("ni,nj->nij", x[:, :3], x[:, 4:8]).flatten(1),
    "mean of all rows": lambda x: x - x.mean(0, keepdim=True) + x.amax(0),
    "variance": lambda x: (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True),
}


@pytest.mark.parametrize("name", OF_SHAPES)
def test_shapes(name):
    check(Function(OF_SHAPES[name]), bound([block("x", 12)], [block("y", 12)]), 1e-6)


def test_the_place_of_an_extreme_is_that_of_nan_where_there_is_one():
    """Also where there are infinities; of equal numbers the first place counts."""
    x = torch.tensor(
        [[-math.inf, 1.0, math.nan, math.nan], [math.inf, math.nan, 0.0, -0.0], [2.0, -0.0, 0.0, 5.0], [1, 1, 1, 1]]
    )

    def function(x):
        return torch.stack([x.argmin(1), x.argmax(1), x.min(1).indices, x.max(1).indices], 1)

    program = captured(Function(function), bound([block("x", 4)], [block("y", 4, "int64")]))
    (got,) = interpret.interpret(program, {(0, i): x[:, i].numpy() for i in range(4)}, [len(x)])
    assert np.array_equal(got, function(x).numpy())


def test_powers_of_one_half_are_roots_also_of_what_has_none():
    x = torch.tensor([[-math.inf, -4.0, -0.0, 0.0], [4.0, math.inf, math.nan, 0.25]])

    def function(x):
        return torch.cat([x**0.5, x**-0.5], 1)

    program = captured(Function(function), bound([block("x", 4)], [block("y", 8)]))
    (got,) = interpret.interpret(program, {(0, i): x[:, i].numpy() for i in range(4)}, [len(x)])
    np.testing.assert_array_equal(got, function(x).numpy())


@pytest.mark.parametrize("running", [torch.cummax, torch.cummin])
def test_running_extremes_and_their_last_places(running):
    x = torch.tensor([[1.0, 3.0, 3.0, 2.0], [-math.inf, 0.0, -0.0, math.inf], [2.0, math.nan, 9.0, math.nan], [1, 1, 0, 1]])

    def function(x):
        found = running(x, 1)
        return torch.cat([found.values, found.indices.to(x.dtype)], 1)

    program = captured(Function(function), bound([block("x", 4)], [block("y", 8)]))
    (got,) = interpret.interpret(program, {(0, i): x[:, i].numpy() for i in range(4)}, [len(x)])
    np.testing.assert_array_equal(got, function(x).numpy())


ACROSS_AND_MASKED = {
    "a mask": lambda x: torch.index_put(x, (x > 0.5,), (x[x > 0.5] * 2).exp()),
    "a running logarithm of a sum": lambda x: torch.where(x > 0, x, -math.inf).logcumsumexp(1).exp(),
    "rows behind rows": lambda x: torch.cat([x, 2 * x], 0).view(2, -1, 12).sum(0),
    "places among the elements of all rows": lambda x: (
        x.view(-1)[(x[:, :3].argsort(1) + torch.arange(len(x))[:, None] * 12).view(-1)].view(-1, 3).repeat(1, 4)
    ),
    "elements of other rows": lambda x: x.view(-1)[(torch.arange(len(x)) * 12 % 5)[:, None] + torch.arange(12)],
    "a batch's own mean": lambda x: f.batch_norm(x, None, None, training=True),
    "a number of a row": lambda x: x + torch.arange(len(x))[:, None],
    "sums of all rows": lambda x: x.sum(0).expand_as(x) + x.sum(0, keepdim=True),
    "decimals": lambda x: x.round(decimals=2),
    "slopes that are random where it is trained": lambda x: f.rrelu(x, 0.2, 0.5),
    "a sum of products of all rows": lambda x: (
        x.view(-1, 3, 4) + torch.addbmm(torch.ones(3, 4), x[:, :6].view(-1, 3, 2), x[:, 4:].view(-1, 2, 4), beta=2, alpha=3)
    ).flatten(1),
    "a product and nothing of what there was": lambda x: torch.addmm(x.log(), x, torch.arange(144.0).view(12, 12), beta=0),
}


@pytest.mark.parametrize("name", ACROSS_AND_MASKED)
def test_idioms_that_are_made_of_operations(name):
    program = check(Function(ACROSS_AND_MASKED[name]), bound([block("x", 12)], [block("y", 12)]), 2e-5)
    assert cpu.generate(simplified(program)).text


def test_bits_as_numbers_of_another_dtype_are_refused():
    """A lowering whose dtype or shape is not that of torch is none."""
    with pytest.raises(NotFused, match=r"view.dtype, which gives int32.*, and would give float32"):
        captured(Function(lambda x: (x.view(torch.int32) & 255).float()), bound([block("x", 4)], [block("y", 4)]))


@pytest.mark.parametrize("function", [lambda x: x[:, :0], lambda x: x.new_zeros(len(x), 0)])
def test_tensors_without_elements_are_refused_as_such(function):
    with pytest.raises(NotFused, match="^a tensor without elements$"):
        captured(Function(lambda x: torch.cat([function(x), x], 1)), bound([block("x", 4)], [block("y", 4)]))


def test_the_norm_of_no_rows_is_zero():
    def function(x, e):
        return x + torch.linalg.vector_norm(e, dim=0) + e.norm()

    binding = bound([block("x", 4), block("e", 4, collection=1)], [block("y", 4)])
    planes, (x, e) = inputs(binding, {0: 5, 1: 0})
    (got,) = interpret.interpret(captured(Function(function), binding), planes, [5, 0])
    np.testing.assert_array_equal(got, function(x, e).numpy())
