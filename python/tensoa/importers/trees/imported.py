# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The result of an importer of trees: the ensemble, and the framework with the expected results."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tensoa import forest
from tensoa.errors import InputError
from tensoa.forest import Ensemble, Test
from tensoa.forest.ensemble import LEAF

RANDOM_ROWS, EDGE_ROWS = 1000, 20_000
MOST_MEMBERS = 4096  # of all sets of a column, that are tried
ANSWER_TOLERANCE = 1e-5  # relative: links differ in their last bits

Function = Callable[[np.ndarray], np.ndarray]


@dataclass
class Reference:
    """The expected numbers: margins and answers [rows, outputs] of values [rows, columns], which have the
    precision of the ensemble's features. `tolerance` of margins, relative to the largest; 0: the same bits.
    `has_small_answers`: whether answers near 0 keep their digits; where not, a package is compared with the margins through
    the link.
    """

    name: str
    margins: Function
    answers: Function
    tolerance: float = 0.0
    has_small_answers: bool = True


@dataclass
class Imported:
    """`notes`: lines for people. `other_outputs`: names of further outputs of the file, such as labels of classes.
    `inputs`: (name, width) of those that the file has for its features.
    """

    ensemble: Ensemble
    reference: Reference
    notes: list[str] = field(default_factory=list)
    other_outputs: list[str] = field(default_factory=list)
    inputs: list[tuple[str, int]] = field(default_factory=list)


def own_reference(ensemble: Ensemble, framework: str, problem: str = "is not installed here") -> Reference:
    """Instead of a framework that cannot be asked."""
    return Reference(
        f"tensoa itself ({framework} {problem})",
        lambda x: forest.margins(ensemble, x.T),
        lambda x: forest.answers(ensemble, x.T),
    )


def edge_rows(ensemble: Ensemble, rows: int, seed: int = 0) -> np.ndarray:
    """[rows, columns] of values on thresholds, their neighbours, NaN, infinities, -0, denormal and random numbers; of
    columns that sets are of, whole numbers.
    """
    random = np.random.default_rng(seed)
    dtype = ensemble.features
    chosen: np.ndarray = np.empty((rows, ensemble.columns), dtype)
    inner = ensemble.nodes[ensemble.nodes["column"] != LEAF]
    inner = inner[np.argsort(inner["column"], kind="stable")]
    bounds = np.searchsorted(inner["column"], np.arange(ensemble.columns + 1))
    for column in range(ensemble.columns):
        values = _edges_of(ensemble, inner[bounds[column] : bounds[column + 1]], random)
        repeated = np.tile(values, -(-rows // len(values)))[:rows] if len(values) < rows else random.choice(values, rows, False)
        chosen[:, column] = random.permutation(repeated)
    return chosen


def _edges_of(ensemble: Ensemble, nodes: np.ndarray, random: np.random.Generator) -> np.ndarray:
    dtype, is_set = ensemble.features, nodes["test"] >= Test.IN_SET
    with np.errstate(over="ignore"):
        thresholds: np.ndarray = np.unique(nodes["threshold"][~is_set].astype(dtype))
        neighbours = [np.nextafter(thresholds, dtype(end)) for end in (-np.inf, np.inf)]
    least = np.finfo(dtype).smallest_subnormal
    special: np.ndarray = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, least, -least, 1e-40, -1e-40, 1e-35, -1e-35], dtype)
    if is_set.any():
        sets = [ensemble.sets[number] for number in np.unique(nodes["set"][is_set])]
        words = max(int(one["words"]) for one in sets)
        members = random.integers(0, 64 * words + 2, MOST_MEMBERS) if 64 * words > MOST_MEMBERS else np.arange(64 * words + 2)
        return np.concatenate([members, [-1, -0.5, 1.5, 10**6, 2**30], thresholds, special[:5]]).astype(dtype)
    return np.concatenate([thresholds, *neighbours, special, random.normal(size=40).astype(dtype)])


def check(imported: Imported) -> int:
    """Compares the ensemble with its reference on random and edge values; returns the number of rows. Raises InputError
    where it differs.
    """
    ensemble, reference = imported.ensemble, imported.reference
    random = np.random.default_rng(1)
    normal: np.ndarray = random.normal(size=(RANDOM_ROWS, ensemble.columns)).astype(ensemble.features)
    normal[random.random(normal.shape) < 0.1] = np.nan
    edges = edge_rows(ensemble, _edge_count(ensemble))
    of_sets = np.unique(ensemble.nodes["column"][ensemble.nodes["test"] >= Test.IN_SET])
    normal[:, of_sets] = edges[:RANDOM_ROWS, of_sets]
    x = np.concatenate([edges, normal])
    ours, theirs = forest.margins(ensemble, x.T), reference.margins(x)
    scale = np.abs(theirs).max(initial=0) if reference.tolerance else 0
    _require_equal("margin", x, ours, theirs, np.full(ours.shape, reference.tolerance * scale), reference)
    ours, theirs = forest.linked(ensemble, ours), reference.answers(x)
    _require_equal("answer", x, ours, theirs, ANSWER_TOLERANCE * np.maximum(np.abs(theirs), 0.1), reference)
    return len(x)


def _edge_count(ensemble: Ensemble) -> int:
    """Rows that have every edge value, where those are not too many."""
    inner = ensemble.nodes[ensemble.nodes["column"] != LEAF]
    pairs = np.unique(np.stack([inner["column"].astype(np.float64), inner["threshold"]], 1), axis=0)
    most = np.bincount(pairs[:, 0].astype(np.int64)).max(initial=0) if len(pairs) else 0
    return int(min(EDGE_ROWS, max(RANDOM_ROWS, 3 * most + 60)))


def _require_equal(
    what: str, x: np.ndarray, ours: np.ndarray, theirs: np.ndarray, tolerance: np.ndarray, reference: Reference
) -> None:
    if ours.shape != theirs.shape:
        raise InputError(f"the model has {ours.shape[1]} outputs, {reference.name} gives {theirs.shape[1]}; it is not written")
    with np.errstate(invalid="ignore"):
        is_equal = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs)) | (np.abs(ours - theirs) <= tolerance)
    if is_equal.all():
        return
    row, output = (int(place[0]) for place in np.nonzero(~is_equal))
    count = int((~is_equal).any(1).sum())
    values = ", ".join(f"{value:.9g}" for value in x[row, :8]) + (", …" if x.shape[1] > 8 else "")
    raise InputError(
        f"{what} {output} of the values {values}: got {ours[row, output]:.9g}, {reference.name} gives "
        f"{theirs[row, output]:.9g} ({count} of {len(x)} rows differ); the package is not written, please report the model"
    )
