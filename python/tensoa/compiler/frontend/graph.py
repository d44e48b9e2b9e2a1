# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Exported programs as graphs of operators."""

import re
import weakref
from typing import Any

import torch
from torch._decomp import get_decompositions

from tensoa.binding import Binding
from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontend.quantised import decompositions
from tensoa.row_numbers import branches, limits_of, takes_any_rows
from tensoa.tracing import decomposed

#: Operations that torch.export would take apart: over rows and other axes together, into rows put behind rows, into ranges of
#: uint16, which torch does not calculate on a CPU, or into the root of a variance that is not a float32.
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


class Graph:
    """An exported program as operators that the front end follows. Raises NotFused for one that no program of ours can be.

    `constants`: parameters, buffers and constants by the node that stands for them; `inputs`: nodes of the input blocks.
    """

    def __init__(self, exported: torch.export.ExportedProgram, binding: Binding) -> None:
        program = _taken_apart(exported)
        signature = program.graph_signature
        if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
            raise NotFused("something that is written")
        self.binding = binding
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


_known: weakref.WeakKeyDictionary[torch.export.ExportedProgram, torch.export.ExportedProgram] = weakref.WeakKeyDictionary()


def _taken_apart(exported: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """Its operators as those that the front ends support; once, because torch needs the time of an export for it."""
    if exported not in _known:
        table = torch.export.default_decompositions()
        for operation in KEPT:
            table.pop(operation, None)  # type: ignore[no-untyped-call]
        table.update(get_decompositions(RESIZING))  # type: ignore[no-untyped-call]
        table.update(decompositions(exported.graph))  # type: ignore[no-untyped-call]
        _known[exported] = decomposed(exported, table)
    return _known[exported]


def _symbols(
    program: torch.export.ExportedProgram, position: dict[torch.fx.Node, int], binding: Binding, domains: tuple[int, ...]
) -> dict[Any, int]:
    """{symbol of a number of rows: domain}"""
    symbols: dict[Any, int] = {}
    for node, i in position.items():
        block = binding.inputs[i]
        size = node.meta["val"].shape[1 if block.is_transposed else 0]
        if isinstance(size, int) or size.node.maybe_as_int() is not None:
            raise NotFused(f"an operation that torch.export follows for exactly {size} rows of block {block.name} only")
        if not takes_any_rows(program, size, with_needs=True):
            raise NotFused(f"a number of rows of block {block.name} that is not any ({limits_of(program, size)})")
        domain = domains.index(block.collection)
        if symbols.setdefault(size.node.expr, domain) != domain:
            raise NotFused("equal numbers of rows of two collections")
    return symbols
