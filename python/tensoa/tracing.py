# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""torch.export with free numbers of rows, as the exporter uses it."""

import builtins
import contextlib
import logging
import os
import re
import sysconfig
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch._decomp import decompositions
from torch.export import _trace

from tensoa.errors import Unsupported, first_line

OTHERS = (Path(torch.__file__).parent, Path(__file__).parent)  # folders of code that is not the author's
LIBRARIES = tuple(Path(sysconfig.get_path(name)) for name in ("purelib", "platlib", "stdlib"))  # nor theirs, where there is any
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in [^\n]*(?:\n +(?!File )([^\n]*))?')


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
def _quiet() -> Iterator[None]:
    """torch.export prints graphs and warnings when it fails, though its error says enough; TORCH_LOGS keeps them."""
    if "TORCH_LOGS" in os.environ:
        yield
        return
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with mock.patch.object(_trace, "print", lambda *_, **__: None, create=True):
            yield
    finally:
        logging.disable(before)


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
    """The program of torch.export for module(*arguments, **named); `shapes` has the free sizes. Raises its errors."""
    unchecked = mock.patch.object(torch.distributions.Distribution, "_validate_args", False)  # their checks are branches
    in_order = torch.backends.opt_einsum.flags(enabled=False)  # which, where it is installed, compares the numbers of rows
    with torch.no_grad(), _free_lengths(), right_states(), unchecked, in_order, _quiet():
        program = torch.export.export(module, arguments, named, dynamic_shapes=shapes, strict=False)
    program.graph.eliminate_dead_code()  # as the conditions of branches that are decided, which read all rows
    program.graph_module.recompile()
    return program


def decomposed(program: torch.export.ExportedProgram, table: dict) -> torch.export.ExportedProgram:
    """The program with what `table` makes of its operators; an empty one takes those apart that torch always does."""
    with right_states():
        return program.run_decompositions(table)


def with_place(error: Exception) -> str:
    """The text of an error or of its cause, and the line of the author that raised it."""
    frames: list[traceback.FrameSummary] = []
    cause: BaseException | None = error
    while cause is not None:
        frames = [*traceback.extract_tb(cause.__traceback__), *frames]
        cause = cause.__cause__ or cause.__context__
    frames = [frame for frame in frames if Path(frame.filename).is_file() and not _is_in(frame.filename, OTHERS)]
    own = [frame for frame in frames if not _is_in(frame.filename, LIBRARIES)] or frames
    if not own:
        return first_line(error)
    return f"{first_line(error)}, at {Path(own[-1].filename).name}:{own[-1].lineno}: {(own[-1].line or '')[:100]}"


def not_followed(error: Exception) -> Unsupported:
    """The error of torch.export, as the reason for a missing program."""
    return Unsupported(f"torch.export cannot follow it ({with_place(error)})")


def _is_in(file: str, folders: Iterable[Path]) -> bool:
    return any(Path(file).is_relative_to(folder) for folder in folders)


def signature_of(program: torch.export.ExportedProgram) -> torch.export.ExportGraphSignature:
    """Which shows what the program writes. Only run_decompositions finds that out, which takes as long as the export itself."""
    may_write = any(map(_may_write, program.graph_module.modules()))
    return (decomposed(program, {}) if may_write else program).graph_signature


def _may_write(module: nn.Module) -> bool:
    """Whether a graph has an operator that writes an argument: its schema says so, but for running statistics."""
    nodes = module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ()
    schemas = [node.target._schema for node in nodes if isinstance(node.target, torch._ops.OpOverload)]
    return any(schema.is_mutable or any(argument.name == "running_mean" for argument in schema.arguments) for schema in schemas)


def require_no_state(changed: Iterable[str]) -> None:
    """Raises Unsupported for a program that changes these buffers."""
    if names := ", ".join(sorted(name.removeprefix("module.") for name in changed)):
        raise Unsupported(f"the model changes itself ({names}); expected one that keeps nothing between calls")


def author_line(node: torch.fx.Node) -> str:
    """The line of the author's that a node was traced from: ", at model.py:12: return x[:, :2]", empty where none is known."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    own = [frame for frame in frames if not _is_in(frame[0], OTHERS)]
    if not own:
        return ""
    file, line, text = own[-1]
    return f", at {Path(file).name}:{line}" + (f": {text.strip()[:100]}" if text else "")
