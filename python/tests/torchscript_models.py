# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models that people script and trace."""

from typing import Dict, List, NamedTuple, Optional, Tuple  # as older files write them

import torch
from torch import Tensor, nn

from exporting import bind, block


class LoopOverModules(nn.Module):
    """A set of particles a jet, a network for each layer of a ModuleList."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 8), nn.Linear(8, 8)])
        self.last = nn.Linear(8, 2)

    def forward(self, x):
        particles = x.view(-1, 3, 4)
        for layer in self.layers:
            particles = torch.relu(layer(particles))
        return self.last(particles.sum(1))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.cells = kind(4, 5, num_layers=2, batch_first=True)
        self.last = nn.Linear(5, 2)

    def forward(self, x):
        states, _ = self.cells(x.view(-1, 3, 4))
        return self.last(states[:, -1])


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.MultiheadAttention(4, 2, batch_first=True) for _ in range(2)])
        self.norm = nn.LayerNorm(4)
        self.last = nn.Linear(4, 2)

    def forward(self, x):
        particles = x.view(-1, 3, 4)
        for layer in self.layers:
            mixed, _ = layer(particles, particles, particles, need_weights=False)
            particles = self.norm(particles + mixed)
        return self.last(particles.mean(1))


class EdgeConvolution(nn.Module):
    """Nearest neighbours inside a jet, as ParticleNet has them, with 1-wide convolutions and batch normalisation."""

    def __init__(self):
        super().__init__()
        self.k = 2
        self.convolution = nn.Conv2d(8, 6, 1, bias=False)
        self.normalisation = nn.BatchNorm2d(6)
        self.last = nn.Linear(6, 2)

    def forward(self, x):
        points = x.view(-1, 3, 4).transpose(1, 2)
        distance = torch.cdist(points.transpose(1, 2), points.transpose(1, 2))
        index = distance.topk(self.k, dim=-1, largest=False)[1]
        jets, columns, count = points.size(0), points.size(1), points.size(2)
        index = index + torch.arange(jets, device=x.device).view(-1, 1, 1) * count
        near = points.transpose(1, 2).reshape(jets * count, columns)[index.view(-1)].view(jets, count, self.k, columns)
        pairs = torch.cat([points.unsqueeze(-1).expand(-1, -1, -1, self.k), near.permute(0, 3, 1, 2)], 1)
        return self.last(torch.relu(self.normalisation(self.convolution(pairs))).mean(-1).mean(-1))


class TrackNetwork(nn.Module):
    """As Exa.TrkX: iterations over edges, sums into hits, an argument that may be left out, assertions."""

    def __init__(self):
        super().__init__()
        self.iterations = 2
        self.edge = nn.Sequential(nn.Linear(24, 6), nn.LayerNorm(6), nn.ReLU(), nn.Linear(6, 1))
        self.node = nn.Sequential(nn.Linear(24, 12), nn.ReLU())

    def forward(self, x: Tensor, edge_index: Tensor, weight: Optional[Tensor] = None) -> Tensor:
        assert x.dim() == 2, f"got {x.dim()} dimensions"
        if edge_index.size(0) != 2:
            raise ValueError("expected two indices an edge")
        source, target = edge_index[0], edge_index[1]
        for i in range(self.iterations):
            score = torch.sigmoid(self.edge(torch.cat([x[source], x[target]], 1)))
            if weight is not None:
                score = score * weight
            total = torch.zeros(x.size(0), x.size(1), dtype=x.dtype, device=x.device)
            total = total.scatter_add(0, target.unsqueeze(1).expand(-1, x.size(1)), score * x[source])
            x = x + self.node(torch.cat([x, total], 1)) * float(i + 1)
        return self.edge(torch.cat([x[source], x[target]], 1)).squeeze(1)


class Results(NamedTuple):
    second: Tensor
    first: Tensor


class Collections(nn.Module):
    """Lists, tuples, dicts, texts and numbers, with a while loop over numbers."""

    def __init__(self):
        super().__init__()
        self.scales: List[float] = [1.0, 0.5]
        self.names: Dict[str, int] = {"a": 3, "b": 1}
        self.register_buffer("shift", torch.arange(4.0))

    def pair(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        return x[:, :2], x[:, 2:4]

    def forward(self, x: Tensor) -> Results:
        first, second = self.pair(x)
        parts: List[Tensor] = []
        for i, scale in enumerate(self.scales):
            parts.append(first * scale + second * i)
        count = 0
        while count < len(parts) + self.names["b"]:
            if count % 2 == 0 and count > 0:
                parts[0] = parts[0] - 1
            count += 1
        named = {"sum": parts[0] + parts[1]}
        named["shifted"] = torch.stack(parts).sum(0) + self.shift[:2]
        with torch.no_grad():
            total = named["sum"].clone()
        total[:, 0] += 1
        half = x.shape[1] // 2
        message = "{} of {}".format(half, len(named))
        if "shifted" in named and message == "6 of 2":
            total = total.clamp(min=-1.0) / math_of(half)
        return Results(named["shifted"], total)


def math_of(n: int) -> float:
    return float(max(n, 2)) ** 2 / 3


ROWS_AND_EDGES = [
    block("x", [f"x{i}" for i in range(12)]),
    block("edge_index", ["source", "target"], shape="columns", column_dtype="int64", dtype="int64", collection=1),
]
JET = bind([block("x", [f"x{i}" for i in range(12)])], [block("y", "uv")])
TRACK = bind(ROWS_AND_EDGES, [block("score", "s")])
PAIR = bind([block("x", [f"x{i}" for i in range(12)])], [block("second", "ab"), block("first", "cd")], "name")

MODELS = {
    "loop over modules": (LoopOverModules, JET),
    "LSTM": (lambda: Recurrent(nn.LSTM), JET),
    "GRU": (lambda: Recurrent(nn.GRU), JET),
    "transformer": (Transformer, JET),
    "edge convolution": (EdgeConvolution, JET),
    "track network": (TrackNetwork, TRACK),
    "collections": (Collections, PAIR),
}


def tensors(columns, rows):
    random = torch.Generator().manual_seed(rows)
    values = [torch.randn(rows, 12, generator=random)]
    return values + [torch.randint(0, rows, (2, 2 * rows), generator=random)] * (len(columns.inputs) - 1)


def written(module, columns, how, tmp_path):
    """A TorchScript file of the module, loaded again."""
    module = module.eval()
    script = torch.jit.trace(module, tensors(columns, 5), check_trace=False) if how == "traced" else torch.jit.script(module)
    script = torch.jit.freeze(script) if how == "frozen" else script
    script.save(tmp_path / "model.pt")
    return torch.jit.load(tmp_path / "model.pt")


def line_of(text, file=__file__):
    """The line of a file with this text alone."""
    with open(file) as lines:
        return next(i for i, line in enumerate(lines, 1) if line.strip() == text)
