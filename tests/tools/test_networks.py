# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Packages of networks of others, from `python -m tensoa.export` to the program: what was recorded, column by column."""

import json
import sys
from importlib import import_module

import numpy as np
import pytest
from exporting import block

from conftest import ROOT, succeed

sys.path.append(str(ROOT / "python" / "tests" / "importers"))  # files of networks that the tests of importers make
NAMES = ["pt", "eta", "d0", "mass"]


def tmva_mlp(folder):
    tmva = import_module("test_import_tmva_networks")
    transform, _ = tmva.ranges(NAMES)
    return tmva.save(tmva.setup(tmva.mlp(), transform=transform, NeuronType="tanh", EstimatorType="CE"), folder)


def tmva_dnn(folder):
    tmva = import_module("test_import_tmva_networks")
    return tmva.save(tmva.setup(tmva.dnn((1, 3, 0)), "DNN"), folder)


def lwtnn(folder):
    made = import_module("test_import_lwtnn")
    layers = [made.dense(4, 8, "rectified"), made.dense(8, 1, "sigmoid")]
    return str(made.save({**made.sequential(NAMES, layers, 1), "outputs": ["score"]}, folder))


def hls4ml(folder):
    made = import_module("test_import_fixed_point")
    network = made.Fml(4, made.NARROW).dense("d1", 6, made.NARROW, made.NARROW, made.Fixed(18, 8), made.NARROW)
    return (
        network.activation("r", "relu", made.NARROW)
        .dense("d2", 1, made.NARROW, made.NARROW, made.DEFAULT, made.DEFAULT)
        .save(folder)
    )


def keras(folder):
    pytest.importorskip("keras")
    made = import_module("test_import_keras")
    return made.saved(made.keras.Sequential([*made.dense().layers[:-1], made.layers.Dense(1)]), folder)


def onnx(folder):
    helper = pytest.importorskip("onnx.helper")
    numbers = import_module("onnx.numpy_helper")
    random = np.random.default_rng(0)
    weights = [numbers.from_array(random.normal(size=size).astype("f4"), name) for name, size in (("w", (4, 8)), ("v", (8, 1)))]
    nodes = [("MatMul", ["h", "v"], ["y"]), ("Tanh", ["a"], ["h"]), ("MatMul", ["x", "w"], ["a"])]
    graph = helper.make_graph(
        [helper.make_node(*node) for node in nodes],
        "test",
        [helper.make_tensor_value_info("x", 1, ["n", 4])],
        [helper.make_tensor_value_info("y", 1, ["n", 1])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 10)], ir_version=5)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return str(folder / "model.onnx")


@pytest.mark.parametrize("make", [tmva_mlp, tmva_dnn, lwtnn, hls4ml, keras, onnx], ids=lambda make: make.__name__)
def test_the_program_gives_what_was_recorded(tmp_path, make):
    main = import_module("tensoa.export").main
    text = {"schema": 1, "match": "order", "inputs": [block("features", NAMES)], "outputs": [block("scores", ["score"])]}
    (tmp_path / "binding.json").write_text(json.dumps(text))
    package = tmp_path / "package.pt2"
    main([make(tmp_path), "--binding", str(tmp_path / "binding.json"), "--out", str(package)])
    checked = succeed("check", package).stdout
    assert "score" in checked
    inspected = json.loads(succeed("inspect", package, "--json").stdout)
    assert [column["name"] for column in inspected["inputs"][0]["columns"]] == NAMES
