# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the TorchScript models that docs/binding.md runs.

    python binding_models.py FOLDER
"""

import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

warnings.filterwarnings("ignore", "`torch.jit")


# [edge_score]
class EdgeScore(nn.Module):
    """x [n_hits, 3], edge_index [2, n_edges] -> [n_edges]"""

    def forward(self, x, edge_index):
        return (x[edge_index[0]] - x[edge_index[1]]).sum(1)
# [/edge_score]


# [track_fit]
class Fit(NamedTuple):
    pt: Tensor
    momentum: Tensor


class TrackFit(nn.Module):
    """hits [n_tracks, 4, 3], mask [n_tracks, 4] -> pt [n_tracks], momentum [n_tracks, 3]"""

    def forward(self, hits, mask):
        mean = hits.sum(1) / mask.sum(1, keepdim=True)
        return Fit(pt=mean[:, 0] * 10, momentum=mean)
# [/track_fit]


class TrackSum(nn.Module):
    """x [n_hits, 3], track [n_hits] int64, start [n_tracks, 3] -> [n_tracks, 3]"""

    def forward(self, x, track, start):
        return start.index_add(0, track, x)


class Doubles(nn.Module):
    """In its argument."""

    def forward(self, x):
        return x.mul_(2)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, model in {"edge_score": EdgeScore, "track_fit": TrackFit, "track_sum": TrackSum,
                        "doubles": Doubles}.items():
        torch.jit.script(model()).save(str(folder / f"{name}.pt"))
