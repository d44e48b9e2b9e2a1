# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Pickles of scikit-learn (pickle or joblib): decision trees, forests, bagging of trees, gradient boosting, behind scalers.

x <= threshold goes left. Trees see x in float32 and compare with thresholds of float64, HistGradientBoosting sees float64.
Sums are of float64, of the trees in order.
"""

import io
import warnings
import zlib
from typing import Any

import numpy as np

from tensoa.errors import InputError, Unsupported, first_line
from tensoa.forest import Ensemble, Link, Missing, Test
from tensoa.importers.trees.build import MOST_CATEGORIES, Builder
from tensoa.importers.trees.imported import Function, Imported, Reference
from tensoa.importers.trees.sklearn_columns import applied, features_of, on_columns, raises_for_unknown, taken_apart

FORESTS = "RandomForestClassifier RandomForestRegressor ExtraTreesClassifier ExtraTreesRegressor".split()
TREES = "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor".split()
BAGGED = "BaggingClassifier BaggingRegressor".split()
BOOSTED = "GradientBoostingClassifier GradientBoostingRegressor".split()
HISTOGRAMS = "HistGradientBoostingClassifier HistGradientBoostingRegressor".split()
#: By the class of the loss's link: the link and its scale.
LINKS = {
    "IdentityLink": (Link.NONE, 1.0),
    "LogLink": (Link.EXP, 1.0),
    "LogitLink": (Link.SIGMOID, 1.0),
    "HalfLogitLink": (Link.SIGMOID, 2.0),
    "MultinomialLogit": (Link.SOFTMAX, 1.0),
}


class NotTrees(Unsupported):
    """A `model` that is loaded, and is not an ensemble of trees that is read. `notes`: lines for people."""

    def __init__(self, message: str, model: Any, notes: list[str]) -> None:
        super().__init__(message)
        self.model, self.notes = model, notes


def takes(content: bytes) -> bool:
    """Whether it is a pickle, compressed by joblib or not."""
    if content[:1] == b"\x78":
        try:
            content = zlib.decompressobj().decompress(content[:4096], 16)
        except zlib.error:
            return False
    return content[:2] in (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05") or content.startswith((b"BZh", b"\xfd7zXZ"))


def read(content: bytes, subject: str, trust_pickle: bool = False) -> Imported:
    """The model in the bytes of a pickle. Raises InputError, which begins with `subject`; NotTrees for other estimators."""
    if not trust_pickle:
        raise InputError(
            f"{subject}is a pickle, and loading it runs code that is in it; give --trust-pickle if you trust where it is from"
        )
    try:
        import joblib
        import sklearn  # noqa: F401
    except ImportError as error:
        raise InputError(f"{subject}is a pickle, which needs scikit-learn: {first_line(error)}") from error
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = joblib.load(io.BytesIO(content))
        except Exception as error:  # whatever the code in it throws
            raise InputError(f"{subject}cannot be loaded: {type(error).__name__}: {first_line(error)}") from error
    notes = [*dict.fromkeys(first_line(one.message) for one in caught if "Version" in one.category.__name__)]
    try:
        return _trees(model, subject, notes)
    except Unsupported as error:
        raise NotTrees(str(error), model, notes) from error


def _trees(model: Any, subject: str, notes: list[str]) -> Imported:
    """Raises InputError, Unsupported for what is not an ensemble of trees."""
    import sklearn

    last, steps = taken_apart(model, subject)
    ensemble = _Reader(last, subject).ensemble()
    before = None
    if steps:
        columns = int(getattr(model, "n_features_in_", ensemble.columns))
        ensemble.column_names = [str(name) for name in getattr(model, "feature_names_in_", ())]
        before = applied(steps, ensemble.column_names, ensemble.features)
        try:
            with sklearn.config_context(assume_finite=True):
                ensemble = on_columns(ensemble, features_of(steps, columns, subject), columns, subject)
        except InputError:
            raise
        except Exception as error:  # what is not fitted, or gives tables of a package that is not here
            raise InputError(f"{subject}its scalers cannot be run: {first_line(error)}") from error
        if raises_for_unknown(steps):
            notes = [*notes, "categories that are not known are none of those that are, where scikit-learn raises"]
    ensemble.source = f"scikit-learn {sklearn.__version__}"
    return Imported(ensemble, _reference(last, ensemble, before), notes)


class _Reader:
    def __init__(self, model: Any, subject: str) -> None:
        self.model, self.subject, self.kind = model, subject, type(model).__name__
        known = (*TREES, *FORESTS, *BAGGED, *BOOSTED, *HISTOGRAMS)
        if self.kind not in known:
            hint = ""
            if type(model).__module__.partition(".")[0] in ("xgboost", "lightgbm", "catboost"):
                hint = "; its save_model() writes a file that is read without a pickle (of LightGBM: booster_.save_model())"
            self.fail(f"holds an object of {self.kind}, expected one of {', '.join(known)}{hint}")
        if not any(hasattr(model, name) for name in ("tree_", "estimators_", "_predictors")):
            raise InputError(f"{subject}holds an object of {self.kind} that is not fitted")
        self.is_classifier = hasattr(model, "classes_")

    def fail(self, what: str) -> None:
        raise Unsupported(f"{self.subject}{what}")

    def ensemble(self) -> Ensemble:
        model = self.model
        members: dict[str, Any] = {
            "column_names": [str(name) for name in getattr(model, "feature_names_in_", ())],
            "sums": np.float64,
            "objective": ", ".join(str(part) for part in (self.kind, getattr(model, "loss", None)) if part),
        }
        if self.kind in HISTOGRAMS:
            return self.histograms(members)
        return self.boosted(members) if self.kind in BOOSTED else self.averaged(members)

    def averaged(self, members: dict[str, Any]) -> Ensemble:
        """The mean of trees, whose leaves have a value for each class or output."""
        model = self.model
        size = int(getattr(model, "n_outputs_", 0) or getattr(model.estimators_[0], "n_outputs_", 1))
        if self.is_classifier and size != 1:
            self.fail(f"holds an object of {self.kind} of {size} outputs, expected one")
        outputs = int(model.n_classes_ if self.is_classifier else size)
        builder = Builder(model.n_features_in_, outputs, self.subject)
        estimators = [model] if self.kind in TREES else model.estimators_
        for i, estimator in enumerate(estimators):
            if self.kind in BAGGED:
                self.add_bagged(builder, estimator, outputs, model.estimators_features_[i])
            else:
                self.add_tree(builder, estimator.tree_, outputs)
        return builder.ensemble(
            outputs=outputs, base=[0.0] * outputs, divisor=float(len(estimators)), classes=self.classes(), **members
        )

    def add_bagged(self, builder: Builder, estimator: Any, outputs: int, features: np.ndarray) -> None:
        """A tree of some features, and of the classes that it has seen."""
        if type(estimator).__name__ not in TREES:
            self.fail(f"holds an object of {self.kind} of {type(estimator).__name__}, expected one of {', '.join(TREES)}")
        seen = np.asarray(estimator.classes_, np.int64) if self.is_classifier else np.arange(outputs)
        self.add_tree(builder, estimator.tree_, len(seen), features=np.asarray(features), outputs=(seen, outputs))

    def boosted(self, members: dict[str, Any]) -> Ensemble:
        model = self.model
        if not (model.init_ == "zero" or type(model.init_).__name__ in ("DummyClassifier", "DummyRegressor")):
            self.fail(f"its init_ is a {type(model.init_).__name__}, expected a constant")
        base = model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32))[0]
        builder = Builder(model.n_features_in_, 1, self.subject)
        for round_ in model.estimators_:
            for output, estimator in enumerate(round_):
                # its loop over nodes ignores missing values
                self.add_tree(builder, estimator.tree_, 1, model.learning_rate, Missing.NAN_RIGHT, output)
        return builder.ensemble(outputs=len(base), base=base.tolist(), **self.link(), **members)

    def add_tree(
        self,
        builder: Builder,
        tree: Any,
        size: int,
        rate: float = 1.0,
        missing: Missing | None = None,
        output: int = 0,
        features: np.ndarray | None = None,
        outputs: tuple[np.ndarray, int] | None = None,
    ) -> None:
        """`features`: the columns of its features; `outputs`: those of its values, of how many."""
        state = tree.__getstate__()
        nodes, values = state["nodes"], state["values"].reshape(len(state["nodes"]), -1)
        values, columns = rate * values[:, :size], nodes["feature"]
        if outputs is not None:
            wide = np.zeros((len(nodes), outputs[1]))
            wide[:, outputs[0]] = values
            values = wide
        if features is not None:
            columns = np.where(columns < 0, columns, features[columns])
        goes_left = nodes["missing_go_to_left"] if "missing_go_to_left" in nodes.dtype.names else np.zeros(len(nodes))
        builder.tree(
            nodes["left_child"], nodes["right_child"], nodes["left_child"] == -1, columns, nodes["threshold"],
            values, Test.GREATER,
            np.where(goes_left != 0, Missing.NAN_LEFT, Missing.NAN_RIGHT) if missing is None else missing, 0, output,
        )  # fmt: skip

    def histograms(self, members: dict[str, Any]) -> Ensemble:
        model = self.model
        base = np.ravel(model._baseline_prediction).astype(np.float64)
        columns, categories = self.columns()
        builder = Builder(model.n_features_in_, 1, self.subject)
        for round_ in model._predictors:
            for output, predictor in enumerate(round_):
                self.add_predictor(builder, predictor, columns, categories, output)
        return builder.ensemble(outputs=len(base), base=base.tolist(), features=np.float64, **self.link(), **members)

    def columns(self) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """(the column of each feature of the nodes, the categories of features that are not numbers, in their order)."""
        model = self.model
        columns = np.arange(model.n_features_in_)
        if getattr(model, "_preprocessor", None) is None:
            return columns, {}
        is_category = np.asarray(model.is_categorical_, bool)
        columns = np.concatenate([columns[is_category], columns[~is_category]])
        categories = {}
        for feature, found in enumerate(model._preprocessor.named_transformers_["encoder"].categories_):
            try:
                numbers = np.asarray(found, np.float64)
            except ValueError:
                numbers = np.array([-1.0])
            numbers = numbers[~np.isnan(numbers)]
            if not ((numbers >= 0) & (numbers < MOST_CATEGORIES) & (numbers == np.trunc(numbers))).all():
                self.fail(f"column {columns[feature]} has the categories {list(found)[:5]}, expected whole numbers from 0 on")
            categories[feature] = numbers.astype(np.int64)
        return columns, categories

    def add_predictor(
        self, builder: Builder, predictor: Any, columns: np.ndarray, categories: dict[int, np.ndarray], output: int
    ) -> None:
        nodes = predictor.nodes
        left, right = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
        is_set = (nodes["is_categorical"] != 0) & (nodes["is_leaf"] == 0)
        goes_left = nodes["missing_go_to_left"] != 0
        sets = np.zeros(len(nodes), np.int64)
        for node in np.flatnonzero(is_set):
            known = categories[int(nodes["feature_idx"][node])]
            words = np.asarray(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]], "<u4")
            is_left = np.unpackbits(words.view(np.uint8), bitorder="little")[: len(known)] != 0
            # other categories go where missing values do, which is left of a set
            sets[node] = builder.category_set(known[~is_left] if goes_left[node] else known[is_left])
        is_swapped = is_set & ~goes_left
        builder.tree(
            np.where(is_swapped, right, left), np.where(is_swapped, left, right), nodes["is_leaf"] != 0,
            columns[nodes["feature_idx"]], nodes["num_threshold"], nodes["value"],
            np.where(is_set, Test.IN_SET, Test.GREATER),
            np.where(goes_left | is_set, Missing.NAN_LEFT, Missing.NAN_RIGHT), sets, output,
        )  # fmt: skip

    def link(self) -> dict[str, Any]:
        name = type(self.model._loss.link).__name__
        if name not in LINKS:
            self.fail(f"its loss has a {name}, expected one of {', '.join(LINKS)}")
        link, scale = LINKS[name]
        return {"link": link, "link_scale": scale, "classes": self.classes()[1 if link is Link.SIGMOID else 0 :]}

    def classes(self) -> list[str]:
        return [str(one) for one in self.model.classes_] if self.is_classifier else []


def _reference(model: Any, ensemble: Ensemble, before: Function | None) -> Reference:
    """`before`: what scalers do."""
    import sklearn

    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=1)  # several threads add trees in any order

    def called(function: Function, x: np.ndarray) -> np.ndarray:
        if not len(x):
            return np.empty((0, ensemble.outputs))
        with warnings.catch_warnings(), sklearn.config_context(assume_finite=True):
            warnings.simplefilter("ignore")  # x has no names
            given = np.asarray(function(x if before is None else before(x))).reshape(len(x), -1)
        return given[:, given.shape[1] - ensemble.outputs :]  # of two classes the second

    answers = model.predict_proba if hasattr(model, "classes_") else model.predict
    is_averaged = type(model).__name__ in (*TREES, *FORESTS, *BAGGED)
    margins = answers if is_averaged else model._raw_predict
    return Reference(f"scikit-learn {sklearn.__version__}", lambda x: called(margins, x), lambda x: called(answers, x))
