# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models of LightGBM: the text that Booster.save_model writes.

x <= threshold goes left, in float64; what is in a set of categories goes left. Sums are of float64, of the trees in order.
LightGBM takes |x| <= 1e-35f for 0 when it reads a row.
"""

import re
from typing import Any

import numpy as np

from tensoa.errors import InputError, first_line
from tensoa.forest import Ensemble, Link, Missing, Test
from tensoa.forest.evaluate import LIGHTGBM_ZERO
from tensoa.importers.trees.build import MOST_CATEGORIES, Builder
from tensoa.importers.trees.imported import Imported, Reference, own_reference

CATEGORICAL, DEFAULT_LEFT = 1, 2  # bits of decision_type; the kind of missing values is in the two that follow
NONE, ZERO, NAN = range(3)
MOST_OUTPUTS = 1 << 16
LINKS = {
    **dict.fromkeys(
        ("regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg", "custom", ""), Link.NONE
    ),
    "regression": Link.NONE,
    **dict.fromkeys(("poisson", "gamma", "tweedie"), Link.EXP),
    **dict.fromkeys(("binary", "multiclassova", "cross_entropy"), Link.SIGMOID),
    "multiclass": Link.SOFTMAX,
    "cross_entropy_lambda": Link.SOFTPLUS,
}


def takes(content: bytes) -> bool:
    return content.startswith((b"tree\n", b"tree\r\n"))


def read(content: bytes, subject: str) -> Imported:
    """The model in the bytes of a text file. Raises InputError, which begins with `subject`."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{subject}is not a text in UTF-8 ({error.reason}), expected a whole model of LightGBM") from error
    reader = _Reader(text, subject)
    ensemble = reader.ensemble()
    return Imported(ensemble, _reference(text, ensemble, subject), reader.notes)


class _Reader:
    def __init__(self, text: str, subject: str) -> None:
        self.subject, self.notes = subject, list[str]()
        self.header: dict[str, str] = {}
        self.trees: list[dict[str, str]] = []
        lines, members = iter(text.splitlines()), self.header
        for line in lines:
            key, _, value = line.partition("=")
            if key == "Tree":
                if value != str(len(self.trees)):
                    raise InputError(f"{subject}tree {len(self.trees)}: its number is {value[:20]}")
                members = {}
                self.trees.append(members)
            elif key in ("end of trees", "feature importances:", "feature_importances:"):
                break
            else:
                members[key] = value
        else:
            raise InputError(f"{subject}is cut off: the end of its trees is missing; expected a whole model of LightGBM")
        if any(line.startswith("pandas_categorical:[[") for line in lines):
            self.notes.append("its categories had names: columns must hold their codes of the training data, counted from 0")

    def number(self, members: dict[str, str], key: str, most: int, where: str = "") -> int:
        text = members.get(key, "missing")
        if not text.isascii() or not text.isdecimal() or len(text) > 18 or int(text) > most:
            raise InputError(f'{self.subject}{where}"{key}" is {text[:40]}, expected 0 to {most}')
        return int(text)

    def array(self, members: dict[str, str], key: str, dtype: Any, size: int, where: str) -> np.ndarray:
        words = members.get(key, "").split()
        try:
            numbers = np.array([float(word) if dtype is np.float64 else int(word) for word in words], dtype)
        except (ValueError, OverflowError) as error:
            raise InputError(f'{self.subject}{where}"{key}": {first_line(error)}, expected {size} numbers') from error
        if len(numbers) != size:
            raise InputError(f'{self.subject}{where}"{key}" has {len(numbers)} numbers, expected {size}')
        return numbers

    def ensemble(self) -> Ensemble:
        columns = self.number(self.header, "max_feature_idx", 2**31 - 2) + 1
        outputs = self.number(self.header, "num_tree_per_iteration", MOST_OUTPUTS)
        if outputs < 1 or len(self.trees) % outputs:
            self.fail(f'it has {len(self.trees)} trees, expected a multiple of "num_tree_per_iteration", {outputs}')
        sizes = self.header.get("tree_sizes", "").split()
        if "tree_sizes" in self.header and len(sizes) != len(self.trees):
            self.fail(f'it has {len(self.trees)} trees, "tree_sizes" has {len(sizes)} numbers')
        names = self.header.get("feature_names", "").split()
        if len(names) not in (0, columns):
            self.fail(f'"feature_names" has {len(names)} names, expected {columns}')
        link, scale = self.link()
        builder = Builder(columns, 1, self.subject)
        for number, tree in enumerate(self.trees):
            self.add_tree(builder, tree, number % outputs)
        is_average = "average_output" in self.header
        return builder.ensemble(
            column_names=names,
            outputs=outputs,
            features=np.float64,
            sums=np.float64,
            base=[0.0] * outputs,
            divisor=float(max(1, len(self.trees) // outputs)) if is_average else 1.0,
            link=link,
            link_scale=scale,
            source=f"LightGBM, text {self.header.get('version', '')}".strip(),
            objective=self.header.get("objective", ""),
        )

    def fail(self, what: str) -> None:
        raise InputError(f"{self.subject}{what}")

    def link(self) -> tuple[Link, float]:
        """Of an objective as "binary sigmoid:1"."""
        name, *options = (self.header.get("objective") or "custom").split()
        if name not in LINKS:
            self.fail(f'its objective is "{name}", expected one of {", ".join(filter(None, LINKS))}')
        if "sqrt" in options:
            return Link.SIGNED_SQUARE, 1.0
        scale = next((option.removeprefix("sigmoid:") for option in options if option.startswith("sigmoid:")), "1")
        try:
            return LINKS[name], float(scale)
        except ValueError:
            raise InputError(f'{self.subject}its objective has "sigmoid:{scale[:40]}", expected a number') from None

    def add_tree(self, builder: Builder, tree: dict[str, str], output: int) -> None:
        where = f"tree {builder.trees}: "
        leaves = self.number(tree, "num_leaves", 2**31 - 1, where)
        if tree.get("is_linear", "0") != "0":
            self.fail(f"{where}its leaves are linear functions (is_linear={tree['is_linear'][:20]}), which are not read")
        values = self.array(tree, "leaf_value", np.float64, leaves, where)
        inner = max(leaves - 1, 0)

        def entries(key: str, dtype: Any = np.int64) -> np.ndarray:
            return self.array(tree, key, dtype, inner, where)

        none: np.ndarray = np.zeros(leaves)
        left, right = (self.children(builder, entries(key), leaves) for key in ("left_child", "right_child"))
        threshold, kind, column = entries("threshold", np.float64), entries("decision_type"), entries("split_feature")
        is_set = kind & CATEGORICAL != 0
        test, missing, threshold = _tests(threshold, kind)
        sets = np.zeros(inner, np.int64)
        if is_set.any():
            left, right = np.where(is_set, right, left), np.where(is_set, left, right)
            sets[is_set] = self.read_sets(builder, tree, threshold[is_set], where)
        builder.tree(
            np.concatenate([left, none]), np.concatenate([right, none]), np.arange(inner + leaves) >= inner,
            np.concatenate([column, none]), np.concatenate([threshold, none]), np.concatenate([np.zeros(inner), values]),
            np.concatenate([test, none]), np.concatenate([missing, none]), np.concatenate([sets, none]), output,
        )  # fmt: skip

    def children(self, builder: Builder, child: np.ndarray, leaves: int) -> np.ndarray:
        """Leaf number i, which is ~i in the file, lies behind the inner nodes."""
        is_wrong = (child >= max(leaves - 1, 0)) | (~child >= leaves)
        if is_wrong.any():
            node = int(is_wrong.argmax())
            builder.fail_at(node, f"it leads to node {child[node]}, expected -{leaves} to {leaves - 2}")
        return np.where(child < 0, leaves - 1 + ~child, child)

    def read_sets(self, builder: Builder, tree: dict[str, str], numbers: np.ndarray, where: str) -> list[int]:
        """Of each node with a set, which number `numbers` says."""
        count = self.number(tree, "num_cat", 2**31 - 1, where)
        if not ((numbers >= 0) & (numbers < count) & (numbers == np.trunc(numbers))).all():
            self.fail(f"{where}the set of a node is none of its {count}")
        bounds = self.array(tree, "cat_boundaries", np.int64, count + 1, where)
        if bounds[0] != 0 or (np.diff(bounds) < 0).any() or (np.diff(bounds) > MOST_CATEGORIES // 32).any():
            self.fail(f'{where}"cat_boundaries" do not ascend from 0')
        words = self.array(tree, "cat_threshold", np.int64, int(bounds[-1]), where)
        if ((words < 0) | (words >= 2**32)).any():
            self.fail(f'{where}"cat_threshold" has a number that is not of 32 bits')
        bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
        return [builder.category_set(np.flatnonzero(bits[32 * bounds[i] : 32 * bounds[i + 1]])) for i in numbers.astype(int)]


def _tests(threshold: np.ndarray, kind: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(tests, missing, thresholds) of nodes: x > threshold goes right, and what LightGBM takes for 0 goes where 0 does."""
    is_set, goes_left, missing = kind & CATEGORICAL != 0, kind & DEFAULT_LEFT != 0, kind >> 2 & 3
    goes_left = np.where(missing == NONE, threshold >= 0, goes_left)  # NaN is 0 there
    is_left = np.where(goes_left | is_set, Missing.NAN_LEFT, Missing.NAN_RIGHT)
    is_zero_left = np.where(goes_left, Missing.ZERO_LEFT, Missing.ZERO_RIGHT)
    is_below = (threshold >= -LIGHTGBM_ZERO) & (threshold < 0) & ~is_set
    is_above = (threshold >= 0) & (threshold < LIGHTGBM_ZERO) & ~is_set
    test = np.where(is_set, Test.CUT_IN_SET, np.where(is_below, Test.GREATER_EQUAL, Test.GREATER))
    threshold = np.where(is_below, -LIGHTGBM_ZERO, np.where(is_above, LIGHTGBM_ZERO, threshold))
    return test, np.where((missing == ZERO) & ~is_set, is_zero_left, is_left), threshold


def _reference(text: str, ensemble: Ensemble, subject: str) -> Reference:
    try:
        import lightgbm
    except ImportError:
        return own_reference(ensemble, "lightgbm")
    text = re.sub(r"(?m)^tree_sizes=.*\n", "", text, count=1)  # wrong ones abort the process
    try:
        booster = lightgbm.Booster(model_str=text)
    except Exception as error:
        raise InputError(f"{subject}LightGBM {lightgbm.__version__} cannot read it: {first_line(error)}") from error

    def predicted(x: np.ndarray, is_raw: bool) -> np.ndarray:
        if not len(x):
            return np.empty((0, ensemble.outputs))
        return np.asarray(booster.predict(x, raw_score=is_raw, num_threads=1)).reshape(len(x), -1)

    return Reference(
        f"LightGBM {lightgbm.__version__}",
        lambda x: predicted(x, True) / ensemble.divisor,  # raw scores of random forests are sums
        lambda x: predicted(x, False),
    )
