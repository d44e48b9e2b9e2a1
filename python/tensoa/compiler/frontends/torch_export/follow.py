# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Row programs of parts of a graph."""

from collections.abc import Sequence
from typing import Any

import torch

from tensoa.compiler import passes
from tensoa.compiler.errors import NotFused, surprises_as_not_fused
from tensoa.compiler.frontends.torch_export import Graph, places
from tensoa.compiler.frontends.torch_export.walk import dtype_of
from tensoa.compiler.ir import EXACT, InputPlane, Output, Pairs, Program, Rows
from tensoa.compiler.ir.rows import need_rows, plane_array
from tensoa.compiler.parts import Follower, Node, NodeNotFusedError, Tensor
from tensoa.dtypes import DTYPES


class RowFollower(Follower[Program]):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.walk = graph.walk()
        self.env = self.walk.env

    def argument(self, node: Node) -> Any:
        return self.graph.placeholder(node, self.walk)

    def run(self, node: Node) -> Any:
        return self.walk.run(node)

    def is_of_rows(self, value: Any) -> bool:
        kinds = (Rows, Pairs, places.Chosen)
        return any(isinstance(item, kinds) for item in (value if isinstance(value, list) else [value]))

    def tensor(self, node: Node) -> Tensor | None:
        try:
            shape, axis, domain = self.walk.shape_of(node)
            dtype = dtype_of(node.meta["val"].dtype)
        except NotFused:
            return None
        if axis is None or domain is None or shape[axis] != 1 or dtype.name == "float64":
            return None
        return Tensor(node, axis, shape, domain, dtype.name)

    def read(self, tensor: Tensor, block: int) -> Rows:
        planes = [InputPlane(block, plane, tensor.dtype, tensor.domain, False) for plane in range(tensor.planes)]
        return Rows(plane_array(tensor.shape, planes), tensor.axis, tensor.domain, DTYPES[tensor.dtype])

    def domains(self, values: Sequence[Any]) -> set[int]:
        return {value.domain for value in values if isinstance(value, Rows)}

    def program(self, outputs: Sequence[Tensor], first: int, nodes: Sequence[Node]) -> Program:
        made = Program(self.graph.domains, [self._output(tensor, first + i) for i, tensor in enumerate(outputs)])
        try:
            with torch.no_grad(), surprises_as_not_fused():
                return passes.simplify(made)
        except NotFused as reason:
            raise NodeNotFusedError(nodes[-1], str(reason)) from reason

    def _output(self, tensor: Tensor, block: int) -> Output:
        result = self.env[tensor.node]
        try:
            need_rows(result)
            if not isinstance(result, Rows) or result.outer != 1:
                raise NotFused("a result that torch does not take from a part")
            if not result.dtype.is_float and self.walk.largest(result) > EXACT:
                raise NotFused(f"a result of {result.dtype.name} that float32 may not hold")
            value = self.walk.value(result.planes, result.domain)
        except NotFused as reason:
            raise NodeNotFusedError(tensor.node, str(reason)) from reason
        return Output(block, tuple(range(tensor.planes)), value, tensor.dtype)
