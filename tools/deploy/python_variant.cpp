// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "deploy/python_variant.hpp"

namespace tensoa::tools {

const char* const kPythonVariant = R"py(# Written by tensoa deploy (docs/triton.md)
"""Runs a TorchScript or ONNX file next to this one in Triton's python back-end.

Tensors are [1, planes, n], one for each block of binding.json, as the back-end "tensoa" has them. Needs numpy, and torch
or onnxruntime, in the Python that the server starts.
"""

import json
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils


def tensor_of(block, planes, rows):
    """The tensor of a block, of its planes [planes, n]."""
    k = len(block["columns"])
    if block["kind"] == "scalar":
        return np.broadcast_to(planes.reshape(1, k), (rows, k))
    if block["shape"] == "columns":
        return planes
    element = block["element"]
    if not element:
        return planes.T
    r, c = (*element, 1)[:2]
    tensor = planes.reshape(k, c, r, rows).transpose(3, 0, 2, 1)
    if len(element) == 1:
        tensor = tensor[..., 0]
    return tensor if k > 1 else tensor[:, 0]


def planes_of(block, tensor):
    """The planes [planes, n] of a result."""
    if block["shape"] == "columns":
        return tensor
    k = len(block["columns"])
    n = tensor.shape[0]
    element = block["element"]
    if not element:
        return tensor.reshape(n, k).T
    r, c = (*element, 1)[:2]
    return tensor.reshape(n, k, r, c).transpose(1, 3, 2, 0).reshape(k * c * r, n)


class Onnx:
    def __init__(self, file, binding):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        names = [value.name for value in self.session.get_inputs()]
        blocks = [block["name"] for block in binding["inputs"]]
        self.names = blocks if set(blocks) == set(names) else names

    def __call__(self, tensors):
        return self.session.run(None, {name: np.ascontiguousarray(tensor) for name, tensor in zip(self.names, tensors, strict=True)})


class TorchScript:
    def __init__(self, file, binding):
        import torch

        torch.set_num_threads(1)
        self.torch = torch
        self.module = torch.jit.load(str(file), map_location="cpu").eval()

    def __call__(self, tensors):
        with self.torch.inference_mode():
            results = self.module(*(self.torch.from_numpy(np.ascontiguousarray(tensor)) for tensor in tensors))
        return [result.numpy() for result in (results if isinstance(results, (tuple, list)) else [results])]


class TritonPythonModel:
    def initialize(self, args):
        folder = Path(args["model_repository"]) / args["model_version"]
        self.binding = json.loads((folder / "binding.json").read_text())
        onnx = folder / "model.onnx"
        self.run = Onnx(onnx, self.binding) if onnx.exists() else TorchScript(folder / "model.pt", self.binding)

    def answer(self, request):
        planes = [pb_utils.get_input_tensor_by_name(request, block["name"]).as_numpy()[0] for block in self.binding["inputs"]]
        rows = {}
        for block, values in zip(self.binding["inputs"], planes, strict=True):
            if block["kind"] != "scalar":
                rows[block["collection"]] = values.shape[1]
        tensors = [
            tensor_of(block, values, rows.get(block["collection"], 1))
            for block, values in zip(self.binding["inputs"], planes, strict=True)
        ]
        return [
            pb_utils.Tensor(block["name"], np.ascontiguousarray(planes_of(block, result))[None])
            for block, result in zip(self.binding["outputs"], self.run(tensors), strict=True)
        ]

    def execute(self, requests):
        responses = []
        for request in requests:
            try:
                responses.append(pb_utils.InferenceResponse(self.answer(request)))
            except Exception as error:
                responses.append(pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error))))
        return responses
)py";

}  // namespace tensoa::tools
