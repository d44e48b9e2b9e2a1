# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Makes electromagnetic showers: energy and random numbers in, cells out.

The random numbers are a column of their own: the caller draws them, so that a shower can be made again, anywhere. The
truth is a parametrised shower: a Gamma distribution along LAYERS of two radiation lengths, core and tail across in
RINGS, fluctuations of depth, width and sampling.
"""

import math

import torch
from torch import Tensor, nn

from tensoa.models import common

NAME = "shower_generator"
STEPS = 5000
LAYERS, RINGS, LATENT = 12, 6, 16
RADII = (0.0, 0.3, 0.7, 1.2, 2.0, 3.5, 7.0)  # Moliere radii, the edges of the rings
LOW, HIGH = 5.0, 200.0  # GeV


def energies(n, random):
    return torch.exp(common.uniform(math.log(LOW), math.log(HIGH), n, random)).unsqueeze(1)


def showers(energy, random):
    """True showers of these energies [n, 1]: cells [n, LAYERS, RINGS] in GeV."""
    n = len(energy)
    log_energy = torch.log(energy / 0.01)  # over the critical energy, 10 MeV
    depth = (log_energy - 0.5 + 0.7 * common.normal((n, 1), random)).clamp(min=1)  # of the maximum, radiation lengths
    alpha, beta = depth * 0.5 + 1, 0.5
    edges = torch.linspace(0, 2.0 * LAYERS, 8 * LAYERS + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    profile = torch.exp((alpha - 1) * torch.log(beta * middle) - beta * middle - torch.lgamma(alpha)) * beta
    along = (profile * (edges[1] - edges[0])).view(n, LAYERS, 8).sum(dim=2)
    # Across: the part within a radius r is r^2 / (r^2 + w^2), core and tail; both widen with depth.
    layer = torch.arange(LAYERS) / LAYERS
    wider = torch.exp(0.15 * common.normal((n, 1, 1), random))
    core, tail = (0.25 + 0.4 * layer).view(1, -1, 1) * wider, (1.0 + 1.5 * layer).view(1, -1, 1) * wider
    radii = torch.tensor(RADII).square()
    within = 0.8 * radii / (radii + core**2) + 0.2 * radii / (radii + tail**2)
    mean = energy.unsqueeze(2) * along.unsqueeze(2) * within.diff(dim=2)
    # Sampling: 10 %/sqrt(E) in all, as much more where there is less.
    smeared = mean + 0.1 * mean.clamp(min=0).sqrt() * common.normal(mean.shape, random)
    return smeared.clamp(min=0)


class ShowerGenerator(nn.Module):
    """forward(energy [n, 1] in GeV, latent [n, 16] of standard normal numbers) -> cells [n, 12, 6] in GeV."""

    def __init__(self, hidden: int = 96):
        super().__init__()
        self.layers, self.rings = LAYERS, RINGS
        self.network = nn.Sequential(
            nn.Linear(LATENT + 2, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, LAYERS * RINGS),
        )

    def roots(self, energy: Tensor, latent: Tensor) -> Tensor:
        """Square roots of the cells' parts of the energy [n, 72], which may be below zero."""
        condition = torch.cat([0.5 * torch.log(energy) - 1.7, 1 / torch.sqrt(energy)], dim=1)
        return self.network(torch.cat([condition, latent], dim=1))

    def forward(self, energy: Tensor, latent: Tensor) -> Tensor:
        parts = torch.relu(self.roots(energy, latent)).square()
        return (parts * energy).view(-1, self.layers, self.rings)


def model():
    return common.load(ShowerGenerator(), NAME)


def binding():
    return common.binding_of(
        [common.block("energy", ["energy"]), common.block("latent", ["latent"], kind="vector", element=(LATENT,))],
        [common.block("cells", ["cells"], kind="matrix", element=(LAYERS, RINGS))],
    )


def features(parts):
    """The quantities of the energy distance: the roots of cells, layers, rings and of all, and mean depth and radius, of like
    weight.
    """
    parts = parts.view(-1, LAYERS, RINGS).clamp(min=0)
    cells, layers, rings = parts.flatten(1), parts.sum(dim=2), parts.sum(dim=1)
    total = parts.sum(dim=(1, 2)).unsqueeze(1)
    depth = (layers * torch.arange(LAYERS)).sum(dim=1, keepdim=True) / total.clamp(min=1e-3)
    radius = (rings * torch.arange(RINGS)).sum(dim=1, keepdim=True) / total.clamp(min=1e-3)
    roots = [(value + 1e-6).sqrt() for value in (cells, layers, rings)]
    return torch.cat([4 * roots[0], 3 * roots[1], 3 * roots[2], 40 * total, 2 * depth, 6 * radius], dim=1)


def energy_distance(a, b):
    """Zero where both samples are of one distribution (Szekely)."""

    def within(x):
        return torch.cdist(x, x).sum() / (len(x) * (len(x) - 1))

    return 2 * torch.cdist(a, b).mean() - within(a) - within(b)


def train(seed=1, steps=STEPS):
    torch.manual_seed(seed)
    network = ShowerGenerator()
    random = common.generator(seed, 16)

    def loss(step):
        # Showers of nearly one energy, so that the network learns what follows from it.
        energy = energies(1, random) * torch.exp(0.05 * common.normal((256, 1), random))
        true = showers(energy, random) / energy.unsqueeze(2)
        roots = network.roots(energy, common.normal((256, LATENT), random))
        made = nn.functional.leaky_relu(roots, 0.01).square() * (roots > 0) + 0.01 * roots.clamp(max=0)
        return energy_distance(features(made), features(true))

    return common.fit(network, loss, steps, rate=2e-3)


@torch.no_grad()
def figures(cells, energy):
    """Mean and width of response, of depth (layers) and of radius (rings) [6]."""
    parts = cells / energy.unsqueeze(2)
    total = parts.sum(dim=(1, 2))
    depth = (parts.sum(dim=2) * torch.arange(LAYERS)).sum(dim=1) / total
    radius = (parts.sum(dim=1) * torch.arange(RINGS)).sum(dim=1) / total
    return torch.stack([value for column in (total, depth, radius) for value in (column.mean(), column.std())])


@torch.no_grad()
def evaluate(network, seed=2, n=5000):
    """Figures of made and true showers at three energies."""
    random = common.generator(1_000_000_000 + seed)
    found = {}
    for giga in (10.0, 40.0, 150.0):
        energy = torch.full((n, 1), giga)
        made = figures(network(energy, common.normal((n, LATENT), random)), energy)
        true = figures(showers(energy, random), energy)
        names = ("response", "response_width", "depth", "depth_width", "radius", "radius_width")
        for name, a, b in zip(names, made.tolist(), true.tolist()):
            found[f"{name}_{giga:.0f}_gev"] = (round(a, 4), round(b, 4))
    return found


def examples(seed=3):
    random = common.generator(2_000_000_000 + seed)
    return [(energies(1000, random), common.normal((1000, LATENT), random))]
