# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Packages of trees, from `python -m tensoa.import` to the program: the answers of the frameworks, column by column."""

import gzip
import json
import pickle

import numpy as np
import pytest
from exporting import block
from tree_models import command, rows

from conftest import refuse, succeed, tensoa

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
    assert [program["kind"] for program in model["programs"]] == ["forest", "forest"]  # CPU and GPU
    text = succeed("inspect", package).stdout
    assert "trees:\n" in text and "binary:logistic" in text and "fused" not in text


def inspect(path):
    return json.loads(succeed("inspect", path, "--json").stdout)


@pytest.mark.parametrize("train", [xgboost_model, lightgbm_model])
def test_a_tree_file_is_described_as_its_package(tmp_path, train):
    path, outputs = train(tmp_path)
    _, package = command(path, INPUTS, [f"score_{k}" for k in range(outputs)])
    facts = inspect(package)["trees"]
    facts.pop("checked with")
    model = inspect(path)
    assert model["trees"] == facts
    for fact in ("objective", "features", "trees", "leaves", "deepest", "missing values", "thresholds by column"):
        assert facts[fact]
    assert (model["compilation"], model["target"], model["match"]) == ("just-in-time", "cpu", "name")
    assert model["bytes"] == path.stat().st_size
    assert [column["name"] for column in model["inputs"][0]["columns"]] == NAMES
    assert (model["inputs"][0]["type"], model["outputs"][0]["type"]) == ("number[n0, 5]", f"float[n0, {outputs}]")
    text = succeed("inspect", path).stdout
    assert "pt@0, eta@1, pos_0@2" in text and facts["thresholds by column"] in text and "torch" not in text


def test_missing_values_and_categories_of_a_tree_file(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    x, y = rows(categories=[4])
    data = lightgbm.Dataset(x, np.abs(y), feature_name=NAMES, categorical_feature=["n"])
    options = {"objective": "poisson", "num_leaves": 15, "min_data_per_group": 5, "cat_smooth": 1, "zero_as_missing": True}
    lightgbm.train({**options, "verbose": -1, "num_threads": 1}, data, 20).save_model(tmp_path / "model.txt")
    facts = inspect(tmp_path / "model.txt")["trees"]
    assert facts["columns of categories"] == "n" and "n " not in facts["thresholds by column"]
    assert facts["missing values"].startswith("NaN, at some nodes 0 too: ")
    assert facts["answers"] == "exp"


def test_a_package_is_compared_with_its_tree_file(tmp_path):
    path, _ = xgboost_model(tmp_path)
    _, package = command(path, [block("all", NAMES)], ["score"])
    succeed("check", package, "--against", path)
    succeed("check", path, "--against", package)
    refuse("check", path, says=["model.json", "holds no results to be compared with", "tensoa compile"])
    assert json.loads(succeed("inspect", path, "--runtime", "--rows", "100", "--json").stdout)["inputs"] == "100 rows"


def test_another_tree_file_differs(tmp_path):
    path, _ = xgboost_model(tmp_path)
    text = json.loads(path.read_text())
    text["learner"]["learner_model_param"]["base_score"] = "7e-1"
    (tmp_path / "other.json").write_text(json.dumps(text))
    done = tensoa("check", path, "--against", tmp_path / "other.json")
    assert done.returncode == 1 and "answer_0" in done.stderr + done.stdout


@pytest.mark.parametrize("train", [xgboost_model, lightgbm_model])
def test_a_tree_file_that_is_cut_off_is_refused(tmp_path, train):
    path, _ = train(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    for subcommand in ("inspect", "check"):
        refuse(subcommand, path, says=[path.name, "cannot be read: "])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'<?xml version="1.0"?>\n<MethodSetup Method="BDT::BDT">', ["is a model of TMVA", "tensoa compile"]),
        (gzip.compress(b"tree\n"), ["is packed by gzip", "unpack it"]),
        (b'{"max_depth": 3}', ["conifer", "LWTNN", "tensoa compile"]),
        (b"binf", ["this model of XGBoost cannot be read: it is cut off"]),
    ],
)
def test_files_that_become_packages_say_so(tmp_path, content, says):
    (tmp_path / "model").write_bytes(content)
    for subcommand in ("inspect", "check"):
        refuse(subcommand, tmp_path / "model", says=["model: ", *says])


def test_trees_run_on_the_cpu_alone(tmp_path):
    path, _ = xgboost_model(tmp_path)
    _, package = command(path, INPUTS, ["score"])
    refuse("check", package, "--device", "cuda:0", says=["cuda:0"])
