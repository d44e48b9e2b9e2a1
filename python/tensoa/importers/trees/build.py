# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Puts the trees of a file together to an ensemble, and refuses those that are not whole."""

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from tensoa.errors import InputError
from tensoa.forest import Ensemble, Missing, Test, require_whole
from tensoa.forest.ensemble import CATEGORY_SET, LEAF, NODE, TREE, VALUE, WORD

MOST_CATEGORIES = 1 << 24


def numbers_of(values: Any, dtype: Any) -> np.ndarray:
    """A list as an array of one dimension. Raises ValueError for another thing, and for fractions among integers."""
    given = np.asarray(values)
    if given.ndim != 1 or (given.size and given.dtype.kind not in ("biuf" if np.dtype(dtype).kind == "f" else "biu")):
        raise ValueError("not a list of numbers")
    with np.errstate(over="ignore"):
        return given.astype(dtype)


class Builder:
    """`columns` that a row has; `leaf_size` values in each leaf; `subject`: the beginning of messages."""

    def __init__(self, columns: int, leaf_size: int, subject: str) -> None:
        self.columns, self.leaf_size, self.subject = columns, leaf_size, subject
        self._trees: list[tuple[int, int, int]] = []
        self._nodes: list[np.ndarray] = []
        self._values: list[np.ndarray] = []
        self._words: list[np.ndarray] = []
        self._sets: dict[bytes, int] = {}
        self._set_entries: list[tuple[int, int]] = []
        self._node_count = self._value_count = self._word_count = 0

    @property
    def trees(self) -> int:
        return len(self._trees)

    def fail(self, what: str) -> NoReturn:
        raise InputError(f"{self.subject}tree {self.trees}{what}")

    def fail_at(self, node: int, what: str) -> NoReturn:
        self.fail(f", node {node}: {what}")

    def category_set(self, categories: Iterable[int] | np.ndarray) -> int:
        """The number of the set of these categories. Equal sets are one."""
        chosen = np.unique(np.asarray(categories, np.int64))
        if len(chosen) and not (chosen[0] >= 0 and chosen[-1] < MOST_CATEGORIES):
            self.fail(f": a category is {chosen[0] if chosen[0] < 0 else chosen[-1]}, expected 0 to {MOST_CATEGORIES - 1}")
        words = np.zeros(int(chosen[-1]) // 64 + 1 if len(chosen) else 0, WORD)
        np.bitwise_or.at(words, chosen // 64, np.uint64(1) << (chosen % 64).astype(np.uint64))
        if words.tobytes() not in self._sets:
            self._sets[words.tobytes()] = len(self._set_entries)
            self._set_entries.append((self._word_count, len(words)))
            self._words.append(words)
            self._word_count += len(words)
        return self._sets[words.tobytes()]

    def tree(
        self,
        left: Any,
        right: Any,
        is_leaf: Any,
        column: Any,
        threshold: Any,
        values: Any,
        test: Any = Test.GREATER_EQUAL,
        missing: Any = Missing.NAN_LEFT,
        sets: Any = 0,
        output: int = 0,
        is_shared: bool = False,
        names: Any = None,
    ) -> None:
        """Adds the tree whose root is node 0, of arrays with an entry for each node, in any order; `values` [nodes] or
        [nodes, leaf_size]. `is_shared`: two nodes may lead to the same one. `names`: the numbers of the nodes in messages,
        where they have others. Raises InputError.
        """
        is_leaf = np.asarray(is_leaf, bool)
        left, right, column = (np.asarray(numbers, np.int64) for numbers in (left, right, column))
        threshold = np.asarray(threshold, np.float64)
        values = np.asarray(values, np.float64).reshape(len(is_leaf), -1)
        order = self._ordered(left, right, is_leaf, is_shared)
        place = np.empty(len(is_leaf), np.int64)
        place[order] = np.arange(len(order))
        inner, leaves = order[~is_leaf[order]], order[is_leaf[order]]
        is_set = np.broadcast_to(np.asarray(test) >= Test.IN_SET, is_leaf.shape)
        for wrong, what, numbers in (
            ((column[inner] < 0) | (column[inner] >= self.columns), f"its column is {{}}, there are {self.columns}", column),
            (np.isnan(threshold[inner]) & ~is_set[inner], "its threshold is {}, expected a number", threshold),
        ):
            if wrong.any():
                at = inner[wrong.argmax()]
                self.fail_at(at if names is None else names[at], what.format(numbers[at]))
        is_wrong = ~np.isfinite(values[leaves]).all(1)
        if is_wrong.any():
            at = leaves[is_wrong.argmax()]
            self.fail_at(
                at if names is None else names[at], f"its leaf value is {values[at].tolist()[0]}, expected a finite number"
            )
        nodes = np.zeros(len(is_leaf), NODE)
        nodes["column"][leaves] = LEAF
        nodes["left"][leaves] = self._value_count + np.arange(len(leaves)) * self.leaf_size
        nodes["column"][inner], nodes["threshold"][inner] = column[inner], np.where(is_set, 0, threshold)[inner]
        nodes["left"][inner], nodes["right"][inner] = place[left[inner]], place[right[inner]]
        for name, numbers in (("test", test), ("missing", missing), ("set", sets)):
            nodes[name][inner] = np.broadcast_to(numbers, is_leaf.shape)[inner]
        self._trees.append((self._node_count, len(order), output))
        self._nodes.append(nodes[order])
        self._values.append(values[leaves].ravel())
        self._node_count += len(order)
        self._value_count += values[leaves].size

    def _ordered(self, left: np.ndarray, right: np.ndarray, is_leaf: np.ndarray, is_shared: bool) -> np.ndarray:
        """The nodes that the root leads to, each before those below it."""
        if not len(is_leaf):
            self.fail(": it has no nodes")
        level = np.full(len(is_leaf), -1)
        level[0], depth, here = 0, 0, np.zeros(1, np.int64)
        while len(here):
            depth += 1
            parents = np.repeat(here[~is_leaf[here]], 2)
            children = np.stack([left[parents[::2]], right[parents[::2]]], 1).ravel()
            is_outside = (children < 0) | (children >= len(is_leaf))
            if is_outside.any():
                i = int(is_outside.argmax())
                self.fail_at(parents[i], f"it leads to node {children[i]}, there are {len(is_leaf)}")
            here, first = np.unique(children, return_index=True)
            is_again = np.ones(len(children), bool)
            is_again[first] = level[here] >= 0
            if depth > len(is_leaf):
                self.fail(": its nodes lead in a circle")
            if is_again.any() and not is_shared:
                i = int(is_again.argmax())
                self.fail_at(parents[i], f"it leads to node {children[i]}, which another node leads to")
            level[here] = depth
        reached = np.flatnonzero(level >= 0)
        return reached[np.argsort(level[reached], kind="stable")]

    def ensemble(self, **members: Any) -> Ensemble:
        """All of it; `members`: what else an Ensemble has."""

        def joined(parts: list[np.ndarray], kind: np.dtype) -> np.ndarray:
            return np.concatenate(parts) if parts else np.empty(0, kind)

        made = Ensemble(
            columns=self.columns,
            leaf_size=self.leaf_size,
            trees=np.array(self._trees, TREE),
            nodes=joined(self._nodes, NODE),
            leaf_values=joined(self._values, VALUE),
            sets=np.array(self._set_entries, CATEGORY_SET),
            set_words=joined(self._words, WORD),
            **members,
        )
        require_whole(made, self.subject)
        return made
