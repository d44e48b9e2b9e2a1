# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pooling inside a row, against the module in float64, and compiled."""

import pytest
import torch
from torch import nn
from torch.nn import functional as f

from bindings import block, bound
from captured_programs import Results, assert_runs, assert_same, fused_program
from cpu_programs import needs_level
from tensoa.compiler import operations as ops
from tensoa.compiler.errors import NotFused

LAYERS = {
    "narrow": nn.Conv1d(2, 5, 3),
    "padded": nn.Conv1d(2, 4, 3, padding=1),
    "strided": nn.Conv1d(2, 4, 4, stride=3, padding=2, bias=False),
    "dilated": nn.Conv1d(2, 3, 3, padding=2, dilation=2),
    "grouped": nn.Conv1d(2, 4, 2, groups=2),
    "same": nn.Conv1d(2, 3, 4, padding="same"),
    "transposed": nn.ConvTranspose1d(2, 3, 3, stride=2, padding=1, output_padding=1),
    "grouped transposed": nn.ConvTranspose1d(2, 4, 4, groups=2, dilation=2, padding=3),
}


@pytest.mark.parametrize("name", LAYERS)
def test_convolutions_of_all_kinds_are_captured(name):
    layer = LAYERS[name]
    width = layer(torch.zeros(1, 2, 9)).numel()
    assert_same(lambda m, x: m.layer(x.view(-1, 2, 9)).flatten(1), [block("x", 18)], (width,), layer=layer)


def of_images(m, x):
    h = m.batch(m.first(x.view(-1, 1, 6, 5)))
    h = m.depth(f.relu(h))
    cut = m.pair(h[:, :, 1:])
    return h.flatten(1)[:, ::4], cut.flatten(1), m.back(cut).sum(1).flatten(1), m.solid(x.view(-1, 1, 2, 3, 5)).flatten(1)


def test_convolutions_of_images_and_volumes_are_captured():
    members = {
        "first": nn.Conv2d(1, 4, 3, padding=1), "batch": nn.BatchNorm2d(4), "depth": nn.Conv2d(4, 4, (1, 3), groups=4),
        "pair": nn.Conv2d(4, 3, 2, stride=(2, 1)), "back": nn.ConvTranspose2d(3, 2, (2, 3), stride=2),
        "solid": nn.Conv3d(1, 2, 2),
    }  # fmt: skip
    assert_same(of_images, [block("x", 30)], (18, 12, 20, 16), **members)


def of_pools(m, x):
    line, image = x.view(-1, 3, 12), x.view(-1, 2, 3, 6)
    return (
        f.max_pool1d(line, 3, 2, 1).flatten(1),
        f.avg_pool1d(line, 4, 3, 1, ceil_mode=True).flatten(1),
        f.max_pool2d(image, 2, ceil_mode=True).flatten(1),
        f.avg_pool2d(image, (2, 3), 1, 1, count_include_pad=False).flatten(1),
        f.avg_pool2d(image, 2, divisor_override=3).flatten(1),
        f.adaptive_avg_pool2d(image, (2, 4)).flatten(1),
        f.adaptive_avg_pool1d(line, 5).flatten(1),
        torch.cat([f.max_pool2d(image, (3, 6)), f.avg_pool2d(image, (3, 6)), image.mean((2, 3), keepdim=True)], 1).flatten(1),
        f.max_pool3d(x.view(-1, 1, 3, 2, 6), (2, 1, 2), dilation=(1, 1, 2)).flatten(1),
    )


def test_pooling_of_all_kinds_is_captured():
    assert_same(of_pools, [block("x", 36)], (18, 15, 12, 48, 6, 16, 15, 6, 4))


@pytest.mark.parametrize(
    "mean",
    [lambda x: f.avg_pool1d(x, 3), lambda x: f.adaptive_avg_pool1d(x, 4), lambda x: f.avg_pool1d(x, 20)],
    ids=["windows", "adaptive", "wide"],
)
def test_means_of_windows_divide_as_torch_does(mean):
    """A product with 1/3 gives another number for one row in five of three equal numbers, and so a variance below 0."""
    width = mean(torch.zeros(1, 1, 20)).numel()
    columns = bound([block("x", 20)], [block("y", width)])
    program = fused_program(Results(lambda m, x: mean(x[:, None]).flatten(1)), columns)
    numbers = [tensor.op.data for tensor in program.tensors() if isinstance(tensor.op, ops.Constant) and tensor.dtype.is_float]
    assert any(isinstance(tensor.op, ops.Map) and tensor.op.fn == "div" for tensor in program.tensors())
    assert all((array == array.round()).all() for array in numbers)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 5, 3, padding=1), nn.BatchNorm2d(5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(5, 20, 2), nn.ELU(),
            nn.AvgPool2d(2, 1), nn.Flatten(), nn.Linear(80, 3),
        )  # fmt: skip

    def forward(self, x):
        return self.layers(x.view(-1, 1, 8, 8))


@needs_level
def test_a_network_of_windows_runs_at_few_and_many_rows(tmp_path):
    assert_runs(Network(), bound([block("x", 64)], [block("y", 3)]), tmp_path)


@pytest.mark.parametrize(
    ("function", "outputs", "reason"),
    [
        (lambda m, x: m.layer(x.t()[None])[0].t(), 2, "an operation along the rows"),
        (
            lambda m, x: f.max_pool1d(x.view(-1, 2, 3), 2, return_indices=True)[1].flatten(1).float(),
            2,
            "result 1 of aten.max_pool2d_with_indices",
        ),
    ],
)
def test_windows_that_are_not_inside_a_row_are_not_fused(function, outputs, reason):
    with pytest.raises(NotFused, match=reason):
        fused_program(Results(function, layer=nn.Conv1d(6, 2, 3, padding=1)), bound([block("x", 6)], [block("y", outputs)]))
