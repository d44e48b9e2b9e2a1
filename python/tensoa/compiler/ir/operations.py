# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The one table of functions of numbers: what each means, and its text in CUDA C++.

A new elementwise function is one line here: front ends whose operators have the same name take it as it is, bounds and
passes know what they need, and the back end has its code.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Bound = Callable[[Sequence[float]], float]


def _unbounded(_: Sequence[float]) -> float:
    return math.inf


def _one(_: Sequence[float]) -> float:
    return 1.0


def _next_integer(bounds: Sequence[float]) -> float:
    return math.ceil(bounds[0]) if math.isfinite(bounds[0]) else math.inf


def _product(bounds: Sequence[float]) -> float:
    return math.prod(bounds) if all(map(math.isfinite, bounds)) else math.inf


def _where(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.where(x != 0, y, z)


def _bfloat16(x: np.ndarray) -> np.ndarray:
    """The nearest numbers of bfloat16."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(x), np.nan, rounded)


@dataclass(frozen=True)
class Function:
    """A function of one, two or three numbers, the same in every place of a row."""

    name: str
    arity: int
    numpy: Callable[..., np.ndarray]  # what it means, of float64 arrays
    cuda: str  # an expression of x, y, z, floats
    keeps_zero: bool = False  # zeros give zero, so that padding stays zero
    is_truth: bool = False  # a comparison: the result is 0 or 1
    bound: Bound = _unbounded  # the largest absolute value of the result, from those of the arguments
    double: str = ""  # C++ of x, y, z, which are double; nothing where there is no such function

    @property
    def parameters(self) -> str:
        return "xyz"[: self.arity]


@dataclass(frozen=True)
class Reduction:
    """A function of all numbers of a group, or (but the mean) of all rows with an index. NaN stays NaN."""

    name: str
    numpy: Callable[..., np.ndarray]  # with `axis`
    functor: str  # of two numbers, in kernels/buffers.cuh
    cuda: str  # an expression of x and y
    start: float  # what changes no other number
    is_mean: bool = False  # divided by the count in the end


FUNCTIONS: dict[str, Function] = {}


def _add(name: str, arity: int, numpy: Callable[..., np.ndarray], cuda: str = "", **more: object) -> None:
    """CUDA has most functions of one number by their name."""
    more.setdefault("double", f"{name}({', '.join('xyz'[:arity])})")
    FUNCTIONS[name] = Function(name, arity, numpy, cuda or f"{name}f(x)", **more)  # type: ignore[arg-type]


_add("identity", 1, np.copy, "x", double="x", keeps_zero=True, bound=max)
_add("neg", 1, np.negative, "-x", double="-x", keeps_zero=True, bound=_next_integer)
_add("abs", 1, np.abs, "fabsf(x)", double="fabs(x)", keeps_zero=True, bound=_next_integer)
_add("sqrt", 1, np.sqrt, keeps_zero=True)
_add("rsqrt", 1, lambda x: 1 / np.sqrt(x), "1.f / sqrtf(x)", double="1.0 / sqrt(x)")
_add("reciprocal", 1, lambda x: 1 / x, "1.f / x", double="1.0 / x")
_add("exp", 1, np.exp)
_add("exp2", 1, np.exp2, "exact_exp2(x)")
_add("expm1", 1, np.expm1, keeps_zero=True)
_add("log", 1, np.log)
_add("log2", 1, np.log2, "exact_log2(x)")
_add("log10", 1, np.log10, "exact_log10(x)")
_add("log1p", 1, np.log1p, keeps_zero=True)
_add("sin", 1, np.sin, keeps_zero=True, bound=_one)
_add("cos", 1, np.cos, bound=_one)
_add("tan", 1, np.tan, keeps_zero=True)
_add("tanh", 1, np.tanh, keeps_zero=True, bound=_one)
_add("sinh", 1, np.sinh, keeps_zero=True)
_add("cosh", 1, np.cosh)
_add("asinh", 1, np.arcsinh, keeps_zero=True)
_add("acosh", 1, np.arccosh)
_add("atanh", 1, np.arctanh, keeps_zero=True)
_add("atan", 1, np.arctan, keeps_zero=True)
_add("asin", 1, np.arcsin, keeps_zero=True)
_add("acos", 1, np.arccos)
_add("sigmoid", 1, lambda x: 1 / (1 + np.exp(-x)), "sigmoid(x)", double="1.0 / (1.0 + exp(-x))", bound=_one)
_add("relu", 1, lambda x: np.maximum(x, 0), "maximum(x, 0.f)", double="x < 0.0 ? 0.0 : x", keeps_zero=True)
_add("erf", 1, np.vectorize(math.erf, otypes=[float]), keeps_zero=True, bound=_one)
_add("erfc", 1, np.vectorize(math.erfc, otypes=[float]))
_add("floor", 1, np.floor, keeps_zero=True)
_add("ceil", 1, np.ceil, keeps_zero=True)
_add("round", 1, np.round, "rintf(x)", double="rint(x)", keeps_zero=True)
_add("trunc", 1, np.trunc, keeps_zero=True)
_add(  # a float as an integer, which is never -0: y for what is no number
    "to_integer",
    2,
    lambda x, y: _where(np.isnan(x), y, np.trunc(x) + 0),
    "x == x ? truncf(x) + 0.f : y",
    double="x == x ? trunc(x) + 0.0 : y",
    keeps_zero=True,
)
_add(
    "sign",
    1,
    np.sign,
    "float((x > 0.f) - (x < 0.f))",
    double="(x > 0.0 ? 1.0 : 0.0) - (x < 0.0 ? 1.0 : 0.0)",
    keeps_zero=True,
    bound=_one,
)
_add("to_float16", 1, lambda x: x.astype(np.float16), "half_to_float(to_halves(x, 0.f))", double="", keeps_zero=True)
_add("to_bfloat16", 1, _bfloat16, "__uint_as_float(to_bfloats(x, 0.f) << 16)", double="", keeps_zero=True)
_add("add", 2, np.add, "x + y", double="x + y", keeps_zero=True, bound=sum)
_add("sub", 2, np.subtract, "x - y", double="x - y", keeps_zero=True, bound=sum)
_add("mul", 2, np.multiply, "x * y", double="x * y", keeps_zero=True, bound=_product)
_add("div", 2, np.divide, "x / y", double="x / y")
_add("minimum", 2, np.minimum, "minimum(x, y)", double="(x < y) | (x != x) ? x : y", keeps_zero=True)
_add("maximum", 2, np.maximum, "maximum(x, y)", double="(x > y) | (x != x) ? x : y", keeps_zero=True)
_add("pow", 2, np.power, "powf(x, y)")
_add("atan2", 2, np.arctan2, "atan2f(x, y)", keeps_zero=True)
_add("fmod", 2, np.fmod, "fmodf(x, y)", bound=min)
_add("hypot", 2, np.hypot, "hypotf(x, y)", keeps_zero=True)
_add("lt", 2, np.less, "float(x < y)", double="x < y ? 1.0 : 0.0", keeps_zero=True, is_truth=True, bound=_one)
_add("le", 2, np.less_equal, "float(x <= y)", double="x <= y ? 1.0 : 0.0", is_truth=True, bound=_one)
_add("gt", 2, np.greater, "float(x > y)", double="x > y ? 1.0 : 0.0", keeps_zero=True, is_truth=True, bound=_one)
_add("ge", 2, np.greater_equal, "float(x >= y)", double="x >= y ? 1.0 : 0.0", is_truth=True, bound=_one)
_add("eq", 2, np.equal, "float(x == y)", double="x == y ? 1.0 : 0.0", is_truth=True, bound=_one)
_add("ne", 2, np.not_equal, "float(x != y)", double="x != y ? 1.0 : 0.0", keeps_zero=True, is_truth=True, bound=_one)
_add("where", 3, _where, "x != 0.f ? y : z", double="x != 0.0 ? y : z", bound=lambda bounds: max(bounds[1:]))

REDUCTIONS = {
    reduction.name: reduction
    for reduction in (
        Reduction("sum", np.sum, "Sum", "x + y", 0.0),
        Reduction("mean", np.mean, "Sum", "x + y", 0.0, is_mean=True),
        Reduction("amax", np.max, "Largest", "maximum(x, y)", -math.inf),
        Reduction("amin", np.min, "Smallest", "minimum(x, y)", math.inf),
    )
}
