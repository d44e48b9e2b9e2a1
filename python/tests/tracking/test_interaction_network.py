# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Our interaction network: what it promises, its weights file and its export."""

import pytest
import safetensors.torch
import torch

from tensoa import edge_metrics, export
from tensoa.command import run
from tensoa.errors import InputError
from tensoa.graph_network import EdgeUpdate
from tensoa.tracking import interaction_network
from tensoa.tracking.graphs import read_graphs
from tensoa.tracking.interaction_network import InteractionNetwork
from tensoa.tracking.train import mirrored, thinned

NO_EDGES = (torch.zeros(3, 3), torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0, 4))


@pytest.fixture(scope="module")
def graphs(toy_folder):
    return read_graphs(toy_folder)


@pytest.fixture(scope="module")
def network(graphs):
    torch.manual_seed(1)
    network = InteractionNetwork(hidden=16, iterations=3)
    network.set_normalisation(graphs)
    return network.eval()


def arguments(graph, dtype=torch.float32):
    return graph.x.to(dtype), graph.edge_index, graph.edge_attr.to(dtype)


def test_scores_are_probabilities_of_the_edges(network, graphs):
    scores = network(*arguments(graphs[0]))
    assert scores.shape == graphs[0].truth.shape and scores.dtype == torch.float32
    assert 0 <= scores.min() and scores.max() <= 1


def test_inputs_are_normalised(network, graphs):
    inputs = torch.cat([interaction_network.edge_inputs(g.x, g.edge_index[0], g.edge_attr) for g in graphs])
    scaled = (inputs - network.edge_mean) / network.edge_width
    assert scaled.mean(dim=0).abs().max() < 1e-3 and (scaled.std(dim=0) - 1).abs().max() < 1e-3


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_no_edges(network, dtype):
    scripted = torch.jit.script(network).to(dtype)
    assert scripted(NO_EDGES[0].to(dtype), NO_EDGES[1], NO_EDGES[2].to(dtype)).shape == (0,)
    network.float()  # the scripted module shares its parameters


def test_rows_that_are_no_edges_change_no_other(network, graphs):
    """As DeviceEvent fills up a capacity of edges: from a node after the hits to itself, all zeros."""
    x, edge_index, edge_attr = arguments(graphs[0])
    none = torch.full((2, 1000), len(x))
    padded = (
        torch.cat([x, x.new_zeros(1, 3)]),
        torch.cat([edge_index, none], dim=1),
        torch.cat([edge_attr, edge_attr.new_zeros(1000, 4)]),
    )
    torch.testing.assert_close(network(*padded)[:-1000], network(x, edge_index, edge_attr), rtol=0, atol=1e-6)


def test_float32_is_close_to_float64(network, graphs):
    wide = InteractionNetwork(hidden=16, iterations=3).double()
    wide.load_state_dict(network.state_dict())
    for graph in graphs:
        far = edge_metrics.difference(network(*arguments(graph)), wide(*arguments(graph, torch.float64)))
        assert far["max_abs"] < 1e-3 and far["relative_l2"] < 3e-5


def test_first_edge_layer_on_nodes_is_the_layer_on_edges():
    torch.manual_seed(3)
    update = EdgeUpdate(hidden=8).double()
    h, e = torch.randn(5, 8, dtype=torch.float64), torch.randn(11, 8, dtype=torch.float64)
    source, target = torch.randint(5, (2, 11))
    weight = torch.cat([update.from_source.weight, update.from_target.weight, update.from_edge.weight], dim=1)
    first = torch.cat([h[source], h[target], e], dim=1) @ weight.T + update.from_edge.bias
    expected = e + update.tail(first)
    torch.testing.assert_close(update(h, e, source, target), expected, rtol=0, atol=1e-12)


def test_order_of_edges_does_not_matter(network, graphs):
    x, edge_index, edge_attr = arguments(graphs[0], torch.float64)
    wide = InteractionNetwork(hidden=16, iterations=3).double()
    wide.load_state_dict(network.state_dict())
    order = torch.randperm(edge_index.shape[1])
    expected = wide(x, edge_index, edge_attr)[order]
    torch.testing.assert_close(wide(x, edge_index[:, order], edge_attr[order]), expected, rtol=0, atol=1e-12)


def test_turning_the_event_changes_nothing(network, graphs):
    graph = graphs[0]
    turned = graph.x.clone()
    turned[:, 1] = (turned[:, 1] + 1.3) % 2 - 1
    assert torch.equal(network(turned, graph.edge_index, graph.edge_attr), network(*arguments(graph)))


def test_mirrors_keep_edges_consistent_with_hits(graphs):
    for seed in range(4):
        graph = mirrored(graphs[0], torch.Generator().manual_seed(seed))
        step = graph.x[graph.edge_index[1]] - graph.x[graph.edge_index[0]]
        step[:, 1] = (step[:, 1] + 1) % 2 - 1
        torch.testing.assert_close(graph.edge_attr[:, :3], step, rtol=0, atol=1e-5)


def test_thinning_takes_all_edges_of_a_hit_and_no_other(graphs):
    def edges(graph):
        rows = zip(graph.edge_index.T.tolist(), graph.edge_attr.tolist(), graph.truth.tolist())
        return {tuple(pair): (features, truth) for pair, features, truth in rows}

    whole = edges(graphs[0])
    thin = edges(thinned(graphs[0], torch.Generator().manual_seed(1)))
    hits = {hit for pair in thin for hit in pair}
    assert 0 < len(thin) < len(whole)
    assert thin == {pair: rest for pair, rest in whole.items() if hits.issuperset(pair)}


@pytest.mark.parametrize("shape", [(0, 4), (30, 4), (32, 0)])
def test_wrong_shape(shape):
    with pytest.raises(InputError, match="expected a multiple of 4"):
        InteractionNetwork(*shape)


def test_weights_file_and_export_keep_the_function(network, graphs, tmp_path):
    weights, model = tmp_path / "weights.safetensors", tmp_path / "model.pt"
    interaction_network.save(network, weights, {"seed": 1})
    with safetensors.safe_open(weights, framework="pt") as file:
        assert file.metadata() == {
            "architecture": "interaction_network",
            "hidden": "16",
            "iterations": "3",
            "seed": "1",
        }
    assert run(lambda: export.main([str(weights), "--out", str(model)])) == 0
    expected = network(*arguments(graphs[0]))
    assert torch.equal(interaction_network.load(weights)(*arguments(graphs[0])), expected)
    torch.testing.assert_close(torch.jit.load(model)(*arguments(graphs[0])), expected, rtol=0, atol=1e-6)


def test_wrong_weights_files(network, tmp_path, capsys):
    good, bad, out = tmp_path / "good.safetensors", tmp_path / "bad.safetensors", tmp_path / "model.pt"
    interaction_network.save(network, good)
    foreign = safetensors.torch.save({"a": torch.zeros(1)}, {"architecture": "other"})
    incomplete = safetensors.torch.save({}, {"architecture": "interaction_network", "hidden": "16", "iterations": "3"})
    for content in (b"", good.read_bytes()[:1000], b"not weights at all", foreign, incomplete):
        bad.write_bytes(content)
        assert run(lambda: export.main([str(bad), "--out", str(out)])) == 2
        error = capsys.readouterr().err
        assert str(bad) in error and "expected" in error and error.count("\n") == 1
    assert run(lambda: export.main([str(tmp_path / "none.safetensors"), "--out", str(out)])) == 2
    assert "no such file" in capsys.readouterr().err
    assert not out.exists()
