# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A file of ONNX as one whose inputs and results are blocks [n, k], for ONNX Runtime: where tensors do not begin with rows, or
results have other sizes than the file says.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from tensoa.binding.blocks import named_results
from tensoa.errors import InputError
from tensoa.importers.onnx.module import OnnxModule
from tensoa.importers.onnx.read import graphs_of
from tensoa.rows_axis import Program, RowsFirst, are_same


@dataclass(frozen=True)
class InputBlock:
    """Rows [n, k] that are a tensor: `sizes` of one row, `axis` of the rows, None where a call has one row and the tensor no
    axis for it. `rows`: their number, or what it is called.
    """

    name: str
    width: int
    sizes: tuple[int, ...]
    axis: int | None
    rows: int | str


@dataclass(frozen=True)
class ResultBlock:
    """A tensor of `rank` axes that is rows [n, k], or [n]; `axis`: of the rows, None where a call gives one row."""

    name: str
    width: int
    rank: int
    axis: int | None
    rows: int | str


@dataclass(frozen=True)
class Blocks:
    """Properties of a file that were found by trial. `fixed`: inputs that are always these numbers."""

    inputs: Sequence[InputBlock] = ()
    results: Sequence[ResultBlock] = ()
    fixed: Mapping[str, np.ndarray] = field(default_factory=dict)


def blocks_of(module: nn.Module | None) -> Blocks:
    """The properties of a module that rows_first() has made of a file."""
    if isinstance(module, OnnxModule):
        return Blocks(fixed=module.fixed)
    if not isinstance(module, Program):
        return Blocks()
    (right,) = module.right
    if not isinstance(right.model, OnnxModule) or right.model.graph.results != right.model.graph.outputs:
        return Blocks()  # inner values, which the file does not give
    collections = {block.collection for block in right.inputs.inputs}
    if len(collections) > 1:
        return Blocks(fixed=right.model.fixed)  # which of them the rows of a result are is not known here
    rows = rows_of_a_call(right) or f"rows_{next(iter(collections))}"
    inputs = [
        InputBlock(block.name, len(block.places), place.sizes, place.axis, rows)
        for block, place in zip(right.inputs.inputs, right.places)
    ]
    results = [
        ResultBlock(name, math.prod(size or 1 for size in sizes), rank if axis is not None else max(2, rank), axis, rows)
        for name, sizes, rank, axis in zip(right.model.graph.results, right.sizes_of_results(), right.ranks(), right.axes)
    ]
    return Blocks(inputs, results, right.model.fixed)


def rows_of_a_call(right: RowsFirst) -> int | None:
    """For which the file was written, None where it takes any number."""
    assert isinstance(right.model, OnnxModule)
    return right.count or right.model.graph.rows


def require_same(run: Callable[[dict[str, np.ndarray]], Sequence[np.ndarray]], module: nn.Module | None) -> None:
    """Raises InputError where the file of blocks, which is run by this, gives something else than the file itself."""
    assert isinstance(module, Program)
    (right,) = module.right
    rows = right.example(rows_of_a_call(right))
    reference = module.reference()
    assert reference is not None
    got = run({name: one.numpy() for name, one in zip(module.argument_names, rows)})
    for block, one, (_, other) in zip(module.result_names, got, named_results(reference(rows)), strict=True):
        if not are_same(torch.from_numpy(one), other):
            raise InputError(f"result {block} is something else where the inputs of the file are blocks of rows")


def bind(model: onnx.ModelProto, blocks: Blocks) -> None:
    """Changes the model to one of these blocks: nodes of the model make its tensors of blocks, and blocks of its tensors.
    Raises InputError where the file says that its inputs have different numbers of rows.
    """
    graph = model.graph
    shapes = {value.name: value.type.tensor_type.shape.dim for value in graph.input}
    counts = {shapes[one.name][one.axis].dim_param for one in blocks.inputs if one.axis is not None} - {""}
    if len(counts) > 1:
        raise InputError(f"its inputs have different numbers of rows: {', '.join(sorted(counts))}")
    names = [*(one.name for one in blocks.inputs), *(one.name for one in blocks.results)]
    tensors = {name: f"{name}/tensor" for name in names}
    _rename(graph, tensors)
    for array in graph.initializer:
        array.name = tensors.get(array.name, array.name)
    before: list[onnx.NodeProto] = []
    after: list[onnx.NodeProto] = []
    given = {value.name: value for value in graph.input}
    for one in blocks.inputs:
        _declare(given[one.name], (one.rows, one.width))
        count = one.rows if isinstance(one.rows, int) else -1
        sizes = one.sizes if one.axis is None else (count, *one.sizes)
        order = [*range(1, len(sizes))]
        order.insert(one.axis or 0, 0)
        _move(graph, before, one.name, tensors[one.name], [sizes, order if one.axis else None])
    results = {value.name: value for value in graph.output}
    for result in blocks.results:
        _declare(results[result.name], (result.rows, result.width) if result.rank > 1 else (result.rows,))
        order = [result.axis or 0, *(axis for axis in range(result.rank) if axis != (result.axis or 0))]
        count = result.rows if isinstance(result.rows, int) else -1
        sizes = (count, result.width) if result.rank > 1 else (count,)
        _move(graph, after, tensors[result.name], result.name, [order if result.axis else None, sizes])
    for name, array in blocks.fixed.items():
        graph.input.remove(given[name])
        graph.initializer.append(numpy_helper.from_array(array, name))
    nodes = [*before, *graph.node, *after]
    del graph.node[:], graph.value_info[:]  # which may say the wrong sizes of results, too
    graph.node.extend(nodes)


def _move(
    graph: onnx.GraphProto, nodes: list[onnx.NodeProto], source: str, target: str, steps: Sequence[Sequence[int] | None]
) -> None:
    """Adds the nodes that make one tensor of another: to other sizes, a tuple, or to another order of axes, a list."""
    chosen = [step for step in steps if step is not None]
    for i, step in enumerate(chosen):
        made = target if i == len(chosen) - 1 else f"{target}/{i}"
        if isinstance(step, list):
            nodes.append(helper.make_node("Transpose", [source], [made], perm=step))
        else:
            graph.initializer.append(helper.make_tensor(f"{made}/sizes", TensorProto.INT64, [len(step)], step))
            nodes.append(helper.make_node("Reshape", [source, f"{made}/sizes"], [made]))
        source = made


def _declare(value: onnx.ValueInfoProto, sizes: Sequence[int | str]) -> None:
    kind = value.type.tensor_type.elem_type
    value.CopyFrom(helper.make_tensor_value_info(value.name, kind, [*sizes]))


def _rename(graph: onnx.GraphProto, names: Mapping[str, str]) -> None:
    """The inputs and outputs of nodes, in graphs inside too."""
    for node in graph.node:
        for listed in (node.input, node.output):
            for i, name in enumerate(listed):
                listed[i] = names.get(name, name)
        for inner in graphs_of(node):
            _rename(inner, names)
