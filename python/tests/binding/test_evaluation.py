# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The module of a user while it is compiled, and afterwards."""

import pytest
import torch
from torch import nn

from tensoa.binding.evaluation import evaluated


class InTraining(nn.Module):
    """With a frozen layer, a part in evaluation, a gradient, a hook, and a forward that changes a buffer and attributes."""

    def __init__(self):
        super().__init__()
        self.layer, self.frozen = nn.Linear(3, 4), nn.Linear(4, 2)
        self.norm, self.dropout = nn.BatchNorm1d(4), nn.Dropout(0.5)
        self.register_buffer("calls", torch.zeros(1))
        self.frozen.requires_grad_(False)
        self.train()
        self.norm.eval()
        self.last = self.first = torch.zeros(2)
        self.layer.register_forward_hook(lambda module, inputs, result: result)
        self.layer(torch.ones(5, 3)).sum().backward()

    def forward(self, x):
        self.calls += 1
        self.last = self.dropout(self.norm(self.layer(x)))
        self.result = self.frozen(self.last)
        return self.result


def state(module):
    """All that must stay, objects by what they are."""
    weights = [(id(one), one.data_ptr(), one.device, one.requires_grad, id(one.grad)) for one in module.parameters()]
    buffers = [(id(one), one.tolist()) for one in module.buffers()]
    hooks = [list(part._forward_hooks) for part in module.modules()]
    return [part.training for part in module.modules()], weights, buffers, hooks, id(module.last), hasattr(module, "result")


def test_the_module_is_in_evaluation_without_gradients_and_afterwards_as_before():
    module = InTraining()
    before, numbers = state(module), [one.clone() for one in module.parameters()]
    with evaluated(module):
        assert not any(part.training for part in module.modules())
        assert not any(one.requires_grad for one in module.parameters())
        module(torch.ones(5, 3))
    assert state(module) == before
    assert all(map(torch.equal, numbers, module.parameters()))


def test_the_module_is_as_before_where_the_block_raises():
    module = InTraining()
    before = state(module)
    with pytest.raises(ZeroDivisionError), evaluated(module):
        raise ZeroDivisionError
    assert state(module) == before


def test_functions_that_go_on_with_the_module_see_it_in_evaluation():
    module = InTraining()
    original = module.forward
    module.forward = lambda x: original(x).sigmoid()  # which a copy of the module would have, too
    with evaluated(module):
        assert torch.equal(module(torch.ones(5, 3)), module(torch.ones(5, 3)))


def test_a_train_that_changes_weights_is_called_for_the_mode_before():
    class Merged(nn.Linear):
        """Adapters have their weights merged in evaluation."""

        def train(self, mode=True):
            if mode != self.training:
                self.weight.data += 1 if not mode else -1
            return super().train(mode)

    module = nn.Sequential(Merged(2, 2), nn.ReLU())
    nn.init.ones_(module[0].weight)
    with evaluated(module):
        assert module[0].weight.eq(2).all()
    assert module[0].weight.eq(1).all() and module[0].training


@pytest.mark.parametrize("make", [torch.jit.script, lambda module: torch.jit.trace(module, torch.ones(3, 2))])
def test_torchscript_is_as_before(make):
    module = make(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    module.train()
    with evaluated(module):
        assert not any(part.training for part in module.modules())
    assert all(part.training for part in module.modules())
    assert all(one.requires_grad for one in module.parameters())


def test_weights_that_are_moved_meanwhile_come_back():
    module = InTraining()
    before, gradient = state(module), module.layer.weight.grad.clone()
    with evaluated(module):
        module.to("meta")  # as TorchInductor moves it to a GPU
        assert module.layer.weight.device.type == module.layer.weight.grad.device.type == "meta"
    assert state(module) == before and torch.equal(module.layer.weight.grad, gradient)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_weights_gradients_and_buffers_of_a_gpu_stay_where_they_are():
    module = InTraining().to("cuda")
    before, gradients = state(module), [(one.grad.data_ptr(), one.grad.device) for one in module.layer.parameters()]
    with evaluated(module):
        assert {one.device.type for one in (*module.parameters(), *module.buffers())} == {"cpu"}
        module(torch.ones(5, 3))
    assert state(module) == before
    assert [(one.grad.data_ptr(), one.grad.device) for one in module.layer.parameters()] == gradients
