# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Modules through the front end of torch.export: row programs, and what they give beside the module in float64."""

import copy

import numpy as np
import torch
from torch import nn

import row_programs
from bindings import block, bound
from everywhere import Everywhere
from tensoa.binding.columns import Columns, as_double
from tensoa.binding.model import result_rows, with_examples
from tensoa.compiler import passes
from tensoa.compiler.frontends import torch_export
from tensoa.compiler.typed import cpu, frontend, interpret
from tensoa.compiler.typed.passes import simplified

FEW_AND_MANY = (0, 1, 7, 1000)  # rows: none, both layouts of the CPU back end, and several tiles


def captured(module, columns):
    module = module.eval()
    rules = result_rows(module, columns, "cpu")
    return torch_export.capture(torch_export.exported_program(module, columns), columns, rules)


def typed(module, columns):
    module = module.eval()
    rules = result_rows(module, columns, "cpu")
    return frontend.capture(torch_export.exported_program(module, columns), columns, rules)


def check(module, columns, rows=(37, 111), numbers="normal"):
    """The row program and the typed one, before and after the passes, give what the module gives; the passes' row program."""
    columns = with_examples(module, columns)
    torch.manual_seed(1)
    for parameter in module.state_dict().values():
        if parameter.is_floating_point() and parameter.dim() < 2:
            parameter.uniform_(0.5, 1.5)
    program = captured(module, columns)
    of_collection = dict(zip(program.domains, rows))
    data = Columns(columns, of_collection, (), "cpu", numbers=numbers)
    with torch.no_grad():
        results = columns.call(module.double(), data.inputs, convert=as_double)
    module.float()
    truth = [block.planes(result).numpy().T for block, result in zip(columns.outputs, results)]
    arrays = [
        [argument[place - part.first].numpy() for place in range(max(one.places) + 1)]
        if (part := one.input_arguments()[0]).step == 1 and part.first == 0
        else dict(zip(one.places, argument.numpy()))
        for one, argument in zip(columns.inputs, data.inputs)
    ]
    simple = passes.simplify(program)
    for candidate in (program, passes.unrolled(simple), simple):
        for got, expected in zip(row_programs.evaluate(candidate, arrays, rows), truth):
            np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-5 * abs(expected).max())
    check_typed(typed(module, columns), arrays, list(of_collection.values()), truth)
    return candidate


def check_typed(program, arrays, rows, truth):
    """The interpreter's numbers before and after the passes; and that there is C++ for it."""
    planes = {(i, place): numbers for i, block in enumerate(arrays) for place, numbers in dict(_items(block)).items()}
    for candidate in (program, simplified(program)):
        for output, value, expected in zip(candidate.outputs, interpret.interpret(candidate, planes, rows), truth):
            got = np.stack(interpret.written(value, output.planes, storage_of(output.column)), 1)
            np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-5 * abs(expected).max())
    cpu.generate(candidate)


def _items(block):
    return block.items() if isinstance(block, dict) else enumerate(block)


def storage_of(dtype):
    return np.dtype("float32" if dtype.name in ("float16", "bfloat16") else dtype.name)


class Results(nn.Module):
    """The results of a function of the module and its inputs."""

    def __init__(self, function, **members):
        super().__init__()
        self.function = function
        for name, member in members.items():
            self.register_buffer(name, member) if isinstance(member, torch.Tensor) else setattr(self, name, member)

    def forward(self, *inputs):
        return self.function(self, *inputs)


def assert_same(function, inputs, widths, rows=(37, 111), collections=None, numbers="normal", **members):
    collections = collections or [0] * len(widths)
    outputs = [block(f"y{i}", w, collection=c) for i, (w, c) in enumerate(zip(widths, collections))]
    return check(Results(function, **members), bound(inputs, outputs), rows, numbers)


def assert_runs(module, columns, folder, tolerance=2e-5):
    """Compiled, it gives what the module gives in float64, at few and many rows."""
    for where, tensors, results in Everywhere(module, columns, folder).results(FEW_AND_MANY):
        wide = [as_double(one) for one in tensors]
        with torch.no_grad():
            truth = columns.results(columns.value(copy.deepcopy(module).double(), wide))
        for one, got, right in zip(columns.outputs, results, truth):
            right = one.planes(right)
            largest = right.abs().max().item() if right.numel() else 0.0
            torch.testing.assert_close(got.double(), right.double(), rtol=tolerance, atol=tolerance * largest, msg=where)
