# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models that take one number of rows alone, as models that calculate each row by itself.

torch.vmap runs such a model for one row, which is given as all rows that the model wants. The operations that this becomes are
recorded for a number of rows that nothing else has; in the record, that number and its multiples become those of the call.
Rules of torch.vmap that read sizes as numbers would fix the number of rows where torch.export follows them.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from tensoa.errors import InputError

aten = torch.ops.aten
Run = Callable[[Sequence[torch.Tensor]], Sequence[torch.Tensor]]


def recorded(run: Run, inputs: Sequence[torch.Tensor], copies: int) -> torch.fx.GraphModule:
    """A module that takes any number of rows and gives a tuple, made of `run`, which takes `copies` rows. `inputs`: tensors of
    the number of rows that is recorded. It is right where no other size is a multiple of that: the caller compares.
    """

    def of_row(*row: torch.Tensor) -> tuple[torch.Tensor, ...]:
        results = run([tensor.expand(copies, *tensor.shape) for tensor in row])
        for result in results:
            if result.dim() == 0 or result.shape[0] != copies:
                raise InputError(f"a result has the shape {list(result.shape)} for {copies} rows")
        return tuple(result[0] for result in results)

    with torch.no_grad():
        module = make_fx(torch.vmap(of_row))(*inputs)
    _free(module.graph, inputs[0].shape[0])
    module.recompile()
    return module


def _free(graph: torch.fx.Graph, rows: int) -> None:
    """Makes `rows` and its multiples those of the first argument."""
    nodes = list(graph.nodes)
    first = next(node for node in nodes if node.op == "placeholder")
    with graph.inserting_after(first):
        size = graph.call_function(aten.sym_size.int, (first, 0))
    multiples = {1: size}

    def freed(value: Any) -> Any:
        if type(value) is not int or value <= 0 or value % rows:
            return value
        factor = value // rows
        if factor not in multiples:
            with graph.inserting_after(size):
                multiples[factor] = graph.call_function(operator.mul, (size, factor))
        return multiples[factor]

    for node in nodes:
        if node.op == "call_function":
            node.args = torch.fx.node.map_aggregate(node.args, freed)
            node.kwargs = torch.fx.node.map_aggregate(node.kwargs, freed)
            if node.target in (aten.view.default, aten._unsafe_view.default):  # of other numbers of rows it may need a copy
                node.target = aten.reshape.default
