# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""How good scores of edges are, where the truth is known."""

import torch

CUT = 0.5  # an edge is taken from this score on


def edge_auc(scores, truth):
    """Area under the ROC curve: how often a true edge has a higher score than a false one (ties count half).

    scores, truth: [E]. NaN where there are no true or no false edges.
    """
    truth = truth.bool()
    positives, negatives = int(truth.sum()), int((~truth).sum())
    if not positives or not negatives:
        return float("nan")
    _, group, sizes = torch.unique(scores, return_inverse=True, return_counts=True)
    rank = sizes.cumsum(0).double() - (sizes - 1) / 2  # the mean rank of equal scores, from 1
    wins = rank[group[truth]].sum() - positives * (positives + 1) / 2
    return float(wins / (positives * negatives))


def edge_efficiency(scores, truth):
    """The part of the true edges that is taken."""
    return float((scores[truth.bool()] >= CUT).double().mean())


def edge_purity(scores, truth):
    """The part of the taken edges that is true."""
    return float(truth[scores >= CUT].double().mean())


def difference(scores, reference):
    """How far scores are from those of a reference: max abs, relative L2, edges on the other side of the cut."""
    scores, reference = scores.detach().double(), reference.detach().double()
    delta = scores - reference
    return {
        "max_abs": float(delta.abs().max()) if delta.numel() else 0.0,
        "relative_l2": float(delta.norm() / reference.norm().clamp(min=1e-300)),
        "changed_side": int(((scores >= CUT) != (reference >= CUT)).sum()),
    }
