# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The order of elements inside a row, elements taken by it, and distances between them: against the module in float64, and
compiled."""

import pytest
import torch
from torch import nn

from bindings import block, bound
from captured_programs import Results, assert_runs, assert_same, fused_program
from cpu_programs import needs_level
from everywhere import Everywhere
from tensoa.compiler.errors import NotFused
from wide_models import ParticleNet, Spline


def of_order(m, x):
    sets = x.view(-1, 4, 3)
    best, places = sets.topk(2, dim=1)
    return (
        x.sort(1, descending=True).values,
        sets.argsort(1)[:, :, 0].float(),
        best.flatten(1) * places.flatten(1),
        torch.gather(sets, 1, places).flatten(1),
        torch.gather(sets, 1, places[:, :, :1].expand(-1, -1, 3)).flatten(1),
        sets.kthvalue(2, dim=2).values,
        x.topk(3, largest=False).values.cumsum(1),
        m.table[x[:, :5].argmax(1)] + m.embedding(x[:, 5:8].argmin(1)),
    )


def test_sorting_choosing_and_tables_by_what_was_chosen_are_captured():
    members = {"table": torch.randn(5, 2), "embedding": nn.Embedding(3, 2)}
    assert_same(of_order, [block("x", 12)], (12, 4, 6, 6, 6, 4, 3, 2), **members)


def of_distances(m, x):
    a, b = x[:, :6].view(-1, 3, 2), x[:, 6:].view(-1, 3, 2)
    return torch.cdist(a, b).flatten(1), torch.cdist(a, b, p=1).flatten(1), torch.cdist(a, b, p=float("inf")).flatten(1)


def test_distances_are_captured():
    assert_same(of_distances, [block("x", 12)], (9, 9, 9))


def of_edges(m, x):
    inner = torch.softmax(x[:, 4:], 1).cumsum(1)
    return (
        torch.searchsorted(m.edges[0], x[:, :4].contiguous()).float(),
        torch.bucketize(x[:, :4], m.edges[0], right=True).float(),
        torch.searchsorted(inner, torch.sigmoid(x[:, :4]).contiguous(), right=True).float(),
        m.edges[0][torch.bucketize(x[:, :2], m.edges[0]) - 1],
        torch.bucketize(x, m.many[0]).float(),
        torch.searchsorted(m.lines, x[:, :6].T.contiguous(), right=True).T.float(),
        torch.searchsorted(m.many[0].double(), x[:, 0].double()).float(),
    )


def test_places_between_edges_are_captured_and_negative_ones_count_from_the_end():
    many, lines = (torch.randn(n, 300, generator=torch.Generator().manual_seed(n)).sort(1).values for n in (1, 6))
    edges = torch.tensor([[-1.0, -0.25, 0.5, 0.75, 2.0]])
    assert_same(of_edges, [block("x", 10)], (4, 4, 4, 2, 10, 6, 1), edges=edges, many=many, lines=lines)


def test_a_spline_flow_is_captured():
    assert_same(lambda m, x: m.flow(x), [block("x", 4)], (4,), flow=Spline())


@needs_level
def test_particle_net_runs_at_few_and_many_rows(tmp_path):
    torch.manual_seed(3)
    assert_runs(ParticleNet(8, 3, (8,)), bound([block("x", 48)], [block("y", 2)]), tmp_path, 1e-4)


@needs_level
@pytest.mark.parametrize("rows", [1, 7, 100])
def test_numbers_that_are_none_infinities_zeros_and_equal_ones_are_ordered_as_torch_does(rows, tmp_path):
    def of_both_orders(m, x):
        return x.sort(1).values, x.sort(1, descending=True).values

    def fill(inputs):
        some = torch.tensor([0.0, -0.0, 1.0, -1.0, float("inf"), -float("inf"), float("nan"), -float("nan"), 1e-40, 3.0])
        inputs[0].copy_(some[torch.randint(len(some), inputs[0].shape)])

    torch.manual_seed(rows)
    module = Results(of_both_orders)
    made = Everywhere(module, bound([block("x", 8)], [block(name, 8) for name in "ab"]), tmp_path)
    for where, (x,), results in made.results([rows], fill):
        for got, right in zip(results, of_both_orders(module, x)):
            torch.testing.assert_close(got.T, right, rtol=0, atol=0, equal_nan=True, msg=where)


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x: x.topk(2, dim=0).values.expand(2, 3)[:1].expand(x.shape[0], 3),
        lambda m, x: x.repeat(1, 400).sort(1).values[:, ::400],
        lambda m, x: m.table[x.argmax(1)][:, :3],
    ],
)
def test_the_least_of_all_rows_long_orders_and_large_tables_are_fused(function):
    assert_same(function, [block("x", 3)], (3,), table=torch.randn(100, 100))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda m, x: x.sort(0).values, "an operation along the rows"),
        (lambda m, x: x.cumsum(0), "a running sum over the rows"),
        (lambda m, x: torch.cdist(x, x)[:, :3], "of all pairs of rows|some of the rows taken out of all"),
    ],
)
def test_what_has_no_order_inside_a_row_is_not_fused(function, reason):
    with pytest.raises(NotFused, match=reason):
        fused_program(Results(function), bound([block("x", 3)], [block("y", 3)]))
