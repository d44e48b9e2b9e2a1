# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models of conifer: the JSON that Model.save writes.

x < threshold or x <= threshold goes left, as the file's splitting_convention says, in float64; files of older releases do not
say it. Answers are (sum of the trees + init_predict) * norm, of two classes one.
"""

import json
from typing import Any

import numpy as np

from tensoa.errors import InputError, first_line
from tensoa.forest import Ensemble, Missing, Test
from tensoa.importers.trees.build import Builder, numbers_of
from tensoa.importers.trees.imported import Imported, Reference

LEAF = -2  # the feature of one
CONVENTIONS = {"<": Test.GREATER_EQUAL, "<=": Test.GREATER}  # what goes right
MOST_CLASSES = 1 << 16


def takes(content: bytes) -> bool:
    return content.lstrip()[:1] == b"{" and b'"n_classes"' in content and b'"init_predict"' in content


def read(content: bytes, subject: str, splitting: str | None = None) -> Imported:
    """The model in the bytes of a JSON file. `splitting`: the convention of a file that does not state it. Raises InputError,
    which begins with `subject`.
    """
    try:
        text = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{subject}cannot be read ({first_line(error)}), expected a whole model of conifer") from error
    if isinstance(text, dict) and text.get("splitting_convention") is None and splitting is not None:
        text["splitting_convention"] = splitting
    elif splitting is not None:
        raise InputError(f"{subject}states how it splits; import it without --splitting")
    reader = _Reader(text, subject)
    ensemble = reader.ensemble()
    name = "the rules of conifer (ModelBase.decision_function), in float64, by a second reader"
    return Imported(
        ensemble, Reference(name, lambda x: _by_the_rules(text, x), lambda x: _by_the_rules(text, x)), reader.notes()
    )


class _Reader:
    def __init__(self, text: Any, subject: str) -> None:
        self.text, self.subject = text, subject

    def fail(self, what: str) -> None:
        raise InputError(f"{self.subject}{what}")

    def member(self, mapping: Any, key: str, kind: type, where: str = "") -> Any:
        value = mapping.get(key) if isinstance(mapping, dict) else None
        if not isinstance(value, kind) or isinstance(value, bool):
            got = "missing" if value is None else str(value)[:40]
            self.fail(f'{where}"{key}" is {got}, expected {"a number" if kind is float else kind.__name__}')
        return value

    def array(self, mapping: Any, key: str, dtype: Any, where: str, size: int | None = None) -> np.ndarray:
        try:
            numbers = numbers_of(self.member(mapping, key, list, where), dtype)
        except ValueError:
            numbers = np.empty((0, 0))
        if numbers.ndim != 1 or (size is not None and len(numbers) != size):
            self.fail(f'{where}"{key}" is not a list of {"" if size is None else f"{size} "}numbers')
        return numbers

    def ensemble(self) -> Ensemble:
        classes, columns = (self.member(self.text, key, int) for key in ("n_classes", "n_features"))
        if not 1 <= classes <= MOST_CLASSES or not 0 <= columns < 2**31:
            self.fail(f"it has {classes} classes and {columns} features")
        outputs = 1 if classes == 2 else classes
        convention = self.text.get("splitting_convention")
        if convention not in CONVENTIONS:
            if convention is not None:
                self.fail(f'its splitting_convention is "{convention}", expected "<" or "<="')
            self.fail(
                "its splitting_convention is missing, as older releases of conifer wrote it; say which it is: --splitting '<=' "
                "where a value that equals the threshold goes left (trees of scikit-learn; conifer's own default), "
                "--splitting '<' where it goes right (XGBoost)"
            )
        trees = self.member(self.text, "trees", list)
        if len(trees) != self.member(self.text, "n_trees", int):
            self.fail(f'it has {len(trees)} trees, "n_trees" is {self.text["n_trees"]}')
        builder = Builder(columns, 1, self.subject)
        for number, of_classes in enumerate(trees):
            if not isinstance(of_classes, list) or len(of_classes) != outputs:
                self.fail(f"tree {number} is not a list of {outputs}, one for each class")
            for output, tree in enumerate(of_classes):
                self.add_tree(builder, tree, output, CONVENTIONS[convention])
        norm = self.text.get("norm", 1)
        if not isinstance(norm, (int, float)) or isinstance(norm, bool):
            self.fail(f'"norm" is {str(norm)[:40]}, expected a number')
        return builder.ensemble(
            column_names=self.names(columns),
            outputs=outputs,
            features=np.float64,
            sums=np.float64,
            base=self.base(classes, outputs),
            base_is_last=True,
            factor=float(norm),
            source="conifer",
            objective=f'{classes} classes, "{convention}"',
        )

    def base(self, classes: int, outputs: int) -> list[float]:
        """Of two classes, which have one score, some files have the same number for each."""
        given = self.array(self.text, "init_predict", np.float64, "").tolist()
        if len(given) == classes and len(set(given)) == 1:
            given = given[:outputs]
        if len(given) != outputs:
            of_two = "one number, or two equal ones" if classes == 2 else f"{outputs} numbers"
            self.fail(f'"init_predict" has {len(given)} numbers, expected {of_two}')
        return given

    def names(self, columns: int) -> list[str]:
        """Of the features, where the file has a map from names to numbers that is not made up."""
        numbers = self.text.get("feature_map") or {}
        if not isinstance(numbers, dict) or sorted(map(str, numbers.values())) != sorted(map(str, range(len(numbers)))):
            self.fail('its "feature_map" does not have the numbers of all features')
        names = sorted(numbers, key=lambda name: numbers[name])
        if len(names) not in (0, columns):
            self.fail(f'its "feature_map" has {len(names)} names, expected {columns}')
        return [] if names == [f"feat_{i}" for i in range(columns)] else names

    def add_tree(self, builder: Builder, tree: Any, output: int, test: Test) -> None:
        where = f"tree {builder.trees}: "
        feature = self.array(tree, "feature", np.int64, where)
        size = len(feature)
        left, right = (self.array(tree, key, np.int64, where, size) for key in ("children_left", "children_right"))
        threshold, value = (self.array(tree, key, np.float64, where, size) for key in ("threshold", "value"))
        is_leaf = feature == LEAF
        self.check_weights(builder, tree, feature)
        builder.tree(left, right, is_leaf, feature, threshold, value, test, Missing.NAN_RIGHT, output=output)

    def check_weights(self, builder: Builder, tree: dict, feature: np.ndarray) -> None:
        """Splits of several features have a row of weights; those of one, a single 1."""
        rows = tree.get("weight")
        if rows is None:
            return
        for node, (row, column) in enumerate(zip(rows, feature.tolist())):
            used = {i: one for i, one in enumerate(row) if one != 0} if isinstance(row, list) else {}
            if column != LEAF and used not in ({}, {column: 1}):
                builder.fail_at(node, "it is an oblique split (weight), expected a split of one feature")

    def notes(self) -> list[str]:
        config = self.text.get("config")
        found = [str(value) for key, value in (config or {}).items() if isinstance(value, str) and "ap_fixed" in value]
        if not found:
            return []
        return [f"its firmware calculates with {found[0]}, the package in float64: scores differ by its rounding"]


def _by_the_rules(text: dict, x: np.ndarray) -> np.ndarray:
    """Every node is asked as the file has it: of the rows that come to it."""
    outputs = 1 if text["n_classes"] == 2 else text["n_classes"]
    scores = np.zeros((len(x), outputs))
    for of_classes in text["trees"]:
        for k, tree in enumerate(of_classes):
            todo = [(0, np.arange(len(x)))]
            while todo:
                node, rows = todo.pop()
                feature, threshold = tree["feature"][node], tree["threshold"][node]
                if feature == LEAF:
                    scores[rows, k] += tree["value"][node]
                    continue
                values = x[rows, feature]
                is_left = values < threshold if text["splitting_convention"] == "<" else values <= threshold
                todo.append((tree["children_left"][node], rows[is_left]))
                todo.append((tree["children_right"][node], rows[~is_left]))
    return (scores + np.array(text["init_predict"][:outputs])) * text.get("norm", 1)
