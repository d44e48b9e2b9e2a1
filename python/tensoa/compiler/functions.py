# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions: what each means in NumPy, one line each.

Types: a function takes floats, integers or truth values as its row says; all arguments have one dtype (but the condition of
`where`), and the result has it, too, or is a truth value. Integers wrap around as their dtype does. What C++ leaves undefined
is defined here: an integer divided by zero is 0, a shift by less than 0 or by all bits gives what torch gives.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tensoa.dtypes import DType

Array = npt.NDArray[Any]
FLOATS, INTEGERS, BOOLS = "floats", "integers", "truth values"


def kind_of(dtype: DType) -> str:
    return FLOATS if dtype.is_float else BOOLS if dtype.is_bool else INTEGERS


@dataclass(frozen=True)
class Function:
    name: str
    arity: int
    takes: tuple[str, ...]  # kinds of dtypes
    numpy: Callable[..., Array]  # of arrays of the dtype itself
    is_truth: bool = False  # the result is a truth value
    is_cheap: bool = False  # as cheap to compute twice as to store and load
    is_exact: bool = True  # rounded once: every implementation gives the same bits

    @property
    def cpp(self) -> str:
        """The call of x, y, z in C++ (cpu/kernels/numbers.hpp, cuda/kernels/numbers.cuh)."""
        return f"{self.name}_of({', '.join('xyz'[: self.arity])})"


def _by_element(function: Callable[..., float]) -> Callable[..., Array]:
    def safe(*x: float) -> float:
        try:
            return function(*x)
        except (ValueError, OverflowError):
            return math.nan

    made = np.vectorize(safe, otypes=[float])
    return lambda x: made(np.asarray(x, np.float64)).astype(x.dtype)


def _wide(function: Callable[..., Array]) -> Callable[..., Array]:
    """Calculated in float64, rounded once."""
    return lambda *x: function(*(a.astype(np.float64) for a in x)).astype(x[0].dtype)


def _quotient(x: Array, y: Array) -> Array:
    """Truncated, of integers; the quotient of floats."""
    if x.dtype.kind == "f":
        return x / y
    return np.asarray((x - _rest(x, y)) // np.where(y == 0, 1, y) * (y != 0), x.dtype)


def _rest(x: Array, y: Array) -> Array:
    """With the sign of x."""
    if x.dtype.kind == "f":
        return np.fmod(x, y)
    return np.asarray(np.where(y == 0, 0, np.fmod(x, np.where(y == 0, 1, y))), x.dtype)


def _bits(x: Array) -> int:
    return x.dtype.itemsize * 8


def _left(x: Array, y: Array) -> Array:
    is_outside = (y < 0) | (y >= _bits(x))
    return np.asarray(np.where(is_outside, 0, x << np.where(is_outside, 0, y)), x.dtype)


def _right(x: Array, y: Array) -> Array:
    most = _bits(x) - (x.dtype.kind == "i")
    is_outside = (y < 0) | (y >= most)
    shifted = x >> np.where(is_outside, np.minimum(most, _bits(x) - 1), y).astype(x.dtype)
    return np.asarray(np.where(is_outside & (x.dtype.kind == "u"), 0, shifted), x.dtype)


def _sign(x: Array) -> Array:
    return np.asarray((x > 0).astype(x.dtype) - (x < 0).astype(x.dtype), x.dtype)


FUNCTIONS: dict[str, Function] = {}


def _add(name: str, arity: int, takes: tuple[str, ...], numpy: Callable[..., Array], **more: bool) -> None:
    FUNCTIONS[name] = Function(name, arity, takes, numpy, **more)


_NUMBERS = (FLOATS, INTEGERS)
_ALL = (FLOATS, INTEGERS, BOOLS)
for _name in "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh".split():
    _add(_name, 1, (FLOATS,), _wide(getattr(np, _name)), is_exact=False)
for _name in "asin acos atan asinh acosh atanh".split():
    _add(_name, 1, (FLOATS,), _wide(getattr(np, _name.replace("a", "arc", 1))), is_exact=False)
_add("erf", 1, (FLOATS,), _by_element(math.erf), is_exact=False)
_add("erfc", 1, (FLOATS,), _by_element(math.erfc), is_exact=False)
_add("sigmoid", 1, (FLOATS,), _wide(lambda x: np.asarray(1 / (1 + np.exp(-x)))), is_exact=False)
_add("sqrt", 1, (FLOATS,), np.sqrt)
_add("rsqrt", 1, (FLOATS,), lambda x: np.asarray(1 / np.sqrt(x), x.dtype), is_exact=False)
_add("reciprocal", 1, (FLOATS,), lambda x: np.asarray(1 / x, x.dtype))
for _name in "floor ceil trunc".split():
    _add(_name, 1, (FLOATS,), getattr(np, _name))
_add("round", 1, (FLOATS,), np.rint)
_add("neg", 1, _NUMBERS, np.negative, is_cheap=True)
_add("abs", 1, _NUMBERS, np.abs, is_cheap=True)
_add("sign", 1, _NUMBERS, _sign)
_add("relu", 1, _NUMBERS, lambda x: np.where(x < 0, np.zeros_like(x), x), is_cheap=True)
_add("not", 1, (INTEGERS, BOOLS), np.invert, is_cheap=True)
_add("add", 2, _NUMBERS, np.add, is_cheap=True)
_add("sub", 2, _NUMBERS, np.subtract, is_cheap=True)
_add("mul", 2, _NUMBERS, np.multiply, is_cheap=True)
_add("fma", 3, (FLOATS,), _wide(lambda x, y, z: x * y + z), is_exact=False, is_cheap=True)
_add("div", 2, _NUMBERS, _quotient)
_add("fmod", 2, _NUMBERS, _rest)
_add("minimum", 2, _NUMBERS, np.minimum, is_cheap=True)
_add("maximum", 2, _NUMBERS, np.maximum, is_cheap=True)
_add("pow", 2, (FLOATS,), _wide(np.power), is_exact=False)
_add("atan2", 2, (FLOATS,), _wide(np.arctan2), is_exact=False)
_add("logaddexp", 2, (FLOATS,), _wide(np.logaddexp), is_exact=False)
_add("hypot", 2, (FLOATS,), _wide(np.hypot), is_exact=False)
_add("and", 2, (INTEGERS, BOOLS), np.bitwise_and, is_cheap=True)
_add("or", 2, (INTEGERS, BOOLS), np.bitwise_or, is_cheap=True)
_add("xor", 2, (INTEGERS, BOOLS), np.bitwise_xor, is_cheap=True)
_add("shl", 2, (INTEGERS,), _left)
_add("shr", 2, (INTEGERS,), _right)
_add("lt", 2, _ALL, np.less, is_truth=True, is_cheap=True)
_add("le", 2, _ALL, np.less_equal, is_truth=True, is_cheap=True)
_add("gt", 2, _ALL, np.greater, is_truth=True, is_cheap=True)
_add("ge", 2, _ALL, np.greater_equal, is_truth=True, is_cheap=True)
_add("eq", 2, _ALL, np.equal, is_truth=True, is_cheap=True)
_add("ne", 2, _ALL, np.not_equal, is_truth=True, is_cheap=True)
_add("where", 3, _ALL, np.where, is_cheap=True)


@dataclass(frozen=True)
class Joining:
    """A function of two numbers that reductions, scans and scatters repeat; NaN stays NaN."""

    name: str
    takes: tuple[str, ...]
    numpy: np.ufunc
    is_choice: bool = False  # the result is one of the two


JOININGS = {
    joining.name: joining
    for joining in (
        Joining("sum", _NUMBERS, np.add),
        Joining("prod", _NUMBERS, np.multiply),
        Joining("max", _ALL, np.maximum, is_choice=True),
        Joining("min", _ALL, np.minimum, is_choice=True),
        Joining("logaddexp", (FLOATS,), np.logaddexp),
    )
}


def start_of(name: str, dtype: DType) -> int | float:
    """The result of joining no number at all, which changes no other number."""
    if name in ("sum", "prod"):
        return int(name == "prod")
    if dtype.limits is None:
        return math.inf if name == "min" else -math.inf
    return dtype.limits[0 if name == "max" else 1]
