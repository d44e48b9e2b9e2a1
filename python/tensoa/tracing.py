# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""torch.export with free numbers of rows, as the exporter uses it."""

import builtins
import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch._decomp import decompositions


@contextlib.contextmanager
def _free_lengths() -> Iterator[None]:
    """len(tensor) is its first size. Python's own len() takes a number from the tensor, which fixes the number of rows to that
    of the example; torch.zeros(len(x), …) is how many models make what they sum into.
    """
    python_len = len

    def length(container: Any) -> Any:
        is_tensor = isinstance(container, torch.Tensor) and container.dim() > 0
        return container.shape[0] if is_tensor else python_len(container)

    with mock.patch.object(builtins, "len", length):
        yield


@contextlib.contextmanager
def right_states() -> Iterator[None]:
    """The last states of an LSTM are [rows, width]. What torch makes of an LSTM takes off the dimension of the rows where that is
    1, and leaves the one before it, so that a free number of rows gives [1, rows, width].
    """
    torch_layer = decompositions.one_layer_lstm

    def layer(*args: Any, **kwargs: Any) -> tuple:
        steps, states = torch_layer(*args, **kwargs)
        return steps, tuple(state.squeeze(0) if state.dim() == 3 else state for state in states)

    with mock.patch.object(decompositions, "one_layer_lstm", layer):
        yield


def traced(module: nn.Module, arguments: tuple, shapes: Any, named: dict | None = None) -> torch.export.ExportedProgram:
    """What torch.export makes of module(*arguments, **named); `shapes` says which sizes are free. Raises what it raises."""
    with torch.no_grad(), _free_lengths(), right_states():
        return torch.export.export(module, arguments, named, dynamic_shapes=shapes, strict=False)
