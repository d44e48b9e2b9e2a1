# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Kinds of models that people have and width_models.py lacks: convolutions, neighbours inside a row, attention
over edges, other dtypes, and what cannot be exported. bench/width.py makes the page docs/width.md of all.
"""

import torch
from torch import nn
from torch.nn import functional as f

from quantised_models import Layers, by_constants, by_row
from width_models import Kind, block, kinds, mlp


def vector(width, name="x"):
    """A column of vectors."""
    return block(name, 1, kind="vector", element=(width,))


class Calorimeter(nn.Module):
    """An autoencoder of 8 x 8 cells."""

    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(8, 4, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2)
        )
        self.up = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 64))

    def forward(self, x):
        return self.up(self.down(x.view(-1, 1, 8, 8)).flatten(1))


class Image(nn.Module):
    """A jet image of 12 x 12 pixels."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(64, 3),
        )  # fmt: skip

    def forward(self, x):
        return self.layers(x.view(-1, 1, 12, 12))


class Waveform(nn.Module):
    """Convolutions of width 3 over 32 samples, with pooling."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(16, 16, 3, stride=2), nn.ReLU(),
            nn.Flatten(), nn.Linear(112, 2),
        )  # fmt: skip

    def forward(self, x):
        return self.layers(x[:, None])


class DeepJet(nn.Module):
    """1-wide convolutions over 10 elements, then an LSTM."""

    def __init__(self):
        super().__init__()
        self.convs = nn.Sequential(nn.Conv1d(6, 32, 1), nn.ReLU(), nn.Conv1d(32, 8, 1), nn.ReLU())
        self.cell, self.out = nn.LSTM(8, 16, batch_first=True), mlp(16, 32, 3)

    def forward(self, x):
        h = self.convs(x.view(-1, 10, 6).transpose(1, 2)).transpose(1, 2)
        return self.out(self.cell(h)[0][:, -1])


class Encoder(nn.Module):
    """nn.TransformerEncoderLayer over 10 elements; the first number of an element says whether it is one."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(6, 32)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.out = nn.Linear(32, 3)

    def forward(self, x):
        x = x.view(-1, 10, 6)
        is_none = x[..., 0] < -1
        is_none = is_none & (torch.arange(10) > 0)  # one is always there
        h = self.layer(self.embed(x), src_key_padding_mask=is_none)
        return self.out(h.masked_fill(is_none[..., None], 0.0).sum(1))


def taken(x, places):
    """[n, k, c] and [n, k, m] -> [n, k, m, c]: the elements that `places` names."""
    n, k, m = places.shape
    return torch.gather(x, 1, places.reshape(n, k * m, 1).expand(-1, -1, x.shape[2])).view(n, k, m, x.shape[2])


class EdgeConv(nn.Module):
    def __init__(self, width, out, neighbours):
        super().__init__()
        self.neighbours, self.layers = neighbours, mlp(2 * width, out, out)

    def forward(self, points, x):
        places = torch.cdist(points, points).topk(self.neighbours + 1, largest=False).indices[:, :, 1:]
        other = taken(x, places)
        own = x[:, :, None].expand(-1, -1, self.neighbours, -1)
        return torch.relu(self.layers(torch.cat([own, other - own], -1))).amax(2)


class Jet(nn.Module):
    """Neighbours inside a jet of 12 particles, one EdgeConv."""

    def __init__(self):
        super().__init__()
        self.edges, self.out = EdgeConv(5, 16, 3), nn.Linear(16, 2)

    def forward(self, x):
        x = x.view(-1, 12, 5)
        return self.out(self.edges(x[..., :2], x).mean(1))


class ParticleNet(nn.Module):
    """As published: distances by matrix products, EdgeConv by 1 x 1 convolutions with batch normalisation, a shortcut."""

    def __init__(self, particles=16, neighbours=4, widths=(16, 32)):
        super().__init__()
        self.particles, self.neighbours = particles, neighbours
        self.blocks, self.shortcuts, width = nn.ModuleList(), nn.ModuleList(), 6
        for out in widths:
            layers = []
            for i in (2 * width, out, out):
                layers += [nn.Conv2d(i, out, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU()]
            self.blocks.append(nn.Sequential(*layers))
            self.shortcuts.append(nn.Sequential(nn.Conv1d(width, out, 1, bias=False), nn.BatchNorm1d(out)))
            width = out
        self.out = mlp(width, 32, 2)

    def forward(self, x):
        x = x.view(-1, self.particles, 6).transpose(1, 2)
        points = x[:, :2]
        for layers, shortcut in zip(self.blocks, self.shortcuts):
            square = (points**2).sum(1, keepdim=True)
            distance = square.transpose(1, 2) + square - 2 * points.transpose(1, 2) @ points
            places = distance.topk(self.neighbours + 1, largest=False)[1][:, :, 1:]
            other = taken(x.transpose(1, 2), places).permute(0, 3, 1, 2)
            own = x[..., None].expand(-1, -1, -1, self.neighbours)
            h = layers(torch.cat([own, other - own], 1)).mean(3)
            x = points = torch.relu(h + shortcut(x))
        return self.out(x.mean(2))


class GravNet(nn.Module):
    """Neighbours in a learnt space, weighted by distance, mean and maximum."""

    def __init__(self):
        super().__init__()
        self.space, self.features, self.out = nn.Linear(5, 3), nn.Linear(5, 8), nn.Linear(21, 16)
        self.last = nn.Linear(16, 2)

    def forward(self, x):
        x = x.view(-1, 12, 5)
        s, h = self.space(x), self.features(x)
        distance, places = torch.cdist(s, s).topk(4, largest=False)
        near = taken(h, places) * torch.exp(-10 * distance**2)[..., None]
        h = torch.tanh(self.out(torch.cat([x, near.mean(2), near.amax(2)], -1)))
        return self.last(h.mean(1))


class GarNet(nn.Module):
    """Elements send to 4 aggregators by distance, and read back."""

    def __init__(self):
        super().__init__()
        self.features, self.distance, self.out = nn.Linear(5, 8), nn.Linear(5, 4), nn.Linear(32, 16)
        self.last = nn.Linear(16, 2)

    def forward(self, x):
        x = x.view(-1, 16, 5)
        weights = torch.exp(-(self.distance(x) ** 2))
        gathered = weights.transpose(1, 2) @ self.features(x) / 16
        spread = (weights[..., None] * gathered[:, None]).flatten(2)
        return self.last(torch.relu(self.out(spread)).mean(1))


class GraphAttention(nn.Module):
    """Softmax over the edges of each node, its maximum by index."""

    def __init__(self):
        super().__init__()
        self.a, self.score, self.b = nn.Linear(4, 16), nn.Linear(32, 1), nn.Linear(16, 2)

    def forward(self, x, edges):
        h = self.a(x)
        source, target = edges[0], edges[1]
        score = f.leaky_relu(self.score(torch.cat([h[source], h[target]], 1)))[:, 0]
        most = score.new_full((x.shape[0],), -1e30).scatter_reduce(0, target, score, "amax")
        weight = torch.exp(score - most[target])
        total = weight.new_zeros(x.shape[0]).index_add(0, target, weight)
        mixed = torch.zeros_like(h).index_add(0, target, h[source] * (weight / total[target])[:, None])
        return self.b(torch.relu(mixed))


class EdgeMax(nn.Module):
    """Messages of edges, the largest of each node."""

    def __init__(self):
        super().__init__()
        self.edge, self.node = mlp(8, 16, 16), mlp(20, 16, 2)

    def forward(self, x, edges):
        messages = torch.relu(self.edge(torch.cat([x[edges[0]], x[edges[1]]], 1)))
        index = edges[1][:, None].expand(-1, 16)
        most = messages.new_zeros(x.shape[0], 16).scatter_reduce(0, index, messages, "amax")
        return self.node(torch.cat([x, most], 1))


class Shifted(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.layers = nn.Embedding(10, 4), mlp(8, 32, 2)

    def forward(self, x, charge):
        return self.layers(torch.cat([x, self.table((charge[:, 0] + 1).clamp(0, 9))], 1))


class Noise(nn.Module):
    """A generator: noise and condition are collections of one length."""

    def __init__(self):
        super().__init__()
        self.layers = mlp(6, 32, 3, act=nn.Tanh)

    def forward(self, noise, condition):
        return self.layers(torch.cat([noise, condition], 1))


class Spline(nn.Module):
    """A monotonic piecewise linear function of each number, between learnt knots."""

    def __init__(self, bins=8):
        super().__init__()
        self.bins, self.heights = bins, mlp(2, 32, 2 * bins)
        self.edges = torch.linspace(-3, 3, bins + 1)

    def forward(self, x):
        a, b = x[:, :2], x[:, 2:]
        heights = torch.softmax(self.heights(a).view(-1, 2, self.bins), -1)
        knots = f.pad(heights.cumsum(-1), (1, 0))
        inside = b.clamp(-2.999, 2.999)
        edges = self.edges.to(x.dtype)
        at = (torch.searchsorted(edges, inside.contiguous()) - 1).clamp(0, self.bins - 1)
        low = torch.gather(knots, 2, at[..., None])[..., 0]
        step = torch.gather(heights, 2, at[..., None])[..., 0]
        return torch.cat([a, low + step * (inside - edges[at]) / (6 / self.bins)], 1)


class Chosen(nn.Module):
    """Softmax, and the classes of its largest and least number."""

    def __init__(self):
        super().__init__()
        self.layers = mlp(6, 32, 4)

    def forward(self, x):
        p = torch.softmax(self.layers(x), 1)
        return p, torch.stack([p.argmax(1), p.argmin(1)], 1)


class Sorted(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = mlp(10, 32, 2)

    def forward(self, x):
        return self.layers(x.sort(1, descending=True).values)


class Condensation(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ELU(), nn.Linear(32, 32), nn.ELU())
        self.beta, self.place, self.energy = nn.Linear(32, 1), nn.Linear(32, 2), nn.Linear(32, 1)

    def forward(self, x):
        h = self.shared(x)
        return torch.cat([torch.sigmoid(self.beta(h)), self.place(h)], 1), torch.cat([self.energy(h), h[:, :1]], 1)


class Heads(nn.Module):
    """A dictionary of three results."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = mlp(4, 16, 2), mlp(4, 16, 2), mlp(4, 16, 3)

    def forward(self, x):
        return {"a": self.a(x), "b": self.b(x), "c": self.c(x)}


class Kinematics(nn.Module):
    """The mass of two particles in float64, from float32."""

    def forward(self, x):
        pt, eta, phi = (x[:, i : i + 2].double() for i in (0, 2, 4))
        m2 = 2 * pt.prod(1) * (torch.cosh(eta[:, 0] - eta[:, 1]) - torch.cos(phi[:, 0] - phi[:, 1]))
        return torch.stack([m2.abs().sqrt(), pt.abs().sum(1)], 1).float()


class Inside(nn.Module):
    """A network whose numbers are of a short dtype."""

    def __init__(self, dtype):
        super().__init__()
        self.dtype, self.layers = dtype, mlp(6, 64, 64, 2).to(dtype)

    def forward(self, x):
        return self.layers(x.to(self.dtype)).float()


SCALES = [by_constants(0.03, 5), by_constants(0.02, -128), by_constants(0.02, -128)]


class Spectrum(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = mlp(9, 32, 2)

    def forward(self, x):
        return self.layers(torch.fft.rfft(x).abs())


class AllHits(nn.Module):
    """Attention among all rows."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(4, 48), nn.Linear(16, 2)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, 1)
        return self.out(torch.softmax(q @ k.t() / 4, 1) @ v)


class AllNeighbours(nn.Module):
    """The nearest of all rows."""

    def __init__(self):
        super().__init__()
        self.layers = mlp(8, 16, 2)

    def forward(self, x):
        places = torch.cdist(x[:, :2], x[:, :2]).topk(4, largest=False).indices
        own = x[:, None].expand(-1, 4, -1)
        return self.layers(torch.cat([own, x[places] - own], -1)).amax(1)


class If(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x):
        return self.a(x) if x.sum() > 0 else self.b(x)


class Where(nn.Module):
    """A choice for every row."""

    def __init__(self):
        super().__init__()
        self.a, self.b = mlp(4, 16, 2), mlp(4, 16, 2)

    def forward(self, x):
        return torch.where(x[:, :1] > 0, self.a(x), self.b(x))


class While(nn.Module):
    def forward(self, x):
        while x.abs().max() > 1:
            x = x / 2
        return x


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen += 1
        return self.layer(x)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = mlp(6, 32, 3)

    def forward(self, x):
        return self.layers(torch.cat([x, torch.randn(x.shape[0], 4)], 1))


def dynamic_int8():
    return torch.ao.quantization.quantize_dynamic(mlp(6, 64, 64, 2), {nn.Linear}, torch.qint8)


def _edges(module):
    return Kind(module, [block("x", 4), block("edges", 2, "int64", 1, "columns")], [block("y", 2)])


#: A few of all_kinds(), of the programs of both targets.
SOME = (
    "MLP",
    "flow",
    "DeepSets, 30 padded",
    "attention, pair bias",
    "graph network",
    "Conv1d, 3 wide, pooling",
    "GravNet",
    "sort",
)


def all_kinds():
    """{name: Kind}: those of width_models.kinds() and these; weights are the same at every call."""
    found = kinds()
    torch.manual_seed(8)
    y = [block("y", 2)]
    return {
        **found,
        "MLP, 256 wide": Kind(mlp(16, 256, 256, 2), [block("x", 16)], [block("y", 2)]),
        "MLP, 512 wide": Kind(mlp(16, 512, 512, 2), [block("x", 16)], [block("y", 2)]),
        "Conv1d, 3 wide, pooling": Kind(Waveform(), [block("x", 32)], y),
        "Conv2d, jet image": Kind(Image(), [vector(144)], [block("y", 3)]),
        "calorimeter autoencoder": Kind(Calorimeter(), [vector(64)], [vector(64, "y")]),
        "DeepJet": Kind(DeepJet(), [vector(60)], [block("y", 3)]),
        "encoder layer, mask": Kind(Encoder(), [vector(60)], [block("y", 3)]),
        "neighbours in a jet": Kind(Jet(), [vector(60)], y),
        "ParticleNet": Kind(ParticleNet(), [vector(96)], y),
        "GravNet": Kind(GravNet(), [vector(60)], y),
        "GarNet": Kind(GarNet(), [vector(80)], y),
        "graph attention": _edges(GraphAttention()),
        "largest of the edges": _edges(EdgeMax()),
        "embedding, charge + 1": Kind(Shifted(), [block("x", 4), block("charge", 1, "int64")], y),
        "flow, two collections": Kind(Noise(), [block("noise", 4), block("condition", 2, collection=1)], [block("y", 3)]),
        "spline flow": Kind(Spline(), [block("x", 4)], [block("y", 4)]),
        "softmax and argmax": Kind(Chosen(), [block("x", 6)], [block("p", 4), block("k", 2, "int64")]),
        "sort": Kind(Sorted(), [block("x", 10)], y),
        "object condensation": Kind(Condensation(), [block("x", 6)], [block("a", 3), block("b", 2)]),
        "dictionary of 3": Kind(Heads(), [block("x", 4)], [block("a", 2), block("b", 2), block("c", 3)]),
        "kinematics, float64": Kind(Kinematics(), [block("x", 6)], y),
        "float16 inside": Kind(Inside(torch.float16), [block("x", 6)], y),
        "bfloat16 inside": Kind(Inside(torch.bfloat16), [block("x", 6)], y),
        "Fourier transform": Kind(Spectrum(), [block("x", 16)], y),
        "where, row by row": Kind(Where(), [block("x", 4)], y),
        "100 columns": Kind(mlp(100, 32, 2), [vector(100)], y),
        "attention of all rows": Kind(AllHits(), [block("x", 4)], y),
        "neighbours of all rows": Kind(AllNeighbours(), [block("x", 4)], y),
        "int8, constant scales": Kind(Layers((6, 64, 64, 2), SCALES), [block("x", 6)], y),
        "int8, a scale for each row": Kind(Layers((6, 64, 64, 2), [by_row] * 3), [block("x", 6)], y),
        "int8, packed weights": Kind(dynamic_int8(), [block("x", 6)], y),
        "if on the data": Kind(If(), [block("x", 4)], y),
        "while on the data": Kind(While(), [block("x", 2)], y),
        "a counter inside": Kind(Counting(), [block("x", 4)], y),
        "random numbers inside": Kind(Generator(), [block("x", 2)], [block("y", 3)]),
    }
