# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The program with trained models on real and on unseen generated events."""

import json
from collections import Counter, defaultdict

import numpy as np
import pyarrow.csv
import pytest

from conftest import ROOT, shared, succeed


def track(folder, *arguments):
    succeed("track", *arguments, "--device", "cpu", "--json", folder / "run.json")
    return json.loads((folder / "run.json").read_text())


@pytest.fixture(scope="module")
def exatrkx_model(tmp_path_factory):
    """The Exa.TrkX weights as TorchScript."""
    weights = shared("exatrkx_gnn/weights.txt.gz")
    from tensoa.importers.exatrkx.__main__ import main

    path = tmp_path_factory.mktemp("models") / "exatrkx.pt"
    main([str(weights), "--out", str(path)])
    return path


def test_exatrkx_model_on_the_real_event(exatrkx_model, out):
    run = track(out, shared("trackml"), "--model", exatrkx_model)
    assert (run["events"], run["failed"], run["hits"]) == (1, 0, 5527)
    assert (run["edges"], run["true_edges"]) == (60023, 10302)
    assert run["edge_auc"] == pytest.approx(0.9184, abs=5e-4)
    assert run["copies"] == {"bytes_in": 0, "bytes_out": 4 * 60023}


def test_our_model_on_the_real_event(our_model, out):
    """The facts of its card on the event, which is not a part of its training data."""
    rules = ROOT / "models" / "interaction_network.graph.json"
    run = track(out, shared("trackml"), "--model", our_model, "--graph", rules)
    assert run["edges"] < 47_000 and run["edge_auc"] > 0.999
    truth = run["tracks_against_truth"]
    assert truth["all"]["min_hits_3"]["efficiency"] > 0.89 and truth["all"]["min_pt_0_5_gev"]["efficiency"] > 0.98
    assert truth["fake_rate"] < 0.02 and truth["duplicate_rate"] < 0.01


def counted(tracks, hits, truth, particles):
    """Tracks, fakes, duplicates, and found and counted particles, as their definitions say and no faster."""
    particle_of = dict(zip(truth["hit_id"], truth["particle_id"]))
    on_track, of_particle = defaultdict(list), defaultdict(list)
    for hit_id, track_id in zip(tracks["hit_id"], tracks["track_id"]):
        if track_id >= 0:
            on_track[track_id].append(hit_id)
    for hit_id in hits["hit_id"]:
        if particle_of[hit_id] != 0:
            of_particle[particle_of[hit_id]].append(hit_id)
    found, matched = set(), Counter()
    for rows in on_track.values():
        particle, n = Counter(particle_of[hit_id] for hit_id in rows).most_common(1)[0]
        if particle == 0 or 2 * n <= len(rows):
            continue
        matched[particle] += 1
        if 2 * n > len(of_particle[particle]):
            found.add(particle)
    pt = dict(zip(particles["particle_id"], np.hypot(particles["px"], particles["py"])))
    radius = dict(zip(particles["particle_id"], np.hypot(particles["vx"], particles["vy"])))
    charge = dict(zip(particles["particle_id"], particles["q"]))
    figures = {"tracks": len(on_track), "fakes": len(on_track) - matched.total(), "duplicates": matched.total() - len(matched)}
    categories = {"min_hits_3": (3, 0), "min_hits_5": (5, 0), "min_pt_0_5_gev": (3, 0.5), "min_pt_1_gev": (3, 1)}
    for kind in ("all", "primary"):
        for name, (min_hits, min_pt) in categories.items():
            ids = {p for p, rows in of_particle.items() if len(rows) >= min_hits and pt[p] >= min_pt}
            if kind == "primary":
                ids = {p for p in ids if radius[p] <= 2 and charge[p] != 0}
            figures[kind, name] = (len(ids & found), len(ids))
    return figures


def test_tracks_of_the_real_event_against_its_truth(our_model, out):
    folder = shared("trackml")
    run = track(out, folder, "--model", our_model, "--output", out / "tracks.csv")["tracks_against_truth"]
    files = [folder / f"event000000001-{name}.csv.gz" for name in ("hits", "truth", "particles")]
    tables = [pyarrow.csv.read_csv(path).to_pydict() for path in (out / "tracks.csv", *files)]
    categories = {(kind, name): (c["found"], c["particles"]) for kind in ("all", "primary") for name, c in run[kind].items()}
    assert {key: run[key] for key in ("tracks", "fakes", "duplicates")} | categories == counted(*tables)
    # Counted by another program: true edges alone, connected.
    assert run["all"]["min_hits_3"]["ceiling"] == pytest.approx(0.854, abs=5e-4)
    assert run["all"]["min_pt_1_gev"]["ceiling"] == pytest.approx(0.926, abs=5e-4)


def test_our_model_on_the_large_radius_events(our_model, out):
    """100 events without truth."""
    run = track(out, shared("lrt"), "--model", our_model, "--threads", 2)
    assert (run["events"], run["failed"], run["hits"]) == (100, 0, 132111)
    assert run["edges"] > 100000 and run["tracks"] > 1000
    for key in ("true_edges", "edge_auc", "edge_efficiency", "edge_purity", "track_efficiency", "tracks_against_truth"):
        assert run[key] is None


def test_our_model_on_unseen_generated_events(our_model, out):
    run = track(out, "generate:2:987654321", "--model", our_model, "--threads", 2)
    assert (run["events"], run["failed"]) == (2, 0)
    assert run["edge_auc"] >= 0.98
