# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From a program of torch.export to a row program."""

import math
import re
import weakref
from dataclasses import replace
from typing import Any

import torch
from torch._decomp import get_decompositions

from tensoa.binding import Binding, Block
from tensoa.compiler import passes
from tensoa.compiler.errors import NotFused, surprises_as_not_fused
from tensoa.compiler.frontends.torch_export.arithmetic import rounded
from tensoa.compiler.frontends.torch_export.exported import exported_program
from tensoa.compiler.frontends.torch_export.quantised import decompositions
from tensoa.compiler.frontends.torch_export.walk import Walk, dtype_of
from tensoa.compiler.ir import EXACT, InputPlane, Output, Program, Rows, Step
from tensoa.compiler.ir.rows import Double, need_rows, plane_array
from tensoa.dtypes import DTYPES, HIGH, LOW, name_of
from tensoa.row_numbers import branches, limits_of, takes_any_rows
from tensoa.tracing import decomposed

__all__ = ["Graph", "capture", "exported_program", "row_program"]

#: Operations that torch.export would take apart: over rows and more at once, into rows put behind rows, into ranges of
#: uint16, which torch does not calculate on a CPU, or into the root of a variance that is no float32.
KEPT = [
    torch.ops.aten.linear.default,
    torch.ops.aten.matmul.default,
    torch.ops.aten.scaled_dot_product_attention.default,
    torch.ops.aten.cdist.default,
    torch.ops.aten.eye.default,
    torch.ops.aten.eye.m,
    torch.ops.aten.stack.default,
    torch.ops.aten.std.correction,
    torch.ops.aten.std_mean.correction,
]

#: Operations that torch.export leaves whole, and that are sums of elements taken by constant indices.
RESIZING = [getattr(torch.ops.aten, name).vec for name in dir(torch.ops.aten) if re.fullmatch(r"upsample_[a-z]+\dd", name)]


def capture(exported: torch.export.ExportedProgram, binding: Binding, rules: list[dict], device: str = "cpu") -> Program:
    """The row program of a torch.export.ExportedProgram that takes a tensor for each input block and gives one for each
    output block, in order. `rules`: of the rows of each output, as in the manifest of packages. `device`: whose torch gives the
    numbers, "cpu" or "cuda", where they differ.

    Raises NotFused with the reason, in words for the user.
    """
    graph = Graph(exported, binding, device)
    walk = graph.walk()
    for node in graph.nodes:
        if node.op == "output":
            results = torch.fx.node.map_arg(node.args[0], lambda argument: walk.env[argument])
        elif node.op != "placeholder":
            with torch.no_grad():
                walk.env[node] = walk.run(node)
        else:
            walk.env[node] = graph.placeholder(node, walk)
    return Program(graph.domains, _outputs(walk, results, binding, rules, graph.domains))


class Graph:
    """An exported program as operators that the front end follows. Raises NotFused for one that no program of ours can be.

    `constants`: parameters, buffers and constants by the node that stands for them; `inputs`: nodes of the input blocks.
    """

    def __init__(self, exported: torch.export.ExportedProgram, binding: Binding, device: str = "cpu") -> None:
        program = _taken_apart(exported)
        signature = program.graph_signature
        if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
            raise NotFused("something that is written")
        self.binding, self.device = binding, device
        self.domains = tuple(sorted({block.collection for block in binding.inputs}))
        named = {
            **signature.inputs_to_parameters,
            **signature.inputs_to_buffers,
            **signature.inputs_to_lifted_tensor_constants,
        }
        values = {**program.state_dict, **program.constants}
        self.nodes = list(program.graph.nodes)
        placeholders = [node for node in self.nodes if node.op == "placeholder"]
        self.inputs = [node for node in placeholders if node.name not in named]
        if len(self.inputs) != len(binding.inputs):
            raise NotFused("other arguments than the input blocks")
        self.constants = {node: values[named[node.name]].detach().cpu() for node in placeholders if node.name in named}
        position = {node: i for i, node in enumerate(self.inputs)}
        self.symbols = _symbols(program, position, binding, self.domains)
        for condition in branches(exported, binding):
            raise NotFused(f"a branch on the number of rows, followed only where {condition}")

    def walk(self) -> Walk:
        return Walk(self.symbols, self.device)

    def placeholder(self, node: torch.fx.Node, walk: Walk) -> Rows | torch.Tensor:
        """What an argument of the graph is: a constant, or the tensor of a block as planes."""
        if node in self.constants:
            return self.constants[node]
        position = self.inputs.index(node)
        block = self.binding.inputs[position]
        tensor = _input(block, position, self.domains.index(block.collection))
        if block.dtype == block.column_dtype == torch.float64:
            return _doubles(walk, tensor)
        return replace(rounded(walk, tensor, block.dtype), dtype=dtype_of(block.dtype))


_known: weakref.WeakKeyDictionary[torch.export.ExportedProgram, torch.export.ExportedProgram] = weakref.WeakKeyDictionary()


def _taken_apart(exported: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """Its operators as those that the front ends know; once, as torch takes as long for it as for the export."""
    if exported not in _known:
        table = torch.export.default_decompositions()
        for operation in KEPT:
            table.pop(operation, None)
        table.update(get_decompositions(RESIZING))
        table.update(decompositions(exported.graph))
        _known[exported] = decomposed(exported, table)
    return _known[exported]


def row_program(exported: torch.export.ExportedProgram, binding: Binding, rules: list[dict], device: str = "cpu") -> Program:
    """As capture(), simplified. Raises NotFused for everything but errors of the user."""
    with surprises_as_not_fused():
        return passes.simplify(capture(exported, binding, rules, device))


def _symbols(
    program: torch.export.ExportedProgram, position: dict[torch.fx.Node, int], binding: Binding, domains: tuple
) -> dict:
    """{symbol of a number of rows: domain}"""
    symbols: dict[Any, int] = {}
    for node, i in position.items():
        block = binding.inputs[i]
        size = node.meta["val"].shape[1 if block.is_transposed else 0]
        if isinstance(size, int) or size.node.maybe_as_int() is not None:
            raise NotFused(f"exactly {size} rows of block {block.name}")
        if not takes_any_rows(program, size, with_needs=True):
            raise NotFused(f"a number of rows of block {block.name} that is not any ({limits_of(program, size)})")
        domain = domains.index(block.collection)
        if symbols.setdefault(size.node.expr, domain) != domain:
            raise NotFused("equal numbers of rows of two collections")
    return symbols


def _input(block: Block, position: int, domain: int) -> Rows:
    """The tensor that the model knows, as planes; not yet rounded to its dtype."""
    column, dtype = dtype_of(block.column_dtype), dtype_of(block.dtype)
    steps: tuple[Step, ...] = ()
    if not dtype.is_float and dtype != column:
        if dtype.is_bool or column.is_float:
            raise NotFused(f'block "{block.name}" of {dtype.name} in columns of {column.name}')
        steps = () if dtype.holds(column) else (Step("cast", 0, dtype.name),)
    is_scalar = block.kind == "scalar"
    planes = [InputPlane(position, place, column.name, domain, is_scalar, steps) for place in block.places]
    columns, element = len(block.columns), block.element
    array = plane_array((columns, math.prod(element)), planes)
    if block.is_transposed:
        return Rows(array.reshape(columns, 1), 1, domain, column if dtype.is_float else dtype)
    if len(element) == 2:  # planes of a matrix lie column after column
        array = array.reshape(columns, element[1], element[0]).transpose(0, 2, 1)
    return Rows(array.reshape(block.shape(1)), 0, domain, column if dtype.is_float else dtype)


def _doubles(walk: Walk, tensor: Rows) -> Rows:
    """Columns of float64 as such, by their words."""
    planes = list(tensor.planes.reshape(-1))
    words = [replace(plane, dtype=half.name) for half in (HIGH, LOW) for plane in planes]
    value = walk.value(plane_array((-1,), words), tensor.domain)
    doubles = plane_array(tensor.planes.shape, [Double(value, i) for i in range(len(planes))])
    return replace(tensor, planes=doubles, dtype=DTYPES["float64"])


def _outputs(walk: Walk, results: list, binding: Binding, rules: list[dict], domains: tuple) -> list[Output]:
    outputs = []
    for i, (block, result, rule) in enumerate(zip(binding.outputs, results, rules)):
        if "rows" in rule:
            raise NotFused(f'block "{block.name}": always the same number of rows')
        dtype, column = dtype_of(block.dtype), dtype_of(block.column_dtype)
        if dtype != column and not (dtype.is_float and column.is_float):
            raise NotFused(f'block "{block.name}" of {dtype.name} in columns of {name_of(block.column_dtype)}')
        domain = domains.index(rule["collection"])
        if not isinstance(result, Rows):
            result = walk.filled(result, block.shape(1), 1 if block.is_transposed else 0, domain)
        need_rows(result)
        if result.domain != domain:
            raise NotFused(f'block "{block.name}": rows of another collection')
        if not dtype.is_float and walk.largest(result) > EXACT:
            raise NotFused(f'block "{block.name}" of {dtype.name} that float32 may not hold')
        planes = result.planes
        if not block.is_transposed and len(block.element) == 2:
            planes = planes.swapaxes(-1, -2)
        at, places = len(binding.inputs) + i, tuple(block.places)
        if result.has_doubles and column.name == "float64":
            doubles = walk.doubles(planes, domain)
            outputs += [Output(at, places, words, half.name) for words, half in zip(doubles, (HIGH, LOW))]
            continue
        if result.has_doubles:
            planes = walk.double("identity", replace(result, planes=planes), is_short=True).planes
        outputs.append(Output(at, places, walk.value(planes, domain), column.name))
    return outputs
