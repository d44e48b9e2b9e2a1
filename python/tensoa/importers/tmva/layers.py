# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Layers of TMVA's networks: matrices of weights out of the elements of each method, and functions."""

import xml.etree.ElementTree as xml
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tensoa.importers.tmva.setup import Setup

FAST_TANH_SINCE = 4 << 16 | 2 << 8 | 1  # 4.2.1, of MLP


def fast_tanh(x: torch.Tensor) -> torch.Tensor:
    """The quotient of polynomials that MLP takes for tanh; 1e-4 away from it at 4.97, where it jumps to 1."""
    square = x * x
    above = x * (135135.0 + square * (17325.0 + square * (378.0 + square)))
    below = 135135.0 + square * (62370.0 + square * (3150.0 + square * 28.0))
    return torch.where(x > 4.97, 1.0, torch.where(x < -4.97, -1.0, above / below))


Function = Callable[[torch.Tensor], torch.Tensor]
OF_MLP: dict[str, Function] = {
    "linear": lambda x: x,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "fast tanh": fast_tanh,
    "ReLU": torch.relu,
    "radial": lambda x: torch.exp(-x * x * 0.5),
}
#: By their number in the file.
OF_DNN: dict[str, Function] = {
    "0": lambda x: x,
    "1": torch.relu,
    "2": torch.sigmoid,
    "3": torch.tanh,
    "4": torch.abs,
    "5": lambda x: x / (1 + x.abs()),
    "6": lambda x: torch.exp(-x * x),
    "7": torch.tanh,
}
OUTPUTS: dict[str, Function] = {"I": lambda x: x, "S": torch.sigmoid, "M": lambda x: torch.softmax(x, -1)}


class Dense(nn.Module):
    """weight [outputs, inputs], bias [outputs], and a function before and after them."""

    weight: torch.Tensor
    bias: torch.Tensor

    def __init__(self, weight: np.ndarray, bias: np.ndarray, after: Function, before: Function = OF_MLP["linear"]) -> None:
        super().__init__()
        self.register_buffer("weight", torch.tensor(weight, dtype=torch.float32))
        self.register_buffer("bias", torch.tensor(bias, dtype=torch.float32))
        self.before, self.after = before, after

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.after(functional.linear(self.before(x), self.weight, self.bias))


class Network(NamedTuple):
    inputs: int
    outputs: int
    layers: nn.Sequential


def numbers(setup: Setup, text: str | None, what: str) -> np.ndarray:
    """Finite numbers, between blanks."""
    try:
        values = np.array([float(word) for word in (text or "").split()])
    except ValueError as error:
        setup.fail(f"{what}: {error}")
    if not np.isfinite(values).all():
        setup.fail(f"{what}: expected finite numbers")
    return values


def count(setup: Setup, element: xml.Element, name: str, what: str) -> int:
    text = element.get(name, "")
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        setup.fail(f"{what}: its {name} is {text or 'missing'}, expected a number")
    return int(text)


def of_mlp(setup: Setup, weights: xml.Element) -> Network:
    """Layers of neurons, each with its weights to those of the next layer; the last neuron of all but the last layer is 1."""
    layout = weights.find("Layout")
    found = (weights if layout is None else layout).findall("Layer")
    sizes = []
    for i, layer in enumerate(found):
        sizes.append(count(setup, layer, "NNeurons", f"layer {i}"))
        if layer.get("Index") != str(i) or len(layer.findall("Neuron")) != sizes[i]:
            got = f"{len(layer.findall('Neuron'))} neurons and the index {layer.get('Index')}"
            setup.fail(f"layer {i}: got {got}, expected {sizes[i]}")
    if len(found) < 2:
        setup.fail(f"it has {len(found)} layers, expected two at least")
    function = _function(setup)
    estimator, rule = setup.options.get("EstimatorType", "MSE"), setup.options.get("NeuronInputType", "sum")
    if estimator not in ("MSE", "CE"):
        setup.fail(f"its EstimatorType is {estimator}, expected MSE or CE")
    rules = {"sum": (lambda x: x), "sqsum": (lambda x: x * x), "abssum": abs}
    if rule not in rules:
        setup.fail(f"its NeuronInputType is {rule}, expected one of {', '.join(rules)}")
    made: list[nn.Module] = []
    for i, layer in enumerate(found[:-1]):
        is_last = i == len(found) - 2
        outputs = sizes[i + 1] - (not is_last)
        rows = []
        for j, neuron in enumerate(layer.findall("Neuron")):
            rows.append(numbers(setup, neuron.text, f"layer {i}, neuron {j}"))
            if len(rows[-1]) != outputs or neuron.get("NSynapses") != str(outputs):
                setup.fail(f"layer {i}, neuron {j}: got {len(rows[-1])} weights, expected {outputs}")
        matrix: np.ndarray = rules[rule](np.array(rows, np.float32).T)  # TMVA reads them as floats, too
        after = OF_MLP[function if not is_last else "sigmoid" if estimator == "CE" else "linear"]
        made.append(Dense(matrix[:, :-1], matrix[:, -1], after, rules[rule]))
    if setup.info.get("AnalysisType") == "Multiclass":
        made.append(nn.Softmax(-1))
    return Network(sizes[0] - 1, sizes[-1], nn.Sequential(*made))


def _function(setup: Setup) -> str:
    name = setup.options.get("NeuronType", "sigmoid")
    if name not in OF_MLP or name == "fast tanh":
        setup.fail(f"its NeuronType is {name}, expected one of {', '.join(one for one in OF_MLP if one != 'fast tanh')}")
    if name != "tanh":
        return name
    release = setup.info.get("TMVA Release", "")
    code = release.partition("[")[2].partition("]")[0]
    if not code.isdecimal():
        setup.fail(f'its TMVA Release is "{release}", expected one as 4.2.1 [262657], which says how it calculates tanh')
    return "tanh" if int(code) < FAST_TANH_SINCE else "fast tanh"


def of_dnn(setup: Setup, weights: xml.Element) -> Network:
    """Of DNN: Layer elements. Of DL: DenseLayer elements."""
    is_dl = setup.method == "DL"
    depth = count(setup, weights, "NetDepth" if is_dl else "Depth", "Weights")
    first = inputs = count(setup, weights, "InputWidth", "Weights")
    if is_dl and (weights.get("InputDepth", "1"), weights.get("InputHeight", "1")) != ("1", "1"):
        setup.fail(f"its input is {weights.get('InputDepth')} x {weights.get('InputHeight')} x {inputs}, expected 1 x 1 x n")
    layers = list(weights)
    if len(layers) != depth or not layers:
        setup.fail(f"it has {len(layers)} layers, its depth is {depth}")
    made = []
    for i, layer in enumerate(layers):
        if layer.tag != ("DenseLayer" if is_dl else "Layer"):
            setup.fail(f"layer {i}: it is a {layer.tag}, expected dense layers")
        function = layer.get("ActivationFunction", "")
        if function not in OF_DNN:
            setup.fail(f"layer {i}: its ActivationFunction is {function or 'missing'}, expected one of {', '.join(OF_DNN)}")
        weight, bias = (_matrix(setup, layer, name, f"layer {i}") for name in ("Weights", "Biases"))
        if weight.shape[1] != inputs or bias.shape != (len(weight), 1):
            shapes = f"weights {list(weight.shape)} and biases {list(bias.shape)}"
            setup.fail(f"layer {i}: got {shapes}, expected [n, {inputs}] and [n, 1]")
        made.append(Dense(weight, bias[:, 0], OF_DNN[function]))
        inputs = len(weight)
    output = weights.get("OutputFunction", "")
    if output not in OUTPUTS:
        setup.fail(f"its OutputFunction is {output or 'missing'}, expected one of {', '.join(OUTPUTS)}")
    made[-1].after = _both(made[-1].after, OUTPUTS[output])
    return Network(first, inputs, nn.Sequential(*made))


def _both(first: Function, second: Function) -> Function:
    return lambda x: second(first(x))


def _matrix(setup: Setup, layer: xml.Element, name: str, what: str) -> np.ndarray:
    element = layer.find(name)
    if element is None:
        setup.fail(f"{what}: its {name} are missing")
    names = ("Rows", "Columns") if "Rows" in element.attrib else ("rows", "cols")
    rows, columns = (count(setup, element, one, f"{what}, {name}") for one in names)
    flat = numbers(setup, element.text, f"{what}, {name}")
    if len(flat) != rows * columns or not len(flat):
        setup.fail(f"{what}, {name}: got {len(flat)} numbers, expected {rows} x {columns}")
    return flat.reshape(rows, columns)
