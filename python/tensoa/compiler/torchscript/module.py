# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A TorchScript model as a module of Python."""

import copy
from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import nn

from tensoa.compiler.torchscript.graph import Compiler, Frame, run_steps
from tensoa.compiler.torchscript.values import Value


class _Code:
    """The steps of a graph; copies of a module share them."""

    tensors: Any  # the tensor for each slot, and the slots alone once a module has them as buffers

    def __init__(self, script: torch.jit.ScriptModule) -> None:
        compiler = Compiler(script)
        self.size = len(compiler.slots)
        self.initial, self.tensors = compiler.initial, compiler.tensors
        self.paths = compiler.paths
        self.inputs, self.steps, self.outputs = compiler.inputs, compiler.steps, compiler.outputs
        forward: Any = script.forward
        self.arguments: list[torch._C.Argument] = forward.schema.arguments[1:]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def _are_tensors(value: Value) -> bool:
    """Whether it is a list of tensors, as the weights of an LSTM are."""
    return isinstance(value, list) and bool(value) and all(isinstance(one, torch.Tensor) for one in value)


class Interpreted(nn.Module):
    """A TorchScript model that is run from Python. Raises InputError for what cannot be."""

    def __init__(self, script: torch.jit.ScriptModule) -> None:
        super().__init__()
        self.code = _Code(script)
        registered: dict[int, str] = {}

        def name_of(tensor: torch.Tensor) -> str:
            if id(tensor) not in registered:
                registered[id(tensor)] = f"tensor_{len(registered)}"
                self.register_buffer(registered[id(tensor)], tensor.detach())
            return registered[id(tensor)]

        self.names = {slot: name_of(tensor) for slot, tensor in self.code.tensors.items()}  # of the buffer for each slot
        self.lists = {slot: [name_of(one) for one in value] for slot, value in self.code.initial.items() if _are_tensors(value)}
        self.buffer_names = {path: self.names[slot] for path, slot in self.code.paths.items()}
        self.code.tensors = list(self.code.tensors)

    @property
    def argument_names(self) -> list[str]:
        return [argument.name for argument in self.code.arguments]

    def forward(self, *arguments: Value, **named: Value) -> Value:
        frame = Frame([None] * self.code.size)
        for slot, value in self.code.initial.items():
            frame[slot] = copy.copy(value) if isinstance(value, (list, dict)) else value
        for slot, name in self.names.items():
            frame[slot] = getattr(self, name)
        for slot, names in self.lists.items():
            frame[slot] = [getattr(self, name) for name in names]
        for slot, value in zip(self.code.inputs, self.bound(arguments, named)):
            frame[slot] = value
            if isinstance(value, torch.Tensor) and frame.device is None:
                frame.device = value.device
        run_steps(frame, self.code.steps)
        results = tuple(frame[slot] for slot in self.code.outputs)
        return results[0] if len(results) == 1 else results

    def bound(self, arguments: Sequence[Value], named: dict[str, Value]) -> list[Value]:
        """A value for each argument of the model."""
        expected = self.code.arguments
        if len(arguments) > len(expected):
            raise TypeError(f"it takes {len(expected)} arguments, there are {len(arguments)}")
        named = dict(named)
        values = list(arguments)
        for argument in expected[len(arguments) :]:
            if argument.name in named:
                values.append(named.pop(argument.name))
            elif argument.has_default_value():
                values.append(argument.default_value)
            else:
                raise TypeError(f"its argument {argument.name} is missing")
        if named:
            raise TypeError(f"it has no argument {min(named)}")
        return values
