# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models of XGBoost: what Booster.save_model writes as JSON and as UBJ, of all versions since 1.0.

x < threshold goes left, in float32; what is in a set of categories goes right. Sums are of float32: the base margin, then
the trees in order.
"""

import ctypes
import ctypes.util
import json
from typing import Any

import numpy as np

from tensoa import forest
from tensoa.errors import InputError, first_line
from tensoa.forest import Ensemble, Link, Missing, Test
from tensoa.importers.trees import ubjson
from tensoa.importers.trees.build import Builder, numbers_of
from tensoa.importers.trees.imported import Imported, Reference, own_reference

_libm = ctypes.CDLL(ctypes.util.find_library("m"))
_libm.logf.restype, _libm.logf.argtypes = ctypes.c_float, [ctypes.c_float]
MOST_OUTPUTS = 1 << 16


def _log(x: np.float32) -> np.float32:
    """As XGBoost: numpy's differs in the last bit."""
    return np.float32(_libm.logf(float(x)))


def _logit(p: np.float32) -> np.float32:
    return -_log(np.float32(1) / p - np.float32(1))


def _same(base: np.float32) -> np.float32:
    return base


#: Of each objective the link, and what makes a margin of base_score.
OBJECTIVES = {
    **dict.fromkeys(("reg:logistic", "binary:logistic"), (Link.SIGMOID, _logit)),
    "binary:logitraw": (Link.NONE, _same),
    "binary:hinge": (Link.STEP, _same),
    **dict.fromkeys(("multi:softmax", "multi:softprob"), (Link.SOFTMAX, _same)),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft"), (Link.EXP, _log)),
    **dict.fromkeys(
        (
            "reg:squarederror", "reg:linear", "reg:squaredlogerror", "reg:pseudohubererror", "reg:absoluteerror",
            "reg:quantileerror", "reg:expectileerror", "rank:pairwise", "rank:ndcg", "rank:map",
        ),
        (Link.NONE, _same),
    ),
}  # fmt: skip


BINARY = "is a binary file of XGBoost before 3.1"
MARKS = (b"binf", b"bs64")  # of some of them
BOOSTERS = (b"gbtree", b"gblinear", b"dart")


def is_binary(content: bytes) -> bool:
    """Whether it is the form of before 3.1: 136 bytes of parameters, then two texts, of the objective and of the booster."""
    if content.startswith(MARKS):
        return True
    at, texts = 136, []
    for _ in range(2):
        size = int.from_bytes(content[at : at + 8], "little")
        texts.append(content[at + 8 : at + 8 + size])
        at += 8 + size
    return texts[1] in BOOSTERS


def is_json(content: bytes) -> bool:
    return content.lstrip()[:1] == b"{" and b'"learner"' in content[:4096]


def is_ubjson(content: bytes) -> bool:
    return content[:1] == b"{" and content[1:2] in (b"L", b"l", b"i", b"U", b"I") and b"learner" in content[:64]


def _json_of_binary(content: bytes, subject: str) -> bytes:
    """By the XGBoost that is installed. Raises InputError."""
    advice = 'load it with xgboost < 3.1 and save_model("model.json")'
    try:
        import xgboost
    except ImportError as error:
        raise InputError(f"{subject}{BINARY}, which is read where such an xgboost is installed; or {advice}") from error
    try:
        return bytes(xgboost.Booster(model_file=bytearray(content)).save_raw("json"))
    except Exception as error:  # XGBoost throws many kinds
        raise InputError(
            f"{subject}{BINARY}; {xgboost.__version__}, which is installed here, cannot read it: {advice}"
        ) from error


def read(content: bytes, subject: str, best_iteration: bool = False) -> Imported:
    """The model in the bytes of a JSON or UBJ file, or of one before 3.1. Raises InputError, which begins with `subject`."""
    if is_binary(content):
        content = _json_of_binary(content, subject)
    try:
        text = ubjson.parse(content) if is_ubjson(content) else json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{subject}cannot be read ({first_line(error)}), expected a whole model of XGBoost") from error
    reader = _Reader(text, subject, best_iteration)
    ensemble = reader.ensemble()
    is_dart = reader.weights is not None
    return Imported(ensemble, _reference(content, ensemble, reader.rounds, is_dart, subject), reader.notes)


class _Reader:
    def __init__(self, text: Any, subject: str, best_iteration: bool) -> None:
        self.subject, self.notes = subject, list[str]()
        self.learner = self.member(text, "learner", dict)
        self.version = ".".join(str(part) for part in text.get("version", []))
        self.booster = self.member(self.learner, "gradient_booster", dict)
        name = self.member(self.booster, "name", str)
        if name not in ("gbtree", "dart"):
            self.fail(f'its booster is "{name}", expected gbtree or dart')
        inner = self.member(self.booster, "gbtree", dict) if name == "dart" else self.booster
        self.weights = self.array(self.booster, "weight_drop", np.float32) if name == "dart" else None
        self.model = self.member(inner, "model", dict)
        self.trees = self.member(self.model, "trees", list)
        self.rounds = self.chosen_rounds(best_iteration)

    def fail(self, what: str) -> None:
        raise InputError(f"{self.subject}{what}")

    def member(self, mapping: Any, key: str, kind: type, where: str = "") -> Any:
        value = mapping.get(key) if isinstance(mapping, dict) else None
        if not isinstance(value, kind):
            self.fail(f'{where}"{key}" is {"missing" if value is None else str(value)[:40]}, expected {kind.__name__}')
        return value

    def array(self, mapping: Any, key: str, dtype: Any, where: str = "", size: int | None = None) -> np.ndarray:
        value = mapping.get(key) if isinstance(mapping, dict) else None
        try:
            numbers = numbers_of([] if value is None else value, dtype)
        except ValueError:
            numbers = np.empty((0, 0))
        if value is None or numbers.ndim != 1 or (size is not None and len(numbers) != size):
            got = "missing" if value is None else f"{numbers.size} numbers" if numbers.ndim == 1 else str(value)[:40]
            self.fail(f'{where}"{key}" is {got}, expected {"a list of" if size is None else size} numbers')
        return numbers

    def number(self, mapping: dict, key: str, most: int, otherwise: int | None = None) -> int:
        """A whole number, which files have as text."""
        text = str(mapping.get(key, otherwise))
        if not text.isascii() or not text.isdecimal() or len(text) > 18 or int(text) > most:
            self.fail(f'"{key}" is {text[:40]}, expected 0 to {most}')
        return int(text)

    def chosen_rounds(self, best_iteration: bool) -> int:
        """Rounds of boosting that are used; cuts the trees behind."""
        parameters = self.member(self.model, "gbtree_model_param", dict)
        most = len(self.trees)
        if self.number(parameters, "num_trees", 2**31) != most:
            self.fail(f'it has {most} trees, "num_trees" is {parameters["num_trees"]}')
        ends = self.array(self.model, "iteration_indptr", np.int64) if "iteration_indptr" in self.model else None
        if ends is None:
            groups = max(1, self.number(self.member(self.learner, "learner_model_param", dict), "num_class", MOST_OUTPUTS, 0))
            ends = np.arange(0, most + 1, groups * max(1, self.number(parameters, "num_parallel_tree", 2**31, 1)))
        if not len(ends) or ends[0] != 0 or ends[-1] != most or (np.diff(ends) < 0).any():
            self.fail(f'"iteration_indptr" does not lead from 0 to the {most} trees')
        attributes = self.learner.get("attributes")
        attributes = attributes if isinstance(attributes, dict) else {}
        best = attributes.get("best_iteration")
        if not best_iteration:
            if best is not None and str(best) != str(len(ends) - 2):
                self.notes.append(
                    f"all {len(ends) - 1} rounds of boosting are used, the best is number {best}: --best-iteration stops there"
                )
            return len(ends) - 1
        if best is None:
            self.fail("has no best_iteration; import it without --best-iteration")
        rounds = self.number(attributes, "best_iteration", max(len(ends) - 2, 0)) + 1
        self.trees = self.trees[: ends[rounds]]
        return rounds

    def ensemble(self) -> Ensemble:
        parameters = self.member(self.learner, "learner_model_param", dict)
        columns = self.number(parameters, "num_feature", 2**31 - 1)
        outputs = max(
            1, self.number(parameters, "num_class", MOST_OUTPUTS, 0), self.number(parameters, "num_target", MOST_OUTPUTS, 1)
        )
        objective = self.member(self.member(self.learner, "objective", dict), "name", str)
        if objective not in OBJECTIVES:
            self.fail(f'its objective is "{objective}", expected one of {", ".join(OBJECTIVES)}')
        link, margin_of = OBJECTIVES[objective]
        if objective == "multi:softmax":
            self.notes.append("multi:softmax: the package gives the probability of each class, not the number of the class")
        names = self.learner.get("feature_names") or []
        if not isinstance(names, list) or len(names) not in (0, columns) or not all(isinstance(n, str) for n in names):
            self.fail(f'"feature_names" are not {columns} names')
        cats = self.model.get("cats")
        if isinstance(cats, dict) and cats.get("enc"):
            self.notes.append("its categories had names: columns must hold their codes of the training data, counted from 0")
        leaf_size = self.leaf_size()
        if leaf_size not in (1, outputs):
            self.fail(f"its leaves have {leaf_size} values, expected 1 or {outputs}")
        builder = Builder(columns, leaf_size, self.subject)
        info = self.array(self.model, "tree_info", np.int64)[: len(self.trees)]
        if len(info) != len(self.trees) or ((info < 0) | (info >= outputs)).any():
            self.fail(f'"tree_info" does not have {len(self.trees)} numbers from 0 to {outputs - 1}')
        if self.weights is not None and len(self.weights) < len(self.trees):
            self.fail(f'"weight_drop" has {len(self.weights)} numbers, expected {len(self.trees)}')
        for number, tree in enumerate(self.trees):
            weight = None if self.weights is None else self.weights[number]
            self.add_tree(builder, tree, weight, int(info[number]) if leaf_size == 1 else 0)
        return builder.ensemble(
            column_names=names,
            outputs=outputs,
            base=[float(margin_of(base)) for base in self.base_scores(parameters, outputs)],
            link=link,
            source=f"XGBoost {self.version}".strip(),
            objective=objective,
        )

    def base_scores(self, parameters: dict, outputs: int) -> np.ndarray:
        """Since 3.1 a list as text, of one number or one for each output; before, a number as text."""
        text = str(parameters.get("base_score", "")).strip("[]")
        try:
            scores = np.array([float(part) for part in text.split(",")], np.float32)
        except ValueError:
            scores = np.empty(0, np.float32)
        if len(scores) not in (1, outputs) or not np.isfinite(scores).all():
            self.fail(f'"base_score" is {text[:40] or "missing"}, expected 1 or {outputs} numbers')
        return np.resize(scores, outputs)

    def leaf_size(self) -> int:
        if not self.trees:
            return 1
        parameters = self.member(self.trees[0], "tree_param", dict, "tree 0: ")
        return max(1, self.number(parameters, "size_leaf_vector", MOST_OUTPUTS, 1))

    def add_tree(self, builder: Builder, tree: Any, weight: np.float32 | None, output: int) -> None:
        where = f"tree {builder.trees}: "
        parameters = self.member(tree, "tree_param", dict, where)
        if max(1, self.number(parameters, "size_leaf_vector", MOST_OUTPUTS, 1)) != builder.leaf_size:
            self.fail(f"{where}its leaves have {parameters['size_leaf_vector']} values, expected {builder.leaf_size}")
        left = self.array(tree, "left_children", np.int64, where)
        size = len(left)
        right, column, default_left = (
            self.array(tree, key, np.int64, where, size) for key in ("right_children", "split_indices", "default_left")
        )
        threshold = self.array(tree, "split_conditions", np.float32, where, size)
        values = threshold if builder.leaf_size == 1 else self.leaf_vectors(tree, left, right, builder.leaf_size, where)
        if weight is not None:
            values = values * weight
        kind = self.array(tree, "split_type", np.int64, where, size) if "split_type" in tree else np.zeros(size, np.int64)
        sets = np.zeros(size, np.int64)
        if kind.any():
            self.read_sets(builder, tree, sets, kind, where)
        builder.tree(
            left, right, left == -1, column, threshold, values,
            test=np.where(kind == 1, Test.IN_SET, Test.GREATER_EQUAL),
            missing=np.where(default_left != 0, Missing.NAN_LEFT, Missing.NAN_RIGHT),
            sets=sets, output=output,
        )  # fmt: skip

    def leaf_vectors(self, tree: dict, left: np.ndarray, right: np.ndarray, size: int, where: str) -> np.ndarray:
        """[nodes, size]. Since 3.1 leaves have a list of their own, before they were among the weights of all nodes."""
        is_leaf, values = left == -1, np.zeros((len(left), size), np.float32)
        if "leaf_weights" not in tree:
            return self.array(tree, "base_weights", np.float32, where, len(left) * size).reshape(-1, size)
        vectors = self.array(tree, "leaf_weights", np.float32, where)
        if len(vectors) % size or (right[is_leaf] < 0).any():
            self.fail(f'{where}"leaf_weights" has {len(vectors)} numbers, expected a multiple of {size}')
        vectors = vectors.reshape(-1, size)
        if (right[is_leaf] >= len(vectors)).any():
            self.fail(f'{where}"leaf_weights" has {len(vectors)} vectors, a leaf has number {right[is_leaf].max()}')
        values[is_leaf] = vectors[right[is_leaf]]
        return values

    def read_sets(self, builder: Builder, tree: dict, sets: np.ndarray, kind: np.ndarray, where: str) -> None:
        categories = self.array(tree, "categories", np.int64, where)
        nodes = self.array(tree, "categories_nodes", np.int64, where)
        starts, sizes = (
            self.array(tree, key, np.int64, where, len(nodes)) for key in ("categories_segments", "categories_sizes")
        )
        if sorted(nodes.tolist()) != np.flatnonzero(kind).tolist() or not np.isin(kind, (0, 1)).all():
            self.fail(f'{where}"categories_nodes" are not those whose "split_type" is 1')
        for node, start, count in zip(nodes.tolist(), starts.tolist(), sizes.tolist()):
            if start < 0 or count < 0 or start + count > len(categories):
                builder.fail_at(node, f"its categories are {start} to {start + count}, there are {len(categories)}")
            sets[node] = builder.category_set(categories[start : start + count])


def _reference(content: bytes, ensemble: Ensemble, rounds: int, is_dart: bool, subject: str) -> Reference:
    try:
        import xgboost
    except ImportError:
        return own_reference(ensemble, "xgboost")
    try:
        booster = xgboost.Booster({"nthread": 1}, model_file=bytearray(content))
    except Exception as error:
        raise InputError(f"{subject}XGBoost {xgboost.__version__} cannot read it: {first_line(error)}") from error

    def predicted(x: np.ndarray, kind: str) -> np.ndarray:
        if not len(x):
            return np.empty((0, ensemble.outputs), np.float32)
        if is_dart:  # its prediction in place rounds otherwise, and a DMatrix refuses infinities
            largest = np.finfo(np.float32).max
            matrix = xgboost.DMatrix(np.clip(x, -largest, largest), nthread=1)
            given = booster.predict(
                matrix, output_margin=kind == "margin", iteration_range=(0, rounds), validate_features=False
            )
        else:
            given = booster.inplace_predict(x, iteration_range=(0, rounds), predict_type=kind, validate_features=False)
        return given.reshape(len(x), -1)

    def answers(x: np.ndarray) -> np.ndarray:
        if ensemble.objective == "multi:softmax":  # it gives the number of the class
            return forest.linked(ensemble, predicted(x, "margin"))
        return predicted(x, "value")

    return Reference(f"XGBoost {xgboost.__version__}", lambda x: predicted(x, "margin"), answers)
