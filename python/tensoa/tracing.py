# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""torch.export with free numbers of rows, as the exporter uses it."""

import builtins
import contextlib
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch._decomp import decompositions

from tensoa.errors import InputError, first_line

OTHERS = (Path(torch.__file__).parent, Path(__file__).parent)  # folders of code that is not the author's


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
    """The last states of an LSTM are [rows, width]. What torch makes of an LSTM takes off the dimension of the rows, where that
    is 1, instead of the one before it, so that a free number of rows gives [1, rows, width].
    """
    torch_layer = decompositions.one_layer_lstm

    def layer(*args: Any, **kwargs: Any) -> tuple:
        steps, states = torch_layer(*args, **kwargs)
        return steps, tuple(state.squeeze(0) if state.dim() == 3 else state for state in states)

    with mock.patch.object(decompositions, "one_layer_lstm", layer):
        yield


def traced(module: nn.Module, arguments: tuple, shapes: Any, named: dict | None = None) -> torch.export.ExportedProgram:
    """What torch.export makes of module(*arguments, **named); `shapes` says which sizes are free. Raises what it raises."""
    unchecked = mock.patch.object(torch.distributions.Distribution, "_validate_args", False)  # their checks are branches
    with torch.no_grad(), _free_lengths(), right_states(), unchecked:
        return torch.export.export(module, arguments, named, dynamic_shapes=shapes, strict=False)


def decomposed(program: torch.export.ExportedProgram, table: dict) -> torch.export.ExportedProgram:
    """The program with what `table` makes of its operators; an empty one takes those apart that torch always does."""
    with right_states():
        return program.run_decompositions(table)


def with_place(error: Exception) -> str:
    """What an error says, and the line of the author that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_file() and not _is_of_others(frame.filename)]
    if not own:
        return first_line(error)
    return f"{first_line(error)}, at {Path(own[-1].filename).name}:{own[-1].lineno}: {(own[-1].line or '')[:100]}"


def _is_of_others(file: str) -> bool:
    return any(Path(file).is_relative_to(folder) for folder in OTHERS)


def require_no_state(signature: torch.export.ExportGraphSignature) -> None:
    """Raises InputError for a program that changes a buffer. `signature`: of run_decompositions, which shows it."""
    if signature.buffers_to_mutate:
        names = ", ".join(sorted(name.removeprefix("module.") for name in signature.buffers_to_mutate.values()))
        raise InputError(f"the model changes itself ({names}); expected one that keeps nothing between calls")
