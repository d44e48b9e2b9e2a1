# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Files of ONNX."""

from collections import Counter
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from os import PathLike
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto, checker, external_data_helper, inliner, version_converter

from tensoa.errors import InputError, Unsupported, first_line
from tensoa.importers.onnx.graph import Graph, graph_of
from tensoa.importers.onnx.operators import find
from tensoa.importers.outputs import Asked, chosen, notes

FIRST, LAST = 11, 21  # opsets
FIRST_CONVERTED = 7  # from here on the package onnx makes FIRST of them; ONNX Runtime promises nothing for older ones
LAST_OF_ML = 5


def read(path: str | PathLike) -> onnx.ModelProto:
    """The model in a file, with the numbers of its external files. Raises InputError."""
    expected = "expected an ONNX model"
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}, {expected}") from error
    try:
        model = onnx.load_model_from_string(content)
    except DecodeError as error:
        raise InputError(f"{path}: is truncated or something else, {expected}") from error
    if not model.ir_version or not model.graph.node and not model.graph.output:
        raise InputError(f"{path}: has no graph, {expected}")
    _load_external(model, Path(path))
    return model


def graph(model: onnx.ModelProto, path: str | PathLike, asked: Asked | None = None) -> tuple[Graph, int]:
    """(its graph, its opset). Its results are those that are requested. Raises InputError, Unsupported for what is not read."""
    try:
        opset = _opset(model)
        if model.functions:
            model = inliner.inline_local_functions(model)
        _sort(model.graph)
        if opset < FIRST:
            model, opset = _converted(model, opset), FIRST
        texts = [value.name for value in model.graph.output if _is_text(value.type)]
        outputs = [value.name for value in model.graph.output if value.name not in texts]
        if texts and not outputs:
            raise Unsupported(f"its results are all text, which columns do not hold: {', '.join(texts)}")
        results = chosen(asked, outputs, _inner(model.graph))
        _prune(model.graph, results)
        versions = {"": opset, "ai.onnx": opset}
        versions |= {entry.domain: entry.version for entry in model.opset_import if entry.domain == "ai.onnx.ml"}
        _check_operators(model.graph, versions)
        made = graph_of(model.graph)
        made.results, made.outputs, made.notes = [*results], [*results.values()], notes(results, outputs)
        made.notes += [f'result "{name}" is left out: it is text, which columns do not hold' for name in texts]
        for value in model.graph.output:
            if value.type.HasField("sequence_type"):  # of ZipMap: a tensor here
                value.type.tensor_type.elem_type = TensorProto.FLOAT
        for value in (*model.graph.input, *model.graph.output):
            value.type.tensor_type.shape.SetInParent()  # which many models leave out, and the checker insists on
        try:
            checker.check_model(model)
        except (checker.ValidationError, ValueError) as error:
            raise Unsupported(f"is not valid: {first_line(error)}") from error
        needed = {value.name for value in model.graph.output}.union(*map(_read_by, model.graph.node))
        for node in made.nodes:
            node.outputs = [name if name in needed else "" for name in node.outputs]
        return made, opset
    except InputError as error:
        raise type(error)(f"{path}: {error}") from error


def _opset(model: onnx.ModelProto) -> int:
    versions = {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in model.opset_import}
    opset = versions.get("", LAST if versions else None)
    if opset is None:
        raise Unsupported("names no opset; it is truncated, or not an ONNX model")
    if not FIRST_CONVERTED <= opset <= LAST:
        raise Unsupported(f"opset {opset}; {FIRST_CONVERTED} to {LAST} are read")
    if versions.get("ai.onnx.ml", 1) > LAST_OF_ML:
        raise Unsupported(f"opset {versions['ai.onnx.ml']} of ai.onnx.ml; 1 to {LAST_OF_ML} are read")
    return opset


def _converted(model: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    """The model in opset FIRST."""
    try:
        return version_converter.convert_version(model, FIRST)
    except Exception as error:  # onnx throws many kinds
        raise Unsupported(f"opset {opset}, which the package onnx does not convert to {FIRST}: {first_line(error)}") from error


def _sort(graph: onnx.GraphProto) -> None:
    """Puts nodes behind those whose results they take, where they do not stand so."""
    for node in graph.node:
        for inner in graphs_of(node):
            _sort(inner)
    makers = {name: i for i, node in enumerate(graph.node) for name in node.output if name}
    needs = {i: {makers[name] for name in _read_by(node) if name in makers} for i, node in enumerate(graph.node)}
    if all(source < i for i, sources in needs.items() for source in sources):
        return
    try:
        nodes = [graph.node[i] for i in TopologicalSorter(needs).static_order()]
    except CycleError as error:
        names = " -> ".join(f'"{graph.node[i].name or next(iter(graph.node[i].output), "")}"' for i in error.args[1])
        raise Unsupported(f"is not valid: nodes need the results of each other: {names}") from error
    sorted_nodes = onnx.GraphProto(node=nodes).node
    del graph.node[:]
    graph.node.extend(sorted_nodes)


def _inner(graph: onnx.GraphProto) -> dict[str, str]:
    """The results of nodes, by their names, and by that of its node where that is one's alone and gives nothing else."""
    values = [name for node in graph.node for name in node.output if name]
    times = Counter(node.name for node in graph.node)
    nodes = {node.name: node.output[0] for node in graph.node if len(node.output) == times[node.name] == 1 and node.name}
    return {**nodes, **{name: name for name in values}}


def _prune(graph: onnx.GraphProto, results: Mapping[str, str]) -> None:
    """Makes the values the outputs, and leaves out what they do not need."""
    declared = {value.name: value for value in (*graph.value_info, *graph.output)}
    kept = [declared.get(name) or _undeclared(name) for name in dict.fromkeys(results.values())]
    del graph.output[:]
    graph.output.extend(kept)
    needed = {value.name for value in graph.output}
    nodes = []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            nodes.append(node)
            needed.update(_read_by(node))
    nodes.reverse()
    del graph.node[:]
    graph.node.extend(nodes)


def _is_text(kind: onnx.TypeProto) -> bool:
    """Whether the numbers of a result, in a sequence or a map too, are texts."""
    for inner in (kind.sequence_type.elem_type, kind.map_type.value_type, kind.optional_type.elem_type):
        if inner.WhichOneof("value"):
            return _is_text(inner)
    return kind.WhichOneof("value") == "tensor_type" and kind.tensor_type.elem_type == TensorProto.STRING


def _undeclared(name: str) -> onnx.ValueInfoProto:
    """An output of a type that the file does not say; the checker wants any."""
    return onnx.helper.make_tensor_value_info(name, TensorProto.FLOAT, None)


def _read_by(node: onnx.NodeProto) -> Iterator[str]:
    """Names of values that a node needs, those in its graphs too."""
    yield from node.input
    for inner in graphs_of(node):
        yield from (value.name for value in inner.output)
        for one in inner.node:
            yield from _read_by(one)


def graphs_of(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def _all_nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for inner in graphs_of(node):
            yield from _all_nodes(inner)


def _check_operators(graph: onnx.GraphProto, versions: dict[str, int]) -> None:
    """Raises Unsupported that lists all nodes of operators that are not here."""
    unknown: dict[str, list[str]] = {}
    for node in _all_nodes(graph):
        domain = "" if node.domain == "ai.onnx" else node.domain
        if find(domain, node.op_type, versions.get(domain, 1)) is None:
            name = f"{domain}.{node.op_type}" if domain else node.op_type
            unknown.setdefault(name, []).append(f'"{node.name or next(iter(node.output), "")}"')
    if unknown:
        listed = "; ".join(f"{name} (node {', '.join(nodes)})" for name, nodes in sorted(unknown.items()))
        raise Unsupported(f"operators that are not read: {listed}; docs/onnx_operators.md lists those that are")


def _tensors(graph: onnx.GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                yield attribute.t
        for inner in graphs_of(node):
            yield from _tensors(inner)


def _load_external(model: onnx.ModelProto, path: Path) -> None:
    """Loads numbers from files next to the model."""
    for tensor in _tensors(model.graph):
        if tensor.data_location != TensorProto.EXTERNAL:
            continue
        location = external_data_helper.ExternalDataInfo(tensor).location
        what = f'{path}: initialiser "{tensor.name}": its numbers are in "{location}"'
        if not (path.parent / location).is_file():
            raise InputError(f"{what}, which is not there; expected the file next to the model")
        try:
            external_data_helper.load_external_data_for_tensor(tensor, str(path.parent))
        except Exception as error:  # onnx throws many kinds
            raise InputError(f"{what}, which cannot be read: {first_line(error)}") from error
        tensor.data_location = TensorProto.DEFAULT
        del tensor.external_data[:]
