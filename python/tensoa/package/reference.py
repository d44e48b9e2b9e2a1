# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A model that came from another framework, beside that framework."""

from collections.abc import Iterator
from typing import Any

from tensoa.binding import Binding, argument_names
from tensoa.binding.columns import NORMAL, Columns
from tensoa.errors import InputError, first_line
from tensoa.package.cases import KINDS
from tensoa.package.checks import validate


def compared(module: Any, binding: Binding, rules: list[dict]) -> Iterator[str]:
    """Calls the function that module.reference() gives, where there is one, on all columns that a package is checked with;
    yields lines for people. Raises InputError where the module differs from it too much. On other numbers than normal ones
    a line says so: there the framework may be the one that is rough, as in exp(x) - 1 of small numbers.
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
    names = argument_names(module)

    def run(columns: Columns, rows: list[int]) -> None:
        tensors = [block.tensor(argument) for block, argument in zip(binding.inputs, columns.inputs)]
        if binding.goes_by_name(names):
            given = {block.name: tensor for block, tensor in zip(binding.inputs, tensors)}
            tensors = [given[name] for name in names or ()]
        try:
            for block, result, arguments in zip(binding.outputs, binding.results(reference(tensors)), columns.outputs):
                block.write(result, arguments)
        except Exception as error:  # whatever the framework throws, and results of other shapes
            raise InputError(f"{module.framework} fails on columns of {rows} rows: {first_line(error)}") from error

    count = len(validate(run, module, binding, rules, what=module.framework, kinds=(NORMAL,)))
    for kind in KINDS[1:]:
        try:
            count += len(validate(run, module, binding, rules, what=module.framework, kinds=(kind,)))
        except InputError as error:
            yield str(error).removesuffix("; it is not written")
    yield f"compared with {module.framework}: the same in {count} sets of columns"
