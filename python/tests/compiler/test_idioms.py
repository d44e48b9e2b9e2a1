# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Code around the layers of published models, captured and compared with the module in float64."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as f

from bindings import block, bound
from captured_programs import Results, assert_runs, assert_same


def steps_stacked(m, x):
    steps = [torch.tanh(layer(x)) for layer in m.layers]
    return torch.sum(torch.stack(steps, dim=0), dim=0), torch.stack(steps)[1], torch.stack(steps, -1).amax(-1)


def test_results_of_steps_that_are_stacked_before_the_rows_are_summed():
    layers = nn.ModuleList(nn.Linear(3, 4) for _ in range(3))
    assert_same(steps_stacked, [block("x", 3)], (4, 4, 4), layers=layers)


def memory_filled(m, x):
    columns = torch.empty(x.shape[0], 3, 2)
    for i in range(3):
        columns[:, i] = m.layer(x[:, i : i + 1])
    ones = x.new(x.shape[0], 1).fill_(1.0)
    return columns.flatten(1), ones, torch.empty_like(x).copy_(2 * x)


def test_memory_without_numbers_is_what_is_written_there():
    assert_same(memory_filled, [block("x", 3)], (6, 1, 3), layer=nn.Linear(1, 2))


def offsets_of_tables(m, x):
    low, high = torch.minimum(3 - x, m.limits).clamp(min=0), torch.maximum(x, m.limits).clamp(max=9)
    return m.table(x + m.offsets[None]).flatten(1), m.table(low).sum(1) + m.table(high).sum(1)


def test_columns_of_integers_have_a_constant_of_their_own_added():
    members = {"table": nn.Embedding(10, 2), "offsets": torch.tensor([0, 3, 7]), "limits": torch.tensor([2, 1, 0])}
    assert_same(offsets_of_tables, [block("x", 3, "int64")], (6, 2), **members)


class LastStates(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTM(2, 3, num_layers=2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(6, 2)

    def forward(self, x):
        _, (h, c) = self.cell(x.view(-1, 4, 2))
        return self.out(torch.cat((h[-2], h[-1]), dim=1)), c[0]


def test_last_states_of_an_lstm_are_those_of_each_layer():
    cell = LastStates()
    assert_same(lambda m, x: m.cell(x), [block("x", 8)], (2, 3), cell=cell)


def windows(m, x):
    return x.unfold(-1, 4, 3).flatten(1), f.pad(x.view(-1, 2, 4), (0, 1)).unfold(2, 2, 1).amax((1, 3))


def test_windows_of_a_dimension_have_a_dimension_of_their_own():
    assert_same(windows, [block("x", 8)], (8, 4))


def joined_dimensions(m, x):
    return m.layer(x.view(-1, 3)).view(-1, 8)


def test_dimensions_of_columns_are_joined_by_view():
    assert_same(joined_dimensions, [block("x", 4, kind="vector", element=(3,))], (8,), layer=nn.Linear(3, 2))


def elements_of_each_row(m, x, lengths):
    n = x.shape[0]
    steps = x.view(n, 4, 3)
    last = steps[torch.arange(n), lengths[:, 0] - 1]
    best = m.table[None].expand(n, -1, -1)[torch.arange(n), x.argmax(1) // 3]
    near = torch.cdist(steps, steps).topk(2, largest=False)[1]
    batch = torch.arange(n).view(n, 1, 1).repeat(1, 4, 2)
    flat = (near + torch.arange(0, n).view(-1, 1, 1) * 4).view(-1)
    by_number = x.view(n * 4, -1)[flat, :].view(n, 4, 2, 3)
    return last, best, steps[batch, near, :].sum((1, 2)), by_number.amax(2).flatten(1)


def test_elements_are_taken_by_an_index_next_to_the_number_of_the_row():
    inputs = [block("x", 12), block("lengths", 1, "int64")]
    assert_same(elements_of_each_row, inputs, (3, 2, 3, 12), table=torch.randn(5, 2))


def written_places(m, x):
    y, z, far = x.clone(), x.new_zeros(x.shape[0], 3, 3), x.abs()
    y[y < 0] = 0.5
    y[x > 1] = far[x > 1] * 2
    far[x < 0.5] = far[x < 0.5]
    y[x[:, 0] > 0, 1] = 5
    upper = torch.triu_indices(3, 3)
    z[:, upper[0], upper[1]] = x
    z[:, [0, 1], [1, 2]] += 1
    z.index_put_((torch.arange(x.shape[0])[:, None], x.argsort(1)[:, :2].clamp(max=2), torch.tensor([[0, 2]])), x[:, :2])
    summed = x.index_add(1, torch.tensor([0, 0, 1]), x[:, :3])
    return y, z.flatten(1), summed, x[:, torch.tensor([True, False, True, True, False, False])], z[:, upper[1], upper[0]]


def test_elements_that_a_mask_or_several_indices_name_are_written():
    assert_same(written_places, [block("x", 6)], (6, 9, 6, 3, 6))


def written_by_place(m, x):
    values, places = x.softmax(1).topk(3, dim=1)
    bins = (x.abs() * 2).long().clamp(max=3)
    gates = torch.zeros_like(x).scatter(1, places, values)
    counts = x.new_zeros(x.shape[0], 4).scatter_add(1, bins, torch.ones_like(x))
    largest = x.new_full((x.shape[0], 4), -2.0).scatter_reduce(1, bins, x, "amax")
    return gates, counts, largest, torch.ones_like(x).scatter(1, places[:, :1], 7.0)


def test_elements_are_scattered_inside_a_row():
    assert_same(written_by_place, [block("x", 6)], (6, 4, 4, 6))


def images_folded(m, x):
    patches = f.unfold(x.view(-1, 1, 3, 4), (2, 2), padding=1)
    return patches.flatten(1), f.fold(patches, (3, 4), (2, 2), padding=1).flatten(1)


def test_patches_of_an_image_are_taken_and_summed_back():
    assert_same(images_folded, [block("x", 12)], (80, 12))


def of_attention(m, x):
    q, k, v = x.view(-1, 4, 3, 6).transpose(1, 2).split((4, 1, 1), -1)
    q = q.reshape(-1, 3, 4, 4)[..., :1].transpose(1, 2)
    shared = f.scaled_dot_product_attention(q.transpose(1, 2), k, v, is_causal=True)
    grouped = f.scaled_dot_product_attention(q[:, :, :2], k[:, :1], v[:, :1], is_causal=True, enable_gqa=True)
    return shared.flatten(1), grouped.flatten(1)


def test_causal_attention_and_groups_of_heads():
    assert_same(of_attention, [block("x", 72)], (12, 8))


def of_vectors(m, x):
    factors = torch.addmm(m.base, x, m.weight, beta=0.5, alpha=2.0) + torch.addmm(m.base[0], x, m.weight, alpha=-1)
    dots = torch.stack([x @ m.vector, torch.mv(x, m.vector), (m.vector @ x.view(-1, 6, 1))[:, 0]], 1)
    return factors, dots, m.both(x[:, :2], x[:, 2:5])


def test_products_with_vectors_factors_and_of_two_inputs():
    members = {"base": torch.randn(1, 3), "weight": torch.randn(6, 3), "vector": torch.randn(6), "both": nn.Bilinear(2, 3, 4)}
    assert_same(of_vectors, [block("x", 6)], (3, 3, 4), **members)


def of_running(m, x):
    std, mean = torch.std_mean(x, dim=1)
    norms = torch.stack([x.norm(p=3, dim=1), x.norm(p=0, dim=1), torch.linalg.vector_norm(x, ord=-float("inf"), dim=1)], 1)
    empty = torch.where(x > 0, x, -float("inf"))
    outer = x.unsqueeze(1) * x.unsqueeze(2)
    diagonals = torch.diagonal(outer, 1, 1, 2), torch.diag_embed(x).sum(2)
    sums = torch.cat([x.logcumsumexp(1), x.cumprod(1), empty.logcumsumexp(1).exp()], 1)
    return torch.stack([std, mean], 1), norms, *diagonals, sums, x.round(decimals=2), torch.div(x, 0.3, rounding_mode="floor")


def test_running_products_norms_of_any_order_diagonals_and_rounding():
    assert_same(of_running, [block("x", 6)], (2, 3, 5, 6, 18, 6, 6))


def of_images(m, x):
    image = x.view(-1, 2, 4, 3)
    sizes = [f.interpolate(image, scale_factor=2, mode="bilinear", align_corners=True)]
    sizes += [f.interpolate(image, size=(3, 5), mode=mode) for mode in ("bilinear", "bicubic", "nearest")]
    pooled = f.adaptive_max_pool2d(image, (3, 2)), f.adaptive_max_pool1d(image.flatten(2), 5)
    return *[size.flatten(1) for size in sizes], *[one.flatten(1) for one in pooled], m.norm(image).flatten(1)


def test_images_are_resized_pooled_and_normalised_one_by_one():
    norm = nn.InstanceNorm2d(2, affine=True)
    assert_same(of_images, [block("x", 24)], (96, 30, 30, 30, 12, 10, 24), norm=norm)


def test_distributions_are_traced_without_their_checks():
    def scores(m, x):
        normal = torch.distributions.Normal(x[:, :2], f.softplus(x[:, 2:]))
        return normal.log_prob(torch.zeros(2)), torch.distributions.Categorical(logits=x).entropy()

    assert_same(scores, [block("x", 4)], (2, 1))


def hashed(m, x):
    parts = (
        (x * 2654435761) % 32,
        x // 4 % 8,
        (x | 5) % 32,
        (x ^ 91) & 31,
        (x << 2) & 31,
        (x >> 3).clamp(0, 31),
        x.remainder(m.sizes),
    )
    return torch.cat([m.table(part) for part in parts], 1).flatten(1)


@pytest.mark.parametrize("dtype", ["int64", "int32"])
@pytest.mark.parametrize("numbers", ["normal", "special", "large"])
def test_identifiers_are_hashed_before_they_are_looked_up(dtype, numbers):
    members = {"table": nn.Embedding(32, 2), "sizes": torch.tensor([7, 32])}
    assert_same(hashed, [block("x", 2, dtype)], (28,), numbers=numbers, **members)


def test_hashed_identifiers_are_the_same_compiled(tmp_path):
    members = {"table": nn.Embedding(32, 2), "sizes": torch.tensor([7, 32])}
    assert_runs(Results(hashed, **members), bound([block("x", 2, "int64")], [block("y", 28)]), tmp_path)


@pytest.mark.parametrize(
    ("dtype", "function"),
    [
        ("int64", lambda m, i: i % -3),
        ("int64", lambda m, i: i.fmod(3)),
        ("int8", lambda m, i: i % 300),
        ("uint8", lambda m, i: i // 300),
        ("uint8", lambda m, i: i.clamp(-5, 7)),
        ("int8", lambda m, i: i == m.number),
    ],
)
def test_integers_that_a_dtype_does_not_hold_are_those_of_torch(dtype, function):
    assert_same(lambda m, i: function(m, i).float(), [block("i", 2, dtype)], (2,), number=torch.tensor(300))


def test_quotients_by_infinity_are_those_of_torch():
    assert_same(lambda m, x: torch.cat([x // math.inf, x // -math.inf, x // -0.3], 1), [block("x", 3)], (9,))


def test_groups_of_heads_share_constant_keys():
    def run(m, x):
        return f.scaled_dot_product_attention(x.view(-1, 4, 3, 2), m.keys, m.keys, enable_gqa=True).flatten(1)

    assert_same(run, [block("x", 24)], (24,), keys=torch.rand(1, 2, 5, 2))
