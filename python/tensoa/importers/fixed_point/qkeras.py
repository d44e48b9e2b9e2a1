# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Networks of QKeras in .h5 and .keras: dense layers and activations on fixed-point numbers, without QKeras or TensorFlow.

Quantizers round to the nearest step, halves to the even one, and saturate. A first layer that takes floats sums in float64;
a softmax, sigmoid or tanh at the end is one of floats.
"""

import ast
import io
import math
import re
import zipfile
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from torch import nn

from tensoa.errors import InputError, first_line
from tensoa.importers.fixed_point.layers import Dense, FixedPoint, FloatDense, Relu
from tensoa.importers.fixed_point.number import Cast, Fixed, Layer, Range
from tensoa.importers.keras import config
from tensoa.importers.outputs import Asked, one_of

READ = "InputLayer, QDense, QActivation, Activation (relu, linear; softmax, sigmoid, tanh at the end), Dropout"
LAST: dict[str, Callable[[], nn.Module]] = {"softmax": lambda: nn.Softmax(-1), "sigmoid": nn.Sigmoid, "tanh": nn.Tanh}


def takes(description: dict) -> bool:
    """Whether a configuration of Keras has layers of QKeras."""
    return any(entry["class_name"] in ("QDense", "QActivation") for _, entry in config.objects(description))


def import_qkeras(path: str, description: dict, asked: Asked | None = None) -> FixedPoint:
    """The network of a configuration, up to the layer that is requested, with its weights in the file. Raises InputError."""
    import h5py  # config.read has looked for it

    layers = description["config"]["layers"]
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive, h5py.File(io.BytesIO(archive.read("model.weights.h5")), "r") as file:
                return _asked(asked, layers, [file["layers"].get(name) for name in _stored_names(layers)])
        with h5py.File(path, "r") as file:
            return _asked(asked, layers, [file["model_weights"].get(layer["config"]["name"]) for layer in layers])
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except KeyError as error:
        raise InputError(f"{path}: has no {error}, expected what model.save of QKeras writes") from error
    except OSError as error:
        raise InputError(f"{path}: its weights cannot be read ({first_line(error)}), {config.EXPECTED}") from error


def _asked(asked: Asked | None, layers: list[dict], weights: list[Any]) -> FixedPoint:
    names = [layer["config"]["name"] for layer in layers]
    last, notes = one_of(asked, names)
    end = names.index(last) + 1
    network = _network(layers[:end], weights[:end])
    network.result_names, network.notes = [last], notes
    return network


def _stored_names(layers: list[dict]) -> list[str]:
    """Of the weights of each layer in a .keras: q_dense, q_dense_1, …"""
    counts: Counter[str] = Counter()
    names = []
    for layer in layers:
        name = re.sub("([a-z])([A-Z])", r"\1_\2", re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", layer["class_name"])).lower()
        names.append(f"{name}_{counts[name]}" if counts[name] else name)
        counts[name] += 1
    return names


def _network(layers: list[dict], weights: list[Any]) -> FixedPoint:
    made: list[tuple[str, Layer]] = []
    given: Range | None = None
    last: nn.Module | None = None
    before = ""
    for layer, stored in zip(layers, weights):
        kind, options = layer["class_name"], layer["config"]
        name = options["name"]
        try:
            _check_chain(layer, before)
            if last is not None:
                raise InputError("follows a function of floats, expected it to be the last layer")
            function = options.get("activation")
            if kind == "Activation" and isinstance(function, str) and function in LAST:
                last = LAST[function]()
                continue
            for one in _layers(kind, options, stored, given):
                made.append((name, one))
                given = one.range
        except InputError as error:
            raise InputError(f'layer "{name}" ({kind}): {error}') from error
        before = name
    if not made:
        raise InputError(f"has no layers, expected {READ}")
    return FixedPoint(made, last)


def _check_chain(layer: dict, before: str) -> None:
    """Of functional models, whose layers say what they take."""
    nodes = layer.get("inbound_nodes") or []
    sources = [entry[0] for node in nodes if isinstance(node, list) for entry in node if isinstance(entry, list)]
    if len(nodes) > 1 or any(source != before for source in sources):
        raise InputError(f"takes {', '.join(map(str, sources))}; expected layers one after another, each with what is before")


def _layers(kind: str, options: dict, weights: Any, given: Range | None) -> list[Layer]:
    if kind in ("InputLayer", "Dropout"):
        return []
    if kind not in ("QDense", "QActivation", "Activation"):
        raise InputError(f"expected {READ}")
    if kind == "QActivation" or kind == "Activation":
        return _activation(options.get("activation"), given)
    kernel_type = _bits(_quantizer(options.get("kernel_quantizer"), "kernel_quantizer"))
    kernel = np.array(_stored(weights, "kernel"), np.float64).T
    bias, bias_type = np.zeros(len(kernel)), kernel_type
    if options.get("use_bias", True):
        bias_type = _bits(_quantizer(options.get("bias_quantizer"), "bias_quantizer"))
        bias = np.array(_stored(weights, "bias"), np.float64)
    if not np.isfinite(kernel).all() or not np.isfinite(bias).all():
        raise InputError("its weights are not finite")
    types = (kernel_type, bias_type)
    dense = FloatDense(kernel, bias, types) if given is None else Dense(given, kernel, bias, types, None)
    return [dense, *_activation(options.get("activation"), dense.range)]


def _stored(weights: Any, name: str) -> Any:
    """An array of a layer; in a .keras they have numbers, the kernel is the first."""
    names = {name, "0" if name == "kernel" else "1"}
    found: list[Any] = []
    if weights is not None:
        weights.visititems(lambda path, item: found.append(item) if path.split("/")[-1].split(":")[0] in names else None)
    if len(found) != 1:
        raise InputError(f"has {len(found)} weights called {name}, expected one")
    return found[0][()]


def _activation(entry: Any, given: Range | None) -> list[Layer]:
    if entry in (None, "linear", "relu"):
        if given is None and entry == "relu":
            raise InputError("takes floats, expected fixed-point numbers: put QActivation(quantized_bits(…)) before it")
        return [Relu(given)] if entry == "relu" and given is not None else []
    name, options = _quantizer(entry, "activation")
    return [Cast(given, _relu(options) if name == "quantized_relu" else _bits((name, options)))]


#: The parameters of QKeras' classes, in order, with their defaults.
BITS = {"bits": 8, "integer": 0, "symmetric": 0, "keep_negative": True, "alpha": None, "use_stochastic_rounding": False}
RELU = {
    "bits": 8, "integer": 0, "use_sigmoid": 0, "negative_slope": 0.0, "use_stochastic_rounding": False,
    "relu_upper_bound": None, "is_quantized_clip": True,
}  # fmt: skip
KNOWN: dict[str, dict[str, Any]] = {"quantized_bits": BITS, "quantized_relu": RELU}


def _quantizer(entry: Any, what: str) -> tuple[str, dict]:
    """(its class, all its parameters), of a configuration or of a text like quantized_relu(6, 2)."""
    given: dict[str, Any] = {}
    if isinstance(entry, dict):
        name, given = str(entry.get("class_name")), dict(entry.get("config", {}))
    elif isinstance(entry, str):
        name, given = _called(entry, what)
    else:
        raise InputError(f"its {what} is missing, expected one of {', '.join(KNOWN)}")
    if name not in KNOWN:
        raise InputError(f"its {what} is {name}, expected one of {', '.join(KNOWN)}")
    return name, {**KNOWN[name], **given}


def _called(text: str, what: str) -> tuple[str, dict]:
    try:
        call = ast.parse(text, mode="eval").body
        if isinstance(call, ast.Name):
            return call.id, {}
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError(text)
        values = [ast.literal_eval(value) for value in call.args]
        names = [*KNOWN.get(call.func.id, {})]
        return call.func.id, {
            **dict(zip(names, values)),
            **{str(word.arg): ast.literal_eval(word.value) for word in call.keywords},
        }
    except (SyntaxError, ValueError) as error:
        raise InputError(f"its {what} is {text[:60]}, expected one of {', '.join(KNOWN)}") from error


def _bits(quantizer: tuple[str, dict]) -> Fixed:
    name, options = quantizer
    if name != "quantized_bits":
        raise InputError(f"is quantized by {name}, expected quantized_bits")
    alpha = options["alpha"] if options["alpha"] is not None else 1.0
    if isinstance(alpha, str) or not isinstance(alpha, (int, float)) or alpha <= 0 or math.frexp(alpha)[0] != 0.5:
        raise InputError(f"its quantized_bits has alpha={alpha}, expected a power of two: train it with alpha=1")
    _check_noise(options)
    signed = bool(options["keep_negative"])
    if options["bits"] - signed < 1:
        raise InputError("its quantized_bits has 1 bit (a binary network), expected 2 at least")
    integer = int(options["integer"]) + signed + math.frexp(alpha)[1] - 1
    return Fixed(int(options["bits"]), integer, signed, "RND_CONV", "SAT_SYM" if options["symmetric"] else "SAT")


def _relu(options: dict) -> Fixed:
    for name in ("use_sigmoid", "negative_slope"):
        if options[name]:
            raise InputError(f"its quantized_relu has {name}={options[name]}, expected none")
    if options["relu_upper_bound"] and not options["is_quantized_clip"]:
        raise InputError(f"its quantized_relu has relu_upper_bound={options['relu_upper_bound']}, expected none")
    _check_noise(options)
    return Fixed(int(options["bits"]), int(options["integer"]), False, "RND_CONV", "SAT")


def _check_noise(options: dict) -> None:
    if options.get("qnoise_factor", 1.0) != 1.0:
        raise InputError(f"its quantizer has qnoise_factor={options['qnoise_factor']}, expected 1")
