# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Memory between the stages of a program, for every back end."""

from collections.abc import Sequence
from typing import NamedTuple

Shape = tuple[int, int]  # (domain, size of a row)


class Life(NamedTuple):
    """A buffer of `value` is there from the stage `first` to the stage `last`. What has the same shape can take its place."""

    value: object
    shape: Shape
    first: int
    last: int


class Slots:
    """Where buffers lie: `of[id of a value]` is a slot, `shapes[slot]` what it holds. What is read no more is used again."""

    def __init__(self, lives: Sequence[Life]) -> None:
        self.of: dict[int, int] = {}
        self.shapes: list[Shape] = []
        free: dict[Shape, list[int]] = {}
        for at in range(max((life.last for life in lives), default=-1) + 1):
            for life in lives:
                if life.first == at:
                    slot = min(free.get(life.shape, []), default=None)
                    if slot is None:
                        slot = self.add(life.shape)
                    else:
                        free[life.shape].remove(slot)
                    self.of[id(life.value)] = slot
            for life in lives:
                if life.last == at:
                    free.setdefault(life.shape, []).append(self.of[id(life.value)])

    def add(self, shape: Shape) -> int:
        """Returns a new slot."""
        self.shapes.append(shape)
        return len(self.shapes) - 1
