# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of a column of integers with constants, before its numbers become float32 or an index.

It is exact, and wraps around where torch does: in the dtype of the tensor. A step is (name, constant, dtype), the dtype
that of its result; the steps of an `input` or `index` (graph.py) are done one after another.
"""

import torch

#: The result of each step, of Python's integers, before it wraps.
STEPS = {
    "add": lambda x, constant: x + constant,
    "rsub": lambda x, constant: constant - x,
    "mul": lambda x, constant: x * constant,
    "maximum": max,
    "minimum": min,
    "cast": lambda x, constant: x,
}


def limits(dtype):
    """(least, largest) of a dtype, by its name."""
    if dtype == "bool":
        return 0, 1
    info = torch.iinfo(getattr(torch, dtype))
    return info.min, info.max


def interval(dtype, steps):
    """(least, largest) that a column of integers can have after the steps."""
    low, high = limits(dtype)
    for name, constant, result in steps:
        ends = [STEPS[name](end, constant) for end in (low, high)]
        low, high = limits(result)
        if low <= min(ends) and max(ends) <= high:
            low, high = min(ends), max(ends)
    return low, high


def calculate(steps, numbers):
    """The steps on an int64 tensor."""
    for name, constant, dtype in steps:
        if name in ("maximum", "minimum"):
            numbers = getattr(torch, name)(numbers, torch.tensor(constant))
        else:
            numbers = STEPS[name](numbers, constant)
        numbers = numbers.to(getattr(torch, dtype)).to(torch.int64)
    return numbers


def code(steps, types):
    """A C++ function of one integer. `types`: of the dtypes."""
    lines = []
    for i, (name, constant, dtype) in enumerate(steps):
        x, number = f"x{i}", f"{constant % 2**64}ull"
        wide = f"static_cast<unsigned long long>({x})"
        text = {
            "add": f"{wide} + {number}",
            "rsub": f"{number} - {wide}",
            "mul": f"{wide} * {number}",
            "maximum": f"{x} < static_cast<long long>({number}) ? static_cast<long long>({number}) : {x}",
            "minimum": f"{x} > static_cast<long long>({number}) ? static_cast<long long>({number}) : {x}",
            "cast": x,
        }[name]
        lines.append(f"const long long x{i + 1} = static_cast<{types[dtype]}>({text});")
    return f"[](long long x0) {{ {' '.join(lines)} return x{len(steps)}; }}"
