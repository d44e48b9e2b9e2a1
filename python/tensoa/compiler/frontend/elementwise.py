# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Elementwise operators of torch."""

import math
from collections.abc import Callable
from typing import Any

import torch

from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontend.lowering import LOWERINGS, Context, calculated, dtype_of, fixed_number, lowers
from tensoa.compiler.frontend.values import Value, apply, cast, number, to_shape
from tensoa.compiler.functions import FUNCTIONS, INTEGERS, kind_of
from tensoa.dtypes import BOOL, DType

#: torch's name -> ours, of functions that calculate in the dtype of the result; some have a lowering of their own below.
ARITHMETIC = {
    **{name: name for name, function in FUNCTIONS.items() if not function.is_truth and hasattr(torch.ops.aten, name)},
    "bitwise_not": "not", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "__lshift__": "shl",
    "__rshift__": "shr", "bitwise_left_shift": "shl", "bitwise_right_shift": "shr",
}  # fmt: skip
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
#: Functions of truth values, by the functions of numbers.
OF_TRUTH = {"add": "or", "mul": "and", "maximum": "or", "minimum": "and"}
LOGICAL = {"logical_and": "and", "logical_or": "or", "logical_xor": "xor", "logical_not": "not"}


def _arithmetic(fn: str) -> Callable[..., Value]:
    def lower(context: Context, *args: Any, alpha: float = 1) -> Value:
        values = context.promoted(*args[: FUNCTIONS[fn].arity])
        if context.dtype.is_bool and fn in OF_TRUTH:
            return apply(OF_TRUTH[fn], *values)
        if alpha != 1:
            values[1] = apply("mul", values[1], number(alpha, values[1].dtype))
        return apply(fn, *values)

    return lower


def _comparison(fn: str) -> Callable[..., Value]:
    return lambda context, *args: apply(fn, *context.compared(*args))


def _logical(fn: str) -> Callable[..., Value]:
    return lambda context, *args: apply(fn, *(context.as_value(arg, BOOL) for arg in args))


LOWERINGS.update({name: _arithmetic(fn) for name, fn in ARITHMETIC.items()})
LOWERINGS.update({name: _comparison(name) for name in COMPARISONS})
LOWERINGS.update({name: _logical(fn) for name, fn in LOGICAL.items()})


@lowers("div")
def divide(context: Context, x: Any, y: Any, rounding_mode: str | None = None) -> Value:
    x, y = context.promoted(x, y)
    quotient = apply("div", x, y)
    if rounding_mode is None:
        return quotient
    if kind_of(x.dtype) == INTEGERS:
        return quotient if rounding_mode == "trunc" else floor_of_integers(x, y)
    if rounding_mode == "trunc":
        return apply("trunc", quotient)
    return _floor_of_floats(x, y)


def floor_of_integers(x: Value, y: Value) -> Value:
    quotient = apply("div", x, y)
    rest, zero = apply("fmod", x, y), number(0, x.dtype)
    is_lower = apply("and", apply("ne", rest, zero), apply("lt", apply("xor", rest, y), zero))
    return apply("sub", quotient, cast(is_lower, x.dtype))


def _floor_of_floats(x: Value, y: Value) -> Value:
    """As torch: from the exact rest, so that the quotient is rounded in the right direction."""
    zero, one, half = (number(n, x.dtype) for n in (0.0, 1.0, 0.5))
    rest = apply("fmod", x, y)
    whole = apply("div", apply("sub", x, rest), y)
    is_lower = apply("and", apply("ne", rest, zero), apply("ne", apply("lt", y, zero), apply("lt", rest, zero)))
    whole = apply("where", is_lower, apply("sub", whole, one), whole)
    floor = apply("floor", whole)
    floor = apply("where", apply("gt", apply("sub", whole, floor), half), apply("add", floor, one), floor)
    floor = apply("where", apply("eq", whole, zero), apply("mul", apply("div", x, y), zero), floor)
    return apply("where", apply("eq", y, zero), apply("div", x, y), floor)


@lowers("remainder")
def remainder(context: Context, x: Any, y: Any) -> Value:
    """With the sign of y."""
    x, y = context.promoted(x, y)
    rest, zero = apply("fmod", x, y), number(0, x.dtype)
    has_other_sign = apply("ne", apply("lt", rest, zero), apply("lt", y, zero))
    is_off = apply("and", apply("ne", rest, zero), has_other_sign)
    return apply("where", is_off, apply("add", rest, y), rest)


@lowers("round", "floor", "ceil", "trunc")
def rounded(context: Context, x: Value, *, decimals: int = 0) -> Value:
    if kind_of(x.dtype) == INTEGERS:
        return x
    unit = number(10.0 ** abs(decimals), x.dtype)
    if decimals == 0:
        return apply(context.name, x)
    there, back = ("mul", "div") if decimals > 0 else ("div", "mul")
    return apply(back, apply("round", apply(there, x, unit)), unit)


@lowers("pow")
def power(context: Context, x: Any, y: Any) -> Value:
    if (
        isinstance(y, (int, float))
        and isinstance(x, Value)
        and float(y) == int(y)
        and (abs(y) <= 4 or kind_of(context.dtype) == INTEGERS)
    ):
        return _whole_power(context, x, int(y))
    if y in (0.5, -0.5):
        return apply("sqrt" if y > 0 else "rsqrt", *context.promoted(x))
    if kind_of(context.dtype) == INTEGERS:
        raise NotFused("a power of integers that is not a number of the program")
    return apply("pow", *context.promoted(x, y))


def _whole_power(context: Context, x: Value, y: int) -> Value:
    (base,) = context.promoted(x)
    if y < 0:
        return apply("reciprocal", _whole_power(context, x, -y))
    if y == 0:
        return _ones(base)
    half = _whole_power(context, x, y // 2) if y > 1 else base
    square = apply("mul", half, half) if y > 1 else base
    return apply("mul", square, base) if y > 1 and y % 2 else square


def _ones(x: Value) -> Value:
    return apply("where", apply("eq", x, x), number(1, x.dtype), number(1, x.dtype))


def _as_torch_takes_them(dtype: DType, low: int | None, high: int | None) -> tuple[int | None, int | None]:
    """Limits that the dtype holds, with the same results: others wrap around in some releases of torch, not in later ones."""
    kind = getattr(torch, dtype.name)
    ends = torch.tensor([torch.iinfo(kind).min, torch.iinfo(kind).max], dtype=kind)
    try:
        first, last = ends.clamp(low, high).tolist()
    except RuntimeError as error:  # this release has none for the dtype, or refuses the limits
        raise NotFused(f"clamp of {dtype.name} with the limits {low} and {high}: {error}") from error
    return None if low is None else first, None if high is None else last


@lowers("clamp", "hardtanh")
def clamp(context: Context, x: Value, *limits: Any, **named: Any) -> Value:
    low, high = (*limits, None, None)[:2]
    low, high = named.get("min", low), named.get("max", high)
    if "hardtanh" in str(context.node.target):
        low, high = (-1.0 if low is None else low), (1.0 if high is None else high)
    (x,) = context.promoted(x)
    if x.dtype.is_integer and all(one is None or type(one) is int for one in (low, high)):
        low, high = _as_torch_takes_them(x.dtype, low, high)
    if low is not None:
        x = apply("maximum", x, *context.promoted(low))
    return x if high is None else apply("minimum", x, *context.promoted(high))


@lowers("where")
def where(context: Context, condition: Value, x: Any, y: Any) -> Value:
    return apply("where", context.as_value(condition, BOOL), *context.promoted(x, y))


@lowers("isnan")
def is_nan(context: Context, x: Value) -> Value:
    return apply("ne", x, x)


@lowers("isinf")
def is_infinite(context: Context, x: Value) -> Value:
    if not x.dtype.is_float:
        return apply("ne", x, x)
    return apply("eq", apply("abs", x), number(math.inf, x.dtype))


@lowers("gelu")
def gelu(context: Context, x: Value, approximate: str = "none") -> Value:
    half, one = number(0.5, x.dtype), number(1.0, x.dtype)
    if approximate == "none":
        inner = apply("erf", apply("mul", x, number(math.sqrt(0.5), x.dtype)))
    else:
        cube = apply("mul", apply("mul", x, x), x)
        sum_ = apply("add", x, apply("mul", cube, number(0.044715, x.dtype)))
        inner = apply("tanh", apply("mul", sum_, number(math.sqrt(2 / math.pi), x.dtype)))
    return apply("mul", apply("mul", half, x), apply("add", one, inner))


@lowers("leaky_relu")
def leaky_relu(context: Context, x: Value, slope: float = 0.01) -> Value:
    zero = number(0.0, x.dtype)
    return apply("where", apply("gt", x, zero), x, apply("mul", x, number(slope, x.dtype)))


@lowers("rrelu_with_noise_functional")
def randomized_relu(
    context: Context, x: Value, noise: Value, low: float = 1 / 8, high: float = 1 / 3, is_trained: bool = False, *more: Any
) -> tuple[Value, Value]:
    if is_trained:
        raise NotFused("random numbers (rrelu)")
    return leaky_relu(context, x, (low + high) / 2), noise


@lowers("elu")
def elu(context: Context, x: Value, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Value:
    low = apply("mul", apply("expm1", apply("mul", x, number(input_scale, x.dtype))), number(alpha * scale, x.dtype))
    return apply("where", apply("gt", x, number(0.0, x.dtype)), apply("mul", x, number(scale, x.dtype)), low)


@lowers("_to_copy")
def to_copy(context: Context, x: Value, *args: Any, **named: Any) -> Value:
    return converted(x, context.given[0], dtype_of(context.meta.dtype))


def converted(x: Value, given: Any, dtype: DType) -> Value:
    """x, which torch has as `given`, in another dtype. Short floats are rounded, and calculated with as float32."""
    return x if dtype_of(given.dtype) == dtype else cast(cast(x, dtype), calculated(dtype))


@lowers("clone", "alias", "lift_fresh_copy", "lift_fresh")
def same(context: Context, x: Value, **named: Any) -> Value:
    return x


@lowers("copy")
def copy(context: Context, x: Value, source: Value, *more: Any) -> Value:
    source = converted(source, context.given[1], dtype_of(context.meta.dtype))
    return to_shape(source, [x.factors(dim) for dim in range(x.rank)])


@lowers("scalar_tensor")
def scalar_tensor(context: Context, x: Any, **named: Any) -> Value:
    return number(fixed_number(x, "a tensor"), context.dtype)


@lowers("_assert_tensor_metadata", "sym_constrain_range_for_size", "_assert_scalar")
def nothing(context: Context, *args: Any, **named: Any) -> None:
    return None
