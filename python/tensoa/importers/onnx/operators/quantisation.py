# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers as few integers, and products of these."""

import torch

from tensoa.importers.onnx.graph import DTYPES
from tensoa.importers.onnx.operators.convolution import convolved
from tensoa.importers.onnx.operators.table import Results, operator
from tensoa.importers.onnx.values import Call, Refused


def _spread(numbers: torch.Tensor, x: torch.Tensor, axis: int, block: int) -> torch.Tensor:
    """One number, one for each element of an axis, or one for each block of them, for all of x."""
    if block:
        return numbers.repeat_interleave(block, axis).narrow(axis, 0, x.shape[axis])
    if numbers.dim() != 1 or numbers.shape[0] == 1:
        return numbers.reshape(())
    shape = [1] * x.dim()
    shape[axis] = -1
    return numbers.reshape(shape)


def _axis(call: Call, x: torch.Tensor) -> int:
    return call.axis(call.attribute("axis", 1), x.dim()) if x.dim() > 1 or call.attribute("axis", 1) < x.dim() else 0


def _rounded(x: torch.Tensor, scale: torch.Tensor | float, zero: torch.Tensor | int, dtype: torch.dtype) -> torch.Tensor:
    """To the nearest, the even one of two."""
    if dtype.is_floating_point:
        raise Refused(f"numbers of {dtype}; expected integers")
    limits = torch.iinfo(dtype)
    return torch.clamp(torch.round(x / scale) + zero, limits.min, limits.max).to(dtype)


@operator("QuantizeLinear")
def _quantise(call: Call) -> Results:
    x, scale, zero = call.tensor(0), call.tensor(1), call.optional(2)
    axis, block = _axis(call, x), call.attribute("block_size", 0)
    call.ignore("saturate")  # of float8
    wanted = call.attribute("output_dtype", 0)
    dtype = zero.dtype if zero is not None else DTYPES.get(wanted, torch.uint8)
    if (wanted and wanted not in DTYPES) or (zero is not None and wanted and DTYPES[wanted] != dtype):
        raise Refused(f"output_dtype {wanted} with a zero point of {dtype}")
    shift = 0 if zero is None else _spread(zero, x, axis, block).to(scale.dtype)
    return _rounded(x.to(scale.dtype), _spread(scale, x, axis, block), shift, dtype)


@operator("DequantizeLinear")
def _dequantise(call: Call) -> Results:
    x, scale, zero = call.tensor(0), call.tensor(1), call.optional(2)
    axis, block = _axis(call, x), call.attribute("block_size", 0)
    if x.is_floating_point():
        raise Refused(f"numbers of {x.dtype}; expected integers")
    # As integers: their difference is exact.
    wide = x.long() if zero is None else x.long() - _spread(zero, x, axis, block).long()
    return wide.to(scale.dtype) * _spread(scale, x, axis, block)


@operator("DynamicQuantizeLinear")
def _dynamic(call: Call) -> Results:
    x = call.tensor(0)
    zero = torch.zeros((), dtype=x.dtype, device=x.device)
    low, high = torch.minimum(x.min(), zero), torch.maximum(x.max(), zero)
    scale = (high - low) / 255
    point = torch.clamp(torch.round(-low / scale), 0, 255)
    return _rounded(x, scale, point, torch.uint8), scale, point.to(torch.uint8)


def _without_zero(x: torch.Tensor, zero: torch.Tensor | None, axis: int) -> torch.Tensor:
    """As integers, in float64, which holds sums of 2^21 products of them."""
    if zero is None:
        return x.double()
    if zero.dim() == 1 and zero.shape[0] > 1:
        shape = [1] * x.dim()
        shape[axis] = -1
        zero = zero.reshape(shape)
    elif zero.numel() == 1:
        zero = zero.reshape(())
    return x.double() - zero.double()


@operator("MatMulInteger")
def _matmul(call: Call) -> Results:
    a, b = call.tensor(0), call.tensor(1)
    left = _without_zero(a, call.optional(2), max(0, a.dim() - 2))
    return torch.matmul(left, _without_zero(b, call.optional(3), b.dim() - 1)).to(torch.int32)


@operator("ConvInteger")
def _convolution(call: Call) -> Results:
    x, weight = _without_zero(call.tensor(0), call.optional(2), 1), _without_zero(call.tensor(1), call.optional(3), 0)
    return convolved(call, x, weight, None).to(torch.int32)


@operator("QLinearMatMul")
def _quantised_matmul(call: Call) -> Results:
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = call.tensors()
    product = torch.matmul(_without_zero(a, a_zero, max(0, a.dim() - 2)), _without_zero(b, b_zero, b.dim() - 1))
    rows = a_scale[:, None] if a_scale.numel() > 1 and a_scale.dim() == 1 else a_scale
    factor = rows.double() * b_scale.double() / scale.double()
    return _rounded(product * factor, 1.0, zero.double(), zero.dtype)


@operator("QLinearConv")
def _quantised_convolution(call: Call) -> Results:
    x, x_scale, x_zero, weight, weight_scale, weight_zero, scale, zero = (call.tensor(i) for i in range(8))
    bias = call.tensor(8).double() if call.has(8) else None
    total = convolved(call, _without_zero(x, x_zero, 1), _without_zero(weight, weight_zero, 0), bias)
    factor = x_scale.double() * weight_scale.double() / scale.double()
    factor = factor.reshape(-1, *[1] * (x.dim() - 2)) if factor.numel() > 1 else factor.reshape(())
    return _rounded(total * factor, 1.0, zero.double(), zero.dtype)
