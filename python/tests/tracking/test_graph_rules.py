# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The rules of candidate edges that are learned: labels, map, filter and the file."""

import json
import math

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import torch

from tensoa.command import run
from tensoa.errors import InputError
from tensoa.tracking import graph_rules
from tensoa.tracking.graph_rules import Pairs, allowed, layer_map, neighbours, pair_features

LAYERS = (11, 12, 21, 22)


def helix_hits(curvature, cotangent, z0, phi, radii):
    """Hits [n, 4] of a helix from the beam line, by its exact equations."""
    radii = np.asarray(radii, dtype=np.float64)
    turn = np.arcsin(curvature * radii / 2)
    angle, arc = phi + turn, 2 * turn / curvature
    hits = np.stack([radii * np.cos(angle), radii * np.sin(angle), z0 + arc * cotangent, radii], axis=1)
    return torch.tensor(hits, dtype=torch.float32)


@pytest.mark.parametrize("curvature", [1e-4, -4e-4, 1e-3])
@pytest.mark.parametrize("cotangent", [0.2, -3.0])
def test_features_are_those_of_the_helix(curvature, cotangent):
    hits = helix_hits(curvature, cotangent, 40.0, 2.9, [60.0, 300.0, 700.0])
    features = pair_features(hits[[0, 0, 1]], hits[[1, 2, 2]])
    side = torch.sign(hits[[0, 0, 1], 2] + hits[[1, 2, 2], 2])
    torch.testing.assert_close(features[:, 0], torch.full((3,), abs(curvature) * 200), rtol=1e-3, atol=1e-4)
    slope = cotangent / math.sqrt(1 + abs(cotangent))
    torch.testing.assert_close(features[:, 1], side * slope, rtol=2e-3, atol=2e-3)
    torch.testing.assert_close(features[:, 2], side * 0.4, rtol=0.02, atol=0.02)


def test_features_of_mirrored_pairs_are_equal():
    torch.manual_seed(2)
    source = torch.rand(50, 4) * 100
    target = source + torch.rand(50, 4) * 100
    for hits in (source, target):
        hits[:, 3] = hits[:, :2].norm(dim=1)
    for mirror in (torch.tensor([1.0, -1.0, 1.0, 1.0]), torch.tensor([1.0, 1.0, -1.0, 1.0])):
        torch.testing.assert_close(pair_features(source * mirror, target * mirror), pair_features(source, target))


def test_neighbours_have_at_most_one_hit_between_them():
    hits = torch.tensor([[r, 0.0, 0.0, r] for r in (30.0, 70.0, 72.0, 110.0, 170.0, 50.0)])
    layer = torch.tensor([1, 2, 2, 3, 4, 1])
    particle = torch.tensor([7, 7, 7, 7, 7, 0])
    keys = {(int(key) // 6, int(key) % 6) for key in neighbours(hits, layer, particle)}
    assert keys == {(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 4)}  # 1 and 2 lie on one layer; noise has none


def made_event(seed, particles=40):
    """Straight tracks through four layers, and pairs of all hits with a smaller r first."""
    random = np.random.default_rng(seed)
    phi = random.uniform(-math.pi, math.pi, particles).repeat(len(LAYERS))
    r = np.tile([50.0, 100.0, 200.0, 300.0], particles) + random.normal(0, 0.2, 4 * particles)
    position = np.stack([r * np.cos(phi), r * np.sin(phi), 0.3 * r, r], axis=1)
    hits = torch.tensor(position, dtype=torch.float32)
    layer = torch.tensor(np.tile(LAYERS, particles))
    particle = torch.arange(1, particles + 1).repeat_interleave(len(LAYERS))
    source, target = (hits[:, None, 3] < hits[None, :, 3]).nonzero().unbind(1)
    keys = neighbours(hits, layer, particle)
    return Pairs(hits, layer, source, target, torch.isin(source * len(hits) + target, keys), len(keys))


def test_map_has_the_layers_of_neighbours_and_no_others():
    layers, follows = layer_map([made_event(1), made_event(2)])
    assert layers.tolist() == list(LAYERS)
    expected = {(11, 12), (11, 21), (12, 21), (12, 22), (21, 22)}  # one layer may lie between
    assert {(int(layers[a]), int(layers[b])) for a, b in follows.nonzero()} == expected


def test_pairs_of_unknown_layers_pass():
    event = made_event(1)
    layers, follows = layer_map([event])
    event.layer[:] = 0
    assert allowed(event, layers, follows).all()


def test_events_without_truth_are_refused():
    event = made_event(1)
    event.is_neighbour[:] = False
    with pytest.raises(InputError, match="no neighbouring hits"):
        layer_map([event])


def write_folder(folder, events):
    folder.mkdir()
    for name, event in events.items():
        x, y, z, _ = event.hits.numpy().T
        particle = np.repeat(np.arange(len(x) // len(LAYERS)) + 1, len(LAYERS))
        hits = {"x": x, "y": y, "z": z, "layer": event.layer.numpy(), "particle_id": particle}
        pyarrow.parquet.write_table(pyarrow.table(hits), folder / f"{name}-hits.parquet")
        edges = {"source": event.source.numpy(), "target": event.target.numpy()}
        pyarrow.parquet.write_table(pyarrow.table(edges), folder / f"{name}-edges.parquet")


def main(*arguments):
    return run(lambda: graph_rules.main([str(argument) for argument in arguments]))


@pytest.fixture
def cuts(tmp_path):
    path = tmp_path / "cuts.json"
    path.write_text('{"cuts": {"max_dphi": 0.5}}')
    return path


def test_file_keeps_the_asked_part_of_neighbours_and_few_others(tmp_path, cuts, capsys, monkeypatch):
    monkeypatch.setattr(graph_rules, "STEPS", 300)
    events = {f"event_{i}": made_event(i) for i in range(10)}
    write_folder(tmp_path / "graphs", events)
    out = tmp_path / "rules.json"
    assert main("--data", tmp_path / "graphs", "--cuts", cuts, "--out", out, "--keep", 0.9) == 0
    assert "after the filter" in capsys.readouterr().out
    rules = json.loads(out.read_text())
    assert rules["cuts"] == {"max_dphi": 0.5} and rules["layers"] == list(LAYERS)
    assert len(rules["layer_pairs"]) == 5
    filter_ = {key: torch.tensor(value) for key, value in rules["filter"].items()}
    held_out = events["event_0"]
    features = held_out.features()
    hidden = torch.relu(features @ filter_["hidden_weight"] + filter_["hidden_bias"])
    passes = hidden @ filter_["weight"] + filter_["bias"] >= 0
    true = held_out.is_neighbour
    assert abs(passes[true].float().mean() - 0.9) < 0.03
    assert passes[~true].float().mean() < 0.3


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "cannot read"), ('{"cuts": {}, "layers": []}', "alone"), ("[]", "alone")],
)
def test_cuts_that_are_none_are_refused(tmp_path, text, message, capsys):
    path = tmp_path / "cuts.json"
    path.write_text(text)
    write_folder(tmp_path / "graphs", {f"event_{i}": made_event(i) for i in range(2)})
    assert main("--data", tmp_path / "graphs", "--cuts", path, "--out", tmp_path / "rules.json") == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "rules.json").exists()


def test_too_few_events_and_a_part_that_is_none_are_refused(tmp_path, cuts, capsys):
    (tmp_path / "graphs").mkdir()
    assert main("--data", tmp_path / "graphs", "--cuts", cuts, "--out", tmp_path / "rules.json") == 2
    assert "got 0 events" in capsys.readouterr().err
    assert main("--data", tmp_path / "graphs", "--cuts", cuts, "--out", tmp_path / "r.json", "--keep", 1.5) == 2
    assert "--keep" in capsys.readouterr().err
