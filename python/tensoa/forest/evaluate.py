# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The results of an ensemble, straight from the documentation of Ensemble: slow, for checks of everything that is fast."""

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from tensoa.forest.ensemble import LEAF, Ensemble, Link, Missing, Test

LIGHTGBM_ZERO = float(np.float32(1e-35))


def margins(ensemble: Ensemble, columns: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """[rows, outputs] in the precision of the sums, of one array for each column of the ensemble."""
    sums = np.dtype(ensemble.sums).type
    rows = len(columns[0]) if len(columns) else 0
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.empty((len(columns), rows))
        for value, column in zip(values, columns):
            value[:] = np.asarray(column).astype(ensemble.features)
        base = np.array(ensemble.base, sums)
        total = np.tile(np.zeros_like(base) if ensemble.base_is_last else base, (rows, 1))
        leaf_values = ensemble.leaf_values.astype(sums)
        for tree in ensemble.trees:
            first, count, output = (int(number) for number in tree)
            leaf = _leaves(ensemble, ensemble.nodes[first : first + count], values)
            for k in range(ensemble.leaf_size):
                total[:, output + k] += leaf_values[leaf + k]
        if ensemble.base_is_last:
            total += base
        return total * sums(ensemble.factor) / sums(ensemble.divisor)


def answers(ensemble: Ensemble, columns: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """The margins through the link, which is calculated in float64 and rounded to the precision of the sums."""
    return linked(ensemble, margins(ensemble, columns))


def linked(ensemble: Ensemble, margin: np.ndarray) -> np.ndarray:
    """Answers of margins [rows, outputs]."""
    with np.errstate(all="ignore"):
        return _LINKS[ensemble.link](margin.astype(np.float64), ensemble.link_scale).astype(ensemble.sums)


def _leaves(ensemble: Ensemble, nodes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Of each row of `values` [columns, rows] the first of the values of the leaf that it comes to."""
    at = np.zeros(values.shape[1], np.int64)
    while True:
        here = nodes[at]
        active = np.flatnonzero(here["column"] != LEAF)
        if not len(active):
            return here["left"].astype(np.int64)
        here = here[active]
        goes_right = _goes_right(ensemble, here, values[here["column"], active])
        at[active] = np.where(goes_right, here["right"], here["left"])


def _goes_right(ensemble: Ensemble, nodes: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Of each value of `x`, at the node of its row."""
    test, missing = nodes["test"], nodes["missing"]
    right = np.where(test == Test.GREATER, x > nodes["threshold"], x >= nodes["threshold"])
    is_set = test >= Test.IN_SET
    x = np.where(test == Test.CUT_IN_SET, np.trunc(x), x)
    if is_set.any():
        right[is_set] = _in_sets(ensemble, nodes["set"][is_set], x[is_set])
    is_missing = np.isnan(x) | ((missing >= Missing.ZERO_LEFT) & (np.abs(x) <= LIGHTGBM_ZERO))
    return np.where(is_missing, (missing == Missing.NAN_RIGHT) | (missing == Missing.ZERO_RIGHT), right)


def _in_sets(ensemble: Ensemble, numbers: np.ndarray, x: np.ndarray) -> np.ndarray:
    if not len(ensemble.set_words):
        return np.zeros(len(x), bool)
    sets = ensemble.sets[numbers]
    is_inside = (x >= 0) & (x < 64.0 * sets["words"])
    category = np.where(is_inside, x, 0).astype(np.uint64)
    words = ensemble.set_words[np.where(is_inside, sets["first_word"] + category // np.uint64(64), 0).astype(np.int64)]
    return is_inside & ((words >> (category % np.uint64(64))) & np.uint64(1) == 1)


def _softmax(x: np.ndarray, _: float) -> np.ndarray:
    powers = np.exp(x - x.max(1, keepdims=True, initial=-np.inf))
    return powers / powers.sum(1, keepdims=True)


def _softmax_zero(x: np.ndarray, _: float) -> np.ndarray:
    powers = np.where(x == 0, 0.0, np.exp(x - x.max(1, keepdims=True, initial=-np.inf)))
    total = powers.sum(1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


def _probit(x: np.ndarray, _: float) -> np.ndarray:
    quantile = NormalDist().inv_cdf
    edges = np.where(x == 0, -np.inf, np.where(x == 1, np.inf, np.nan))
    return np.array([quantile(p) if 0 < p < 1 else edge for p, edge in zip(x.flat, edges.flat)]).reshape(x.shape)


_LINKS = {
    Link.NONE: lambda x, _: x,
    Link.SIGMOID: lambda x, scale: 1 / (1 + np.exp(-scale * x)),
    Link.SOFTMAX: _softmax,
    Link.SOFTMAX_ZERO: _softmax_zero,
    Link.EXP: lambda x, _: np.exp(x),
    Link.TANH: lambda x, _: 2 / (1 + np.exp(-2 * x)) - 1,
    Link.SOFTPLUS: lambda x, _: np.logaddexp(0, x),
    Link.PROBIT: _probit,
    Link.SIGNED_SQUARE: lambda x, _: x * np.abs(x),
    Link.STEP: lambda x, _: (x > 0).astype(np.float64),
}
