# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Whole models in ONNX become packages that give what ONNX Runtime gives."""

import json

import numpy as np
import pytest
import torch
from onnx import helper
from packages import FLOAT, INT64, agree, compare, of_nodes, of_torch
from torch import nn

from bindings import GRAPH, block
from exporting import agreement, bind
from exporting import block as named_block
from tensoa.command import run
from tensoa.errors import InputError
from tensoa.export import Options, export, main
from tensoa.importers.onnx import import_onnx

ROWS = {"features": 0, "probabilities": 0}


def dense():
    torch.manual_seed(1)
    layers = [nn.Linear(5, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 16), nn.ELU(), nn.BatchNorm1d(16)]
    network = nn.Sequential(*layers, nn.Linear(16, 3), nn.Softmax(-1))
    nn.init.normal_(network[5].running_mean)
    return network


@pytest.mark.parametrize("opset", [11, 13, 20])
def test_dense_network_of_any_opset(opset, tmp_path):
    network, features = dense(), torch.randn(50, 5)
    path = of_torch(tmp_path / "m.onnx", network, (features,), ["features"], ["probabilities"], ROWS, opset)
    with torch.no_grad():
        torch.testing.assert_close(import_onnx(path)(features), network(features))


def test_command_fuses_a_dense_network(tmp_path, capsys):
    path = of_torch(tmp_path / "m.onnx", dense(), (torch.randn(4, 5),), ["features"], ["probabilities"], ROWS)
    inputs, outputs = [named_block("features", "abcde")], [named_block("probabilities", "xyz")]
    (tmp_path / "b.json").write_text(json.dumps({"schema": 1, "match": "auto", "inputs": inputs, "outputs": outputs}))
    arguments = [str(path), "--binding", str(tmp_path / "b.json"), "--out", str(tmp_path / "m.pt2")]
    assert run(lambda: main(arguments)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == agreement("ONNX Runtime") and "fused into 1 kernel:" in lines
    agree(tmp_path / "m.pt2", path, inputs, outputs, tmp_path, {0: 100})


class InteractionNetwork(nn.Module):
    """Messages along edges, summed at both ends."""

    def __init__(self):
        super().__init__()
        self.edge = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 8))
        self.node = nn.Sequential(nn.Linear(11, 8), nn.ReLU(), nn.Linear(8, 3))
        self.score = nn.Linear(14, 1)

    def forward(self, x, edge_index, edge_attr):
        source, target = edge_index[0], edge_index[1]
        message = self.edge(torch.cat([x[source], x[target], edge_attr], 1))
        total = torch.zeros(x.shape[0], 8)
        for end in (source, target):
            total = total.scatter_add(0, end[:, None].expand(-1, 8), message)
        x = self.node(torch.cat([x, total], 1))
        return torch.sigmoid(self.score(torch.cat([x[source], x[target], message], 1)))


def graph_network(path):
    torch.manual_seed(2)
    arguments = (torch.randn(6, 3), torch.randint(0, 6, (2, 9)), torch.randn(9, 4))
    free = {"x": 0, "edge_index": 1, "edge_attr": 0}
    return of_torch(path, InteractionNetwork(), arguments, [*free], ["scores"], free)


def test_interaction_network_is_fused(tmp_path):
    """Its blocks go to its inputs by name."""
    path = graph_network(tmp_path / "m.onnx")
    inputs = [GRAPH[i] for i in (2, 0, 1)]
    lines = compare(path, inputs, [block("scores", 1, collection=1)], tmp_path, {0: 40, 1: 100})
    # Rows with NaN are joined to all others, so that they compare nothing.
    assert lines[0] == agreement("ONNX Runtime", less=1) and "fused into 4 kernels:" in lines


def test_scatter_nd_of_a_graph_is_fused(tmp_path):
    """As PyTorch Geometric and TensorFlow write sums over edges."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("ConstantOfShape", ["shape"], ["zeros"]),
        helper.make_node("Gather", ["edge_index", "one"], ["target"], axis=0),
        helper.make_node("Gather", ["edge_index", "zero"], ["source"], axis=0),
        helper.make_node("Gather", ["x", "source"], ["message"], axis=0),
        helper.make_node("Unsqueeze", ["target", "last"], ["places"]),
        helper.make_node("ScatterND", ["zeros", "places", "message"], ["sums"], reduction="add"),
        helper.make_node("Sub", ["sums", "x"], ["y"]),
    ]
    constants = {"one": np.int64(1), "zero": np.int64(0), "last": np.array([1])}
    inputs = {"x": (FLOAT, ["n", 3]), "edge_index": (INT64, [2, "e"])}
    path = of_nodes(tmp_path / "m.onnx", nodes, inputs, {"y": (FLOAT, ["n", 3])}, constants)
    lines = compare(path, GRAPH[:2], [block("y", 3)], tmp_path, {0: 40, 1: 100})
    assert any(line.startswith("fused into ") for line in lines)


def test_results_that_the_binding_does_not_have_are_left_out(tmp_path):
    """With the nodes that only they need, known or not."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("StringNormalizer", ["x"], ["text"], name="words"),
    ]
    outputs = {"y": (FLOAT, ["n", 2]), "text": (FLOAT, ["n"])}
    weight = np.arange(6, dtype=np.float32).reshape(3, 2)
    path = of_nodes(tmp_path / "m.onnx", nodes, {"x": (FLOAT, ["n", 3])}, outputs, {"w": weight})
    module = import_onnx(path, ["y"])
    torch.testing.assert_close(module(torch.ones(2, 3)), torch.ones(2, 3) @ torch.from_numpy(weight))


@pytest.mark.parametrize("end", [10**9, 2**31 - 1, 2**63 - 1])
def test_a_slice_to_the_end_of_the_rows_and_sizes_of_minus_one_leave_them_free(end, tmp_path):
    nodes = [helper.make_node("Slice", ["x", "start", "end", "axis"], ["y"])]
    arrays = {"start": np.array([0]), "end": np.array([end]), "axis": np.array([0])}
    path = of_nodes(tmp_path / "m.onnx", nodes, {"x": (FLOAT, [-1, 3])}, {"y": (FLOAT, [-1, 3])}, arrays)
    inputs, outputs = [named_block("x", "abc")], [named_block("y", "def")]
    export(import_onnx(path), bind(inputs, outputs), tmp_path / "m.pt2")
    agree(tmp_path / "m.pt2", path, inputs, outputs, tmp_path, {0: 100})


def test_model_that_differs_from_onnx_runtime_is_refused(tmp_path):
    path = of_torch(tmp_path / "m.onnx", dense(), (torch.randn(4, 5),), ["features"], ["probabilities"], ROWS)
    module = import_onnx(path)
    with torch.no_grad():
        next(buffer for buffer in module.buffers() if buffer.shape == (16, 5))[3, 2] += 0.01
    columns = bind([named_block("features", "abcde")], [named_block("probabilities", "xyz")])
    with pytest.raises(InputError, match="ONNX Runtime differs from the model by") as caught:
        export(module, columns, tmp_path / "m.pt2")
    assert 'block "probabilities", column' in str(caught.value) and not (tmp_path / "m.pt2").exists()


@pytest.mark.parametrize("rows, opset", [("n", 7), (1, 13), ("n", 15)])
def test_model_of_which_onnx_runtime_is_off_is_written_and_both_errors_are_said(rows, opset, tmp_path):
    """Its sigmoid is never below 1e-8. Batch norms are in evaluation in all opsets."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("BatchNormalization", ["product", "scale", "far", "mean", "variance"], ["away"], momentum=0.9),
        helper.make_node("Sigmoid", ["away"], ["y"]),
    ]
    random = np.random.default_rng(0)
    constants = {"w": random.normal(size=(3, 2)), "scale": [1, 2], "far": [-40, 0], "mean": [0.5, -1], "variance": [2, 0.5]}
    constants = {name: np.float32(numbers) for name, numbers in constants.items()}
    inputs, outputs = {"x": (FLOAT, [rows, 3])}, {"y": (FLOAT, [rows, 2])}
    path = of_nodes(tmp_path / "m.onnx", nodes, inputs, outputs, constants, opset)
    columns, lines = bind([named_block("x", "abc")], [named_block("y", "uv")], "auto"), []
    module = import_onnx(path, columns)
    export(module, columns, tmp_path / "m.pt2", Options(report=lines.append))
    assert lines[0].startswith('block "y", column u: ONNX Runtime differs from the model by 1.0')
    assert "; the model itself from float64 by " in lines[0] and "expected at most " in lines[0]
    assert "; it is ONNX Runtime that is off: the model agrees with what the reference evaluator of the package" in lines[0]
    assert (tmp_path / "m.pt2").exists()
    with torch.no_grad():
        next(buffer for buffer in module.buffers() if buffer.shape == (3, 2))[1, 0] += 0.01
    with pytest.raises(InputError, match="ONNX Runtime differs from the model by"):
        export(module, columns, tmp_path / "wrong.pt2")
    assert not (tmp_path / "wrong.pt2").exists()
