# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Estimators of scikit-learn that are more than trees, compared with scikit-learn."""

import pickle

import numpy as np
import pytest
import torch

import tensoa
from conftest import require_runtime
from tensoa.errors import InputError, Unsupported
from tensoa.importers import estimators

pytest.importorskip("sklearn")
pytest.importorskip("skl2onnx")
from sklearn import (
    calibration,
    compose,
    decomposition,
    ensemble,
    linear_model,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
)

RANDOM = np.random.default_rng(4)
X = RANDOM.normal(size=(300, 5)).astype(np.float32)
X[:, 1] = np.round(2 * X[:, 1]) / 2
Y = X[:, 0] - X[:, 2] * X[:, 3]
KINDS = np.digitize(Y, [-0.5, 0.5])
IS_HIGH = (Y > 0).astype(int)
LOGISTIC, BAYES = linear_model.LogisticRegression(), naive_bayes.GaussianNB()
BOTH = [("a", LOGISTIC), ("b", BAYES)]
CODED = compose.ColumnTransformer(
    [
        ("a", preprocessing.StandardScaler(), [0, 2]),
        ("b", preprocessing.OneHotEncoder(handle_unknown="ignore", drop="first"), [1]),
    ]
)


def saved(model, tmp_path):
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    return tmp_path / "model.pkl"


@pytest.mark.parametrize(
    "model, y",
    [
        (linear_model.Ridge(), Y),
        (LOGISTIC, KINDS),
        (svm.LinearSVC(), IS_HIGH),
        (svm.LinearSVC(), KINDS),
        (ensemble.BaggingClassifier(BAYES, n_estimators=4, max_features=0.6), KINDS),
        (ensemble.BaggingRegressor(linear_model.Ridge(), n_estimators=4), Y),
        (ensemble.VotingClassifier(BOTH, voting="soft", n_jobs=2), IS_HIGH),
        (ensemble.StackingClassifier(BOTH), KINDS),
        (calibration.CalibratedClassifierCV(LOGISTIC, cv=2), IS_HIGH),
        (pipeline.make_pipeline(CODED, LOGISTIC), IS_HIGH),
        (pipeline.make_pipeline(preprocessing.PolynomialFeatures(2), preprocessing.StandardScaler(), linear_model.Ridge()), Y),
        (
            pipeline.make_pipeline(
                pipeline.FeatureUnion([("a", preprocessing.MinMaxScaler()), ("b", decomposition.PCA(2))]),
                neural_network.MLPClassifier((8,), max_iter=20),
            ),
            KINDS,
        ),
    ],
)
def test_the_graph_gives_what_scikit_learn_gives(model, y):
    model.fit(X, y)
    module = estimators.of_model(model, "m.pkl").module()
    x = np.concatenate([X, X + np.float32(0.25)])
    method = next(name for name in estimators.METHODS if hasattr(model, name))
    expected = getattr(model, method)(x.astype(np.float64)).reshape(len(x), -1)
    got = module(torch.from_numpy(x)).numpy().reshape(len(x), -1)
    np.testing.assert_allclose(got[:, got.shape[1] - expected.shape[1] :], expected, rtol=1e-5, atol=1e-6)


def test_a_package_has_the_names_of_columns_and_classes(tmp_path):
    require_runtime()
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=["pt", "kind", "eta", "phi", "mass"])
    step = compose.ColumnTransformer([("a", preprocessing.StandardScaler(), ["mass", "pt"])], remainder="passthrough")
    model = pipeline.make_pipeline(step, ensemble.BaggingClassifier(LOGISTIC, n_estimators=3)).fit(table, KINDS)
    lines = []
    tensoa.compile(saved(model, tmp_path), tmp_path / "m.pt2", trust_pickle=True, report=lines.append)
    assert "input features=pt,kind,eta,phi,mass" in lines and "output score=0,1,2" in lines
    assert "holds a Pipeline with a" in lines[0] or "holds an object of BaggingClassifier of LogisticRegression" in lines[0]
    assert any(line.startswith("compared with scikit-learn: the same in ") for line in lines)
    got = tensoa.Model(tmp_path / "m.pt2")(np.asfortranarray(X))
    np.testing.assert_allclose(got, model.predict_proba(table), rtol=1e-4, atol=1e-6)


def test_what_is_not_read_runs_in_onnx_runtime_as_it_is(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    model = neighbors.KNeighborsClassifier(3).fit(X, KINDS)
    lines = []
    tensoa.compile(saved(model, tmp_path), tmp_path / "m.pt2", trust_pickle=True, report=lines.append)
    assert any("run as it is by ONNX Runtime: the graph that skl2onnx makes; predict_proba" in line for line in lines)
    session = onnxruntime.InferenceSession((tmp_path / "m.pt2").read_bytes(), providers=["CPUExecutionProvider"])
    (got,) = session.run(None, {"features": X})
    np.testing.assert_allclose(got, model.predict_proba(X), rtol=1e-4, atol=1e-5)


def test_a_graph_that_gives_something_else_is_refused(monkeypatch):
    def bad(made, x, got):
        raise InputError("it gives 1 where scikit-learn gives 2")

    monkeypatch.setattr(estimators, "_require_same", bad)
    with pytest.raises(Unsupported) as caught:
        estimators.of_model(linear_model.Ridge().fit(X, Y), "m.pkl")
    assert str(caught.value) == (
        "m.pkl: skl2onnx makes no graph of Ridge that is right: it is not predict of scikit-learn: it gives 1 where "
        "scikit-learn gives 2; For operator SklearnLinearRegressor (type: SklearnLinearRegressor), at most 1 input(s) is(are) "
        "supported but we got 5 input(s) which are ['f0', 'f1', 'f2', 'f3', 'f4']"
    )


@pytest.mark.parametrize(
    "model, message",
    [
        ({"weights": [1.0]}, "holds a dict, expected an estimator of scikit-learn"),
        (linear_model.Ridge(), "holds a Ridge that is not fitted, or has none of predict_proba, "),
        (neighbors.LocalOutlierFactor().fit(X), "holds a LocalOutlierFactor that is not fitted, or has none of"),
    ],
)
def test_other_pickles_are_refused(tmp_path, model, message):
    with pytest.raises(InputError, match=message):
        tensoa.compile(saved(model, tmp_path), tmp_path / "m.pt2", trust_pickle=True, report=lambda line: None)
    assert not (tmp_path / "m.pt2").exists()


def test_options_of_trees_are_refused(tmp_path):
    path = saved(linear_model.Ridge().fit(X, Y), tmp_path)
    with pytest.raises(InputError, match="is not an ensemble of trees; expected no options of trees, got margin"):
        tensoa.compile(path, tmp_path / "m.pt2", trust_pickle=True, margin=True, report=lambda line: None)
