# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of scikit-learn before trees: tests of the trees become tests of what the steps take.

A feature of the trees is a function of one column, whatever the steps are composed of. Between some ends it never falls, so
f(x) <= t holds from one end up to one largest x, which bisection finds among all numbers of float64. Columns are compared as
they are, and each test gives what it gave.
"""

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tensoa.errors import InputError, Unsupported
from tensoa.forest import Ensemble, Missing, Test
from tensoa.forest.ensemble import LEAF, LISTS
from tensoa.importers.trees.build import Builder

SCALERS = "StandardScaler MinMaxScaler MaxAbsScaler RobustScaler".split()
COMPOSED = "Pipeline ColumnTransformer FeatureUnion".split()
STEPS = [*SCALERS, "SimpleImputer", "OneHotEncoder", *COMPOSED]
Function = Callable[[np.ndarray], np.ndarray]
_INFINITY = np.float64(np.inf).view(np.int64)


@dataclass(frozen=True)
class Feature:
    """A function of column `source`, on arrays of numbers. It never falls up to the first of its `ends`, behind that up to the
    next, and behind the last.
    """

    source: int
    function: Function = lambda x: x
    ends: tuple[float, ...] = ()

    def then(self, function: Function) -> "Feature":
        """With a function that never falls behind it."""
        return Feature(self.source, lambda x: function(self.function(x)), self.ends)


def taken_apart(model: Any, subject: str) -> tuple[Any, list[Any]]:
    """(the last step of a Pipeline, those before it); another model is the last step. Raises InputError."""
    if type(model).__name__ != "Pipeline":
        return model, []
    steps = [step for _, step in model.steps if step is not None and not isinstance(step, str)]  # "passthrough"
    if not steps:
        raise InputError(f"{subject}holds a Pipeline without steps, expected trees as the last one")
    return steps[-1], steps[:-1]


def features_of(steps: Sequence[Any], columns: int, subject: str) -> list[Feature]:
    """The features that consecutive steps make of `columns` columns. Raises Unsupported for steps that are not read."""
    found = [Feature(i) for i in range(columns)]
    for step in steps:
        found = _made_by(step, found, subject)
    return found


def _made_by(step: Any, given: list[Feature], subject: str) -> list[Feature]:
    kind = type(step).__name__
    if step is None or step == "passthrough" or (kind == "FunctionTransformer" and step.func is None):
        return given
    if kind == "Pipeline":
        for _, inner in step.steps:
            given = _made_by(inner, given, subject)
        return given
    if kind == "FeatureUnion" and not step.transformer_weights:
        kept = [inner for _, inner in step.transformer_list if inner != "drop"]
        return [one for inner in kept for one in _made_by(inner, given, subject)]
    if kind == "ColumnTransformer" and not step.transformer_weights:
        places = step._transformer_to_input_indices
        kept = [(inner, places[name]) for name, inner, _ in step.transformers_ if inner != "drop"]
        return [one for inner, at in kept for one in _made_by(inner, [given[i] for i in at], subject)]
    if kind in SCALERS:
        return [one.then(_of_column(step, i)) for i, one in enumerate(given)]
    if kind == "SimpleImputer" and not step.add_indicator and not any(one.ends for one in given):
        return [_imputed(one, step, i, subject) for i, one in enumerate(given) if _is_kept(step.statistics_[i])]
    if kind == "OneHotEncoder" and not _has_groups(step) and all(one.ends == () for one in given):
        return [one for i, feature in enumerate(given) for one in _indicators(feature, step, i, subject)]
    raise Unsupported(
        f"{subject}holds a Pipeline with a {kind}, expected steps of {', '.join(STEPS)} before the trees, which are made "
        "of columns one by one"
    )


def _of_column(step: Any, at: int) -> Function:
    """A scaler of many columns, of one of them."""
    one = copy.copy(step)
    for name, value in vars(step).items():
        if isinstance(value, np.ndarray) and value.shape[:1] == (step.n_features_in_,):
            setattr(one, name, value[at : at + 1])
    one.n_features_in_ = 1
    vars(one).pop("feature_names_in_", None)
    return lambda x: one.transform(x.reshape(-1, 1).astype(np.float64)).ravel()


def _is_kept(value: Any) -> bool:
    """Columns that had no numbers when an imputer was fitted are left out."""
    return not (isinstance(value, float) and np.isnan(value))


def _imputed(feature: Feature, step: Any, at: int, subject: str) -> Feature:
    value, missing = step.statistics_[at], step.missing_values
    if not all(isinstance(one, (int, float, np.number)) for one in (value, missing)):
        raise Unsupported(f"{subject}has a SimpleImputer that makes {value!r} of {missing!r}, expected numbers")
    if np.isnan(missing):
        return feature.then(lambda x: np.where(np.isnan(x), value, x))
    _require_plain(feature, "SimpleImputer", subject)
    return Feature(feature.source, lambda x: np.where(x == missing, value, x), _around([float(missing)]))


def _require_plain(feature: Feature, kind: str, subject: str) -> None:
    """Equal numbers of the column are looked for in the column itself: NaN may have become another."""
    probe = np.array([-2.5, 0.0, 1.0, 3.0, 1e9])
    if not np.array_equal(feature.function(probe), probe):
        raise Unsupported(f"{subject}has a {kind} behind steps that change numbers, expected it before them")


def _around(numbers: Sequence[float]) -> tuple[float, ...]:
    """Ends between which each of the numbers is alone."""
    return tuple(sorted({end for one in numbers for end in (float(np.nextafter(one, -np.inf)), one)}))


def _has_groups(step: Any) -> bool:
    return bool(getattr(step, "_infrequent_enabled", False))


def _indicators(feature: Feature, step: Any, at: int, subject: str) -> list[Feature]:
    """One for each category that is not dropped."""
    _require_plain(feature, "OneHotEncoder", subject)
    try:
        categories = np.asarray(step.categories_[at], np.float64)
    except ValueError:
        listed = list(step.categories_[at][:5])
        raise Unsupported(f"{subject}has a OneHotEncoder of the categories {listed}, expected numbers") from None
    if np.isnan(categories).any():
        raise Unsupported(f"{subject}has a OneHotEncoder with NaN as a category, expected numbers")
    dropped = getattr(step, "drop_idx_", None)
    kept = [one for i, one in enumerate(categories.tolist()) if dropped is None or dropped[at] != i]
    return [_indicator(feature, one) for one in kept]


def _indicator(feature: Feature, category: float) -> Feature:
    return Feature(feature.source, lambda x: (feature.function(x) == category).astype(np.float64), _around([category]))


# ---- what the steps give, for comparison


def framed(x: np.ndarray, names: Sequence[str]) -> Any:
    """Rows as scikit-learn takes them: of float64, with these names where pandas is installed."""
    given = np.array(x, np.float64)
    if not len(names):
        return given
    try:
        import pandas
    except ImportError:
        return given
    return pandas.DataFrame(given, columns=list(names))


def applied(steps: Sequence[Any], names: Sequence[str], dtype: type) -> Function:
    """The rows after the steps, in the type that the trees see. A category that is not known is none of them."""
    steps = copy.deepcopy(list(steps))
    for step in _all_of(steps):
        if type(step).__name__ == "OneHotEncoder":
            step.handle_unknown = "ignore"

    def run(x: np.ndarray) -> np.ndarray:
        goes_by_name = any(type(step).__name__ == "ColumnTransformer" for step in steps)
        given = framed(x, names if goes_by_name else ())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of categories that are not known
            for step in steps:
                given = step.transform(given)
        return np.asarray(given.toarray() if hasattr(given, "toarray") else given).astype(dtype)

    return run


def raises_for_unknown(steps: Sequence[Any]) -> bool:
    """Whether the steps themselves refuse an unknown category."""
    return any(type(step).__name__ == "OneHotEncoder" and step.handle_unknown == "error" for step in _all_of(steps))


def _all_of(steps: Sequence[Any]) -> list[Any]:
    found = []
    for step in steps:
        found.append(step)
        kind = type(step).__name__
        if kind in COMPOSED:
            name = {"Pipeline": "steps", "FeatureUnion": "transformer_list", "ColumnTransformer": "transformers_"}[kind]
            found += _all_of([one[1] for one in getattr(step, name)])
    return found


# ---- tests of columns


def on_columns(ensemble: Ensemble, features: Sequence[Feature], columns: int, subject: str) -> Ensemble:
    """An ensemble that sees the columns, of one that sees the features. Raises InputError, Unsupported."""
    inner = np.flatnonzero(ensemble.nodes["column"] != LEAF)
    if not (ensemble.nodes["test"][inner] == Test.GREATER).all():
        raise Unsupported(f"{subject}has scalers before columns of categories, expected numbers only")
    if len(features) != ensemble.columns:
        raise Unsupported(f"{subject}has steps that give {len(features)} features before trees of {ensemble.columns}")
    searches: dict[int, _Search] = {}
    for at in np.unique(ensemble.nodes["column"][inner]):
        nodes = inner[ensemble.nodes["column"][inner] == at]
        searches |= zip(nodes.tolist(), _searches(features[at], ensemble.nodes[nodes], ensemble.features))
    builder = Builder(columns, ensemble.leaf_size, subject)
    for tree in ensemble.trees:
        _add(builder, ensemble, tree, features, searches)
    members = {one.name: getattr(ensemble, one.name) for one in fields(ensemble)}
    kept = {name: value for name, value in members.items() if name not in (*LISTS, "columns", "leaf_size", "features")}
    return builder.ensemble(**kept, features=np.float64)


@dataclass(frozen=True)
class _Search:
    """Whether x goes left: `sides` up to the first of ascending `ends`, up to the next, and behind the last."""

    ends: tuple[float, ...]
    sides: tuple[bool, ...]
    nan_is_left: bool


def _searches(feature: Feature, nodes: np.ndarray, dtype: type) -> list[_Search]:
    """Of the tests of a feature at nodes."""
    thresholds, which = np.unique(nodes["threshold"], return_inverse=True)
    ends = _places(np.array(feature.ends))
    before = np.concatenate([[-_INFINITY - 1], ends])  # the last number before each piece
    last = np.concatenate([ends, [_INFINITY]])

    def seen(x: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            return feature.function(x.ravel()).astype(dtype).reshape(x.shape)

    low, high = (np.tile(one, (len(thresholds), 1)) for one in (before, last))
    while (low < high).any():
        middle = (low >> 1) + (high >> 1) + (((low & 1) + (high & 1) + 1) >> 1)
        is_below = seen(_numbers(middle)) <= thresholds[:, None]
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle - 1)
    (of_nan,) = seen(np.array([np.nan]))
    found = [_merged(before, last, row) for row in low]
    nan_is_left = nodes["missing"] == Missing.NAN_LEFT if np.isnan(of_nan) else of_nan <= nodes["threshold"]
    return [_Search(found[i][0], found[i][1], bool(is_left)) for i, is_left in zip(which, nan_is_left)]


def _merged(before: np.ndarray, last: np.ndarray, found: np.ndarray) -> tuple[tuple[float, ...], tuple[bool, ...]]:
    """Of pieces, each left up to the number `found` in it: ends and sides, neighbours of one side as one."""
    parts: list[tuple[int, bool]] = []  # (last place, side)
    for first, end, left in zip(before.tolist(), last.tolist(), found.tolist()):
        for at, side, is_empty in ((left, True, left == first), (end, False, left == end)):
            if is_empty:
                continue
            if parts and parts[-1][1] == side:
                parts.pop()
            parts.append((at, side))
    return tuple(_numbers(np.array([at for at, _ in parts[:-1]], np.int64)).tolist()), tuple(side for _, side in parts)


def _add(builder: Builder, ensemble: Ensemble, tree: Any, features: Sequence[Feature], searches: dict[int, _Search]) -> None:
    first, count, output = (int(number) for number in tree)
    nodes = ensemble.nodes[first : first + count]
    is_leaf = nodes["column"] == LEAF
    values = np.zeros((count, ensemble.leaf_size))
    values[is_leaf] = ensemble.leaf_values[nodes["left"][is_leaf][:, None] + np.arange(ensemble.leaf_size)]
    entries = [(0, 0, 0, 0.0, Test.GREATER, Missing.NAN_LEFT)] * count
    for at in np.flatnonzero(~is_leaf).tolist():
        column, children = features[nodes["column"][at]].source, (int(nodes["right"][at]), int(nodes["left"][at]))
        _add_search(entries, at, column, children, searches[first + at])
    left, right, column, threshold, test, missing = zip(*entries)
    added = len(entries) - count
    builder.tree(
        left, right, np.concatenate([is_leaf, np.zeros(added, bool)]), column, threshold,
        np.concatenate([values, np.zeros((added, ensemble.leaf_size))]), test, missing,
        output=output, is_shared=added > 0,
    )  # fmt: skip


def _add_search(entries: list[tuple], at: int, column: int, children: tuple[int, int], search: _Search) -> None:
    """Fills entry `at`. `children`: where what does not go left goes, and what does."""
    ends, sides, nan = search.ends, search.sides, search.nan_is_left
    if not ends:
        test = (np.inf, Test.GREATER) if sides[0] else (-np.inf, Test.GREATER_EQUAL)
        entries[at] = (children[True], children[False], column, *test, Missing.NAN_LEFT if nan else Missing.NAN_RIGHT)
        return
    todo = [(at, 0, len(ends))]
    while todo:
        here, low, high = todo.pop()
        middle = (low + high) // 2
        parts: list[tuple[int, bool]] = []  # (where it goes, whether NaN may go there, too)
        for begin, end, side in ((low, middle, sides[middle]), (middle + 1, high, sides[middle + 1])):
            if begin == end:
                parts.append((children[side], side == nan))
            else:
                entries.append(entries[at])
                parts.append((len(entries) - 1, True))
                todo.append((len(entries) - 1, begin, end))
        (below, takes_nan), (above, _) = parts
        missing = Missing.NAN_LEFT if takes_nan else Missing.NAN_RIGHT
        entries[here] = (below, above, column, ends[middle], Test.GREATER, missing)


def _numbers(places: np.ndarray) -> np.ndarray:
    """Numbers of float64 in their order, of whole numbers around that of 0."""
    return np.where(places < 0, -np.abs(places).view(np.float64), places.view(np.float64))


def _places(numbers: np.ndarray) -> np.ndarray:
    """The whole numbers of numbers of float64."""
    bits = np.abs(numbers).astype(np.float64).view(np.int64)
    return np.where(np.signbit(numbers), -bits, bits)
