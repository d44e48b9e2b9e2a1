# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the network of triton_backend.py: mlp.pt2, mlp.onnx and binding.json.

PYTHONPATH=python .venv/bin/python bench/service/make_mlp.py FOLDER
"""

import json
import sys
from pathlib import Path

import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from tensoa import binding, export

SIZES = [15, 64, 64, 1]


def block(name, columns):
    described = [{"name": column, "plane": plane} for plane, column in enumerate(columns)]
    kind = {"kind": "plain", "element": [], "column_dtype": "float32", "dtype": "float32"}
    return {"name": name, "collection": 0, "shape": "rows", **kind, "columns": described}


def onnx_of(layers):
    nodes, weights, before = [], [], "x"
    for i, layer in enumerate(layers):
        weights.append(numpy_helper.from_array(layer.weight.detach().numpy(), f"w{i}"))
        weights.append(numpy_helper.from_array(layer.bias.detach().numpy(), f"b{i}"))
        is_last = layer is layers[-1]
        nodes.append(helper.make_node("Gemm", [before, f"w{i}", f"b{i}"], ["y" if is_last else f"h{i}"], transB=1))
        if not is_last:
            nodes.append(helper.make_node("Relu", [f"h{i}"], [f"r{i}"]))
        before = f"r{i}"
    value = helper.make_tensor_value_info
    inputs, outputs = [value("x", TensorProto.FLOAT, ["n", SIZES[0]])], [value("y", TensorProto.FLOAT, ["n", SIZES[-1]])]
    graph = helper.make_graph(nodes, "mlp", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main(folder):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    columns = [f"x{i}" for i in range(SIZES[0])]
    described = {"schema": 1, "match": "auto", "inputs": [block("x", columns)], "outputs": [block("y", ["energy"])]}
    (folder / "binding.json").write_text(json.dumps(described))
    torch.manual_seed(1)
    layers = [torch.nn.Linear(a, b) for a, b in zip(SIZES[:-1], SIZES[1:], strict=True)]
    module = torch.nn.Sequential(*[part for layer in layers[:-1] for part in (layer, torch.nn.ReLU())], layers[-1])
    export.export(module, binding.load(folder / "binding.json"), folder / "mlp.pt2")
    onnx.save(onnx_of(layers), folder / "mlp.onnx")


if __name__ == "__main__":
    main(sys.argv[1])
