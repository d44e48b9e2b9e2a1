# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of torch.export that C++ runs just in time, on any device: `tensoa compile --just-in-time`."""

import inspect
import math
import shutil
import tempfile
import warnings
from collections.abc import Callable
from os import PathLike
from pathlib import Path

import torch
from torch import nn

from tensoa.binding import Binding, require_binding
from tensoa.binding.blocks import argument_names
from tensoa.binding.columns import FEW_ROWS, ROWS, Columns, collections_of
from tensoa.binding.domain import HARDLY_ANY, with_domain
from tensoa.binding.evaluation import evaluated
from tensoa.binding.model import as_exported, results_of, with_examples
from tensoa.command import check_writable, replacing, step
from tensoa.compiler.frontends import torchscript
from tensoa.compiler.frontends.torch_export.quantised import decompositions
from tensoa.errors import InputError, first_line
from tensoa.importers import outputs
from tensoa.row_numbers import require_no_branch
from tensoa.tracing import SLOWER, decomposed, require_no_state, traced, with_place

LARGEST_ERROR = 1e-5  # of ||a - b|| / ||b||; the same operators give the same bits on one machine


def _memory(columns: Binding, rows: tuple[int, ...]) -> Columns:
    return Columns(columns, {collection: rows[i] for i, collection in enumerate(collections_of(columns))}, (), "cpu")


def _arguments(columns: Binding, rows: tuple[int, ...]) -> list[torch.Tensor]:
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


def exported(module: nn.Module, columns: Binding) -> torch.export.ExportedProgram:
    """The module with its own arguments, and free numbers of rows."""
    tensors = _arguments(columns, ROWS)
    shapes = [{1 if block.is_transposed else 0: torch.export.Dim.AUTO} for block in columns.inputs]
    if not columns.goes_by_name(argument_names(module)):
        of_parameters = inspect.signature(module.forward).bind(*shapes).arguments  # *inputs is one of them
        return traced(module, tuple(tensors), tuple(of_parameters.values()))
    names = [block.name for block in columns.inputs]
    return traced(module, (), dict(zip(names, shapes)), dict(zip(names, tensors)))


def write(module: nn.Module, columns: Binding, path: str | PathLike, report: Callable[[str], object] = print) -> None:
    """Writes a file of torch.export, whole or not at all, that gives what the module gives: for the blocks of a binding, any
    numbers of rows, CPUs and GPUs. The module is taken in evaluation and stays as it is.

    Raises InputError where torch.export cannot follow the module, fixes a number of rows, or gives other numbers.
    """
    require_binding(columns)
    check_writable(path)
    with evaluated(module):
        _write(module, columns, path, report)


def _write(module: nn.Module, columns: Binding, path: str | PathLike, report: Callable[[str], object]) -> None:
    for line in outputs.lines(module, columns):
        report(line)
    module = torchscript.interpreted(module, columns).requires_grad_(False).to("cpu")
    names = argument_names(module)
    columns, domain_lines = with_domain(module, with_examples(module, columns))
    for line in domain_lines:
        report(line)
    for rows in (ROWS, FEW_ROWS):
        results_of(module, columns, _memory(columns, rows))
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(prefix="tensoa-export-") as folder, as_exported():
        warnings.simplefilter("ignore")
        step("torch.export")
        try:
            program = exported(module, columns)
            require_no_branch(program, columns)
            of_quantised = decompositions(program.graph)  # torch has these operators in Python alone
            # Without it, the nodes within autocast are a graph of their own.
            has_autocast = any(node.target is torch.ops.higher_order.wrap_with_autocast for node in program.graph.nodes)
            if of_quantised or has_autocast:
                program = decomposed(program, of_quantised)
        except InputError:
            raise
        except Exception as error:  # torch.export throws many kinds
            raise InputError(
                f"torch.export cannot follow the model: {with_place(error)}; rewrite what it names, or {SLOWER}"
            ) from error
        require_no_state(decomposed(program, {}).graph_signature)
        whole = Path(folder) / "program.pt2"
        torch.export.save(program, whole)
        loaded = torch.export.load(whole).module()
        worst, is_checked = 0.0, False
        for rows in (ROWS, FEW_ROWS):
            tensors = _arguments(columns, rows)
            wanted = _call(module, columns, tensors, names)
            try:
                got = _call(loaded, columns, tensors, names)
            except Exception as error:
                raise InputError(
                    f"the exported program fails with {rows[0]} rows: {first_line(error)}; torch.export has fixed a size that "
                    "depends on the number of rows"
                ) from error
            for a, b in zip(got, wanted):
                worst = max(worst, _error(a, b))
                is_checked |= bool(b.isfinite().double().mean() >= HARDLY_ANY)
        if not worst <= LARGEST_ERROR:
            raise InputError(f"the exported program gives other numbers than the model: relative error {worst:.1e}")
        error = f"relative error to the module {worst:.1e}" if is_checked else "not compared with the module"
        report(f"{len(program.graph.nodes)} nodes, {error}")
        with replacing(path) as temporary:
            shutil.copyfile(whole, temporary)
