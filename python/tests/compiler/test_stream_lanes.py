# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Streams on GPUs: lanes have shares of the keys, and what they have found is joined. The CUDA source runs by an emulation."""

import numpy as np
import pytest
import torch

from bindings import block, bound
from cuda_library import cuda_libraries
from tensoa.compiler import build
from tensoa.compiler.cuda.memory import Memory
from tensoa.compiler.passes import simplified
from tensoa.compiler.schedule.bodies import CACHE, LANES
from tensoa.dtypes import FLOAT32
from test_frontend import Function, captured
from test_streams import FUNCTIONS, WIDTH, clusters, data, of_two, planes_of, program_of

ROWS = ((1, 1), (3, 130), (20, 7), (9, 300), (37, 0))


def wide(x, c):
    """A layer for each pair of rows, too large for the registers of a lane."""
    weight = torch.linspace(-1, 1, 8 * 40, dtype=x.dtype).view(8, 40)
    pairs = torch.cat([x[:, None].expand(-1, c.shape[0], -1), c[None].expand(x.shape[0], -1, -1)], 2)
    return torch.relu(pairs @ weight).sum(1)[:, :4]


def products(x, c):
    """No online rule: a product, the least number and a sum in one pass."""
    pairs = (x[:, None, 0] - c[None, :, 0]).tanh()
    return torch.stack([(1 + pairs / 100).prod(1), pairs.sum(1), (pairs * pairs).logsumexp(1), pairs.sum(1)], 1)


def nearest(x, c):
    return torch.cdist(x, c).topk(5, largest=False).values.flatten(1)[:, :4]


LEAST = {"masked": 1, "safe": 1, "less the largest": 1, "products": 1, "nearest": 5}  # keys, in torch
OF_LANES = {**FUNCTIONS, "wide": (wide, 4), "products": (products, 4), "nearest": (nearest, 4)}


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    programs = {name: of_two(function, width) for name, (function, width) in OF_LANES.items()}
    return cuda_libraries(programs, tmp_path_factory.mktemp("streams"))


@pytest.mark.parametrize("name", OF_LANES)
@pytest.mark.parametrize("rows", ROWS)
def test_streams_are_right_for_few_and_many_keys(name, rows, libraries):
    if rows[1] < LEAST.get(name, 0):
        pytest.skip("torch has no largest of no rows, and no more nearest rows than there are")
    x, c = data(rows, sum(rows))
    truth = OF_LANES[name][0](torch.from_numpy(x).double(), torch.from_numpy(c).double()).numpy()
    scale = np.abs(truth[np.isfinite(truth)]).max(initial=1e-30)
    for found in libraries[name].runs(planes_of((x, c)), rows):
        (got,) = (planes.T for planes in found.values())
        np.testing.assert_allclose(got, truth, rtol=2e-5, atol=2e-5 * scale)


@pytest.mark.parametrize("is_largest", [False, True])
@pytest.mark.parametrize("k", [1, 3, 20])
def test_the_first_of_equal_rows_come_first_whichever_lane_has_them(k, is_largest, tmp_path):
    scores = build.apply("add", build.with_axis(build.select(clusters(1), 1, 0), 0, "hits"), build.view(
        build.constant(-0.0, FLOAT32), ("hits", "clusters"), ()))  # fmt: skip
    places = build.sort(scores, 1, k, is_largest)
    numbers = build.gather(scores, places, [build.axis(0), None])
    made = cuda_libraries({0: program_of(places, numbers)}, tmp_path)[0]
    some = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan], np.float32)
    for rows in ((1, 1), (30, 2), (5, 40), (17, 333)):
        keys = np.random.default_rng(rows[1]).choice(some, rows[1])
        order = torch.argsort(torch.from_numpy(keys), descending=is_largest, stable=True).numpy()[:k]
        order = np.pad(order, (0, k - len(order)), constant_values=-1)
        values = np.where(order < 0, np.float32(np.nan), keys[order])
        for found in made.runs({(1, 0): keys}, rows):
            np.testing.assert_array_equal(found[2].T, np.broadcast_to(order, (rows[0], k)))
            np.testing.assert_array_equal(found[3].T, np.broadcast_to(values, (rows[0], k)))
            there_is = ~np.isnan(found[3].T)
            expected = np.broadcast_to(np.signbit(values), (rows[0], k))
            np.testing.assert_array_equal(np.signbit(found[3].T)[there_is], expected[there_is])


def test_what_is_not_finite_stays_so_when_lanes_are_joined(libraries):
    x, c = data((20, 200), 3)
    c[5, 1], c[140, 2], x[2, 0] = np.inf, -np.inf, np.nan
    truth = FUNCTIONS["softmax"][0](torch.from_numpy(x).double(), torch.from_numpy(c).double()).numpy()
    for found in libraries["softmax"].runs(planes_of((x, c)), (20, 200)):
        (got,) = (planes.T for planes in found.values())
        np.testing.assert_array_equal(np.isnan(got), np.isnan(truth))


def rooms(function, width=4):
    return [stream.room for nests in Memory(simplified(of_two(function, width))).stages for _, stream in nests.streams]


def test_values_of_a_block_lie_in_registers_where_they_have_room():
    assert rooms(FUNCTIONS["softmax"][0]) == rooms(nearest) == [LANES]
    assert rooms(wide) == [CACHE]


def test_what_is_made_once_of_all_rows_is_shared_by_the_lanes_of_a_block(tmp_path):
    program = captured(Function(lambda x: x - x.mean(0)), bound([block("x", WIDTH)], [block("y", WIDTH)]))
    made = cuda_libraries({0: program}, tmp_path)[0]
    for count in (1, 50, 700):
        x = np.random.default_rng(count).normal(size=(count, WIDTH)).astype(np.float32)
        for found in made.runs(planes_of([x]), [count]):
            (got,) = (planes.T for planes in found.values())
            np.testing.assert_allclose(got, x - x.mean(0), atol=2e-6)
