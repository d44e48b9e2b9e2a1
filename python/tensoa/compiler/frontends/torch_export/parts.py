# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Row programs that are parts of a graph: what lies between them stays operators of torch.

Every node has a level: that of a node of a row program is the highest of its arguments, that of an operator of torch is above
all row programs that it reads. The nodes of row programs of one level are one part: nothing between them waits for torch.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from tensoa.compiler import passes
from tensoa.compiler.errors import NotFused, surprises_as_not_fused
from tensoa.compiler.frontends.torch_export import Graph, movement, places
from tensoa.compiler.frontends.torch_export.walk import Walk, dtype_of
from tensoa.compiler.ir import EXACT, InputPlane, Output, Pairs, Program, Rows
from tensoa.compiler.ir.rows import need_rows, plane_array
from tensoa.dtypes import DTYPES

#: A part is worth a call with one of these operators, or with as many others that calculate.
PRODUCTS = {"linear", "matmul", "bmm", "mm", "addmm", "convolution", "scaled_dot_product_attention", "cdist"}
LEAST_OTHERS = 3
#: What moves numbers, or makes constants: it costs nothing inside a part, and little outside.
FREE = {*movement.OPERATIONS, "getitem", "full", "full_like", "empty_like", "zeros", "ones", "_to_copy"}
Node = torch.fx.Node


@dataclass(frozen=True)
class Limits:
    """What the programs of a device are good for. `planes`: of a tensor between torch and a part; `check` raises NotFused for
    the weights of a product that stays with torch.
    """

    planes: int
    check: Callable[[torch.Tensor], None] = lambda weight: None


@dataclass
class Tensor:
    """A tensor between torch and a part: planes [of one row, rows] in the order of its dimensions without that of the rows."""

    node: Node
    axis: int  # of the rows
    shape: tuple[int, ...]  # with 1 there
    domain: int
    dtype: str

    @property
    def planes(self) -> int:
        return math.prod(self.shape)


@dataclass
class Part:
    """`inputs` and `outputs` are the blocks of `program`, each one tensor."""

    program: Program
    inputs: list[Tensor]
    outputs: list[Tensor]
    nodes: list[Node]


@dataclass
class Partition:
    """`order`: nodes of torch and parts, in the order to run them. `left`: operators that are in no part, and why."""

    order: list[Node | Part]
    left: dict[Node, str]

    @property
    def parts(self) -> list[Part]:
        return [item for item in self.order if isinstance(item, Part)]


def name_of(node: Node) -> str:
    """What an operator is called: "linear", of aten.linear.default."""
    name = node.target.__name__ if callable(node.target) else str(node.target)
    return name.partition(".")[0]


class Partitioner:
    def __init__(self, graph: Graph, limits: Limits) -> None:
        self.graph, self.limits = graph, limits
        self.env: dict[Node, Any] = {}  # Rows, constants, numbers; nothing for what no part can read
        self.left: dict[Node, str] = {}
        self.fused: set[Node] = set()

    def partition(self) -> Partition:
        self._classify()
        while True:
            level = self._levels()
            groups: dict[int, list[Node]] = {}
            for node in self.graph.nodes:
                if node in self.fused:
                    groups.setdefault(level[node], []).append(node)
            parts = {}
            for at, nodes in groups.items():
                if not _is_worth_it(nodes):
                    self.fused.difference_update(nodes)
                    break
                try:
                    parts[at] = self._part(nodes)
                except _NodeNotFusedError as refusal:
                    self.fused.discard(refusal.node)
                    if name_of(refusal.node) not in FREE:
                        self.left.setdefault(refusal.node, str(refusal))
                    break
            else:
                return Partition(self._order(level, parts), self.left)

    # ---- which nodes are operators of row programs

    def _classify(self) -> None:
        walk = self.graph.walk()
        for node in self.graph.nodes:
            if node.op == "placeholder":
                try:
                    walk.env[node] = self.graph.placeholder(node, walk)
                except NotFused:  # a dtype
                    continue
            elif node.op == "call_function":
                self._classify_call(walk, node)
        self.env = walk.env

    def _classify_call(self, walk: Walk, node: Node) -> None:
        missing = [argument for argument in node.all_input_nodes if argument not in walk.env]
        if not missing:
            try:
                with torch.no_grad(), surprises_as_not_fused():
                    result = walk.run(node)
                if name_of(node) in PRODUCTS:
                    for weight in (walk.env[argument] for argument in node.all_input_nodes):
                        if isinstance(weight, torch.Tensor):
                            self.limits.check(weight)
                walk.env[node] = result
                if _has_rows(result):
                    self.fused.add(node)
                return
            except NotFused as reason:
                self.left[node] = str(reason)
        elif name_of(node) not in FREE and all(isinstance(a.meta["val"], torch.Tensor) for a in missing):
            self.left[node] = "a tensor that is not made of rows"
        tensor = self._tensor(node)
        if tensor is not None:
            number = len(walk.env)
            walk.env[node] = _rows_of(tensor, number)

    def _tensor(self, node: Node) -> Tensor | None:
        """What a node gives, where a part can read it."""
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            return None
        walk = self.graph.walk()
        try:
            shape, axis, domain = walk.shape_of(node)
            dtype = dtype_of(value.dtype)
        except NotFused:
            return None
        if axis is None or domain is None or shape[axis] != 1 or dtype.name == "float64":
            return None
        tensor = Tensor(node, axis, shape, domain, dtype.name)
        return tensor if 0 < tensor.planes <= self.limits.planes else None

    # ---- which are one part

    def _levels(self) -> dict[Node, int]:
        """Of each node; moves that only what comes later reads go there, or to torch."""
        while True:
            level: dict[Node, int] = {}
            for node in self.graph.nodes:
                arguments = node.all_input_nodes
                if node in self.fused:
                    arguments = [a for a in arguments if isinstance(a.meta.get("val"), (torch.Tensor, list, tuple))]
                above = 0 if node in self.fused else 1
                level[node] = max([level[a] + (above if a in self.fused else 0) for a in arguments], default=0)
            demoted = set()
            for node in reversed(self.graph.nodes):
                if node not in self.fused or name_of(node) not in FREE:
                    continue
                users = [user for user in node.users if user in self.fused]
                if any(level[user] == level[node] for user in users):
                    continue
                if len(users) < len(node.users) or not users:
                    demoted.add(node)
                    break
                level[node] = min(level[user] for user in users)
            if not demoted:
                return level
            self.fused -= demoted

    def _part(self, nodes: list[Node]) -> Part:
        """Raises _NodeNotFusedError."""
        inside = set(nodes)
        walk = self.graph.walk()
        inputs: list[Tensor] = []
        computed: set[Node] = set()  # from integers that torch computes: as indices they may be negative
        for node in nodes:
            for argument in node.all_input_nodes:
                if argument not in inside and argument.op != "placeholder" and _is_integer(argument):
                    computed.add(argument)
            if computed.intersection(node.all_input_nodes):
                if name_of(node) in ("index", "index_put"):
                    raise _NodeNotFusedError(node, "an index that torch computes, where a negative one counts from the end")
                computed.add(node)
            for argument in node.all_input_nodes:
                if argument in inside or argument in walk.env:
                    continue
                if not _has_rows(self.env[argument]):
                    walk.env[argument] = self.env[argument]
                    continue
                tensor = self._tensor(argument)
                if tensor is None:
                    raise _NodeNotFusedError(node, "a tensor that a part cannot read")
                walk.env[argument] = _rows_of(tensor, len(inputs))
                inputs.append(tensor)
            try:
                with torch.no_grad(), surprises_as_not_fused():
                    walk.env[node] = walk.run(node)
            except NotFused as reason:
                raise _NodeNotFusedError(node, str(reason)) from reason
        read = [node for node in nodes if any(user not in inside for user in node.users)]
        domains = {walk.env[node].domain for node in nodes if isinstance(walk.env[node], Rows)}
        for domain in sorted(domains - {tensor.domain for tensor in inputs}):  # its number of rows
            block = next(b for b in self.graph.inputs if (t := self._tensor(b)) is not None and t.domain == domain)
            inputs.append(self._tensor(block))  # type: ignore[arg-type]
        made = [self._output(walk, node, len(inputs) + i) for i, node in enumerate(read)]
        program = Program(self.graph.domains, [output for output, _ in made])
        try:
            with surprises_as_not_fused():
                program = passes.simplify(program)
        except NotFused as reason:
            raise _NodeNotFusedError(nodes[-1], str(reason)) from reason
        return Part(program, inputs, [tensor for _, tensor in made], nodes)

    def _output(self, walk: Walk, node: Node, block: int) -> tuple[Output, Tensor]:
        result, tensor = walk.env[node], self._tensor(node)
        try:
            need_rows(result)
            if tensor is None or not isinstance(result, Rows) or result.outer != 1:
                raise NotFused("a result that torch does not take from a part")
            if not result.dtype.is_float and walk.largest(result) > EXACT:
                raise NotFused(f"a result of {result.dtype.name} that float32 may not hold")
            value = walk.value(result.planes, result.domain)
        except NotFused as reason:
            raise _NodeNotFusedError(node, str(reason)) from reason
        return Output(block, tuple(range(tensor.planes)), value, tensor.dtype), tensor

    def _order(self, level: dict[Node, int], parts: dict[int, Part]) -> list[Node | Part]:
        order: list[Node | Part] = []
        for at in range(max(level.values(), default=0) + 1):
            order += [node for node in self.graph.nodes if level[node] == at and node not in self.fused]
            if at in parts:
                order.append(parts[at])
        return order


class _NodeNotFusedError(Exception):
    def __init__(self, node: Node, reason: str) -> None:
        super().__init__(reason)
        self.node = node


def _is_integer(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and not value.is_floating_point()


def _has_rows(result: Any) -> bool:
    kinds = (Rows, Pairs, places.Chosen)
    return any(isinstance(item, kinds) for item in (result if isinstance(result, list) else [result]))


def _is_worth_it(nodes: list[Node]) -> bool:
    names = [name_of(node) for node in nodes]
    return bool(PRODUCTS.intersection(names)) or sum(name not in FREE for name in names) >= LEAST_OTHERS


def _rows_of(tensor: Tensor, block: int) -> Rows:
    planes = [InputPlane(block, plane, tensor.dtype, tensor.domain, False) for plane in range(tensor.planes)]
    return Rows(plane_array(tensor.shape, planes), tensor.axis, tensor.domain, DTYPES[tensor.dtype])


def partition(graph: Graph, limits: Limits) -> Partition:
    """The parts of a graph that are row programs and worth a call; none where nothing is."""
    return Partitioner(graph, limits).partition()
