# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Layouts: a tuple that says, for each position of the tiles of 8, which number of the row lies there; -1 is padding. None:
one number, which all lanes hold.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tensoa.compiler.ir import Value, Visitor

Layout = tuple[int, ...] | None

NARROW = 8  # a part of a pack that is less wide is moved number by number
ONE = (0,) + (-1,) * 7  # one number in a tile of its own


def contiguous(width: int) -> tuple[int, ...]:
    return tuple(range(width)) + (-1,) * (-width % 8)


def of_words(width: int) -> tuple[int, ...]:
    """The high words of numbers of float64 in tiles of their own, then the low ones."""
    high = contiguous(width // 2)
    return high + tuple(i + width // 2 if i >= 0 else -1 for i in high)


class Tiles(NamedTuple):
    """A part of a pack that keeps its tiles: `tiles` of them from `first` on, with the numbers from `start` to `stop`."""

    value: Value
    first: int
    tiles: int
    start: int
    stop: int

    @property
    def width(self) -> int:
        return self.stop - self.start

    @property
    def is_whole(self) -> bool:
        return self.width == self.value.width


class Numbers(NamedTuple):
    """A part of a pack that is moved number by number: (value, number in its row)."""

    numbers: list[tuple[Value, int]]

    @property
    def width(self) -> int:
        return len(self.numbers)


Piece = Tiles | Numbers


def _pieces(value: Value, layout_of: Callable[[Value], Layout]) -> list[Piece]:
    pieces: list[Piece] = []
    for argument, (start, stop) in zip(value.args, value.ranges):
        if stop - start < NARROW:
            last = pieces[-1] if pieces else None
            if not isinstance(last, Numbers):
                last = Numbers([])
                pieces.append(last)
            last.numbers.extend((argument, number) for number in range(start, stop))
        else:
            used = [i // 8 for i, number in enumerate(layout_of(argument)) if start <= number < stop]
            pieces.append(Tiles(argument, min(used), max(used) + 1 - min(used), start, stop))
    return pieces


class Layouts(Visitor):
    """The layout of every value."""

    def __init__(self) -> None:
        self._known: dict[Value, Layout] = {}

    def __call__(self, value: Value) -> Layout:
        if value not in self._known:
            self._known[value] = None if value.width == 1 else self.visit(value)
        return self._known[value]

    def _contiguous(self, value: Value) -> Layout:
        return contiguous(value.width)

    of_input = of_constant = of_linear = of_order = of_lookup = of_attend = of_nearest = _contiguous
    of_regroup = of_multiply = of_pick = of_fold = _contiguous

    def of_norm(self, value: Value) -> Layout:
        return self(value.args[0])

    of_gather = of_scatter = of_norm

    def of_map(self, value: Value) -> Layout:
        wide = [argument for argument in value.args if argument.width == value.width]
        return self(next((argument for argument in wide if argument.op != "constant"), wide[0]))

    def of_double(self, value: Value) -> Layout:
        return contiguous(value.width) if value.is_short else of_words(value.width)

    def of_pack(self, value: Value) -> Layout:
        return tuple(number for _, part in self.pack(value) for number in part)

    def pack(self, value: Value) -> list[tuple[Piece, tuple[int, ...]]]:
        """Its pieces, each with the layout of its tiles in numbers of the pack."""
        result, number = [], 0
        for piece in _pieces(value, self):
            if isinstance(piece, Numbers):
                part = tuple(range(number, number + piece.width)) + (-1,) * (-piece.width % 8)
            else:
                at = self(piece.value)[8 * piece.first : 8 * (piece.first + piece.tiles)]
                part = tuple(number + i - piece.start if piece.start <= i < piece.stop else -1 for i in at)
            result.append((piece, part))
            number += piece.width
        return result


def spread(numbers: np.ndarray, layout: tuple[int, ...]) -> np.ndarray:
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
