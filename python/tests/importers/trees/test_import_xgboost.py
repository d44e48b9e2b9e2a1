# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models of XGBoost compared with XGBoost: margins are the same bits."""

import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tensoa import forest
from tensoa.forest import Link, Test
from tensoa.importers.trees import tree_file
from tree_models import checked, load, refusal, rows

xgboost = pytest.importorskip("xgboost")


def trained(y=None, rounds=8, x=None, names=None, types=None, **parameters):
    default, target = rows()
    matrix = xgboost.DMatrix(
        default if x is None else x, target if y is None else y, feature_names=names, feature_types=types,
        enable_categorical=types is not None,
    )  # fmt: skip
    return xgboost.train({"max_depth": 4, "nthread": 1, **parameters}, matrix, rounds)


def saved(booster, tmp_path, name="model.json"):
    booster.save_model(tmp_path / name)
    return tmp_path / name


def text_of(booster):
    return json.loads(booster.save_raw("json"))


Y = rows()[1]
CLASSES = (Y > 0).astype(int) + (Y > 1)
SEVERAL = np.stack([Y, -Y, Y * Y], 1)


@pytest.mark.parametrize(
    "link, y, parameters",
    [
        (Link.NONE, Y, {}),
        (Link.NONE, Y, {"objective": "reg:pseudohubererror"}),
        (Link.NONE, Y, {"objective": "reg:absoluteerror"}),
        (Link.NONE, Y, {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.5, 0.9]}),
        (Link.SIGMOID, Y > 0, {"objective": "binary:logistic"}),
        (Link.SIGMOID, Y > 0, {"objective": "binary:logistic", "base_score": 0.1}),
        (Link.SIGMOID, Y > 0, {"objective": "reg:logistic"}),
        (Link.NONE, Y > 0, {"objective": "binary:logitraw"}),
        (Link.STEP, Y > 0, {"objective": "binary:hinge"}),
        (Link.EXP, np.abs(Y).round(), {"objective": "count:poisson"}),
        (Link.EXP, np.abs(Y) + 1, {"objective": "reg:gamma"}),
        (Link.EXP, np.abs(Y), {"objective": "reg:tweedie"}),
        (Link.EXP, np.abs(Y), {"objective": "survival:cox"}),
        (Link.SOFTMAX, CLASSES, {"objective": "multi:softprob", "num_class": 3}),
        (Link.SOFTMAX, CLASSES, {"objective": "multi:softmax", "num_class": 3, "num_parallel_tree": 2}),
        (Link.NONE, Y, {"booster": "dart", "rate_drop": 0.5}),
        (Link.SOFTMAX, CLASSES, {"objective": "multi:softprob", "num_class": 3, "booster": "dart", "rate_drop": 0.5}),
        (Link.SIGMOID, Y > 0, {"objective": "binary:logistic", "num_parallel_tree": 5, "subsample": 0.5}),
        (Link.NONE, SEVERAL, {}),
        (Link.NONE, SEVERAL, {"multi_strategy": "multi_output_tree"}),
        (Link.NONE, Y, {"tree_method": "exact", "gamma": 0.5}),
        (Link.NONE, Y, {"grow_policy": "lossguide", "max_leaves": 20, "max_depth": 0}),
    ],
)
@pytest.mark.parametrize("name", ["model.json", "model.ubj"])
def test_margins_are_those_of_xgboost(tmp_path, link, y, parameters, name):
    made = checked(saved(trained(y, **parameters), tmp_path, name))
    assert made.ensemble.link is link and made.ensemble.source == f"XGBoost {xgboost.__version__}"
    assert made.reference.name == f"XGBoost {xgboost.__version__}" and made.reference.tolerance == 0


def test_categories_in_the_set_go_right(tmp_path):
    x, y = rows(categories=(1, 3))
    booster = trained(y, x=x, types=["q", "c", "q", "c", "q"], max_cat_to_onehot=4)
    made = checked(saved(booster, tmp_path))
    assert (made.ensemble.nodes["test"] == Test.IN_SET).any() and len(made.ensemble.sets) > 3


def test_names_and_gzip(tmp_path):
    path = saved(trained(names=list("abcde")), tmp_path)
    (tmp_path / "packed").write_bytes(gzip.compress(path.read_bytes()))
    assert load(tmp_path / "packed").ensemble.column_names == list("abcde")


def test_best_iteration_is_an_option(tmp_path):
    x, y = rows()
    train, other = xgboost.DMatrix(x[:50], y[:50]), xgboost.DMatrix(x[50:], -y[50:])
    booster = xgboost.train({"nthread": 1}, train, 20, evals=[(other, "e")], early_stopping_rounds=5, verbose_eval=False)
    path, best = saved(booster, tmp_path), booster.best_iteration
    every, some = checked(path), checked(path, best_iteration=True)
    assert len(some.ensemble.trees) == best + 1 < len(every.ensemble.trees)
    expected = booster.inplace_predict(x, iteration_range=(0, best + 1))
    np.testing.assert_array_equal(forest.margins(some.ensemble, x.T).ravel(), expected)
    assert every.notes == [
        f"all {best + 6} rounds of boosting are used, the best is number {best}: --best-iteration stops there"
    ]
    assert some.notes == []
    path = saved(trained(), tmp_path)
    assert refusal(path, best_iteration=True).endswith('it has no "best_iteration"; it was trained without early stopping')


def test_older_files(tmp_path):
    """Before 3.1 base_score was a number, before 2.0 there was no iteration_indptr, before 1.6 default_left had truth values,
    before 1.3 there were no categories; vectors of leaves were among the weights of the nodes.
    """
    booster = trained(Y > 0, objective="binary:logistic")
    text = text_of(booster)
    model = text["learner"]["gradient_booster"]["model"]
    score = text["learner"]["learner_model_param"]["base_score"]
    assert score.startswith("[")
    text["learner"]["learner_model_param"]["base_score"] = score.strip("[]")
    del model["iteration_indptr"], model["cats"], text["learner"]["learner_model_param"]["num_target"]
    for tree in model["trees"]:
        tree["default_left"] = [bool(number) for number in tree["default_left"]]
        for key in ("split_type", "categories", "categories_nodes", "categories_segments", "categories_sizes"):
            del tree[key]
    path = tmp_path / "old.json"
    path.write_text(json.dumps(text))
    x = rows()[0]
    expected = booster.inplace_predict(x, predict_type="margin")
    np.testing.assert_array_equal(forest.margins(_read_alone(path), x.T).ravel(), expected)

    booster = trained(SEVERAL, multi_strategy="multi_output_tree")
    text = text_of(booster)
    for tree in text["learner"]["gradient_booster"]["model"]["trees"]:
        vectors, weights = np.reshape(tree.pop("leaf_weights"), (-1, 3)), np.reshape(tree["base_weights"], (-1, 1))
        weights = np.zeros((len(tree["left_children"]), 3))
        for node, (left, right) in enumerate(zip(tree["left_children"], tree["right_children"])):
            if left == -1:
                weights[node], tree["right_children"][node] = vectors[right], -1
        tree["base_weights"] = weights.ravel().tolist()
    path.write_text(json.dumps(text))
    expected = booster.inplace_predict(x, predict_type="margin")
    np.testing.assert_array_equal(forest.margins(_read_alone(path), x.T), expected)


def _read_alone(path):
    """Without XGBoost, which may not read what an older one wrote."""
    return tree_file.read(path.read_bytes(), "old: ")[0]


def test_without_xgboost_the_record_says_so(tmp_path, monkeypatch):
    path = saved(trained(), tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "xgboost", None)
    assert checked(path).reference.name == "tensoa itself (xgboost is not installed here)"


# ---- what is refused: tests/forest/test_xgboost.cpp has all that the reader refuses


def edited(change):
    text = text_of(trained(Y > 0, rounds=2, objective="binary:logistic"))
    learner = text["learner"]
    model = learner["gradient_booster"]["model"]
    change(learner, model, model["trees"])
    return json.dumps(text)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda learner, model, trees: trees[1].pop("right_children"), 'tree 1: "right_children" has 0 values, expected'),
        (lambda learner, model, trees: trees.pop(), 'it has 1 trees, "num_trees" is 2'),
        (lambda learner, model, trees: learner["objective"].update(name="my:own"), "its objective my:own is unknown; expected"),
        (lambda learner, model, trees: learner["gradient_booster"].update(name="gblinear"), "its booster is gblinear"),
    ],
)
def test_damaged_json_is_refused(tmp_path, change, message):
    begin = "this model of XGBoost cannot be read: "
    assert refusal(tmp_path / "model.json", edited(change)).startswith(begin + message)


def test_files_that_are_cut_off_are_refused(tmp_path):
    for kind in ("json", "ubj"):
        content = bytes(trained(rounds=1).save_raw(kind))
        for end in range(100, len(content), 331):
            assert refusal(tmp_path / "model", content[:end]).startswith("this model of XGBoost cannot be read: ")


def test_without_the_run_time_the_message_says_how_to_get_it(tmp_path):
    """In a new interpreter, in which the run time was not looked for before."""
    path = saved(trained(rounds=1), tmp_path)
    code = "import sys, tensoa; from tensoa.importers.trees import files\ntry: files.load(sys.argv[1], files.ImportOptions())\n"
    code += "except tensoa.errors.InputError as error: print(error)"
    environment = {**os.environ, "TENSOA_BUILD": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code, path], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{path}: tensoa.read_trees: the run time is not built; build the target tensoa_python")


def binary(objective, booster):
    """The beginning of a file of XGBoost before 3.1: parameters with a base score of 0.5, and the two texts."""
    texts = b"".join(len(text).to_bytes(8, "little") + text for text in (objective, booster))
    return b"\0\0\0\x3f\x7e".ljust(136, b"\0") + texts + b"\2\0\0\0"


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "is of an unknown format; expected an ensemble of trees of"),
        (b"hello", "is of an unknown format"),
        (b"binf\0\0", "this model of XGBoost cannot be read: it is cut off"),
        (binary(b"binary:logistic", b"gbtree"), "this model of XGBoost cannot be read: it is cut off"),
        (binary(b"reg:linear", b"gblinear"), "this model of XGBoost cannot be read: its booster is gblinear"),
        (binary(b"reg:linear", b"other"), "is of an unknown format"),
        (binary(b"reg:linear", b"dart")[:160], "is of an unknown format"),
        (b"{L" + b"\xff" * 8 + b"learner", "this model of XGBoost cannot be read: "),
        (b'{"learner": {}}', 'this model of XGBoost cannot be read: "gradient_booster" or its "name" is missing'),
        (b'{"learner": ' + b"[" * 100_000, "this model of XGBoost cannot be read: "),
        (gzip.compress(b"hello")[:10], "cannot read: "),
    ],
)
def test_foreign_files_are_refused(tmp_path, content, message):
    assert refusal(tmp_path / "model.json", content).startswith(message)


def test_a_binary_file_is_read_also_where_xgboost_no_longer_reads_it(tmp_path):
    """tests/forest/test_xgboost_binary.cpp compares such files with the JSON of the same models."""
    no_trees = binary(b"reg:linear", b"gbtree").removesuffix(b"\2\0\0\0") + bytes(160)
    no_trees = no_trees[:4] + (3).to_bytes(4, "little") + no_trees[8:20] + (1).to_bytes(4, "little") + no_trees[24:]
    (tmp_path / "model.bin").write_bytes(no_trees)
    made = load(tmp_path / "model.bin")
    assert made.ensemble.columns == 3 and made.ensemble.base == [0.5]
    if tuple(map(int, xgboost.__version__.split(".")[:2])) >= (3, 1):
        expected = f"tensoa itself (XGBoost {xgboost.__version__} cannot read binary files, 3.0 can)"
        assert made.reference.name == expected


def test_a_missing_file_is_refused(tmp_path):
    assert refusal(tmp_path / "absent.json") == "cannot read: No such file or directory"
