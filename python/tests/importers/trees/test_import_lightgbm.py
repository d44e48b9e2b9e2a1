# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models of LightGBM compared with LightGBM: sums are the same bits."""

import json
import re

import numpy as np
import pytest

from exporting import block
from tensoa import forest
from tensoa.forest import Link, Missing, Test
from tensoa.importers.trees import tree_file
from tree_models import checked, command, contents, load, refusal, rows

lightgbm = pytest.importorskip("lightgbm")
X, Y = rows()
GROUPS = {"min_data_per_group": 5, "cat_smooth": 1, "cat_l2": 1}
CLASSES = (Y > 0).astype(int) + (Y > 1)


def trained(y=Y, x=X, rounds=8, categories="auto", **parameters):
    options = {"num_threads": 1, "verbosity": -1, "min_data_in_leaf": 5, "num_leaves": 12, **parameters}
    data = lightgbm.Dataset(x, y, categorical_feature=categories, params={"verbosity": -1, "max_bin": 63})
    return lightgbm.train(options, data, rounds)


def saved(booster, tmp_path):
    booster.save_model(tmp_path / "model.txt")
    return tmp_path / "model.txt"


@pytest.mark.parametrize(
    "link, y, parameters",
    [
        (Link.NONE, Y, {}),
        (Link.NONE, Y, {"objective": "l1"}),
        (Link.NONE, Y, {"objective": "quantile", "alpha": 0.9}),
        (Link.SIGNED_SQUARE, Y, {"objective": "regression", "reg_sqrt": True}),
        (Link.SIGMOID, Y > 0, {"objective": "binary"}),
        (Link.SIGMOID, Y > 0, {"objective": "binary", "sigmoid": 2.5}),
        (Link.SIGMOID, Y > 0, {"objective": "cross_entropy"}),
        (Link.SOFTPLUS, Y > 0, {"objective": "cross_entropy_lambda"}),
        (Link.EXP, np.abs(Y), {"objective": "poisson"}),
        (Link.EXP, np.abs(Y) + 0.1, {"objective": "gamma"}),
        (Link.EXP, np.abs(Y), {"objective": "tweedie"}),
        (Link.SOFTMAX, CLASSES, {"objective": "multiclass", "num_class": 3}),
        (Link.SIGMOID, CLASSES, {"objective": "multiclassova", "num_class": 3, "sigmoid": 0.7}),
        (Link.SIGMOID, Y > 0, {"objective": "binary", "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}),
        (Link.NONE, Y, {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}),
        (Link.NONE, Y, {"boosting": "dart", "drop_rate": 0.5}),
        (Link.NONE, Y, {"zero_as_missing": True}),
        (Link.NONE, Y, {"use_missing": False}),
        (Link.NONE, np.ones_like(Y), {}),
    ],
)
def test_sums_are_those_of_lightgbm(tmp_path, link, y, parameters):
    made = checked(saved(trained(y, **parameters), tmp_path))
    assert made.ensemble.link is link and made.reference.tolerance == 0
    assert made.reference.name == f"LightGBM {lightgbm.__version__}" and made.ensemble.sums is np.float64


def test_columns_with_zeros(tmp_path):
    """Thresholds next to zero, zeros that are missing, and NaN that is zero."""
    x, y = X.copy(), Y + np.where(X[:, 0] > 0.5, 5, 0)
    x[::3, :3] = 0
    for parameters in ({}, {"zero_as_missing": True}, {"use_missing": False}):
        made = checked(saved(trained(y, x, **parameters), tmp_path))
        assert (np.abs(made.ensemble.nodes["threshold"]) == float(np.float32(1e-35))).any()
    kinds = set(checked(saved(trained(y, x, zero_as_missing=True), tmp_path)).ensemble.nodes["missing"].tolist())
    assert kinds & {Missing.ZERO_LEFT, Missing.ZERO_RIGHT}


@pytest.mark.parametrize("threshold", ["0", "1e-36", "-1e-36", "-1.0000000180025095e-35", "1.0000000180025095e-35", "-0.0"])
def test_thresholds_within_what_is_zero(tmp_path, threshold):
    path = saved(trained(), tmp_path)
    path.write_text(re.sub(r"(?m)^threshold=\S+", f"threshold={threshold}", path.read_text()))
    checked(path)


def test_categories_in_the_set_go_left(tmp_path):
    x, y = rows(categories=(1, 3), missing=0.1)
    made = checked(saved(trained(y, x, categories=[1, 3], max_cat_to_onehot=4, **GROUPS), tmp_path))
    assert (made.ensemble.nodes["test"] == Test.CUT_IN_SET).any() and len(made.ensemble.sets) > 3


def test_packages_of_categories_are_checked_with_whole_numbers(tmp_path):
    x, y = rows(categories=(1,), missing=0.1)
    booster = trained(y, x, categories=[1], **GROUPS)
    status, out = command(saved(booster, tmp_path), [block("a", "abcde")], ["s"])
    manifest, files = contents(out)
    assert status == 0 and manifest.forest.facts[0] == ["trained by", "LightGBM, text v4"]
    for case in manifest.recorded.cases:
        columns = np.frombuffer(files["model/" + case.file], "f4", 5 * case.rows).reshape(5, -1)
        finite = columns[1][np.isfinite(columns[1])]
        assert np.isin(finite[finite != np.trunc(finite)], [-0.5, 1.5]).all()
        answers = np.frombuffer(files["model/" + case.file], "f8", offset=20 * case.rows)
        np.testing.assert_allclose(answers, booster.predict(columns.T.astype("f8")), rtol=1e-6)


def test_names(tmp_path):
    booster = lightgbm.train({"verbosity": -1}, lightgbm.Dataset(X, Y, feature_name=list("abcde")), 2)
    assert load(saved(booster, tmp_path)).ensemble.column_names == list("abcde")


def test_older_files_have_no_sizes(tmp_path):
    booster = trained()
    path = saved(booster, tmp_path)
    text = re.sub(r"(?m)^tree_sizes=.*\n|^is_linear=.*\n|^end of trees\n", "", path.read_text())
    path.write_text(text.replace("feature_importances:", "feature importances:"))
    np.testing.assert_array_equal(forest.margins(_read_alone(path), X.T).ravel(), booster.predict(X))


def _read_alone(path):
    return tree_file.read(path.read_bytes(), "old: ")[0]


# ---- what is refused: tests/forest/test_lightgbm.cpp has all that the reader refuses

REFUSED = "this model of LightGBM cannot be read: "


@pytest.mark.parametrize(
    "pattern, new, message",
    [
        (r"num_leaves=12", "num_leaves=13", "tree 0: leaf_value has 12 values, expected 13"),
        (r"Tree=1\n", "Tree=7\n", "tree 1: its number is 7"),
        (r"objective=regression", "objective=my_own", "its objective my_own is unknown; expected one of"),
        (r"end of trees", "", 'it is cut off: after tree 8 there is no "end of trees"'),
    ],
)
def test_damaged_text_is_refused(tmp_path, pattern, new, message):
    text = saved(trained(), tmp_path).read_text().partition("feature_importances:")[0]
    changed = re.sub(pattern, new, text, count=1)
    assert changed != text
    assert refusal(tmp_path / "model.txt", changed).startswith(REFUSED + message)


def test_text_that_is_cut_off_is_refused(tmp_path):
    text = saved(trained(rounds=2), tmp_path).read_text()
    for end in range(10, text.index("end of trees"), 97):
        assert refusal(tmp_path / "model.txt", text[:end]).startswith(REFUSED)


def test_linear_trees_and_dumps_are_refused(tmp_path):
    path = saved(trained(x=np.nan_to_num(X), linear_tree=True), tmp_path)
    assert re.match(REFUSED + r"tree \d: its leaves are linear models", refusal(path))
    dump = json.dumps(trained().dump_model(), separators=(",", ":"))
    assert refusal(path, dump).startswith("is a dump of LightGBM; save_model() it as text")
    path = saved(trained(), tmp_path)
    expected = "files of this format have no best iteration; import it without --best-iteration"
    assert refusal(path, best_iteration=True) == expected
