# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers as columns of real data have them and random ones do not: equal, far from zero, tied, missing.

| kind | floats |
| --- | --- |
| equal | one number in all columns of a row, of 2^-3 to 2^13 and of both signs; or columns equal in pairs; or a second half
  of the columns that is equal to the first; or the row before. Blocks have equal first columns |
| far | normally distributed around a number of 2^10 to 2^20: in every other row the same one, else another in each row |
| tied | whole numbers from -3 to 3, in every other row sorted |
| missing | normally distributed; every other row is sorted and ends with one or two NaN |
"""

from collections.abc import Callable

import torch

EQUAL, FAR, TIED, MISSING = "equal", "far", "tied", "missing"
SCALE = {torch.float16: 2**6}  # of small, large and far numbers; others: 2^20


def _uniform(random: torch.Generator, low: float, high: float, *shape: int) -> torch.Tensor:
    return low + (high - low) * torch.rand(shape, generator=random)


def _signed(random: torch.Generator, exponents: torch.Tensor) -> torch.Tensor:
    """2^exponent, of both signs."""
    return torch.exp2(exponents) * (2 * torch.randint(0, 2, exponents.shape, generator=random) - 1)


def _equal(count: int, rows: int, most: float, random: torch.Generator) -> torch.Tensor:
    random = torch.Generator().manual_seed(rows)  # the same numbers in the first columns of all blocks
    numbers = torch.stack([_signed(random, _uniform(random, -3, min(13, most), rows)) for _ in range(count)])
    places, row = torch.arange(count), torch.arange(rows)
    numbers = torch.where(row % 4 == 1, numbers[places // 2 * 2], numbers)
    numbers = torch.where(row % 4 >= 2, numbers[places % -(-count // 2)], numbers)
    numbers = torch.where(row % 4 == 3, numbers.roll(1, 1), numbers)
    return torch.where(row % 4 == 0, numbers[:1], numbers)


def _far(count: int, rows: int, most: float, random: torch.Generator) -> torch.Tensor:
    centre = _signed(random, _uniform(random, most / 2, most, rows))
    centre = torch.where(torch.arange(rows) % 2 == 0, centre[:1], centre)
    return centre + torch.randn(count, rows, generator=random)


def _tied(count: int, rows: int, most: float, random: torch.Generator) -> torch.Tensor:
    numbers = torch.randint(-3, 4, (count, rows), generator=random).float()
    return torch.where(torch.arange(rows) % 2 == 0, numbers.sort(0).values, numbers)


def _missing(count: int, rows: int, most: float, random: torch.Generator) -> torch.Tensor:
    numbers = torch.randn(count, rows, generator=random)
    row, place = torch.arange(rows), torch.arange(count)[:, None]
    numbers = torch.where(row % 2 == 0, numbers.sort(0).values, numbers)
    return torch.where((row % 2 == 0) & (place >= count - 1 - row % 4 // 2), torch.nan, numbers)


REAL_ROWS: dict[str, Callable[[int, int, float, torch.Generator], torch.Tensor]] = {
    EQUAL: _equal,
    FAR: _far,
    TIED: _tied,
    MISSING: _missing,
}


def real_rows(kind: str, count: int, rows: int, dtype: torch.dtype, random: torch.Generator) -> torch.Tensor:
    """`count` columns of `rows` numbers, of a kind of the table above."""
    most = torch.log2(torch.tensor(float(SCALE.get(dtype, 2**20)))).item()
    return REAL_ROWS[kind](count, rows, most, random).to(dtype)
