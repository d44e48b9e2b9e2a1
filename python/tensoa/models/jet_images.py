# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Tells jets with two prongs from jets with one, by their images in tracker and calorimeters.

An image is SIZE x SIZE cells of 0.1 x 0.1 in (eta, phi) about the jet axis, transverse momentum in GeV, in three layers:
charged particles (tracker), photons (electromagnetic calorimeter), neutral hadrons. Two prongs are those of a boson of
80 GeV, of which one takes the part z of the momentum: they are m / (pt sqrt(z (1 - z))) apart. A jet of one prong
splits as well, but mostly softly (dz / z) and at small angles.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from tensoa.models import common

NAME = "jet_images"
STEPS = 500
SIZE = 12
CELL = 0.1
MASS = 80.0  # GeV
CHANNELS = ("charged", "photons", "neutrals")
PARTS = (0.6, 0.3, 0.1)  # of the momentum, by channel


def images(n, seed, particles=40):
    """n jets: images [n, 3, SIZE, SIZE] in GeV, whether they have two prongs [n]."""
    random = common.generator(seed, 12)
    has_two = torch.rand(n, generator=random) < 0.5
    pt = common.uniform(250, 500, (n, 1), random)
    z = common.uniform(0.1, 0.5, (n, 1), random)
    angle = MASS / (pt * (z * (1 - z)).sqrt())
    soft = torch.exp(common.uniform(math.log(0.02), math.log(0.5), (n, 1), random))
    narrow = torch.exp(common.uniform(math.log(0.05), math.log(0.8), (n, 1), random))
    z, angle = (torch.where(has_two.unsqueeze(1), a, b) for a, b in ((z, soft), (angle, narrow)))
    turn = common.uniform(-math.pi, math.pi, (n, 1), random)
    # Every particle has a share of the momentum, and goes with one of the prongs.
    share = common.exponential(1.0, (n, particles), random) ** 2
    share = share / share.sum(dim=1, keepdim=True)
    in_second = torch.rand((n, particles), generator=random) < z
    distance = torch.where(in_second, (1 - z) * angle, -z * angle)
    spread = 0.05 / (share * particles + 0.15).sqrt()  # soft particles lie further away from their prong
    eta = distance * turn.cos() + spread * common.normal((n, particles), random)
    phi = distance * turn.sin() + spread * common.normal((n, particles), random)
    channel = torch.multinomial(torch.tensor(PARTS), n * particles, replacement=True, generator=random).view(n, particles)
    row, column = ((value / CELL + SIZE / 2).floor().long() for value in (eta, phi))
    inside = (row >= 0) & (row < SIZE) & (column >= 0) & (column < SIZE)
    cell = ((torch.arange(n).unsqueeze(1) * 3 + channel) * SIZE + row) * SIZE + column
    image = torch.zeros(n * 3 * SIZE * SIZE).index_add(0, cell[inside], (pt * share)[inside])
    noise = common.exponential(0.3, (n, 3, SIZE, SIZE), random)  # pile-up
    return image.view(n, 3, SIZE, SIZE) + noise, has_two


class Residual(nn.Module):
    """x + what two convolutions find in it."""

    def __init__(self, channels: int):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.body(x))


class JetTagger(nn.Module):
    """forward(images [n, 3, 12, 12] in GeV) -> score [n] in [0, 1]: two prongs."""

    def __init__(self, channels: int = 12):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.blocks = nn.Sequential(Residual(channels), nn.AvgPool2d(2), Residual(channels))
        self.head = nn.Linear(channels, 1)

    def logits(self, images: Tensor) -> Tensor:
        features = self.blocks(torch.relu(self.stem(torch.log1p(images))))
        return self.head(features.mean(dim=[2, 3])).squeeze(1)

    def forward(self, images: Tensor) -> Tensor:
        return torch.sigmoid(self.logits(images))


def model():
    return common.load(JetTagger(), NAME)


def binding():
    return common.binding_of(
        [common.block("images", CHANNELS, kind="matrix", element=(SIZE, SIZE))], [common.block("score", ["score"])]
    )


def train(seed=1, steps=STEPS):
    torch.manual_seed(seed)
    network = JetTagger()

    def loss(step):
        x, truth = images(256, 1000 * seed + step)
        return cross_entropy(network.logits(x), truth.float())

    return common.fit(network, loss, steps, rate=5e-3)


@torch.no_grad()
def evaluate(network, seed=2, jets=5000):
    """Figures on jets that it has not seen."""
    x, truth = images(jets, 1_000_000_000 + seed)
    scores = network(x)
    cut = scores[truth].quantile(0.5)
    return {
        "jets": jets,
        "auc": common.auc(scores, truth),
        "accuracy": float(((scores > 0.5) == truth).float().mean()),
        "one_prong_at_50_percent": float((scores[~truth] > cut).float().mean()),
    }


def examples(seed=3):
    return [(images(300, 2_000_000_000 + seed)[0],)]
