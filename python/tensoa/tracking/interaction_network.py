# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Our edge-classifying network, and its weights file.

One file of weights (safetensors) holds all that is needed to build the network again: the parameters, the normalisation
constants (as tensors) and, in its metadata, the architecture.
"""

import math
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from tensoa.command import replacing
from tensoa.errors import InputError
from tensoa.tracking.circle import line_along
from tensoa.tracking.graphs import R_SCALE, Z_SCALE

ARCHITECTURE = "interaction_network"
NODE_INPUTS = 2  # r, z
EDGE_INPUTS = 7  # see edge_inputs()


def node_inputs(x: Tensor) -> Tensor:
    """What the network takes of a hit: r and z, [n, 2]."""
    return torch.stack([x[:, 0], x[:, 2]], dim=1)


def edge_inputs(x: Tensor, source: Tensor, edge_attr: Tensor, r_scale: float = R_SCALE, z_scale: float = Z_SCALE) -> Tensor:
    """What the network takes of an edge: dr, dphi, dz, dR and the helix from the beam line through both hits, [E, 7].

    The helix (circle.py) adds its curvature 2 sin(dphi) / d, d the distance across the beam, in 1 / (5 m); its
    slope, as asinh(cot(theta)), the pseudorapidity; and z0 in units of 100 mm. Edges of one particle from near the
    beam line agree in all three.
    """
    r, z = x[:, 0].index_select(0, source) * r_scale, x[:, 2].index_select(0, source) * z_scale
    dr, dphi, dz = edge_attr[:, 0] * r_scale, edge_attr[:, 1] * math.pi, edge_attr[:, 2] * z_scale
    half = torch.sin(0.5 * dphi)
    across = torch.sqrt(dr * dr + 4.0 * r * (r + dr) * (half * half))
    curvature = 2.0 * torch.sin(dphi) / across.clamp(min=1e-3)
    cotangent, z0 = line_along(curvature, r, r + dr, z, dz)
    helix = torch.stack([curvature * 5000.0, torch.asinh(cotangent), z0 * 0.01], dim=1)
    return torch.cat([edge_attr, helix], dim=1)


def _mlp_tail(width: int, outputs: int) -> nn.Sequential:
    """What follows the first linear layer of every small network here."""
    return nn.Sequential(nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, outputs))


class EdgeUpdate(nn.Module):
    """Every edge looks at its two hits and adds what it learns to its state e [E, hidden].

    The first layer is W [h_source; h_target; e]. With W = [A B C] that is (A h)[source] + (B h)[target] + C e, the same
    function; A and B then act on hits, of which there are ten times fewer than edges.
    """

    def __init__(self, hidden: int):
        super().__init__()
        self.from_source = nn.Linear(hidden, hidden, bias=False)
        self.from_target = nn.Linear(hidden, hidden, bias=False)
        self.from_edge = nn.Linear(hidden, hidden)
        self.tail = _mlp_tail(hidden, hidden)

    def forward(self, h: Tensor, e: Tensor, source: Tensor, target: Tensor) -> Tensor:
        first = self.from_edge(e)
        first = first + self.from_source(h).index_select(0, source)
        first = first + self.from_target(h).index_select(0, target)
        return e + self.tail(first)


class NodeUpdate(nn.Module):
    """Every hit looks at its edges and adds what it learns to its state h [n, hidden].

    Edges that end in the hit and edges that start there are summed apart: inward and outward differ.
    """

    def __init__(self, hidden: int):
        super().__init__()
        self.first = nn.Linear(3 * hidden, hidden)
        self.tail = _mlp_tail(hidden, hidden)

    def forward(self, h: Tensor, e: Tensor, source: Tensor, target: Tensor) -> Tensor:
        inward = torch.zeros_like(h).index_add(0, target, e)
        outward = torch.zeros_like(h).index_add(0, source, e)
        return h + self.tail(self.first(torch.cat([h, inward, outward], dim=1)))


class InteractionNetwork(nn.Module):
    """Scores the candidate edges of one event: is this pair of hits of one particle?

    forward(x [n, 3], edge_index [2, E] int64, edge_attr [E, 4]) -> scores [E] in [0, 1], in the dtype of x.
    x holds the columns r_scaled, phi_scaled, z_scaled, edge_attr dr, dphi, dz, dR. E may be 0.

    `iterations` rounds of an edge and a node update, one last edge update, then the score of each edge from its state.
    The answer does not change when an event is turned about the beam line: phi enters only through dphi.
    All inputs are brought to mean 0 and width 1 with fixed constants, buffers that set_normalisation() fills.
    LayerNorm has a fast path for widths that are multiples of 4 only, so `hidden` must be one.
    """

    def __init__(self, hidden: int = 32, iterations: int = 4):
        super().__init__()
        if hidden < 4 or hidden % 4 or iterations < 1:
            raise InputError(
                f"interaction network: got hidden {hidden}, iterations {iterations}, expected a multiple of 4 and at least 1"
            )
        self.hidden = hidden
        self.iterations = iterations
        self.register_buffer("node_mean", torch.zeros(NODE_INPUTS))
        self.register_buffer("node_width", torch.ones(NODE_INPUTS))
        self.register_buffer("edge_mean", torch.zeros(EDGE_INPUTS))
        self.register_buffer("edge_width", torch.ones(EDGE_INPUTS))
        self.node_encoder = nn.Sequential(nn.Linear(NODE_INPUTS, hidden), _mlp_tail(hidden, hidden))
        self.edge_encoder = nn.Sequential(nn.Linear(EDGE_INPUTS, hidden), _mlp_tail(hidden, hidden))
        self.edge_updates = nn.ModuleList([EdgeUpdate(hidden) for _ in range(iterations)])
        self.node_updates = nn.ModuleList([NodeUpdate(hidden) for _ in range(iterations)])
        self.last_edge_update = EdgeUpdate(hidden)
        self.classifier = _mlp_tail(hidden, 1)

    def logits(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        """The scores before the sigmoid, [E]."""
        source, target = edge_index[0], edge_index[1]
        h = self.node_encoder((node_inputs(x) - self.node_mean) / self.node_width)
        e = self.edge_encoder((edge_inputs(x, source, edge_attr) - self.edge_mean) / self.edge_width)
        for edge_update, node_update in zip(self.edge_updates, self.node_updates):
            e = edge_update(h, e, source, target)
            h = node_update(h, e, source, target)
        e = self.last_edge_update(h, e, source, target)
        return self.classifier(e).squeeze(1)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        return torch.sigmoid(self.logits(x, edge_index, edge_attr))

    @torch.jit.unused
    def set_normalisation(self, graphs):
        """Takes mean and width of all inputs from the given graphs (tensoa.graphs.Graph)."""
        nodes = torch.cat([node_inputs(g.x) for g in graphs]).double()
        edges = torch.cat([edge_inputs(g.x, g.edge_index[0], g.edge_attr) for g in graphs]).double()
        for name, inputs in (("node", nodes), ("edge", edges)):
            getattr(self, f"{name}_mean").copy_(inputs.mean(dim=0))
            getattr(self, f"{name}_width").copy_(inputs.std(dim=0).clamp(min=1e-6))


def save(network, path, metadata=None):
    """Writes the weights file. `metadata`: further strings to keep in it (seed, versions, figures)."""
    texts = {key: str(value) for key, value in (metadata or {}).items()}
    texts.update(architecture=ARCHITECTURE, hidden=str(network.hidden), iterations=str(network.iterations))
    tensors = {name: value.detach().float().cpu().contiguous() for name, value in network.state_dict().items()}
    with replacing(path) as temporary:
        safetensors.torch.save_file(tensors, temporary, texts)


def load(path):
    """The network of a weights file, in eval mode, float32. Raises InputError: what, got, expected."""
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file, expected weights (safetensors)")
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            texts = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}
        if texts.get("architecture") != ARCHITECTURE:
            raise InputError(f"{path}: got architecture '{texts.get('architecture')}', expected '{ARCHITECTURE}'")
        network = InteractionNetwork(int(texts["hidden"]), int(texts["iterations"]))
        network.load_state_dict(tensors)
    except (OSError, safetensors.SafetensorError, KeyError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: got {reason}, expected weights of an {ARCHITECTURE} (safetensors)") from error
    return network.eval()
