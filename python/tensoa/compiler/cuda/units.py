# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""CUDA C++ of what one thread calculates, in its registers: all loops are unrolled."""

from collections.abc import Sequence

from tensoa.compiler.cuda.expressions import memory_type
from tensoa.compiler.cuda.nests import NestPrinter
from tensoa.compiler.cuda.rows import StagePrinter
from tensoa.compiler.printing import Place
from tensoa.compiler.schedule.addresses import elements_of
from tensoa.compiler.schedule.joined import count_of
from tensoa.compiler.schedule.nests import Loop, Nest, UnitLoop
from tensoa.compiler.schedule.teams import of_lane


class ThreadPrinter(StagePrinter):
    """Prints nests of a stage for one thread. `outer`: the printer of the stage."""

    def __init__(self, outer: StagePrinter) -> None:
        super().__init__(outer.nests, outer.weights, of_lane(), outer.memory)
        self.outer, self.places = outer, dict(outer.places)

    def over_terms(self, over: Sequence[Loop], step: str) -> str:
        return unrolled(over, step)

    def print_sum(self, nest: Nest) -> str:
        return NestPrinter.print_sum(self, nest)


class UnitPrinter(ThreadPrinter):
    """Prints the nests of a unit (schedule/joined.py)."""

    def __init__(self, outer: StagePrinter, loop: UnitLoop) -> None:
        super().__init__(outer)
        self.loop, self.names, self.copies = loop, {one.name for one in loop.loops}, outer.copies

    def shared(self, loops: Sequence[Loop], body: str, has_rows_inside: bool = False, unroll: int = 0) -> str:
        return unrolled([loop for loop in loops if loop.name not in self.names], body)

    def text(self) -> str:
        lines = []
        for number, nest in enumerate(self.loop.nests):
            root, buffer = nest.root, nest.buffer
            if buffer.units:
                size = elements_of(root) // count_of(root, buffer.units)
                lines.append(f"{memory_type(root.dtype)} v{number}[{size}];")
                place = Place(f"v{number}", buffer)
                self.places |= {one: place for one, other in self.nests.buffers.items() if other is buffer}
        return " ".join([*lines, *(f"{{ {self.nest_text(nest)} }}" for nest in self.loop.nests)])


def unrolled(loops: Sequence[Loop], body: str) -> str:
    for loop in reversed(loops):
        body = f"\n#pragma unroll\nfor (int {loop.name} = 0; {loop.name} < {loop.end}; ++{loop.name}) {{ {body} }}"
    return body
