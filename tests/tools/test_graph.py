# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""`tensoa graph` against the NumPy reference, which looks at every pair of hits."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
import torch

import candidate_edges
from conftest import hits_csv, large_radius_csv, names_in, refuse, straight_tracks, succeed, write, write_event

from tensoa.tracking import graph_rules

RULES = Path(__file__).parents[2] / "models" / "interaction_network.graph.json"
NODES = ["x", "y", "z", "layer", "hit_id", "particle_id", "r_scaled", "phi_scaled", "z_scaled"]
EDGES = ["source", "target", "dr", "dphi", "dz", "dR", "truth"]
EVENT = straight_tracks(seed=6, particles=40, noise=60)


def read(path, names):
    table = pyarrow.parquet.read_table(path)
    assert table.column_names == names
    return {name: table[name].to_numpy() for name in names}


def graph(folder, *inputs):
    """Columns of hits and edges of each event by name. `inputs`: also options."""
    succeed("graph", *inputs, "--output", folder)
    names = sorted(path.name.removesuffix("-hits.parquet") for path in folder.glob("*-hits.parquet"))
    assert names_in(folder) == sorted(f"{name}-{kind}.parquet" for name in names for kind in ("hits", "edges"))
    return {
        name: (read(folder / f"{name}-hits.parquet", NODES), read(folder / f"{name}-edges.parquet", EDGES))
        for name in names
    }


def require_reference(hits, edges):
    """The edges, in ascending order, and all features are those that follow from the coordinates in the file."""
    x, y, z = (hits[axis].astype(np.float64) for axis in "xyz")
    pairs = np.stack([edges["source"], edges["target"]])
    np.testing.assert_array_equal(pairs, candidate_edges.candidate_edges(x, y, z, hits["layer"]))
    assert pairs.shape[1] > 100
    nodes = candidate_edges.node_features(x, y, z)
    for column, expected in zip(("r_scaled", "phi_scaled", "z_scaled"), nodes.T):
        np.testing.assert_allclose(hits[column], expected, rtol=1e-6, atol=1e-7)
    features = candidate_edges.edge_features(x, y, z, pairs)
    for column, expected in zip(("dr", "dphi", "dz", "dR"), features.T):
        np.testing.assert_allclose(edges[column], expected, rtol=1e-5, atol=2e-6)
    np.testing.assert_array_equal(edges["truth"], candidate_edges.true_edges(hits["particle_id"], pairs))


def test_generated_events(out):
    graphs = graph(out, "generate:2:77:60")
    assert list(graphs) == ["generated-77-0", "generated-77-1"]
    for hits, edges in graphs.values():
        require_reference(hits, edges)
        assert 0 < edges["truth"].sum() < len(edges["truth"])


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_file_with_truth(ending, tmp_path, out):
    path = write_event(tmp_path, "event", EVENT)
    if ending == "csv.gz":
        path = write(tmp_path / "event-hits.csv.gz", hits_csv(EVENT))
    hits, edges = graph(out, path)["event"]
    for axis in "xyz":
        np.testing.assert_array_equal(hits[axis], EVENT[axis].astype(np.float32))
    np.testing.assert_array_equal(hits["hit_id"], EVENT["hit_id"])
    np.testing.assert_array_equal(hits["particle_id"], EVENT["particle_id"])
    np.testing.assert_array_equal(hits["layer"], 8000 + EVENT["layer_id"])
    require_reference(hits, edges)
    assert edges["truth"].sum() > 100


def test_large_radius_file_has_no_layers(tmp_path, out):
    hits, edges = graph(out, write(tmp_path / "evt_7.csv", large_radius_csv(EVENT)))["evt_7"]
    for axis in "xyz":
        np.testing.assert_allclose(hits[axis], EVENT[axis], atol=1e-4)  # mm
    np.testing.assert_array_equal(hits["hit_id"], np.arange(len(EVENT["x"])))
    assert not hits["layer"].any() and not hits["particle_id"].any() and not edges["truth"].any()
    require_reference(hits, edges)


def test_learned_rules_pass_what_they_pass_in_python(tmp_path, out):
    """The pairs of the rules' cuts, sieved by the code that trained map and filter."""
    rules = json.loads(RULES.read_text())
    cuts = write(tmp_path / "cuts.json", json.dumps({"cuts": rules["cuts"]}))
    graph(out / "wide", "generate:2:77:300", "--graph", cuts)
    graph(out / "learned", "generate:2:77:300", "--graph", RULES)
    layers = torch.tensor(rules["layers"])
    follows = torch.zeros(len(layers), len(layers), dtype=torch.bool)
    for pair in rules["layer_pairs"]:
        follows[tuple(torch.searchsorted(layers, torch.tensor(pair)))] = True
    weights = {name: torch.tensor(value) for name, value in rules["filter"].items()}
    for name in ("generated-77-0", "generated-77-1"):
        wide = graph_rules.read_pairs(out / "wide", name)
        wide = wide.only(graph_rules.allowed(wide, layers, follows))
        hidden = torch.relu(wide.features() @ weights["hidden_weight"] + weights["hidden_bias"])
        score = hidden @ weights["weight"] + weights["bias"]
        learned = graph_rules.read_pairs(out / "learned", name)
        size = len(wide.hits)
        passed = torch.isin(wide.source * size + wide.target, learned.source * size + learned.target)
        assert passed.sum() == len(learned.source) > 1000
        sure = score.abs() > 1e-3
        assert torch.equal(passed[sure], score[sure] >= 0) and sure.float().mean() > 0.999


@pytest.mark.parametrize(
    ("rules", "message"),
    [(None, "none.json: cannot be read"), ('{"cuts": {"max_dphi": -1}}', "max_dphi"), ('{"edges": 1}', '"edges"')],
)
def test_rules_that_are_none_are_refused_before_anything_is_written(tmp_path, out, rules, message):
    path = tmp_path / "none.json" if rules is None else write(tmp_path / "rules.json", rules)
    refuse("graph", "generate:1", "--graph", path, "--output", out, says=[message])
    assert not list(out.iterdir())


def test_folder_is_made_and_files_are_replaced(out):
    folder = out / "new" / "graphs"
    first = graph(folder, "generate:1:5:30")
    again = graph(folder, "generate:1:5:30")
    for old, new in zip(first["generated-5-0"], again["generated-5-0"]):
        for name in old:
            np.testing.assert_array_equal(old[name], new[name])
