# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Products of matrices in float32 whose accumulators are blocks of registers (kernels/contract.hpp), and when they are such."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tensoa.compiler import operations as ops
from tensoa.compiler.cpu.constants import pack_linear
from tensoa.compiler.interpret import constant_value
from tensoa.compiler.operations import is_constant
from tensoa.compiler.printing import loops_around
from tensoa.compiler.schedule.addresses import Linear, base_of, variable
from tensoa.compiler.schedule.nests import Loop, Nest, bias_of
from tensoa.compiler.tensors import BlockSize, Tensor

if TYPE_CHECKING:
    from tensoa.compiler.cpu.expressions import Expressions


@dataclass
class Operand:
    """A factor in memory: its first number, and the steps along the summed axes (two, the second one inner)."""

    pointer: str
    at: Linear
    steps: tuple[int, int] = (0, 0)
    output: int = 0  # the step from output to output


@dataclass
class Stored:
    """Where accumulators go that are only stored. Of few rows that share the weights: `pointer` of the first one, and how far
    they are apart.
    """

    pointer: str
    at: Linear
    pitch: int = 0


@dataclass
class Product:
    """A sum of products in the form of the kernels. `items`: the loop whose iterations share the weights."""

    output: str  # the loop variable of the outputs
    outputs: int
    sizes: tuple[int, int]
    x: Operand
    weight: Operand
    is_packed: bool
    is_common: bool  # the weight is not packed, but the same for all rows: keys
    has_bias: bool
    batch: list[Loop] = field(default_factory=list)
    rows: tuple[str, int] | None = None  # of few rows that share the weights: the first row of x, and how far they are apart

    def of_rows(self, store: str, stored: Stored | None) -> str:
        """`store`: what is done with the accumulator `acc`; `stored`: where it only has to be stored."""
        scale = 48
        x = f"{self.x.pointer} + ({self.x.at.text()}) * {scale}, {self.x.steps[0] * scale}, {self.x.steps[1] * scale}"
        sizes = f"vectors, {self.outputs}, {self.sizes[0]}, {self.sizes[1]}"
        epilogue = f"[&]([[maybe_unused]] V acc, [[maybe_unused]] int {self.output}, int r) {{ {store} }}"
        if self.is_packed:
            weight = f"{self.weight.pointer} + {self.weight.at.text()}"
            if stored is None:
                return f"contract_rows<{sizes}>({x}, {weight}, {epilogue});"
            to = f"{stored.pointer} + ({stored.at.without(self.output).text()}) * {scale}"
            return f"contract_rows_to<{sizes}>({x}, {weight}, {to}, {stored.at.step(self.output) * scale});"
        if self.is_common:
            steps = ", ".join(map(str, (*self.weight.steps, self.weight.output)))
            sizes = ", ".join(map(size_text, (self.outputs, *self.sizes)))
            weight = f"{self.weight.pointer} + {self.weight.at.text()}"
            return f"contract_rows_common<vectors>({x}, {weight}, {steps}, {sizes}, {epilogue});"
        own = f"{self.weight.pointer} + ({self.weight.at.text()}) * {scale}"
        steps = ", ".join(str(step * scale) for step in (*self.weight.steps, self.weight.output))
        return f"contract_rows_own<{sizes}>({x}, {own}, {steps}, {epilogue});"

    def of_elements(self, store: str, stored: Stored | None) -> str:
        """The same of elements."""
        batch = list(self.batch)
        weight = f"{self.weight.pointer} + {self.weight.at.text()}"
        if self.rows:
            base, pitch = self.rows
            return self._of_items("rows_here", "q", base, self.x.at, pitch, weight, (0, 0), store, stored)
        shares = batch and not self.weight.at.step(batch[-1].name) and not isinstance(batch[-1].size, BlockSize)
        item = batch.pop() if shares else Loop("unused", 1)
        start = self.x.at.without(item.name)
        given = str(item.size), item.name, self.x.pointer, start, self.x.at.step(item.name)
        if self.is_packed or self.weight.output == 1:
            steps = (0, 0) if self.is_packed else self.weight.steps
            return loops_around(batch, self._of_items(*given, weight, steps, store, stored))
        call = self._of_items(*given, "t", (self.sizes[1] * self.outputs, self.outputs), store, stored)
        return loops_around(batch, f"{self._side_by_side(weight)} {call}")

    def _of_items(
        self, count: str, item: str, pointer: str, start: Linear, step: int, weight: str, steps: tuple[int, int], store: str,
        stored: Stored | None,
    ) -> str:  # fmt: skip
        """`count` items that share the weights, the loop variable `item` of them, and how far they are apart."""
        sizes = f"{count}, {self.outputs}, {self.sizes[0]}, {self.sizes[1]}, {str(self.is_packed).lower()}"
        factors = f"{pointer} + {start.text()}, {step}, {self.x.steps[0]}, {self.x.steps[1]}, {weight}, {steps[0]}, {steps[1]}"
        if stored is None:
            epilogue = f"[&]([[maybe_unused]] V acc, [[maybe_unused]] int {item}, [[maybe_unused]] int {self.output})"
            return f"contract_outputs<{sizes}>({factors}, {epilogue} {{ {store} }});"
        to = f"{stored.pointer} + {stored.at.without(self.output, item).text()}"
        return f"contract_outputs_to<{sizes}>({factors}, {to}, {stored.pitch if self.rows else stored.at.step(item)});"

    def _side_by_side(self, weight: str) -> str:
        """Copies factors whose outputs are apart in memory to the array t."""
        k1, k2 = self.sizes
        s1, s2 = self.weight.steps
        copy = f"t[(k * {k2} + j) * {self.outputs} + o] = ({weight})[k * {s1} + j * {s2} + o * {self.weight.output}];"
        loops = f"for (int k = 0; k < {k1}; ++k) for (int j = 0; j < {k2}; ++j) for (int o = 0; o < {self.outputs}; ++o) {copy}"
        return f"alignas(64) float t[{k1 * k2 * self.outputs + 32}]; {loops}"


def size_text(size: int) -> str:
    return Loop("", size).end


def product_of(printer: "Expressions", nest: Nest) -> Product | None:
    """The product that a nest is, or None where the kernels have no form for it."""
    inner = nest.inner
    assert inner is not None and isinstance(inner.op, ops.Contract)
    op, (x, weight) = inner.op, inner.args
    if is_constant(x):
        op, x, weight = ops.Contract(op.right, op.left, op.out), weight, x
    free = [label for label in op.out if label in op.right and label not in op.left]
    summed = [label for label in op.left if label not in op.out]
    sizes = dict(zip(op.left + op.right, x.shape + weight.shape))
    outputs = sizes[free[0]] if len(free) == 1 else None
    if inner.dtype.name != "float32" or not summed or not isinstance(outputs, int) or not _has_lanes(printer, nest):
        return None
    if is_constant(x) or any(isinstance(sizes[label], str) for label in summed):
        return None
    if _is_common(printer, x):
        op, x, weight = ops.Contract(op.right, op.left, op.out), weight, x
        free = [label for label in op.out if label in op.right and label not in op.left]
        outputs = sizes[free[0]] if len(free) == 1 else None
    is_common = _is_common(printer, weight)
    has_block = isinstance(outputs, BlockSize) or any(isinstance(sizes[label], BlockSize) for label in summed)
    if _is_common(printer, x) or not isinstance(outputs, int) or ((is_common or has_block) and not printer.is_tile):
        return None
    if has_block and not is_common:
        return None
    names: dict[str, Linear | None] = {
        label: None if isinstance(size, str) else variable(f"i{i}") for i, (label, size) in enumerate(zip(op.out, inner.shape))
    }
    names |= {label: variable(f"k{label}") for label in summed}
    name = f"i{op.out.index(free[0])}"
    pointer, at, _ = printer.address(x, [names[label] for label in op.left])
    is_packed = is_constant(weight)
    summed.sort(key=lambda label: -at.step(f"k{label}"))  # as x lies in memory, so that the axes become one
    if is_packed:
        made = _packed(printer, nest, op, weight, free[0], summed)
    else:
        there, where, _ = printer.address(weight, [names[label] for label in op.right])
        made = Operand(there, where.without(name), output=where.step(name))
    joined = _joined(summed, sizes, at, made.at, is_packed)
    if joined is None:
        return None
    terms, steps, others = joined
    variables = [f"k{label}" for label in summed]
    batch = [loop for loop in nest.loops if loop.name != name]
    batch.sort(key=lambda loop: not made.at.step(loop.name))  # products with the same factors follow each other
    first = Operand(pointer, at.without(*variables), steps)
    second = Operand(made.pointer, made.at.without(*variables), others, made.output)
    has_bias = is_packed and nest.bias is not None
    rows = printer.rows_of(x) if is_packed and not batch else None
    return Product(name, outputs, terms, first, second, is_packed, is_common, has_bias, batch, rows)


def _is_common(printer: "Expressions", x: Tensor) -> bool:
    """Whether it lies in memory that is the same for all rows, of keys."""
    place = printer.places.get(x if x in printer.nests.roots else base_of(x))
    return place is not None and place.buffer.is_common


def _has_lanes(printer: "Expressions", nest: Nest) -> bool:
    """Whether all numbers of the epilogue have 4 bytes, as the accumulators do."""
    return printer.lanes(nest.root) == 4


def _joined(
    summed: list[str], sizes: dict[str, int | str], x: Linear, weight: Linear, is_packed: bool
) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]] | None:
    """The summed axes as two: neighbours are one where both factors allow it. (sizes, steps of x, steps of the weight)"""
    axes = [(size, x.step(f"k{k}"), weight.step(f"k{k}")) for k in summed if isinstance(size := sizes[k], int)]
    if len(axes) != len(summed):
        return None
    i = len(axes) - 1
    while i > 0:
        (outer, s, w), (size, s2, w2) = axes[i - 1], axes[i]
        if s == s2 * size and (is_packed or w == w2 * size):
            axes[i - 1 : i + 1] = [(outer * size, s2, w2)]
        i -= 1
    if len(axes) > 2:
        return None
    axes = [(1, 0, 0)] * (2 - len(axes)) + axes
    return (axes[0][0], axes[1][0]), (axes[0][1], axes[1][1]), (axes[0][2], axes[1][2])


def _packed(printer: "Expressions", nest: Nest, op: ops.Contract, weight: Tensor, free: str, summed: list[str]) -> Operand:
    """Weights in blocks of 16 outputs with their biases; for each iteration of the loops that they are indexed by."""
    numbers = constant_value(weight)
    batch = [label for label in op.right if label != free and label not in summed]
    order = [op.right.index(label) for label in (*batch, free, *summed)]
    numbers = numbers.transpose(order)
    counts = numbers.shape[: len(batch)]
    numbers = numbers.reshape(-1, numbers.shape[len(batch)], int(np.prod(numbers.shape[len(batch) + 1 :])))
    bias = bias_of(nest)
    parts = [pack_linear(one, bias) for one in numbers]
    at = Linear()
    for i, label in enumerate(batch):
        step = len(parts[0]) * int(np.prod(counts[i + 1 :]))
        at = at.plus(variable(f"i{op.out.index(label)}"), step)
    return Operand(printer.weights.packed(np.concatenate(parts)), at)
