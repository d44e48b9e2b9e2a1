# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""ONNX files as they are, in the program: the answers of ONNX Runtime in Python, and what is said where it is missing."""

import json

import numpy as np
import pytest

from conftest import refuse, succeed, tensoa

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

NAMES = ["pt", "eta", "phi"]


def network(folder, rows="n"):
    """score = sigmoid(features w): [rows, 3] to [rows, 1]."""
    helper = onnx.helper
    weights = onnx.numpy_helper.from_array(np.float32([[0.5], [-1], [0.25]]), "w")
    nodes = [helper.make_node("MatMul", ["features", "w"], ["sum"]), helper.make_node("Sigmoid", ["sum"], ["score"])]
    tensor = onnx.TensorProto.FLOAT
    features = helper.make_tensor_value_info("features", tensor, [rows, 3])
    score = helper.make_tensor_value_info("score", tensor, [rows, 1])
    graph = helper.make_graph(nodes, "network", [features], [score], [weights])
    path = folder / f"network_{rows}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def table(folder, rows=1000):
    features = np.random.default_rng(3).standard_normal((rows, 3)).astype(np.float32)
    path = folder / "data.parquet"
    parquet.write_table(pyarrow.table(dict(zip(NAMES, features.T, strict=True))), path)
    return path, features


@pytest.mark.parametrize("rows", ["n", 1])
def test_infer_gives_the_answers_of_the_runtime(tmp_path, rows):
    model = network(tmp_path, rows)
    data, features = table(tmp_path)
    answers = tmp_path / "answers.parquet"
    word = ["--rows", "independent"] if rows == "n" else []  # of a file for one row it is known
    done = tensoa("infer", "--model", model, "--input", data, "--output", answers, "--columns", *NAMES, *word)
    assert done.returncode == 0, done.stderr
    session = onnxruntime.InferenceSession(network(tmp_path), providers=["CPUExecutionProvider"])
    expected = session.run(None, {"features": features})[0][:, 0]
    got = parquet.read_table(answers)["score"].to_numpy()
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_inspect_says_what_it_takes(tmp_path):
    model = network(tmp_path)
    said = json.loads(succeed("inspect", model, "--json").stdout)
    assert [one["type"] for one in said["inputs"] + said["outputs"]] == ["float32[n0, 3]", "float32[n0, 1]"]
    assert said["format"] == f"ONNX, run by ONNX Runtime {onnxruntime.__version__}" and said["target"] == "cpu"
    text = succeed("inspect", model).stdout
    assert "features_0@0, features_1@1, features_2@2" in text


def test_a_missing_runtime_is_said_with_the_way_to_get_it(tmp_path):
    model = network(tmp_path)
    data, _ = table(tmp_path)
    nowhere = {"env": {"TENSOA_ONNXRUNTIME": str(tmp_path), "PATH": "/usr/bin:/bin"}}
    says = [f"model {model}: needs ONNX Runtime", f"TENSOA_ONNXRUNTIME is {tmp_path}", "pip install onnxruntime"]
    refuse("inspect", model, says=says, **nowhere)
    refuse(
        "infer",
        "--model",
        model,
        "--input",
        data,
        "--output",
        tmp_path / "a.parquet",
        "--columns",
        *NAMES,
        says=says,
        **nowhere,
    )
    assert tensoa("--version", **nowhere).returncode == 0
