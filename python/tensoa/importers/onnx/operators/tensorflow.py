# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Operators of TensorFlow that ONNX lacks, or has with another meaning; tf2onnx leaves them in its own domain."""

from collections.abc import Callable

import torch

from tensoa.importers.onnx.operators.table import Results, operator
from tensoa.importers.onnx.values import Call

DOMAIN = "ai.onnx.converters.tensorflow"
FUNCTIONS: dict[str, Callable] = {
    "Erfc": torch.erfc,
    "Expm1": torch.expm1,
    "Lgamma": torch.lgamma,
    "Log1p": torch.log1p,
    "Rint": torch.round,
    "Xdivy": lambda x, y: torch.where(x == 0, 0, x / y),
    "Xlogy": torch.xlogy,
}


def _register(name: str, function: Callable) -> None:
    @operator(name, domain=DOMAIN)
    def run(call: Call) -> Results:
        call.ignore("T")
        return function(*call.tensors())


@operator("OneHot", domain=DOMAIN)
def _one_hot(call: Call) -> Results:
    """Of indices outside all numbers are `off`; ONNX counts negative ones from the end."""
    call.ignore("T", "TI")
    at, depth, on, off = call.tensor(0), call.integer(1), call.tensor(2), call.tensor(3)
    axis = call.axis(call.attribute("axis", -1), at.dim() + 1)
    shape = [1] * (at.dim() + 1)
    shape[axis] = depth
    return torch.where(at.unsqueeze(axis) == torch.arange(depth, device=at.device).reshape(shape), on, off)


NAMES = (*FUNCTIONS, "OneHot")
for _name, _function in FUNCTIONS.items():
    _register(_name, _function)
