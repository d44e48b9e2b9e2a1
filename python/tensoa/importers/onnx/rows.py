# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models that were written for one number of rows, often 1, as models of any number.

Exporters write such models by default. What prevents other numbers of rows are constant shapes of Reshape, and Flatten of all
axes: in each of them one size becomes free. One row does not show which: [5, 1, 4, 4] as [5, 16] may be [5, n * 16] or
[5 * n, 16]. What gives the same for twice the rows as for each half is right. Where nothing does, each row is calculated by
itself (tensoa.row_by_row).
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tensoa.binding.model import LIMITS
from tensoa.errors import InputError, first_line
from tensoa.importers.onnx.graph import Input, Node
from tensoa.importers.onnx.values import Known, Value
from tensoa.importers.results import named
from tensoa.row_by_row import of_each

if TYPE_CHECKING:
    from tensoa.importers.onnx.module import OnnxModule

MOST_TRIALS = 64
BLOCKS = 3  # of rows, that are compared with the same rows one by one
RECORDED = (211, 1009)  # numbers of rows, which sizes of models rarely are
TOLERANCE = 1e-3  # relative to the largest number: float32, added up in another order


def free(module: "OnnxModule") -> None:
    """Where the first size of all inputs is the same number, lets the model take any, if it returns the same for twice the
    rows as for each half of them; else each row may be calculated by itself, which a note says. Sets `graph.rows`, or says in
    `graph.fixed_by` why not.
    """
    graph = module.graph
    firsts = {argument.shape[0] if argument.shape else None for argument in graph.inputs}
    rows = firsts.pop() if len(firsts) == 1 else None
    if not rows:
        return
    try:
        numbers = _MadeUpInputs(module, rows)
        inputs = numbers.sets(rows)
        right = [module.run(graph, module.values_of(some)) for some in inputs]
    except InputError as error:
        graph.fixed_by = f": {error}"
        return
    for some in sorted({1, rows}):  # 1 is quick, and enough where no shape is a constant
        try:
            changes = _free_shapes(module, some, numbers)
        except InputError as error:
            graph.fixed_by = f": {2 * some} rows instead of {some}: {error}"
            continue
        try:
            for given, expected in zip(inputs, right):
                _expect_same(graph.outputs, module.run(graph, module.values_of(given)), [expected])
            break
        except InputError as error:
            changes.undo()
            graph.fixed_by = f": {error}"
    else:
        module.one_by_one = _one_by_one(module, rows, numbers)
        if module.one_by_one is None:
            return
        how = "" if rows == 1 else f"{rows} times, "
        graph.notes.append(
            f"each row is calculated by itself, {how}which is slower: the file is for {rows} row{'s' * (rows > 1)}, not for "
            f"others{graph.fixed_by}; dynamic_axes of torch.onnx.export writes a free number"
        )
    graph.rows, graph.fixed_by = rows, ""
    for argument in graph.inputs:
        argument.shape = (None, *(argument.shape or ())[1:])


def _one_by_one(module: "OnnxModule", rows: int, numbers: "_MadeUpInputs") -> torch.fx.GraphModule | None:
    """The model for each row by itself, where that gives the same; says in `graph.fixed_by` why not."""
    graph = module.graph
    reason = ""

    def of_row(*row: torch.Tensor) -> tuple[torch.Tensor, ...]:
        results = module.results_of([tensor.expand(rows, *tensor.shape) for tensor in row])
        for result in results:
            if result.dim() == 0 or result.shape[0] != rows:
                raise InputError(f"a result has the shape {list(result.shape)} for {rows} rows")
        return tuple(result[0] for result in results)

    for count in RECORDED:
        try:
            made = of_each(of_row, numbers(count))
            for inputs in numbers.sets(BLOCKS * rows):
                parts = [module.results_of([tensor[i * rows : (i + 1) * rows] for tensor in inputs]) for i in range(BLOCKS)]
                _expect_same(graph.outputs, made(*inputs), parts)
            return made
        except Exception as error:  # torch throws many kinds
            reason = f"; row by row: {first_line(error)}"
    graph.fixed_by += reason
    return None


def in_batches(run: Callable[[Sequence[torch.Tensor]], Any], rows: int) -> Callable[[Sequence[torch.Tensor]], Any]:
    """A function that returns the results of `run`, which accepts `rows` rows, for any number of them."""

    def run_all(tensors: Sequence[torch.Tensor]) -> Any:
        count = len(tensors[0])
        pieces = []
        for begin in range(0, max(count, 1), rows):
            batch = [tensor[begin : begin + rows] for tensor in tensors]
            results = run([torch.cat([part, part.new_zeros((rows - len(part), *part.shape[1:]))]) for part in batch])
            pieces.append(results if isinstance(results, tuple) else (results,))
        joined = [torch.cat(parts) for parts in zip(*pieces)]
        given = [one[: len(one) * count // (len(pieces) * rows)] for one in joined]  # a result may have several rows for each
        return named(given, getattr(results, "_fields", ()))

    return run_all


def _free_shapes(module: "OnnxModule", rows: int, numbers: "_MadeUpInputs") -> "_Trial":
    """Raises InputError, and leaves the graph as it was, where no choice of sizes gives the same."""
    graph = module.graph
    sets = numbers.sets(2 * rows)
    halves = [[module.values_of([tensor[i * rows : (i + 1) * rows] for tensor in some]) for i in range(2)] for some in sets]
    shapes: dict[str, tuple[int, ...]] = {}

    def note(node: Node, values: dict[str, Value]) -> None:
        found = {name: values.get(name) for name in node.inputs}
        shapes.update((name, tuple(value.shape)) for name, value in found.items() if isinstance(value, torch.Tensor))

    parts = [[module.run(graph, values, note) for values in two] for two in halves]
    firsts = zip(graph.outputs, parts[0][0])
    shapes.update((name, tuple(part.shape)) for name, part in firsts if isinstance(part, torch.Tensor))
    choices: list[list[int]] = []  # for each Reshape that is changed the places left to try, the first of them next
    furthest = (0, InputError(""))
    for _ in range(MOST_TRIALS):
        trial = _Trial(module, rows, shapes, choices)
        try:
            for i, (inputs, right) in enumerate(zip(sets, parts)):
                before = trial.before if i == 0 else None
                _expect_same(graph.outputs, module.run(graph, module.values_of(inputs), before), right)
            return trial
        except InputError as error:
            furthest = max(furthest, (trial.nodes, error), key=lambda one: one[0])
        trial.undo()
        while choices and len(choices[-1]) == 1:
            choices.pop()
        if not choices:
            break
        del choices[-1][0]
    raise furthest[1]


class _Trial:
    """A run with more rows, which changes nodes of constant shapes on its way."""

    def __init__(self, module: "OnnxModule", rows: int, shapes: dict[str, tuple[int, ...]], choices: list[list[int]]) -> None:
        self.module, self.rows, self.shapes, self.choices = module, rows, shapes, choices
        self.nodes = 0
        self.changed: list[tuple[Node, Node]] = []  # and as they were

    def before(self, node: Node, values: dict[str, Value]) -> None:
        self.nodes += 1
        if not (places := self._places(node, values)):
            return
        if len(self.changed) == len(self.choices):
            self.choices.append(places)
        sizes = list(self.shapes[node.outputs[0]])
        sizes[self.choices[len(self.changed)][0]] = -1
        self.changed.append((node, dataclasses.replace(node)))
        shape = f"{node.outputs[0]}/shape"
        node.operator, node.inputs, node.attributes = "Reshape", [node.inputs[0], shape], {}
        array = np.array(sizes)
        self.module.keep(shape, array, torch.from_numpy(array))
        values[shape] = Known(array)

    def undo(self) -> None:
        for node, old in self.changed:
            node.operator, node.inputs, node.attributes = old.operator, old.inputs, old.attributes

    def _places(self, node: Node, values: dict[str, Value]) -> list[int]:
        """The sizes of a constant shape that may hold the rows: numbers stay in their order, so the same count follows one row
        as before. None where the input has the same shape for more rows.
        """
        is_constant = node.operator == "Reshape" and node.inputs[1] in self.module.constants
        if not is_constant and not (node.operator == "Flatten" and node.attributes.get("axis", 1) == 0):
            return []
        old, target = self.shapes.get(node.inputs[0]), self.shapes.get(node.outputs[0])
        value = values.get(node.inputs[0])
        if old is None or target is None or not isinstance(value, torch.Tensor) or tuple(value.shape) == old:
            return []
        axis = next((i for i, (a, b) in enumerate(zip(old, value.shape)) if a != b), 0)
        all_rows, inside = math.prod(old[axis:]), math.prod(old[axis + 1 :])
        outer = [math.prod(target[i:]) for i in range(len(target))]
        possible = [
            i
            for i, size in enumerate(target)
            if size > 0 and outer[i] >= inside * self.rows and outer[i] // size * self.rows <= all_rows
        ]
        return sorted(possible, key=lambda i: outer[i] != all_rows)  # an axis that stays one is the likelier


class _MadeUpInputs:
    """Made-up inputs of a graph: integers from 0 up to the largest of LIMITS that it accepts, since small ones, such as
    lengths of 0 and 1, may hide what rows have to do with each other; and a set of 0 and 1 only.
    """

    def __init__(self, module: "OnnxModule", rows: int) -> None:
        """Raises InputError where the graph does not take 0 and 1."""
        self.arguments = module.graph.inputs
        self.limits = self.least = [2] * len(self.arguments)
        module.run(module.graph, module.values_of(self(rows)))
        self.limits = [*self.least]
        for i, argument in enumerate(self.arguments):
            if argument.dtype.is_floating_point or argument.dtype == torch.bool:
                continue
            for self.limits[i] in LIMITS:
                try:
                    module.run(module.graph, module.values_of(self(rows)))
                    break
                except InputError:
                    continue

    def __call__(self, rows: int) -> list[torch.Tensor]:
        return self._with(rows, self.limits)

    def sets(self, rows: int) -> list[list[torch.Tensor]]:
        """Of large integers, and of 0 and 1 where they are others."""
        limits = [self.limits] if self.limits == self.least else [self.limits, self.least]
        return [self._with(rows, some) for some in limits]

    def _with(self, rows: int, limits: list[int]) -> list[torch.Tensor]:
        return [self._of(rows, argument, most) for argument, most in zip(self.arguments, limits)]

    def _of(self, rows: int, argument: Input, most: int) -> torch.Tensor:
        sizes, dtype = (rows, *(size or 1 for size in (argument.shape or ())[1:])), argument.dtype
        generator = torch.Generator().manual_seed(1)
        if dtype.is_floating_point:
            return torch.randn(sizes, generator=generator).to(dtype)
        return torch.randint(0, most, sizes, generator=generator).to(dtype)


def _expect_same(names: Sequence[str], results: Sequence[Value], parts: Sequence[Sequence[Value]]) -> None:
    for name, got, *halves in zip(names, results, *parts):
        tensors = [half for half in halves if isinstance(half, torch.Tensor)]
        if len(tensors) < len(halves) or not isinstance(got, torch.Tensor):
            raise InputError(f'output "{name}" is a constant')
        shape = [len(halves) * tensors[0].shape[0], *tensors[0].shape[1:]] if tensors[0].dim() > 0 else []
        if list(got.shape) != shape or tensors[-1].shape != tensors[0].shape:
            raise InputError(f'output "{name}" has the shape {list(got.shape)}, expected {shape}')
        right = torch.cat(tensors) if shape else tensors[0]
        largest = right.double().nan_to_num(0, 0, 0).abs().max().item() if right.numel() else 0.0
        if not torch.allclose(got.double(), right.double(), TOLERANCE, TOLERANCE * largest, equal_nan=True):
            raise InputError(f'output "{name}" differs from that of each half: rows depend on each other')
