# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Training and evaluation on tiny graphs, as a user runs them."""

import json
import os
import subprocess
import sys

import pyarrow.parquet
import pytest
import torch

from conftest import ROOT
from tensoa import edge_metrics, export
from tensoa.command import run
from tensoa.graphs import joined
from tensoa.tracking import evaluate, interaction_network, train
from tensoa.tracking.graphs import read_graphs

TINY = ["--hidden", "8", "--iterations", "2", "--held-out", "2", "--batch", "1", "--device", "cpu"]


def train_on(folder, out, *more):
    return run(lambda: train.main(["--data", str(folder), "--out", str(out), *TINY, *more]))


@pytest.fixture(scope="module")
def trained(toy_folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("trained") / "tiny.safetensors"
    assert train_on(toy_folder, out, "--epochs", "20", "--rate", "0.02") == 0
    return out


def test_loss_falls_and_edges_are_learnt(trained):
    curve = json.loads(trained.with_suffix(".json").read_text())
    assert [point["epoch"] for point in curve] == list(range(1, 21))
    assert curve[-1]["train_loss"] < 0.5 * curve[0]["train_loss"]
    assert curve[-1]["valid_edge_auc"] > 0.9


def test_same_seed_gives_same_weights(toy_folder, tmp_path):
    files = [tmp_path / "a.safetensors", tmp_path / "b.safetensors"]
    for file in files:
        assert train_on(toy_folder, file, "--epochs", "1", "--seed", "5") == 0
    a, b = (interaction_network.load(file).state_dict() for file in files)
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_time_limit_ends_the_training(toy_folder, tmp_path):
    assert train_on(toy_folder, tmp_path / "w.safetensors", "--minutes", "0.01") == 0
    assert json.loads((tmp_path / "w.json").read_text())


def test_two_processes(toy_folder, tmp_path):
    out = tmp_path / "w.safetensors"
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "-m",
        "tensoa.tracking.train",
        "--data",
        toy_folder,
        "--out",
        out,
        *TINY,
        "--epochs",
        "2",
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1"}
    subprocess.run(command, check=True, timeout=60, env=environment)
    assert len(json.loads(out.with_suffix(".json").read_text())) == 2


def test_progress_bar_on_request(toy_folder, tmp_path, capsys):
    assert train_on(toy_folder, tmp_path / "w.safetensors", "--epochs", "2", "--progress") == 0
    assert "100%" in capsys.readouterr().err


def test_evaluate_prints_figures(trained, toy_folder, tmp_path, capsys):
    model, table = tmp_path / "model.pt", tmp_path / "table.json"
    export.main([str(trained), "--out", str(model)])
    command = [str(model), "--data", str(toy_folder), "--float64", "--json", str(table)]
    assert run(lambda: evaluate.main(command)) == 0
    rows = json.loads(table.read_text())
    assert len(rows) == 7 and rows[-1]["event"] == "all" and len(capsys.readouterr().out.splitlines()) == 8
    assert rows[-1]["edges"] == sum(row["edges"] for row in rows[:-1])
    assert rows[-1]["edge_auc"] > 0.9 and rows[-1]["max_abs"] < 1e-3 and rows[-1]["changed_side"] == 0


def test_evaluate_refuses_foreign_models(toy_folder, tmp_path, capsys):
    for model, message in ((torch.nn.Identity(), "forward with 1 inputs"), (torch.nn.Bilinear(2, 2, 1), "failed on")):
        torch.jit.script(model).save(tmp_path / "model.pt")
        assert run(lambda: evaluate.main([str(tmp_path / "model.pt"), "--data", str(toy_folder)])) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1


def test_auc_counts_ties_half():
    scores, truth = torch.tensor([0.1, 0.5, 0.5, 0.9]), torch.tensor([0.0, 0.0, 1.0, 1.0])
    assert edge_metrics.edge_auc(scores, truth) == pytest.approx(3.5 / 4)
    assert edge_metrics.edge_auc(scores, torch.zeros(4)) != edge_metrics.edge_auc(scores, torch.zeros(4))  # NaN


def test_joined_graphs_stay_apart(toy_folder):
    a, b = read_graphs(toy_folder)[:2]
    both = joined([a, b])
    assert torch.equal(both.edge_index[:, : len(a.truth)], a.edge_index)
    assert torch.equal(both.edge_index[:, len(a.truth) :], b.edge_index + len(a.x))


def test_wrong_data(toy_folder, trained, tmp_path, capsys):
    out = tmp_path / "out.safetensors"
    assert train_on(tmp_path, out, "--epochs", "1") == 2
    assert "tensoa graph" in capsys.readouterr().err
    assert train_on(toy_folder, out, "--epochs", "1", "--held-out", "6") == 2
    assert "expected more than the 6 held out" in capsys.readouterr().err

    bad = tmp_path / "bad"
    bad.mkdir()
    for name in ("hits", "edges"):
        table = pyarrow.parquet.read_table(toy_folder / f"event000000000-{name}.parquet")
        pyarrow.parquet.write_table(table, bad / f"event-{name}.parquet")
    pyarrow.parquet.write_table(table.drop_columns(["dphi"]), bad / "event-edges.parquet")
    assert train_on(bad, out, "--epochs", "1") == 2
    assert "got no column dphi" in capsys.readouterr().err
    (bad / "event-edges.parquet").write_bytes(b"not parquet")
    assert train_on(bad, out, "--epochs", "1") == 2
    assert "cannot read" in capsys.readouterr().err

    assert run(lambda: evaluate.main([str(trained), "--data", str(toy_folder)])) == 2
    assert "expected a TorchScript file" in capsys.readouterr().err
    assert run(lambda: evaluate.main([str(trained), "--data", str(toy_folder), "--device", "cuda:99"])) == 2
    assert "device: got cuda:99, expected one that is here" in capsys.readouterr().err
    assert not out.exists()


def test_unwritable_output_ends_before_the_training(toy_folder, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert train_on(toy_folder, tmp_path / "file" / "w.safetensors", "--minutes", "100") == 2
    assert "cannot write" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
