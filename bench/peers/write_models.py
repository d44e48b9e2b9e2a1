# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the models of run.py as ONNX files: write_models.py PACKAGES OUT

mlp.onnx and mlp_N.onnx (for N rows: SOFIE's fixed batch) of PACKAGES/mlp.pt, edge_network.onnx of our weights. Each
ONNX file is run and compared with the module before it counts.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from tensoa.tracking import interaction_network

ROWS = (1, 16, 1000, 100_000, 1_000_000)
MLP_NAMES = ["features", "preds"]
OPSET = 17
ROOT = Path(__file__).resolve().parents[2]


def require_equal(path, module, arguments, names):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (got,) = session.run(None, {name: argument.numpy() for name, argument in zip(names, arguments)})
    with torch.no_grad():
        expected = module(*arguments).numpy()
    if got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-5):
        sys.exit(f"{path}: ONNX Runtime differs from the module by {np.abs(got - expected).max()}")


def export(module, arguments, names, path, free):
    """`free`: for each name the dimensions that any number of rows may have."""
    torch.onnx.export(module, arguments, str(path), input_names=names[:-1], output_names=names[-1:],
                      dynamic_axes=free, opset_version=OPSET, dynamo=False)  # fmt: skip
    require_equal(path, module, arguments, names)


def write_perceptron(packages, path):
    """The perceptron of `tensoa-bench forward`; returns the module."""
    module = torch.jit.load(packages / "mlp.pt").eval()
    plain = torch.nn.Sequential(torch.nn.Linear(3, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(),
                                torch.nn.Linear(64, 2))  # fmt: skip
    plain.load_state_dict(module.state_dict())
    export(plain, (torch.randn(5, 3),), MLP_NAMES, path, {name: {0: "n"} for name in MLP_NAMES})
    return plain


def write_mlp(packages, out):
    plain = write_perceptron(packages, out / "mlp.onnx")
    for rows in ROWS:
        export(plain, (torch.randn(rows, 3),), MLP_NAMES, out / f"mlp_{rows}.onnx", {})


def index_add(graph, zeros, dim, index, source, alpha):
    """As ScatterND that adds: torch.onnx loses the sum of index_add without a word."""
    rows = graph.op("Unsqueeze", index, graph.op("Constant", value_t=torch.tensor([1])))
    return graph.op("ScatterND", zeros, rows, source, reduction_s="add")


def write_network(network, path, node_columns=3, edge_columns=4):
    """A graph network of ours."""
    torch.manual_seed(1)
    index = torch.randint(0, 50, (2, 300))
    arguments = (torch.rand(50, node_columns) + 0.5, index, torch.rand(300, edge_columns) + 0.1)
    names = ["x", "edge_index", "edge_attr", "score"]
    free = {"x": {0: "n"}, "edge_index": {1: "e"}, "edge_attr": {0: "e"}, "score": {0: "e"}}
    torch.onnx.register_custom_op_symbolic("aten::index_add", index_add, OPSET)
    torch.onnx.register_custom_op_symbolic("aten::asinh", lambda graph, x: graph.op("Asinh", x), OPSET)
    export(network, arguments, names, path, free)


def our_network():
    return interaction_network.load(ROOT / "models" / "interaction_network.safetensors")


def main(packages, out):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    write_mlp(packages, out)
    write_network(our_network(), out / "edge_network.onnx")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
