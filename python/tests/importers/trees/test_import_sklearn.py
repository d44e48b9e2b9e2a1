# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models of scikit-learn compared with scikit-learn: sums are the same bits."""

import os
import pickle

import numpy as np
import pytest

from exporting import block
from tensoa import forest
from tensoa.forest import Link, Test
from tree_models import checked, command, contents, refusal, rows

pytest.importorskip("sklearn")
import joblib
import sklearn
from sklearn import compose, ensemble, impute, linear_model, pipeline, preprocessing, tree

X, Y = rows(missing=0)
MISSING = rows()[0]
CLASSES = np.array(["low", "middle", "high"])[np.digitize(Y, [0, 1])]
IS_HIGH = Y > 0


def saved(model, tmp_path):
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    return tmp_path / "model.pkl"


@pytest.mark.parametrize(
    "model, x, y, link, classes",
    [
        (tree.DecisionTreeClassifier(max_depth=5), MISSING, CLASSES, Link.NONE, ["high", "low", "middle"]),
        (tree.DecisionTreeRegressor(max_depth=5), MISSING, Y, Link.NONE, []),
        (tree.ExtraTreeRegressor(max_depth=5), X, Y, Link.NONE, []),
        (ensemble.RandomForestClassifier(9, n_jobs=2), MISSING, IS_HIGH, Link.NONE, ["False", "True"]),
        (ensemble.RandomForestRegressor(9), MISSING, Y, Link.NONE, []),
        (ensemble.RandomForestRegressor(9), X, np.stack([Y, -Y], 1), Link.NONE, []),
        (ensemble.ExtraTreesClassifier(9, max_depth=8), X, CLASSES, Link.NONE, ["high", "low", "middle"]),
        (ensemble.ExtraTreesRegressor(9, max_depth=8), MISSING, Y, Link.NONE, []),
        (
            ensemble.BaggingClassifier(n_estimators=9, max_features=0.6, n_jobs=2),
            X,
            CLASSES,
            Link.NONE,
            ["high", "low", "middle"],
        ),
        (ensemble.BaggingClassifier(n_estimators=9, max_samples=3), X, CLASSES, Link.NONE, ["high", "low", "middle"]),
        (ensemble.BaggingRegressor(n_estimators=9, max_features=2), X, Y, Link.NONE, []),
        (ensemble.BaggingRegressor(n_estimators=9), X, np.stack([Y, -(Y**2)], 1), Link.NONE, []),
        (ensemble.GradientBoostingClassifier(n_estimators=9), X, CLASSES, Link.SOFTMAX, ["high", "low", "middle"]),
        (ensemble.GradientBoostingClassifier(n_estimators=9), X, IS_HIGH, Link.SIGMOID, ["True"]),
        (ensemble.GradientBoostingClassifier(n_estimators=9, loss="exponential"), X, IS_HIGH, Link.SIGMOID, ["True"]),
        (ensemble.GradientBoostingRegressor(n_estimators=9, loss="huber"), X, Y, Link.NONE, []),
        (ensemble.GradientBoostingRegressor(n_estimators=9, init="zero", learning_rate=0.3), X, Y, Link.NONE, []),
        (ensemble.HistGradientBoostingClassifier(max_iter=9), MISSING, CLASSES, Link.SOFTMAX, ["high", "low", "middle"]),
        (ensemble.HistGradientBoostingClassifier(max_iter=9), MISSING, IS_HIGH, Link.SIGMOID, ["True"]),
        (ensemble.HistGradientBoostingRegressor(max_iter=9), MISSING, Y, Link.NONE, []),
        (ensemble.HistGradientBoostingRegressor(max_iter=9, loss="poisson"), MISSING, np.abs(Y), Link.EXP, []),
        (ensemble.HistGradientBoostingRegressor(max_iter=9, loss="quantile", quantile=0.9), X, Y, Link.NONE, []),
    ],
)
def test_sums_are_those_of_sklearn(tmp_path, model, x, y, link, classes):
    made = checked(saved(model.fit(x, y), tmp_path), trust_pickle=True)
    assert (made.ensemble.link, made.ensemble.classes) == (link, classes) and made.reference.tolerance == 0
    assert made.reference.name == made.ensemble.source == f"scikit-learn {sklearn.__version__}"
    assert made.ensemble.objective.startswith(type(model).__name__)


STEEP = preprocessing.StandardScaler(), preprocessing.MinMaxScaler((-1e-6, 3e-6)), preprocessing.RobustScaler()


@pytest.mark.parametrize(
    "steps, last",
    [
        (["passthrough", preprocessing.StandardScaler()], ensemble.RandomForestClassifier(9)),
        ([preprocessing.MinMaxScaler((-3, 5), clip=True)], tree.DecisionTreeClassifier(max_depth=6)),
        ([preprocessing.MaxAbsScaler(), None], ensemble.HistGradientBoostingClassifier(max_iter=9)),
        (STEEP, ensemble.GradientBoostingClassifier(n_estimators=9)),
        ([preprocessing.RobustScaler()], ensemble.BaggingClassifier(n_estimators=9)),
        ([], ensemble.ExtraTreesClassifier(9)),
    ],
)
def test_scalers_before_trees_become_thresholds(tmp_path, steps, last):
    model = pipeline.Pipeline([(str(i), step) for i, step in enumerate([*steps, last])]).fit(X, IS_HIGH)
    made = checked(saved(model, tmp_path), trust_pickle=True)
    assert made.ensemble.objective.startswith(type(last).__name__)
    x = X.astype(np.float64) * 1.1
    if made.ensemble.features is np.float64:
        answers = model.predict_proba(x)
        expected = answers[:, answers.shape[1] - made.ensemble.outputs :]
        np.testing.assert_allclose(forest.answers(made.ensemble, x.T), expected, rtol=1e-12)


def columns_of(*parts):
    return compose.ColumnTransformer([(str(i), step, at) for i, (step, at) in enumerate(parts)])


ENCODED = X.copy()
ENCODED[:, 1], ENCODED[:, 3] = np.round(X[:, 1] * 2), np.round(X[:, 3] * 3) / 2
HOLES = ENCODED.copy()
HOLES[::7, [0, 1]] = np.nan
IGNORE = {"handle_unknown": "ignore"}
FILLED = pipeline.make_pipeline(impute.SimpleImputer(strategy="median"), preprocessing.StandardScaler())
CODED = pipeline.make_pipeline(impute.SimpleImputer(strategy="most_frequent"), preprocessing.OneHotEncoder(**IGNORE))


@pytest.mark.parametrize(
    "step, x",
    [
        (columns_of((FILLED, [0, 2, 4]), (CODED, [1, 3])), HOLES),
        (
            columns_of(("passthrough", [4]), (preprocessing.OneHotEncoder(drop="first", **IGNORE), [3, 1]), ("drop", [0])),
            ENCODED,
        ),
        (columns_of((columns_of((CODED, [1])), [3, 1]), (FILLED, slice(0, 3))), HOLES),
        (pipeline.FeatureUnion([("a", preprocessing.RobustScaler()), ("b", preprocessing.OneHotEncoder(**IGNORE))]), ENCODED),
        (impute.SimpleImputer(missing_values=0, strategy="mean"), ENCODED),
        (preprocessing.OneHotEncoder(**IGNORE), ENCODED),
    ],
)
@pytest.mark.parametrize(
    "last", [ensemble.RandomForestClassifier(9), ensemble.GradientBoostingClassifier(n_estimators=9)], ids=["forest", "boosted"]
)
def test_steps_of_columns_before_trees_become_tests_of_columns(tmp_path, step, x, last):
    model = pipeline.make_pipeline(step, last).fit(x, IS_HIGH)
    made = checked(saved(model, tmp_path), trust_pickle=True)
    assert made.ensemble.columns == x.shape[1] and made.ensemble.features is np.float64
    given = np.concatenate([x, ENCODED * 1.1, ENCODED + 0.25]).astype(np.float64)
    answers = model.predict_proba(given)
    expected = answers[:, answers.shape[1] - made.ensemble.outputs :]
    np.testing.assert_allclose(forest.answers(made.ensemble, given.T), expected, rtol=1e-12)


def test_columns_by_name_and_a_category_that_is_not_known(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(ENCODED, columns=["pt", "n", "eta", "kind", "phi"])
    step = columns_of((preprocessing.StandardScaler(), ["phi", "pt"]), (preprocessing.OneHotEncoder(), ["kind"]))
    model = pipeline.make_pipeline(step, ensemble.RandomForestClassifier(9)).fit(table, IS_HIGH)
    made = checked(saved(model, tmp_path), trust_pickle=True)
    assert made.ensemble.column_names == [*table.columns]
    assert "categories that are not known are none of those that are, where scikit-learn raises" in made.notes
    np.testing.assert_allclose(forest.answers(made.ensemble, ENCODED.T), model.predict_proba(table), rtol=1e-12)
    table["kind"] = 77.0
    with pytest.raises(ValueError, match="unknown categories"):
        model.predict_proba(table)


@pytest.mark.parametrize(
    "step, message",
    [
        (
            pipeline.make_pipeline(preprocessing.StandardScaler(), preprocessing.OneHotEncoder(**IGNORE)),
            "has a OneHotEncoder behind steps that change numbers",
        ),
        (preprocessing.OneHotEncoder(min_frequency=30, **IGNORE), "holds a Pipeline with a OneHotEncoder, expected steps of"),
        (impute.SimpleImputer(add_indicator=True), "holds a Pipeline with a SimpleImputer, expected steps of"),
    ],
)
def test_steps_that_are_no_functions_of_a_column_are_refused(tmp_path, step, message):
    model = pipeline.make_pipeline(step, ensemble.RandomForestClassifier(2)).fit(
        HOLES if "Imputer" in message else ENCODED, IS_HIGH
    )
    assert refusal(saved(model, tmp_path), trust_pickle=True).startswith(message)


def test_pipelines_that_are_refused(tmp_path):
    forest_of = ensemble.RandomForestClassifier(2)
    for steps, message in (
        (
            [preprocessing.PolynomialFeatures(), forest_of],
            "holds a Pipeline with a PolynomialFeatures, expected steps of Standard",
        ),
        (
            [preprocessing.StandardScaler(), linear_model.LogisticRegression()],
            "holds an object of LogisticRegression, expected",
        ),
    ):
        model = pipeline.make_pipeline(*steps).fit(X, IS_HIGH)
        assert refusal(saved(model, tmp_path), trust_pickle=True).startswith(message)
    model = pipeline.make_pipeline(preprocessing.StandardScaler(), forest_of).fit(X, IS_HIGH)
    del model.steps[0][1].scale_
    assert "its scalers cannot be run: " in refusal(saved(model, tmp_path), trust_pickle=True)
    bagged = ensemble.BaggingClassifier(linear_model.LogisticRegression(), n_estimators=2).fit(X, IS_HIGH)
    message = "holds an object of BaggingClassifier of LogisticRegression, expected one of DecisionTreeClassifier, "
    assert refusal(saved(bagged, tmp_path), trust_pickle=True).startswith(message)
    x, y = rows(categories=(1,), missing=0)
    sets = ensemble.HistGradientBoostingRegressor(max_iter=5, categorical_features=[1], min_samples_leaf=3)
    model = pipeline.make_pipeline(preprocessing.MaxAbsScaler(), sets)
    model.fit(x, y).steps[0][1].scale_[:] = 1
    model.steps[1] = ("sets", sets.fit(x, y))
    assert refusal(saved(model, tmp_path), trust_pickle=True).startswith("has scalers before columns of categories, expected")


def test_categories_are_those_of_the_column(tmp_path):
    """The nodes have numbers of categories, and see the columns of categories first."""
    x, y = rows(categories=(1, 3), missing=0.1)
    x[:, 1] *= 3
    model = ensemble.HistGradientBoostingRegressor(max_iter=9, categorical_features=[1, 3], min_samples_leaf=3).fit(x, y)
    made = checked(saved(model, tmp_path), trust_pickle=True)
    is_set = made.ensemble.nodes["test"] == Test.IN_SET
    assert set(made.ensemble.nodes["column"][is_set].tolist()) == {1, 3} and len(made.ensemble.sets) > 3
    x[:, 3] -= 0.5
    with_halves = ensemble.HistGradientBoostingRegressor(max_iter=2, categorical_features=[3]).fit(x, y)
    message = refusal(saved(with_halves, tmp_path), trust_pickle=True)
    assert message.startswith("column 3 has the categories [") and message.endswith("expected whole numbers from 0 on")


@pytest.mark.parametrize("compress", [0, 3, ("gzip", 3), ("bz2", 3), ("xz", 3)])
def test_files_of_joblib(tmp_path, compress):
    model = ensemble.RandomForestRegressor(3).fit(X, Y)
    joblib.dump(model, tmp_path / "any.name", compress=compress)
    assert checked(tmp_path / "any.name", trust_pickle=True).ensemble.outputs == 1


def test_a_pickle_runs_only_where_it_is_trusted(tmp_path, capsys):
    class Code:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made by the pickle"),)

    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(Code()))
    status, out = command(path, [block("a", "abcde")], ["s"])
    assert (status, out.exists(), (tmp_path / "made by the pickle").exists()) == (2, False, False)
    assert capsys.readouterr().err == (
        f"error: {path}: is a pickle, and loading it runs code that is in it; give --trust-pickle if you trust where it is "
        "from\n"
    )
    assert refusal(path, trust_pickle=True).startswith("holds an object of NoneType, expected one of")
    assert (tmp_path / "made by the pickle").exists()


def test_the_command(tmp_path):
    model = ensemble.RandomForestClassifier(5, max_depth=4).fit(MISSING, CLASSES)
    status, out = command(saved(model, tmp_path), [block("a", "abcde")], "hlm", "--trust-pickle")
    manifest, files = contents(out)
    assert status == 0 and dict(manifest.forest.facts)["classes"] == "high, low, middle"
    case = next(case for case in manifest.recorded.cases if case.numbers == "normal" and case.rows == 1000)
    content = files["model/" + case.file]
    expected = model.predict_proba(np.frombuffer(content, "f4", 5000).reshape(5, 1000).T)
    np.testing.assert_array_equal(np.frombuffer(content, "f8", offset=20000).reshape(3, 1000).T, expected)


# ---- what is refused


@pytest.mark.parametrize(
    "model, message",
    [
        (
            linear_model.LinearRegression().fit(X, Y),
            "holds an object of LinearRegression, expected one of DecisionTreeClassifier, ",
        ),
        (ensemble.AdaBoostRegressor(n_estimators=2).fit(X, Y), "holds an object of AdaBoostRegressor, expected one of"),
        (tree.DecisionTreeRegressor(), "holds an object of DecisionTreeRegressor that is not fitted"),
        (ensemble.HistGradientBoostingRegressor(), "holds an object of HistGradientBoostingRegressor that is not fitted"),
        (
            ensemble.RandomForestClassifier(2).fit(X, np.stack([CLASSES, CLASSES], 1)),
            "holds an object of RandomForestClassifier of 2 outputs, expected one",
        ),
        (
            ensemble.GradientBoostingRegressor(n_estimators=2, init=linear_model.LinearRegression()).fit(X, Y),
            "its init_ is a LinearRegression, expected a constant",
        ),
    ],
)
def test_models_that_are_refused(tmp_path, model, message):
    assert refusal(saved(model, tmp_path), trust_pickle=True).startswith(message)


def test_other_wrappers_have_files_of_their_own(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    path = saved(xgboost.XGBRegressor(n_estimators=2).fit(X, Y), tmp_path)
    message = refusal(path, trust_pickle=True)
    assert (
        message.startswith("holds an object of XGBRegressor, expected one of") and "its save_model() writes a file" in message
    )


def test_damaged_pickles_are_refused(tmp_path):
    content = pickle.dumps(tree.DecisionTreeRegressor(max_depth=2).fit(X, Y))
    for end in range(20, len(content), 131):
        assert refusal(tmp_path / "m", content[:end], trust_pickle=True).startswith("cannot be loaded: ")
    model = tree.DecisionTreeRegressor(max_depth=2).fit(X, Y)
    state = model.tree_.__getstate__()
    state["nodes"]["left_child"][0] = 0
    model.tree_.__setstate__(state)
    expected = "tree 0, node 0: it leads to node 0, which another node leads to"
    assert refusal(saved(model, tmp_path), trust_pickle=True) == expected
