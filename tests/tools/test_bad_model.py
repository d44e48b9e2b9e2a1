# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models that cannot be used: one line, status 2, no files, whatever the number of events."""

import json
import os
import resource
import shutil
import subprocess
import zipfile

import pytest
import torch
from torch import Tensor, nn

from conftest import PROGRAM, Close, names_in, outputs, package, refuse, save, straight_tracks, tensoa, write_event

EXPECTED = "expected forward(x [n_hits, 3] float32, edge_index [2, n_edges] int64"
MODELS = {}


def misfit(*says):
    """Adds a module to the models that must be refused, with what the line must say."""

    def add(cls):
        MODELS[cls.__name__] = (cls, says)
        return cls

    return add


@misfit("forward takes 1 tensor;", EXPECTED)
class OneArgument(nn.Module):
    def forward(self, x):
        return torch.sigmoid(x[:, 0])


@misfit("forward takes 4 tensors;", EXPECTED)
class FourArguments(nn.Module):
    def forward(self, x, edge_index, edge_attr, weight):
        return torch.sigmoid(edge_attr[:, 0] * weight)


@misfit("forward takes int iterations", "expected tensors only")
class TakesNumber(nn.Module):
    def forward(self, x, edge_index, iterations: int):
        return torch.sigmoid(x[edge_index[0], 0] * iterations)


@misfit("no forward method")
class NoForward(nn.Module):
    @torch.jit.export
    def score(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return torch.sigmoid(x[edge_index[0], 0])


@misfit("gives float32[", EXPECTED)
class ScoreForEachHit(nn.Module):
    def forward(self, x, edge_index):
        return torch.sigmoid(x[:, 0])


@misfit("gives float32[", ", 2]", EXPECTED)
class TwoScores(nn.Module):
    def forward(self, x, edge_index):
        return torch.sigmoid(x[edge_index[0], :2])


@misfit("gives float64[", "which is float32[", EXPECTED)
class DoubleScores(nn.Module):
    def forward(self, x, edge_index):
        return torch.sigmoid(x[edge_index[0], 0]).double()


@misfit("gives 2 outputs", EXPECTED)
class TwoOutputs(nn.Module):
    def forward(self, x, edge_index):
        return torch.sigmoid(x[edge_index[0], 0]), x


@misfit('gives an output called "probability", got output blocks called score', EXPECTED)
class Dictionary(nn.Module):
    def forward(self, x, edge_index) -> dict[str, Tensor]:
        return {"probability": torch.sigmoid(x[edge_index[0], 0])}


@misfit("scores are outside [0, 1]", EXPECTED)
class Logits(nn.Module):
    """Forgets the sigmoid."""

    def forward(self, x, edge_index):
        return 100 * (x[edge_index[0], 1] - x[edge_index[1], 1])


@misfit("scores are outside [0, 1]", EXPECTED)
class NotANumber(nn.Module):
    def forward(self, x, edge_index):
        return 0 * x[edge_index[0], 0] / 0


@misfit("failed while running: all wrong", EXPECTED)
class Raises(nn.Module):
    def forward(self, x, edge_index):
        if x.shape[0] > 0:
            raise ValueError("all wrong\nin every way")
        return x


@misfit("failed while running: ", EXPECTED)
class OtherFeatures(nn.Module):
    """Wants five node features."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 1)

    def forward(self, x, edge_index):
        return torch.sigmoid(self.linear(x)[edge_index[0]])


@misfit("failed while running: ", EXPECTED)
class OtherEdgeFeatures(nn.Module):
    """Wants two edge features."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 1)

    def forward(self, x, edge_index, edge_attr):
        return torch.sigmoid(self.linear(edge_attr))


@pytest.mark.parametrize("name", MODELS)
def test_model_with_another_signature_is_refused(name, tmp_path, out):
    """Once, not once an event."""
    cls, says = MODELS[name]
    path = save(cls(), tmp_path / "model.pt")
    refuse("track", "generate:3:1:20", "--model", path, *outputs(out), says=["model.pt", *says])
    assert names_in(out) == []


def missing(path):
    return path


def folder(path):
    path.mkdir()
    return path


def empty(path):
    path.write_bytes(b"")
    return path


def truncated(path):
    whole = save(Close(), path).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    return path


def text(path):
    path.write_text("not a model\n")
    return path


def state_dict(path):
    torch.save(nn.Linear(3, 1).state_dict(), path)
    return path


def other_archive(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme", "nothing here")
    return path


NOT_TORCHSCRIPT = "is not a TorchScript file"
FILES = {
    missing: ["there is no such file"],
    folder: ["is not a file"],
    empty: ["is empty"],
    truncated: [NOT_TORCHSCRIPT, "it is not an archive: cut off"],
    text: ["is text and not a model"],
    state_dict: [NOT_TORCHSCRIPT, "it is a file of torch.save, a state_dict or a pickled module"],
    other_archive: [NOT_TORCHSCRIPT],
}


@pytest.mark.parametrize("make", FILES)
def test_model_file_that_cannot_be_loaded_is_refused(make, tmp_path, out):
    path = make(tmp_path / "model.pt")
    refuse("track", "generate:3:1:20", "--model", path, *outputs(out), says=["model.pt", *FILES[make]])
    assert names_in(out) == []


def test_package_that_cannot_be_unpacked_names_the_way_out(tmp_path, out):
    """A limit on the size of files stands for a full disk."""
    path, folder = package("fused.pt2"), tmp_path / "packages"
    says = ["fused.pt2: its ", " bytes cannot be unpacked in ", str(folder), "too large", "set TENSOA_PACKAGE_FOLDER"]
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # noqa: E731
    environment = {**os.environ, "TENSOA_PACKAGE_FOLDER": str(folder)}
    refuse("track", "generate:1", "--model", path, *outputs(out), says=says, env=environment, preexec_fn=limit)
    assert names_in(out) == [] and list(folder.glob("*/*")) == []


def test_without_torch_models_that_need_it_are_refused_and_others_run(tmp_path, out):
    alone = shutil.copy(PROGRAM, tmp_path)  # without libtensoa_torch.so next to it
    for command, model in (("inspect", save(Close(), tmp_path / "m.pt")), ("check", package("mlp-cpu.pt2"))):
        done = subprocess.run([alone, command, model], capture_output=True, text=True)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
        for part in ("needs torch", "libtensoa_torch.so", torch.__version__.split("+")[0], "LD_LIBRARY_PATH"):
            assert part in done.stderr
    assert subprocess.run([alone, "inspect", package("fused.pt2")], capture_output=True).returncode == 0


class FailsWithoutNoise(nn.Module):
    """A model that fits, but not every event."""

    def forward(self, x, edge_index):
        if x.shape[0] == 48:
            raise ValueError("no noise here")
        return torch.exp(-500 * (x[edge_index[0], 1] - x[edge_index[1], 1]).abs())


def test_model_that_fails_on_one_event_fails_that_event(tmp_path, out):
    batch = tmp_path / "batch"
    batch.mkdir()
    write_event(batch, "clean", straight_tracks(particles=8, noise=0))
    write_event(batch, "noisy", straight_tracks(particles=8, noise=5))
    path = save(FailsWithoutNoise(), tmp_path / "model.pt")
    done = tensoa("track", batch, "--model", path, *outputs(out))
    assert done.returncode == 2
    assert done.stderr.startswith(f"tensoa: event clean: model {path}: failed while running: no noise here; inputs: ")
    assert 'block "edge_index" (columns source, target) int64[2, ' in done.stderr
    run = json.loads((out / "run.json").read_text())
    assert (run["events"], run["failed"]) == (1, 1)
