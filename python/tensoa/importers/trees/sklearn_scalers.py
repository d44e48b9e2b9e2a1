# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Scalers of scikit-learn before trees: thresholds of the trees become thresholds of what the scalers take.

A scaler maps each column by itself and never turns its order round: scaled(x) <= t holds up to one largest x, which bisection
finds among all numbers of float64. So the columns are compared as they are, and each test gives what it gave.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tensoa.errors import InputError
from tensoa.forest import Ensemble, Test
from tensoa.forest.ensemble import LEAF

SCALERS = "StandardScaler MinMaxScaler MaxAbsScaler RobustScaler".split()
Function = Callable[[np.ndarray], np.ndarray]


def taken_apart(model: Any, subject: str) -> tuple[Any, list[Any]]:
    """(the last step of a Pipeline, its scalers); another model is the last step. Raises InputError."""
    if type(model).__name__ != "Pipeline":
        return model, []
    steps = [step for _, step in model.steps if step is not None and not isinstance(step, str)]  # "passthrough"
    for step in steps[:-1]:
        kind = type(step).__name__
        if kind not in SCALERS:
            raise InputError(
                f"{subject}holds a Pipeline with a {kind}, expected steps of {', '.join(SCALERS)} before the trees"
            )
    if not steps:
        raise InputError(f"{subject}holds a Pipeline without steps, expected trees as the last one")
    return steps[-1], steps[:-1]


def scaled(scalers: list[Any], dtype: type) -> Function:
    """Values [rows, columns] of float64 as the trees behind the scalers see them, in their dtype."""

    def run(x: np.ndarray) -> np.ndarray:
        x = np.array(x, np.float64)
        for scaler in scalers:
            x = scaler.transform(x)
        return x.astype(dtype)

    return run


def move_thresholds(ensemble: Ensemble, function: Function, subject: str) -> None:
    """Puts the thresholds of an ensemble before what scaled() gives. Raises InputError."""
    inner = np.flatnonzero(ensemble.nodes["column"] != LEAF)
    if not (ensemble.nodes["test"][inner] == Test.GREATER).all():
        raise InputError(f"{subject}has scalers before columns of categories, expected numbers only")
    columns, thresholds = ensemble.nodes["column"][inner], ensemble.nodes["threshold"][inner]
    counts = np.bincount(columns, minlength=ensemble.columns)
    order = np.argsort(columns, kind="stable")
    place = np.empty(len(inner), np.int64)
    place[order] = np.arange(len(inner)) - np.repeat(np.cumsum(counts) - counts, counts)
    limits = np.full((counts.max(initial=0), ensemble.columns), np.inf)
    limits[place, columns] = thresholds
    ensemble.nodes["threshold"][inner] = _largest(function, limits)[place, columns]
    ensemble.features = np.float64


def _largest(function: Function, limits: np.ndarray) -> np.ndarray:
    """The largest number of float64 of which the function is not above the limit, for each column of limits."""
    infinity = np.float64(np.inf).view(np.int64)
    low, high = np.full(limits.shape, -infinity), np.full(limits.shape, infinity)
    with np.errstate(over="ignore", invalid="ignore"):
        while (low < high).any():
            middle = (low >> 1) + (high >> 1) + (((low & 1) + (high & 1) + 1) >> 1)
            is_below = function(_numbers(middle)) <= limits
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle - 1)
    return _numbers(low)


def _numbers(places: np.ndarray) -> np.ndarray:
    """Numbers of float64 in their order, of whole numbers around that of 0."""
    return np.where(places < 0, -np.abs(places).view(np.float64), places.view(np.float64))
