# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Merges fragments of calorimeter showers: which clusters are of one particle, and which part of each is not noise.

An event has electromagnetic and hadronic showers in an endcap (1.6 < eta < 2.9), which the clustering breaks into
fragments: more of them for hadrons and for high energies, spread about the shower axis and along its depth. Noise and
pile-up add clusters of their own, early or late, and energy to all others. Two clusters nearer than MAX_DISTANCE in eta
and phi are a candidate edge, the source is the one of more energy.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from tensoa.models import common

NAME = "calorimeter_clusters"
STEPS = 3000
MAX_DISTANCE = 0.2  # in (eta, phi)
FEATURES = ("energy", "eta", "depth", "time", "width", "length")  # GeV, -, layers, ns, -, layers
EDGE_FEATURES = ("d_eta", "d_phi", "d_depth", "d_time")  # target - source
SCALES = (1.0, 1.0, 10.0, 0.3, 0.03, 4.0)
EDGE_SCALES = (0.1, 0.1, 10.0, 0.3)


def event(seed, particles=25, noise=40):
    """One event: x [n, 6], edge_index [2, E], edge_attr [E, 4], and its truth.

    Truth: particle [n] (-1: noise), fraction [n] of the energy that is the particle's, energy [particles] GeV of each
    particle, same [E].
    """
    random = common.generator(seed)
    is_hadron = torch.rand(particles, generator=random) < 0.6
    energy = torch.exp(common.uniform(math.log(3), math.log(200), particles, random))
    eta, phi = common.uniform(1.6, 2.9, particles, random), common.uniform(-math.pi, math.pi, particles, random)
    # Resolution: 20 %/sqrt(E) and 70 %/sqrt(E), and a hadron shows less of its energy.
    width = torch.where(is_hadron, 0.7, 0.2) / energy.sqrt()
    visible = energy * (torch.where(is_hadron, 0.8, 1.0) * (1 + width * common.normal(particles, random))).clamp(min=0.2)
    start = torch.where(is_hadron, common.exponential(8.0, particles, random), torch.tensor(0.0)).clamp(max=30)
    peak = start + torch.where(is_hadron, 6 + 1.5 * energy.log(), 5 + energy.log())
    spread = torch.where(is_hadron, 0.045, 0.012)

    count = torch.where(is_hadron, 1.5 + 0.8 * energy.log(), 0.8 + 0.3 * energy.log())
    count = (count + common.normal(particles, random)).round().clamp(1, 8).long()
    of = torch.repeat_interleave(torch.arange(particles), count)
    n = len(of)
    share = common.exponential(1.0, n, random) ** 1.5 + 0.01  # one fragment has most of it
    share /= torch.zeros(particles).index_add(0, of, share)[of]
    own = visible[of] * share
    away = (1.5 - share).clamp(min=0.3)  # small fragments lie further out
    parts = {
        "own": own,
        "eta": eta[of] + away * spread[of] * common.normal(n, random),
        "phi": phi[of] + away * spread[of] * common.normal(n, random),
        "depth": (peak[of] + away * torch.where(is_hadron, 5.0, 1.5)[of] * common.normal(n, random)).clamp(1, 47),
        "time": (0.02 + 0.06 / own.sqrt()) * common.normal(n, random),
        "width": spread[of] * (0.4 + 0.4 * share) * torch.exp(0.2 * common.normal(n, random)),
        "length": torch.where(is_hadron, 5.0, 3.0)[of] * torch.exp(0.25 * common.normal(n, random)),
    }
    others = {
        "own": torch.zeros(noise),
        "eta": common.uniform(1.5, 3.0, noise, random),
        "phi": common.uniform(-math.pi, math.pi, noise, random),
        "depth": common.uniform(1, 47, noise, random),
        "time": common.uniform(-1, 1, noise, random),
        "width": 0.006 * torch.exp(0.5 * common.normal(noise, random)),
        "length": 1.5 * torch.exp(0.4 * common.normal(noise, random)),
    }
    order = torch.randperm(n + noise, generator=random)
    columns = {name: torch.cat([parts[name], others[name]])[order] for name in parts}
    particle = torch.cat([of, torch.full((noise,), -1)])[order]
    # Energy of other particles pulls the time away and makes the cluster wider.
    added = common.exponential(0.6, n + noise, random) + torch.where(particle < 0, 0.3, 0.0)
    measured = columns["own"] + added
    fraction = columns["own"] / measured
    late = common.uniform(-1, 1, n + noise, random)
    columns["time"] = fraction * columns["time"] + (1 - fraction) * torch.where(particle < 0, columns["time"], late)
    columns["width"] = columns["width"] * (1 + 1.5 * (1 - fraction))
    phi = torch.remainder(columns["phi"] + math.pi, 2 * math.pi) - math.pi
    x = torch.stack([measured, *(columns[name] for name in FEATURES[1:])], dim=1)
    edge_index, edge_attr = candidate_edges(x, phi)
    ends = particle[edge_index]
    return {
        "inputs": (x, edge_index, edge_attr),
        "particle": particle,
        "fraction": fraction,
        "energy": energy,
        "same": (ends[0] == ends[1]) & (ends[0] >= 0),
    }


def candidate_edges(x, phi):
    """Pairs of near clusters, from that of more energy to that of less: edge_index [2, E], edge_attr [E, 4]."""
    d_eta = x[:, 1].unsqueeze(0) - x[:, 1].unsqueeze(1)  # [source, target]
    d_phi = torch.remainder(phi.unsqueeze(0) - phi.unsqueeze(1) + math.pi, 2 * math.pi) - math.pi
    near = (d_eta**2 + d_phi**2 < MAX_DISTANCE**2) & (x[:, 0].unsqueeze(1) > x[:, 0].unsqueeze(0))
    source, target = near.nonzero(as_tuple=True)
    difference = x[target] - x[source]
    edge_attr = torch.stack([d_eta[source, target], d_phi[source, target], difference[:, 2], difference[:, 3]], dim=1)
    return torch.stack([source, target]), edge_attr


class ClusterMerger(nn.Module):
    """forward(x [n, 6], edge_index [2, E] int64, edge_attr [E, 4]) -> merge [E], fraction [n], both in [0, 1].

    phi itself is not seen: the answer does not change when an event is turned about the beam line.
    """

    def __init__(self, hidden: int = 24, iterations: int = 2):
        super().__init__()
        self.register_buffer("scales", torch.tensor(SCALES))
        self.register_buffer("edge_scales", torch.tensor(EDGE_SCALES))
        self.nodes = nn.Sequential(nn.Linear(len(FEATURES), hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.edges = nn.Sequential(nn.Linear(len(EDGE_FEATURES), hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.edge_updates = nn.ModuleList([self._update(3, hidden) for _ in range(iterations)])
        self.node_updates = nn.ModuleList([self._update(3, hidden) for _ in range(iterations)])
        self.merge = nn.Sequential(nn.Linear(3 * hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.fraction = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    @staticmethod
    def _update(states: int, hidden: int):
        return nn.Sequential(nn.Linear(states * hidden, hidden), nn.LayerNorm(hidden), nn.ReLU(), nn.Linear(hidden, hidden))

    def logits(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> tuple[Tensor, Tensor]:
        source, target = edge_index[0], edge_index[1]
        h = self.nodes(torch.cat([torch.log(x[:, :1].clamp(min=0.01)), x[:, 1:] / self.scales[1:]], dim=1))
        e = self.edges(edge_attr / self.edge_scales)
        for edge_update, node_update in zip(self.edge_updates, self.node_updates):
            e = e + edge_update(torch.cat([h[source], h[target], e], dim=1))
            gathered = torch.zeros_like(h).index_add(0, target, e)
            scattered = torch.zeros_like(h).index_add(0, source, e)
            h = h + node_update(torch.cat([h, gathered, scattered], dim=1))
        return self.merge(torch.cat([h[source], h[target], e], dim=1)).squeeze(1), self.fraction(h).squeeze(1)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> tuple[Tensor, Tensor]:
        merge, fraction = self.logits(x, edge_index, edge_attr)
        return torch.sigmoid(merge), torch.sigmoid(fraction)


def model():
    return common.load(ClusterMerger(), NAME)


def binding():
    return common.binding_of(
        [
            common.block("x", FEATURES),
            common.block("edge_index", ("source", "target"), collection=1, dtype="int64", shape="columns"),
            common.block("edge_attr", EDGE_FEATURES, collection=1),
        ],
        [common.block("merge", ["merge"]), common.block("fraction", ["fraction"], collection=1)],
    )


def train(seed=1, steps=STEPS):
    torch.manual_seed(seed)
    network = ClusterMerger()

    def loss(step):
        data = event(1_000_000 * seed + step)
        merge, fraction = network.logits(*data["inputs"])
        return cross_entropy(merge, data["same"].float()) + cross_entropy(fraction, data["fraction"])

    return common.fit(network, loss, steps, rate=4e-3)


def merged(edge_index, is_merged, nodes):
    """The group of each node [n], by the edges that are merged: the smallest row in it."""
    group = torch.arange(nodes)
    source, target = edge_index[:, is_merged]
    while True:
        least = torch.minimum(group[source], group[target])
        new = group.scatter_reduce(0, source, least, "amin").scatter_reduce(0, target, least, "amin")
        if torch.equal(new, group):
            return group
        group = new


def response(data, group, weight):
    """Energy of the best group of each particle over the particle's: that with the most of it. [particles]"""
    particles, nodes = len(data["energy"]), len(group)
    energy, real = data["inputs"][0][:, 0], data["particle"] >= 0
    own = torch.zeros(particles * nodes)
    own.index_add_(0, data["particle"][real] * nodes + group[real], (energy * data["fraction"])[real])
    best = own.view(particles, nodes).argmax(dim=1)
    return torch.zeros(nodes).index_add(0, group, energy * weight)[best] / data["energy"]


def spread(ratio):
    """Resolution: half of the central 68 % over the median."""
    low, middle, high = torch.quantile(ratio, torch.tensor([0.16, 0.5, 0.84]))
    return float((high - low) / 2 / middle)


@torch.no_grad()
def evaluate(network, seed=2, events=50):
    """Figures of edges (cut at 0.5) and of merged energies: as clustered, as merged, and with true edges."""
    scores, truths, fractions, errors = [], [], [], []
    ratios = {"clustered": [], "merged": [], "truth": []}
    for i in range(events):
        data = event(1_000_000_000 + 1_000_000 * seed + i)
        x, edge_index, _ = data["inputs"]
        merge, fraction = network(*data["inputs"])
        scores.append(merge)
        truths.append(data["same"])
        fractions.append((fraction - data["fraction"]) * x[:, 0])
        errors.append((1 - data["fraction"]) * x[:, 0])
        ones = torch.ones(len(x))
        ratios["clustered"].append(response(data, torch.arange(len(x)), ones))
        ratios["merged"].append(response(data, merged(edge_index, merge > 0.5, len(x)), fraction))
        ratios["truth"].append(response(data, merged(edge_index, data["same"], len(x)), data["fraction"]))
    scores, truths = torch.cat(scores), torch.cat(truths)
    right = float(((scores > 0.5) & truths).sum())
    return {
        "edges": len(truths),
        "true_edges": float(truths.float().mean()),
        "edge_auc": common.auc(scores, truths),
        "edge_efficiency": right / float(truths.sum()),
        "edge_purity": right / float((scores > 0.5).sum()),
        "noise_rms_gev": float(torch.cat(errors).square().mean().sqrt()),
        "noise_rms_left_gev": float(torch.cat(fractions).square().mean().sqrt()),
        **{f"energy_median_{name}": float(torch.cat(ratio).median()) for name, ratio in ratios.items()},
        **{f"energy_spread_{name}": spread(torch.cat(ratio)) for name, ratio in ratios.items()},
    }


def examples(seed=3):
    """Events of several sizes."""
    return [event(2_000_000_000 + seed + i, 3 * size, 3 * size)["inputs"] for i, size in enumerate((1, 10, 60))]
