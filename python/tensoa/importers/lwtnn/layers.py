# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Layers of LWTNN. Those on vectors take [n, features]; those on sequences take [n, steps, features] and give the same.

Weights are matrices [outputs, inputs] in lists, row after row.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tensoa.errors import InputError

FUNCTIONS: dict[str, Callable[[torch.Tensor, float], torch.Tensor]] = {
    "linear": lambda x, alpha: x,
    "sigmoid": lambda x, alpha: torch.sigmoid(x),
    "rectified": lambda x, alpha: torch.relu(x),
    "softmax": lambda x, alpha: torch.softmax(x, -1),
    "tanh": lambda x, alpha: torch.tanh(x),
    "hard_sigmoid": lambda x, alpha: torch.clamp(x * 0.2 + 0.5, 0, 1),
    "elu": lambda x, alpha: functional.elu(x, alpha),
    "leakyrelu": lambda x, alpha: functional.leaky_relu(x, alpha),
    "swish": lambda x, alpha: x * torch.sigmoid(x * alpha),
    "abs": lambda x, alpha: x.abs(),
}
WITH_ALPHA = ("elu", "leakyrelu", "swish")


def member(entry: Any, name: str, kind: type | tuple[type, ...]) -> Any:
    """A member of a JSON object. Raises InputError."""
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        names = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        raise InputError(f"{name}: got {'nothing' if value is None else type(value).__name__}, expected {names}")
    return value


def numbers(entry: Any, name: str) -> torch.Tensor:
    """A list of finite numbers, which may be missing."""
    values = member(entry, name, list) if isinstance(entry, dict) and name in entry else []
    if not all(isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) for value in values):
        raise InputError(f"{name}: expected finite numbers")
    return torch.tensor(values, dtype=torch.float32)


def _matrix(entry: Any, name: str, inputs: int) -> torch.Tensor:
    flat = numbers(entry, name)
    if inputs < 1 or len(flat) % inputs or not len(flat):
        raise InputError(f"{name}: got {len(flat)} numbers, expected rows of {inputs}")
    return flat.reshape(-1, inputs)


def _bias(entry: Any, size: int) -> torch.Tensor:
    flat = numbers(entry, "bias")
    if len(flat) != size:
        raise InputError(f"bias: got {len(flat)} numbers, expected {size}")
    return flat


class Activation(nn.Module):
    """A function by its name, or {"function", "alpha"}."""

    def __init__(self, given: Any) -> None:
        super().__init__()
        self.alpha = 1.0  # of elu, where only its name is given
        if isinstance(given, dict):
            self.name, self.alpha = member(given, "function", str), float(member(given, "alpha", (int, float)))
        else:
            self.name = given
            if given in WITH_ALPHA and given != "elu":
                raise InputError(f"activation {given}: its alpha is missing")
        if self.name not in FUNCTIONS:
            raise InputError(f"activation {self.name}: expected one of {', '.join(FUNCTIONS)}")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return FUNCTIONS[self.name](x, self.alpha)


class Dense(nn.Module):
    """With weights, a bias and an activation, each of which may be missing."""

    def __init__(self, entry: dict, inputs: int) -> None:
        super().__init__()
        has_weight = bool(len(numbers(entry, "weights")))
        self.register_buffer("weight", _matrix(entry, "weights", inputs) if has_weight else None)
        self.outputs = self.weight.shape[0] if has_weight else inputs
        self.register_buffer("bias", _bias(entry, self.outputs) if len(numbers(entry, "bias")) else None)
        self.activation = Activation(entry.get("activation", "linear"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.weight is not None:
            x = functional.linear(x, self.weight, self.bias)
        elif self.bias is not None:
            x = x + self.bias
        return self.activation(x)


class Normalization(nn.Module):
    """(x + bias) * weights, number by number."""

    def __init__(self, entry: dict, inputs: int) -> None:
        super().__init__()
        self.register_buffer("bias", _bias(entry, inputs))
        self.register_buffer("weight", _matrix(entry, "weights", inputs).reshape(-1))
        if len(self.weight) != inputs:
            raise InputError(f"weights: got {len(self.weight)} numbers, expected {inputs}")
        self.outputs = inputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + self.bias) * self.weight


class Maxout(nn.Module):
    """The largest of several linear layers."""

    def __init__(self, entry: dict, inputs: int) -> None:
        super().__init__()
        layers = [Dense({**layer, "activation": "linear"}, inputs) for layer in member(entry, "sublayers", list)]
        if len({layer.outputs for layer in layers}) != 1:
            raise InputError(f"sublayers: got outputs {[layer.outputs for layer in layers]}, expected equal ones")
        self.layers, self.outputs = nn.ModuleList(layers), layers[0].outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, *others = (layer(x) for layer in self.layers)
        for other in others:
            first = torch.maximum(first, other)
        return first


class _Component(nn.Module):
    """W x + b, and U h of a recurrent layer."""

    def __init__(self, entry: dict, inputs: int, is_recurrent: bool) -> None:
        super().__init__()
        self.register_buffer("weight", _matrix(entry, "weights", inputs))
        self.outputs = self.weight.shape[0]
        self.register_buffer("bias", _bias(entry, self.outputs))
        self.register_buffer("state", _matrix(entry, "U", self.outputs) if is_recurrent else None)
        if is_recurrent and self.state.shape[0] != self.outputs:
            raise InputError(f"U: got {self.state.shape[0]} rows, expected {self.outputs}")

    def forward(self, x: torch.Tensor, h: torch.Tensor | None = None) -> torch.Tensor:
        result = functional.linear(x, self.weight, self.bias)
        return result if h is None else result + functional.linear(h, self.state)


def _components(entry: dict, inputs: int, names: str, is_recurrent: bool = True) -> nn.ModuleDict:
    found = member(entry, "components", dict)
    if sorted(found) != sorted(names.split()):
        raise InputError(f"components: got {', '.join(sorted(found))}, expected {', '.join(names.split())}")
    made = {}
    for name in names.split():
        try:
            made[f"{name}_"] = _Component(found[name], inputs, is_recurrent)
        except InputError as error:
            raise InputError(f"component {name}: {error}") from error
    if len({component.outputs for component in made.values()}) != 1:
        raise InputError("components: their numbers of outputs differ")
    return nn.ModuleDict(made)


class Highway(nn.Module):
    def __init__(self, entry: dict, inputs: int) -> None:
        super().__init__()
        self.parts = _components(entry, inputs, "t carry", is_recurrent=False)
        self.outputs = self.parts["t_"].outputs
        if self.outputs != inputs:
            raise InputError(f"components: got {self.outputs} outputs, expected {inputs}")
        self.activation = Activation(entry.get("activation"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        carry = torch.sigmoid(self.parts["carry_"](x))
        return carry * self.activation(self.parts["t_"](x)) + (1 - carry) * x


# ---- of sequences


class _Recurrent(nn.Module):
    NAMES = "h"
    HAS_INNER = True

    def __init__(self, entry: dict, inputs: int) -> None:
        super().__init__()
        self.parts = _components(entry, inputs, self.NAMES)
        self.outputs = next(iter(self.parts.values())).outputs
        self.activation = Activation(entry.get("activation"))
        self.inner = Activation(entry.get("inner_activation")) if self.HAS_INNER else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = x.new_zeros((x.shape[0], self.outputs))
        cell, steps = h, []
        for step in x.unbind(1):
            h, cell = self.step(step, h, cell)
            steps.append(h.unsqueeze(1))
        return torch.cat(steps, 1)

    def step(self, x: torch.Tensor, h: torch.Tensor, cell: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        raise NotImplementedError


class Lstm(_Recurrent):
    NAMES = "i f o c"

    def step(self, x: torch.Tensor, h: torch.Tensor, cell: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        enter, forget, leave = (self.inner(self.parts[f"{name}_"](x, h)) for name in "ifo")
        cell = forget * cell + enter * self.activation(self.parts["c_"](x, h))
        return leave * self.activation(cell), cell


class Gru(_Recurrent):
    NAMES = "z r h"

    def step(self, x: torch.Tensor, h: torch.Tensor, cell: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        update, reset = (self.inner(self.parts[f"{name}_"](x, h)) for name in "zr")
        candidate = self.activation(self.parts["h_"](x, reset * h))
        return update * h + (1 - update) * candidate, cell


class SimpleRnn(_Recurrent):
    HAS_INNER = False

    def step(self, x: torch.Tensor, h: torch.Tensor, cell: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.activation(self.parts["h_"](x, h)), cell


class Embedding(nn.Module):
    """In the place of a category, numbers of a table. Not a number where LWTNN throws: for what is not a category."""

    def __init__(self, entry: dict, inputs: int) -> None:
        super().__init__()
        self.places: list[int] = []
        for i, part in enumerate(member(entry, "sublayers", list)):
            size, place = member(part, "n_out", int), member(part, "index", int)
            flat = numbers(part, "weights")
            if size < 1 or not len(flat) or len(flat) % size or not 0 <= place < inputs:
                raise InputError(f"sublayers: got {len(flat)} weights of {size} outputs at index {place} of {inputs} inputs")
            self.register_buffer(f"table_{i}", flat.reshape(size, -1).t().contiguous())
            self.places.append(place)
            inputs += size - 1
        self.outputs = inputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i, place in enumerate(self.places):
            table = getattr(self, f"table_{i}")
            number = x[..., place]
            category = torch.clamp(torch.floor(number), 0, len(table) - 1)
            rows = functional.embedding(category.nan_to_num().long(), table)
            rows = torch.where((category == number).unsqueeze(-1), rows, torch.nan)
            x = torch.cat([x[..., :place], rows, x[..., place + 1 :]], -1)
        return x


VECTORS = {"dense": Dense, "normalization": Normalization, "maxout": Maxout, "highway": Highway}
SEQUENCES = {"lstm": Lstm, "gru": Gru, "simplernn": SimpleRnn, "embedding": Embedding}


def checked_kind(entry: Any, number: int, kinds: dict[str, Any]) -> Any:
    """The class of a layer, one of `kinds`. Raises InputError with its number."""
    architecture = entry.get("architecture") if isinstance(entry, dict) else None
    if architecture not in kinds:
        raise InputError(f"layer {number} ({architecture}): expected {', '.join(kinds)}")
    return kinds[architecture]
