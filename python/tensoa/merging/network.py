# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Our network that scores pairs of fragments, and its weights file (tensoa.graph_network)."""

import torch
from torch import Tensor

from tensoa import graph_network
from tensoa.graph_network import GraphNetwork
from tensoa.merging.graphs import NO_TIME


def _log(x: Tensor) -> Tensor:
    """Of numbers from 0 on."""
    return torch.log(x + 1e-3)


def node_inputs(x: Tensor, no_time: float = NO_TIME) -> Tensor:
    """The features of a fragment for the network, [n, 28]: NODE_COLUMNS without directions around the beam, lengths in m, wide
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
    """The features of an edge for the network, [E, 9]: EDGE_COLUMNS, lengths also as logarithms."""
    energy, dz, transverse, nearest, farthest, time, cosine = edge_attr.unbind(dim=1)
    inputs = [_log(energy), dz * 1e-2, transverse * 1e-2, torch.log1p(transverse), torch.log1p(nearest)]
    inputs += [torch.log1p(farthest), torch.clamp(time, -1.0, 1.0), cosine, torch.log1p(dz)]
    return torch.stack(inputs, dim=1)


class FragmentNetwork(GraphNetwork):
    """Scores the candidate edges of one event: are both fragments of one particle?

    forward(x [n, 29], edge_index [2, E] int64, edge_attr [E, 7]) -> scores [E]. x holds NODE_COLUMNS, edge_attr
    EDGE_COLUMNS.
    """

    ARCHITECTURE = "fragment_network"
    NODE_INPUTS = 28
    EDGE_INPUTS = 9

    def __init__(self, hidden: int = 32, iterations: int = 2):
        super().__init__(hidden, iterations)

    def seen_nodes(self, x: Tensor) -> Tensor:
        return node_inputs(x)

    def seen_edges(self, x: Tensor, source: Tensor, edge_attr: Tensor) -> Tensor:
        return edge_inputs(edge_attr)


save = graph_network.save


def load(path):
    """The network of a weights file, in eval mode, float32. Raises InputError."""
    return graph_network.load(path, FragmentNetwork)
