# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Networks in weights.xml of TMVA by the rules of MethodMLP, MethodDNN and MethodDL, in float64: a second reader.

Raises KeyError, AttributeError or ValueError for what it has no rule for.
"""

import xml.etree.ElementTree as xml
from pathlib import Path

import numpy as np

FAST_TANH_SINCE = (4, 2, 1)


def answers(path: Path, rows: np.ndarray) -> np.ndarray:
    """What TMVA's Reader gives for rows of the variables: a column for each class, or one."""
    root = xml.parse(path).getroot()
    info = {one.get("name"): one.get("value") for one in root.findall("GeneralInfo/Info")}
    options = {one.get("name"): (one.text or "").strip() for one in root.findall("Options/Option")}
    method = root.get("Method").partition("::")[0]
    x = rows.astype(np.float32).astype(np.float64)  # the Reader's variables are Float_t
    for transform in root.findall("Transformations/Transform"):
        x = _normalised(transform, root, x)
    with np.errstate(over="ignore"):
        return _mlp(root, info, options, x) if method == "MLP" else _dnn(root, x)


def _normalised(transform: xml.Element, root: xml.Element, x: np.ndarray) -> np.ndarray:
    """To -1 … 1 by the ranges of the last class, which are those of all events."""
    if transform.get("Name") != "Normalize":
        raise ValueError(transform.get("Name"))
    last = transform.findall("Class")[-1]
    labels = [one.get("Label") for one in transform.findall("Selection/Input/Input")]
    ranges = last.findall("Ranges/Range") or last.findall("Variables/Variable")
    names = [one.get("Label") for one in root.findall("Variables/Variable")]
    chosen = [names.index(label) for label in labels] if labels else range(len(names))
    x = x.copy()
    for column, ends in zip(chosen, ranges):
        low, high = (float(np.float32(float(ends.get(name)))) for name in ("Min", "Max"))
        x[:, column] = 2 * (x[:, column] - low) / (high - low) - 1
    return x


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _fast_tanh(x: np.ndarray) -> np.ndarray:
    above = x * (135135 + x**2 * (17325 + x**2 * (378 + x**2)))
    below = 135135 + x**2 * (62370 + x**2 * (3150 + x**2 * 28))
    return np.where(np.abs(x) > 4.97, np.sign(x), above / below)


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def _mlp(root: xml.Element, info: dict, options: dict, x: np.ndarray) -> np.ndarray:
    release = tuple(int(word) for word in info["TMVA Release"].split()[0].split("."))
    tanh = _fast_tanh if release >= FAST_TANH_SINCE else np.tanh
    functions = {"sigmoid": _sigmoid, "tanh": tanh, "linear": lambda v: v, "ReLU": lambda v: np.maximum(v, 0)}
    hidden = functions[options.get("NeuronType", "sigmoid")]
    if options.get("NeuronInputType", "sum") != "sum":
        raise ValueError(options["NeuronInputType"])
    layers = root.find("Weights/Layout").findall("Layer")
    for i, layer in enumerate(layers[:-1]):
        synapses = np.array([[float(word) for word in neuron.text.split()] for neuron in layer])
        x = np.hstack([x, np.ones((len(x), 1))]) @ synapses
        if i < len(layers) - 2:
            x = hidden(x)
    if info.get("AnalysisType") == "Multiclass":
        return _softmax(x)
    return _sigmoid(x) if options.get("EstimatorType", "MSE") == "CE" else x


def _dnn(root: xml.Element, x: np.ndarray) -> np.ndarray:
    functions = [
        lambda v: v, lambda v: np.maximum(v, 0), _sigmoid, np.tanh, np.abs, lambda v: v / (1 + np.abs(v)),
        lambda v: np.exp(-v * v), np.tanh,
    ]  # fmt: skip
    weights = root.find("Weights")
    for layer in weights:
        matrix, bias = (np.array([float(word) for word in layer.find(name).text.split()]) for name in ("Weights", "Biases"))
        x = functions[int(layer.get("ActivationFunction"))](x @ matrix.reshape(len(bias), -1).T + bias)
    return {"I": lambda v: v, "S": _sigmoid, "M": _softmax}[weights.get("OutputFunction")](x)
