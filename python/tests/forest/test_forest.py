# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Ensembles of trees: their bytes, what is refused, and their results compared with a walk over each row in plain Python."""

import math
import struct
from dataclasses import replace

import numpy as np
import pytest

from tensoa import forest
from tensoa.errors import InputError
from tensoa.forest import Ensemble, Link, Missing, Test
from tensoa.forest.ensemble import LISTS, NODE
from tensoa.importers.trees.build import Builder

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-36, 1.0000001e-35, 3.0, 3.5, -1.0, 64.0, 1e20]


def random_ensemble(seed, features=np.float32, sums=np.float32, trees=12, leaf_size=1, outputs=3, **members):
    random = np.random.default_rng(seed)
    builder = Builder(4, leaf_size, "random: ")
    sets = [builder.category_set(np.flatnonzero(random.random(90) < 0.4)) for _ in range(3)]
    for _ in range(trees):
        inner = int(random.integers(0, 12))
        left, right, is_leaf = [-1] * (2 * inner + 1), [-1] * (2 * inner + 1), [True] * (2 * inner + 1)
        for i in range(inner):
            node = int(random.choice([n for n in range(2 * i + 1) if is_leaf[n]]))
            left[node], right[node], is_leaf[node] = 2 * i + 1, 2 * i + 2, False
        size = len(left)
        builder.tree(
            left, right, is_leaf, random.integers(0, 4, size),
            random.choice(np.array([*SPECIAL[1:], *random.normal(size=8)], features), size),
            random.normal(size=(size, leaf_size)),
            random.integers(0, 3, size), random.integers(0, 4, size), random.choice(sets, size),
            int(random.integers(0, outputs - leaf_size + 1)),
        )  # fmt: skip
    base = random.normal(size=outputs).tolist()
    return builder.ensemble(outputs=outputs, base=base, features=features, sums=sums, **members)


def walked(ensemble, row):
    """The margins of a row, as the header of the C++ type documents them."""
    number = ensemble.sums
    total = [number(0 if ensemble.base_is_last else base) for base in ensemble.base]
    for first, _, output in ensemble.trees.tolist():
        at = 0
        while (node := dict(zip(NODE.names, ensemble.nodes[first + at].tolist())))["column"] >= 0:
            x = float(ensemble.features(row[node["column"]]))
            is_missing = math.isnan(x) or (node["missing"] >= Missing.ZERO_LEFT and abs(x) <= float(np.float32(1e-35)))
            if is_missing:
                goes_right = node["missing"] in (Missing.NAN_RIGHT, Missing.ZERO_RIGHT)
            elif node["test"] >= Test.IN_SET:
                if node["test"] == Test.CUT_IN_SET and -1 < x < 0:
                    x = 0.0
                start, words = ensemble.sets[node["set"]].tolist()
                is_inside = 0 <= x < 64 * words
                goes_right = is_inside and bool(int(ensemble.set_words[start + int(x) // 64]) >> int(x) % 64 & 1)
            else:
                goes_right = x > node["threshold"] or (x == node["threshold"] and node["test"] == Test.GREATER_EQUAL)
            at = node["right"] if goes_right else node["left"]
        for k in range(ensemble.leaf_size):
            total[output + k] = number(total[output + k] + number(ensemble.leaf_values[node["left"] + k]))
    if ensemble.base_is_last:
        total = [number(one + number(base)) for one, base in zip(total, ensemble.base)]
    return [number(number(one * number(ensemble.factor)) / number(ensemble.divisor)) for one in total]


@pytest.mark.parametrize("features", [np.float32, np.float64])
@pytest.mark.parametrize(
    "members",
    [{}, {"sums": np.float64}, {"leaf_size": 2}, {"leaf_size": 3, "base_is_last": True}, {"factor": 0.3, "divisor": 7.0}],
)
def test_margins_are_those_of_a_walk(features, members):
    for seed in range(3):
        ensemble = random_ensemble(seed, features, **members)
        random = np.random.default_rng(seed)
        x = random.choice([*SPECIAL, *ensemble.nodes["threshold"], *random.normal(size=20), *range(100)], (60, 4))
        got = forest.margins(ensemble, x.T)
        assert got.dtype == ensemble.sums
        np.testing.assert_array_equal(got, [walked(ensemble, row) for row in x])


def test_columns_may_be_integers_and_rows_may_lack():
    ensemble = random_ensemble(1)
    columns = [np.array([1, 2, 70], dtype) for dtype in ("i4", "u1", "i8", "?")]
    as_floats = np.stack(columns).astype(np.float32)
    np.testing.assert_array_equal(forest.margins(ensemble, columns), forest.margins(ensemble, as_floats))
    assert forest.margins(ensemble, [column[:0] for column in columns]).shape == (0, 3)
    assert forest.answers(replace(ensemble, link=Link.SOFTMAX), as_floats[:, :0]).shape == (0, 3)


@pytest.mark.parametrize(
    "link, scale, margin, answer",
    [
        (Link.NONE, 1, [0.5, -2], [0.5, -2]),
        (Link.SIGMOID, 2, [0.5, -2], [1 / (1 + math.exp(-1)), 1 / (1 + math.exp(4))]),
        (Link.SOFTMAX, 1, [0.0, math.log(3)], [0.25, 0.75]),
        (Link.SOFTMAX_ZERO, 1, [0.0, math.log(3)], [0, 1]),
        (Link.SOFTMAX_ZERO, 1, [0.0, 0.0], [0, 0]),
        (Link.EXP, 1, [0.5, -2], [math.exp(0.5), math.exp(-2)]),
        (Link.TANH, 1, [0.5, -2], [math.tanh(0.5), math.tanh(-2)]),
        (Link.SOFTPLUS, 1, [0.5, 200], [math.log(1 + math.exp(0.5)), 200]),
        (Link.PROBIT, 1, [0.5, 0.975], [0, 1.959963984540054]),
        (Link.SIGNED_SQUARE, 1, [0.5, -2], [0.25, -4]),
        (Link.STEP, 1, [0.0, 1e-30], [0, 1]),
    ],
)
def test_links(link, scale, margin, answer):
    ensemble = Ensemble(outputs=2, sums=np.float64, link=link, link_scale=scale, base=[0.0, 0.0])
    np.testing.assert_allclose(forest.linked(ensemble, np.array([margin])), [answer], rtol=1e-13, atol=1e-15)


# ---- bytes


def test_bytes_are_as_documented():
    ensemble = random_ensemble(3, link=Link.SIGMOID, source="é", column_names=list("abcd"))
    content = forest.to_bytes(ensemble)
    assert content[:16] == b"tensoa forest 1\n"
    (length,) = struct.unpack_from("<Q", content, 16)
    assert length % 8 == 0 and content[24 : 24 + length].rstrip(b" ").endswith(b"}")
    at, first = 24 + length, ensemble.nodes[0]
    assert struct.unpack_from("<diIIIBB6x", content, at) == first.item()
    at += 32 * len(ensemble.nodes)
    assert struct.unpack_from("<III", content, at) == ensemble.trees[0].item()
    at += len(ensemble.trees) * 12 + -len(ensemble.trees) * 12 % 8
    assert struct.unpack_from("<II", content, at) == ensemble.sets[0].item()
    assert content[-8:] == struct.pack("<d", ensemble.leaf_values[-1])
    again = forest.from_bytes(content, "f: ")
    assert forest.to_bytes(again) == content
    for name, value in vars(ensemble).items():
        np.testing.assert_array_equal(getattr(again, name), value)


def test_unused_bytes_of_nodes_are_zeros():
    ensemble = random_ensemble(3)
    nodes = np.frombuffer(bytearray(b"\xff" * NODE.itemsize * len(ensemble.nodes)), NODE)
    for name in NODE.names:
        nodes[name] = ensemble.nodes[name]
    content = forest.to_bytes(replace(ensemble, nodes=nodes))
    assert content == forest.to_bytes(ensemble)
    assert forest.from_bytes(content, "f: ").nodes.view("u1").reshape(-1, 32)[:, 26:].max() == 0


def test_an_empty_ensemble_is_whole():
    ensemble = Ensemble(columns=2)
    assert forest.from_bytes(forest.to_bytes(ensemble), "f: ").columns == 2
    np.testing.assert_array_equal(forest.margins(ensemble, np.ones((2, 3))), np.zeros((3, 1)))


def test_bytes_that_are_cut_off_are_refused():
    content = forest.to_bytes(random_ensemble(3))
    for end in [*range(0, len(content), 61), len(content) - 1]:
        with pytest.raises(InputError, match="f: its ensemble of trees cannot be read: .*; import the model again"):
            forest.from_bytes(content[:end], "f: ")
    with pytest.raises(InputError, match="it has 8 bytes too many"):
        forest.from_bytes(content + bytes(8), "f: ")


def test_damaged_bytes_never_crash():
    content, random = forest.to_bytes(random_ensemble(5)), np.random.default_rng(0)
    x = random.normal(size=(4, 20))
    for _ in range(400):
        damaged = bytearray(content)
        for at in random.integers(0, len(content), 3):
            damaged[at] = random.integers(0, 256)
        try:
            forest.margins(forest.from_bytes(bytes(damaged), "f: "), np.resize(x, (4, 20)))
        except InputError as error:
            assert str(error).startswith("f: ") and "\n" not in str(error)
        except (MemoryError, IndexError):  # columns of the header that x lacks
            assert b'"columns":4,' not in damaged


@pytest.mark.parametrize(
    "old, new, message",
    [
        (b'"link":"none"', b'"link":"nine"', '"link" is "nine", which is unknown'),
        (b'"features":"float32"', b'"features":"float23"', '"features" is "float23"'),
        (b'"factor":1.0', b'"factor":"1"', '"factor" is 1, expected float'),
        (b'"columns":4', b'"columns":a', "Expecting value"),
        (b'"leaf_size":1', b'"leaf_size":9', "number of values in a leaf is 9, expected 1 to 3"),
    ],
)
def test_headers_that_are_refused(old, new, message):
    content = forest.to_bytes(random_ensemble(3))
    assert old in content
    with pytest.raises(InputError, match=message):
        forest.from_bytes(content.replace(old, new), "f: ")


def whole():
    builder = Builder(2, 1, "f: ")
    chosen = builder.category_set([3])
    builder.tree([1, -1, 3, -1, -1], [2, -1, 4, -1, -1], [0, 1, 0, 1, 1], [0, 0, 1, 0, 0], np.arange(5.0), np.arange(5.0))
    builder.tree([1, 0, 0], [2, 0, 0], [0, 1, 1], [1, 0, 0], np.zeros(3), np.zeros(3), Test.IN_SET, sets=chosen)
    return builder.ensemble()


@pytest.mark.parametrize(
    "list_name, at, field, value, message",
    [
        ("nodes", 0, "left", 0, "tree 0, node 0: it leads to node 0, expected one after it in its tree"),
        ("nodes", 2, "right", 5, "tree 0, node 2: it leads to node 5"),
        ("nodes", 2, "column", 2, "tree 0, node 2: its column is 2, there are 2"),
        ("nodes", 2, "column", -2, "tree 0, node 2: its column is -2, expected -1 of a leaf"),
        ("nodes", 2, "threshold", np.nan, "tree 0, node 2: its threshold is not a number"),
        ("nodes", 7, "left", 5, "tree 1, node 2: its first leaf value is 5, there are 5"),
        ("nodes", 5, "set", 1, "tree 1, node 0: its category set is 1, there are 1"),
        ("nodes", 5, "test", 4, "tree 1, node 0: its test or its direction of missing values is unknown"),
        ("trees", 1, "first_node", 4, "tree 1: its first node is 4, expected one after those of the trees before"),
        ("trees", 1, "nodes", 4, "tree 1: it has 4 nodes, expected 1 to 8"),
        ("trees", 1, "nodes", 2, "it has 8 nodes, its trees have 7"),
        ("trees", 0, "output", 1, "tree 0: its output is 1, expected 0 to 0"),
        ("sets", 0, "words", 2, "category set 0 has 2 words from word 0 on, expected at most 1 words in all"),
    ],
)
def test_what_is_not_whole_is_refused(list_name, at, field, value, message):
    ensemble = whole()
    ensemble.leaf_values = np.arange(5.0)
    changed = getattr(ensemble, list_name).copy()
    changed[field][at] = value
    with pytest.raises(InputError) as caught:
        forest.require_whole(replace(ensemble, **{list_name: changed}), "f: ")
    assert str(caught.value).startswith("f: " + message) and "the model is damaged" in str(caught.value)


@pytest.mark.parametrize("name", ["factor", "divisor", "link_scale"])
def test_numbers_must_be_finite(name):
    with pytest.raises(InputError, match=f"{name} is not a finite number"):
        forest.require_whole(replace(whole(), **{name: math.inf}), "f: ")
    with pytest.raises(InputError, match="base is not a finite number"):
        forest.require_whole(replace(whole(), base=[math.nan]), "f: ")


# ---- the builder


def test_the_builder_orders_nodes():
    builder = Builder(1, 1, "f: ")
    builder.tree([4, 0, 0, 0, 2], [1, 0, 0, 0, 3], [0, 1, 1, 1, 0], [0] * 5, [1.0, 0, 0, 0, -1], [0.0, 10, 20, 30, 0])
    ensemble = builder.ensemble(base=[0.0])
    np.testing.assert_array_equal(forest.margins(ensemble, [[-2, -1, 0.5, 1]]).ravel(), [20, 30, 30, 10])
    assert LISTS["nodes"].itemsize == 32


@pytest.mark.parametrize(
    "left, right, message",
    [
        ([1, 0, 0], [3, 0, 0], "tree 0, node 0: it leads to node 3, there are 3"),
        ([1, 0, 0], [-1, 0, 0], "tree 0, node 0: it leads to node -1, there are 3"),
        ([1, 0, 0], [1, 0, 0], "tree 0, node 0: it leads to node 1, which another node leads to"),
        ([0, 0, 0], [1, 0, 0], "tree 0, node 0: it leads to node 0, which another node leads to"),
    ],
)
def test_the_builder_refuses_what_is_not_a_tree(left, right, message):
    with pytest.raises(InputError) as caught:
        Builder(1, 1, "f: ").tree(left, right, [0, 1, 1], [0] * 3, [0.0] * 3, [1.0] * 3)
    assert str(caught.value) == "f: " + message


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"column": [5, 0, 0]}, "f: tree 0, node 0: its column is 5, there are 1"),
        ({"threshold": [np.nan, 0, 0]}, "f: tree 0, node 0: its threshold is nan, expected a number"),
        ({"values": [0, np.inf, 0]}, "f: tree 0, node 1: its leaf value is inf, expected a finite number"),
    ],
)
def test_the_builder_refuses_wrong_numbers(changed, message):
    arrays = {"column": [0] * 3, "threshold": [0.0] * 3, "values": [1.0] * 3, **changed}
    with pytest.raises(InputError) as caught:
        Builder(1, 1, "f: ").tree([1, 0, 0], [2, 0, 0], [0, 1, 1], **arrays)
    assert str(caught.value) == message


def test_the_builder_takes_shared_nodes_and_no_circle():
    builder = Builder(1, 1, "f: ")
    shared = dict(is_leaf=[0, 0, 1, 1], column=[0] * 4, threshold=[1.0, 1, 0, 0], values=[0, 0, 5.0, 6.0])
    tests = [Test.GREATER_EQUAL, Test.GREATER, 0, 0]
    builder.tree([2, 3, 0, 0], [1, 2, 0, 0], test=tests, is_shared=True, **shared)
    np.testing.assert_array_equal(forest.margins(builder.ensemble(base=[0.0]), [[0, 1, 2]]).ravel(), [5, 6, 5])
    with pytest.raises(InputError, match="f: tree 1: its nodes lead in a circle"):
        builder.tree([2, 0, 0, 0], [1, 2, 0, 0], is_shared=True, **shared)


def test_categories_have_a_limit():
    with pytest.raises(InputError, match="a category is 1099511627776, expected 0 to 16777215"):
        Builder(1, 1, "f: ").category_set([1, 1 << 40])
