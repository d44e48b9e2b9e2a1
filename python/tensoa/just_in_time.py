# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Files that C++ runs just in time, on any device: programs of torch.export; TorchScript where that cannot follow a model."""

import contextlib
import inspect
import io
import linecache
import math
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path

import torch
from torch import nn

from tensoa.binding import Binding, require_binding
from tensoa.binding.blocks import argument_names
from tensoa.binding.columns import FEW_ROWS, MOST_TRACED, ROWS, Columns, collections_of, trial_rows
from tensoa.binding.domain import HARDLY_ANY, made_up
from tensoa.binding.evaluation import evaluated
from tensoa.binding.model import as_exported, results_of
from tensoa.command import check_writable, replacing, step
from tensoa.compiler import torchscript
from tensoa.compiler.frontend.quantised import decompositions
from tensoa.errors import InputError, Unsupported, first_line
from tensoa.importers import outputs
from tensoa.importers.results import Results
from tensoa.row_numbers import require_no_branch
from tensoa.tracing import decomposed, not_followed, require_no_state, traced, with_place

LARGEST_ERROR = 1e-5  # of ||a - b|| / ||b||; the same operators give the same bits on one machine


def _memory(columns: Binding, rows: Sequence[int]) -> Columns:
    return Columns(columns, {collection: rows[i] for i, collection in enumerate(collections_of(columns))}, (), "cpu")


def _arguments(columns: Binding, rows: Sequence[int]) -> list[torch.Tensor]:
    """A tensor for each input block, as the model sees it."""
    return columns.tensors(_memory(columns, rows).inputs)


def _call(module: Callable, columns: Binding, tensors: list[torch.Tensor], names: list[str] | None) -> list[torch.Tensor]:
    if names is not None and columns.goes_by_name(names):
        return columns.results(module(**{block.name: tensor for block, tensor in zip(columns.inputs, tensors)}))
    return columns.results(module(*tensors))


def _error(got: torch.Tensor, wanted: torch.Tensor) -> float:
    """||got - wanted|| / ||wanted|| of what is finite; infinity where others are."""
    got, wanted = got.double(), wanted.double()
    is_finite = got.isfinite() & wanted.isfinite()
    others = (one.masked_fill(is_finite, 0.0) for one in (got, wanted))
    if not torch.allclose(*others, rtol=0.0, atol=0.0, equal_nan=True):
        return math.inf
    difference, right = (got - wanted)[is_finite], wanted[is_finite]
    return float(difference.norm()) / (float(right.norm()) or 1.0)


class _OfBlocks(nn.Module):
    """A module that gives a dict of the output blocks."""

    def __init__(self, module: nn.Module, columns: Binding) -> None:
        super().__init__()
        self.module, self.columns = module, columns

    def forward(self, *tensors: torch.Tensor) -> dict[str, torch.Tensor]:
        results = self.columns.results(self.columns.value(self.module, tensors))
        return {block.name: result for block, result in zip(self.columns.outputs, results)}


def _followed(module: nn.Module, columns: Binding) -> nn.Module:
    """The module, or one with results that torch.export has a type for."""
    value = columns.value(module, _arguments(columns, trial_rows(columns, FEW_ROWS)))
    return _OfBlocks(module, columns) if isinstance(value, Results) else module


def exported(module: nn.Module, columns: Binding) -> torch.export.ExportedProgram:
    """The module with its own arguments, and free numbers of rows."""
    module, tensors = _followed(module, columns), _arguments(columns, trial_rows(columns, ROWS, MOST_TRACED))
    shapes = [{1 if block.is_transposed else 0: torch.export.Dim.AUTO} for block in columns.inputs]
    if not columns.goes_by_name(argument_names(module)):
        of_parameters = inspect.signature(module.forward).bind(*shapes).arguments  # *inputs is one of them
        return traced(module, tuple(tensors), tuple(of_parameters.values()))
    names = [block.name for block in columns.inputs]
    return traced(module, (), dict(zip(names, shapes)), dict(zip(names, tensors)))


def write(module: nn.Module, columns: Binding, path: str | PathLike, report: Callable[[str], object] = print) -> None:
    """Writes a file of torch.export, whole or not at all, that gives what the module gives: for the blocks of a binding, any
    numbers of rows, CPUs and GPUs. The module is taken in evaluation and stays as it is.

    Raises InputError; Unsupported where torch.export cannot follow the module, fixes a number of rows, or gives other numbers.
    """
    require_binding(columns)
    check_writable(path)
    with evaluated(module):
        _write(module, columns, path, report)


def write_script(module: nn.Module, columns: Binding, path: str | PathLike, report: Callable[[str], object] = print) -> None:
    """As write(), a TorchScript file: what torch.jit.script makes of the module, branches and loops on data too; else its
    trace, where that does not depend on the example. A TorchScript model is written as it is.
    """
    require_binding(columns)
    check_writable(path)
    with evaluated(module), as_exported(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        step("TorchScript, to run just in time")
        for line in outputs.lines(module, columns):
            report(line)
        script: torch.jit.ScriptModule
        if isinstance(module, torch.jit.ScriptModule):
            script, said = module, "as it is in the file"
        else:
            columns, domain_lines = made_up(module, columns)
            for line in domain_lines:
                report(line)
            script, how = _script_of(module, columns)
            with _keeping({**dict(script.named_parameters()), **dict(script.named_buffers())}):
                said = f"{how}, {_compared(script, module, columns)}"
                _require_any_layout(script, module, columns)
            graph = script.inlined_graph
            for node in graph.findAllNodes("prim::SetAttr"):
                raise Unsupported(f"the model changes itself ({node.s('name')}); expected one that keeps nothing between calls")
        with replacing(path) as temporary:
            script.save(temporary)
        report(said)


def _script_of(module: nn.Module, columns: Binding) -> tuple[torch.jit.ScriptModule, str]:
    """(the model as its file has it, how it was made). Raises Unsupported."""
    try:
        return _from_file(torch.jit.script(module)), "scripted"
    except Exception as error:  # torch.jit throws many kinds
        reason = _reason_of(error)
    names, tensors = argument_names(module), _arguments(columns, trial_rows(columns, ROWS))
    given: dict = {"example_inputs": tuple(tensors)}
    if names is not None and columns.goes_by_name(names):
        given = {"example_kwarg_inputs": {block.name: tensor for block, tensor in zip(columns.inputs, tensors)}}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", torch.jit.TracerWarning)
        try:
            trace = _from_file(torch.jit.trace(module, check_trace=False, strict=False, **given))
        except Exception as error:  # torch.jit throws many kinds
            raise Unsupported(f"torch.jit.script: {reason}; torch.jit.trace: {with_place(error)}") from error
    for one in warned:
        if issubclass(one.category, torch.jit.TracerWarning):  # what the trace fixes to that of the example
            what = first_line(one.message).partition(".")[0]
            raise Unsupported(f"torch.jit.script: {reason}; torch.jit.trace: {what}{_place(one.filename, one.lineno)}")
    return trace, "traced"


def _from_file(script: torch.jit.ScriptModule) -> torch.jit.ScriptModule:
    """Raises RuntimeError for a model that only Python can call."""
    file = io.BytesIO()
    torch.jit.save(script, file)
    file.seek(0)
    return torch.jit.load(file, "cpu")


def _reason_of(error: Exception) -> str:
    """The message of torch.jit.script, and the line of the author, which its text contains."""
    place = re.search(r'File "([^"]+)", line (\d+)', str(error))
    return first_line(error).rstrip(":") + (_place(place[1], int(place[2])) if place else "")


def _place(file: str, line: int) -> str:
    return f", at {Path(file).name}:{line}: {linecache.getline(file, line).strip()[:100]}"


def _compared_rows(columns: Binding) -> list[Sequence[int]]:
    """Two numbers of rows of each collection."""
    rows, few_rows = trial_rows(columns, ROWS), trial_rows(columns, FEW_ROWS)
    return [rows, few_rows[1:] if few_rows is rows else few_rows]


def _compared(program: Callable, module: nn.Module, columns: Binding) -> str:
    """Words on how far a program is from its module. Raises Unsupported where that is too far."""
    names = argument_names(module)
    worst, is_checked = 0.0, False
    for rows in _compared_rows(columns):
        tensors = _arguments(columns, rows)
        wanted = _call(module, columns, [tensor.clone() for tensor in tensors], names)  # which it may write
        try:
            got = _call(program, columns, tensors, names)
        except Exception as error:
            raise Unsupported(
                f"its program fails with {rows[0]} rows, whose number is fixed in it: {first_line(error)}"
            ) from error
        for a, b in zip(got, wanted):
            worst = max(worst, _error(a, b))
            is_checked |= bool(b.isfinite().double().mean() >= HARDLY_ANY)
    if not worst <= LARGEST_ERROR:
        raise Unsupported(f"its program gives other numbers than the model: relative error {worst:.1e}")
    return f"relative error to the module {worst:.1e}" if is_checked else "not compared with the module"


@contextlib.contextmanager
def _keeping(kept: Mapping[str, object]) -> Iterator[None]:
    """Raises Unsupported where calls of a program write the tensors that it keeps. A graph does not show all of that: dropout
    returns its argument, and what is written to the result is written to the argument. A call does.
    """
    tensors = {name: tensor for name, tensor in kept.items() if isinstance(tensor, torch.Tensor)}
    versions = {name: tensor._version for name, tensor in tensors.items()}
    # Batch norm writes running statistics without a new version.
    values = {name: tensor.clone() for name, tensor in tensors.items() if tensor.is_floating_point()}
    other = None
    try:
        yield
    except Unsupported as error:  # as numbers that differ from call to call
        other = error
    require_no_state(
        name
        for name, tensor in tensors.items()
        if tensor._version != versions[name]
        or (name in values and not torch.allclose(tensor, values[name], rtol=0.0, atol=0.0, equal_nan=True))
    )
    if other is not None:
        raise other


def _require_any_layout(program: Callable, module: nn.Module, columns: Binding) -> None:
    """Raises Unsupported where the program takes columns where they lie, and gives something else for them than for rows."""
    memory, names = _memory(columns, trial_rows(columns, ROWS)), argument_names(module)
    wanted = _call(module, columns, columns.tensors(memory.inputs), names)
    try:
        got = _call(program, columns, [block.tensor(one) for block, one in zip(columns.inputs, memory.inputs)], names)
    except Exception:  # as view() does: a call says so
        return
    worst = max(map(_error, got, wanted), default=0.0)
    if not worst <= LARGEST_ERROR:
        raise Unsupported(
            f"the model asks how its tensors lie in memory, and gives other numbers for columns: error {worst:.1e}"
        )


def _write(module: nn.Module, columns: Binding, path: str | PathLike, report: Callable[[str], object]) -> None:
    for line in outputs.lines(module, columns):
        report(line)
    module = torchscript.interpreted(module, columns).requires_grad_(False).to("cpu")
    columns, domain_lines = made_up(module, columns)
    for line in domain_lines:
        report(line)
    for rows in _compared_rows(columns):
        results_of(module, columns, _memory(columns, rows))
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(prefix="tensoa-export-") as folder, as_exported():
        warnings.simplefilter("ignore")
        step("torch.export, to run just in time")
        try:
            program = exported(module, columns)
            require_no_branch(program, columns)
            of_quantised = decompositions(program.graph)  # torch has these operators in Python alone
            # Without it, the nodes within autocast are a graph of their own.
            has_autocast = any(node.target is torch.ops.higher_order.wrap_with_autocast for node in program.graph.nodes)
            if of_quantised or has_autocast:
                program = decomposed(program, of_quantised)
            whole = Path(folder) / "program.pt2"
            torch.export.save(program, whole)
            with torch.inference_mode(False):  # whose tensors do not count how often they are written
                again = torch.export.load(whole)
        except InputError:
            raise
        except Exception as error:  # torch.export throws many kinds
            raise not_followed(error) from error
        with _keeping({**again.state_dict, **again.constants}):
            said = _compared(again.module(), module, columns)
        report(f"{len(program.graph.nodes)} nodes, {said}")
        with replacing(path) as temporary:
            shutil.copyfile(whole, temporary)
