# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Follows a graph in which some operators stay with torch, and makes typed programs of parts of it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tensoa.compiler import build
from tensoa.compiler import operations as ops
from tensoa.compiler.errors import NotFused, surprises_as_not_fused
from tensoa.compiler.frontend.capture import Capture
from tensoa.compiler.frontend.graph import Graph
from tensoa.compiler.frontend.lowering import Context, calculated, dtype_of
from tensoa.compiler.frontend.values import Factors, Masked, Value, cast, permuted, reshaped, to_shape, value_of
from tensoa.compiler.program import Output, Program
from tensoa.compiler.tensors import Tensor, in_order, made_by
from tensoa.dtypes import DTYPES

Node = torch.fx.Node


@dataclass
class PlaneTensor:
    """A tensor between torch and a part: planes [of one row, rows] in the order of its dimensions without that of the rows."""

    node: Node
    axis: int  # of the rows
    shape: tuple[int, ...]  # with 1 there
    domain: int
    dtype: str

    @property
    def planes(self) -> int:
        return math.prod(self.shape)


class NodeNotFusedError(Exception):
    """Why a node cannot be in its part."""

    def __init__(self, node: Node, reason: str) -> None:
        super().__init__(reason)
        self.node = node


class Follower:
    """The values of the nodes of a graph in the front end, one after the other; `env`: of each node. NotFused: it has none.
    `verified`: makes a program that can be compiled of one, or raises NotFused.
    """

    def __init__(self, graph: Graph, verified: Callable[[Program], Program]) -> None:
        self.verified = verified
        self.capture = Capture(graph)
        self.env = self.capture.values
        self.known: dict[Tensor, bool] = {}

    def argument(self, node: Node) -> Any:
        """An argument of the graph. Raises NotFused."""
        with made_by("front end"):
            return self.capture.argument(node)

    def run(self, node: Node) -> Any:
        """An operator whose arguments are in `env`. Raises NotFused."""
        return self.capture.lowered(node)

    def is_of_rows(self, value: Any) -> bool:
        """Whether a value depends on the data."""
        return any(map(self.depends, _tensors(value)))

    def depends(self, tensor: Tensor) -> bool:
        """Whether it is made of columns, or of the number of rows."""
        for one in in_order(tensor) if tensor not in self.known else ():
            self.known[one] = isinstance(one.op, ops.Column) or bool(one.rows) or any(self.known[arg] for arg in one.args)
        return self.known[tensor]

    def tensor(self, node: Node) -> PlaneTensor | None:
        """The result of a node, as planes; None where its rows do not lie side by side."""
        try:
            shape = Context(node, self.capture.symbols).shape()
            dtype = dtype_of(node.meta["val"].dtype)
        except NotFused:
            return None
        axes = [i for i, factors in enumerate(shape) if any(isinstance(factor, str) for factor in factors)]
        if len(axes) != 1 or len(shape[axes[0]]) != 1:
            return None
        sizes = tuple(1 if i == axes[0] or not factors else int(factors[0]) for i, factors in enumerate(shape))
        return PlaneTensor(node, axes[0], sizes, self.capture.rows.index(str(shape[axes[0]][0])), dtype.name)

    def read(self, tensor: PlaneTensor, block: int) -> Value:
        """The value of a tensor that torch has made, as an input block."""
        rows = self.capture.rows[tensor.domain]
        dtype = DTYPES[tensor.dtype]
        column = build.cast(build.column(block, range(tensor.planes), dtype, (rows, tensor.planes)), calculated(dtype))
        others = [dim for dim in range(len(tensor.shape)) if dim != tensor.axis]
        shape = _factors(tensor, rows, others)
        order = [0 if dim == tensor.axis else 1 + others.index(dim) for dim in range(len(tensor.shape))]
        return permuted(reshaped(value_of(column), shape), order)

    def domains(self, values: Sequence[Any]) -> set[int]:
        """The collections whose numbers of rows a program of these values needs."""
        tensors = in_order(*(tensor for value in values for tensor in _tensors(value)))
        return {self.capture.rows.index(symbol) for tensor in tensors for symbol in tensor.rows}

    def program(self, outputs: Sequence[PlaneTensor], first: int, nodes: Sequence[Node]) -> Program:
        """The program of a part of these nodes; output blocks are numbered from `first` on. Raises NodeNotFusedError."""
        made = [self._output(tensor, first + i) for i, tensor in enumerate(outputs)]
        try:
            return self._verified(made)
        except NotFused as reason:
            raise NodeNotFusedError(*self._culprit(nodes, str(reason))) from reason

    def _verified(self, outputs: Sequence[Output]) -> Program:
        with surprises_as_not_fused():
            return self.verified(Program(self.capture.rows, tuple(outputs)))

    def _culprit(self, nodes: Sequence[Node], reason: str) -> tuple[Node, str]:
        """The first node with which the values so far are not a program, and why; found by bisection."""
        made = [(node, self._output(tensor, i)) for i, node in enumerate(nodes) if (tensor := self._result(node)) is not None]
        least, most = 0, len(made)
        while least < most:
            middle = (least + most) // 2
            try:
                self._verified([output for _, output in made[: middle + 1]])
                least = middle + 1
            except NotFused as found:
                most, reason = middle, str(found)
        return (made[least][0] if least < len(made) else nodes[-1]), reason

    def _result(self, node: Node) -> PlaneTensor | None:
        return self.tensor(node) if isinstance(self.env[node], Value) else None

    def _output(self, tensor: PlaneTensor, block: int) -> Output:
        rows = self.capture.rows[tensor.domain]
        try:
            with surprises_as_not_fused():
                value: Value = self.env[tensor.node]
                order = [tensor.axis, *(dim for dim in range(len(tensor.shape)) if dim != tensor.axis)]
                shape = _factors(tensor, rows, order[1:])
                dtype = DTYPES[tensor.dtype]
                wide = cast(to_shape(permuted(value, order), shape), dtype)
                return Output(block, tuple(range(tensor.planes)), wide.tensor, dtype)
        except NotFused as reason:
            raise NodeNotFusedError(tensor.node, str(reason)) from reason


def _factors(tensor: PlaneTensor, rows: str, others: Sequence[int]) -> list[Factors]:
    """The shape with the rows first, and then the other dimensions."""
    found = list[Factors]([[rows]])
    found += [[tensor.shape[dim]] if tensor.shape[dim] > 1 else [] for dim in others]
    return found


def _tensors(value: Any) -> list[Tensor]:
    """The values that a value of a node is made of."""
    if isinstance(value, (list, tuple)):
        return [tensor for one in value for tensor in _tensors(one)]
    if isinstance(value, Masked):
        return [value.value.tensor, value.mask.tensor]
    return [value.tensor] if isinstance(value, Value) else []
