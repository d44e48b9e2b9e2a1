# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A tree of ONNX as tests of ours: values that are equal, or in a list, become searches whose ends are shared."""

from collections.abc import Sequence

import numpy as np

from tensoa.forest import Missing, Test
from tensoa.importers.trees.build import Builder
from tensoa.importers.trees.onnx_nodes import GT, GTE, LEAF, LEQ, LT, MEMBER, NEQ, Nodes

#: Of each mode the test, and whether what is true goes right.
SIMPLE = {
    LEQ: (Test.GREATER, False),
    LT: (Test.GREATER_EQUAL, False),
    GTE: (Test.GREATER_EQUAL, True),
    GT: (Test.GREATER, True),
}


class TreeOfTests:
    """The tree below `root`. Raises InputError, through the builder, where two nodes lead to the same one."""

    def __init__(self, nodes: Nodes, root: int, builder: Builder) -> None:
        self.nodes = nodes
        self.names: list[int] = []  # of the nodes of the file that the entries are of
        #: Of each entry: left, right, column, threshold, test, missing.
        self.entries: list[tuple[int, int, int, float, Test, Missing]] = []
        self.leaves: dict[int, int] = {}  # the leaf of the file that an entry is
        self.is_shared = False
        seen, todo = set(), [(root, self._new(root))]
        while todo:
            node, at = todo.pop()
            if nodes.mode[node] == LEAF:
                self.leaves[at] = node
                continue
            if node in seen:
                builder.fail_at(nodes.names[node], "two nodes lead to it")
            seen.add(node)
            true, false = self._new(nodes.true[node]), self._new(nodes.false[node])
            todo += [(nodes.false[node], false), (nodes.true[node], true)]
            self._add(node, at, true, false)

    def targets(self) -> set[int]:
        """The outputs that its leaves add to."""
        return {output for leaf in self.leaves.values() for output, _ in self.nodes.weights[leaf]}

    def add_to(self, builder: Builder, output: int) -> None:
        """`output`: of leaves of one value."""
        values = np.zeros((len(self.entries), builder.leaf_size))
        for at, leaf in self.leaves.items():
            for target, weight in self.nodes.weights[leaf]:
                values[at, target if builder.leaf_size > 1 else 0] += weight
        left, right, column, threshold, test, missing = zip(*self.entries)
        is_leaf = [at in self.leaves for at in range(len(self.entries))]
        builder.tree(
            left, right, is_leaf, column, threshold, values, test, missing,
            output=output, is_shared=self.is_shared, names=self.names,
        )  # fmt: skip

    def _new(self, node: int) -> int:
        self.names.append(self.nodes.names[node])
        self.entries.append((0, 0, 0, 0.0, Test.GREATER, Missing.NAN_LEFT))
        return len(self.entries) - 1

    def _add(self, node: int, at: int, true: int, false: int) -> None:
        nodes, mode = self.nodes, self.nodes.mode[node]
        column, value, tracks = nodes.column[node], nodes.value[node], nodes.tracks[node] != 0
        if mode in SIMPLE:
            test, true_is_right = SIMPLE[mode]
            left, right = (false, true) if true_is_right else (true, false)
            missing = Missing.NAN_RIGHT if tracks == true_is_right else Missing.NAN_LEFT
            self.entries[at] = (left, right, column, value, test, missing)
        elif mode == NEQ:  # which NaN is
            self._search(node, at, [value], column, false, true, False)
        else:
            members = nodes.members[node].tolist() if mode == MEMBER else [value]
            self._search(node, at, members, column, true, false, tracks)

    def _search(self, node: int, at: int, values: Sequence[float], column: int, yes: int, no: int, nan_is_yes: bool) -> None:
        """Fills entry `at` for a node, which leads to `yes` where x is one of the ascending values, else to `no`."""
        self.is_shared = True
        todo = [(at, 0, len(values))]
        while todo:
            here, low, high = todo.pop()
            middle = (low + high) // 2
            below = self._new(node) if low < middle else no
            above = self._new(node) if middle + 1 < high else no
            equal = self._new(node)
            missing = Missing.NAN_RIGHT if nan_is_yes else Missing.NAN_LEFT
            self.entries[here] = (below, equal, column, values[middle], Test.GREATER_EQUAL, missing)
            self.entries[equal] = (yes, above, column, values[middle], Test.GREATER, Missing.NAN_LEFT)
            if low < middle:
                todo.append((below, low, middle))
            if middle + 1 < high:
                todo.append((above, middle + 1, high))
