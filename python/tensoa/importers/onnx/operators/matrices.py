# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Products of matrices."""

import torch
from torch.nn import functional

from tensoa.importers.onnx.operators.table import Results, operator
from tensoa.importers.onnx.values import Call, Known


@operator("MatMul")
def _matmul(call: Call) -> Results:
    return torch.matmul(call.tensor(0), call.tensor(1))


@operator("Gemm")
def _gemm(call: Call) -> Results:
    a, b = call.tensor(0), call.tensor(1)
    a = a.t() if call.attribute("transA", 0) else a
    alpha, beta = call.attribute("alpha", 1.0), call.attribute("beta", 1.0)
    weight = b if call.attribute("transB", 0) else b.t()
    weight = weight if alpha == 1 else weight * alpha
    bias = call.optional(2)
    bias = bias if bias is None or beta == 1 else bias * beta
    if bias is not None and bias.dim() == 1 and bias.shape[0] == weight.shape[0] and isinstance(call.value(2), Known):
        return functional.linear(a, weight, bias)
    product = functional.linear(a, weight)
    return product if bias is None else product + bias


@operator("Einsum")
def _einsum(call: Call) -> Results:
    return torch.einsum(call.attribute("equation").replace(" ", ""), *call.tensors())


@operator("Det")
def _det(call: Call) -> Results:
    return torch.linalg.det(call.tensor(0))
