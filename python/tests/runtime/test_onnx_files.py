# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""tensoa.Model of an ONNX file as it is, with ONNX Runtime in Python in the same process."""

from pathlib import Path

import numpy as np
import pytest

from conftest import require_runtime
from tensoa.errors import DeviceError, LoadError

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
Model = require_runtime()


def network(folder: Path) -> Path:
    """Two inputs of one collection, and a result of two columns."""
    helper = onnx.helper
    tensor = onnx.TensorProto.FLOAT
    weights = onnx.numpy_helper.from_array(np.float32([[0.5, 1], [-1, 2], [0.25, 3]]), "w")
    nodes = [helper.make_node("MatMul", ["features", "w"], ["sum"]), helper.make_node("Mul", ["sum", "weight"], ["scores"])]
    inputs = [helper.make_tensor_value_info(name, tensor, ["n", size]) for name, size in (("features", 3), ("weight", 1))]
    graph = helper.make_graph(nodes, "network", inputs, [helper.make_tensor_value_info("scores", tensor, ["n", 2])], [weights])
    path = folder / "network.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_columns_and_blocks_give_the_answers_of_the_runtime(tmp_path: Path) -> None:
    path = network(tmp_path)
    random = np.random.default_rng(5)
    features = random.standard_normal((100, 3)).astype(np.float32)
    weight = random.random((100, 1), dtype=np.float32)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"features": features, "weight": weight})

    model = Model(path)
    blocks = model(features, weight)
    np.testing.assert_allclose(blocks, expected, rtol=1e-6)
    named = Model(path, columns=["pt", "eta", "phi", "w"])
    columns = named(pt=features[:, 0], eta=features[:, 1], phi=features[:, 2], w=weight[:, 0])
    np.testing.assert_allclose(columns["scores_1"], expected[:, 1], rtol=1e-6)
    assert [block.name for block in model.inputs] == ["features", "weight"]


def test_a_gpu_is_refused_with_the_way_there(tmp_path: Path) -> None:
    with pytest.raises((DeviceError, LoadError), match="cuda"):
        Model(network(tmp_path), device="cuda:0")


def test_the_numbers_of_a_large_image_are_columns(tmp_path: Path) -> None:
    helper, tensor = onnx.helper, onnx.TensorProto.FLOAT
    values = [helper.make_tensor_value_info(*one) for one in (("x", tensor, ["n", 900, 120]), ("mean", tensor, ["n", 1]))]
    nodes = [helper.make_node("Flatten", ["x"], ["flat"]), helper.make_node("ReduceMean", ["flat"], ["mean"], axes=[1])]
    graph = helper.make_graph(nodes, "image", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "image.onnx")
    x = np.random.default_rng(5).standard_normal((3, 108_000)).astype(np.float32)
    found = Model(tmp_path / "image.onnx")(x.reshape(3, 900, 120))
    np.testing.assert_allclose(found, x.mean(1, keepdims=True), atol=1e-6)
