# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Compares a model that came from another framework with that framework."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from tensoa.binding import Binding, argument_names
from tensoa.binding.columns import NORMAL, Columns
from tensoa.errors import InputError, first_line
from tensoa.package.cases import KINDS, Cases
from tensoa.package.checks import Differs, validate

Function = Callable[[Sequence[torch.Tensor]], Any]


def compared(module: Any, binding: Binding, rules: list[dict], tried: Cases | None = None) -> Iterator[str]:
    """Calls the function that module.reference() gives, where there is one, on all columns that a package is checked with;
    yields lines for people. Raises InputError where the module differs from it too much, unless another reader of the same file
    gives in float64 what the module gives: then a line says so. On other numbers than normal ones a line does, too: there the
    framework may be the one that is rough, as in exp(x) - 1 of small numbers.
    """
    make = getattr(module, "reference", None)
    if make is None:
        return
    try:
        reference = make()
    except InputError as error:
        yield f"not compared: {error}"
        return
    if reference is None:
        yield f"not compared with {module.framework}, which is not installed"
        return
    run = _runner(reference, module.framework, module, binding)
    cases = [*(tried or Cases(module, binding, rules)).of(is_whole=False)]

    def agreeing(kind: str) -> int:
        chosen = [case for case in cases if case.numbers == kind]
        return len(validate(run, module, binding, rules, what=module.framework, chosen=chosen))

    try:
        count = agreeing(NORMAL)
    except Differs as error:
        if not _is_right_in_float64(module, binding, rules):
            raise InputError(str(error)) from error  # of no kind of program: all would have it
        count = 0
        yield (
            f"{str(error).removesuffix('; it is not written')}; it is {module.framework} that is off: the model agrees with "
            "what the reference evaluator of the package onnx gives in float64"
        )
    for kind in KINDS[1:]:
        try:
            count += agreeing(kind)
        except InputError as error:
            yield str(error).removesuffix("; it is not written")
    if count:
        yield f"compared with {module.framework}: the same in {count} sets of columns"
    else:
        yield f"not compared with {module.framework}: no numbers that say something; export with --example of such"


def _runner(function: Function, framework: str, module: Any, binding: Binding) -> Callable[[Columns, list[int]], None]:
    """A function that has the results of another one written into columns."""

    def run(columns: Columns, rows: list[int]) -> None:
        blocks = [block.tensor(argument) for block, argument in zip(binding.inputs, columns.inputs)]
        tensors = in_order(module, binding, blocks)
        try:
            for block, result, arguments in zip(binding.outputs, binding.results(function(tensors)), columns.outputs):
                block.write(result, arguments)
        except Exception as error:  # whatever the framework throws, and results of other shapes
            raise InputError(f"{framework} fails on columns of {rows} rows: {first_line(error)}") from error

    return run


def in_order(module: Any, binding: Binding, tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """Tensors of the input blocks, as module.reference() takes them."""
    names = argument_names(module)
    if not binding.goes_by_name(names):
        return tensors
    given = {block.name: tensor for block, tensor in zip(binding.inputs, tensors)}
    return [given[name] for name in names or ()]


def _is_right_in_float64(module: Any, binding: Binding, rules: list[dict]) -> bool:
    """Whether the module gives what an independent reader of the file gives in float64, where there is one."""
    make = getattr(module, "reference_in_float64", None)
    if make is None:
        return False
    try:
        function = make()
        if function is None:
            return False
        validate(_runner(function, "the reference evaluator", module, binding), module, binding, rules, kinds=(NORMAL,))
    except Exception:  # it reads less than ONNX Runtime does
        return False
    return True
