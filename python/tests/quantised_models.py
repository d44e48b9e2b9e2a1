# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models with int8 weights and activations, in the form that PT2E gives them: operators of quantized_decomposed."""

import torch
import torch.ao.quantization.fx._decomposed  # makes the operators
from torch import nn

library = torch.ops.quantized_decomposed
INT8 = (-128, 127, torch.int8)


def by_constants(scale, zero_point=0):
    """As observers of a calibration give them."""

    def run(x):
        q = library.quantize_per_tensor(x, scale, zero_point, *INT8)
        return library.dequantize_per_tensor(q, scale, zero_point, *INT8)

    return run


def by_row(x):
    """With a scale for each row."""
    scale, zero_point = library.choose_qparams_per_token_asymmetric(x, torch.int8)
    q = library.quantize_per_token(x, scale, zero_point, *INT8)
    return library.dequantize_per_token(q, scale, zero_point, *INT8, torch.float32)


def by_batch(x):
    """With a scale for all rows."""
    scale, zero_point = library.choose_qparams(x, *INT8[:2], 1e-5, torch.int8)
    q = library.quantize_per_tensor(x, scale, zero_point, *INT8)
    return library.dequantize_per_tensor(q, scale, zero_point, *INT8)


class Layers(nn.Module):
    """Linear layers, each of numbers that one of `quantised` made."""

    def __init__(self, widths, quantised):
        super().__init__()
        self.quantised, self.count = quantised, len(widths) - 1
        for i, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
            layer = nn.Linear(inputs, outputs)
            weight = layer.weight.detach()
            scale, zero = weight.abs().amax(1) / 127, torch.zeros(outputs, dtype=torch.int64)
            self.register_buffer(f"weight{i}", library.quantize_per_channel(weight, scale, zero, 0, *INT8))
            self.register_buffer(f"scale{i}", scale)
            self.register_buffer(f"zero{i}", zero)
            self.register_buffer(f"bias{i}", layer.bias.detach())

    def forward(self, x):
        for i in range(self.count):
            x = self.quantised[i](torch.relu(x) if i else x)
            named = (getattr(self, f"{what}{i}") for what in ("weight", "scale", "zero"))
            weight = library.dequantize_per_channel(*named, 0, *INT8)
            x = nn.functional.linear(x, weight, getattr(self, f"bias{i}"))
        return x
