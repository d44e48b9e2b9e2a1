# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Memory between kernels: which buffer each tensor has, how long, and who sets sums to what they begin with."""

import math
from collections.abc import Callable

from tensoa.compiler import operations as ops
from tensoa.compiler.errors import NotFused
from tensoa.compiler.functions import start_of
from tensoa.compiler.program import Program
from tensoa.compiler.schedule.addresses import elements_of, strides_of, width_of
from tensoa.compiler.schedule.bodies import CACHE, LANES
from tensoa.compiler.schedule.buffers import Life, Slots
from tensoa.compiler.schedule.memory import place
from tensoa.compiler.schedule.nests import Nest, Nests, nests_of
from tensoa.compiler.schedule.stages import ONE, Stage, stages_of, symbol_of
from tensoa.compiler.tensors import Tensor


def pitch_of(tensor: Tensor) -> int:
    """Elements from row to row of a buffer."""
    width = width_of(tensor.dtype)
    size = elements_of(tensor) * width
    return (-(-size // 16) * 16 if size > 8 else size) // width


class Memory:
    """The schedule of a program, and what lies between its kernels. Raises NotFused.

    `clears[i]`: sums that stage i sets to their start, for a later one; `before[i]`: those that are set in a step before it.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.orders: dict[Tensor, tuple[int, ...]] = {}
        self.stages = [nests_of(stage, self.orders, rooms=(LANES, CACHE)) for stage in stages_of(program)]
        self.stored = dict.fromkeys(x for nests in self.stages for x in nests.stage.stored)
        self.clears: dict[int, list[Tensor]] = {i: [] for i in range(len(self.stages))}
        self.before: dict[int, list[Tensor]] = {i: [] for i in range(len(self.stages))}
        self.home = self._home()
        slots = Slots(self._lives())
        self.shapes = slots.shapes
        self.slots = {tensor: slots.of[id(tensor)] for tensor in self.stored}
        for nests in self.stages:
            self.place(nests)

    def place(self, nests: Nests, overwritten: Callable[[Nest], Tensor | None] = lambda _: None) -> None:
        """Gives the roots of a stage their scratch memory."""
        place(nests, {root for root in nests.roots.reasons if not self.has_scratch(root, nests.stage)}, overwritten)

    def has_scratch(self, root: Tensor, stage: Stage) -> bool:
        """Results of earlier kernels are read where they lie."""
        return root not in stage.earlier

    def domain(self, symbol: str) -> int:
        return self.home if symbol == ONE else self.program.rows.index(symbol)

    def rows_text(self, symbol: str) -> str:
        """In C++. What there is once is there where rows read it."""
        rows = f"p.rows[{self.domain(symbol)}]"
        return f"int64{{{rows} > 0}}" if symbol == ONE else rows

    def strides(self, tensor: Tensor) -> list[int]:
        return strides_of(tensor, self.orders.get(tensor))

    def _home(self) -> int:
        """The domain whose rows read what there is once; its memory and its kernel are there where that has rows."""
        readers: dict[str, None] = {}
        for nests in self.stages:
            if nests.stage.rows != ONE and any(symbol_of(x) == ONE and x in self.stored for x in nests.stage.read):
                readers.setdefault(nests.stage.rows)
        if len(readers) > 1:
            raise NotFused(f"what is calculated once, for rows of {len(readers)} collections")
        return self.program.rows.index(next(iter(readers))) if readers else 0

    def _lives(self) -> list[Life]:
        lives = []
        for tensor in self.stored:
            first = next(i for i, nests in enumerate(self.stages) if tensor in nests.stage.stored)
            last = max((i for i, nests in enumerate(self.stages) if tensor in nests.stage.read), default=first)
            if isinstance(tensor.op, ops.Scatter) and tensor in self.stages[first].stage.scatters:
                first = self._cleared(tensor, first)
            shape = self.domain(symbol_of(tensor)), pitch_of(tensor) * width_of(tensor.dtype)
            lives.append(Life(tensor, shape, first, max(first, last)))
        return lives

    def _cleared(self, tensor: Tensor, until: int) -> int:
        """The stage that sets the memory of a sum to its start: the last one over the same rows, or a step."""
        symbol = symbol_of(tensor)
        earlier = [i for i in range(until) if self.stages[i].stage.rows == symbol and symbol != ONE]
        (self.clears if earlier else self.before)[earlier[-1] if earlier else until].append(tensor)
        return earlier[-1] if earlier else until


def begins_with_zeros(tensor: Tensor) -> bool:
    assert isinstance(tensor.op, ops.Scatter)
    start = start_of(tensor.op.fn, tensor.dtype)
    return start == 0 and not math.isinf(start)
