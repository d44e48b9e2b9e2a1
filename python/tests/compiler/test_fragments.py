# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""CUDA kernels whose values lie in fragments, and the layouts of these. Kernels run by the emulation of a GPU on the host."""

import numpy as np
import pytest

from cuda_library import CudaLibrary
from tensoa.compiler import build, cuda, interpret
from tensoa.compiler.cuda.kernel_texts import KernelText, printed
from tensoa.compiler.cuda.layouts import Piece, in_a_row, layout_of, pieces_of, sources_of, taken
from tensoa.compiler.passes import simplified
from tensoa.compiler.program import Output, Program
from tensoa.dtypes import DTYPES, FLOAT32, INT64


def rows_of(*inner, block=0, dtype=FLOAT32, rows="hits"):
    return build.column(block, range(int(np.prod(inner))), dtype, (rows, *inner))


def program_of(*values, rows=("hits",)):
    outputs = [Output(10 + i, tuple(range(int(np.prod(x.inner)))), x, x.dtype) for i, x in enumerate(values)]
    return Program(rows, tuple(outputs))


def layer(x, outputs, seed=0, bias=True):
    draw = np.random.default_rng(seed)
    weight = build.constant(draw.normal(scale=x.shape[1] ** -0.5, size=(outputs, x.shape[1])).astype(np.float32), FLOAT32)
    y = build.contract(x, weight, "nk", "ok", "no")
    added = build.constant(draw.normal(size=outputs).astype(np.float32), FLOAT32)
    return build.apply("add", y, build.with_axis(added, 0, "hits")) if bias else y


def part(x, start, size):
    return build.part(x, 1, start, size)


def one_place(block, width, rows="hits"):
    """The first number of a row of a block, as the place of all its elements."""
    first = build.affine(0)
    return build.view(rows_of(1, block=block, dtype=INT64, rows=rows), (rows, width), [build.axis(0), first])


def check(program, planes, rows, folder, is_in_fragments=True):
    """Compares all forms with the interpreter; its kernels."""
    made = CudaLibrary(program, folder, precision="tf32x3")
    assert ("const Tile tile(at" in made.made.made.source.split('extern "C"', 1)[1]) == is_in_fragments
    truth = interpret.interpret(program, planes, rows)
    for found in made.runs(planes, rows):
        for output, wanted in zip(program.outputs, truth):
            got, scale = found[output.block].T.reshape(wanted.shape), np.nanmax(np.abs(wanted), initial=0.0)
            np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5 * scale)
    return made.made.made


def planes_of(width, count, block=0, seed=1):
    draw = np.random.default_rng(seed)
    return {(block, i): draw.normal(size=count).astype(np.float32) for i in range(width)}


# ---- layouts


@pytest.mark.parametrize("size", [1, 7, 8, 16, 20, 31, 48])
def test_each_element_has_one_position(size):
    assert sorted(element for element in layout_of(size) if element >= 0) == list(range(size))


def test_a_lane_has_four_neighbours_of_two_tiles():
    layout = layout_of(16)
    lanes = [sorted(layout[8 * n + 2 * lane + i] for n in range(2) for i in range(2)) for lane in range(4)]
    assert lanes == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]


def test_a_new_tile_begins_where_a_part_does():
    layout = layout_of(60, [0, 20, 40, 60])
    assert len(layout) == 72 and [layout[24 * i] for i in range(3)] == [0, 20, 40]


def test_pieces_are_neighbours_in_memory():
    assert pieces_of(layout_of(44)) == [Piece(0, 0, 16), Piece(2, 16, 16), Piece(4, 32, 8), Piece(5, 40, 4)]
    assert pieces_of((1, 0, *range(2, 8))) is None


def test_numbers_in_fours_are_never_read_from_between_two_fours():
    assert all(piece.size < 16 for piece in pieces_of(layout_of(40, [6])) if piece.first % 4)


def test_a_part_of_a_value_is_tiles_of_it():
    whole = layout_of(60, [0, 20, 40])
    own = taken(np.arange(20, 40), whole)
    assert own == layout_of(20)
    assert sources_of(np.array([20 + max(0, e) for e in own]), own, whole) == [3, 4, 5]


def test_other_orders_have_no_source_and_what_is_read_twice_no_layout():
    assert sources_of(np.arange(16), in_a_row(16), layout_of(16)) is None
    assert taken(np.array([0, 0, 1]), layout_of(8)) is None


# ---- values


def test_layers_and_sums_of_columns_follow_each_other_without_memory(tmp_path):
    x = build.apply("relu", layer(rows_of(12), 44))
    mean = build.apply("mul", build.reduce("sum", x, [1]), build.filled(1 / 44, FLOAT32, ("hits",)))
    apart = build.apply("sub", x, build.view(mean, x.shape, [build.axis(0)]))
    made = check(program_of(layer(apart, 20, 1), layer(apart, 2, 2)), planes_of(12, 37), [37], tmp_path)
    (kernel,) = made.kernels
    assert kernel.rows_per_block == 16 and "__syncwarp" not in made.source.split('extern "C"')[1]


def test_gates_that_begin_between_tiles_are_tiles(tmp_path):
    gates = layer(rows_of(20), 60)
    first, second, third = (part(gates, start, 20) for start in (0, 20, 40))
    y = build.apply("add", build.apply("mul", build.apply("sigmoid", first), second), build.apply("tanh", third))
    made = check(program_of(layer(y, 4, 3)), planes_of(20, 19), [19], tmp_path)
    assert "take(" not in made.source.split('extern "C"')[1]


def test_numbers_move_between_lanes_where_tiles_do_not_fit(tmp_path):
    x = layer(rows_of(6), 9)
    y = build.concat([part(x, 1, 5), part(x, 0, 3), rows_of(2, block=1)], 1)
    check(program_of(layer(y, 5, 4)), {**planes_of(6, 21), **planes_of(2, 21, 1)}, [21], tmp_path)


def test_planes_that_are_read_one_by_one_are_loaded_in_all_lanes(tmp_path):
    x = rows_of(9)
    y = build.concat([build.apply("exp", part(x, 8, 1)), build.apply("mul", part(x, 0, 1), part(x, 3, 1))], 1)
    made = check(program_of(layer(y, 12)), planes_of(9, 21), [21], tmp_path)
    assert "take(" not in made.source.split('extern "C"')[1]


def test_the_square_of_a_costly_function_calculates_it_once(tmp_path):
    x = build.apply("sin", rows_of(3))
    made = check(program_of(layer(build.apply("mul", x, x), 12)), planes_of(3, 21), [21], tmp_path)
    assert made.source.split('extern "C"')[1].count("sin_of(") == 3


@pytest.mark.parametrize("k, is_largest", [(1, True), (3, False), (4, True)])
def test_orders_of_few_numbers_are_found_by_each_lane(k, is_largest, tmp_path):
    """NaN is the largest, and the first of equal numbers comes first."""
    x = build.apply("log", layer(rows_of(6), 4))
    x = build.apply("maximum", x, build.filled(0, FLOAT32, x.shape))
    made = check(program_of(build.sort(x, 1, k, is_largest), x), planes_of(6, 41), [41], tmp_path)
    assert "__syncwarp" not in made.source.split('extern "C"')[1]


@pytest.mark.parametrize("place, k, outer", [(1, 2, 4), (2, 3, 2)])
def test_an_order_along_one_of_two_axes(place, k, outer, tmp_path):
    x = build.view(layer(rows_of(6), 8), ("hits", 2, 4), [build.axis(0), build.affine(0, (1, 4), (2, 1))])
    first = build.select(build.sort(x, place, k), place, 0)
    assert first.shape == ("hits", outer)
    check(program_of(first), planes_of(6, 18), [18], tmp_path)


def test_sums_of_whole_tiles_are_sums_of_registers(tmp_path):
    x = build.view(layer(rows_of(6), 64), ("hits", 4, 16), [build.axis(0), build.affine(0, (1, 16), (2, 1))])
    y = build.reduce("max", build.apply("relu", x), [1])
    made = check(program_of(layer(y, 12, 3)), planes_of(6, 23), [23], tmp_path)
    text = made.source.split('extern "C"')[1]
    assert "take(" not in text and "joined_lanes" not in text


def test_padding_is_not_part_of_sums_and_products(tmp_path):
    """1 / 0 and log(0) are there where no number is."""
    x = layer(rows_of(8), 20)
    y = build.apply("reciprocal", build.apply("exp", x))
    z = build.apply("log", build.apply("abs", x))
    planes = planes_of(8, 20)
    check(
        program_of(layer(y, 6), build.reduce("max", z, [1]), build.reduce("sum", z, [1]), layer(z, 3)), planes, [20], tmp_path
    )


def test_a_layer_of_constants_is_the_same_for_all_rows(tmp_path):
    start = build.filled(0.5, FLOAT32, ("hits", 8))
    y = build.apply("add", layer(start, 12), layer(rows_of(8), 12, 5))
    check(program_of(layer(y, 3)), planes_of(8, 5), [5], tmp_path)


def test_elements_of_a_row_that_have_a_layer_each_do_not_lie_in_fragments(tmp_path):
    weight = build.constant(np.ones((8, 4), np.float32), FLOAT32)
    y = build.contract(rows_of(3, 4), weight, "nak", "ok", "nao")
    check(program_of(y), planes_of(12, 9), [9], tmp_path, is_in_fragments=False)


@pytest.mark.parametrize("outputs", [6, 8])
def test_a_layer_whose_outputs_are_converted_is_calculated_by_each_lane(outputs, tmp_path):
    y = build.cast(
        build.apply("mul", layer(rows_of(8), outputs), build.filled(9, FLOAT32, ("hits", outputs))), DTYPES["float64"]
    )
    z = build.apply("sub", y, build.with_axis(build.reduce("max", y, [0]), 0, "hits"))
    check(program_of(layer(build.cast(z, FLOAT32), 5)), planes_of(8, 21), [21], tmp_path)


def test_deep_rows_have_code_for_few_rows_too(tmp_path):
    x = rows_of(32)
    for seed in range(9):
        x = build.apply("tanh", layer(x, 32, seed))
    made = check(program_of(x), planes_of(32, 18), [18], tmp_path)
    assert "kRoundsOfFew)" in made.source


@pytest.mark.parametrize("dtype", ["int64", "float64", "bool"])
def test_numbers_of_other_types_keep_them_next_to_layers(dtype, tmp_path):
    """float32 does not hold these integers, nor what is left of the float64."""
    other = rows_of(12, block=1, dtype=DTYPES[dtype])
    if dtype == "bool":
        made = build.apply("where", other, layer(rows_of(6), 12), rows_of(12, block=2))
    else:
        near = build.apply("sub", other, build.filled(1 << 40, other.dtype, other.shape))
        made = build.apply("add", build.cast(near, FLOAT32), layer(rows_of(6), 12))
    draw = np.random.default_rng(6)
    numbers = {"int64": (1 << 40) + draw.integers(-9, 9, (12, 40)), "float64": (1 << 40) + draw.normal(size=(12, 40))}
    numbers["bool"] = draw.random((12, 40)) < 0.5
    planes = {**planes_of(6, 40), **planes_of(12, 40, 2), **{(1, i): numbers[dtype][i] for i in range(12)}}
    check(program_of(layer(made, 9, 1)), planes, [40], tmp_path)


# ---- other rows


@pytest.mark.parametrize("width", [3, 7, 32])
def test_rows_at_places_are_read_and_those_outside_are_nan(width, tmp_path):
    y = build.apply("mul", rows_of(width), rows_of(width))
    moved = build.gather(y, one_place(1, width), [None, build.axis(1)])
    planes = {**planes_of(width, 40), (1, 0): np.random.default_rng(2).integers(-3, 44, 40)}
    check(program_of(build.apply("add", moved, moved)), planes, [40], tmp_path)


@pytest.mark.parametrize("width", [2, 3, 4, 8, 20])
def test_rows_of_a_table_are_read_at_places_and_those_outside_are_nan(width, tmp_path):
    table = build.constant(np.random.default_rng(4).normal(size=(10, width)).astype(np.float32), FLOAT32)
    found = build.gather(table, one_place(1, width), [None, build.axis(1)])
    planes = {**planes_of(6, 40), (1, 0): np.random.default_rng(2).integers(-2, 12, 40)}
    check(program_of(layer(build.concat([layer(rows_of(6), 8), found], 1), 12)), planes, [40], tmp_path)


def test_rows_that_are_all_equal_are_read_at_places(tmp_path):
    equal = build.with_axis(build.constant(np.arange(4, dtype=np.float32), FLOAT32), 0, "hits")
    row = build.gather(equal, one_place(0, 4), [None, build.axis(1)])
    check(program_of(build.apply("exp", row)), {(0, 0): np.array([6, 0, -1, 3, 7, 2])}, [6], tmp_path)


@pytest.mark.parametrize("fn", ["sum", "max", "min"])
@pytest.mark.parametrize("width", [2, 20])
@pytest.mark.parametrize("grouped", [False, True])
def test_rows_are_joined_to_places(fn, width, grouped, tmp_path):
    x = rows_of(width, rows="edges")
    joined = build.scatter(fn, build.apply("neg", x), one_place(1, width, "edges"), 0, "hits")
    program = program_of(build.apply("add", joined, rows_of(width, block=2)), rows=("hits", "edges"))
    places = np.random.default_rng(3).integers(-1, 12, 70)
    planes = {**planes_of(width, 70), **planes_of(width, 11, 2), (1, 0): np.sort(places) if grouped else places}
    planes[0, 1][:9] = [np.nan, 0, -0.0, np.inf, -np.inf, 1, -1, 2, -2]
    check(program, planes, [11, 70], tmp_path)


def test_a_sum_of_all_rows_is_joined_in_the_warp_first(tmp_path):
    x = layer(rows_of(6), 24)
    program = program_of(build.apply("sub", x, build.with_axis(build.reduce("sum", x, [0]), 0, "hits")))
    made = check(program, planes_of(6, 50), [50], tmp_path)
    assert ".join<JoinSum>(" in made.source


def test_warps_share_the_layers_of_rows_that_others_read(tmp_path):
    x = build.apply("relu", layer(rows_of(8), 48))
    y = layer(x, 48, 1, bias=False)
    moved = build.gather(y, one_place(1, 48), [None, build.axis(1)])
    planes = {**planes_of(8, 33), (1, 0): np.arange(33)[::-1].copy()}
    made = check(program_of(build.apply("add", moved, x)), planes, [33], tmp_path)
    assert made.kernels[0].threads == 128 and "linear_together<" in made.source and "linear_stored<" in made.source


# ---- texts


def test_kernels_that_differ_in_memory_only_call_one_function():
    kernels = [
        KernelText("a", "32", 0, "p.rows[0]", "use(p.buffer[2], p.buffer[1]);"),
        KernelText("b", "32", 64, "p.rows[0]", "use(p.buffer[0], p.buffer[3]);"),
        KernelText("c", "32", 96, "p.rows[0]", "use(p.buffer[0], p.buffer[0]);"),
    ]
    function, *texts = printed(kernels)
    assert function.count("__noinline__") == 1 and "use(given_1, given_2);" in function
    assert "same_0(far_weights, p.rows[0], p.buffer[2], p.buffer[1]);" in texts[0]
    assert "same_0(far_weights, p.rows[0], p.buffer[0], p.buffer[3]);" in texts[1] and "+ 64;" in texts[1]
    assert "use(p.buffer[0], p.buffer[0]);" in texts[2]


def test_equal_layers_of_a_network_are_compiled_once():
    x, places = rows_of(8), one_place(1, 8)
    for _ in range(3):
        x = build.apply("relu", layer(build.gather(x, places, [None, build.axis(1)]), 8))
    source = cuda.generate(simplified(program_of(x))).made.source
    assert source.count("same_0(far_weights") > 1
