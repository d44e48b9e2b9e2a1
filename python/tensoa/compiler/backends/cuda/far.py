# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The code of operations that read other parts of a row where they lie in memory (lift.py)."""

from typing import NamedTuple

import numpy as np

from tensoa.compiler.backends.cuda.layouts import contiguous
from tensoa.compiler.backends.cuda.values import Code, Values, c_type, literal
from tensoa.compiler.ir import REDUCTIONS, Value
from tensoa.compiler.ir.program import ARGUMENT

_NEAR_TABLE = 2048  # bytes of a table that is worth its place in shared memory


def _terms(name: str, numbers: np.ndarray) -> list[str] | None:
    """C++ terms of the variable `name` whose sum is numbers[name] - numbers[0]; None where there are none so simple."""
    count = len(numbers)
    if count == 1:
        return []
    step = int(numbers[1] - numbers[0])
    for length in range(count, 1, -1):
        if count % length:
            continue
        runs = numbers.reshape(-1, length)
        if (runs - runs[:, :1] != step * np.arange(length)).any():
            continue
        rest = _terms(f"({name} / {length})", runs[:, 0])
        if rest is None:
            return None
        index = name if length == count else f"{name} % {length}"
        return rest + ([f"{index} * {step}"] if step else [])
    return None


def _expression(places: np.ndarray) -> str | None:
    """C++ of places[g, i, n] where it needs no table."""
    first = places[0, 0, 0]
    offsets = [places[:, 0, 0], places[0, :, 0], places[0, 0, :]]
    g, i, n = (axis - first for axis in offsets)
    if (places != first + g[:, None, None] + i[:, None] + n).any():
        return None
    terms = [str(first)]
    for name, axis in zip("gin", offsets):
        found = _terms(name, axis)
        if found is None:
            return None
        terms += found
    return " + ".join(terms)


class _Source(NamedTuple):
    """Where numbers lie: C++ that reads number `at` of `row`, and what its numbers are called there."""

    text: str
    numbers: np.ndarray


class Far(Values):
    """What reads other parts of the row: a View (kernels/far.cuh) of the numbers, and what is done with them."""

    def of_regroup(self, value: Value) -> Code:
        if value.width == 1:
            return self._scalar(f"one_of({self._view(value)})")
        return self._fragment(value, f"regroup<{value.width}>({self._view(value)}, warp)")

    def of_multiply(self, value: Value) -> Code:
        x = self.fragment(value.args[0], contiguous(value.args[0].width))
        inner = value.places.shape[1]
        if value.width == 1:
            return self._scalar(f"multiply_one<{inner}>({x}, {self._view(value)}, warp)")
        return self._fragment(value, f"multiply<{value.width}, {inner}>({x}, {self._view(value)}, warp)")

    def of_pick(self, value: Value) -> Code:
        place, count = self.scalar(value.args[0], 0), value.places.shape[1]
        if value.width == 1:
            return self._scalar(f"pick_one<{count}>({place}, {self._view(value)})")
        return self._fragment(value, f"pick<{value.width}, {count}>({place}, {self._view(value)}, warp)")

    def of_fold(self, value: Value) -> Code:
        reduction, count = REDUCTIONS[value.name], value.places.shape[1]
        function = f"[](float x, float y) {{ return {reduction.cuda}; }}"
        divisor = literal(count if reduction.is_mean else 1.0)
        arguments = f"{divisor}, {function}, {self._view(value)}, warp"
        return self._fragment(value, f"fold<{value.width}, {count}>({arguments})")

    def of_order(self, value: Value) -> Code:
        x = self.fragment(value.args[0], contiguous(value.args[0].width))
        sizes = f"{value.args[0].width}, {value.count}, {str(value.is_largest).lower()}"
        if value.width == 1:
            return self._scalar(f"take(order<{sizes}>({x}, warp), 0, warp)")
        return self._fragment(value, f"order<{sizes}>({x}, warp)")

    def _fragment(self, value: Value, text: str) -> Code:
        name = self.new_name()
        self.widest = max(self.widest, -(-value.width // 8))
        self.line(f"const auto {name} = {text};")
        return Code("fragment", name)

    def _scalar(self, text: str) -> Code:
        name = self.new_name()
        self.line(f"const Scalar {name} = {text};")
        return Code("scalar", name)

    def _view(self, value: Value) -> str:
        """A View of `places`: C++."""
        _, times = self.memory.program.parts(value.domain)
        places, share = value.places, times // len(value.places)
        arguments, numbers = np.divmod(places, ARGUMENT)
        sources = [self._source(argument, numbers[arguments == k]) for k, argument in enumerate(value.far_args)]
        renamed = np.empty_like(places)
        for k, source in enumerate(sources):
            renamed[arguments == k] = source.numbers
        is_constant = np.isin(arguments, [k for k, argument in enumerate(value.far_args) if argument.op == "constant"])
        constants = [value.far_args[place // ARGUMENT].array[place % ARGUMENT] for place in np.unique(places[is_constant])]
        others = np.unique(arguments[~is_constant])
        if len(constants) == 1 and len(others) == 1:  # padding
            at, text = self._places(np.where(is_constant, -1, renamed)), sources[others[0]].text
            return self._view_text(times, share, f"const int at = {at}; return at < 0 ? {literal(constants[0])} : {text};")
        if len(sources) == 1:
            return self._view_text(times, share, f"const int at = {self._places(renamed)}; return {sources[0].text};")
        cases = "".join(f"case {k}: return {source.text}; " for k, source in enumerate(sources))
        start = f"const int place = {self._places(ARGUMENT * arguments + renamed)}, at = place % {ARGUMENT};"
        return self._view_text(times, share, f"{start} switch (place / {ARGUMENT}) {{ {cases}}} return 0.f;")

    def _view_text(self, times: int, share: int, body: str) -> str:
        read = f"[&](int64 row, int g, int i, int n) -> float {{ {body} }}"
        return f"view<{times}, {share}>(tile, {read})"

    def _source(self, value: Value, numbers: np.ndarray) -> _Source:
        if value.op == "constant":
            return _Source(f"{self._floats(value.array)}[at]", numbers)
        if value.op == "input":
            columns = self.columns(value.block, value.planes[:1], None, c_type(value.dtype), steps=value.steps)
            row = "0" if value.is_scalar else "row"
            return _Source(f"to_float({columns}.at(at, {row}))", np.array(value.planes)[numbers])
        _, times = self.memory.program.parts(value.domain)
        slot = self.memory.slots[id(value)]
        return _Source(f"static_cast<const float*>(p.buffer[{slot}])[row * {times * value.width} + at]", numbers)

    def _floats(self, numbers: np.ndarray) -> str:
        return f"reinterpret_cast<const float*>{self.weights.add(np.ascontiguousarray(numbers, np.float32).tobytes())}"

    def _places(self, places: np.ndarray) -> str:
        """C++ of places[g, i, n]: arithmetic, or a table."""
        text = _expression(places)
        if text is None:
            data = np.ascontiguousarray(places, np.int32).tobytes()
            table = f"reinterpret_cast<const int*>{self.weights.add(data, is_rare=len(data) > _NEAR_TABLE)}"
            text = f"{table}[(g * {places.shape[1]} + i) * {places.shape[2]} + n]"
        return text
