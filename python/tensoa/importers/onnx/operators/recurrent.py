# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers, step by step: the number of steps is a constant of the model."""

import functools
from collections.abc import Callable, Sequence

import torch

from tensoa.importers.onnx.operators.table import Results, operator
from tensoa.importers.onnx.values import Call, Refused

Activation = Callable[[torch.Tensor], torch.Tensor]
ACTIVATIONS: dict[str, Callable[..., torch.Tensor]] = {  # of x, a and b
    "Relu": lambda x, a, b: torch.relu(x),
    "Tanh": lambda x, a, b: torch.tanh(x),
    "Sigmoid": lambda x, a, b: torch.sigmoid(x),
    "Affine": lambda x, a, b: x * a + b,
    "LeakyRelu": lambda x, a, b: torch.nn.functional.leaky_relu(x, a),
    "ScaledTanh": lambda x, a, b: a * torch.tanh(b * x),
    "HardSigmoid": lambda x, a, b: torch.clamp(x * a + b, 0, 1),
    "Elu": lambda x, a, b: torch.nn.functional.elu(x, a),
    "Softsign": lambda x, a, b: x / (1 + x.abs()),
    "Softplus": lambda x, a, b: torch.nn.functional.softplus(x, threshold=40),
}
#: (alpha, beta) where they are not given.
FACTORS = {
    "LeakyRelu": (0.01, 0.0),
    "HardSigmoid": (0.2, 0.5),
    "Elu": (1.0, 0.0),
    "Affine": (1.0, 0.0),
    "ScaledTanh": (1.0, 1.0),
}


class _Layer:
    """One direction of a node. Weights are [gates * hidden, …]. Only a layer with a cell has one, and gives the next."""

    ACTIVATIONS: list[str]
    HAS_CELL = False

    def __init__(self, call: Call, direction: int, activations: list[Activation]) -> None:
        self.hidden = call.attribute("hidden_size")
        self.weight, self.recurrence = call.tensor(1)[direction], call.tensor(2)[direction]
        bias = call.optional(3)
        half = self.weight.shape[0]
        self.bias = None if bias is None else bias[direction][:half]
        self.recurrent_bias = None if bias is None else bias[direction][half:]
        self.activations = activations
        self.clip = call.attribute("clip")

    def activate(self, i: int, x: torch.Tensor) -> torch.Tensor:
        x = x if self.clip is None else torch.clamp(x, -self.clip, self.clip)
        return self.activations[i](x)

    def inputs(self, x: torch.Tensor) -> Sequence[torch.Tensor]:
        return torch.nn.functional.linear(x, self.weight, self.bias).split(self.hidden, -1)

    def states(self, h: torch.Tensor) -> Sequence[torch.Tensor]:
        return torch.nn.functional.linear(h, self.recurrence, self.recurrent_bias).split(self.hidden, -1)

    def step(self, x: torch.Tensor, h: torch.Tensor, cell: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(h, cell) after it; `cell` as it was, for an operator without a cell."""
        raise NotImplementedError


class _Plain(_Layer):
    ACTIVATIONS = ["Tanh"]

    def step(self, x: torch.Tensor, h: torch.Tensor, cell: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.activate(0, self.inputs(x)[0] + self.states(h)[0]), cell


class _Gru(_Layer):
    ACTIVATIONS = ["Sigmoid", "Tanh"]

    def __init__(self, call: Call, direction: int, activations: list[Activation]) -> None:
        super().__init__(call, direction, activations)
        self.is_linear_first = call.attribute("linear_before_reset", 0)

    def step(self, x: torch.Tensor, h: torch.Tensor, cell: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        of_x, of_h = self.inputs(x), self.states(h)
        update, reset = (self.activate(0, of_x[i] + of_h[i]) for i in (0, 1))
        if self.is_linear_first:
            candidate = reset * of_h[2]
        else:
            last = slice(2 * self.hidden, None)
            bias = None if self.recurrent_bias is None else self.recurrent_bias[last]
            candidate = torch.nn.functional.linear(reset * h, self.recurrence[last], bias)
        return (1 - update) * self.activate(1, of_x[2] + candidate) + update * h, cell


class _Lstm(_Layer):
    ACTIVATIONS = ["Sigmoid", "Tanh", "Tanh"]
    HAS_CELL = True

    def __init__(self, call: Call, direction: int, activations: list[Activation]) -> None:
        super().__init__(call, direction, activations)
        peepholes = call.optional(7)
        self.peepholes = None if peepholes is None else peepholes[direction].split(self.hidden)
        self.is_coupled = call.attribute("input_forget", 0)

    def step(self, x: torch.Tensor, h: torch.Tensor, cell: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        enter, leave, forget, candidate = (a + b for a, b in zip(self.inputs(x), self.states(h)))
        if self.peepholes is not None:
            enter, forget = enter + self.peepholes[0] * cell, forget + self.peepholes[2] * cell
        enter = self.activate(0, enter)
        forget = 1 - enter if self.is_coupled else self.activate(0, forget)
        cell = forget * cell + enter * self.activate(1, candidate)
        leave = leave if self.peepholes is None else leave + self.peepholes[1] * cell
        return self.activate(0, leave) * self.activations[2](cell), cell


LAYERS: dict[str, type[_Layer]] = {"RNN": _Plain, "GRU": _Gru, "LSTM": _Lstm}


def _activations(call: Call, names: list[str], directions: int) -> list[list[Activation]]:
    """The functions of each direction."""
    given = call.attribute("activations") or names * directions
    alphas, betas = list(call.attribute("activation_alpha") or []), list(call.attribute("activation_beta") or [])
    if len(given) != len(names) * directions:
        raise Refused(f"{len(given)} activations, expected {len(names) * directions}")
    found: list[Activation] = []
    for name in given:
        known = {one.lower(): one for one in ACTIVATIONS}.get(name.lower())
        if known is None:
            raise Refused(f"the activation {name}; expected one of {', '.join(ACTIVATIONS)}")
        alpha, beta = FACTORS.get(known, (0.0, 0.0))
        alpha = alphas.pop(0) if alphas and known in FACTORS else alpha
        beta = betas.pop(0) if betas and known in ("HardSigmoid", "Affine", "ScaledTanh") else beta
        found.append(functools.partial(ACTIVATIONS[known], a=alpha, b=beta))
    return [found[i * len(names) : (i + 1) * len(names)] for i in range(directions)]


@operator(*LAYERS)
def _recurrent(call: Call) -> Results:
    kind = LAYERS[call.node.operator]
    direction = call.attribute("direction", "forward")
    reverse = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(direction)
    if reverse is None:
        raise Refused(f"the direction {direction}")
    is_batch_first = call.attribute("layout", 0)
    x = call.tensor(0).transpose(0, 1) if is_batch_first else call.tensor(0)
    if not isinstance(x.shape[0], int):
        raise Refused("a free number of steps; expected a constant one")
    lengths = call.optional(4)
    functions = _activations(call, kind.ACTIVATIONS, len(reverse))
    layers = [kind(call, i, functions[i]) for i in range(len(reverse))]
    all_states, last_states, last_cells = [], [], []
    for i, layer in enumerate(layers):
        h, cell = (_initial(call, at, i, x, layer.hidden, is_batch_first) for at in (5, 6))
        states = [h] * x.shape[0]
        for t in reversed(range(x.shape[0])) if reverse[i] else range(x.shape[0]):
            new, new_cell = layer.step(x[t], h, cell)
            if lengths is None:
                h, cell, states[t] = new, new_cell, new
                continue
            is_there = (t < lengths)[:, None]
            states[t] = torch.where(is_there, new, torch.zeros_like(new))
            h = torch.where(is_there, new, h)
            cell = torch.where(is_there, new_cell, cell) if kind.HAS_CELL else cell
        all_states.append(_stacked(states, 0))
        last_states.append(h)
        last_cells.append(cell)
    y, h = _stacked(all_states, 1), _stacked(last_states, 0)
    results = [y, h] + ([_stacked(last_cells, 0)] if kind.HAS_CELL else [])
    if is_batch_first:
        results = [y.permute(2, 0, 1, 3), *(one.transpose(0, 1) for one in results[1:])]
    return results


def _stacked(tensors: Sequence[torch.Tensor], axis: int) -> torch.Tensor:
    """As torch.stack, which joins rows with rows on the way where rows are the first axis."""
    return torch.cat([tensor.unsqueeze(axis) for tensor in tensors], axis)


def _initial(call: Call, at: int, direction: int, x: torch.Tensor, hidden: int, is_batch_first: int) -> torch.Tensor:
    given = call.optional(at)
    if given is None:
        return torch.zeros((x.shape[1], hidden), dtype=x.dtype, device=x.device)
    return given[:, direction] if is_batch_first else given[direction]
