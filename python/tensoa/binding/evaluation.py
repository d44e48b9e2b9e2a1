# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A user's module while it is compiled."""

import contextlib
from collections.abc import Iterator

import torch
from torch import nn
from torch.nn.parameter import is_lazy


@contextlib.contextmanager
def evaluated(module: nn.Module) -> Iterator[None]:
    """Sets the module to evaluation, on the CPU, without gradients of its parameters, while the block runs.

    Afterwards it is as it was: the mode of each part, requires_grad, gradients, the memory of weights, the numbers of buffers,
    and tensors in attributes, which torch.export replaces by fake ones where forward assigns them. The module is not a copy:
    functions that a user put into it, as closures, would go on with the original.
    """
    before = [_Part(part) for part in module.modules()]
    weights = [_Weight(weight) for weight in module.parameters()]
    try:
        with contextlib.suppress(NotImplementedError):  # an exported program is in evaluation already
            module.eval()
        for weight in module.parameters():
            if not is_lazy(weight):  # has no numbers before the first call
                weight.requires_grad_(False)
        module.to("cpu")
        yield
    finally:
        for part in before:
            part.restore_mode()  # may calculate with weights, as train() of adapters that are merged does
        for one in weights:
            one.restore()
        for part in before:
            part.restore()


class _Weight:
    """A parameter, and where its numbers and those of its gradient lie: to() moves both."""

    def __init__(self, weight: nn.Parameter) -> None:
        self.weight, self.requires_grad, self.grad = weight, weight.requires_grad, weight.grad
        self.memory = weight.data
        self.memory_of_grad = None if weight.grad is None else weight.grad.data

    def restore(self) -> None:
        if is_lazy(self.weight):
            return
        self.weight.grad = None
        if self.weight.device != self.memory.device:
            self.weight.data = self.memory
        if self.grad is not None and self.memory_of_grad is not None and self.grad.device != self.memory_of_grad.device:
            self.grad.data = self.memory_of_grad
        self.weight.grad = self.grad
        self.weight.requires_grad_(self.requires_grad)


class _Part:
    """One of the modules of a module."""

    def __init__(self, part: nn.Module) -> None:
        self.part, self.mode = part, getattr(part, "training", None)  # which a frozen TorchScript module does not have
        self.parameters, self.buffers = dict(part._parameters.items()), dict(part._buffers.items())
        on_cpu = {name: one for name, one in self.buffers.items() if one is not None and one.device.type == "cpu"}
        self.numbers = {
            name: (one._version, one.clone()) for name, one in on_cpu.items() if not (is_lazy(one) or one.is_inference())
        }
        is_script = isinstance(part, torch.jit.ScriptModule)
        self.attributes = {} if is_script else dict(vars(part))

    def restore_mode(self) -> None:
        if self.mode is not None and self.part.training != self.mode:
            with contextlib.suppress(NotImplementedError):  # an exported program inside a module, as Keras' models have
                self.part.train(self.mode)

    def restore(self) -> None:
        part = self.part
        if self.mode is not None and part.training != self.mode:  # train() of a part above it set it
            part.training = self.mode
        for name, weight in self.parameters.items():
            if name in part._parameters and part._parameters[name] is not weight:
                part._parameters[name] = weight
        for name, tensor in self.buffers.items():
            if name in part._buffers and part._buffers[name] is not tensor:
                part._buffers[name] = tensor
        for name, (version, numbers) in self.numbers.items():
            buffer = self.buffers[name]
            if buffer is not None and buffer._version != version:
                with torch.no_grad():
                    buffer.copy_(numbers)
        for name, value in [*vars(part).items()] if self.attributes else []:
            if isinstance(value, torch.Tensor) and self.attributes.get(name) is not value:
                del vars(part)[name]
                vars(part).update({name: self.attributes[name]} if name in self.attributes else {})
