# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Modules through the front end of torch.export: typed programs, and their results compared with the module in float64."""

import copy

import numpy as np
import torch
from torch import nn

from bindings import block, bound
from everywhere import Everywhere
from tensoa.binding.columns import Columns, as_double
from tensoa.binding.model import result_rows, with_examples
from tensoa.compiler import cpu, cuda, frontend, interpret
from tensoa.compiler.passes import simplified

FEW_AND_MANY = (0, 1, 7, 1000)  # rows: none, both layouts of CPUs, and several tiles


def captured(module, columns):
    """The typed program of a module, before the passes."""
    module = module.eval()
    rules = result_rows(module, columns, "cpu")
    return frontend.capture(frontend.exported_program(module, columns), columns, rules)


def fused_program(module, columns):
    """The same after the passes, which there is code of for CPUs and GPUs. Raises NotFused."""
    program = simplified(captured(module, columns))
    cpu.generate(program)
    cuda.generate(program)
    return program


def check(module, columns, rows=(37, 111), numbers="normal"):
    """The program gives what the module gives, before and after the passes; that after them."""
    columns = with_examples(module, columns)
    torch.manual_seed(1)
    for parameter in module.state_dict().values():
        if parameter.is_floating_point() and parameter.dim() < 2:
            parameter.uniform_(0.5, 1.5)
    program, simple = captured(module, columns), fused_program(module, columns)
    counts = rows[: len(program.rows)]
    of_collection = {int(symbol.removeprefix("rows")): count for symbol, count in zip(program.rows, counts)}
    data = Columns(columns, of_collection, (), "cpu", numbers=numbers)
    with torch.no_grad():
        results = columns.call(module.double(), data.inputs, convert=as_double)
    module.float()
    truth = [block.planes(result).numpy().T for block, result in zip(columns.outputs, results)]
    planes = {}
    for i, (one, argument) in enumerate(zip(columns.inputs, data.inputs)):
        part = one.input_arguments()[0]
        is_whole = part.step == 1 and part.first == 0
        for at, place in enumerate(one.places):
            planes[i, place] = argument[place if is_whole else at].numpy()
    for candidate in (program, simple):
        for output, value, expected in zip(candidate.outputs, interpret.interpret(candidate, planes, counts), truth):
            got = np.stack(interpret.written(value, output.planes, storage_of(output.column)), 1)
            np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-5 * abs(expected).max())
    return simple


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


def assert_runs(module, columns, folder, tolerance=2e-5, rows=FEW_AND_MANY):
    """Compiled, it gives what the module gives in float64, at few and many rows."""
    for where, tensors, results in Everywhere(module, columns, folder).results(rows):
        wide = [as_double(one) for one in tensors]
        with torch.no_grad():
            truth = columns.results(columns.value(copy.deepcopy(module).double(), wide))
        for one, got, right in zip(columns.outputs, results, truth):
            right = one.planes(right)
            largest = right.abs().max().item() if right.numel() else 0.0
            torch.testing.assert_close(got.double(), right.double(), rtol=tolerance, atol=tolerance * largest, msg=where)
