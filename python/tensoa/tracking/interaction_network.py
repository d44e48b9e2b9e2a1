# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Our network that scores pairs of hits, and its weights file (tensoa.graph_network)."""

import math

import torch
from torch import Tensor

from tensoa import graph_network
from tensoa.errors import InputError
from tensoa.graph_network import GraphNetwork
from tensoa.tracking.circle import line_along
from tensoa.tracking.graphs import R_SCALE, Z_SCALE


def node_inputs(x: Tensor) -> Tensor:
    """The features of a hit for the network: r and z, [n, 2]."""
    return torch.stack([x[:, 0], x[:, 2]], dim=1)


def edge_inputs(x: Tensor, source: Tensor, edge_attr: Tensor, r_scale: float = R_SCALE, z_scale: float = Z_SCALE) -> Tensor:
    """The features of an edge for the network: dr, dphi, dz, dR and the helix from the beam line through both hits, [E, 7].

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


class InteractionNetwork(GraphNetwork):
    """Scores the candidate edges of one event: is this pair of hits of one particle?

    forward(x [n, 3], edge_index [2, E] int64, edge_attr [E, 4]) -> scores [E]. x holds the columns r_scaled, phi_scaled,
    z_scaled, edge_attr dr, dphi, dz, dR. The answer does not change when an event is turned about the beam line: phi
    enters only through dphi. LayerNorm has a fast path for widths that are multiples of 4 only, so `hidden` must be one.
    """

    ARCHITECTURE = "interaction_network"
    NODE_INPUTS = 2
    EDGE_INPUTS = 7

    def __init__(self, hidden: int = 32, iterations: int = 4):
        if hidden < 4 or hidden % 4 or iterations < 1:
            raise InputError(
                f"interaction network: got hidden {hidden}, iterations {iterations}, expected a multiple of 4 and at least 1"
            )
        super().__init__(hidden, iterations)

    def seen_nodes(self, x: Tensor) -> Tensor:
        return node_inputs(x)

    def seen_edges(self, x: Tensor, source: Tensor, edge_attr: Tensor) -> Tensor:
        return edge_inputs(x, source, edge_attr)


save = graph_network.save


def load(path):
    """The network of a weights file, in eval mode, float32. Raises InputError."""
    return graph_network.load(path, InteractionNetwork)
