# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The graph network of our applications, and its weights file.

One file of weights (safetensors) holds all that is needed to build the network again: the parameters, the normalisation
constants (as tensors) and, in its metadata, the architecture.
"""

from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from tensoa.command import replacing
from tensoa.errors import InputError


def mlp_tail(width: int, outputs: int) -> nn.Sequential:
    """The layers after the first linear one of every small network here."""
    return nn.Sequential(nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, outputs))


class EdgeUpdate(nn.Module):
    """Every edge looks at its two nodes and adds what it learns to its state e [E, hidden].

    The first layer is W [h_source; h_target; e]. With W = [A B C] that is (A h)[source] + (B h)[target] + C e, the same
    function; A and B then act on nodes, of which there are fewer than edges.
    """

    def __init__(self, hidden: int):
        super().__init__()
        self.from_source = nn.Linear(hidden, hidden, bias=False)
        self.from_target = nn.Linear(hidden, hidden, bias=False)
        self.from_edge = nn.Linear(hidden, hidden)
        self.tail = mlp_tail(hidden, hidden)

    def forward(self, h: Tensor, e: Tensor, source: Tensor, target: Tensor) -> Tensor:
        first = self.from_edge(e)
        first = first + self.from_source(h).index_select(0, source)
        first = first + self.from_target(h).index_select(0, target)
        return e + self.tail(first)


class NodeUpdate(nn.Module):
    """Every node looks at its edges and adds what it learns to its state h [n, hidden].

    Edges that end in the node and edges that start there are summed apart: inward and outward differ.
    """

    def __init__(self, hidden: int):
        super().__init__()
        self.first = nn.Linear(3 * hidden, hidden)
        self.tail = mlp_tail(hidden, hidden)

    def forward(self, h: Tensor, e: Tensor, source: Tensor, target: Tensor) -> Tensor:
        inward = torch.zeros_like(h).index_add(0, target, e)
        outward = torch.zeros_like(h).index_add(0, source, e)
        return h + self.tail(self.first(torch.cat([h, inward, outward], dim=1)))


class GraphNetwork(nn.Module):
    """Scores the edges of a graph.

    forward(x [n, columns], edge_index [2, E] int64, edge_attr [E, columns]) -> scores [E] in [0, 1], in the dtype of x. E
    may be 0.

    `iterations` rounds of an edge and a node update, one last edge update, then the score of each edge from its state. A
    subclass has ARCHITECTURE, NODE_INPUTS and EDGE_INPUTS, and says what the network sees: seen_nodes(x) [n, NODE_INPUTS]
    and seen_edges(x, source, edge_attr) [E, EDGE_INPUTS]. These are brought to mean 0 and width 1 with fixed constants,
    buffers that set_normalisation() fills.
    """

    ARCHITECTURE: str
    NODE_INPUTS: int
    EDGE_INPUTS: int

    def __init__(self, hidden: int, iterations: int):
        super().__init__()
        self.hidden = hidden
        self.iterations = iterations
        self.register_buffer("node_mean", torch.zeros(self.NODE_INPUTS))
        self.register_buffer("node_width", torch.ones(self.NODE_INPUTS))
        self.register_buffer("edge_mean", torch.zeros(self.EDGE_INPUTS))
        self.register_buffer("edge_width", torch.ones(self.EDGE_INPUTS))
        self.node_encoder = nn.Sequential(nn.Linear(self.NODE_INPUTS, hidden), mlp_tail(hidden, hidden))
        self.edge_encoder = nn.Sequential(nn.Linear(self.EDGE_INPUTS, hidden), mlp_tail(hidden, hidden))
        self.edge_updates = nn.ModuleList([EdgeUpdate(hidden) for _ in range(iterations)])
        self.node_updates = nn.ModuleList([NodeUpdate(hidden) for _ in range(iterations)])
        self.last_edge_update = EdgeUpdate(hidden)
        self.classifier = mlp_tail(hidden, 1)

    def logits(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        """The scores before the sigmoid, [E]."""
        source, target = edge_index[0], edge_index[1]
        h = self.node_encoder((self.seen_nodes(x) - self.node_mean) / self.node_width)
        e = self.edge_encoder((self.seen_edges(x, source, edge_attr) - self.edge_mean) / self.edge_width)
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
        nodes = torch.cat([self.seen_nodes(g.x) for g in graphs]).double()
        edges = torch.cat([self.seen_edges(g.x, g.edge_index[0], g.edge_attr) for g in graphs]).double()
        for name, inputs in (("node", nodes), ("edge", edges)):
            getattr(self, f"{name}_mean").copy_(inputs.mean(dim=0))
            getattr(self, f"{name}_width").copy_(inputs.std(dim=0).clamp(min=1e-6))


def save(network, path, metadata=None):
    """Writes the weights file. `metadata`: further strings to keep in it (seed, versions, figures)."""
    texts = {key: str(value) for key, value in (metadata or {}).items()}
    texts.update(architecture=network.ARCHITECTURE, hidden=str(network.hidden), iterations=str(network.iterations))
    tensors = {name: value.detach().float().cpu().contiguous() for name, value in network.state_dict().items()}
    with replacing(path) as temporary:
        safetensors.torch.save_file(tensors, temporary, texts)


def load(path, *kinds):
    """The network of a weights file, of one of the classes `kinds`, in eval mode, float32. Raises InputError."""
    expected = f"expected weights of {' or '.join('a ' + kind.ARCHITECTURE for kind in kinds)} (safetensors)"
    if not Path(path).is_file():
        raise InputError(f"{path}: got no file (no such file), {expected}")
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            texts = file.metadata() or {}
            names = file.keys()  # a file of safetensors is not a dict, and has no iterator
            tensors = {name: file.get_tensor(name) for name in names}
        name = texts.get("architecture")
        kind = {kind.ARCHITECTURE: kind for kind in kinds}.get(name)
        if kind is None:
            raise InputError(f"{path}: got architecture '{name}', {expected}")
        network = kind(int(texts["hidden"]), int(texts["iterations"]))
        network.load_state_dict(tensors)
    except (OSError, safetensors.SafetensorError, KeyError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: got {reason}, {expected}") from error
    return network.eval()
