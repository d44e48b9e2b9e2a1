# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Sums by place that are the same bits in every order of their rows. Kernels run by the emulation of a GPU on the host."""

import math

import numpy as np
import pytest

from cuda_library import CudaLibrary, architectures
from tensoa.compiler import build, cuda, interpret
from tensoa.compiler.errors import NotFused
from tensoa.compiler.passes import simplified
from tensoa.compiler.program import Output, Program
from tensoa.compiler.same_bits import with_the_same_bits
from tensoa.dtypes import DTYPES, FLOAT32, INT64

FLOAT64 = DTYPES["float64"]
EDGES, NODES, WIDTH = 700, 23, 5


def scattered(fn="sum", dtype=FLOAT32, size="hits", width=WIDTH):
    x = build.column(0, range(width), dtype, ("edges", width))
    places = build.column(1, [0], INT64, ("edges", 1))
    by_row = build.view(places, x.shape, [build.axis(0), build.affine(0)])
    joined = build.scatter(fn, x, by_row, 0, size)
    if size == 1:
        joined = build.view(joined, ("edges", width), [build.affine(0), build.axis(1)])
    return Program(("hits", "edges"), (Output(2, tuple(range(width)), joined, dtype),))


def numbers(dtype=FLOAT32, width=WIDTH, scale=1.0):
    draw = np.random.default_rng(5)
    x = (draw.normal(size=(width, EDGES)) * 10 ** draw.uniform(-9, 9, (width, EDGES)) * scale).astype(dtype.name)
    x[:, EDGES // 2 :] = -x[:, : EDGES // 2]  # all but the last one cancel where they have one place
    return {**{(0, i): x[i] for i in range(width)}, (1, 0): draw.integers(-1, NODES + 1, EDGES)}


def exact(planes, dtype, width=WIDTH):
    """The sums, rounded once."""
    at, found = planes[1, 0], np.zeros((NODES, width), dtype.name)
    for node in range(NODES):
        for i in range(width):
            found[node, i] = math.fsum(map(float, planes[0, i][at == node]))
    return found


def reordered(planes, seed=3):
    order = np.random.default_rng(seed).permutation(EDGES)
    return {key: plane[order] for key, plane in planes.items()}


def run(program, planes):
    return interpret.interpret(with_the_same_bits(simplified(program)), planes, [NODES, EDGES])[0]


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
def test_every_order_of_rows_gives_the_same_bits_and_one_rounding(dtype):
    planes = numbers(dtype)
    found = run(scattered(dtype=dtype), planes)
    for seed in range(3):
        assert run(scattered(dtype=dtype), reordered(planes, seed)).tobytes() == found.tobytes()
    largest = max(np.abs(planes[0, i]).max() for i in range(WIDTH))
    np.testing.assert_allclose(
        found, exact(planes, dtype), rtol=2 * np.finfo(dtype.name).eps, atol=EDGES**2 * largest * 2.0**-60
    )


@pytest.mark.parametrize("scale", [1e-38, 1e28, 0.0])
def test_the_least_and_the_largest_numbers_have_the_same_bits(scale):
    planes = numbers(scale=scale)
    assert run(scattered(), planes).tobytes() == run(scattered(), reordered(planes)).tobytes()
    assert np.isfinite(run(scattered(), planes)).all()


@pytest.mark.parametrize("largest", [5e-324, 1e-310, 1e300])
def test_float64_of_any_size(largest):
    planes = {**{(0, i): np.full(EDGES, largest) for i in range(WIDTH)}, (1, 0): np.arange(EDGES) % NODES}
    np.testing.assert_array_equal(run(scattered(dtype=FLOAT64), planes), exact(planes, FLOAT64))


def test_infinities_and_nan_are_the_sums_of_theirs():
    planes = numbers()
    at = planes[1, 0]
    for i, specials in enumerate([[np.inf], [-np.inf], [np.inf, -np.inf], [np.nan], [np.nan, np.inf]]):
        planes[0, i][np.flatnonzero(at == 4)[: len(specials)]] = specials
    found = run(scattered(), planes)
    np.testing.assert_array_equal(found[4], np.float32([np.inf, -np.inf, np.nan, np.nan, np.nan]))
    assert np.isfinite(np.delete(found, 4, 0)).all()


def test_where_nothing_is_joined_a_sum_is_zero():
    planes = numbers()
    planes[1, 0][:] = 3
    assert (np.delete(run(scattered(), planes), 3, 0) == 0).all()


def test_logarithms_of_sums_of_exponentials_have_the_same_bits():
    planes = {key: plane if plane.dtype == np.int64 else np.log1p(np.abs(plane)) for key, plane in numbers().items()}
    planes[0, 1][::7] = -np.inf
    program = scattered("logaddexp")
    found = run(program, planes)
    assert run(program, reordered(planes)).tobytes() == found.tobytes()
    np.testing.assert_allclose(found, interpret.interpret(simplified(program), planes, [NODES, EDGES])[0], rtol=1e-5)


def test_products_of_rows_are_refused():
    with pytest.raises(NotFused, match=r"bits depend on the order of its rows \(scatter\[prod, axis 0\]"):
        cuda.generate(simplified(scattered("prod")), deterministic=True)


@pytest.mark.parametrize(("size", "width"), [("hits", 3), ("hits", 16), ("hits", 20), ("hits", 40), (1, 3), (1, 16)])
@pytest.mark.parametrize("architecture", architectures())
def test_kernels_give_the_same_bits_in_every_order_of_warps_and_rows(size, width, architecture, tmp_path):
    program, planes = scattered(size=size, width=width), numbers(width=width)
    made = cuda.generate(simplified(program), deterministic=True)
    assert made.is_the_same and not cuda.generate(simplified(program)).is_the_same
    library = CudaLibrary(program, tmp_path, architecture, made=made)
    found = [one[2] for some in (planes, reordered(planes), planes) for one in library.runs(some, [NODES, EDGES])]
    assert len(found) >= 3 and len({one.tobytes() for one in found}) == 1
    if size == "hits":
        largest = max(np.abs(planes[0, i]).max() for i in range(width))
        np.testing.assert_allclose(found[0].T, exact(planes, FLOAT32, width), rtol=2e-7, atol=EDGES**2 * largest * 2.0**-60)
