# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The code of linear layers."""

import math
from typing import NamedTuple

import numpy as np

from tensoa.compiler.backends.cuda.far import Far
from tensoa.compiler.backends.cuda.layouts import ONE, Tiles, spread
from tensoa.compiler.backends.cuda.memory import FEW_OUTPUTS, TOGETHER
from tensoa.compiler.backends.cuda.values import Code, literal
from tensoa.compiler.backends.cuda.weights import balance, pack_weights
from tensoa.compiler.ir import Value

CHUNK = 16  # tiles of outputs that are accumulated at a time


class Source(NamedTuple):
    """C++ of something with pair() and last(), and its layout."""

    text: str
    layout: tuple[int, ...]


class Layers(Far):
    """Values, and what a linear layer makes of them."""

    exchanged = 0  # tiles of the largest exchange of linear_together()
    exchanges = 0
    turn = 0  # the warp that begins with the next linear_stored()

    def _sources(self, value: Value) -> list[Source]:
        """What a linear layer reads, with layouts in numbers of `value`."""
        if value.op == "pack" and value.width > 1 and id(value) not in self._names and id(value) in self.own:
            sources = []
            for piece, part in self.layout.pack(value):
                if isinstance(piece, Tiles) and piece.is_whole and len(part) == len(self.layout(piece.value)):
                    # a pack in a pack has parts too
                    start = min(number for number in part if number >= 0)
                    for text, inner in self._sources(piece.value):
                        sources.append(Source(text, tuple(n + start if n >= 0 else -1 for n in inner)))
                else:
                    sources.append(Source(self.piece(piece, part), part))
            return sources
        kind, text = self.use(value)
        if kind == "rows":
            return [Source(text, self.layout(value))]
        return [Source(self.clean(value), self.layout(value) or ONE)]

    def of_linear(self, value: Value) -> Code:
        x, outputs = value.args[0], value.width
        sources = self._sources(x)
        bias = np.zeros(outputs, np.float32) if value.bias is None else value.bias
        if outputs <= FEW_OUTPUTS:
            return self._dots(value, sources, bias)
        layout, name = self.layout(value), self.new_name()
        tiles = len(layout) // 8
        scheme, weight = self.memory.scheme(value), np.asarray(value.weight, np.float32)
        scaling = "Unscaled{}"
        if scheme == "Half3":
            sources, weight, scaling = self._scaled(sources, weight, layout)
        calls = []
        for text, part in sources:
            data = pack_weights(scheme, spread(spread(weight.T, part).T, layout).T)
            depth = max(i for i, number in enumerate(part) if number >= 0) + 1
            packed = f"Packed{{{self.weights.add(data)}, {len(part) // 8}, {depth}, {tiles}}}"
            calls.append(f"accumulate<{scheme}>(c, {text}, {packed}, first, warp);")
        body = f"[&](auto& c, int first) {{ {' '.join(calls)} }}"
        start = self.vector(spread(np.asarray(bias, np.float32), layout))
        self.widest = max(self.widest, min(tiles, CHUNK))
        if self.together and self.memory.is_only_stored(value):
            slot = self.memory.slots[id(value)]
            chunk = min(CHUNK, 2 * -(-tiles // (2 * TOGETHER)))
            self.line(
                f"linear_stored<{self.layout_type(layout)}, {tiles}, {chunk}>(p.buffer[{slot}], {start}, {scaling}, "
                f"{self.turn}, tile, warp, {body});"
            )
            self.turn = (self.turn - -(-tiles // chunk)) % TOGETHER
            return Code("stored", name)
        if self.together and scheme != "Fma":
            rounds = -(-tiles // (TOGETHER * CHUNK))
            chunk = -(-tiles // (TOGETHER * rounds))
            self.exchanged = max(self.exchanged, min(tiles, TOGETHER * chunk))
            self.line(
                f"const auto {name} = linear_together<{tiles}, {chunk}>({start}, {scaling}, exchange, kExchanged, "
                f"{self.exchanges % 2}, warp, {body});"
            )
            self.exchanges += -(-tiles // (TOGETHER * chunk))
        else:
            self.line(f"const auto {name} = linear<{tiles}, {min(tiles, CHUNK)}>({start}, {scaling}, {body});")
        self.widest = max(self.widest, tiles)
        return Code("fragment", name)

    def _scaled(
        self, sources: list[Source], weight: np.ndarray, layout: tuple[int, ...]
    ) -> tuple[list[Source], np.ndarray, str]:
        """What Half3 multiplies: sources and weights times powers of two, and what takes these back."""
        of_input, of_output = balance(weight)
        if of_input.min() < 1:
            sources = [Source(f"balanced({text}, {self.vector(spread(of_input, part))})", part) for text, part in sources]
        largest, scaling = self.new_name(), self.new_name("s")
        self.line(f"Scalar {largest}{{}};")
        for text, _ in sources:
            self.line(f"widen({largest}, {text});")
        back = 1 / of_output
        if (back == back[0]).all():
            unit = f"{literal(back[0])}, {math.frexp(back[0])[1] + 275}"
        else:
            unit = self.vector(spread(back, layout))
        self.line(f"const auto {scaling} = scale_of({largest}, {unit});")
        weight = (weight / of_input * of_output[:, None]).astype(np.float32)
        return [Source(f"scaled({text}, {scaling})", part) for text, part in sources], weight, scaling

    def _dots(self, value: Value, sources: list[Source], bias: np.ndarray) -> Code:
        """Few outputs: each is a sum over the quad."""
        results = []
        for output in range(value.width):
            name = self.new_name()
            self.line(f"Scalar {name}{{}};")
            for text, part in sources:
                self.line(f"dot({name}, {text}, {self.vector(spread(value.weight[output], part))});")
            self.line(f"{name} = finish({name}, {literal(bias[output])});")
            results.append(name)
        if value.width == 1:
            return Code("scalar", results[0])
        name = self.new_name()
        self.line(f"Fragment<1> {name}{{}};")
        for position, result in enumerate(results):
            self.line(f"put({name}, {position}, {result}, warp);")
        return Code("fragment", name)
