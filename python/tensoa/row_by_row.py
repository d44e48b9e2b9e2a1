# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A function of one row, or of one number of rows, as a module of any number of them.

torch.vmap runs a function of one row for all. The operations that this becomes are recorded for a number of rows that nothing
else has; in the record, that number and its multiples become those of the call. Rules of torch.vmap that read sizes as numbers
would fix the number where torch.export follows them.
"""

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.fx.experimental.proxy_tensor import make_fx

aten = torch.ops.aten
Function = Callable[..., tuple[torch.Tensor, ...]]


def of_each(function: Function, inputs: Sequence[torch.Tensor]) -> torch.fx.GraphModule:
    """A module that gives the results of `function` for each of any number of first indices of its inputs. `inputs`: tensors of
    the number that is recorded. It is right where no other size is a multiple of that: the caller compares.
    """
    try:
        return of_any(torch.vmap(function), inputs)
    except Exception:  # torch.vmap has no rule for some operators, as for LSTM: they are made of others that have one
        return of_any(torch.vmap(_in_small_operators(function, [one[0] for one in inputs])), inputs)


def _in_small_operators(function: Function, row: Sequence[torch.Tensor]) -> torch.fx.GraphModule:
    """A function of one row, with the rules in Python that torch has for recurrent layers."""
    with torch.no_grad(), enable_python_dispatcher(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # flags() speaks of GPUs of Intel
        with torch.backends.mkldnn.flags(enabled=False):  # which has its own operator for LSTM
            return make_fx(function)(*row)


def of_any(function: Function, inputs: Sequence[torch.Tensor]) -> torch.fx.GraphModule:
    """The same of a function that accepts the number of rows of `inputs`, or more."""
    with torch.no_grad():
        module = make_fx(function)(*inputs)
    module.graph.eliminate_dead_code()  # which would count as what rows have to do with each other
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
