# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A graph network over hits and edges, two collections of unequal length: trained, compiled and run.

    python 09_graph_network.py

Writes graph.pt2, and an event as hits.csv and edges.csv for the same program in C++. Prints, at the end:

    kept 50 of 126 edges, 50 of them true
"""

import numpy as np
import pandas as pd
import torch
from torch import nn

import tensoa

TRACKS, LAYERS = 10, 6


def make_event(seed):
    """Hits (r, phi, z / r) of tracks in layers; pairs of near hits in neighbouring layers; which pairs are of one track."""
    random = np.random.default_rng(seed)
    phi, bend, slope = random.uniform([[-1], [-0.05], [-0.5]], [[1], [0.05], [0.5]], (3, TRACKS))
    r = np.repeat(np.arange(1.0, LAYERS + 1), TRACKS)
    track = np.tile(np.arange(TRACKS), LAYERS)
    hits = np.stack([r, phi[track] + bend[track] * r, slope[track]], 1)
    hits[:, 1:] += random.normal(0, 0.001, (len(hits), 2))
    near = np.abs(hits[:, None, 1:] - hits[:, 1:]).max(2) < 0.3
    edges = np.stack(np.nonzero(near & (r == r[:, None] + 1)))
    return hits.astype("float32"), edges, track[edges[0]] == track[edges[1]]


class EdgeNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(3, 16), nn.ReLU())
        self.edge = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x, edge_index):
        source, target = edge_index
        messages = self.message(20 * (x[target] - x[source]))
        at_hit = x.new_zeros(x.shape[0], 16).index_add(0, target, messages)  # sums over the edges that end at a hit
        return self.edge(torch.cat([messages, at_hit[source]], 1))


torch.manual_seed(0)
torch.set_num_threads(1)
network = EdgeNetwork()
optimizer = torch.optim.Adam(network.parameters(), 1e-2)
for seed in range(400):
    hits, edges, truth = map(torch.from_numpy, make_event(seed))
    loss = nn.functional.binary_cross_entropy_with_logits(network(hits, edges).squeeze(1), truth.float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# [compile]
columns = ["x=r,phi,cot_theta@hits", "edge_index.T=source,target:int64@edges"]
tensoa.compile(network, "graph.pt2", columns=columns, outputs=["score"])
# [/compile]

hits, edges, truth = make_event(seed=1_000_000)
pd.DataFrame(hits, columns=["r", "phi", "cot_theta"]).to_csv("hits.csv", index=False)
pd.DataFrame(edges.T, columns=["source", "target"]).to_csv("edges.csv", index=False)

# [run]
r, phi, cot_theta = hits.T
answers = tensoa.Model("graph.pt2")(r=r, phi=phi, cot_theta=cot_theta, source=edges[0], target=edges[1])
kept = answers["score"] > 0
# [/run]
print(f"kept {kept.sum()} of {len(kept)} edges, {(kept & truth).sum()} of them true")
