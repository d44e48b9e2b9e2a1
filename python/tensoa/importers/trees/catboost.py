# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models of CatBoost: the JSON that save_model(format="json") writes, and its own format (.cbm), which CatBoost makes JSON of
where it is installed.

x > border goes right, in float32. Symmetric trees have one split for each level: split i says bit i of the leaf. Sums are of
float64, of the trees in order, then the scale and the bias. Hashes of categories and what is counted of them (CTR) are no
numbers of columns.
"""

import json
import tempfile
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from tensoa.errors import InputError, Unsupported, first_line
from tensoa.forest import Ensemble, Link, Missing, Test
from tensoa.importers.trees.build import Builder, numbers_of
from tensoa.importers.trees.imported import Imported, Reference, own_reference

BINARY = b"CBM1"
MOST_DEPTH = 16  # as CatBoost has it
NAN = {"AsFalse": Missing.NAN_LEFT, "AsIs": Missing.NAN_LEFT, "AsTrue": Missing.NAN_RIGHT}
#: Of each loss the link; others than these are refused. Rankings have a parameter in their name.
LINKS = {
    **dict.fromkeys(("Logloss", "CrossEntropy", "MultiClassOneVsAll", "MultiLogloss", "MultiCrossEntropy"), Link.SIGMOID),
    "MultiClass": Link.SOFTMAX,
    **dict.fromkeys(("Poisson", "Tweedie"), Link.EXP),
    **dict.fromkeys(
        (
            "RMSE", "MAE", "Quantile", "MultiQuantile", "LogLinQuantile", "MAPE", "Lq", "Huber", "Expectile", "LogCosh",
            "MultiRMSE", "MultiRMSEWithMissingValues", "YetiRank", "YetiRankPairwise", "PairLogit", "PairLogitPairwise",
            "QueryRMSE", "QuerySoftMax", "QueryCrossEntropy", "StochasticRank", "LambdaMart", "StochasticFilter",
        ),
        Link.NONE,
    ),
}  # fmt: skip


def takes(content: bytes) -> bool:
    return content.startswith(BINARY) or (
        content.lstrip()[:1] == b"{" and b'"features_info"' in content and b'"scale_and_bias"' in content
    )


def read(content: bytes, subject: str) -> Imported:
    """The model in the bytes of a file. Raises InputError, which begins with `subject`."""
    if content.startswith(BINARY):
        content = _as_json(content, subject)
    try:
        text = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{subject}cannot be read ({first_line(error)}), expected a whole model of CatBoost") from error
    reader = _Reader(text, subject)
    ensemble = reader.ensemble()
    return Imported(ensemble, _reference(content, text, ensemble, subject))


def _as_json(content: bytes, subject: str) -> bytes:
    try:
        import catboost
    except ImportError as error:
        raise InputError(
            f"{subject}is a .cbm of CatBoost, which is read where catboost is installed (pip install catboost); "
            'or save_model("model.json", format="json") writes what is read without it'
        ) from error
    with tempfile.TemporaryDirectory(prefix="tensoa-catboost-") as folder:
        path = str(Path(folder, "model.json"))
        try:
            model = catboost.CatBoost()
            model.load_model(blob=content)
            model.save_model(path, format="json")
        except Exception as error:  # it throws many kinds
            raise InputError(f"{subject}CatBoost {catboost.__version__} cannot read it: {first_line(error)}") from error
        return Path(path).read_bytes()


class _Reader:
    def __init__(self, text: Any, subject: str) -> None:
        self.text, self.subject = text, subject
        self.info = self.member(text, "features_info", dict)
        for kind in ("categorical_features", "text_features", "embedding_features"):
            if self.info.get(kind):
                self.unsupported(f"it has {kind.replace('_', ' ')}, which columns of numbers do not hold as CatBoost does")
        self.features = self.member(self.info, "float_features", list)
        numbers = [self.member(one, "flat_feature_index", int, f"feature {i}: ") for i, one in enumerate(self.features)]
        if numbers != [*range(len(numbers))]:
            self.fail(f'"flat_feature_index" of its features are not 0 to {len(numbers) - 1}')

    def fail(self, what: str) -> NoReturn:
        raise InputError(f"{self.subject}{what}")

    def unsupported(self, what: str) -> NoReturn:
        raise Unsupported(f"{self.subject}{what}")

    def member(self, mapping: Any, key: str, kind: Any, where: str = "") -> Any:
        value = mapping.get(key) if isinstance(mapping, dict) else None
        if not isinstance(value, kind) or isinstance(value, bool):
            expected = kind.__name__ if isinstance(kind, type) else "a number"
            self.fail(f'{where}"{key}" is {"missing" if value is None else str(value)[:40]}, expected {expected}')
        return value

    def array(self, values: Any, what: str, dtype: Any = np.float64, size: int | None = None) -> np.ndarray:
        try:
            numbers = numbers_of(values, dtype)
        except (ValueError, OverflowError):
            numbers = np.empty((0, 0))
        if numbers.ndim != 1 or (size is not None and len(numbers) != size):
            self.fail(f"{what} is {str(values)[:40]}, expected a list of {'' if size is None else f'{size} '}numbers")
        return numbers

    def ensemble(self) -> Ensemble:
        given = self.member(self.text, "scale_and_bias", list)
        if len(given) != 2:
            self.fail(f'"scale_and_bias" is {str(given)[:40]}, expected a scale and the biases')
        (scale,) = self.array(given[:1], 'the scale of "scale_and_bias"')
        biases = self.array(given[1] if isinstance(given[1], list) else given[1:], 'the bias of "scale_and_bias"')
        if scale != 1 and biases.any():
            self.unsupported(f"its sums are multiplied by {scale:g} before a bias is added; expected a scale of 1, or no bias")
        outputs = len(biases)
        builder = Builder(len(self.features), outputs, self.subject)
        if "oblivious_trees" in self.text:
            for tree in self.member(self.text, "oblivious_trees", list):
                self.add_symmetric(builder, tree, outputs)
        else:
            for tree in self.member(self.text, "trees", list):
                self.add_tree(builder, tree, outputs)
        names = [str(one.get("feature_id") or i) for i, one in enumerate(self.features)]
        loss, link = self.link()
        return builder.ensemble(
            column_names=[] if names == [str(i) for i in range(len(names))] else names,
            outputs=outputs,
            features=np.float32,
            sums=np.float64,
            base=biases.tolist(),
            base_is_last=True,
            factor=float(scale),
            link=link,
            source="CatBoost",
            objective=loss,
            classes=self.classes(outputs),
        )

    def link(self) -> tuple[str, Link]:
        parameters = self.member(self.member(self.text, "model_info", dict), "params", (dict, str))
        try:
            parameters = json.loads(parameters) if isinstance(parameters, str) else parameters
        except ValueError:
            self.fail('"params" of its "model_info" is not JSON')
        loss = self.member(self.member(parameters, "loss_function", dict), "type", str)
        if loss not in LINKS:
            self.unsupported(f'its loss function is "{loss}", expected one of {", ".join(LINKS)}')
        return loss, LINKS[loss]

    def classes(self, outputs: int) -> list[str]:
        classes = self.member(self.text, "model_info", dict).get("class_params")
        names = classes.get("class_names") if isinstance(classes, dict) else None
        return [str(name) for name in names] if isinstance(names, list) and len(names) == outputs else []

    def split(self, builder: Builder, split: Any) -> tuple[int, float, Missing]:
        """(column, border, where NaN goes)"""
        where = f"tree {builder.trees}: "
        kind = self.member(split, "split_type", str, where)
        if kind != "FloatFeature":
            self.unsupported(f"{where}it has a split of the type {kind}, of categories; expected FloatFeature, of a number")
        column = self.member(split, "float_feature_index", int, where)
        if not 0 <= column < len(self.features):
            self.fail(f"{where}its split is of feature {column}, there are {len(self.features)}")
        treatment = self.member(self.features[column], "nan_value_treatment", str, f"feature {column}: ")
        if treatment not in NAN:
            self.unsupported(f'feature {column}: "nan_value_treatment" is "{treatment}", expected one of {", ".join(NAN)}')
        border = self.member(split, "border", (int, float), where)
        return column, float(np.float32(border)), NAN[treatment]

    def add_symmetric(self, builder: Builder, tree: Any, outputs: int) -> None:
        """Leaf number i, whose bit k says what split k is, lies behind the inner nodes."""
        where = f"tree {builder.trees}: "
        splits = [
            self.split(builder, split) for split in reversed(self.member(tree, "splits", (list, type(None)), where) or [])
        ]
        if len(splits) > MOST_DEPTH:
            self.fail(f"{where}it has {len(splits)} splits, expected at most {MOST_DEPTH}")
        leaves = 1 << len(splits)
        values = self.array(tree.get("leaf_values"), f'{where}"leaf_values"', size=leaves * outputs).reshape(leaves, outputs)
        if not splits:
            return builder.tree([0], [0], [True], [0], [0.0], values)
        level = np.repeat(np.arange(len(splits)), 1 << np.arange(len(splits)))
        column, border, missing = (np.array([split[i] for split in splits])[level] for i in range(3))
        none = np.zeros(leaves)
        inner = leaves - 1
        left = 2 * np.arange(inner) + 1
        builder.tree(
            np.concatenate([left, none]), np.concatenate([left + 1, none]), np.arange(inner + leaves) >= inner,
            np.concatenate([column, none]), np.concatenate([border, none]),
            np.concatenate([np.zeros((inner, outputs)), values]),
            Test.GREATER, np.concatenate([missing, none]),
        )  # fmt: skip

    def add_tree(self, builder: Builder, root: Any, outputs: int) -> None:
        where = f"tree {builder.trees}: "
        nodes: list[tuple] = []  # left, right, is_leaf, column, border, missing
        values: list[np.ndarray] = []
        todo = [root]
        for number, node in enumerate(todo):
            if not isinstance(node, dict):
                self.fail(f"{where}node {number} is {str(node)[:40]}, expected a split or a value")
            if "split" not in node:
                given = node.get("value")
                nodes.append((0, 0, True, 0, 0.0, Missing.NAN_LEFT))
                values.append(self.array(given if isinstance(given, list) else [given], f'{where}"value"', size=outputs))
                continue
            nodes.append((len(todo), len(todo) + 1, False, *self.split(builder, node["split"])))
            values.append(np.zeros(outputs))
            todo += [node.get("left"), node.get("right")]
        left, right, is_leaf, column, border, missing = zip(*nodes)
        builder.tree(left, right, is_leaf, column, border, np.array(values), Test.GREATER, np.array(missing))


def _leaf_values(tree: dict) -> list[float]:
    """In the order of CatBoost."""
    if "split" in tree:
        return _leaf_values(tree["left"]) + _leaf_values(tree["right"])
    return tree["leaf_values"] if "leaf_values" in tree else np.atleast_1d(tree["value"]).tolist()


def _reference(content: bytes, text: dict, ensemble: Ensemble, subject: str) -> Reference:
    """CatBoost, with the leaf values and biases that the file has: it reads numbers of JSON up to two places off."""
    try:
        import catboost
    except ImportError:
        return own_reference(ensemble, "catboost")
    model = catboost.CatBoost()
    with tempfile.TemporaryDirectory(prefix="tensoa-catboost-") as folder:
        path = Path(folder, "model.json")
        path.write_bytes(content)
        try:
            model.load_model(str(path), format="json")
            trees = text["oblivious_trees"] if "oblivious_trees" in text else text["trees"]
            model.set_leaf_values(np.array([value for tree in trees for value in _leaf_values(tree)]))
            model.set_scale_and_bias(ensemble.factor, ensemble.base if ensemble.outputs > 1 else ensemble.base[0])
        except Exception as error:  # it throws many kinds
            raise InputError(f"{subject}CatBoost {catboost.__version__} cannot read it: {first_line(error)}") from error

    def predicted(x: np.ndarray, kind: str) -> np.ndarray:
        if not len(x):
            return np.empty((0, ensemble.outputs))
        given = np.asarray(model.predict(x, prediction_type=kind, thread_count=1), np.float64).reshape(len(x), -1)
        return given[:, 1:] if kind == "Probability" and ensemble.outputs == 1 else given  # of the second of two classes

    def answers(x: np.ndarray) -> np.ndarray:
        kinds = {Link.SIGMOID: "Probability", Link.SOFTMAX: "Probability", Link.EXP: "Exponent"}
        return predicted(x, kinds.get(ensemble.link, "RawFormulaVal"))

    return Reference(f"CatBoost {catboost.__version__}", lambda x: predicted(x, "RawFormulaVal"), answers)
