# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Small graphs, and where the real data and the program are (tests that need them skip where they are absent)."""

import os
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import torch

import candidate_edges
import tensoa

torch.set_num_threads(1)
torch.manual_seed(0)  # for models that a test file makes as it is read

ROOT = Path(__file__).parents[2]
SHARED_DATA = Path(os.environ.get("TENSOA_SHARED_DATA", ROOT.parent / "shared" / "data"))
PROGRAM = Path(os.environ.get("TENSOA_PROGRAM", ROOT / "build" / "tensoa"))
BARREL_RADII = (32, 72, 116, 172, 260, 360, 500, 660, 820, 1020)  # mm
NOISE = 50  # hits


def toy_event(seed, particles=20):
    """Helices from the beam line through ten barrel layers, and noise: x, y, z [mm], layer, particle_id."""
    random = np.random.default_rng(seed)
    pt, cot_theta = random.uniform(0.5, 3.0, particles), random.uniform(-1.0, 1.0, particles)
    phi0, z0 = random.uniform(-np.pi, np.pi, particles), random.normal(0.0, 40.0, particles)
    charge, diameter = random.choice([-1, 1], particles), 2000.0 * pt / 0.6  # in 2 T
    r = np.repeat(np.array(BARREL_RADII, float)[:, None], particles, axis=1)
    turn = np.arcsin(r / diameter)
    phi = (phi0 - charge * turn).ravel()
    z = (z0 + diameter * turn * cot_theta).ravel()
    layer = np.repeat(np.arange(1, len(BARREL_RADII) + 1), particles)
    particle_id = np.tile(np.arange(1, particles + 1), len(BARREL_RADII))
    noise_layer = random.integers(1, len(BARREL_RADII) + 1, NOISE)
    layer, particle_id = np.append(layer, noise_layer), np.append(particle_id, np.zeros(NOISE, int))
    r = np.append(r.ravel(), np.array(BARREL_RADII, float)[noise_layer - 1])
    phi = np.append(phi, random.uniform(-np.pi, np.pi, NOISE))
    z = np.append(z, random.uniform(-500.0, 500.0, NOISE))
    return r * np.cos(phi), r * np.sin(phi), z, layer, particle_id


def write_graph(folder, name, x, y, z, layer, particle_id):
    """Writes one event as `tensoa graph` does."""
    edges = candidate_edges.candidate_edges(x, y, z, layer)
    nodes, features = candidate_edges.node_features(x, y, z), candidate_edges.edge_features(x, y, z, edges)
    hits = {
        "x": x.astype(np.float32),
        "y": y.astype(np.float32),
        "z": z.astype(np.float32),
        "layer": layer.astype(np.int32),
        "hit_id": np.arange(len(x)),
        "particle_id": particle_id,
        "r_scaled": nodes[:, 0],
        "phi_scaled": nodes[:, 1],
        "z_scaled": nodes[:, 2],
    }
    pairs = {
        "source": edges[0],
        "target": edges[1],
        "dr": features[:, 0],
        "dphi": features[:, 1],
        "dz": features[:, 2],
        "dR": features[:, 3],
        "truth": candidate_edges.true_edges(particle_id, edges),
    }
    pyarrow.parquet.write_table(pyarrow.table(hits), folder / f"{name}-hits.parquet")
    pyarrow.parquet.write_table(pyarrow.table(pairs), folder / f"{name}-edges.parquet")


@pytest.fixture(autouse=True)
def seeded():
    """The same weights and numbers in every run."""
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def toy_folder(tmp_path_factory):
    """Graphs of six toy events."""
    folder = tmp_path_factory.mktemp("graphs")
    for seed in range(6):
        write_graph(folder, f"event{seed:09d}", *toy_event(seed))
    return folder


def shared(name):
    """A path in the shared data; skips the test where it is absent."""
    path = SHARED_DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return path


def require_runtime():
    """tensoa.Model; skips the test where the run time is not built."""
    try:
        return tensoa.Model
    except ImportError as error:
        pytest.skip(str(error), allow_module_level=True)
