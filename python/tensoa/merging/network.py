# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Our network that scores pairs of fragments, and its weights file (as that of tensoa.tracking.interaction_network)."""

from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from tensoa.command import replacing
from tensoa.errors import InputError
from tensoa.merging.graphs import NO_TIME
from tensoa.tracking.interaction_network import EdgeUpdate, NodeUpdate, _mlp_tail

ARCHITECTURE = "fragment_network"
NODE_INPUTS = 28  # see node_inputs()
EDGE_INPUTS = 9  # see edge_inputs()


def _log(x: Tensor) -> Tensor:
    """Of numbers from 0 on."""
    return torch.log(x + 1e-3)


def node_inputs(x: Tensor, no_time: float = NO_TIME) -> Tensor:
    """What the network sees of a fragment, [n, 28]: NODE_COLUMNS without directions around the beam, lengths in m, wide
    ranges as logarithms.

    Both endcaps look alike, and an event that is turned about the beam line looks as before.
    """
    columns = x.unbind(dim=1)
    east, north, height, eta = columns[0], columns[1], columns[2], columns[3]
    axis = columns[5:8]
    variances, sigmas = columns[8:11], columns[11:14]
    clusters, cells, energy, em_energy = columns[14], columns[15], columns[16], columns[17]
    layers, parts = columns[18:21], columns[21:23]
    radius, z_min, z_max = columns[23], columns[24], columns[25]
    cluster_density, fragment_density, time = columns[26], columns[27], columns[28]
    distance = torch.sqrt(east * east + north * north)
    length = torch.sqrt(distance * distance + height * height)
    pointing = (axis[0] * east + axis[1] * north + axis[2] * height) / length
    has_time = (time > no_time / 2).to(x.dtype)
    inputs = [torch.abs(eta), distance * 1e-3, torch.abs(height) * 1e-3, pointing, torch.abs(axis[2])]
    inputs += [_log(variances[0]), _log(variances[1]), _log(variances[2])]
    inputs += [_log(sigmas[0]), _log(sigmas[1]), _log(sigmas[2])]
    inputs += [_log(clusters), _log(cells), _log(energy), em_energy / (energy + 1e-3)]
    inputs += [layers[0], layers[1], layers[2], parts[0], parts[1]]
    inputs += [_log(radius), z_min * 1e-3, z_max * 1e-3, _log(cluster_density), torch.log1p(fragment_density)]
    inputs += [has_time, torch.clamp(time, -1.0, 1.0) * has_time, torch.log1p(z_max - z_min)]
    return torch.stack(inputs, dim=1)


def edge_inputs(edge_attr: Tensor) -> Tensor:
    """What the network sees of an edge, [E, 9]: EDGE_COLUMNS, lengths also as logarithms."""
    energy, dz, transverse, nearest, farthest, time, cosine = edge_attr.unbind(dim=1)
    inputs = [_log(energy), dz * 1e-2, transverse * 1e-2, torch.log1p(transverse), torch.log1p(nearest)]
    inputs += [torch.log1p(farthest), torch.clamp(time, -1.0, 1.0), cosine, torch.log1p(dz)]
    return torch.stack(inputs, dim=1)


class FragmentNetwork(nn.Module):
    """Scores the candidate edges of one event: are both fragments of one particle?

    forward(x [n, 29], edge_index [2, E] int64, edge_attr [E, 7]) -> scores [E] in [0, 1], in the dtype of x.
    x holds NODE_COLUMNS, edge_attr EDGE_COLUMNS. E may be 0. Otherwise as InteractionNetwork.
    """

    def __init__(self, hidden: int = 32, iterations: int = 2):
        super().__init__()
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
        e = self.edge_encoder((edge_inputs(edge_attr) - self.edge_mean) / self.edge_width)
        for edge_update, node_update in zip(self.edge_updates, self.node_updates):
            e = edge_update(h, e, source, target)
            h = node_update(h, e, source, target)
        e = self.last_edge_update(h, e, source, target)
        return self.classifier(e).squeeze(1)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        return torch.sigmoid(self.logits(x, edge_index, edge_attr))

    @torch.jit.unused
    def set_normalisation(self, graphs):
        """Takes mean and width of all inputs from the given graphs."""
        nodes = torch.cat([node_inputs(g.x) for g in graphs]).double()
        edges = torch.cat([edge_inputs(g.edge_attr) for g in graphs]).double()
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


def is_weights(path):
    """Whether a file has weights of this architecture."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            return (file.metadata() or {}).get("architecture") == ARCHITECTURE
    except (OSError, safetensors.SafetensorError):
        return False


def load(path):
    """The network of a weights file, in eval mode, float32. Raises InputError: what, got, expected."""
    if not is_weights(path):
        got = "another" if Path(path).is_file() else "no"
        raise InputError(f"{path}: got {got} file, expected weights of a {ARCHITECTURE} (safetensors)")
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            texts = file.metadata()
            network = FragmentNetwork(int(texts["hidden"]), int(texts["iterations"]))
            names = file.keys()
            network.load_state_dict({name: file.get_tensor(name) for name in names})
    except (KeyError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: got {reason}, expected weights of a {ARCHITECTURE} (safetensors)") from error
    return network.eval()
