# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Each kind of file that tensoa.compile takes becomes a package whose answers are those of the file's own framework, or of the
rules that the tests of its importer have.
"""

import importlib
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import tensoa
from conftest import require_runtime

ROWS = 40


@dataclass
class Case:
    """`names` of the columns; `answers`: [rows, results] of [rows, columns]."""

    model: object
    names: Sequence[str]
    answers: Callable[[np.ndarray], object]
    argument: str = "x"
    options: dict = field(default_factory=dict)


def helpers(name):
    """The module of another test; skips where it needs a package that is not here."""
    return importlib.import_module(name)


@pytest.fixture(autouse=True)
def other_tests(monkeypatch):
    for folder in ("trees", "onnx", "."):
        monkeypatch.syspath_prepend(str(Path(__file__).parent / folder))


# ---- networks of torch


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3), nn.Softmax(-1))

    def forward(self, x):
        return self.layers(x)


def torch_answers(x):
    with torch.no_grad():
        return Network()(torch.from_numpy(x)).numpy()


def of_module(folder):
    return Case(Network(), "abcd", torch_answers)


def of_factory(folder):
    (folder / "net.py").write_text("import test_compiled_files\n\n\ndef make():\n    return test_compiled_files.Network()\n")
    return Case(f"{folder}/net.py:make", "abcd", torch_answers)


def of_torchscript(folder):
    torch.jit.script(Network()).save(folder / "net.pt")
    return Case(folder / "net.pt", "abcd", torch_answers)


def of_torch_export(folder):
    rows = torch.export.Dim("rows")
    torch.export.save(torch.export.export(Network(), (torch.ones(7, 4),), dynamic_shapes=({0: rows},)), folder / "net.pt2")
    return Case(folder / "net.pt2", "abcd", torch_answers)


# ---- networks of others


def of_onnx(folder):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    packages = helpers("packages")
    path = packages.of_torch(folder / "net.onnx", Network(), (torch.ones(5, 4),), ["x"], ["y"], {"x": 0, "y": 0})
    return Case(path, "abcd", lambda x: packages.session(path).run(["y"], {"x": x})[0])


def of_keras(folder, ending="keras"):
    keras = helpers("test_import_keras")
    model = keras.dense()
    return Case(keras.saved(model, folder, ending), "abcd", lambda x: model.predict(x, verbose=0))


def of_keras_h5(folder):
    return of_keras(folder, "h5")


def tensorflow_answers(x):
    random = np.random.default_rng(1)
    first, last = (random.normal(size=size) for size in ((4, 8), (8, 2)))
    hidden = np.tanh(np.log1p(np.abs(x)) @ first)
    powers = np.exp(hidden @ last)
    return np.concatenate([hidden, powers / powers.sum(1, keepdims=True)], 1)


def of_tensorflow(folder):
    pytest.importorskip("tensorflow")
    pytest.importorskip("tf2onnx")
    subprocess.run([sys.executable, "-c", helpers("test_import_tensorflow").MAKER, folder], check=True, capture_output=True)
    return Case(folder / "saved", "abcd", tensorflow_answers)


def of_lwtnn(folder):
    lwtnn = helpers("test_import_lwtnn")
    layers = [lwtnn.dense(3, 5, "tanh"), lwtnn.dense(5, 2, "softmax")]
    text = lwtnn.sequential("abc", layers, 2)

    def answers(x):
        return [lwtnn.on_vector(layers[1], lwtnn.on_vector(layers[0], lwtnn.prepared(text["inputs"], row))) for row in x]

    return Case(lwtnn.save(text, folder), "abc", answers, "inputs")


def of_tmva_network(folder):
    tmva = helpers("test_import_tmva_networks")
    text = tmva.setup(tmva.mlp(), NeuronType="sigmoid", EstimatorType="CE")
    return Case(tmva.save(text, folder), tmva.NAMES, lambda x: [tmva.walked_mlp(text, row, "sigmoid", "sigmoid") for row in x])


def of_hls4ml(folder):
    fixed = helpers("test_import_fixed_point")
    network = fixed.Fml(4, fixed.NARROW).dense("d", 3, fixed.NARROW, fixed.NARROW, fixed.Fixed(24, 12), fixed.DEFAULT)
    return Case(network.save(folder), "abcd", network.answers)


def of_qkeras(folder):
    pytest.importorskip("h5py")
    network = helpers("test_import_fixed_point").small_qkeras()
    return Case(network.save(folder), "abcd", network.answers)


# ---- decision trees


def of_xgboost(folder, name="trees.json"):
    xgboost = helpers("test_import_xgboost")
    booster = xgboost.trained(xgboost.Y > 0, objective="binary:logistic")
    matrix = xgboost.xgboost.DMatrix
    return Case(xgboost.saved(booster, folder, name), "abcde", lambda x: booster.predict(matrix(x)), "features")


def of_xgboost_ubj(folder):
    return of_xgboost(folder, "trees.ubj")


def of_lightgbm(folder):
    lightgbm = helpers("test_import_lightgbm")
    booster = lightgbm.trained(lightgbm.CLASSES, objective="multiclass", num_class=3)
    return Case(lightgbm.saved(booster, folder), "abcde", booster.predict, "features")


def of_sklearn(folder):
    sklearn = helpers("test_import_sklearn")
    model = sklearn.ensemble.RandomForestClassifier(9, random_state=1).fit(sklearn.X, sklearn.CLASSES)
    return Case(sklearn.saved(model, folder), "abcde", model.predict_proba, "features", {"trust_pickle": True})


def of_onnx_trees(folder):
    onnx = helpers("test_import_onnx")
    lists, _ = onnx.random_trees(7, onnx.MODES[:4], targets=3)
    path = onnx.saved(folder, "TreeEnsembleRegressor", {**lists, "n_targets": 3})
    return Case(path, "abcde", lambda x: onnx.onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0], "features")


def of_tmva_trees(folder):
    tmva = helpers("test_import_tmva")
    trees = tmva.random_trees(1)
    path = tmva.saved(folder, trees, boost="Grad")
    return Case(path, tmva.NAMES, lambda x: [tmva.walked(trees, row, "Grad", "False") for row in x], "features")


def of_conifer(folder):
    conifer = helpers("test_import_conifer")
    model = conifer.random_model(1, 3)
    return Case(conifer.saved(folder, model), "abcde", lambda x: [conifer.walked(model, row) for row in x], "features")


KINDS = [
    of_module, of_factory, of_torchscript, of_torch_export, of_onnx, of_keras, of_keras_h5, of_tensorflow, of_lwtnn,
    of_tmva_network, of_hls4ml, of_qkeras, of_xgboost, of_xgboost_ubj, of_lightgbm, of_sklearn, of_onnx_trees, of_tmva_trees,
    of_conifer,
]  # fmt: skip


def check(case, package):
    Model = require_runtime()
    tensoa.compile(case.model, package, columns={case.argument: [*case.names]}, **case.options, report=lambda line: None)
    x = np.random.default_rng(3).normal(size=(ROWS, len(case.names))).astype(np.float32)
    got = Model(package)(**dict(zip(case.names, np.ascontiguousarray(x.T))))
    expected = np.asarray(case.answers(x), np.float64).reshape(ROWS, -1)
    np.testing.assert_allclose(np.stack([*got.values()], 1), expected, rtol=1e-4, atol=1e-6)
    assert expected.std() > 0


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__.removeprefix("of_"))
def test_the_package_of_a_file_gives_the_answers_of_its_framework(kind, tmp_path):
    check(kind(tmp_path), tmp_path / "package.pt2")


# ---- results by name


def one_of_lwtnn(folder):
    """One of two outputs, with the names of its labels in another order."""
    lwtnn = helpers("test_import_lwtnn")
    layers = [lwtnn.dense(2, 3, "tanh"), lwtnn.dense(3, 2, "softmax"), lwtnn.dense(3, 1, "sigmoid")]
    nodes = [{"type": "input", "sources": [0], "size": 2}, {"type": "feed_forward", "sources": [0], "layer_index": 0}]
    nodes += [{"type": "feed_forward", "sources": [1], "layer_index": i} for i in (1, 2)]
    outputs = {"flavour": {"labels": ["light", "heavy"], "node_index": 2}, "vertex": {"labels": ["has"], "node_index": 3}}
    inputs = [{"name": "jet", "variables": lwtnn.variables("pt", "eta")}]
    text = {"inputs": inputs, "input_sequences": [], "nodes": nodes, "layers": layers, "outputs": outputs}

    def answers(x):
        hidden = [lwtnn.on_vector(layers[0], lwtnn.prepared(inputs[0]["variables"], row)) for row in x]
        return [lwtnn.on_vector(layers[1], row)[::-1] for row in hidden]

    return Case(lwtnn.save(text, folder), ["pt", "eta"], answers, "jet", {"outputs": ["flavour=heavy,light"]})


def one_inside_hls4ml(folder):
    """Before a softmax by a table, which is not read."""
    case, fixed = of_hls4ml(folder), helpers("test_import_fixed_point")
    network = fixed.small_fml()
    steps = [*network.steps]
    network.activation("s", "softmax", fixed.DEFAULT)

    def answers(x):
        network.steps = steps
        return network.answers(x)

    return Case(network.save(folder), case.names, answers, options={"outputs": ["r"]})


def one_of_keras(folder):
    keras = helpers("test_import_keras")
    layers = keras.layers
    x = keras.keras.Input((4,), name="x")
    hidden = layers.Dense(5, "tanh", name="hidden")(x)
    model = keras.keras.Model(x, [layers.Dense(2, name="a")(hidden), layers.Dense(3, name="b")(hidden)])
    return Case(keras.saved(model, folder), "abcd", lambda x: model.predict(x, verbose=0)[1], options={"outputs": ["b"]})


@pytest.mark.parametrize("kind", [one_of_lwtnn, one_inside_hls4ml, one_of_keras], ids=lambda kind: kind.__name__)
def test_results_of_a_file_are_chosen_by_name(kind, tmp_path):
    check(kind(tmp_path), tmp_path / "package.pt2")
