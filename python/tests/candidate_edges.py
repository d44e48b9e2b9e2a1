# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Independent reference of the candidate graph: every pair of hits is looked at, in float64, nothing is sorted.

It shares no code and no method with the C++ graph builder, which is what it is for.
"""

import numpy as np

MAX_DPHI = 0.3  # rad
MIN_DR = 2.0  # mm
MAX_DPHI_PER_DR = 0.002  # rad/mm
MAX_DISTANCE = 500.0  # mm
MAX_Z0 = 150.0  # mm
R_SCALE, Z_SCALE = 3000.0, 400.0  # mm
BLOCK = 256  # source hits looked at in one go


def wrapped(angle):
    """The same angle in [-pi, pi)."""
    return (angle + np.pi) % (2 * np.pi) - np.pi


def candidate_edges(x, y, z, layer):
    """Rows of the hits of all candidate edges.

    x, y, z in mm [n]; layer [n] (0 = unknown: the cut on it is left out). Returns int64 [2, n_edges]: source, target.
    """
    r, phi = np.hypot(x, y), np.arctan2(y, x)
    blocks = []
    for first in range(0, len(r), BLOCK):
        s = np.arange(first, min(first + BLOCK, len(r)))[:, None]
        dr, dz, dphi = r - r[s], z - z[s], np.abs(wrapped(phi - phi[s]))
        keep = (dr >= MIN_DR) & (dphi <= MAX_DPHI) & (dphi <= MAX_DPHI_PER_DR * dr)
        keep &= (layer != layer[s]) | (layer == 0) | (layer[s] == 0)
        keep &= (x - x[s]) ** 2 + (y - y[s]) ** 2 + dz**2 <= MAX_DISTANCE**2
        with np.errstate(divide="ignore", invalid="ignore"):
            keep &= np.abs(z[s] - r[s] * dz / dr) <= MAX_Z0
        rows, targets = np.nonzero(keep)
        blocks.append(np.stack([rows + first, targets]))
    return np.concatenate(blocks, axis=1) if blocks else np.zeros((2, 0), dtype=np.int64)


def node_features(x, y, z):
    """Columns r_scaled, phi_scaled, z_scaled: float32 [n, 3]."""
    columns = [np.hypot(x, y) / R_SCALE, np.arctan2(y, x) / np.pi, z / Z_SCALE]
    return np.stack(columns, axis=1).astype(np.float32)


def edge_features(x, y, z, edges):
    """Columns dr, dphi, dz (scaled like the node columns) and dR: float32 [n_edges, 4]."""
    source, target = edges
    r, phi = np.hypot(x, y), np.arctan2(y, x)
    with np.errstate(divide="ignore"):
        eta = np.arcsinh(z / r)
    dphi = wrapped(phi[target] - phi[source])
    columns = [
        (r[target] - r[source]) / R_SCALE,
        dphi / np.pi,
        (z[target] - z[source]) / Z_SCALE,
        np.hypot(eta[target] - eta[source], dphi),
    ]
    return np.stack(columns, axis=1).astype(np.float32)


def true_edges(particle_id, edges):
    """1 where both hits belong to one non-zero particle: uint8 [n_edges]."""
    source, target = particle_id[edges[0]], particle_id[edges[1]]
    return ((source == target) & (source != 0)).astype(np.uint8)
