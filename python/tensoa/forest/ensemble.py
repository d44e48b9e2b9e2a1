# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""An ensemble of decision trees as plain values. Its members are those of forest/include/tensoa/forest/ensemble.hpp, which
documents them; lists are numpy arrays of exactly the C++ layouts.
"""

import enum
import math
from dataclasses import dataclass, field

import numpy as np

from tensoa.errors import InputError


class Test(enum.IntEnum):
    """The test of a node on the value x of its column."""

    __test__ = False  # of pytest

    GREATER_EQUAL = 0
    GREATER = 1
    IN_SET = 2
    CUT_IN_SET = 3  # what lies between -1 and 0 is 0


class Missing(enum.IntEnum):
    """Which values are missing, and where they go."""

    NAN_LEFT = 0
    NAN_RIGHT = 1
    ZERO_LEFT = 2
    ZERO_RIGHT = 3


class Link(enum.Enum):
    """From margins to answers; the values are the names in files."""

    NONE = "none"
    SIGMOID = "sigmoid"
    SOFTMAX = "softmax"
    SOFTMAX_ZERO = "softmax_zero"
    EXP = "exp"
    TANH = "tanh"
    SOFTPLUS = "softplus"
    PROBIT = "probit"
    SIGNED_SQUARE = "signed_square"
    STEP = "step"


NODE = np.dtype(
    {
        "names": ["threshold", "column", "left", "right", "set", "test", "missing"],
        "formats": ["<f8", "<i4", "<u4", "<u4", "<u4", "u1", "u1"],
        "offsets": [0, 8, 12, 16, 20, 24, 25],
        "itemsize": 32,
    }
)
TREE = np.dtype([("first_node", "<u4"), ("nodes", "<u4"), ("output", "<u4")])
CATEGORY_SET = np.dtype([("first_word", "<u4"), ("words", "<u4")])
WORD, VALUE = np.dtype("<u8"), np.dtype("<f8")
#: The lists, in the order of the file.
LISTS = {"nodes": NODE, "trees": TREE, "sets": CATEGORY_SET, "set_words": WORD, "leaf_values": VALUE}

MOST_NODES = 2**31
MOST_COLUMNS = 2**31 - 1
LEAF = -1  # the column of one


def _empty(kind: str) -> np.ndarray:
    return np.empty(0, LISTS[kind])


@dataclass
class Ensemble:
    """`features` and `sums`: np.float32 or np.float64."""

    columns: int = 0
    column_names: list[str] = field(default_factory=list)
    outputs: int = 1
    features: type = np.float32
    sums: type = np.float32
    trees: np.ndarray = field(default_factory=lambda: _empty("trees"))
    nodes: np.ndarray = field(default_factory=lambda: _empty("nodes"))
    leaf_size: int = 1
    leaf_values: np.ndarray = field(default_factory=lambda: _empty("leaf_values"))
    sets: np.ndarray = field(default_factory=lambda: _empty("sets"))
    set_words: np.ndarray = field(default_factory=lambda: _empty("set_words"))
    base: list[float] = field(default_factory=lambda: [0.0])
    base_is_last: bool = False
    factor: float = 1.0
    divisor: float = 1.0
    link: Link = Link.NONE
    link_scale: float = 1.0
    source: str = ""
    objective: str = ""
    classes: list[str] = field(default_factory=list)


def require_whole(ensemble: Ensemble, subject: str) -> None:
    """Raises InputError, which begins with `subject` and names the tree and the node, where the numbers in it are not whole:
    nodes, columns, outputs, sets and values that are there, no circle, thresholds that are numbers.
    """
    check = _Check(ensemble, subject)
    check.numbers()
    check.sets()
    check.trees()
    check.nodes()


class _Check:
    def __init__(self, ensemble: Ensemble, subject: str) -> None:
        self.all, self.subject = ensemble, subject

    def fail(self, what: str) -> None:
        raise InputError(f"{self.subject}{what}; the model is damaged, save or import it again")

    def expect(self, what: str, got: int, least: int, most: int) -> None:
        if not least <= got <= most:
            self.fail(f"{what} {got}, expected {most if least == most else f'{least} to {most}'}")

    def numbers(self) -> None:
        every = self.all
        self.expect("number of columns is", every.columns, 0, MOST_COLUMNS)
        if every.column_names:
            self.expect("number of column names is", len(every.column_names), every.columns, every.columns)
        self.expect("number of nodes is", len(every.nodes), 0, MOST_NODES)
        self.expect("number of base values is", len(every.base), every.outputs, every.outputs)
        self.expect("number of outputs is", every.outputs, 1, MOST_NODES)
        self.expect("number of values in a leaf is", every.leaf_size, 1, every.outputs)
        named = {"factor": every.factor, "divisor": every.divisor, "link_scale": every.link_scale}
        for what, value in [*(("base", base) for base in every.base), *named.items()]:
            if not math.isfinite(value):
                self.fail(f"{what} is not a finite number")
        if every.divisor == 0:
            self.fail("divisor is 0")

    def sets(self) -> None:
        sets, words = self.all.sets, len(self.all.set_words)
        ends = sets["first_word"].astype(np.int64) + sets["words"]
        if (ends > words).any():
            i = int((ends > words).argmax())
            self.fail(
                f"category set {i} has {sets['words'][i]} words from word {sets['first_word'][i]} on, expected at most "
                f"{words} words in all"
            )

    def trees(self) -> None:
        trees, count = self.all.trees, len(self.all.nodes)
        sizes = trees["nodes"].astype(np.int64)
        firsts = np.cumsum(sizes) - sizes
        for wrong, what in (
            (trees["first_node"] != firsts, "its first node is {first_node}, expected one after those of the trees before"),
            ((sizes == 0) | (firsts + sizes > count), f"it has {{nodes}} nodes, expected 1 to {count}"),
            (
                trees["output"].astype(np.int64) + self.all.leaf_size > self.all.outputs,
                f"its output is {{output}}, expected 0 to {self.all.outputs - self.all.leaf_size}",
            ),
        ):
            if wrong.any():
                i = int(wrong.argmax())
                self.fail(f"tree {i}: " + what.format(**dict(zip(TREE.names or (), trees[i].tolist()))))
        if sizes.sum() != count:
            self.fail(f"it has {count} nodes, its trees have {sizes.sum()}")

    def nodes(self) -> None:
        every, nodes, trees = self.all, self.all.nodes, self.all.trees
        place = np.arange(len(nodes)) - np.repeat(trees["first_node"].astype(np.int64), trees["nodes"])
        size = np.repeat(trees["nodes"].astype(np.int64), trees["nodes"])
        is_leaf, is_set = nodes["column"] == LEAF, nodes["test"] >= Test.IN_SET
        left = nodes["left"].astype(np.int64)
        inner = ~is_leaf

        def leads_wrong(child: np.ndarray) -> np.ndarray:
            return inner & ((child <= place) | (child >= size))

        values = len(every.leaf_values)
        checks = (
            (nodes["column"] < LEAF, "its column is {column}, expected -1 of a leaf"),
            (is_leaf & (left + every.leaf_size > values), f"its first leaf value is {{left}}, there are {values}"),
            (nodes["column"] >= every.columns, f"its column is {{column}}, there are {every.columns}"),
            (leads_wrong(left), "it leads to node {left}, expected one after it in its tree"),
            (leads_wrong(nodes["right"]), "it leads to node {right}, expected one after it in its tree"),
            (
                inner & ((nodes["test"] > max(Test)) | (nodes["missing"] > max(Missing))),
                "its test or its direction of missing values is unknown",
            ),
            (inner & is_set & (nodes["set"] >= len(every.sets)), f"its category set is {{set}}, there are {len(every.sets)}"),
            (inner & ~is_set & np.isnan(nodes["threshold"]), "its threshold is not a number"),
        )
        for wrong, what in checks:
            if wrong.any():
                i = int(wrong.argmax())
                tree = int(np.searchsorted(trees["first_node"], i, side="right")) - 1
                self.fail(f"tree {tree}, node {place[i]}: " + what.format(**dict(zip(NODE.names or (), nodes[i].tolist()))))
