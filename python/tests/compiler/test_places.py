# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Elements of a row that are named by constants, by masks, or by the number of their row among those of all rows: against the
module in float64.
"""

import numpy as np
import pytest
import torch
from torch.nn import functional as f

from bindings import block, bound
from captured_programs import Results, assert_same, captured, fused_program
from tensoa.binding.model import with_examples
from tensoa.compiler import interpret
from tensoa.compiler.errors import NotFused


def of_pairs(m, x):
    """Pairs i >= j of 4 elements, and back to a symmetric matrix, as Particle Transformers do."""
    x = x.view(-1, 3, 4)
    i, j = torch.tril_indices(4, 4)
    wide = x.unsqueeze(-1).repeat(1, 1, 1, 4)
    pairs = wide[:, :, i, j] - 2 * wide[:, :, j, i]
    matrix = torch.zeros(x.shape[0], 3, 4, 4, dtype=x.dtype)
    matrix[:, :, i, j] = pairs
    matrix[:, :, j, i] = pairs
    return pairs.flatten(1), matrix.flatten(1)


def test_pairs_of_elements_are_taken_and_put_at_constant_places():
    assert_same(of_pairs, [block("x", 12)], (30, 48))


def of_constant_places(m, x):
    x = x.view(-1, 3, 4)
    part = x.clone()
    part[:, :, m.at] = m.values[0]
    part[:, 0, m.at] = m.values
    return (
        x[:, m.table].flatten(1),  # a table of places
        x[:, m.at - 3, m.at].flatten(1),  # negative ones count from the end
        x[..., None][:, m.at, :, m.at - 2].movedim(0, 1).flatten(1),  # of dimensions that are apart: the places come first
        torch.cat([x.diagonal(dim1=1, dim2=2), x.diagonal(1, 2, 1), x.diagonal(-1, 2, 1)], 1),
        part.flatten(1),
    )


def test_constant_places_of_all_forms_are_those_of_torch():
    table, at, values = torch.tensor([[0, 2, 2], [1, 1, 0]]), torch.tensor([2, 1]), torch.tensor([5.0, -7.0])
    found = {"table": table, "at": at, "values": values}
    assert_same(of_constant_places, [block("x", 12)], (24, 2, 8, 8, 12), **found)


def of_masks(m, x):
    x = x.view(-1, 3, 4)
    mask, some = x > 0, x.sum(2) > 1
    y, z, u = x.clone(), x.clone(), x.clone()
    y[mask] = -1.5
    z[some] = 0
    u[:, m.mask] = float("inf")
    places = x.argmax(2)
    places[some] = 7
    return y.flatten(1), z.flatten(1), torch.exp(-u).flatten(1), places.float()


def test_a_number_in_the_places_of_a_mask_is_fused():
    assert_same(of_masks, [block("x", 12)], (12, 12, 12, 3), mask=torch.tensor([True, False, True]))


def own_step(m, x, length):
    steps = x.view(-1, 4, 3)
    row = torch.arange(x.shape[0])
    last = steps[row, length[:, 0].clamp(1, 4) - 1]
    best = steps.amax(2).topk(2).indices
    near = steps[torch.arange(len(x))[:, None], best]
    return (
        last,
        near.flatten(1),
        steps.transpose(1, 2)[row, :, best[:, 1]],  # the places come first
        steps[row, steps[:, :, 0].argmin(1) - 1],  # -1: the last
        steps[row].flatten(1),
    )


def test_elements_that_each_row_names_are_taken_with_the_number_of_the_row():
    inputs = [block("x", 12), block("length", 1, "int64")]
    assert_same(own_step, inputs, (3, 6, 3, 3, 12))


def of_columns_below_zero(m, x, i):
    steps, row, at = x.view(-1, 3, 4), torch.arange(x.shape[0]), i.clamp(0, 2) - 3
    written = steps.clone()
    written[row, at[:, 0], 1:3] = 5.0
    return steps[row, at[:, 0]], steps[row, at[:, 0], at[:, 1]][:, None], written.flatten(1)


def test_places_of_columns_below_zero_count_from_the_end():
    assert_same(of_columns_below_zero, [block("x", 12), block("i", 2, "int64")], (4, 1, 12))


def of_places_below_zero(m, x, i):
    return m.table(i[:, 0]), x.gather(1, i), x.index_select(1, m.at), x.scatter_add(1, i, torch.ones_like(x[:, :2]))


def test_places_below_zero_are_none_where_torch_stops():
    """As those behind the end: NaN, and left out of a sum."""
    module = Results(of_places_below_zero, table=torch.nn.Embedding(3, 1), at=torch.tensor([2]))
    outputs = [block(f"y{i}", width) for i, width in enumerate((1, 2, 1, 3))]
    program = captured(module, with_examples(module, bound([block("x", 3), block("i", 2, "int64")], outputs)))
    planes = {(0, i): np.full(2, 10.0 + i, np.float32) for i in range(3)}
    planes |= {(1, i): np.array([places, 0]) for i, places in enumerate((-1, 3))}
    table, gathered, _, summed = interpret.interpret(program, planes, [2])
    assert np.isnan(table[0]).all() and table[1] == module.table.weight[0].item()
    np.testing.assert_array_equal(gathered, [[np.nan, np.nan], [10, 10]])
    np.testing.assert_array_equal(summed, [[10, 11, 12], [12, 11, 12]])


def test_truth_values_that_are_summed_at_one_place_stay_truth_values():
    def run(m, x):
        row, true = torch.arange(x.shape[0])[:, None], torch.tensor(True)
        return (x > 0).index_put((row, m.at), true, accumulate=True).float()

    assert_same(run, [block("x", 3)], (3,), at=torch.tensor([0, 0, 1]))


def of_flat_edges(m, x):
    """DGCNN's and ParticleNet's way to take neighbours: among the elements of all rows."""
    x = x.view(-1, 3, 5)
    rows, channels, points = x.size()
    nearest = torch.cdist(x.transpose(1, 2), x.transpose(1, 2)).topk(3, largest=False)[1]
    flat = (nearest + torch.arange(0, rows).view(-1, 1, 1) * points).view(-1)
    found = x.transpose(2, 1).reshape(-1, channels)[flat, :]
    constant = x.transpose(2, 1).reshape(-1, channels)[(m.at + points * torch.arange(rows)[:, None]).reshape(-1)]
    return found.view(rows, points, 3, channels).permute(0, 3, 1, 2).flatten(1), constant.view(rows, -1)


def test_elements_of_all_rows_are_taken_where_each_row_takes_its_own():
    assert_same(of_flat_edges, [block("x", 15)], (45, 6), at=torch.tensor([4, 0]))


def states_one_behind_another(m, x):
    a, b = x[:, :3], x[:, 3:]
    both = torch.cat([a, b], 0).view(2, -1, 3)
    return both[1] - both[0], torch.cat([a], 0), m.layer(torch.cat([a, b], 0)).view(2, -1, 2).transpose(0, 1).flatten(1)


def test_rows_behind_rows_that_are_taken_apart_again_are_fused():
    assert_same(states_one_behind_another, [block("x", 6)], (3, 3, 4), layer=torch.nn.Linear(3, 2))


def of_tables_and_sizes(m, x, kind):
    time = (x[:, 0].abs() * 3).long().clamp(0, 4)
    image = x.view(-1, 2, 3, 2)
    return (
        m.table.gather(-1, time).view(-1, 1),
        (kind.abs() + m.table[kind[:, :1].abs().clamp(max=4)]).abs(),
        f.interpolate(image, scale_factor=2).flatten(1),
        f.interpolate(image, size=(2, 5), mode="nearest-exact").flatten(1),
        f.interpolate(image, scale_factor=(1.5, 2), mode="bilinear").flatten(1),
        f.interpolate(x.view(-1, 3, 4), size=7, mode="linear", align_corners=True).flatten(1),
    )


def test_numbers_of_a_table_and_images_of_another_size_are_captured():
    inputs = [block("x", 12), block("kind", 2, "int64")]
    assert_same(of_tables_and_sizes, inputs, (1, 2, 48, 20, 32, 21), table=torch.rand(5))


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x: x + torch.arange(len(x))[:, None],
        lambda m, x: torch.arange(len(x))[:, None].expand(-1, 3) * x,
        lambda m, x: x.view(-1)[(x.argmax(1) + 1 + torch.arange(len(x)) * 3) % 3, None].expand(-1, 3),
        lambda m, x: x.view(-1)[((torch.arange(len(x)) * 3)[:, None] - (x > 0).long()).clamp(min=0)],  # of the row before
        lambda m, x: x.view(-1)[(torch.arange(len(x)) * 2)[:, None] + m.at],
        lambda m, x: x.view(-1)[torch.add(m.at, torch.arange(len(x))[:, None], alpha=3)],
        lambda m, x: x[torch.arange(len(x))[:, None], x.argmax(1)].sum(1, True).expand(-1, 3),
    ],
)
def test_the_number_of_a_row_is_a_number(function):
    assert_same(function, [block("x", 3)], (3,), at=torch.tensor([0, 1, 0]))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda m, x: x[torch.arange(len(x)) * 2 % len(x)], "a number that is known with the rows only"),
        (lambda m, x: x.flip(0)[torch.arange(len(x))], "an operation along the rows"),
        (lambda m, x: x.masked_scatter(x > 0, x), "masked_scatter"),
    ],
)
def test_other_uses_of_the_number_of_a_row_are_not_fused(function, reason):
    with pytest.raises(NotFused, match=reason):
        fused_program(Results(function), bound([block("x", 3)], [block("y", 3)]))


def compared_where_a_mask_is_true(m, x, a, b):
    mask = x > 0
    is_larger = torch.zeros_like(mask)
    is_larger[mask] = a[mask] * b[mask] > a[mask] * b[mask] - 1
    return is_larger.float()


def test_integers_of_a_mask_are_those_of_torch():
    inputs = [block("x", 2), block("a", 2, "int64"), block("b", 2, "int64")]
    assert_same(compared_where_a_mask_is_true, inputs, (2,), numbers="large")
