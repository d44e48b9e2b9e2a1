# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of the test models, and the class that Triton's Python back-end runs; it is model.py of each model."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, Any]


def layers(path: Path, widths: list[int]) -> list[tuple[Any, Any]]:
    """Returns (matrix of shape [in, out], bias) of each layer, from the float32 numbers of models.py."""
    numbers = np.fromfile(path, dtype="<f4")
    found, at = [], 0
    for columns, rows in zip(widths[:-1], widths[1:], strict=True):
        matrix = numbers[at : at + columns * rows].reshape(columns, rows)
        bias = numbers[at + columns * rows : at + columns * rows + rows]
        found.append((matrix, bias))
        at += (columns + 1) * rows
    return found


def run(kind: str, inputs: Arrays, weights: list[tuple[Any, Any]]) -> Arrays:
    """Returns the outputs of one request; RuntimeError or ValueError for the model `failing`."""
    if kind == "mlp":
        y = inputs["x"]
        for number, (matrix, bias) in enumerate(weights, start=1):
            y = y @ matrix + bias
            y = np.maximum(y, np.float32(0)) if number < len(weights) else y
        return {"y": y}
    if kind == "integers":
        return {f"o_{name}": value for name, value in inputs.items()}
    if kind == "head":
        return {"y": inputs["x"][:1]}
    if kind == "slow":
        time.sleep(float(inputs["x"].max(initial=0.0)))
    if kind == "failing" and inputs["x"].max(initial=0.0) != 0:
        raise RuntimeError("this model fails for every value but 0")
    return {"y": inputs["x"]}


class TritonPythonModel:
    def initialize(self, args: dict[str, str]) -> None:
        parameters = json.loads(args["model_config"])["parameters"]
        self.kind = parameters["kind"]["string_value"]
        widths = json.loads(parameters["widths"]["string_value"])
        folder = Path(args["model_repository"]) / args["model_version"]
        self.weights = layers(folder / "weights.f32", widths) if widths else []

    def execute(self, requests: list[Any]) -> list[Any]:
        return [self.answer(request) for request in requests]

    def answer(self, request: Any) -> Any:
        import triton_python_backend_utils as triton  # the server's own module

        try:
            outputs = run(self.kind, {tensor.name(): tensor.as_numpy() for tensor in request.inputs()}, self.weights)
        except RuntimeError as error:
            return triton.InferenceResponse(output_tensors=[], error=triton.TritonError(str(error)))
        wanted = request.requested_output_names()
        return triton.InferenceResponse([triton.Tensor(name, value) for name, value in outputs.items() if name in wanted])
