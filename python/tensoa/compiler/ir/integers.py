# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of a column of integers with constants, before its numbers become float32 or an index.

It is exact, and wraps around where torch does: in the dtype of the tensor. The steps of an `input` or `index` (program.py)
are done one after another.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tensoa.dtypes import DTYPES


class Step(NamedTuple):
    """`name` of STEPS with a constant; `dtype`: the name of that of the result."""

    name: str
    constant: int
    dtype: str


class _Meaning(NamedTuple):
    result: Callable  # of an integer (or an array) and the constant, before it wraps
    code: str  # C++ of {x}, its wide form {wide}, and the constant {number}, signed: {signed}


#: What each step does.
STEPS = {
    "add": _Meaning(lambda x, constant: x + constant, "{wide} + {number}"),
    "rsub": _Meaning(lambda x, constant: constant - x, "{number} - {wide}"),
    "mul": _Meaning(lambda x, constant: x * constant, "{wide} * {number}"),
    "abs": _Meaning(lambda x, constant: abs(x), "{x} < 0 ? 0 - {wide} : {wide}"),
    "maximum": _Meaning(np.maximum, "{x} < {signed} ? {signed} : {x}"),
    "minimum": _Meaning(np.minimum, "{x} > {signed} ? {signed} : {x}"),
    "cast": _Meaning(lambda x, constant: x, "{x}"),
}


def limits(dtype: str) -> tuple[int, int]:
    """(least, largest) of a dtype of integers or truth values, by its name."""
    found = DTYPES[dtype].limits
    if found is None:
        raise ValueError(f"{dtype} is no dtype of integers")
    return found


def interval(dtype: str, steps: Sequence[Step]) -> tuple[int, int]:
    """(least, largest) that a column of integers can have after the steps."""
    exact: dict[str, Callable] = {"maximum": max, "minimum": min}  # of Python's integers, which have no limits
    low, high = limits(dtype)
    for name, constant, result in steps:
        turns = [0] if name == "abs" and low < 0 < high else []
        ends = [exact.get(name, STEPS[name].result)(end, constant) for end in (low, high, *turns)]
        low, high = limits(result)
        if low <= min(ends) and max(ends) <= high:
            low, high = min(ends), max(ends)
    return low, high


def calculate(steps: Sequence[Step], numbers: np.ndarray) -> np.ndarray:
    """The steps on an int64 array."""
    for name, constant, dtype in steps:
        with np.errstate(over="ignore"):
            numbers = STEPS[name].result(numbers, np.int64(constant)).astype(dtype).astype(np.int64)
    return numbers


def code(steps: Sequence[Step], language: str) -> str:
    """A function of one integer in C++ for a back end. `language`: "cpp" or "cuda", as in DType."""
    lines = []
    for i, (name, constant, dtype) in enumerate(steps):
        number = f"{constant % 2**64}ull"
        text = STEPS[name].code.format(
            x=f"x{i}",
            wide=f"static_cast<unsigned long long>(x{i})",
            number=number,
            signed=f"static_cast<long long>({number})",
        )
        lines.append(f"const long long x{i + 1} = static_cast<{getattr(DTYPES[dtype], language)}>({text});")
    return f"[](long long x0) {{ {' '.join(lines)} return x{len(steps)}; }}"
