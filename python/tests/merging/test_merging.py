# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Our network that merges fragments: what it promises, its weights file, its training."""

import json

import pyarrow
import pyarrow.parquet
import pytest
import torch

from tensoa import export
from tensoa.command import run
from tensoa.errors import InputError
from tensoa.importers.files import load_weights
from tensoa.merging import network as networks
from tensoa.merging import train
from tensoa.merging.graphs import EDGE_COLUMNS, NO_TIME, NODE_COLUMNS, read_graphs
from tensoa.merging.network import FragmentNetwork, edge_inputs, node_inputs
from tensoa.tracking import interaction_network
from tensoa.tracking.interaction_network import InteractionNetwork

NO_EDGES = (torch.ones(3, 29), torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0, 7))
COLUMN = {name: row for row, name in enumerate(NODE_COLUMNS)}


def write_event(folder, name, seed, n=30, edges=80):
    """Edges are true where their fragments have similar times: something to learn."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 29, generator=generator) + 0.1
    x[:, COLUMN["time"]] = torch.randn(n, generator=generator)
    x[::7, COLUMN["time"]] = NO_TIME
    ends = torch.randint(n, (2, edges), generator=generator)
    attributes = torch.rand(edges, 7, generator=generator)
    truth = (attributes[:, EDGE_COLUMNS.index("nearest")] < 0.3).to(torch.uint8)
    fragments = dict(zip(NODE_COLUMNS, x.t().numpy())) | {"fragment_id": range(n), "particle_id": [1] * n}
    rows = {"source": ends[0].numpy(), "target": ends[1].numpy(), "truth": truth.numpy()}
    pyarrow.parquet.write_table(pyarrow.table(fragments), folder / f"{name}-fragments.parquet")
    rows |= dict(zip(EDGE_COLUMNS, attributes.t().numpy()))
    pyarrow.parquet.write_table(pyarrow.table(rows), folder / f"{name}-edges.parquet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("events")
    for seed in range(20):
        write_event(folder, f"event-{seed:02}", seed)
    write_event(folder, "without-edges", 1, edges=0)
    return folder


@pytest.fixture(scope="module")
def graphs(folder):
    return read_graphs(folder)


@pytest.fixture(scope="module")
def network(graphs):
    torch.manual_seed(1)
    network = FragmentNetwork(hidden=16, iterations=2)
    network.set_normalisation(graphs)
    return network.eval()


def test_events_without_edges_are_left_out(graphs):
    assert [graph.name for graph in graphs] == [f"event-{seed:02}" for seed in range(20)]


def test_scores_are_probabilities_of_the_edges(network, graphs):
    graph = graphs[0]
    scores = network(graph.x, graph.edge_index, graph.edge_attr)
    assert scores.shape == graph.truth.shape
    assert 0 <= scores.min() and scores.max() <= 1
    assert network(*NO_EDGES).shape == torch.jit.script(network)(*NO_EDGES).shape == (0,)


def test_inputs_are_normalised_and_as_wide_as_declared(network, graphs):
    nodes, edges = [node_inputs(g.x) for g in graphs], [edge_inputs(g.edge_attr) for g in graphs]
    for name, inputs in {"node": nodes, "edge": edges}.items():
        scaled = (torch.cat(inputs) - getattr(network, f"{name}_mean")) / getattr(network, f"{name}_width")
        assert scaled.mean(dim=0).abs().max() < 1e-3


def turned(x, angle):
    """The fragments turned about the beam line."""
    x, angle = x.clone(), torch.tensor(angle)
    for first, second in (("x", "y"), ("axis_x", "axis_y")):
        a, b = x[:, COLUMN[first]].clone(), x[:, COLUMN[second]].clone()
        x[:, COLUMN[first]] = angle.cos() * a - angle.sin() * b
        x[:, COLUMN[second]] = angle.sin() * a + angle.cos() * b
    x[:, COLUMN["phi"]] += angle
    return x


def test_turning_the_event_and_the_other_endcap_change_nothing(network, graphs):
    graph = graphs[0]
    expected = network(graph.x, graph.edge_index, graph.edge_attr)
    mirrored = graph.x.clone()
    for name in ("z", "eta", "axis_z"):
        mirrored[:, COLUMN[name]] *= -1
    for x in (turned(graph.x, 1.0), mirrored):
        assert torch.allclose(network(x, graph.edge_index, graph.edge_attr), expected, atol=1e-5)


def test_a_fragment_without_time_is_seen_as_one(network):
    x = torch.ones(2, 29)
    x[:, COLUMN["time"]] = torch.tensor([NO_TIME, 0.0])
    inputs = node_inputs(x)
    assert inputs[:, 25].tolist() == [0.0, 1.0] and inputs[:, 26].tolist() == [0.0, 0.0]


def test_the_weights_file_holds_the_network(network, graphs, tmp_path):
    path = str(tmp_path / "w.safetensors")
    networks.save(network, path, {"seed": 1})
    graph = graphs[0]
    expected = network(graph.x, graph.edge_index, graph.edge_attr)
    assert torch.equal(load_weights(path)(graph.x, graph.edge_index, graph.edge_attr), expected)
    export.main([path, "--out", str(tmp_path / "w.pt")])
    assert torch.equal(torch.jit.load(tmp_path / "w.pt")(graph.x, graph.edge_index, graph.edge_attr), expected)


def test_other_weights_are_refused_and_loaded_as_what_they_are(tmp_path):
    path = str(tmp_path / "w.safetensors")
    interaction_network.save(InteractionNetwork(4, 1), path)
    with pytest.raises(InputError, match="expected weights of a fragment_network"):
        networks.load(path)
    assert isinstance(load_weights(path), InteractionNetwork)
    with pytest.raises(InputError, match="no file"):
        networks.load(tmp_path / "none.safetensors")


def test_training_learns_and_is_repeatable(folder, tmp_path):
    curves = []
    for name in ("a", "b"):
        out = tmp_path / f"{name}.safetensors"
        arguments = f"--data {folder} --out {out} --epochs 12 --hidden 8 --edges 200 --device cpu".split()
        assert run(lambda arguments=arguments: train.main(arguments)) == 0
        curves.append(json.loads(out.with_suffix(".json").read_text()))
    assert curves[0] == curves[1] and len(curves[0]) == 12
    assert curves[0][-1]["valid_edge_auc"] > 0.9
    assert curves[0][-1]["valid_loss"] < curves[0][0]["valid_loss"]


def test_a_step_has_at_most_the_given_number_of_edges(graphs):
    batches = list(train.batches(graphs, 200, torch.Generator().manual_seed(1)))
    assert [len(batch) for batch in batches] == [2] * 10
    assert sorted(graph.name for batch in batches for graph in batch) == [graph.name for graph in graphs]
    assert [len(batch) for batch in train.batches(graphs[:2], 1, torch.Generator())] == [1, 1]


def test_folders_without_graphs_are_refused(tmp_path, capsys):
    arguments = f"--data {tmp_path} --out {tmp_path}/w.safetensors --epochs 1 --device cpu".split()
    assert run(lambda: train.main(arguments)) == 2
    assert "expected the folder of 'tensoa graph --of fragments'" in capsys.readouterr().err
