# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models of CatBoost: JSON made here by its rules, against a walk over each row; and, where CatBoost is installed, models that
it has trained, whose sums are the same bits.
"""

import json
import sys

import numpy as np
import pytest

from tensoa import forest
from tensoa.forest import Link
from tree_models import COLUMNS, checked, load, refusal, rows

X, Y = rows()
CLASSES = np.digitize(Y, [-1, 1])


@pytest.fixture
def alone(monkeypatch):
    """CatBoost is not installed; where it is, it wants more members than models that are made here have."""
    monkeypatch.setitem(sys.modules, "catboost", None)


def random_split(random):
    border = float(np.float32(random.normal()))
    return {"border": border, "float_feature_index": int(random.integers(COLUMNS)), "split_type": "FloatFeature"}


def random_tree(random, outputs, depth):
    """Of splits below each other, each its own."""
    if depth == 0 or random.random() < 0.2:
        values = random.normal(size=outputs).tolist()
        return {"value": values if outputs > 1 else values[0]}
    below = {side: random_tree(random, outputs, depth - 1) for side in ("left", "right")}
    return {"split": random_split(random), **below}


def random_symmetric(random, outputs):
    depth = int(random.integers(0, 5))
    values = random.normal(size=outputs << depth).tolist()
    return {"splits": [random_split(random) for _ in range(depth)], "leaf_values": values}


def random_model(seed, loss="RMSE", outputs=1, is_symmetric=True, scale=1, bias=True):
    random = np.random.default_rng(seed)
    treatments = ("AsFalse", "AsTrue", "AsIs")
    features = [
        {"flat_feature_index": i, "feature_index": i, "feature_id": "", "nan_value_treatment": treatments[i % 3]}
        for i in range(COLUMNS)
    ]
    trees = [random_symmetric(random, outputs) if is_symmetric else random_tree(random, outputs, 4) for _ in range(6)]
    return {
        "features_info": {"float_features": features},
        "model_info": {"params": {"loss_function": {"type": loss}}},
        "oblivious_trees" if is_symmetric else "trees": trees,
        "scale_and_bias": [scale, (random.normal(size=outputs) * bias).tolist()],
    }


def goes_right(model, split, row):
    x = np.float32(row[split["float_feature_index"]])
    if np.isnan(x):
        feature = model["features_info"]["float_features"][split["float_feature_index"]]
        return feature["nan_value_treatment"] == "AsTrue"
    return x > np.float32(split["border"])


def walked(model, row):
    """The sums of one row, as CatBoost describes them."""
    scale, biases = model["scale_and_bias"]
    totals = [0.0] * len(biases)
    for tree in model.get("oblivious_trees", model.get("trees")):
        if "leaf_values" in tree:
            leaf = sum(goes_right(model, split, row) << i for i, split in enumerate(tree["splits"]))
            values = tree["leaf_values"][leaf * len(biases) : (leaf + 1) * len(biases)]
        else:
            while "split" in tree:
                tree = tree["right" if goes_right(model, tree["split"], row) else "left"]
            values = np.atleast_1d(tree["value"])
        totals = [total + value for total, value in zip(totals, values)]
    return [total * scale + bias for total, bias in zip(totals, biases)]


def edges(model, random):
    """Rows of borders, the numbers next to them, NaN, infinities, zeros, denormal and random numbers."""
    borders = np.array([split["border"] for tree in model.get("oblivious_trees", []) for split in tree["splits"]], np.float32)
    neighbours = [np.nextafter(borders, np.float32(end)) for end in (-np.inf, np.inf)]
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40], np.float32)
    return random.choice(
        np.concatenate([borders, *neighbours, special, random.normal(size=20).astype(np.float32)]), (200, COLUMNS)
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("is_symmetric", [True, False])
def test_sums_are_those_of_a_walk_over_each_row(tmp_path, alone, seed, outputs, is_symmetric):
    model = random_model(seed, outputs=outputs, is_symmetric=is_symmetric)
    (tmp_path / "model.json").write_text(json.dumps(model))
    made = load(tmp_path / "model.json")
    x = np.concatenate([X[:100], edges(model, np.random.default_rng(seed))])
    right = np.array([walked(model, row) for row in x])
    assert np.array_equal(forest.margins(made.ensemble, x.T), right)


@pytest.mark.parametrize(
    "loss, link",
    [("RMSE", Link.NONE), ("Logloss", Link.SIGMOID), ("MultiClass", Link.SOFTMAX), ("Poisson", Link.EXP), ("MAE", Link.NONE)],
)
def test_the_loss_says_the_link(tmp_path, alone, loss, link):
    (tmp_path / "model.json").write_text(json.dumps(random_model(1, loss, outputs=2)))
    assert load(tmp_path / "model.json").ensemble.link is link


def test_a_scale_without_bias_is_read(tmp_path, alone):
    model = random_model(2, scale=0.3, bias=False)
    (tmp_path / "model.json").write_text(json.dumps(model))
    right = np.array([walked(model, row) for row in X[:50]])
    assert np.array_equal(forest.margins(load(tmp_path / "model.json").ensemble, X[:50].T), right)


def test_names_of_features_are_those_of_the_file(tmp_path, alone):
    model = random_model(3)
    for i, feature in enumerate(model["features_info"]["float_features"]):
        feature["feature_id"] = "pqrst"[i]
    (tmp_path / "model.json").write_text(json.dumps(model))
    assert load(tmp_path / "model.json").ensemble.column_names == [*"pqrst"]


def changed(change):
    model = random_model(4)
    model["oblivious_trees"][0] = random_symmetric(np.random.default_rng(11), 1)
    while not model["oblivious_trees"][0]["splits"]:
        model["oblivious_trees"][0] = random_symmetric(np.random.default_rng(12), 1)
    change(model)
    return json.dumps(model)


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda m: m["features_info"].update(categorical_features=[{}]),
            "it has categorical features, which columns of numbers do not hold as CatBoost does",
        ),
        (lambda m: m["features_info"].update(text_features=[{}]), "it has text features"),
        (
            lambda m: m["oblivious_trees"][0]["splits"][0].update(split_type="OnlineCtr"),
            "tree 0: it has a split of the type OnlineCtr, of categories; expected FloatFeature",
        ),
        (lambda m: m["model_info"]["params"]["loss_function"].update(type="PythonLoss"), 'its loss function is "PythonLoss"'),
        (lambda m: m.update(scale_and_bias=[0.5, [0.25]]), "its sums are multiplied by 0.5 before a bias is added"),
        (lambda m: m["oblivious_trees"][0]["leaf_values"].pop(), 'tree 0: "leaf_values" is '),
        (lambda m: m["oblivious_trees"][0]["splits"][0].update(float_feature_index=9), "tree 0: its split is of feature 9"),
        (lambda m: m["oblivious_trees"][0]["splits"][0].pop("border"), 'tree 0: "border" is missing, expected a number'),
        (lambda m: m["features_info"]["float_features"].pop(0), '"flat_feature_index" of its features are not 0 to 3'),
        (
            lambda m: [one.update(nan_value_treatment="Other") for one in m["features_info"]["float_features"]],
            '"nan_value_treatment" is "Other", expected one of AsFalse, AsIs, AsTrue',
        ),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_name(tmp_path, change, message):
    assert message in refusal(tmp_path / "model.json", changed(change))


def test_a_truncated_file_is_refused(tmp_path):
    assert "expected a whole model of CatBoost" in refusal(tmp_path / "model.json", json.dumps(random_model(1))[:-20])


def test_a_cbm_without_catboost_says_what_to_do(tmp_path, alone):
    message = refusal(tmp_path / "model.cbm", b"CBM1" + bytes(60))
    assert message.startswith("is a .cbm of CatBoost, which is read where catboost is installed (pip install catboost); or ")


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
@pytest.mark.parametrize("nan", ["Min", "Max"])
@pytest.mark.parametrize(
    "loss, y",
    [
        ("RMSE", Y),
        ("Logloss", Y > 0),
        ("MultiClass", CLASSES),
        ("MultiClassOneVsAll", CLASSES),
        ("Poisson", np.abs(Y)),
        ("Quantile:alpha=0.3", Y),
        ("MultiRMSE", np.stack([Y, -Y], 1)),
    ],
)
def test_sums_are_those_of_catboost(tmp_path, policy, nan, loss, y):
    catboost = pytest.importorskip("catboost")
    options = {"iterations": 8, "depth": 4, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
    if loss == "MultiRMSE" and policy != "SymmetricTree":
        pytest.skip("CatBoost trains it with symmetric trees alone")
    booster = catboost.CatBoost({**options, "loss_function": loss, "nan_mode": nan, "grow_policy": policy}).fit(X, y)
    for kind in ("json", "cbm"):
        booster.save_model(str(tmp_path / f"model.{kind}"), format=kind)
        made = checked(tmp_path / f"model.{kind}")
        assert made.reference.tolerance == 0 and made.reference.name == f"CatBoost {catboost.__version__}"
        right = np.asarray(booster.predict(X)).reshape(len(X), -1)
        assert np.array_equal(forest.margins(made.ensemble, X.T), right)
