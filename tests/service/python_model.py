# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of the test models, and the class that Triton's Python back-end runs; it is model.py of each model."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, Any]

EPSILON = np.float32(1e-5)  # of the normalisation, as torch has it


def layers(numbers: bytes, kind: str, widths: list[int]) -> list[tuple[Any, ...]]:
    """Returns matrix [in, out] and bias of each layer, and mean, variance, scale and shift where it is normalised."""
    left = np.frombuffer(numbers, dtype="<f4")
    found: list[tuple[Any, ...]] = []
    for columns, rows in zip(widths[:-1], widths[1:], strict=True):
        is_normalised = kind == "energy" and len(found) < len(widths) - 2
        matrix, *vectors, left = np.split(left, np.cumsum([columns * rows, *[rows] * (5 if is_normalised else 1)]))
        found.append((matrix.reshape(columns, rows), *vectors))
    return found


def network(x: Any, weights: list[tuple[Any, ...]]) -> Any:
    """Returns what the layers make of x: matrix, bias, normalisation where there is one, ReLU where another layer follows."""
    y = x
    for number, (matrix, bias, *normalisation) in enumerate(weights, start=1):
        y = y @ matrix + bias
        if normalisation:
            mean, variance, scale, shift = normalisation
            y = (y - mean) / np.sqrt(variance + EPSILON) * scale + shift
        y = np.maximum(y, np.float32(0)) if number < len(weights) else y
    return y


def run(kind: str, inputs: Arrays, weights: list[tuple[Any, ...]]) -> Arrays:
    """Returns the outputs of one request; RuntimeError or ValueError for the model `failing`."""
    if kind in ("mlp", "energy"):
        return {"y": network(inputs["x"], weights)}
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
        self.weights = layers((folder / "weights.f32").read_bytes(), self.kind, widths) if widths else []

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
