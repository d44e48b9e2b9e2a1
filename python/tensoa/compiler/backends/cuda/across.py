# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The code of operations that read all rows of a domain."""

from tensoa.compiler.backends.cuda.layers import Layers
from tensoa.compiler.backends.cuda.layouts import contiguous
from tensoa.compiler.backends.cuda.memory import TOGETHER
from tensoa.compiler.backends.cuda.values import Code, literal
from tensoa.compiler.errors import NotFused
from tensoa.compiler.ir import FUNCTIONS, Value
from tensoa.compiler.ir.pairs import SUMS

_SUMS = {"dot": "sum_of_products", "distance": "sum_of_squares"}
_ROOM = 32 * 16  # bytes of a tile of what warps exchange
_WIDEST = 72  # numbers of a head, and of its masks: a lane holds all of them


class Across(Layers):
    """Attention and neighbours (kernels/across.cuh): the warps of a tile share the rows that are read."""

    def of_attend(self, value: Value) -> Code:
        q, k, v = value.args
        weights = f"{str(value.weights != 'sum').lower()}, {str(value.weights == 'safe').lower()}"
        sizes = f"{q.width}, {k.width}, {v.width}, {weights}"
        return self._across(value, f"attend<{sizes}>", v.width + 2)

    def of_nearest(self, value: Value) -> Code:
        q, k = value.args
        sizes = f"{q.width}, {k.width}, {value.count}, {str(value.is_largest).lower()}"
        return self._across(value, f"nearest<{sizes}>", 2 * value.count)

    def _across(self, value: Value, function: str, exchanged: int) -> Code:
        """A call whose warps exchange so many numbers for each row of a tile."""
        own, *far = value.args
        text = self.scalar(own, 0) if own.width == 1 else self.fragment(own, contiguous(own.width))
        memory = ", ".join(f"p.buffer[{self.memory.slots[id(x)]}]" for x in far)
        room = f"exchange + {self.exchanges % 2} * kExchanged"
        name = self.new_name()
        widest = max(x.width for x in value.args)
        if widest > _WIDEST:
            raise NotFused(f"what reads all rows: {widest} numbers of each, at most {_WIDEST} are held in registers")
        tiles = -(-exchanged * TOGETHER * 16 * 4 // _ROOM)
        self.exchanged = max(self.exchanged, tiles)
        self.exchanges += 1
        count = self.rows_of(far[0].domain)
        self.line(f"const auto {name} = {function}({text}, {memory}, {count}, {self._score(value)}, {room}, warp);")
        self.widest = max(self.widest, -(-value.width // 8), -(-own.width // 8))
        return Code("scalar" if value.width == 1 else "fragment", name)

    def _score(self, value: Value) -> str:
        steps = []
        for i, (name, *arguments) in enumerate(value.score):
            if name in SUMS:
                first, second, count = arguments
                text = f"{_SUMS[name]}<{count}>(q + {first}, k + {second})"
            elif name == "number":
                text = literal(arguments[0])
            elif name in ("query", "key"):
                text = f"{name[0]}[{arguments[0]}]"
            else:
                function = FUNCTIONS[name]
                parameters = ", ".join(f"float {x}" for x in function.parameters)
                operands = ", ".join(f"x{argument}" for argument in arguments)
                text = f"[]({parameters}) {{ return {function.cuda}; }}({operands})"
            steps.append(f"const float x{i} = {text};")
        q, k = value.args[:2]
        parameters = f"const float (&q)[{q.width}], const float (&k)[{k.width}]"
        return f"[]({parameters}) -> float {{ {' '.join(steps)} return x{len(steps) - 1}; }}"
