# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Packages of trees, from `python -m tensoa.import` to the program: the answers of the frameworks, column by column."""

import json
import pickle

import numpy as np
import pytest
from exporting import block
from tree_models import command, rows

from conftest import refuse, succeed

X, Y = rows()
NAMES = ["pt", "eta", "pos_0", "pos_1", "n"]
# The features in another order, as several dtypes, in three blocks, with a column that is not a feature.
INPUTS = [
    block("kinematics", ["eta", "other", "pt"], [2, 0, 1], column_dtype="float64", dtype="float64"),
    block("positions", ["pos"], kind="vector", element=[2]),
    block("counts", ["n"], column_dtype="int32", dtype="int32"),
]
# The features in their order, for models without names.
IN_ORDER = [block("kinematics", ["pt", "eta"]), block("positions", ["pos"], kind="vector", element=[2]), block("counts", ["n"])]


def xgboost_model(folder):
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(X, Y > 0, feature_names=NAMES)
    booster = xgboost.train({"objective": "binary:logistic", "max_depth": 5, "nthread": 1}, data, 30)
    booster.save_model(folder / "model.json")
    return folder / "model.json", 1


def lightgbm_model(folder):
    lightgbm = pytest.importorskip("lightgbm")
    data = lightgbm.Dataset(X, np.digitize(Y, [-1, 1]), feature_name=NAMES)
    options = {"objective": "multiclass", "num_class": 3, "num_leaves": 31, "verbose": -1, "num_threads": 1}
    lightgbm.train(options, data, 20).save_model(folder / "model.txt")
    return folder / "model.txt", 3


def forest_model(folder):
    """Deep trees, of more than 256 leaves."""
    ensemble = pytest.importorskip("sklearn.ensemble")
    numbers = np.repeat(np.nan_to_num(X), 3, axis=0) + np.random.default_rng(1).normal(size=(3 * len(X), 5)).astype("f4") / 9
    trees = ensemble.RandomForestRegressor(8, random_state=1).fit(numbers, np.repeat(Y, 3))
    assert max(tree.get_n_leaves() for tree in trees.estimators_) > 256
    (folder / "model.pkl").write_bytes(pickle.dumps(trees))
    return folder / "model.pkl", 1


@pytest.mark.parametrize("train", [xgboost_model, lightgbm_model, forest_model])
def test_a_package_gives_the_answers_of_the_framework(tmp_path, train):
    path, outputs = train(tmp_path)
    is_pickle = path.suffix == ".pkl"
    scores = [f"score_{k}" for k in range(outputs)]
    status, package = command(path, IN_ORDER if is_pickle else INPUTS, scores, *["--trust-pickle"] * is_pickle)
    assert status == 0
    succeed("check", package)


def test_inspect_says_what_the_trees_are(tmp_path):
    path, outputs = xgboost_model(tmp_path)
    _, package = command(path, INPUTS, ["score"])
    model = json.loads(succeed("inspect", package, "--json").stdout)
    assert model["trees"]["objective"] == "binary:logistic" and model["trees"]["trees"] == "30"
    assert [program["kind"] for program in model["programs"]] == ["forest"]
    text = succeed("inspect", package).stdout
    assert "trees:\n" in text and "binary:logistic" in text and "fused" not in text


def test_trees_run_on_the_cpu_alone(tmp_path):
    path, _ = xgboost_model(tmp_path)
    _, package = command(path, INPUTS, ["score"])
    refuse("check", package, "--device", "cuda:0", says=["cuda:0"])
