# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Quantised models give the integers that torch gives."""

import pytest
import torch
from torch import nn

from bindings import block, bound
from captured_programs import Results, fused_program
from cpu_programs import needs_level
from everywhere import Everywhere
from exporting import refusal
from quantised_models import INT8, Layers, by_batch, by_constants, by_row, library
from tensoa import just_in_time
from tensoa.compiler.errors import NotFused
from tensoa.export import Options, export

pytestmark = needs_level


def of_all_forms(m, x):
    scale, zero_point = torch.tensor([0.05]), torch.tensor([7])
    channels = torch.tensor([0.1, 0.5, 3.0]), torch.tensor([0, 5, -3])
    a = library.quantize_per_tensor(x, 0.037, -5, *INT8)
    b = library.quantize_per_tensor(x, 0.25, 100, 0, 255, torch.uint8)
    c = library.quantize_per_tensor(x, scale, zero_point, *INT8)
    d = library.quantize_per_channel(x, *channels, 1, *INT8)
    e = torch.clamp(torch.round(x / 0.125), -8, 7).to(torch.int8)  # as people write it
    made = [
        library.dequantize_per_tensor(a, 0.037, -5, *INT8),
        library.dequantize_per_tensor(b, 0.25, 100, 0, 255, torch.uint8),
        library.dequantize_per_tensor(c, scale, zero_point, *INT8),
        library.dequantize_per_channel(d, *channels, 1, *INT8),
        e * 0.125,
    ]
    return a, b, torch.cat(made, 1)


def test_integers_are_those_of_torch_for_numbers_of_all_kinds(tmp_path):
    module = Results(of_all_forms)
    outputs = [block("a", 3, "int8"), block("b", 3, "uint8"), block("y", 15)]
    program = Everywhere(module, bound([block("x", 3)], outputs), tmp_path)
    for numbers in ("normal", "small", "large", "special"):
        for where, (x,), got in program.results(numbers=numbers):
            for one, truth in zip(got, module(x)):
                assert torch.equal(one, truth.T), (where, numbers)


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_layers_with_constant_scales_are_fused_whole_and_checked(target, tmp_path):
    torch.manual_seed(3)
    module = Layers((6, 32, 32, 2), [by_constants(0.03, 5), by_constants(0.01), by_constants(0.01, -20)])
    lines = []
    export(module, bound([block("x", 6)], [block("y", 2)]), tmp_path / "p.pt2", Options(target, report=lines.append))
    assert lines[0] == "fused into 1 kernel:"
    assert lines[1].count("linear") == 3


def test_programs_to_run_just_in_time_have_operators_that_torch_has_in_cpp(tmp_path):
    module, file = Layers((6, 8, 2), [by_constants(0.03, 5), by_row]), tmp_path / "p.pt2"
    just_in_time.write(module, bound([block("x", 6)], [block("y", 2)]), file, report=lambda line: None)
    program = torch.export.load(file)
    assert {node.target.namespace for node in program.graph.nodes if hasattr(node.target, "namespace")} == {"aten"}
    x = torch.randn(33, 6)
    assert torch.equal(program.module()(x), module(x))


def test_scale_of_all_rows_is_refused_by_name():
    module = Layers((6, 2), [by_batch])
    with pytest.raises(NotFused, match="the operation quantized_decomposed.choose_qparams.tensor"):
        fused_program(module, bound([block("x", 6)], [block("y", 2)]))


def test_modules_with_packed_weights_are_refused_with_what_to_do(tmp_path):
    module = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(3, 2)), {nn.Linear}, torch.qint8)
    message = refusal(module, bound([block("x", 3)], [block("y", 2)]), tmp_path)
    assert message.startswith("the model's part 0 is a torch.ao.nn.quantized.dynamic")
    assert "torchao.quantization.pt2e" in message
