# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""How large the numbers of a value can be."""

import math

import numpy as np

from tensoa.compiler.ir import integers
from tensoa.compiler.ir.operations import FUNCTIONS
from tensoa.compiler.ir.program import Value, Visitor
from tensoa.dtypes import DTYPES, name_of

EXACT = 1 << 24  # integers up to here are float32 numbers
#: Functions that grow with each argument: their ends are those of the ends.
ENDS = {name: FUNCTIONS[name].numpy for name in ("identity", "minimum", "maximum", "relu", "round", "trunc", "floor", "ceil")}
#: Bounds are of numbers, and y is for what is none: integers made of it are not those of torch, which wrap around.
ENDS["to_integer"] = lambda x, y: np.trunc(x)


class Bounds(Visitor):
    """The largest absolute value that a number of a value can have, from the program alone; inf where it is not known."""

    def __init__(self) -> None:
        self._known: dict[Value, float] = {}
        self._intervals: dict[Value, tuple[float, float]] = {}

    def __call__(self, value: Value) -> float:
        if value not in self._known:
            self._known[value] = float(self.visit(value))
        return self._known[value]

    def interval(self, value: Value) -> tuple[float, float]:
        """(least, largest): nearer than the largest absolute value where numbers were clamped."""
        if value not in self._intervals:
            self._intervals[value] = self._interval(value)
        return self._intervals[value]

    def _interval(self, value: Value) -> tuple[float, float]:
        if value.op == "constant":
            return float(value.array.min()), float(value.array.max())
        if value.op == "order":
            return 0.0, self(value)
        if value.op == "map" and value.name in ENDS:
            low, high = (ENDS[value.name](*ends) for ends in zip(*map(self.interval, value.args)))
            return float(low), float(high)
        if value.op == "double" and value.name in ENDS:
            args, ends = iter(value.args), []
            for kind in value.kinds:
                numbers = np.frombuffer(kind) if isinstance(kind, bytes) else None
                ends.append(self.interval(next(args)) if numbers is None else (numbers.min(), numbers.max()))
            low, high = (ENDS[value.name](*some) for some in zip(*ends))
            return float(low), float(high)
        return -self(value), self(value)

    def _unknown(self, value: Value) -> float:
        return math.inf

    of_index = of_row = of_scatter = of_regroup = of_multiply = of_pick = of_fold = _unknown

    def of_input(self, value: Value) -> float:
        dtype = DTYPES.get(name_of(value.dtype))
        if dtype is None or dtype.is_float:
            return math.inf
        largest = max(map(abs, integers.interval(dtype.name, value.steps)))
        return largest if largest < EXACT else math.inf

    def of_constant(self, value: Value) -> float:
        return np.abs(value.array).max(initial=0.0)

    def of_lookup(self, value: Value) -> float:
        return np.abs(value.table).max(initial=0.0)

    def of_norm(self, value: Value) -> float:
        gain = 1.0 if value.weight is None else np.abs(value.weight).max()
        return gain * math.sqrt(value.width // value.times) + self._of_bias(value)

    def of_pack(self, value: Value) -> float:
        return max(self(argument) for argument in value.args)

    def of_gather(self, value: Value) -> float:
        return self(value.args[0])

    def of_linear(self, value: Value) -> float:
        bound = self(value.args[0])
        if math.isinf(bound):
            return bound
        return np.abs(value.weight).sum(axis=1).max() * bound + self._of_bias(value)

    def of_product(self, value: Value) -> float:
        bounds = [self(argument) for argument in value.args]
        return value.inner * math.prod(bounds) if all(map(math.isfinite, bounds)) else math.inf

    def of_reduce(self, value: Value) -> float:
        return self(value.args[0]) * (value.args[0].width // value.times if value.name == "sum" else 1)

    def of_order(self, value: Value) -> float:
        return value.args[0].width // value.times - 1

    def of_nearest(self, value: Value) -> float:
        return EXACT  # float32 holds no more rows

    def of_attend(self, value: Value) -> float:
        return math.inf if value.weights == "sum" else self(value.args[2])

    def of_take(self, value: Value) -> float:
        return self(value.args[0])

    def of_map(self, value: Value) -> float:
        if value.name in ENDS:
            return max(map(abs, self.interval(value)))
        return FUNCTIONS[value.name].bound([self(argument) for argument in value.args])

    def of_double(self, value: Value) -> float:
        if value.name in ENDS:
            return max(map(abs, self.interval(value)))
        return 1.0 if FUNCTIONS[value.name].is_truth else math.inf

    @staticmethod
    def _of_bias(value: Value) -> float:
        return 0.0 if value.bias is None else np.abs(value.bias).max()
