# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The candidate-edge rules: an independent reference, on the real event and against the C++ program."""

import subprocess

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

import candidate_edges
from conftest import PROGRAM, shared

EVENT = "trackml/event000000001"


@pytest.fixture(scope="module")
def event():
    """Columns of the real event by name."""
    hits = pyarrow.csv.read_csv(shared(f"{EVENT}-hits.csv.gz"))
    truth = pyarrow.csv.read_csv(shared(f"{EVENT}-truth.csv.gz"))
    columns = {name: hits[name].to_numpy() for name in ("hit_id", "x", "y", "z")}
    columns["layer"] = hits["volume_id"].to_numpy() * 1000 + hits["layer_id"].to_numpy()
    particle = dict(zip(truth["hit_id"].to_pylist(), truth["particle_id"].to_pylist()))
    columns["particle_id"] = np.array([particle[hit] for hit in columns["hit_id"].tolist()])
    return columns


@pytest.fixture(scope="module")
def reference(event):
    return candidate_edges.candidate_edges(event["x"], event["y"], event["z"], event["layer"])


def test_real_event_has_the_published_edges(event, reference):
    assert reference.shape == (2, 60023)
    assert candidate_edges.true_edges(event["particle_id"], reference).sum() == 10302


def test_program_writes_the_same_graph(event, reference, tmp_path):
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    subprocess.run([PROGRAM, "graph", shared("trackml"), "--output", tmp_path], check=True, timeout=60)
    (hits_path,), (edges_path,) = tmp_path.glob("*-hits.parquet"), tmp_path.glob("*-edges.parquet")
    hits, edges = pyarrow.parquet.read_table(hits_path), pyarrow.parquet.read_table(edges_path)
    row_of = {hit: row for row, hit in enumerate(event["hit_id"].tolist())}
    rows = np.array([row_of[hit] for hit in hits["hit_id"].to_pylist()])
    nodes = candidate_edges.node_features(event["x"], event["y"], event["z"])[rows]
    for column, expected in zip(("r_scaled", "phi_scaled", "z_scaled"), nodes.T):
        np.testing.assert_allclose(hits[column].to_numpy(), expected, rtol=1e-6, atol=1e-6)

    pairs = rows[np.stack([edges["source"].to_numpy(), edges["target"].to_numpy()])]
    order, reference_order = np.lexsort(pairs[::-1]), np.lexsort(reference[::-1])
    np.testing.assert_array_equal(pairs[:, order], reference[:, reference_order])
    truth = candidate_edges.true_edges(event["particle_id"], pairs)
    np.testing.assert_array_equal(edges["truth"].to_numpy(), truth)
    features = candidate_edges.edge_features(event["x"], event["y"], event["z"], pairs)
    for column, expected in zip(("dr", "dphi", "dz", "dR"), features.T):
        np.testing.assert_allclose(edges[column].to_numpy(), expected, rtol=1e-5, atol=2e-6)


def test_cuts_keep_what_they_say():
    """One pair inside all cuts, then one change at a time that a single cut must catch."""

    def edges(phi=0.0, r=60.0, z=3.0, layer=2, z_inner=0.0):
        x, y = np.array([30.0, r * np.cos(phi)]), np.array([0.0, r * np.sin(phi)])
        return candidate_edges.candidate_edges(x, y, np.array([z_inner, z]), np.array([1, layer])).shape[1]

    assert edges() == 1
    assert edges(phi=0.05) == 1 and edges(phi=0.07) == 0  # 0.002 rad/mm over 30 mm
    assert edges(phi=2 * np.pi) == 1
    assert edges(r=31.0) == 0
    assert edges(layer=1) == 0 and edges(layer=0) == 1
    assert edges(r=400.0, z=400.0) == 0  # 545 mm apart
    assert edges(z=160.0, z_inner=156.0) == 0 and edges(z=160.0, z_inner=154.0) == 1  # z0 = 152 and 148 mm
