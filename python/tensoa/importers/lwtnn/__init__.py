# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Networks in the JSON of LWTNN, sequential and graphs, as modules of torch.

Inputs are the variables of the file in its order, before its offset and scale: [n, variables], and [n, variables, steps]
of a sequence, whose number of steps is that of the columns. Defaults of variables do not replace what is not a number:
LWTNN does that only on request, too.
"""

import json
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tensoa.binding import Binding
from tensoa.binding.defaults import Taken
from tensoa.errors import InputError, first_line
from tensoa.importers.columns import order_of
from tensoa.importers.lwtnn.layers import SEQUENCES, VECTORS, checked_kind, member
from tensoa.importers.outputs import chosen
from tensoa.importers.results import named

NODES = "input input_sequence feed_forward sequence time_distributed concatenate add sum".split()


def import_lwtnn(path: str | PathLike, columns: Binding | None = None) -> "Lwtnn":
    """The network in a file; where a binding is given, for its columns: by the names of the variables where a block has
    them, in any order, else in order. Raises InputError.
    """
    try:
        text = json.loads(Path(path).read_text())
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: got no JSON ({first_line(error)}), expected a network of LWTNN") from error
    try:
        if not isinstance(text, dict) or not {"inputs", "layers", "outputs"} <= set(text):
            raise InputError("has no inputs, layers and outputs, expected a network of LWTNN")
        is_graph = isinstance(text["outputs"], dict)
        network = Lwtnn(text if is_graph else _graph_of(text), is_graph)
        if columns is not None:
            network.order_by(columns)
        return network
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except RecursionError as error:
        raise InputError(f"{path}: its nodes are a chain of more than Python follows") from error


def _graph_of(text: dict) -> dict:
    """A sequential network as a graph: sequences of all inputs where a layer is recurrent, and then what follows."""
    layers = member(text, "layers", list)
    architectures = [entry.get("architecture") if isinstance(entry, dict) else None for entry in layers]
    of_sequences = [i for i, architecture in enumerate(architectures) if architecture in SEQUENCES]
    inputs = {"name": "inputs", "variables": member(text, "inputs", list)}
    kind = "input_sequence" if of_sequences else "input"
    nodes: list[dict] = [{"type": kind, "sources": [0], "size": len(inputs["variables"])}]
    for i in (*of_sequences, *(i for i in range(len(layers)) if i not in of_sequences)):
        kind = "sequence" if i in of_sequences else "feed_forward"
        nodes.append({"type": kind, "sources": [len(nodes) - 1], "layer_index": i})
    outputs = {"outputs": {"labels": member(text, "outputs", list), "node_index": len(nodes) - 1}}
    return {
        "inputs": [] if of_sequences else [inputs],
        "input_sequences": [inputs] if of_sequences else [],
        "nodes": nodes, "layers": layers, "outputs": outputs,
    }  # fmt: skip


class _Input(nn.Module):
    """(x + offset) * scale of the variables of a node, out of the columns of a block."""

    def __init__(self, entry: Any, is_sequence: bool) -> None:
        super().__init__()
        self.name, self.is_sequence = member(entry, "name", str), is_sequence
        variables = member(entry, "variables", list)
        self.variables = [member(variable, "name", str) for variable in variables]
        for name in ("offset", "scale"):
            values = [float(member(variable, name, (int, float))) for variable in variables]
            self.register_buffer(name, torch.tensor(values, dtype=torch.float32))
        self.order: list[int] | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.is_sequence:
            x = (x.unsqueeze(1) if x.dim() == 2 else x).transpose(1, 2)
        if x.shape[-1] != len(self.variables):
            raise InputError(f'input "{self.name}": got {x.shape[-1]} columns, the network takes {", ".join(self.variables)}')
        if self.order is not None:
            x = x[..., self.order]
        return (x + self.offset) * self.scale


class Lwtnn(nn.Module):
    """Takes a tensor for each input of the graph, vectors first, in order or by name; gives one for each output."""

    def __init__(self, text: dict, has_names: bool = True) -> None:
        super().__init__()
        self.has_names = has_names  # its inputs and outputs
        vectors, sequences = member(text, "inputs", list), member({"input_sequences": [], **text}, "input_sequences", list)
        self.first_sequence = len(vectors)
        made = [_Input(entry, i >= len(vectors)) for i, entry in enumerate((*vectors, *sequences))]
        self.inputs, self.layers = nn.ModuleList(made), nn.ModuleDict()
        self.nodes, entries = member(text, "nodes", list), member(text, "layers", list)
        self.outputs: dict[str, int] = {}
        self.notes: list[str] = []
        self.labels: dict[str, list[str]] = {}
        self.result_order: dict[str, list[int]] = {}
        self.sizes: dict[int, int] = {}  # of the nodes: what they give
        self.layer_inputs: dict[int, int] = {}
        self.is_sequence: dict[int, bool] = {}
        for name, output in member(text, "outputs", dict).items():
            labels, node = member(output, "labels", list), member(output, "node_index", int)
            size = self._build(node, entries, ())
            if size != len(labels):
                raise InputError(f'output "{name}": got {len(labels)} labels, its node {node} gives {size} numbers')
            if self.is_sequence[node] and self.nodes[node]["type"] != "sequence":
                raise InputError(f'output "{name}": its node {node} gives a sequence; expected a vector')
            self.outputs[name], self.labels[name] = node, [str(label) for label in labels]
        if not self.outputs:
            raise InputError("has no outputs; expected at least one")
        self.results = {name: name for name in self.outputs}  # the output that each result is

    @property
    def argument_names(self) -> list[str]:
        return [one.name for one in self.inputs]

    @property
    def taken_by_file(self) -> list[Taken]:
        """Sequences have a number of steps that the file does not say."""
        return [
            Taken(one.name, torch.float32, (None, len(one.variables)), tuple(one.variables))
            for one in self.inputs
            if not one.is_sequence
        ]

    @property
    def result_names(self) -> list[str]:
        return [*self.results] if self.has_names else []

    def order_by(self, columns: Binding) -> None:
        """Raises InputError for a block whose columns are not the variables or labels."""
        if self.has_names:
            self.results = chosen(columns, [*self.outputs], {})
        by_name = columns.goes_by_name(self.argument_names)
        for one, block in zip(self.inputs, columns.inputs):
            if by_name:
                block = next((other for other in columns.inputs if other.name == one.name), block)
            one.order = order_of(one.variables, block.columns, f'input "{one.name}"', self.notes)
        for name, block in zip(self.results.values(), columns.outputs):
            order = order_of(self.labels[name], block.columns, f'output "{name}"', self.notes)
            if order is not None:  # from labels to columns
                self.result_order[name] = [order.index(i) for i in range(len(order))]

    # ---- building

    def _build(self, number: int, entries: list, path: tuple[int, ...]) -> int:
        """The number of features of a node; its layers are made."""
        if number in path:
            raise InputError(f"node {number}: is its own source")
        if not 0 <= number < len(self.nodes):
            raise InputError(f"node {number}: there are {len(self.nodes)}")
        if number in self.sizes:
            return self.sizes[number]
        node = self.nodes[number]
        kind, sources = member(node, "type", str), member(node, "sources", list)
        try:
            if kind not in NODES:
                raise InputError(f"expected one of {', '.join(NODES)}")
            if not sources or any(type(source) is not int for source in sources):
                raise InputError(f"sources {sources}: expected numbers of nodes")
            if len(sources) != 1 and kind not in ("concatenate", "add"):
                raise InputError(f"got {len(sources)} sources, expected one")
            self.sizes[number] = self._size(node, kind, sources, entries, (*path, number))
        except InputError as error:
            text = str(error)
            raise error if text.startswith(("node ", "layer ")) else InputError(f"node {number} ({kind}): {text}") from error
        self.is_sequence[number] = kind in ("input_sequence", "sequence", "time_distributed")
        return self.sizes[number]

    def _size(self, node: dict, kind: str, sources: list[int], entries: list, path: tuple[int, ...]) -> int:
        if kind in ("input", "input_sequence"):
            at = sources[0] + (self.first_sequence if kind == "input_sequence" else 0)
            given = self.inputs[: self.first_sequence] if kind == "input" else self.inputs
            if sources[0] < 0 or at >= len(given) or len(given[at].variables) != member(node, "size", int):
                raise InputError(f"there is no input {sources[0]} of {node.get('size')} variables")
            return len(given[at].variables)
        sizes = [self._build(source, entries, path) for source in sources]
        wants_sequence = kind in ("sequence", "time_distributed", "sum")
        for source in sources:
            is_both = self.nodes[source]["type"] == "sequence"
            if self.is_sequence[source] != wants_sequence and not is_both:
                raise InputError(f"its source {source} gives a {'sequence' if self.is_sequence[source] else 'vector'}")
        if kind == "sum":
            return sizes[0]
        if kind == "concatenate":
            return sum(sizes)
        if kind == "add":
            if len(set(sizes)) != 1:
                raise InputError(f"adds {sizes} numbers, expected equal ones")
            return sizes[0]
        index = member(node, "layer_index", int)
        if not 0 <= index < len(entries):
            raise InputError(f"there is no layer {index}, there are {len(entries)}")
        make = checked_kind(entries[index], index, SEQUENCES if kind == "sequence" else VECTORS)
        if str(index) not in self.layers:
            try:
                self.layers[str(index)] = make(entries[index], sizes[0])
            except InputError as error:
                raise InputError(f"layer {index} ({entries[index]['architecture']}): {error}") from error
            self.layer_inputs[index] = sizes[0]
        if self.layer_inputs[index] != sizes[0]:
            raise InputError(f"layer {index} has {self.layer_inputs[index]} inputs elsewhere, here {sizes[0]}")
        return self.layers[str(index)].outputs

    # ---- running

    def forward(self, *tensors: torch.Tensor, **by_name: torch.Tensor) -> Any:
        names = self.argument_names
        if len(tensors) > len(names) or sorted(names[len(tensors) :]) != sorted(by_name):
            raise InputError(f"the network takes {', '.join(names)}; got {len(tensors) + len(by_name)} inputs")
        given = [*tensors, *(by_name[name] for name in names[len(tensors) :])]
        inputs = [one(tensor) for one, tensor in zip(self.inputs, given)]
        values: dict[int, torch.Tensor] = {}
        results = []
        for name in self.results.values():
            node = self.outputs[name]
            result = self._vector(self._value(node, inputs, values), node)
            results.append(result[:, self.result_order[name]] if name in self.result_order else result)
        return named(results, [*self.results])

    def _vector(self, value: torch.Tensor, node: int) -> torch.Tensor:
        """Of a sequence its last step."""
        return value[:, -1] if self.is_sequence[node] else value

    def _value(self, number: int, inputs: list[torch.Tensor], values: dict[int, torch.Tensor]) -> torch.Tensor:
        if number not in values:
            node = self.nodes[number]
            kind, sources = node["type"], node["sources"]
            if kind in ("input", "input_sequence"):
                return inputs[sources[0] + (self.first_sequence if kind == "input_sequence" else 0)]
            given = [self._value(source, inputs, values) for source in sources]
            if kind in ("feed_forward", "concatenate", "add"):
                given = [self._vector(value, source) for value, source in zip(given, sources)]
            if kind == "concatenate":
                values[number] = torch.cat(given, 1)
            elif kind == "add":
                values[number] = sum(given[1:], given[0])
            elif kind == "sum":
                values[number] = given[0].sum(1)
            else:
                values[number] = self.layers[str(node["layer_index"])](given[0])
        return values[number]
