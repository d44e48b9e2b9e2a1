# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The program with trained models on real and on unseen generated events."""

import json

import pytest

from conftest import shared, succeed


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


def test_our_model_on_the_real_event(our_model, exatrkx_model, out):
    """It has never seen it, and still does better than weights from the same kind of data."""
    run = track(out, shared("trackml"), "--model", our_model)
    assert (run["edges"], run["true_edges"]) == (60023, 10302)
    assert run["edge_auc"] > 0.9184


def test_our_model_on_the_large_radius_events(our_model, out):
    """100 events without truth."""
    run = track(out, shared("lrt"), "--model", our_model, "--threads", 2)
    assert (run["events"], run["failed"], run["hits"]) == (100, 0, 132111)
    assert run["edges"] > 100000 and run["tracks"] > 1000
    for key in ("true_edges", "edge_auc", "edge_efficiency", "edge_purity", "track_efficiency"):
        assert run[key] is None


def test_our_model_on_unseen_generated_events(our_model, out):
    run = track(out, "generate:2:987654321", "--model", our_model, "--threads", 2)
    assert (run["events"], run["failed"]) == (2, 0)
    assert run["edge_auc"] >= 0.98
