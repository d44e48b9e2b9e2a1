# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A graph of ONNX as a module of torch."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils._python_dispatch import _disable_current_modes

from tensoa.binding.defaults import Taken
from tensoa.errors import InputError, Unsupported, first_line
from tensoa.importers.onnx import read, rows, runtime
from tensoa.importers.onnx.graph import Graph, Input, Node, array_of_tensor, tensor_of
from tensoa.importers.onnx.operators.table import SIZES, Results, required
from tensoa.importers.onnx.values import Call, Known, Refused, Value
from tensoa.importers.outputs import Asked
from tensoa.importers.results import named


def import_onnx(path: str | PathLike, asked: Asked | None = None) -> "OnnxModule":
    """The model in a file, with the results that are requested (tensoa.importers.outputs). Raises InputError."""
    model = read.read(path)
    graph, opset = read.graph(model, path, asked)
    try:
        return OnnxModule(graph, opset, str(path))
    except InputError as error:
        raise type(error)(f"{path}: {error}") from error


class OnnxModule(nn.Module):
    """Takes a tensor for each input of the graph, in order or by name; gives one for each result, several in a named tuple.

    Constants are buffers, and what depends on constants alone is one. Raises InputError, with the name of the node, for
    what cannot be run. A model that was written for a fixed number of rows (`graph.rows`) takes any number.
    """

    framework = "ONNX Runtime"

    def __init__(self, graph: Graph, opset: int, path: str | None = None) -> None:
        super().__init__()
        self.graph, self.opset, self.path = graph, opset, path
        self.floats: torch.Tensor
        self.register_buffer("floats", torch.zeros(()))  # its dtype is that of float32 numbers, its device that of all
        self.constants: dict[str, str] = {}  # the buffer of each value that is a constant
        self._fold(graph)
        self.fixed: dict[str, np.ndarray] = {}  # arguments of the file that are constants
        self.one_by_one: nn.Module | None = None  # the same for each row by itself, where the graph takes no other way
        rows.free(self)

    def fix(self, numbers: Mapping[str, float], kept: Sequence[str] = ()) -> None:
        """Makes arguments that are one number for a call constants: of these `numbers`, else the first that the graph compares
        an integer with, which a note says. Those that are `kept`, and what is compared with nothing, stay arguments. Raises
        InputError for a number that the argument cannot be.
        """
        of_call = {one.name: one for one in self.graph.inputs if one.shape == () and one.name not in kept}
        compared = {name: found for name, one in of_call.items() if (found := _compared(self.graph, one))}
        chosen = {name: found[0] for name, found in compared.items()} | dict(numbers)
        if not chosen:
            return
        for name, number in chosen.items():
            array = tensor_of(np.array(number)).to(of_call[name].dtype).numpy()
            if array != number:
                raise InputError(f"columns: {name}: got {number:g}, expected a number of {str(of_call[name].dtype)[6:]}")
            self.fixed[name] = array
            self.keep(name, array, torch.from_numpy(array))
            others = ", ".join(map(str, compared.get(name, ())))
            if name not in numbers:
                self.graph.notes.append(
                    f"{name} is always {number}, as the file compares it with {others}: --columns {name}=NUMBER for another"
                )
        self.graph.inputs = [one for one in self.graph.inputs if one.name not in chosen]
        self._fold(self.graph)
        rows.free(self)

    @property
    def argument_names(self) -> list[str]:
        return [argument.name for argument in self.graph.inputs]

    @property
    def taken_by_file(self) -> list[Taken]:
        return [Taken(one.name, one.dtype, one.shape, rows=one.free) for one in self.graph.inputs]

    @property
    def result_names(self) -> list[str]:
        return self.graph.results

    @property
    def notes(self) -> list[str]:
        return self.graph.notes

    def reference(self) -> Callable[[Sequence[torch.Tensor]], Any] | None:
        """ONNX Runtime on the same file: tensors in the order of the arguments to results; None where it is not installed.
        Raises InputError where it does not take the model. A model of a fixed number of rows is called with this number at a
        time.
        """
        if self.path is None:
            return None
        results = dict(zip(self.graph.results, self.graph.outputs))
        run = runtime.session(self.path, self.argument_names, results, self.fixed)
        return run if run is None or self.graph.rows is None else rows.in_batches(run, self.graph.rows)

    def reference_in_float64(self) -> Callable[[Sequence[torch.Tensor]], Any] | None:
        """As reference(), by the rules of ONNX in float64. Raises what the package onnx raises."""
        if self.path is None:
            return None
        results = dict(zip(self.graph.results, self.graph.outputs))
        run = runtime.in_float64(self.path, self.argument_names, results, self.fixed)
        return run if self.graph.rows is None else rows.in_batches(run, self.graph.rows)

    def forward(self, *tensors: torch.Tensor, **by_name: torch.Tensor) -> Any:
        inputs = self._bound(tensors, by_name)
        for argument, tensor in zip(self.graph.inputs, inputs):
            self._check(argument, tensor)
        results = self.results_of(inputs) if self.one_by_one is None else self.one_by_one(*inputs)
        return named(results, self.graph.results)

    def results_of(self, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Of the graph as it is."""
        values = self.values_of(inputs)
        results = self.run(self.graph, values)
        call = self._call(Node("", "", "", [], [], {}), values)
        return tuple(call.as_tensor(result) for result in results)

    def _bound(self, tensors: Sequence[torch.Tensor], by_name: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
        names = self.argument_names
        rest = names[len(tensors) :]
        if len(tensors) > len(names) or sorted(rest) != sorted(by_name):
            got = [*map(str, range(len(tensors))), *by_name]
            raise InputError(f"the model takes {', '.join(names)}; got {', '.join(got) or 'nothing'}")
        return [*tensors, *(by_name[name] for name in rest)]

    def _check(self, argument: Input, tensor: torch.Tensor) -> None:
        dtype = self.floats.dtype if argument.dtype == torch.float32 else argument.dtype
        what = f'input "{argument.name}"'
        if tensor.dtype != dtype:
            names = [str(one).removeprefix("torch.") for one in (tensor.dtype, dtype)]
            raise InputError(f"{what}: got {names[0]}, the model takes {names[1]}")
        expected = argument.shape
        if expected is None:
            return
        sizes = zip(tensor.shape, expected)
        if tensor.dim() != len(expected) or any(isinstance(a, int) and b is not None and a != b for a, b in sizes):
            text = ", ".join("n" if size is None else str(size) for size in expected)
            found = f"{what}: got the shape {list(tensor.shape)}, the model takes [{text}]"
            if None in expected:
                raise InputError(found)
            raise Unsupported(f"{found}, and no other number of rows{self.graph.fixed_by}")

    # ---- running

    def values_of(self, inputs: Sequence[torch.Tensor]) -> dict[str, Value]:
        """The values that are known before the first node, by name."""
        values: dict[str, Value] = {name: self._constant(name) for name in self.constants}
        return values | dict(zip(self.argument_names, inputs))

    def run(
        self, graph: Graph, values: dict[str, Value], before: Callable[[Node, dict[str, Value]], None] | None = None
    ) -> list[Value]:
        """The results of a graph. `values` by name: those of its nodes are added, and taken away once nothing needs them.
        `before` sees each node.
        """
        for node, unneeded in zip(graph.nodes, _last_uses(graph)):
            if before is not None:
                before(node, values)
            results = self._results(node, values)
            values.update((name, value) for name, value in zip(node.outputs, results) if name)
            for name in unneeded:
                values.pop(name, None)
        missing = [name for name in graph.outputs if name not in values]
        if missing:
            raise InputError(f'output "{missing[0]}" is given by no node')
        return [values[name] for name in graph.outputs]

    def _results(self, node: Node, values: dict[str, Value]) -> Sequence[Value]:
        call = self._call(node, values)
        try:
            function = required(node.domain, node.operator, self.opset)
            if (on_arrays := call.on_arrays()) is not None:
                call = on_arrays
                with _disable_current_modes():  # torch.export has no shape of what depends on numbers, as of NonZero
                    made = _several(function(call))
                    results: list[Value] = [
                        Known(array_of_tensor(one)) if isinstance(one, torch.Tensor) else one for one in made
                    ]
            elif not node.domain and node.operator in SIZES and call.is_known:
                results = _several(SIZES[node.operator](call))
            else:
                results = _several(function(call))
            unread = sorted(set(node.attributes) - call.read)
            if unread:
                raise Refused(f"the attribute {', '.join(unread)} is not read")
        except InputError:
            raise
        except Refused as error:
            raise Unsupported(f"{node}: {error}") from error
        except Exception as error:  # whatever torch throws
            raise InputError(f"{node}: {first_line(error)}") from error
        if len(results) < len(node.outputs):
            raise InputError(f"{node}: has {len(node.outputs)} results, {len(results)} are made")
        return results

    def _call(self, node: Node, values: dict[str, Value]) -> Call:
        try:
            inputs = [values[name] if name else None for name in node.inputs]
        except KeyError as error:
            raise InputError(f"{node}: its input {error} is given by nothing") from error
        device, floats = self.floats.device, self.floats.dtype
        return Call(node, inputs, self.opset, floats, device, lambda graph: self.run(graph, dict(values)))

    # ---- constants

    def _fold(self, graph: Graph) -> None:
        """Runs the nodes of all graphs that depend on constants alone: their results become constants, they go."""
        for name, array in list(graph.constants.items()):
            self.keep(name, array, tensor_of(array))
        kept = []
        for node in graph.nodes:
            for inner in node.attributes.values():
                if isinstance(inner, Graph):
                    self._fold(inner)
            if node.operator == "If" or not all(name in self.constants for name in node.inputs if name):
                kept.append(node)
                continue
            values: dict[str, Value] = {name: self._constant(name) for name in node.inputs if name}
            with torch.no_grad():
                results = self._results(node, values)
            for name, value in zip(node.outputs, results):
                if name:
                    tensor = self._call(node, values).as_tensor(value)
                    self.keep(name, value.array if isinstance(value, Known) else array_of_tensor(tensor), tensor)
        graph.nodes = kept

    def keep(self, name: str, array: np.ndarray, tensor: torch.Tensor) -> None:
        """Makes a value a constant, or another one: the same numbers twice."""
        self.graph.constants[name] = array
        buffer = self.constants.setdefault(name, f"constant_{len(self.constants)}")
        self.register_buffer(buffer, tensor)

    def _constant(self, name: str) -> Known:
        return Known(self.graph.constants[name], getattr(self, self.constants[name]))


def _compared(graph: Graph, argument: Input) -> list[int]:
    """The constants that nodes compare an integer argument with."""
    if argument.dtype.is_floating_point:
        return []
    pairs = [node.inputs for node in graph.nodes if node.operator == "Equal" and argument.name in node.inputs]
    others = [name for pair in pairs for name in pair if name in graph.constants]
    return [*dict.fromkeys(int(number) for name in others for number in graph.constants[name].reshape(-1))]


def _several(results: Results) -> list[Value]:
    return [results] if isinstance(results, (torch.Tensor, Known)) else [*results]


def _last_uses(graph: Graph) -> list[list[str]]:
    """For each node the values that no later one needs."""
    needed = set(graph.outputs)
    unneeded = []
    for node in reversed(graph.nodes):
        names = {*_needed_by(node), *node.outputs}
        unneeded.append(sorted(names - needed))
        needed |= names
    return unneeded[::-1]


def _needed_by(node: Node) -> Iterator[str]:
    yield from node.inputs
    for inner in node.attributes.values():
        if isinstance(inner, Graph):
            yield from inner.outputs
            for one in inner.nodes:
                yield from _needed_by(one)
