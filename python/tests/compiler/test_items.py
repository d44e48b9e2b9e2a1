# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Elements of a row as items: which values are made item by item, and kernels of them, run by the emulation of a GPU on the
host.
"""

import random

import numpy as np
import pytest

from cuda_library import cuda_libraries
from tensoa.compiler import build, cuda, interpret
from tensoa.compiler.cuda.target import SM_80
from tensoa.compiler.operations import affine, axis
from tensoa.compiler.passes import simplified
from tensoa.compiler.schedule.items import Given, axes_of_argument, grouped
from tensoa.compiler.schedule.nests import ItemLoop, nests_of
from tensoa.compiler.schedule.stages import stages_of
from tensoa.dtypes import BOOL, FLOAT32
from test_fragments import planes_of, program_of, rows_of

ITEMS = 6


def weights(*shape, seed=0):
    draw = np.random.default_rng(seed)
    return build.constant(draw.normal(scale=shape[-1] ** -0.5, size=shape).astype(np.float32), FLOAT32)


def layer(x, outputs, seed=0):
    """Of the last of the axes [rows, items, numbers]."""
    y = build.contract(x, weights(outputs, x.shape[-1], seed=seed), "nik", "ok", "nio")
    added = build.view(weights(outputs, seed=seed + 1), y.shape, [axis(2)])
    return build.apply("add", y, added)


def relu(x):
    return build.apply("relu", x)


def total(x, place=1):
    return build.reduce("sum", x, [place])


def parts_of(program):
    """The groups of the only stage of a program, and the stage without their values."""
    (stage,) = stages_of(simplified(program))
    outer, groups = grouped(stage)
    return groups, nests_of(outer, {}, groups)


def hits(width=5):
    return rows_of(ITEMS, width)


# ---- groups


def test_layers_that_follow_each_other_are_a_group_and_only_its_result_has_memory():
    groups, nests = parts_of(program_of(total(layer(relu(layer(hits(), 32)), 16))))
    (group,) = groups
    assert group.sizes == (ITEMS,) and [target.shape for target in group.axes] == [("hits", ITEMS, 16)]
    (loop,) = [nest for nest in nests.nests if isinstance(nest, ItemLoop)]
    assert [nest.root.shape for nest in loop.nests] == [("hits", ITEMS, 16)]
    assert not any(root.shape == ("hits", ITEMS, 32) for root in nests.roots.reasons)


def test_what_reads_other_items_ends_a_group():
    h = relu(layer(hits(), 8))
    mean = build.view(total(h), h.shape, [axis(0), axis(2)])
    groups, _ = parts_of(program_of(total(layer(build.apply("sub", h, mean), 8, seed=5))))
    assert [group.sizes for group in groups] == [(ITEMS,), (ITEMS,)]
    assert [[leaf.shape for leaf in group.leaves] for group in groups][0] == [("hits", ITEMS, 5)]


def test_functions_of_items_and_columns_belong_to_the_group():
    x = hits()
    mask = build.cast(build.apply("gt", build.part(x, 2, 0, 1), build.filled(0, FLOAT32, ("hits", ITEMS, 1))), FLOAT32)
    mask = build.view(mask, ("hits", ITEMS, 16), [axis(0), axis(1), affine(0)])
    (group,), _ = parts_of(program_of(total(build.apply("mul", layer(x, 16), mask))))
    (target,) = group.axes
    assert target.op.fn == "mul"


def test_rows_without_items_have_no_groups():
    x = rows_of(5)
    groups, _ = parts_of(program_of(build.contract(x, weights(8, 5), "nk", "ok", "no")))
    assert not groups


def test_items_of_a_view_are_those_of_its_argument_where_it_has_all_of_them():
    x = hits()
    swapped = build.view(x, ("hits", 5, ITEMS), [axis(0), axis(2), axis(1)])
    assert axes_of_argument(swapped, 0, (2,)) == (1,)
    shifted = build.view(x, ("hits", ITEMS - 1, 5), [axis(0), affine(1, (1, 1)), axis(2)])
    some = build.view(x, ("hits", ITEMS - 1, 5), [axis(0), axis(1), axis(2)])
    repeated = build.view(x, ("hits", 7, 5), [axis(0), affine(2), axis(2)])
    assert [axes_of_argument(one, 0, (1,)) for one in (shifted, some, repeated)] == [None, None, None]


def test_what_a_view_repeats_is_given_once():
    x = rows_of(ITEMS)
    wide = build.view(build.apply("exp", x), ("hits", ITEMS, 8), [axis(0), axis(1)])
    (group,), _ = parts_of(program_of(total(layer(build.apply("mul", wide, layer(hits(), 8)), 4))))
    assert all(len(one.inner) < 2 or one.inner == (5,) for one in group.stage.values if isinstance(one.op, Given))


# ---- kernels


def with_mean(x):
    h = relu(layer(x, 24))
    mean = build.view(total(h), h.shape, [axis(0), axis(2)])
    return total(layer(build.apply("sub", h, mean), 3, seed=5))


def with_norm(x):
    h = layer(x, 32)
    mean = build.view(total(h, 2), h.shape, [axis(0), axis(1)])
    h = build.apply("sub", h, build.apply("mul", mean, build.filled(1 / 32, FLOAT32, h.shape)))
    return build.apply("add", h, layer(relu(layer(h, 64, seed=2)), 32, seed=4))


def with_concat(x):
    return total(layer(build.concat([build.part(x, 2, 0, 3), layer(x, 16)], 2), 8, seed=3))


def with_windows(x):
    """A convolution: items are places, which read their neighbours."""
    windows = build.view(x, ("hits", ITEMS - 2, 5, 3), [axis(0), affine(0, (1, 1), (3, 1)), axis(2)])
    y = build.contract(windows, weights(8, 5, 3), "nick", "ock", "nio")
    return relu(y)


def with_pairs(x):
    """Items are pairs of elements."""
    a = build.view(x, ("hits", ITEMS, ITEMS, 5), [axis(0), axis(1), axis(3)])
    b = build.view(x, ("hits", ITEMS, ITEMS, 5), [axis(0), axis(2), axis(3)])
    y = build.contract(build.apply("sub", a, b), weights(16, 5), "nijk", "ok", "nijo")
    return build.reduce("max", relu(y), [2])


def with_places(x):
    """Constants of each item."""
    h = build.apply("add", layer(x, 16), build.view(weights(ITEMS, 16), ("hits", ITEMS, 16), [axis(1), axis(2)]))
    return layer(relu(h), 16, seed=7)


def with_mask(x):
    first = build.view(x, ("hits", ITEMS, 16), [axis(0), axis(1), affine(0)])
    is_there = build.apply("gt", first, build.filled(0, FLOAT32, first.shape))
    assert is_there.dtype == BOOL
    return total(build.apply("where", is_there, layer(x, 16), build.filled(0, FLOAT32, first.shape)))


def items_first(x):
    y = build.view(x, (ITEMS, "hits", 5), [axis(1), axis(0), axis(2)])
    y = build.contract(y, weights(16, 5), "ink", "ok", "ino")
    return total(build.contract(relu(y), weights(4, 16), "ink", "ok", "nio"))


def with_too_many_outputs(x):
    """They do not lie in fragments; other items still do."""
    wide = layer(layer(x, 8 * SM_80.fragment_tiles + 8), 8, seed=3)
    again = build.view(total(wide), ("hits", ITEMS, 5), [axis(0), axis(2)])
    return layer(build.apply("mul", again, x), 4, seed=9)


def with_large_layers(x):
    return total(layer(relu(layer(x, 96)), 96, seed=3))


def with_all_rows(x):
    """Items that a later kernel reads."""
    h = layer(x, 16)
    mean = build.view(build.reduce("sum", h, [0]), h.shape, [axis(1), axis(2)])
    return build.apply("sub", h, mean)


def with_numbers_of_no_row(x):
    """Sums of all rows, that items of the next kernel read."""
    sums = build.reduce("sum", x, [0])
    h = build.apply("add", x, build.view(sums, x.shape, [axis(1), axis(2)]))
    return layer(relu(layer(h, 16)), 8, seed=3)


def with_weights_of_each_item(x):
    """Which are not a layer of items; of pairs, the other element still is one."""
    y = build.contract(relu(layer(x, 8)), weights(ITEMS, 4, 8), "nik", "iok", "nio")
    a = build.view(y, ("hits", 3, ITEMS, 4), [axis(0), axis(2), axis(3)])
    return build.contract(a, weights(ITEMS, 5, 4, seed=2), "njik", "iok", "njio")


def with_an_output_that_is_read(x):
    h = layer(x, 16)
    return h, total(layer(relu(h), 8, seed=3))


def drawn(seed):
    """A chain of layers, functions, and what reads other items."""
    chosen = random.Random(seed)

    def chain(x):
        for step in range(chosen.randint(3, 8)):
            items, width = x.shape[1:]
            kind = chosen.choice(["layer", "layer", "norm", "others", "concat", "swap", "shift", "scale", "part"])
            if kind == "layer":
                x = relu(layer(x, chosen.choice([1, 3, 8, 20, 40]), seed=step))
            elif kind == "norm":
                mean = build.view(total(x, 2), x.shape, [axis(0), axis(1)])
                x = build.apply("sub", x, build.apply("mul", mean, build.filled(1 / width, FLOAT32, x.shape)))
            elif kind == "others":
                x = build.apply("sub", x, build.view(build.reduce("max", x, [1]), x.shape, [axis(0), axis(2)]))
            elif kind == "concat":
                x = build.concat([x, layer(x, 5, seed=step)], 2)
            elif kind == "swap":
                x = build.permute(x, (0, 2, 1)) if width < 12 else x
            elif kind == "shift":
                x = build.apply("add", x, build.part(x, 1, items - 1, items, -1))
            elif kind == "scale":
                x = build.apply("mul", x, build.view(weights(items, seed=step), x.shape, [axis(1)]))
            else:
                x = build.part(x, 2, width // 3, width - width // 3)
        return layer(x, 7, seed=99)

    return chain


MODELS = (
    with_mean, with_norm, with_concat, with_windows, with_pairs, with_places, with_mask, items_first, with_too_many_outputs,
    with_large_layers, with_all_rows, with_numbers_of_no_row, with_weights_of_each_item, with_an_output_that_is_read,
    *map(drawn, range(16)),
)  # fmt: skip


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """Of all models, by one run of the compiler."""
    values = {model: model(hits()) for model in MODELS}
    programs = {model: program_of(*(found if isinstance(found, tuple) else [found])) for model, found in values.items()}
    return cuda_libraries(programs, tmp_path_factory.mktemp("items"), precision="tf32x3")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("count", [0, 1, 37])
def test_items_are_right_in_fragments_emulated(model, count, libraries):
    made, planes = libraries[model], planes_of(5 * ITEMS, count)
    assert "const Tile tile(unit" in made.made.made.source
    truth = interpret.interpret(made.program, planes, [count])
    for found in made.runs(planes, [count]):
        for output, wanted in zip(made.program.outputs, truth):
            got, scale = found[output.block].T.reshape(wanted.shape), np.nanmax(np.abs(wanted), initial=0.0)
            np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5 * scale)


def test_items_of_large_layers_have_a_form_for_few_rows(libraries):
    assert "kRoundsOfFew)" in libraries[with_large_layers].made.made.source
    assert "kRoundsOfFew)" not in libraries[with_norm].made.made.source


def test_layers_that_do_not_lie_in_fragments_are_made_otherwise():
    wide = layer(layer(hits(), 8 * SM_80.fragment_tiles + 8), 8, seed=3)
    made = cuda.generate(simplified(program_of(total(wide))))
    assert "const Tile tile(unit" not in made.made.source
