# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The nodes of ensembles in ONNX, of both forms of the attributes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tensoa.errors import InputError

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
LEQ, LT, GTE, GT, EQ, NEQ, MEMBER = range(len(MODES))
LEAF = -1


@dataclass
class Nodes:
    """All nodes by their places in the file's lists; leaves of TreeEnsemble lie behind them. `tracks`: whether a value that
    is missing is true. `weights`: of each leaf pairs of an output and a number. `names`: what messages call a node.
    """

    roots: list[int]
    mode: list[int]
    column: list[int]
    value: list[float]
    true: list[int]
    false: list[int]
    tracks: list[int]
    weights: dict[int, list[tuple[int, float]]]
    names: list[int]
    members: dict[int, np.ndarray] = field(default_factory=dict)  # of each node of mode MEMBER


def _numbers(attributes: dict[str, Any], name: str, subject: str, size: int | None = None, dtype: Any = np.int64) -> np.ndarray:
    try:
        found = np.asarray(attributes.get(name, ()), dtype).ravel()
    except (TypeError, ValueError):
        raise InputError(f"{subject}its {name} are not numbers") from None
    if size is not None and len(found) != size:
        raise InputError(f"{subject}its {name} has {len(found)} numbers, expected {size}")
    return found


def from_lists(attributes: dict[str, Any], kind: str, floats: Callable[[str], np.ndarray], subject: str) -> Nodes:
    """Of TreeEnsembleRegressor and -Classifier, where trees and nodes have numbers. `kind`: "target" or "class". `floats`
    of a list or of the tensor in its place.
    """
    names = [bytes(mode).decode("latin-1") for mode in attributes.get("nodes_modes", ())]
    count = len(names)
    tree, node, column = (_numbers(attributes, f"nodes_{one}ids", subject, count) for one in ("tree", "node", "feature"))
    keys: list[tuple[int, int]] = list(zip(tree.tolist(), node.tolist()))
    place = {key: i for i, key in enumerate(keys)}
    if len(place) < count:
        twice = next(key for i, key in enumerate(keys) if place[key] != i)
        raise InputError(f"{subject}tree {twice[0]}, node {twice[1]}: two nodes have this number")

    def found(key: tuple[int, int], what: str) -> int:
        if key not in place:
            raise InputError(f"{subject}tree {key[0]}: {what} has node {key[1]}, which is not there")
        return place[key]

    modes = []
    for key, name in zip(keys, names):
        if name not in MODES[:MEMBER] and name != "LEAF":
            expected = ", ".join(("LEAF", *MODES[:MEMBER]))
            raise InputError(f"{subject}tree {key[0]}, node {key[1]}: its mode is {name[:40]}, expected one of {expected}")
        modes.append(LEAF if name == "LEAF" else MODES.index(name))
    children = []
    for what in ("nodes_truenodeids", "nodes_falsenodeids"):
        numbers = _numbers(attributes, what, subject, count).tolist()
        children.append(
            [-1 if mode == LEAF else found((key[0], number), what) for mode, key, number in zip(modes, keys, numbers)]
        )
    values = floats("nodes_values")
    if len(values) != count:
        raise InputError(f"{subject}its nodes_values has {len(values)} numbers, expected {count}")
    weights: dict[int, list[tuple[int, float]]] = {i: [] for i, mode in enumerate(modes) if mode == LEAF}
    given = floats(f"{kind}_weights")
    trees, nodes, outputs = (
        _numbers(attributes, f"{kind}_{one}", subject, len(given)).tolist() for one in ("treeids", "nodeids", "ids")
    )
    for key, output, weight in zip(zip(trees, nodes), outputs, given.tolist()):
        leaf = found(key, f"{kind}_nodeids")
        if leaf not in weights:
            raise InputError(f"{subject}tree {key[0]}, node {key[1]}: it has a weight, but is not a leaf")
        weights[leaf].append((output, weight))
    roots = [int(first) for first in np.sort(np.unique(tree, return_index=True)[1])]
    return Nodes(
        roots, modes, column.tolist(), values.tolist(), children[0], children[1],
        _tracks(attributes, subject, count), weights, node.tolist(),
    )  # fmt: skip


def _tracks(attributes: dict[str, Any], subject: str, count: int) -> list[int]:
    tracks = _numbers(attributes, "nodes_missing_value_tracks_true", subject)
    if len(tracks) not in (0, count):
        raise InputError(f"{subject}its nodes_missing_value_tracks_true has {len(tracks)} numbers, expected {count}")
    return tracks.tolist() or [0] * count


def from_tensors(attributes: dict[str, Any], subject: str) -> Nodes:
    """Of TreeEnsemble, where nodes and leaves are places in lists."""
    mode = _numbers(attributes, "nodes_modes", subject)
    count = len(mode)
    is_unknown = (mode < 0) | (mode >= len(MODES))
    if is_unknown.any():
        at = int(is_unknown.argmax())
        raise InputError(f"{subject}node {at}: its mode is {mode[at]}, expected 0 to {len(MODES) - 1}")
    weights = _numbers(attributes, "leaf_weights", subject, dtype=np.float64)
    leaves = len(weights)
    targets = _numbers(attributes, "leaf_targetids", subject, leaves)
    column = _numbers(attributes, "nodes_featureids", subject, count)
    value = _numbers(attributes, "nodes_splits", subject, count, np.float64)
    children = []
    for side in ("true", "false"):
        child = _numbers(attributes, f"nodes_{side}nodeids", subject, count)
        is_leaf = _numbers(attributes, f"nodes_{side}leafs", subject, count) != 0
        most = np.where(is_leaf, leaves, count)
        is_outside = (child < 0) | (child >= most)
        if is_outside.any():
            at = int(is_outside.argmax())
            what = "leaf" if is_leaf[at] else "node"
            raise InputError(f"{subject}node {at}: it leads to {what} {child[at]}, there are {most[at]}")
        children.append(np.where(is_leaf, count + child, child).tolist())
    roots = _numbers(attributes, "tree_roots", subject)
    if ((roots < 0) | (roots >= count)).any():
        raise InputError(f"{subject}its tree_roots has a number that is not a node, there are {count}")
    members = _members(_numbers(attributes, "membership_values", subject, dtype=np.float64), mode, subject)
    return Nodes(
        roots.tolist(), mode.tolist() + [LEAF] * leaves, column.tolist(), value.tolist(), children[0], children[1],
        _tracks(attributes, subject, count),
        {count + i: [pair] for i, pair in enumerate(zip(targets.tolist(), weights.tolist()))},
        [*range(count), *range(leaves)], members,
    )  # fmt: skip


def _members(values: np.ndarray, mode: np.ndarray, subject: str) -> dict[int, np.ndarray]:
    """NaN separates the values of the nodes."""
    parts = np.split(values, np.flatnonzero(np.isnan(values)))
    sets = [one for one in (np.unique(part[~np.isnan(part)]) for part in parts) if len(one)]
    nodes = np.flatnonzero(mode == MEMBER).tolist()
    if len(sets) != len(nodes):
        raise InputError(f"{subject}its membership_values has {len(sets)} sets, expected {len(nodes)}")
    return dict(zip(nodes, sets))
