# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Parts of a graph that become fused programs: what lies between them stays operators of torch.

Every node has a level: that of a node of a part is the highest of its arguments, that of an operator of torch is above all
parts that it reads. The nodes of parts of one level are one part: nothing between them waits for torch. A Follower says what
a part may have, and makes its program.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from tensoa.compiler.errors import NotFused, surprises_as_not_fused
from tensoa.compiler.frontend.follow import Follower, Node, NodeNotFusedError, PlaneTensor
from tensoa.compiler.frontend.graph import Graph
from tensoa.compiler.program import Program

#: A part is worth a call with one of these operators, or with this number of others that calculate.
PRODUCTS = {"linear", "matmul", "bmm", "mm", "addmm", "convolution", "scaled_dot_product_attention", "cdist"}
LEAST_OTHERS = 3
#: Operators that move numbers, or make constants: they cost nothing inside a part, and little outside.
FREE = set(
    "alias clone contiguous detach lift_fresh_copy dropout view reshape permute transpose t select slice split_with_sizes "
    "split unsqueeze squeeze expand copy slice_scatter select_scatter cat stack repeat constant_pad_nd diagonal flip unfold "
    "roll getitem full full_like empty_like zeros ones _to_copy".split()
)


@dataclass(frozen=True)
class Limits:
    """The limits of parts on a device. `planes`: of a tensor between torch and a part."""

    planes: int


@dataclass
class Part:
    """`inputs` and `outputs` are the blocks of `program`, each one tensor; the program counts rows of `domains` collections."""

    program: Program
    inputs: list[PlaneTensor]
    outputs: list[PlaneTensor]
    nodes: list[Node]
    domains: int


@dataclass
class Partition:
    """`order`: nodes of torch and parts, in the order to run them. `left`: operators that are in no part, and why."""

    order: list[Node | Part]
    left: dict[Node, str]

    @property
    def parts(self) -> list[Part]:
        return [item for item in self.order if isinstance(item, Part)]


def name_of(node: Node) -> str:
    """The name of an operator: "linear", of aten.linear.default."""
    name = node.target.__name__ if callable(node.target) else str(node.target)
    return name.partition(".")[0]


class Partitioner:
    """`verified`: as a Follower has it."""

    def __init__(self, graph: Graph, limits: Limits, verified: Callable[[Program], Program]) -> None:
        self.graph, self.limits, self.verified = graph, limits, verified
        self.whole = Follower(graph, verified)  # values, constants, numbers; nothing for what no part can read
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
                except NodeNotFusedError as refusal:
                    self.fused.discard(refusal.node)
                    if name_of(refusal.node) not in FREE:
                        self.left.setdefault(refusal.node, str(refusal))
                    break
            else:
                return Partition(self._order(level, parts), self.left)

    # ---- which nodes are operators that a part may have

    def _classify(self) -> None:
        for node in self.graph.nodes:
            if node.op == "placeholder":
                try:
                    self.whole.env[node] = self.whole.argument(node)
                except NotFused:  # a dtype
                    continue
            elif node.op == "call_function":
                self._classify_call(node)

    def _classify_call(self, node: Node) -> None:
        env = self.whole.env
        missing = [argument for argument in node.all_input_nodes if argument not in env]
        if not missing:
            try:
                with torch.no_grad(), surprises_as_not_fused():
                    result = self.whole.run(node)
                env[node] = result
                if self.whole.is_of_rows(result):
                    self.fused.add(node)
                return
            except NotFused as reason:
                self.left[node] = str(reason)
        elif name_of(node) not in FREE and all(isinstance(a.meta["val"], torch.Tensor) for a in missing):
            self.left[node] = "a tensor that is not made of rows"
        tensor = self._tensor(node)
        if tensor is not None:
            env[node] = self.whole.read(tensor, len(env))

    def _tensor(self, node: Node) -> PlaneTensor | None:
        """The result of a node, where a part can read it."""
        if not isinstance(node.meta.get("val"), torch.Tensor):
            return None
        tensor = self.whole.tensor(node)
        return tensor if tensor is not None and 0 < tensor.planes <= self.limits.planes else None

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
        """Raises NodeNotFusedError."""
        inside = set(nodes)
        here = Follower(self.graph, self.verified)
        inputs: list[PlaneTensor] = []
        computed: set[Node] = set()  # from integers that torch computes: as indices they may be negative
        for node in nodes:
            for argument in node.all_input_nodes:
                if argument not in inside and argument.op != "placeholder" and _is_integer(argument):
                    computed.add(argument)
            if computed.intersection(node.all_input_nodes):
                if name_of(node) in ("index", "index_put"):
                    raise NodeNotFusedError(node, "an index that torch computes, where a negative one counts from the end")
                computed.add(node)
            for argument in node.all_input_nodes:
                if argument in inside or argument in here.env:
                    continue
                if not self.whole.is_of_rows(self.whole.env[argument]):
                    here.env[argument] = self.whole.env[argument]
                    continue
                tensor = self._tensor(argument)
                if tensor is None:
                    raise NodeNotFusedError(node, "a tensor that a part cannot read")
                here.env[argument] = here.read(tensor, len(inputs))
                inputs.append(tensor)
            try:
                with torch.no_grad(), surprises_as_not_fused():
                    here.env[node] = here.run(node)
            except NotFused as reason:
                raise NodeNotFusedError(node, str(reason)) from reason
        domains = here.domains([here.env[node] for node in nodes])
        for domain in sorted(domains - {tensor.domain for tensor in inputs}):  # its number of rows
            block = next(b for b in self.graph.inputs if (t := self._tensor(b)) is not None and t.domain == domain)
            inputs.append(self._tensor(block))  # type: ignore[arg-type]
        outputs = [self._output(node) for node in nodes if any(user not in inside for user in node.users)]
        program = here.program(outputs, len(inputs), nodes)
        return Part(program, inputs, outputs, nodes, len(self.graph.domains))

    def _output(self, node: Node) -> PlaneTensor:
        tensor = self._tensor(node)
        if tensor is None:
            raise NodeNotFusedError(node, "a result that torch does not take from a part")
        return tensor

    def _order(self, level: dict[Node, int], parts: dict[int, Part]) -> list[Node | Part]:
        order: list[Node | Part] = []
        for at in range(max(level.values(), default=0) + 1):
            order += [node for node in self.graph.nodes if level[node] == at and node not in self.fused]
            if at in parts:
                order.append(parts[at])
        return order


def _is_integer(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and not value.is_floating_point()


def _is_worth_it(nodes: list[Node]) -> bool:
    names = [name_of(node) for node in nodes]
    return bool(PRODUCTS.intersection(names)) or sum(name not in FREE for name in names) >= LEAST_OTHERS


def partition(graph: Graph, limits: Limits, verified: Callable[[Program], Program]) -> Partition:
    """The parts of a graph that become programs and are worth a call; none where nothing is. `verified`: makes a program that
    can be compiled of one, or raises NotFused.
    """
    return Partitioner(graph, limits, verified).partition()
