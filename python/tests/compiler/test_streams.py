# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Streams: attention, distances and orders among all rows, against modules in float64, without memory for pairs of rows."""

import ctypes

import numpy as np
import pytest
import torch
from torch.nn import functional as f

from bindings import block, bound
from cpu_library import Library
from cpu_programs import RUNNABLE, needs_level
from tensoa.compiler import build, cpu
from tensoa.compiler.errors import NotFused
from tensoa.compiler.passes import simplified
from tensoa.compiler.program import Output, Program
from tensoa.dtypes import FLOAT32
from test_frontend import Function, captured

WIDTH = 4
ROWS = ((1, 1), (3, 2), (8, 70), (9, 33), (60, 1), (50, 140), (97, 0))


def hits(*inner):
    return build.column(0, range(int(np.prod(inner))), FLOAT32, ("hits", *inner))


def clusters(*inner):
    return build.column(1, range(int(np.prod(inner))), FLOAT32, ("clusters", *inner))


def program_of(*values, rows=("hits", "clusters")):
    outputs = (Output(2 + i, tuple(range(int(np.prod(one.inner)))), one, one.dtype) for i, one in enumerate(values))
    return Program(rows, tuple(outputs))


def of_two(function, width):
    """The program of a function of hits and clusters."""
    inputs = [block("x", WIDTH), block("c", WIDTH, collection=1)]
    return captured(Function(function), bound(inputs, [block("y", width)]))


def data(rows, seed=0):
    draw = np.random.default_rng(seed)
    return [draw.normal(size=(n, WIDTH)).astype(np.float32) for n in rows]


def planes_of(tensors):
    return {(i, p): np.ascontiguousarray(x[:, p]) for i, x in enumerate(tensors) for p in range(x.shape[1])}


def check(made, function, rows, change=lambda x, c: None, tolerance=2e-5):
    x, c = data(rows, sum(rows))
    change(x, c)
    (got,) = (planes.T for planes in made.run(planes_of((x, c)), rows).values())
    truth = function(torch.from_numpy(x).double(), torch.from_numpy(c).double()).numpy()
    scale = np.abs(truth[np.isfinite(truth)]).max(initial=1e-30)
    np.testing.assert_allclose(got, truth, rtol=tolerance, atol=tolerance * scale)


def softmax(x, c):
    return torch.softmax(x @ c.T, 1) @ c


def masked(x, c):
    """Whole rows of scores are -infinity."""
    return torch.softmax((x @ c.T).masked_fill(x[:, :1] < 0.5, -torch.inf), 1) @ c


def safe(x, c):
    return f.scaled_dot_product_attention(x, c, c, (x[:, :1] > 0.5).expand(-1, c.shape[0]))


def heads(x, c):
    q, k = x.view(-1, 2, 2).transpose(0, 1), c.view(-1, 2, 2).transpose(0, 1)
    return (torch.softmax(q @ k.transpose(1, 2), -1) @ k).transpose(0, 1).flatten(1)


def transposed(x, c):
    return torch.softmax(c @ x.T, 0).T @ c


def both_weights(x, c):
    """Products of two weights, which no pass over the keys has while it finds the largest."""
    p = torch.softmax(x @ c.T, 1)
    return (p * p) @ c


def network(x, c):
    """A layer for each pair."""
    weight = torch.linspace(-1, 1, 24, dtype=x.dtype).view(8, 3)
    pairs = torch.cat([x[:, None].expand(-1, c.shape[0], -1), c[None].expand(x.shape[0], -1, -1)], 2)
    return torch.relu(pairs @ weight).sum(1)


def sums_of_sums(x, c):
    return x * (x @ c.T).exp().sum() + (x[:, None] - c[None]).abs().sum((0, 1))


def less_largest(x, c):
    """Scores that have memory in one pass, and are a part of an expression in the next one."""
    scores = x * (x @ c.T).sum(1, True) @ c.T
    return (scores - scores.amax(1, True)).abs().sum(1, True)


FUNCTIONS = {
    "less the largest": (less_largest, 1),
    "softmax": (softmax, 4),
    "masked": (masked, 4),
    "safe": (safe, 4),
    "heads": (heads, 4),
    "transposed": (transposed, 4),
    "both weights": (both_weights, 4),
    "network": (network, 3),
    "sums of sums": (sums_of_sums, 4),
}


@needs_level
@pytest.mark.parametrize("level", RUNNABLE)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_sums_over_the_rows_of_another_collection(name, level, tmp_path):
    function, width = FUNCTIONS[name]
    made = Library(of_two(function, width), tmp_path, level)
    for rows in ROWS:
        if rows[1] or name not in ("masked", "safe", "less the largest"):  # torch has no largest of no rows
            check(made, function, rows)


@needs_level
def test_large_scores_and_infinite_values_are_those_of_torch(tmp_path):
    made = Library(of_two(softmax, 4), tmp_path)

    def large(x, c):
        x *= 1e4

    def infinite(x, c):
        c[5, 1], c[40, 2] = np.inf, -np.inf

    def none(x, c):
        x[2, 0], c[7, 3] = np.nan, np.nan

    for change in (large, infinite, none):
        check(made, softmax, (20, 70), change)
        check(made, softmax, (3, 70), change)


def test_a_softmax_over_rows_is_one_pass_and_what_it_does_not_hold_for_is_not():
    def loops(function):
        return cpu.dump(simplified(of_two(function, 4))).count("for blocks of up to")

    assert loops(softmax) == loops(safe) == loops(heads) == 1
    assert loops(both_weights) == 2


@needs_level
@pytest.mark.parametrize("function", [softmax, heads, lambda x, c: c[torch.cdist(x, c).topk(2, largest=False).indices].sum(1)])
def test_memory_grows_with_the_rows_not_with_their_pairs(function, tmp_path):
    library = Library(of_two(function, 4), tmp_path).library
    sizes = [library.tensoa_program_workspace((ctypes.c_int64 * 2)(n, n)) for n in (4800, 9600, 14400)]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0] < 4800 * 1000


@needs_level
@pytest.mark.parametrize("level", RUNNABLE)
@pytest.mark.parametrize("is_largest", [False, True])
def test_the_first_of_equal_rows_come_first_and_their_numbers_keep_their_bits(level, is_largest, tmp_path):
    """Few different numbers, of both signs of zero, infinities and NaN."""
    scores = build.apply("add", build.with_axis(build.select(clusters(1), 1, 0), 0, "hits"), build.view(
        build.constant(-0.0, FLOAT32), ("hits", "clusters"), ()))  # fmt: skip
    places = build.sort(scores, 1, 3, is_largest)
    numbers = build.gather(scores, places, [build.axis(0), None])
    there = build.gather(clusters(1), build.with_axis(places, 2, 1), [None, build.affine(0)])
    made = Library(program_of(places, numbers, build.select(there, 2, 0)), tmp_path, level)
    some = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan], np.float32)
    for rows in ((1, 1), (2, 2), (30, 2), (5, 40), (50, 150)):
        keys = np.random.default_rng(rows[1]).choice(some, rows[1])
        found = made.run({(1, 0): keys}, rows)
        order = torch.argsort(torch.from_numpy(keys), descending=is_largest, stable=True).numpy()[:3]
        order = np.pad(order, (0, 3 - len(order)), constant_values=-1)
        values = np.where(order < 0, np.float32(np.nan), keys[order])
        np.testing.assert_array_equal(found[2].T, np.broadcast_to(order, (rows[0], 3)))
        for got in (found[3], found[4]):
            np.testing.assert_array_equal(got.T, np.broadcast_to(values, (rows[0], 3)))
            there_is = ~np.isnan(got.T)
            expected = np.broadcast_to(np.signbit(values), (rows[0], 3))
            np.testing.assert_array_equal(np.signbit(got.T)[there_is], expected[there_is])


@needs_level
def test_an_order_of_all_rows_for_all_rows(tmp_path):
    """The places of the largest of a column, which belong to no row."""
    places = build.sort(build.select(hits(1), 1, 0), 0, 2, True)
    made = Library(program_of(build.with_axis(places, 0, "hits"), rows=("hits",)), tmp_path)
    for rows in (1, 5, 100):
        x = np.random.default_rng(rows).normal(size=rows).astype(np.float32)
        order = np.pad(np.argsort(-x)[:2], (0, max(0, 2 - rows)), constant_values=-1)
        np.testing.assert_array_equal(made.run({(0, 0): x}, [rows])[2].T, np.broadcast_to(order, (rows, 2)))


REFUSED = {
    "a running sum over the rows": lambda x: x.cumsum(0),
    "at most 64 are kept in order": lambda x: torch.cdist(x, x).topk(65).values[:, :WIDTH],
    "what joins rows for each pair of rows": lambda x: (x @ x.T) @ (x @ x.T) @ x,
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_has_no_stream_is_refused_with_type_and_operation(reason):
    with pytest.raises(NotFused, match=reason):
        cpu.generate(simplified(captured(Function(REFUSED[reason]), bound([block("x", WIDTH)], [block("y", WIDTH)]))))


def test_the_diagonal_of_pairs_is_refused():
    scores = build.contract(hits(3), hits(3), "ak", "bk", "ab")
    diagonal = build.view(scores, ("hits", 1), [build.axis(0), build.axis(0)])
    with pytest.raises(NotFused, match=r"some of the numbers of all pairs of rows \(view\[i0, i0\]: float32\[hits, 1\]\)"):
        cpu.generate(simplified(program_of(diagonal, rows=("hits",))))
