# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Small models of the kinds that people have, with random weights: what the exporter makes of each is a table
(bench/width.py), and some of it a test.
"""

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as f

from tensoa import binding


def block(name, columns, dtype="float32", collection=0, shape="rows", kind="plain", element=()):
    size = math.prod(element)
    names = [{"name": f"{name}{i}", "plane": i * size} for i in range(columns)]
    return dict(
        name=name, collection=collection, shape=shape, kind=kind, element=list(element), columns=names,
        column_dtype=dtype, dtype=dtype,
    )  # fmt: skip


@dataclass
class Kind:
    """A model that takes tensors for `inputs` and gives them for `outputs` (blocks of a binding)."""

    module: nn.Module
    inputs: list
    outputs: list

    def binding(self):
        return binding.parse({"schema": 1, "match": "order", "inputs": self.inputs, "outputs": self.outputs})


def mlp(*widths, act=nn.ReLU, norm=None):
    layers = []
    for i, o in zip(widths, widths[1:]):
        layers += [nn.Linear(i, o), *([norm(o)] if norm else []), act()]
    return nn.Sequential(*layers[:-1])


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(12, 64), nn.Linear(64, 3)
        self.a, self.b, self.norm = nn.Linear(64, 64), nn.Linear(64, 64), nn.LayerNorm(64)

    def forward(self, x):
        h = f.gelu(self.first(x))
        h = h + f.silu(self.a(self.norm(h)))
        return self.last(h + f.gelu(self.b(h)))


class DeepSets(nn.Module):
    """Padded sets of 30: [n, 30, 5], the first number of an element says whether it is one."""

    def __init__(self, k=30, w=5):
        super().__init__()
        self.k, self.w = k, w
        self.phi, self.rho = mlp(w, 64, 64), mlp(64, 64, 3)

    def forward(self, x):
        x = x.view(-1, self.k, self.w)
        mask = (x[..., :1] > 0).float()
        return self.rho((self.phi(x) * mask).sum(1) / mask.sum(1).clamp(min=1))


class RaggedSets(nn.Module):
    def __init__(self):
        super().__init__()
        self.phi, self.rho = mlp(4, 64, 64), mlp(64, 64, 3)

    def forward(self, events, x, index):
        h = torch.relu(self.phi(x))
        return self.rho(h.new_zeros(events.shape[0], 64).index_add(0, index[:, 0], h))


class Attention(nn.Module):
    """Self-attention over 12 elements of 8 numbers with a bias from pairs, as Particle Transformer."""

    def __init__(self, k=12, w=8, heads=4, layers=1):
        super().__init__()
        self.k, self.w, self.heads = k, w, heads
        self.embed, self.pair = mlp(w, 32), mlp(4, 8, heads, act=nn.GELU)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "qkv": nn.Linear(32, 96), "out": nn.Linear(32, 32), "n1": nn.LayerNorm(32), "n2": nn.LayerNorm(32),
                    "mlp": mlp(32, 64, 32, act=nn.GELU),
                }
            )
            for _ in range(layers)
        )  # fmt: skip
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        x = x.view(-1, self.k, self.w)
        a, b = x[:, :, None, :4], x[:, None, :, :4]
        pairs = torch.cat([a - b, a * b], -1)[..., :4]
        bias = self.pair(pairs).permute(0, 3, 1, 2)
        h = self.embed(x)
        for block in self.blocks:
            q, k, v = (t.view(-1, self.k, self.heads, 8).transpose(1, 2) for t in block["qkv"](block["n1"](h)).chunk(3, -1))
            weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(8) + bias, -1)
            h = h + block["out"]((weights @ v).transpose(1, 2).reshape(-1, self.k, 32))
            h = h + block["mlp"](block["n2"](h))
        return self.head(h.mean(1))


class Hits(nn.Module):
    """A dense layer over 128 hits in a row."""

    def __init__(self, k=128, w=3):
        super().__init__()
        self.k, self.w, self.phi, self.out = k, w, mlp(w, 32, 32), nn.Linear(32, 2)

    def forward(self, x):
        return self.out(self.phi(x.view(-1, self.k, self.w)).amax(1))


class Recurrent(nn.Module):
    def __init__(self, cell=nn.LSTM):
        super().__init__()
        self.cell, self.out = cell(6, 20, batch_first=True), nn.Linear(20, 2)

    def forward(self, x):
        return self.out(self.cell(x.view(-1, x.shape[1] // 6, 6))[0][:, -1])


class Embedded(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.layers = nn.Embedding(10, 4), mlp(8, 32, 2)

    def forward(self, x, charge):
        return self.layers(torch.cat([x, self.table(charge[:, 0])], 1))


class Flow(nn.Module):
    """Affine coupling layers."""

    def __init__(self):
        super().__init__()
        self.nets = nn.ModuleList(mlp(4, 32, 4, act=nn.Tanh) for _ in range(4))

    def forward(self, x):
        a, b, c = x[:, :2], x[:, 2:4], x[:, 4:]
        for net in self.nets:
            scale, shift = net(torch.cat([a, c], 1)).chunk(2, 1)
            a, b = b * torch.exp(torch.tanh(scale)) + shift, a
        return torch.cat([a, b], 1)


class Interaction(nn.Module):
    """JEDI: interaction network over 8 particles of 4 numbers, pairs by products with constants."""

    def __init__(self, p=4, k=8):
        super().__init__()
        pairs = [(i, j) for i in range(k) for j in range(k) if i != j]
        receive, send = torch.zeros(k, len(pairs)), torch.zeros(k, len(pairs))
        for e, (i, j) in enumerate(pairs):
            receive[i, e] = send[j, e] = 1
        self.register_buffer("receive", receive)
        self.register_buffer("send", send)
        self.edge, self.node, self.out = mlp(2 * p, 16, 5), mlp(p + 5, 16, 6), mlp(6, 16, 3)
        self.p, self.k = p, k

    def forward(self, x):
        x = x.view(-1, self.p, self.k)
        pairs = torch.cat([x @ self.receive, x @ self.send], 1).transpose(1, 2)
        effects = torch.relu(self.edge(pairs)).transpose(1, 2) @ self.receive.t()
        nodes = torch.relu(self.node(torch.cat([x, effects], 1).transpose(1, 2)))
        return self.out(nodes.sum(1))


class Convolved(nn.Module):
    """1-wide convolutions over 10 elements, as DeepJet."""

    def __init__(self):
        super().__init__()
        self.convs = nn.Sequential(nn.Conv1d(6, 32, 1), nn.ReLU(), nn.Conv1d(32, 8, 1), nn.ReLU())
        self.out = nn.Linear(80, 3)

    def forward(self, x):
        return self.out(self.convs(x.view(-1, 10, 6).transpose(1, 2)).flatten(1))


class Graph(nn.Module):
    """Mean over neighbours, twice."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 16), nn.Linear(16, 2)

    def forward(self, x, edges):
        for layer in (self.a, self.b):
            h = layer(x)
            ones = torch.ones_like(edges[1], dtype=torch.float32)
            count = h.new_zeros(h.shape[0]).index_add(0, edges[1], ones).clamp(min=1)
            x = torch.relu(h + torch.zeros_like(h).index_add(0, edges[1], h[edges[0]]) / count[:, None])
        return x


class Maxout(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 64), nn.Linear(16, 2)

    def forward(self, x):
        return self.b(self.a(x).view(-1, 16, 4).amax(-1))


def _rows(width):
    return [block("x", width)]


def kinds():
    """{name: Kind}; weights are the same at every call."""
    torch.manual_seed(7)
    vector = [block("x", 1, kind="vector", element=(60,))]
    return {
        "MLP": Kind(mlp(3, 64, 64, 2), _rows(3), [block("y", 2)]),
        "MLP, BatchNorm": Kind(mlp(6, 64, 64, 2, norm=nn.BatchNorm1d), _rows(6), [block("y", 2)]),
        "MLP, 1024 wide": Kind(mlp(16, 1024, 1024, 2), _rows(16), [block("y", 2)]),
        "residual MLP": Kind(Residual(), _rows(12), [block("y", 3)]),
        "maxout": Kind(Maxout(), _rows(6), [block("y", 2)]),
        "embedding": Kind(Embedded(), [block("x", 4), block("charge", 1, "int64")], [block("y", 2)]),
        "flow": Kind(Flow(), _rows(6), [block("y", 4)]),
        "LSTM": Kind(Recurrent(), vector, [block("y", 2)]),
        "GRU": Kind(Recurrent(nn.GRU), vector, [block("y", 2)]),
        "DeepSets, ragged": Kind(
            RaggedSets(), [block("e", 1), block("x", 4, collection=1), block("i", 1, "int64", 1)], [block("y", 3)]
        ),
        "DeepSets, 30 padded": Kind(DeepSets(), [block("x", 1, kind="vector", element=(150,))], [block("y", 3)]),
        "layer over 128 hits": Kind(Hits(), [block("x", 1, kind="vector", element=(384,))], [block("y", 2)]),
        "attention, pair bias": Kind(Attention(), [block("x", 1, kind="vector", element=(96,))], [block("y", 3)]),
        "attention, 3 layers": Kind(Attention(layers=3), [block("x", 1, kind="vector", element=(96,))], [block("y", 3)]),
        "interaction network": Kind(Interaction(), [block("x", 1, kind="vector", element=(32,))], [block("y", 3)]),
        "Conv1d, 1 wide": Kind(Convolved(), vector, [block("y", 3)]),
        "graph network": Kind(Graph(), [block("x", 4), block("edges", 2, "int64", 1, "columns")], [block("y", 2)]),
    }
