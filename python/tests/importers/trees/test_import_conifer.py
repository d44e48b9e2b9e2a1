# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""JSON of conifer, made here by its rules, compared with a walk over each row that shares no code with the importer."""

import json

import numpy as np
import pytest

from exporting import block
from tensoa import forest
from tree_models import COLUMNS, checked, command, load, refusal, rows


def random_tree(random):
    inner = int(random.integers(1, 9))
    size = 2 * inner + 1
    tree = {
        "feature": [-2] * size, "threshold": [-2.0] * size, "children_left": [-1] * size, "children_right": [-1] * size,
        "value": random.normal(size=size).tolist(),
    }  # fmt: skip
    for i in range(inner):
        node = int(random.choice([n for n in range(2 * i + 1) if tree["feature"][n] == -2]))
        tree["feature"][node], tree["threshold"][node] = int(random.integers(0, COLUMNS)), float(random.normal())
        tree["children_left"][node], tree["children_right"][node] = 2 * i + 1, 2 * i + 2
    return tree


def random_model(seed, classes=2, convention="<=", **members):
    random = np.random.default_rng(seed)
    outputs = 1 if classes == 2 else classes
    return {
        "n_classes": classes, "n_features": COLUMNS, "n_trees": 6, "max_depth": 8, "norm": 0.7,
        "init_predict": random.normal(size=outputs).tolist(), "splitting_convention": convention,
        "trees": [[random_tree(random) for _ in range(outputs)] for _ in range(6)], **members,
    }  # fmt: skip


def walked(model, row):
    totals = [0.0] * len(model["init_predict"])
    for of_classes in model["trees"]:
        for k, tree in enumerate(of_classes):
            node = 0
            while tree["feature"][node] != -2:
                x, threshold = float(row[tree["feature"][node]]), tree["threshold"][node]
                goes_left = x < threshold or (x == threshold and model["splitting_convention"] == "<=")
                node = tree["children_left" if goes_left else "children_right"][node]
            totals[k] += tree["value"][node]
    return [(total + base) * model["norm"] for total, base in zip(totals, model["init_predict"])]


def saved(tmp_path, model):
    (tmp_path / "model.any").write_text(json.dumps(model, indent=1))
    return tmp_path / "model.any"


@pytest.mark.parametrize("convention", ["<", "<="])
@pytest.mark.parametrize("classes", [2, 3])
def test_scores_are_those_of_the_rules(tmp_path, classes, convention):
    for seed in range(4):
        model = random_model(seed, classes, convention)
        made = checked(saved(tmp_path, model))
        assert made.ensemble.outputs == len(model["init_predict"]) and made.notes == []
        x = rows()[0][:200].astype(np.float64)
        x[:60] = np.random.default_rng(seed).choice(made.ensemble.nodes["threshold"], (60, COLUMNS))  # on the thresholds
        np.testing.assert_array_equal(forest.margins(made.ensemble, x.T), [walked(model, row) for row in x])


def test_names_and_precision(tmp_path):
    names = {name: i for i, name in enumerate("abcde")}
    config = {"backend": "xilinxhls", "precision": "ap_fixed<18,8>"}
    made = load(saved(tmp_path, random_model(1, feature_map=names, config=config)))
    assert made.ensemble.column_names == list("abcde")
    expected = "its firmware calculates with ap_fixed<18,8>, the package in float64: scores differ by its rounding"
    assert made.notes == [expected]
    made_up = {f"feat_{i}": i for i in range(COLUMNS)}
    assert load(saved(tmp_path, random_model(1, feature_map=made_up))).ensemble.column_names == []


def test_the_command(tmp_path):
    status, out = command(saved(tmp_path, random_model(1, 3)), [block("a", "abcde")], "xyz")
    assert status == 0 and out.exists()


def edited(change):
    model = random_model(1)
    change(model, model["trees"][2][0])
    return json.dumps(model)


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda model, tree: model.pop("splitting_convention"),
            "its splitting_convention is missing, as older releases of conifer wrote it; say which it is: --splitting",
        ),
        (lambda model, tree: model.update(splitting_convention=">"), 'its splitting_convention is ">", expected "<" or "<="'),
        (
            lambda model, tree: tree.update(weight=[[0.5, 0.5, 0, 0, 0]] * len(tree["feature"])),
            "tree 2, node 0: it is an oblique split (weight), expected a split of one feature",
        ),
        (lambda model, tree: tree["feature"].__setitem__(0, 7), "tree 2, node 0: its column is 7, there are 5"),
        (lambda model, tree: tree["feature"].__setitem__(0, -1), "tree 2, node 0: its column is -1, there are 5"),
        (lambda model, tree: tree["children_left"].__setitem__(0, 99), "tree 2, node 0: it leads to node 99, there are"),
        (
            lambda model, tree: tree["children_left"].__setitem__(0, 0),
            "tree 2, node 0: it leads to node 0, which another node leads to",
        ),
        (lambda model, tree: tree["value"].pop(), 'tree 2: "value" is not a list of'),
        (lambda model, tree: tree.pop("threshold"), 'tree 2: "threshold" is missing, expected list'),
        (lambda model, tree: tree["threshold"].__setitem__(0, "x"), 'tree 2: "threshold" is not a list of'),
        (lambda model, tree: model["trees"].pop(), 'it has 5 trees, "n_trees" is 6'),
        (lambda model, tree: model["trees"].__setitem__(1, []), "tree 1 is not a list of 1, one for each class"),
        (lambda model, tree: model.update(n_classes=10**9), "it has 1000000000 classes and 5 features"),
        (lambda model, tree: model.update(norm="1"), '"norm" is 1, expected a number'),
        (lambda model, tree: model.update(norm=float("inf")), "factor is not a finite number"),
        (
            lambda model, tree: model.update(init_predict=[1, 2]),
            '"init_predict" has 2 numbers, expected one number, or two equal ones',
        ),
        (lambda model, tree: model.update(init_predict=[1] * 3), '"init_predict" has 3 numbers, expected one number, or two'),
        (lambda model, tree: model.update(init_predict=[]), '"init_predict" has 0 numbers, expected one number, or two'),
        (lambda model, tree: model.update(feature_map={"a": 3}), 'its "feature_map" does not have the numbers of all'),
    ],
)
def test_damaged_files_are_refused(tmp_path, change, message):
    assert refusal(tmp_path / "model.json", edited(change)).startswith(message)


def test_files_that_are_cut_off_are_refused(tmp_path):
    text = json.dumps(random_model(1))
    for end in range(150, len(text) - 1, 311):
        assert refusal(tmp_path / "cut", text[:end]).startswith("cannot be read (")


@pytest.mark.parametrize("convention", ["<", "<="])
def test_the_option_says_how_a_file_without_a_convention_splits(tmp_path, convention):
    """On values that lie on thresholds, where it matters; a file that says it needs no option, nor do other formats."""
    for seed in range(4):
        model = random_model(seed, convention=convention)
        text = {key: value for key, value in model.items() if key != "splitting_convention"}
        made = checked(saved(tmp_path, text), splitting=convention)
        x = np.random.default_rng(seed).choice(made.ensemble.nodes["threshold"], (200, COLUMNS))
        np.testing.assert_array_equal(forest.margins(made.ensemble, x.T), [walked(model, row) for row in x])
    assert command(saved(tmp_path, text), [block("a", "abcde")], "x")[0] == 2
    assert command(saved(tmp_path, text), [block("a", "abcde")], "x", "--splitting", convention)[0] == 0
    assert refusal(tmp_path / "m", json.dumps(model), splitting=convention).startswith("states how it splits")
    assert refusal(tmp_path / "m", b"tree\nversion=v4", splitting="<").startswith("files of this format state how they split")


def test_two_equal_init_predicts_of_two_classes_are_one(tmp_path):
    for seed in range(4):
        model = random_model(seed)
        both = {**model, "init_predict": model["init_predict"] * 2}
        made = checked(saved(tmp_path, both))
        x = rows()[0][:200].astype(np.float64)
        np.testing.assert_array_equal(forest.margins(made.ensemble, x.T), [walked(model, row) for row in x])


def test_one_hot_weights_are_splits_of_one_feature(tmp_path):
    model = random_model(1)
    for (tree,) in model["trees"]:
        tree["weight"] = [[int(i == column) for i in range(COLUMNS)] for column in tree["feature"]]
    checked(saved(tmp_path, model))
