# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The largest and the least by index: on CPUs, and kernels of GPUs on a CPU, the numbers of torch, to the last bit where they
are only chosen.
"""

import copy

import numpy as np
import pytest
import torch

from bindings import block, bound
from captured_programs import Results, fused_program
from cpu_programs import needs_level
from everywhere import Everywhere
from random_programs import hard_numbers
from tensoa.binding.columns import as_double
from tensoa.compiler import cpu
from wide_models import EdgeMax, GraphAttention

pytestmark = needs_level

WIDTH = 33
INPUTS = [block("x", WIDTH), block("e", WIDTH, collection=1), block("at", 2, "int64", 1, "columns")]
NAMES = ("amax", "amin")


def joined(base, at, numbers, name, is_included=False):
    """Where nothing is joined it is as `base`."""
    return base.index_reduce(0, at, numbers, name, include_self=is_included)


def of_choices(widths):
    """Numbers of the inputs, or products of two of them, of nodes and of edges."""

    def function(m, x, e, at):
        nodes, edges = [], []
        for width in widths:
            own, mine = x[:, :width], e[:, :width]
            there = (-own)[at[0]]
            for name in NAMES:
                found = joined(torch.full_like(own, 7.0), at[1], mine, name)
                nodes += [found, torch.maximum(own, found), found.amin(1, keepdim=True), joined(own, at[1], mine, name, True)]
                nodes += [joined(own, at[1], there, name), joined(own, at[1], mine * e[:, 7:8], name)]
                edges.append(found[at[0]])
        return torch.cat(nodes, 1), torch.cat(edges, 1)

    return function


def fill_of(is_sorted):
    def fill(inputs):
        nodes, edges = (one.shape[1] for one in inputs[:2])
        for i in range(2):
            inputs[i].copy_(torch.from_numpy(np.stack(hard_numbers(WIDTH, inputs[i].shape[1], i)).astype(np.float32)))
        at = torch.randint(0, max(1, nodes // 2), (2, edges))
        inputs[2].copy_(at.sort(1).values if is_sorted else at)

    return fill


@pytest.mark.parametrize("widths", [(1, 2, 8), (20,), (33,)], ids=str)
def test_hard_numbers_are_chosen_as_they_are(widths, tmp_path):
    module = Results(of_choices(widths))
    outputs = [one.shape[1] for one in module(torch.zeros(2, WIDTH), torch.zeros(3, WIDTH), torch.zeros(2, 3).long())]
    binding = bound(INPUTS, [block("nodes", outputs[0]), block("edges", outputs[1], collection=1)])
    program = Everywhere(module, binding, tmp_path)
    torch.manual_seed(1)
    for is_sorted in (False, True):
        for where, tensors, results in program.results((1, 40, 100), fill_of(is_sorted)):
            for got, right in zip(results, module(*tensors)):
                torch.testing.assert_close(got.T, right, rtol=0, atol=0, equal_nan=True, msg=where)


def of_sums(m, x, e, at):
    e = m.layer(e)
    sums, most, least = torch.zeros_like(x).index_add(0, at[1], e), *(joined(x, at[1], e, name, True) for name in NAMES)
    reference = joined(torch.full_like(x, -1e30), at[1], e, "amax", True)
    share = torch.exp(e - reference[at[1]])
    shares = share / torch.zeros_like(x).index_add(0, at[1], share)[at[1]]
    return torch.cat([m.layer(most), sums + most - least, most * least, sums + most], 1), shares


def test_layers_and_sums_together_with_extremes(tmp_path):
    torch.manual_seed(2)
    module = Results(of_sums, layer=torch.nn.Linear(WIDTH, WIDTH)).requires_grad_(False)
    binding = bound(INPUTS, [block("nodes", 4 * WIDTH), block("edges", WIDTH, collection=1)])
    for where, tensors, results in Everywhere(module, binding, tmp_path).results((1, 9, 100)):
        for got, right in zip(results, copy.deepcopy(module).double()(*map(as_double, tensors))):
            torch.testing.assert_close(got.T.double(), right, rtol=1e-5, atol=1e-5 * right.abs().max().item(), msg=where)


def test_where_nothing_is_joined_it_is_the_start_and_nan_stays_nan(tmp_path):
    """Of zeros of both signs one is chosen, and infinities are numbers."""
    nan, inf = torch.nan, torch.inf
    numbers = torch.tensor([[nan, 2, -inf, -inf, -0.0, -0.0, -3, -2, inf], [-nan, -inf, -inf, inf, -0.0, 0.0, nan, nan, 7]])
    module = Results(lambda m, x, e, at: tuple(joined(torch.full_like(x, nan), at[1], e, name) for name in NAMES))
    inputs = [block("x", 2), block("e", 2, collection=1), block("at", 2, "int64", 1, "columns")]

    def fill(inputs):
        inputs[1].copy_(numbers.repeat(1, 2))
        inputs[2].copy_(torch.tensor([0, 0, 1, 1, 2, 2, 3, 3, 5]).repeat(2))

    program = Everywhere(module, bound(inputs, [block(name, 2) for name in NAMES]), tmp_path)
    for where, _, (most, least) in program.results((6,), fill):
        np.testing.assert_array_equal(most, [[nan, -inf, 0, -2, nan, inf], [nan, inf, 0, nan, nan, 7]], err_msg=where)
        np.testing.assert_array_equal(least, [[nan, -inf, 0, -3, nan, inf], [nan, -inf, 0, nan, nan, 7]], err_msg=where)


@pytest.mark.parametrize("model", [GraphAttention, EdgeMax])
def test_networks_are_fused_as_a_whole(model, tmp_path):
    torch.manual_seed(3)
    module = model().requires_grad_(False)
    inputs = [block("x", 4), block("edges", 2, "int64", 1, "columns")]
    for where, tensors, (got,) in Everywhere(module, bound(inputs, [block("y", 2)]), tmp_path).results():
        truth = copy.deepcopy(module).double()(*map(as_double, tensors))
        torch.testing.assert_close(got.T.double(), truth, rtol=1e-5, atol=1e-5, msg=where)


def test_stages_say_what_they_join():
    def function(m, x, e, at):
        return x.index_add(0, at[1], e) + x.index_reduce(0, at[1], e, "amax") + x.index_reduce(0, at[0], e, "amin")

    (first, *_) = cpu.described(fused_program(Results(function), bound(INPUTS, [block("y", WIDTH)])))
    assert all(f"{name} {WIDTH} by index" in first for name in ("sum", "max", "min"))
