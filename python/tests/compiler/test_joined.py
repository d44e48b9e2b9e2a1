# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Nests that become one, of which a thread has a unit: which do, and kernels of them, run by an emulation of a GPU."""

import numpy as np
import pytest

from cuda_library import cuda_libraries
from tensoa.compiler import build, interpret
from tensoa.compiler.operations import affine, axis
from tensoa.compiler.passes import simplified
from tensoa.compiler.schedule.items import grouped
from tensoa.compiler.schedule.joined import MOST_HELD, join_nests
from tensoa.compiler.schedule.memory import place
from tensoa.compiler.schedule.nests import UnitLoop, nests_of, reads_of
from tensoa.compiler.schedule.stages import stages_of
from test_fragments import planes_of, program_of, rows_of
from test_items import ITEMS, layer, total

HEADS, WIDE = 8, 4


def heads_of(x, part):
    return build.view(x, ("hits", HEADS, ITEMS, WIDE), [axis(0), axis(2), affine(part * HEADS * WIDE, (1, WIDE), (3, 1))])


def scores_of(x):
    q, k, v = (heads_of(layer(x, 3 * HEADS * WIDE), part) for part in range(3))
    return build.contract(q, k, "nhid", "nhjd", "nhij"), v


def softmax(scores):
    def over(x):
        return build.view(x, scores.shape, [axis(0), axis(1), axis(2)])

    weights = build.apply("exp", build.apply("sub", scores, over(build.reduce("max", scores, [3]))))
    return build.apply("div", weights, over(build.reduce("sum", weights, [3])))


def summed(weights, v):
    return total(total(build.contract(weights, v, "nhij", "nhjd", "nhid")), 1)


def attention(x):
    scores, v = scores_of(x)
    return summed(softmax(scores), v)


def of_others(x):
    """Scores that are read with queries and keys exchanged, too."""
    scores, v = scores_of(x)
    return summed(softmax(build.apply("add", scores, build.permute(scores, (0, 1, 3, 2)))), v)


def read_outside(x):
    """Weights that are a result as well."""
    scores, v = scores_of(x)
    weights = softmax(scores)
    return build.concat([summed(weights, v), build.reduce("max", weights, [1, 2])], 1)


MODELS = {"attention": attention, "of others": of_others, "read outside": read_outside}


def joined(model):
    """The loops over units of a model, and its nests with memory."""
    (stage,) = stages_of(simplified(program_of(model(rows_of(ITEMS, 5)))))
    outer, groups = grouped(stage)
    nests = nests_of(outer, {}, groups)
    join_nests(nests)
    place(nests, set())
    return [nest for nest in nests.nests if isinstance(nest, UnitLoop)], nests


def test_softmax_and_the_products_before_and_behind_it_are_one_loop_over_queries():
    (loop,), _ = joined(attention)
    assert [(one.name, one.size) for one in sorted(loop.loops, key=lambda one: one.name)] == [("i1", HEADS), ("i2", ITEMS)]
    assert len(loop.nests) == 6
    assert [bool(nest.buffer.units) for nest in loop.nests] == [True] * 5 + [False]


def test_scores_have_no_memory_and_what_others_read_has():
    _, nests = joined(attention)
    of_scores = [buffer for buffer in nests.buffers.values() if buffer.root.shape == ("hits", HEADS, ITEMS, ITEMS)]
    assert of_scores and all(buffer.units for buffer in of_scores)
    _, nests = joined(read_outside)
    assert any(
        buffer.root.op.fn == "div" for buffer in nests.buffers.values() if not buffer.units and hasattr(buffer.root.op, "fn")
    )


def test_what_a_unit_reads_of_others_is_not_joined():
    loops, _ = joined(of_others)
    scores = [nest for loop in loops for nest in loop.nests if nest.inner is not None and "nhid" in str(nest.inner.op)]
    assert not any(nest.root.shape == ("hits", HEADS, ITEMS, ITEMS) and nest.buffer.units for nest in scores)


def test_what_is_read_in_a_loop_over_units_is_not_overwritten_in_it():
    """Other threads are not done with it."""
    (loop,), nests = joined(attention)
    written = [nest.buffer for nest in loop.nests if not nest.buffer.units]
    read = [nests.buffers[leaf] for nest in loop.nests for leaf in reads_of(nest, nests.roots) if not nests.buffers[leaf].units]
    for one in written:
        for other in read:
            assert one is other or one.offset + one.size <= other.offset or other.offset + other.size <= one.offset


def test_units_have_no_more_numbers_than_registers():
    (loop,), _ = joined(attention)
    assert sum(np.prod(nest.root.inner) // (HEADS * ITEMS) for nest in loop.nests if nest.buffer.units) <= MOST_HELD


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    programs = {name: program_of(model(rows_of(ITEMS, 5))) for name, model in MODELS.items()}
    return cuda_libraries(programs, tmp_path_factory.mktemp("joined"), precision="tf32x3")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("count", [1, 7, 40])
def test_joined_nests_are_right_emulated(name, count, libraries):
    made, planes = libraries[name], planes_of(ITEMS * 5, count)
    (truth,) = interpret.interpret(made.program, planes, [count])
    for found in made.runs(planes, [count]):
        (got,) = found.values()
        np.testing.assert_allclose(got.T.reshape(truth.shape), truth, rtol=2e-5, atol=2e-5 * np.abs(truth).max())
