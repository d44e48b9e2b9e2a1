# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""LorentzNet's top tagger, of all pairs of 20 particles of a jet, as its batches have them."""

import torch
from models import LorentzNet

PARTICLES = 20


class OfJets(torch.nn.Module):
    """Edges and masks of full jets, which the authors' loader makes."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model
        pairs = [(i, j) for i in range(PARTICLES) for j in range(PARTICLES) if i != j]
        self.register_buffer("pairs", torch.tensor(pairs).t())

    def forward(self, scalars: torch.Tensor, momenta: torch.Tensor) -> torch.Tensor:
        jets = scalars.shape[0]
        starts = torch.arange(jets)[:, None] * PARTICLES
        edges = [(starts + one).flatten() for one in self.pairs]
        mask = torch.ones(jets * PARTICLES, 1)
        return self.model(scalars.flatten(0, 1), momenta.flatten(0, 1), edges, mask, None, PARTICLES)


def top() -> torch.nn.Module:
    model = LorentzNet(n_scalar=2, n_hidden=72, n_class=2, n_layers=6, c_weight=0.005)
    states = torch.load("best-val-model.pt", map_location="cpu", weights_only=True)
    model.load_state_dict({name.removeprefix("module."): tensor for name, tensor in states.items()})
    return OfJets(model).eval()
