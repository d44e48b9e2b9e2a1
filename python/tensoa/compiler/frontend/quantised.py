# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Operators of quantised models (PT2E), taken apart into arithmetic that gives the same integers as torch."""

from collections.abc import Callable
from typing import Any

import torch

Operand = Any  # of an operator: a tensor or a number

#: Those that torch has as a function of tensors, by the name that it has there.
_OF_TORCH = (
    "quantize_per_tensor dequantize_per_tensor quantize_per_channel dequantize_per_channel choose_qparams_per_token "
    "_choose_qparams_per_token_asymmetric_impl choose_qparams_per_token_asymmetric quantize_per_token dequantize_per_token"
).split()


def _one(number: torch.Tensor) -> torch.Tensor:
    """A tensor of one number as torch multiplies with a number of Python: the dtype of the other tensor stays."""
    return number.reshape(()).to(torch.float32)


def _quantised(x: Operand, scale: Operand, zero_point: Operand, low: Operand, high: Operand, dtype: Operand) -> Operand:
    return torch.clamp(torch.round(x.float() * _one(1.0 / scale)) + _one(zero_point), low, high).to(dtype)


def _dequantised(
    x: Operand, scale: Operand, zero_point: Operand, low: Operand, high: Operand, dtype: Operand, *, out_dtype: Operand = None
) -> Operand:
    return (x.to(out_dtype or torch.float32) - _one(zero_point)) * _one(scale)


def decompositions(graph: torch.fx.Graph) -> dict[torch._ops.OpOverload, Callable[..., Any]]:
    """The decompositions of the operators of a graph; none where it has no such operators."""
    namespaces = {getattr(node.target, "namespace", None) for node in graph.nodes}
    if "quantized_decomposed" not in namespaces:
        return {}
    from torch.ao.quantization.fx import _decomposed

    library = torch.ops.quantized_decomposed
    return {
        **{getattr(library, name).default: getattr(_decomposed, name) for name in _OF_TORCH},
        library.quantize_per_tensor.tensor: _quantised,
        library.dequantize_per_tensor.tensor: _dequantised,
    }
