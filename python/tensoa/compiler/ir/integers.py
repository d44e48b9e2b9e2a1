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


def _bits(low: int, high: int, constant: int) -> tuple[int, int] | None:
    """Of numbers that are not negative: none has more bits than these."""
    return None if low < 0 or constant < 0 else (0, (1 << max(high, constant).bit_length()) - 1)


class _Meaning(NamedTuple):
    result: Callable  # of an integer (or an array) and the constant, before it wraps
    code: str  # C++ of {x}, its wide form {wide}, and the constant {number}, signed: {signed}
    #: (least, largest) result of numbers from `low` to `high`, None where that is not known; where none: those of the ends.
    ends: Callable[[int, int, int], tuple[int, int] | None] | None = None


#: What each step does.
STEPS = {
    "add": _Meaning(lambda x, constant: x + constant, "{wide} + {number}"),
    "rsub": _Meaning(lambda x, constant: constant - x, "{number} - {wide}"),
    "mul": _Meaning(lambda x, constant: x * constant, "{wide} * {number}"),
    "abs": _Meaning(
        lambda x, constant: abs(x),
        "{x} < 0 ? 0 - {wide} : {wide}",
        lambda low, high, constant: (max(low, -high, 0), max(-low, high)),
    ),
    "maximum": _Meaning(np.maximum, "{x} < {signed} ? {signed} : {x}"),
    "minimum": _Meaning(np.minimum, "{x} > {signed} ? {signed} : {x}"),
    # of a constant above zero:
    "remainder": _Meaning(
        lambda x, constant: x % constant,
        "{x} % {signed} + ({x} % {signed} < 0 ? {signed} : 0)",
        lambda low, high, constant: (0, constant - 1),
    ),
    "floor_divide": _Meaning(lambda x, constant: x // constant, "{x} / {signed} - ({x} % {signed} < 0)"),
    "bitwise_and": _Meaning(
        lambda x, constant: x & constant,
        "{x} & {signed}",
        lambda low, high, constant: (0, constant) if constant >= 0 else None,
    ),
    "bitwise_or": _Meaning(lambda x, constant: x | constant, "{x} | {signed}", _bits),
    "bitwise_xor": _Meaning(lambda x, constant: x ^ constant, "{x} ^ {signed}", _bits),
    "left_shift": _Meaning(lambda x, constant: x << constant, "{wide} << {signed}"),
    "right_shift": _Meaning(lambda x, constant: x >> constant, "{x} >> {signed}"),
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
        known = STEPS[name].ends
        function = exact.get(name, STEPS[name].result)
        ends = known(low, high, constant) if known is not None else [function(end, constant) for end in (low, high)]
        low, high = limits(result)
        if ends is not None and low <= min(ends) and max(ends) <= high:
            low, high = min(ends), max(ends)
    return low, high


def calculate(steps: Sequence[Step], numbers: np.ndarray) -> np.ndarray:
    """The steps on an int64 array."""
    for name, constant, dtype in steps:
        with np.errstate(over="ignore"):
            numbers = STEPS[name].result(numbers, np.int64(constant)).astype(dtype).astype(np.int64)
    return numbers


def code(steps: Sequence[Step]) -> str:
    """A function of one integer in CUDA C++."""
    lines = []
    for i, (name, constant, dtype) in enumerate(steps):
        number = f"{constant % 2**64}ull"
        text = STEPS[name].code.format(
            x=f"x{i}",
            wide=f"static_cast<unsigned long long>(x{i})",
            number=number,
            signed=f"static_cast<long long>({number})",
        )
        lines.append(f"const long long x{i + 1} = static_cast<{DTYPES[dtype].cuda}>({text});")
    return f"[](long long x0) {{ {' '.join(lines)} return x{len(steps)}; }}"
