# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Layouts: a tuple that says, for each position of the tiles of 8, which number of the row lies there; -1 is padding."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def contiguous(width: int) -> tuple[int, ...]:
    return tuple(range(width)) + (-1,) * (-width % 8)


def spread(numbers: Array, layout: tuple[int, ...]) -> Array:
    """An array of numbers in the order of a layout, with zeros as padding. Works on the first axis."""
    at = np.array(layout)
    result = np.zeros((len(layout), *numbers.shape[1:]), numbers.dtype)
    result[at >= 0] = numbers[at[at >= 0]]
    return result


def mask_text(masks: tuple[int, ...]) -> str:
    """A C++ expression of n that gives masks[n]."""
    text = "0xffu"
    for n, mask in enumerate(masks):
        if mask != 0xFF:
            text = f"n == {n} ? {mask:#x}u : {text}"
    return text
