# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Fixed-point numbers, as the types ap_fixed and ap_ufixed of HLS have them, in tensors of floats.

A tensor holds whole numbers: values in steps of 2^-fraction. As long as all of them, and all that is made on the way, are
below 2^24 in float32 or 2^53 in float64, nothing is rounded but where a type says so, and the order of sums does not matter.
"""

from dataclasses import dataclass

import torch
from torch import nn

from tensoa.errors import InputError

ROUNDING = ("TRN", "TRN_ZERO", "RND", "RND_ZERO", "RND_INF", "RND_MIN_INF", "RND_CONV")
OVERFLOW = ("WRAP", "SAT", "SAT_ZERO", "SAT_SYM")


@dataclass(frozen=True)
class Range:
    """Whole numbers, in steps of 2^-fraction."""

    fraction: int
    least: int
    largest: int

    @property
    def bits(self) -> int:
        """Of the largest magnitude."""
        return max(abs(self.least), abs(self.largest)).bit_length()

    def shifted(self, shift: int) -> "Range":
        """In other steps, rounded outwards."""
        ends = (-(-self.largest >> -shift), self.least >> -shift) if shift < 0 else (self.largest << shift, self.least << shift)
        return Range(self.fraction + shift, ends[1], ends[0])


@dataclass(frozen=True)
class Fixed:
    """`integer` of the `width` bits are before the point, one of them the sign. Raises InputError for what no type is."""

    width: int
    integer: int
    is_signed: bool = True
    rounding: str = "TRN"
    overflow: str = "WRAP"

    def __post_init__(self) -> None:
        for what, got, modes in (("rounding", self.rounding, ROUNDING), ("overflow", self.overflow, OVERFLOW)):
            if got not in modes:
                raise InputError(f"{what} {got}: expected one of {', '.join(modes)}")
        if not 0 < self.width <= 64 or abs(self.integer) > 128:
            raise InputError(f"{self}: expected 1 to 64 bits")

    def __str__(self) -> str:
        return f"ap_{'' if self.is_signed else 'u'}fixed<{self.width},{self.integer},{self.rounding},{self.overflow}>"

    @property
    def range(self) -> Range:
        largest = 2 ** (self.width - self.is_signed) - 1
        least = 0 if not self.is_signed else -largest if self.overflow == "SAT_SYM" else -largest - 1
        return Range(self.width - self.integer, least, largest)

    def overflowed(self, x: torch.Tensor) -> torch.Tensor:
        """Of whole numbers in the steps of this type, those of its range that the overflow mode puts in their place."""
        least, largest = float(self.range.least), float(self.range.largest)
        if self.overflow in ("SAT", "SAT_SYM"):
            return torch.clamp(x, least, largest)
        if self.overflow == "SAT_ZERO":
            return torch.where((x < least) | (x > largest), 0.0, x)
        count = 2.0**self.width
        rest = x - torch.floor(x * (1 / count)) * count
        return torch.where(rest > largest, rest - count, rest) if self.is_signed else rest


def rounded(x: torch.Tensor, mode: str) -> torch.Tensor:
    """Whole numbers. What is after the point is exact, where x + 0.5 and x - floor(x) would be rounded."""
    if mode == "TRN":
        return torch.floor(x)
    if mode == "RND_CONV":
        return torch.round(x)
    whole = torch.trunc(x)
    if mode == "TRN_ZERO":
        return whole
    rest = (x - whole).abs()
    below_zero = x < 0
    if mode in ("RND_INF", "RND_ZERO"):
        is_away = rest >= 0.5 if mode == "RND_INF" else rest > 0.5
    else:
        goes_away = below_zero if mode == "RND_MIN_INF" else ~below_zero  # of halves
        is_away = (rest > 0.5) | ((rest == 0.5) & goes_away)
    return torch.where(is_away, whole + torch.where(below_zero, -1.0, 1.0), whole)


class Layer(nn.Module):
    """`range`: the numbers that it gives, None where they are any floats; `bits`: of the largest that it has on the way."""

    range: Range | None
    bits: int


class Cast(Layer):
    """Numbers of `given`, or any floats, become those of a type."""

    def __init__(self, given: Range | None, to: Fixed) -> None:
        super().__init__()
        self.to_type = to
        self.shift = to.range.fraction - (given.fraction if given is not None else 0)
        self.rounds = given is None or self.shift < 0
        before = given.shifted(self.shift) if given is not None else None
        self.overflows = before is None or before.least < to.range.least or before.largest > to.range.largest
        self.range = before if before is not None and not self.overflows else to.range
        self.bits = max(to.width, before.bits if before is not None else 0, given.bits if given is not None else 0)
        if given is None and self.shift < 0:
            self.bits = max(self.bits, 25)  # of float64: the smallest of float32 would become 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.shift:
            x = x * 2.0**self.shift
        if self.rounds:
            x = rounded(x, self.to_type.rounding)
        return self.to_type.overflowed(x) if self.overflows else x
