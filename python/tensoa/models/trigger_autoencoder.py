# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Finds unusual events in 57 columns of trigger objects: pt [GeV], eta, phi of missing momentum, 4 electrons, 4 muons, 10 jets.

Objects of one kind are sorted by pt, those that are not there are 0 (the columns of hzz_l1like_57.csv.gz). Usual events
are made of jets and of single leptons with missing momentum; unusual ones, for evaluation only, of a heavy particle
that decays to four leptons, or of many soft jets.
"""

import csv
import gzip
import math

import torch
from torch import Tensor, nn

from tensoa.errors import InputError
from tensoa.models import common

NAME = "trigger_autoencoder"
STEPS = 2000
OBJECTS = (
    "met",
    *(f"{kind}{i}" for kind, count in (("ele", 4), ("mu", 4), ("jet", 10)) for i in range(count)),
)
COLUMNS = tuple(f"{thing}_{what}" for thing in OBJECTS for what in ("pt", "eta", "phi"))
KINDS = {"ele": slice(1, 5), "mu": slice(5, 9), "jet": slice(9, 19)}


def _with(events, kind, present, momenta, eta_width, random):
    """Adds objects of a kind, [n, slots] each, the hardest first."""
    momenta = torch.where(present, momenta, 0.0).sort(dim=1, descending=True).values
    there = (momenta > 0).float()
    eta = (eta_width * common.normal(momenta.shape, random)).clamp(-4.5, 4.5)
    phi = common.uniform(-math.pi, math.pi, momenta.shape, random)
    events[:, KINDS[kind]] = torch.stack([momenta, eta * there, phi * there], dim=2)


def usual(n, seed):
    """n usual events [n, 57]."""
    random = common.generator(seed, 57)
    events = torch.zeros(n, 19, 3)
    for kind in ("ele", "mu"):
        # Mostly none, one from a W; further ones are soft.
        count = torch.poisson(torch.full((n, 1), 0.4), generator=random)
        momenta = 5 + common.exponential(torch.tensor([25.0, 6.0, 4.0, 3.0]), (n, 4), random)
        _with(events, kind, torch.arange(4) < count, momenta, 1.2, random)
    scale = torch.exp(3.3 + 0.5 * common.normal((n, 1), random))
    count = torch.poisson(torch.full((n, 1), 2.2), generator=random)
    momenta = 15 + common.exponential(1.0, (n, 10), random) * scale
    _with(events, "jet", torch.arange(10) < count, momenta, 1.8, random)
    _balance(events, random)
    return events.flatten(1)


def unusual(n, seed):
    """n events with four leptons, then n with many jets [2 n, 57]."""
    random = common.generator(seed, 75)
    leptons, jets = usual(n, seed + 1).view(n, 19, 3), usual(n, seed + 2).view(n, 19, 3)
    for kind in ("ele", "mu"):
        momenta = 40 + common.exponential(60.0, (n, 4), random)
        _with(leptons, kind, torch.arange(4) < torch.full((n, 1), 2), momenta, 1.0, random)
    _with(jets, "jet", torch.ones(n, 10, dtype=torch.bool), 30 + common.exponential(40.0, (n, 10), random), 1.5, random)
    events = torch.cat([leptons, jets])
    _balance(events, random)
    return events.flatten(1)


def _balance(events, random):
    """Missing momentum is minus the sum of all, smeared."""
    pt, phi = events[:, 1:, 0], events[:, 1:, 2]
    resolution = 0.6 * pt.sum(dim=1).sqrt() + 4
    x, y = (
        -(0.7 * (pt * direction).sum(dim=1)) + resolution * common.normal(len(events), random)
        for direction in (phi.cos(), phi.sin())
    )
    events[:, 0] = torch.stack([torch.hypot(x, y), torch.zeros_like(x), torch.atan2(y, x)], dim=1)


def read(path):
    """Events of a file with these columns [n, 57] float32. Raises InputError."""
    try:
        with gzip.open(path, "rt", newline="") as file:
            header, *rows = csv.reader(file)
        if tuple(header) != COLUMNS:
            raise InputError(f"{path}: got the columns {', '.join(header)[:80]}…, expected {', '.join(COLUMNS)[:80]}…")
        return torch.tensor([[float(word) for word in row] for row in rows])
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{path}: got {error}, expected packed CSV with numbers") from error


class Autoencoder(nn.Module):
    """forward(x [n, 57]) -> reconstruction [n, 57] in GeV and rad, score [n].

    Inside, momenta are log(1 + pt / 10 GeV), and all 57 have mean 0 and width 1. The score is the mean squared difference
    there.
    """

    def __init__(self, bottleneck: int = 12, hidden: int = 64):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(57, hidden), nn.ReLU(), nn.Linear(hidden, bottleneck))
        self.decoder = nn.Sequential(nn.Linear(bottleneck, hidden), nn.ReLU(), nn.Linear(hidden, 57))
        self.register_buffer("mean", torch.zeros(57))
        self.register_buffer("width", torch.ones(57))

    def inside(self, x: Tensor) -> Tensor:
        objects = x.reshape(-1, 19, 3)
        momenta = torch.log1p(objects[:, :, :1].clamp(min=0) * 0.1)
        return (torch.cat([momenta, objects[:, :, 1:]], dim=2).reshape(-1, 57) - self.mean) / self.width

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        inside = self.inside(x)
        found = self.decoder(self.encoder(inside))
        score = (found - inside).square().mean(dim=1)
        objects = (found * self.width + self.mean).reshape(-1, 19, 3)
        momenta = 10 * torch.expm1(objects[:, :, :1].clamp(min=0, max=8))
        return torch.cat([momenta, objects[:, :, 1:]], dim=2).reshape(-1, 57), score


def model():
    return common.load(Autoencoder(), NAME)


def binding():
    return common.binding_of(
        [common.block("objects", COLUMNS)],
        [common.block("reconstruction", COLUMNS), common.block("score", ["score"], collection=1)],
    )


def train(seed=1, steps=STEPS):
    torch.manual_seed(seed)
    network = Autoencoder()
    inside = network.inside(usual(20000, seed))
    network.mean.copy_(inside.mean(dim=0))
    network.width.copy_(inside.std(dim=0).clamp(min=0.05))
    return common.fit(network, lambda step: network(usual(512, 1000 * seed + step))[1].mean(), steps, rate=3e-3)


@torch.no_grad()
def evaluate(network, seed=2, events=5000):
    """Scores of events that it has not seen: usual ones against each unusual kind."""
    plain = network(usual(events, 1_000_000_000 + seed))[1]
    leptons, jets = network(unusual(events, 1_000_000_000 + seed))[1].split(events)
    truth = torch.cat([torch.zeros(events), torch.ones(events)])
    cut = plain.quantile(0.99)
    return {
        "events": events,
        "score_usual": float(plain.mean()),
        "auc_four_leptons": common.auc(torch.cat([plain, leptons]), truth),
        "auc_many_jets": common.auc(torch.cat([plain, jets]), truth),
        "four_leptons_at_1_percent": float((leptons > cut).float().mean()),
        "many_jets_at_1_percent": float((jets > cut).float().mean()),
    }


def examples(seed=3):
    return [(usual(1000, 2_000_000_000 + seed),)]
