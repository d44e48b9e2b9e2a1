# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Functions of numbers, one by one."""

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from tensoa.importers.onnx.operators.table import Results, operator
from tensoa.importers.onnx.values import Call, Known, Refused

UNARY: dict[str, Callable[..., torch.Tensor]] = {
    "Abs": torch.abs,
    "Acos": torch.acos,
    "Acosh": torch.acosh,
    "Asin": torch.asin,
    "Asinh": torch.asinh,
    "Atan": torch.atan,
    "Atanh": torch.atanh,
    "BitwiseNot": torch.bitwise_not,
    "Ceil": torch.ceil,
    "Cos": torch.cos,
    "Cosh": torch.cosh,
    "Erf": torch.erf,
    "Exp": torch.exp,
    "Floor": torch.floor,
    "HardSwish": functional.hardswish,
    "Identity": lambda x: x,
    "IsNaN": torch.isnan,
    "Log": torch.log,
    "Mish": functional.mish,
    "Neg": torch.neg,
    "Not": torch.logical_not,
    "Reciprocal": torch.reciprocal,
    "Relu": torch.relu,
    "Round": torch.round,
    "Sigmoid": torch.sigmoid,
    "Sign": torch.sign,
    "Sin": torch.sin,
    "Sinh": torch.sinh,
    "Softplus": lambda x: functional.softplus(x, threshold=40),  # from there on they are equal in float64
    "Softsign": lambda x: x / (1 + x.abs()),
    "Sqrt": torch.sqrt,
    "Tan": torch.tan,
    "Tanh": torch.tanh,
}
BINARY: dict[str, Callable[..., torch.Tensor]] = {
    "Add": torch.add,
    "And": torch.logical_and,
    "BitwiseAnd": torch.bitwise_and,
    "BitwiseOr": torch.bitwise_or,
    "BitwiseXor": torch.bitwise_xor,
    "Equal": torch.eq,
    "Greater": torch.gt,
    "GreaterOrEqual": torch.ge,
    "Less": torch.lt,
    "LessOrEqual": torch.le,
    "Mul": torch.mul,
    "Or": torch.logical_or,
    "Sub": torch.sub,
    "Xor": torch.logical_xor,
}
VARIADIC: dict[str, Callable[..., torch.Tensor]] = {"Max": torch.maximum, "Min": torch.minimum, "Sum": torch.add}


def _of(function: Callable[..., torch.Tensor], *tensors: torch.Tensor) -> torch.Tensor:
    """The result of a function; of dtypes that torch does not calculate with, through larger ones."""
    dtype = tensors[0].dtype
    if dtype not in (torch.uint16, torch.uint32):
        return function(*tensors)
    result = function(*(tensor.long() for tensor in tensors))
    return result if result.dtype == torch.bool else result.to(dtype)


@operator(*UNARY)
def _unary(call: Call) -> Results:
    return _of(UNARY[call.node.operator], call.tensor(0))


@operator(*BINARY)
def _binary(call: Call) -> Results:
    return _of(BINARY[call.node.operator], call.tensor(0), call.tensor(1))


@operator(*VARIADIC)
def _variadic(call: Call) -> Results:
    return functools.reduce(functools.partial(_of, VARIADIC[call.node.operator]), call.tensors())


@operator("Mean")
def _mean(call: Call) -> Results:
    return functools.reduce(torch.add, call.tensors()) / len(call.inputs)


@operator("Div")
def _div(call: Call) -> Results:
    a, b = call.tensor(0), call.tensor(1)
    return a / b if a.is_floating_point() else _of(functools.partial(torch.div, rounding_mode="trunc"), a, b)


@operator("Mod")
def _mod(call: Call) -> Results:
    a, b = call.tensor(0), call.tensor(1)
    is_c = call.attribute("fmod", 0)
    if a.is_floating_point() and not is_c:
        raise Refused("fmod 0 for floats; expected 1")
    return _of(torch.fmod if is_c else torch.remainder, a, b)


@operator("Pow")
def _pow(call: Call) -> Results:
    a, b = call.tensor(0), call.value(1)
    if isinstance(b, Known) and b.array.size == 1 and b.array.ndim <= a.dim() and not b.has_symbols:
        exponent = b.array.item()
        exponent = int(exponent) if exponent == int(exponent) else exponent
    else:
        exponent = call.as_tensor(b)
    return torch.pow(a, exponent).to(a.dtype)


@operator("BitShift")
def _bit_shift(call: Call) -> Results:
    direction = call.attribute("direction")
    shift = {"LEFT": torch.bitwise_left_shift, "RIGHT": torch.bitwise_right_shift}.get(direction)
    if shift is None:
        raise Refused(f"direction {direction}; expected LEFT or RIGHT")
    return _of(shift, call.tensor(0), call.tensor(1))


@operator("Where")
def _where(call: Call) -> Results:
    return torch.where(call.tensor(0), call.tensor(1), call.tensor(2))


@operator("Clip")
def _clip(call: Call) -> Results:
    low, high = (_limit(call, i) if call.has(i) else None for i in (1, 2))
    x = call.tensor(0)
    if low is None and high is None:
        return x
    if any(isinstance(limit, torch.Tensor) for limit in (low, high)):
        low, high = (None if limit is None else torch.as_tensor(limit, dtype=x.dtype, device=x.device) for limit in (low, high))
    return torch.clamp(x, low, high)


def _limit(call: Call, i: int) -> Any:
    value = call.value(i)
    return value.array.item() if isinstance(value, Known) and not value.has_symbols else call.tensor(i)


@operator("Cast")
def _cast(call: Call) -> Results:
    call.ignore("saturate")  # of float8
    return _converted(call.tensor(0), call.dtype(call.attribute("to")))


@operator("CastLike")
def _cast_like(call: Call) -> Results:
    call.ignore("saturate")
    return _converted(call.tensor(0), call.tensor(1).dtype)


def _converted(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return x != 0 if dtype == torch.bool and x.dtype != torch.bool else x.to(dtype)


# ---- activations


@operator("LeakyRelu")
def _leaky_relu(call: Call) -> Results:
    return functional.leaky_relu(call.tensor(0), call.attribute("alpha", 0.01))


@operator("PRelu")
def _prelu(call: Call) -> Results:
    x = call.tensor(0)
    return torch.where(x < 0, x * call.tensor(1), x)


@operator("Elu")
def _elu(call: Call) -> Results:
    return functional.elu(call.tensor(0), call.attribute("alpha", 1.0))


@operator("Selu")
def _selu(call: Call) -> Results:
    alpha, gamma = call.attribute("alpha", 1.67326319217681884765625), call.attribute("gamma", 1.05070102214813232421875)
    return functional.elu(call.tensor(0), alpha) * gamma


@operator("Celu")
def _celu(call: Call) -> Results:
    return functional.celu(call.tensor(0), call.attribute("alpha", 1.0))


@operator("ThresholdedRelu")
def _thresholded_relu(call: Call) -> Results:
    x = call.tensor(0)
    return torch.where(x > call.attribute("alpha", 1.0), x, torch.zeros((), dtype=x.dtype, device=x.device))


@operator("HardSigmoid")
def _hard_sigmoid(call: Call) -> Results:
    return torch.clamp(call.tensor(0) * call.attribute("alpha", 0.2) + call.attribute("beta", 0.5), 0, 1)


@operator("Gelu", since=20)
def _gelu(call: Call) -> Results:
    return functional.gelu(call.tensor(0), approximate=call.attribute("approximate", "none"))


@operator("Shrink")
def _shrink(call: Call) -> Results:
    x, bias, limit = call.tensor(0), call.attribute("bias", 0.0), call.attribute("lambd", 0.5)
    return torch.where(x < -limit, x + bias, torch.where(x > limit, x - bias, torch.zeros_like(x)))


@operator("IsInf")
def _is_inf(call: Call) -> Results:
    x = call.tensor(0)
    found = torch.zeros_like(x, dtype=torch.bool)
    for name, number in (("detect_negative", -math.inf), ("detect_positive", math.inf)):
        if call.attribute(name, 1):
            found = found | (x == number)
    return found


@operator("Dropout")
def _dropout(call: Call) -> Results:
    call.ignore("seed", "ratio")
    is_training = call.array(2).item() if call.has(2) else False
    if is_training:
        raise Refused("a dropout in training")
    x = call.tensor(0)
    return x, torch.ones_like(x, dtype=torch.bool)
