# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The front end of torch.export, and what the passes make of it, against the module itself, in float64."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as f

from bindings import GRAPH, block, bound
from captured_programs import Results, assert_same, check, fused_program
from tensoa.compiler import operations as ops
from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontend import lowering
from tensoa.compiler.schedule.stages import stages_of
from tensoa.importers.exatrkx import ExaTrkX
from tensoa.tracking.interaction_network import InteractionNetwork


class Formulas(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 8), nn.Linear(8, 2)
        self.norm, self.batch = nn.LayerNorm(8), nn.BatchNorm1d(8)

    def forward(self, x):
        h = self.batch(f.gelu(self.first((x - 0.5) / 2)))
        h = f.silu(self.norm(h)) + f.gelu(h, approximate="tanh")
        h = f.elu(h) + f.leaky_relu(h, 0.2) + f.softplus(h) + f.hardtanh(h) + f.hardsigmoid(h)
        h = torch.where(h > 0.3, h, -h).clamp(max=3) ** 2 + h.abs().sqrt() * torch.atan2(h, h + 4)
        return torch.softmax(self.last(h), dim=1), h.mean(1), f.normalize(h, dim=-1)[:, ::3], h[:, 1:2]


def test_elementwise_functions_normalisations_and_reductions_are_captured():
    outputs = [block("soft", 2), block("mean", 1), block("unit", 3), block("one", 1)]
    check(Formulas(), bound([block("x", 3, places=(2, 0, 5))], outputs))


class Elements(nn.Module):
    """All kinds of columns."""

    def forward(self, vectors, matrices, flags, layer, constants):
        product = (matrices * vectors.unsqueeze(1)).sum(2) + constants[:, 1:]
        return product * flags.float() + layer.float() / 10, matrices.transpose(1, 2) + 1


def test_vectors_matrices_scalars_and_integer_features_are_captured():
    inputs = [
        block("vectors", 1, kind="vector", element=(3,)),
        block("matrices", 1, kind="matrix", element=(2, 3)),
        block("flags", 1, "bool"),
        block("layer", 1, "int16"),
        block("constants", 2, kind="scalar"),
    ]
    outputs = [block("product", 2), block("turned", 1, kind="matrix", element=(3, 2))]
    check(Elements(), bound(inputs, outputs))


def of_numbers(m, x):
    pair, turned = x.view(-1, 2, 3), x.flip(1)
    dot = torch.einsum("ni,nj->nij", x[:, :2], x[:, 2:4]).flatten(1) + torch.einsum("ni,oi->no", x, m.layer.weight)[:, :4]
    attended = f.scaled_dot_product_attention(pair, pair, pair).flatten(1)
    places = torch.stack([x.argmax(1), x.min(1).indices], 1)
    spread = torch.stack([x.std(1), x.var(1, unbiased=False), x.max(1).values, x.norm(p=1, dim=1)], 1)
    wrapped = torch.remainder(x + 3, 2) - torch.remainder(x, -0.7) + x.trunc() + torch.hypot(x, turned) + torch.erfc(x)
    finite = torch.nan_to_num(torch.log(x), nan=2.0) + torch.clamp(x, m.low, turned)
    return (
        m.inner(pair).flatten(1),
        dot,
        attended,
        places.float(),
        spread,
        wrapped + x.roll(2, 1) * m.low.repeat(x.shape[0], 1) + f.pad(x[:, 1:], (1, 0)),
        finite,
        m.group(x),
        m.low.expand(x.shape[0], 6),
    )


def test_products_moves_and_extremes_inside_a_row_are_captured():
    members = {"layer": nn.Linear(6, 5), "inner": nn.Linear(3, 2), "group": nn.GroupNorm(2, 6)}
    members["low"] = torch.randn(6)
    assert_same(of_numbers, [block("x", 6)], (4, 4, 6, 2, 4, 6, 6, 6, 6), **members)


def of_sets(m, x):
    """A set of 4 elements with 3 numbers each, and 2 heads, in the ways that people write."""
    sets, n = x.reshape(-1, 4, 3), x.shape[0]
    flat = torch.relu(m.inner(x.reshape(-1, 3)) @ m.turn.t() + m.turn[0]).reshape(n, 4, 2)
    wide = f.layer_norm(m.wide(torch.relu(m.conv(sets.transpose(1, 2)))), (4,)).flatten(1)
    image = m.image(x.reshape(n, 3, 2, 2)).sum((2, 3))
    heads = m.heads(sets).reshape(n, 4, 2, 3).transpose(1, 2).reshape(n * 2, 4, 3)
    attended = torch.softmax(torch.bmm(heads, heads.transpose(1, 2)) / 2, -1) @ heads
    mixed = attended.reshape(n, 2, 4, 3).transpose(1, 2).reshape(n, 4, 6)
    best = flat.reshape(n * 4, 2).amax(1).reshape(n, 4)
    return flat.flatten(1), wide, image, mixed.flatten(1), best


def test_sets_inside_a_row_are_captured_as_people_write_them():
    members = {"inner": nn.Linear(3, 2), "turn": torch.randn(2, 2), "heads": nn.Linear(3, 6)}
    members |= {"conv": nn.Conv1d(3, 5, 1), "wide": nn.Conv1d(5, 2, 1, bias=False), "image": nn.Conv2d(3, 4, 1)}
    assert_same(of_sets, [block("x", 12)], (8, 8, 4, 24, 4), **members)


def test_encoder_layer_with_a_mask_is_captured():
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)

    def of_elements(m, x, mask):
        return m.layer(x.unflatten(1, (3, 4)), src_key_padding_mask=mask)[:, 0]

    assert_same(of_elements, [block("x", 12), block("mask", 3, "bool")], (4,), layer=layer)


SETS = [block("x", 6), block("e", 2, "int64", 1, "columns")]


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x, e: x.reshape(-1, 3).sum(0).expand(x.shape[0], 3),
        lambda m, x, e: x[:, :3].index_add(0, e[1], x.reshape(-1, 3)[e[0]]),
        lambda m, x, e: torch.relu(x.t().reshape(-1, 1)).reshape(6, x.shape[0]).t()[:, :3],
    ],
)
def test_rows_and_elements_in_one_dimension_are_followed(function):
    assert_same(function, SETS, (3,))


@pytest.mark.parametrize(
    "function, reason",
    [
        (
            lambda m, x, e: m.wide(x.reshape(1, -1, 3).transpose(1, 2))[0].t().reshape(-1, 6)[:, :3],
            "an operation along the rows",
        ),
        (lambda m, x, e: x.reshape(-1, 3).t().reshape(6, x.shape[0]).t()[:, :3], "rows in another order"),
        (lambda m, x, e: x.reshape(-1, 3).cumsum(0).reshape(-1, 6)[:, :3], "running sum over"),
        (lambda m, x, e: x.reshape(-1, 3).flip(0).reshape(-1, 6)[:, :3], "an operation along the rows"),
    ],
)
def test_rows_and_elements_in_one_dimension_are_not_mixed(function, reason):
    module = Results(function, wide=nn.Conv1d(3, 3, 2, padding="same"))
    with pytest.raises(NotFused, match=reason):
        fused_program(module, bound(SETS, [block("y", 3)]))


MIXED = [block("x", 3), block("k", 1, "int64"), block("q", 1, "int8"), block("m", 1, "bool"), block("w", 1, "int16")]


def of_integers(m, x, k, q, mask, w):
    signs = (x > 0) | ~mask | (k > 20)
    return (
        torch.where(x.long() == 0, x, -x) + x.int(),
        torch.where(torch.logical_or(x.trunc(), x - x), x + 3, x - 3),
        ((x > 0) + mask).to(x.dtype) * x + (mask ^ (q > 3)),
        x / signs.sum(1, keepdim=True).clamp(min=1) + torch.cat([mask, k > 2, q == w], 1).any(1, keepdim=True),
        x * q + k.clamp(max=9) + (q.int() * w.int() - 5).float(),
    )


def test_integers_and_truth_values_are_calculated_as_torch_does():
    assert_same(of_integers, MIXED, (3, 3, 3, 3, 3))


def of_tables(m, x, k, q, mask, w):
    return m.wide(k.squeeze(-1))[:, 2:], m.wide(q.long()).squeeze(1) * m.one(k).squeeze(1) + m.table[k[:, 0]] @ m.table


def test_embeddings_are_captured_though_their_tables_are_shorter_than_columns():
    members = {"wide": nn.Embedding(21, 4), "one": nn.Embedding(5, 1), "table": torch.randn(4, 4)}
    assert_same(of_tables, MIXED, (2, 4), **members)


def of_sums(m, x, edges, e):
    zero, column = torch.zeros_like(x), edges[1].unsqueeze(1)
    return (
        zero.scatter_add(0, column, e),
        x.scatter_add(0, column.expand(-1, 2), e),
        x[:, 0].index_add(0, edges[0], e[:, 2]).unsqueeze(1),
        zero.scatter_reduce(0, column.expand(-1, 3), e[:, :3], "mean", include_self=False),
        x.scatter_reduce(0, column.repeat(1, 3), e[:, :3], "mean"),
        x.index_put((edges[1],), x.new_full((3,), 2.0), accumulate=True),
        (x[edges.t()][:, 0] - x.gather(0, column.expand(-1, 2)).sum(1, keepdim=True)) * (edges[0] < 9).unsqueeze(1),
    )


def test_sums_and_gathers_take_the_part_that_their_index_has():
    assert_same(of_sums, GRAPH, (3, 3, 1, 3, 3, 3, 3), collections=[0] * 6 + [1])


def of_extremes(m, x, edges, e):
    zero, column, three = torch.zeros_like(x), edges[1].unsqueeze(1), e[:, :3]
    index, least = column.expand(-1, 3), x.new_full(x.shape, -math.inf)
    return (
        zero.scatter_reduce(0, index, three, "amax"),
        zero.scatter_reduce(0, index, three, "amax", include_self=False),
        x.scatter_reduce(0, column.expand(-1, 2), e, "amin"),
        x.scatter_reduce(0, column, e, "amin", include_self=False),
        least.scatter_reduce(0, index, three, "amax").clamp(min=-9),
        x[:, 0].new_full((x.shape[0],), -1e30).scatter_reduce(0, edges[0], e[:, 1], "amax").unsqueeze(1).clamp(min=-9),
        x.index_reduce(0, edges[1], three, "amax"),
        torch.ones_like(x).index_reduce(0, edges[0], three, "amin", include_self=False),
        x.index_reduce(0, edges[1], three, "mean"),
        zero.scatter_reduce(0, index, three, "sum", include_self=False)
        + x.t().scatter_reduce(1, index.t(), three.t(), "amin").t(),
    )


def test_extremes_by_index_are_joined_to_any_tensor():
    program = assert_same(of_extremes, GRAPH, (3, 3, 3, 3, 3, 1, 3, 3, 3, 3), collections=[0] * 10)
    assert {tensor.op.fn for tensor in program.tensors() if isinstance(tensor.op, ops.Scatter)} == {"max", "min", "sum"}


def test_what_no_index_names_and_what_is_infinite_differ():
    """Where rows are there, their extreme is it, though it is what a start would be."""

    def function(m, x, edges, e):
        far = torch.where(e[:, :3] > -9, -math.inf, e[:, :3])
        return x.index_reduce(0, edges[1], far, "amax", include_self=False).clamp(min=-20)

    assert_same(function, GRAPH, (3,))


def test_offsets_far_from_zero_are_subtracted_before_a_layer():
    for mean, width in ((300.0, 300.0), (2000.0, 300.0), (2000.0, 0.1)):
        assert_same(lambda m, x: m.layer((x - mean) / width), [block("x", 3)], (4,), layer=nn.Linear(3, 4))


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x, k, q, mask, w: x + (q + q).float(),
        lambda m, x, k, q, mask, w: x + (k + k),
        lambda m, x, k, q, mask, w: x + (k.to(torch.int16) * q),
        lambda m, x, k, q, mask, w: x + (k * x.long()),
        lambda m, x, k, q, mask, w: x + (x > 0).sum(1, keepdim=True).to(torch.uint8),
        lambda m, x, k, q, mask, w: x * (k == 1000000007),
        lambda m, x, k, q, mask, w: x + torch.cat([k, k + 1], 1).argmax(1, keepdim=True),
        lambda m, x, k, q, mask, w: x * torch.cat([k, k + 1], 1).int().min(1, keepdim=True)[1],
        lambda m, x, k, q, mask, w: x + (~(x > 0).sum(1, keepdim=True)),
    ],
)
@pytest.mark.parametrize("numbers", ["normal", "large"])
def test_integers_that_float32_does_not_hold_are_those_of_torch(function, numbers):
    assert_same(function, MIXED, (3,), numbers=numbers)


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x: x + torch.full_like(x, x.shape[0]),
        lambda m, x: x + torch.full((x.shape[0], 3), x.shape[0]),
        lambda m, x: x + torch.arange(x.shape[0], 2 * x.shape[0])[:, None],
        lambda m, x: x.clamp(max=x.shape[0] - 37.5),
        lambda m, x: torch.where(x > 0, x, x.shape[0]),
        lambda m, x: x.masked_fill(x > 0, x.shape[0]),
        lambda m, x: x.abs() ** (x.shape[0] / 37),
        lambda m, x: torch.add(x, x, alpha=x.shape[0]),
        lambda m, x: f.pad(x[:, 1:], (1, 0), value=x.shape[0]),
        lambda m, x: f.leaky_relu(x, x.shape[0]),
        lambda m, x: x.roll(x.shape[0], 1),
    ],
)
def test_numbers_that_the_rows_give_are_none_of_the_program(function):
    with pytest.raises(NotFused):
        fused_program(Results(function), bound([block("x", 3)], [block("y", 3)]))


def test_memory_is_filled_with_a_number_of_the_data():
    assert_same(lambda m, x: torch.empty_like(x).fill_(m.number) + x, [block("x", 3)], (3,), number=torch.tensor(2.5))


def test_random_numbers_are_refused():
    with pytest.raises(NotFused, match=r"random numbers \(rand\)"):
        fused_program(Results(lambda m, x: x + torch.rand(3)), bound([block("x", 3)], [block("y", 3)]))


def test_constant_that_torch_would_take_apart_is_captured():
    inputs = [block("v", 1, "uint8")]
    assert_same(lambda m, v: (torch.eye(256)[v.long()[:, 0]][:, :3], torch.eye(8, 5)[:3].sum(0) * v), inputs, (3, 5))


@pytest.mark.parametrize(
    "dtype, other",
    [
        ("int8", "uint8"), ("int64", "int32"), ("int16", "uint8"), ("uint8", "int8"),  # which wrap around
        ("bool", "int64"), ("bool", "uint8"), ("uint8", "int16"), ("int8", "int32"),  # which hold them
    ],
)  # fmt: skip
def test_columns_as_other_integers_are_what_torch_makes_of_them(dtype, other):
    assert_same(lambda m, v: v.float().sum(1, keepdim=True), [block("v", 2, dtype, as_dtype=other)], (1,))


@pytest.mark.parametrize("numbers", ["normal", "large", "special"])
def test_arithmetic_of_integer_columns_with_constants_wraps_as_in_torch(numbers):
    def of_columns(m, k, i, q, u, mask):
        return (
            ((k + 1).float() + (-k).float() * 0.5 + (k * 3 - 7).float()) * 1e-18,
            ((2 - i) * 1000003).float() + (i.long() * 5).float(),
            (q + 100).float() + (q * 3).to(torch.uint8).float() + (-q).long().float(),
            (u - 1).float() + (u + 200).int().float() + (mask.to(torch.uint8) - 1).float(),
            k.clamp(-3, 3).float() + (k.clamp(max=5).clamp(min=-5) * q.clamp(-2, 7)).float() + i.to(torch.int16).float(),
        )

    inputs = [block("k", 1, "int64"), block("i", 1, "int32"), block("q", 1, "int8"), block("u", 1, "uint8")]
    assert_same(of_columns, [*inputs, block("mask", 1, "bool")], (1, 1, 1, 1, 1), numbers=numbers)


def test_tables_are_read_with_columns_after_arithmetic_with_constants():
    def of_tables(m, k, q):
        return m.table(k.squeeze(1) + 1), m.table((q.long().clamp(-1, 2) + 1)[:, 0]) + m.table.weight[(2 - k[:, 0]).clamp(0, 3)]

    inputs = [block("k", 1, "int64"), block("q", 1, "int8")]
    assert_same(of_tables, inputs, (2, 2), table=nn.Embedding(4, 2))


def of_signed_zeros(m, x):
    minus, plus = torch.full_like(x, -0.0), torch.zeros_like(x)
    pairs = torch.stack([plus, minus, x * 0 + 1], 1)  # [n, 3 groups, 3]
    return (
        torch.where(torch.where(x > 0, 0.0, -0.0).reciprocal() > 0, 1.0, -1.0),
        torch.atan2(minus, x),
        torch.atan2(plus, x),
        torch.atan2(x * 0 + 2, torch.tensor([0.0, -0.0, 0.0])) + torch.atan2(torch.tensor([0.0, -0.0, 0.0]), x),
        torch.atan2(pairs.amax(2), x),
    )


def test_zeros_keep_their_sign():
    assert_same(of_signed_zeros, [block("x", 3)], (3, 3, 3, 3, 3))


def of_choices(m, x, k, q, mask, w):
    return (
        x.argmax(1),
        (x > 0) & mask,
        (x > 0.5).sum(1, dtype=torch.int32),
        k.clamp(0, 9) * 2 + q,
        torch.where(mask, q, 3).squeeze(1),
        ~mask.squeeze(1),
        torch.cat([w, q.to(torch.int16), w.clamp(max=3)], 1).argmin(1),
        (torch.cat([k, k + 1], 1).max(1)[0] > 2),
    )


def test_results_of_integers_and_truth_values_are_captured():
    dtypes = "int64 bool int32 int64 int8 bool int64 bool".split()
    outputs = [block(f"y{i}", 3 if i == 1 else 1, dtype) for i, dtype in enumerate(dtypes)]
    program = check(Results(of_choices), bound(MIXED, outputs))
    assert [output.column.name for output in program.outputs] == dtypes


@pytest.mark.parametrize("function", [lambda m, k: k + 0, lambda m, k: k.clamp(max=1 << 25).clamp(min=-5), lambda m, k: k])
@pytest.mark.parametrize("numbers", ["normal", "large", "special"])
def test_results_of_integers_are_exact(function, numbers):
    program = check(Results(function), bound([block("k", 1, "int64")], [block("y", 1, "int64")]), numbers=numbers)
    assert not any(tensor.dtype.is_float for tensor in program.tensors())


def test_surprise_is_a_reason_not_to_fuse(monkeypatch):
    def fails(*arguments):
        raise TypeError("what no test expects\nsecond line")

    monkeypatch.setitem(lowering.LOWERINGS, "sin", fails)
    columns = bound([block("x", 3)], [block("y", 3)])
    with pytest.raises(NotFused, match=r"an unexpected error \(TypeError: what no test expects\)$"):
        fused_program(Refused(torch.sin), columns)


def test_our_interaction_network_is_captured_and_needs_one_kernel_for_each_update():
    program = check(InteractionNetwork(8, 2), bound(GRAPH, [block("score", 1, collection=1)]), (37, 211))
    assert [stage.rows for stage in stages_of(program)] == ["rows0", "rows1"] * 3


def exatrkx(hidden=8):
    def network(inputs, outputs):
        return nn.Sequential(nn.Linear(inputs, hidden), nn.LayerNorm(hidden), nn.ReLU(), nn.Linear(hidden, outputs))

    state = hidden + 3
    return ExaTrkX(2, network(3, hidden), network(2 * state, 1), network(2 * state, hidden))


def test_the_first_edge_layer_of_exatrkx_moves_to_the_nodes():
    program = check(exatrkx(), bound(GRAPH[:2], [block("score", 1, collection=1)]), (37, 211))
    stages = stages_of(program)
    assert [stage.rows for stage in stages] == ["rows0", "rows1"] * 3
    assert [math.prod(value.inner) for value in stages[1].values if isinstance(value.op, ops.Contract)] == [1]


class Twice(nn.Module):
    """A layer whose result is used as it is, and scaled."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)

    def forward(self, x):
        y = self.layer(x * 2 - 1)
        return y * 3 + 1, (y * y).sum(dim=1)


def test_a_layer_that_is_used_twice_is_computed_once():
    program = check(Twice(), bound([block("x", 3)], [block("scaled", 4), block("square", 1)]))
    assert sum(isinstance(tensor.op, ops.Contract) for tensor in program.tensors()) == 1


class ByName(nn.Module):
    def forward(self, b, a):
        return {"total": a + b, "product": a * b}


def test_blocks_are_found_by_name():
    inputs = [block("a", 2), block("b", 2)]
    check(ByName(), bound(inputs, [block("product", 2), block("total", 2)], match="name"))


class Refused(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("function", [lambda m, x: x - x.mean(0), lambda m, x: x @ (x.t() @ x)])
def test_sums_over_all_rows_are_fused(function):
    assert_same(function, [block("x", 3)], (3,))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x.sort(dim=0).values, "an operation along the rows"),
        (lambda x: x + x.flip(0), "an operation along the rows"),
        (lambda x: x * x.shape[0], "a number that is known with the rows only"),
        (lambda x: torch.cumprod(x, 0), "a running prod over the rows"),
        (lambda x: x / int(x.shape[0]), "exactly 1021 rows"),
        (lambda x: x if x.shape[0] < 5000 else -x, "a number of rows of block x that is not any"),
    ],
)
def test_what_is_not_a_program_is_refused_with_its_reason(function, reason):
    columns = bound([block("x", 3)], [block("y", 3)])
    with pytest.raises(NotFused, match=reason):
        fused_program(Refused(function), columns)


def of_last_states(m, x):
    steps = x.view(-1, 4, 3)
    found = []
    for layer in (m.both_ways, m.twice, m.gated):
        _, states = layer(steps)
        last = states[0] if isinstance(states, tuple) else states
        found += [torch.cat([last[-2], last[-1]], 1), last.permute(1, 0, 2).flatten(1)]
    return found


def test_last_states_of_recurrent_layers_are_captured():
    layers = {
        "both_ways": nn.LSTM(3, 2, bidirectional=True, batch_first=True),
        "twice": nn.LSTM(3, 2, num_layers=2, batch_first=True),
        "gated": nn.GRU(3, 2, num_layers=2, batch_first=True),
    }
    assert_same(of_last_states, [block("x", 12)], (4,) * 6, **layers)
