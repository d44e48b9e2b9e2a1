# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Layouts of values in fragments: which element of the row lies at each position of tiles of 8; -1 is padding.

The order is free, since weights are packed in the same one. Sixteen neighbours in memory take two tiles, so that each lane of
a quad has four of them; parts of a value that are read by themselves have tiles of their own.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tensoa.compiler.functions import Array

Layout = tuple[int, ...]
TILE = 8
FOURS = tuple(4 * (column // 2) + 2 * tile + column % 2 for tile in range(2) for column in range(TILE))  # of two tiles


class Piece(NamedTuple):
    """Tiles from `tile` on, whose `size` numbers are neighbours from `first` on; 16 of them are in fours."""

    tile: int
    first: int
    size: int

    @property
    def kind(self) -> str:
        """The end of the name of the functions that move it, which are given its size where it is one tile."""
        return "four" if self.size == len(FOURS) else "some"

    def arguments(self, row: str) -> str:
        return f"{self.tile}, {row}, {self.first}" + ("" if self.size == len(FOURS) else f", {self.size}")


def layout_of(size: int, starts: Sequence[int] = (), has_fours: bool = True) -> Layout:
    """Of `size` elements in order; at each of `starts` a new tile begins."""
    bounds = sorted({0, size, *starts})
    found: list[int] = []
    for start, stop in zip(bounds, bounds[1:]):
        while has_fours and stop - start >= len(FOURS) and start % 4 == 0:
            found += [start + place for place in FOURS]
            start += len(FOURS)
        found += [*range(start, stop), *[-1] * (-(stop - start) % TILE)]
    return tuple(found)


def in_a_row(size: int) -> Layout:
    """Of neighbours in neighbouring positions, as planes of columns are read."""
    return (*range(size), *[-1] * (-size % TILE))


def tiles_of(layout: Layout) -> list[Layout]:
    return [layout[i : i + TILE] for i in range(0, len(layout), TILE)]


def pieces_of(layout: Layout) -> list[Piece] | None:
    """Its neighbours in memory, where each tile has some; None where not."""
    found, tiles, n = list[Piece](), tiles_of(layout), 0
    while n < len(tiles):
        both, first = [*tiles[n], *(tiles[n + 1] if n + 1 < len(tiles) else ())], tiles[n][0]
        count = sum(element >= 0 for element in tiles[n])
        if first >= 0 and first % 4 == 0 and both == [first + place for place in FOURS]:
            found.append(Piece(n, first, len(FOURS)))
            n += 2
        elif first >= 0 and tiles[n] == (*range(first, first + count), *[-1] * (TILE - count)):
            found.append(Piece(n, first, count))
            n += 1
        else:
            return None
    return found


def sources_of(wanted: Array, target: Layout, source: Layout) -> list[int] | None:
    """For each tile of `target`, the tile of `source` that has the element `wanted` at each position; None where none has."""
    tiles, found = tiles_of(source), list[int]()
    for n, own in enumerate(tiles_of(target)):
        here = [int(wanted[TILE * n + i]) if element >= 0 else None for i, element in enumerate(own)]
        same = [m for m, tile in enumerate(tiles) if all(one is None or one == other for one, other in zip(here, tile))]
        if not same:
            return None
        found.append(next((m for m in same if found and m == found[-1] + 1), same[0]))
    return found


def taken(read: Array, source: Layout) -> Layout | None:
    """The layout of a value whose element e is element read[e] of one in the layout `source`: of the tiles that have them; None
    where an element is read twice.
    """
    elements = {int(element): e for e, element in enumerate(read)}
    if len(elements) < len(read) or not set(elements) <= set(source):
        return None
    tiles = [tuple(elements.get(element, -1) for element in tile) for tile in tiles_of(source)]
    return tuple(element for tile in tiles if max(tile) >= 0 for element in tile)


def inside(layout: Layout) -> str:
    """C++ of n and i, whether a position of lane `warp.quad` is not padding; nothing where all are."""
    masks = [sum(1 << i for i, element in enumerate(tile) if element >= 0) for tile in tiles_of(layout)]
    if all(mask == 0xFF for mask in masks):
        return ""
    return f"(({mask_text(masks)}) >> (2 * warp.quad + (i & 1)) & 1u)"


def mask_text(masks: Sequence[int]) -> str:
    """A C++ expression of n that gives masks[n], in which bit i says whether position i of tile n is not padding."""
    text = "0xffu"
    for n, mask in enumerate(masks):
        text = text if mask == 0xFF else f"n == {n} ? {mask:#x}u : {text}"
    return text


def spread(numbers: Array, layout: Layout) -> Array:
    """An array of numbers in the order of a layout, with zeros as padding. Works on the first axis."""
    at = np.array(layout)
    result = np.zeros((len(layout), *numbers.shape[1:]), numbers.dtype)
    result[at >= 0] = numbers[at[at >= 0]]
    return result


def places(layout: Layout) -> Array:
    """The element at each position; of padding, the first one."""
    return np.array(layout).clip(min=max(0, min(element for element in layout if element >= 0)))
