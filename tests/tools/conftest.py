# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the program, and makes the small events and models that its tests feed it."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).parents[2]
SHARED_DATA = Path(os.environ.get("TENSOA_SHARED_DATA", ROOT.parent / "shared" / "data"))
PROGRAM = Path(os.environ.get("TENSOA_PROGRAM", ROOT / "build" / "tensoa"))
BENCH = Path(os.environ.get("TENSOA_BENCH_PROGRAM", ROOT / "build" / "tensoa-bench"))
PACKAGES = Path(os.environ.get("TENSOA_TEST_PACKAGES", ROOT / "build" / "tests" / "pytorch" / "packages"))
TRACK_PACKAGES = Path(os.environ.get("TENSOA_TRACK_PACKAGES", ROOT / "build" / "tests" / "track" / "packages"))
FUSED_PACKAGES = Path(os.environ.get("TENSOA_FUSED_PACKAGES", ROOT / "build" / "tests" / "package" / "packages"))
sys.path += [str(ROOT / "python"), str(ROOT / "python" / "tests")]  # the package tensoa, and candidate_edges

torch.set_num_threads(1)
torch.manual_seed(0)  # for models that a test file makes as it is read


@pytest.fixture(autouse=True)
def seeded():
    """The same weights and numbers in every run."""
    torch.manual_seed(0)


def pytest_configure(config):
    config.addinivalue_line("filterwarnings", "ignore:`torch.jit")


def tensoa(*arguments, program=PROGRAM, **options):
    """Runs the program to its end, whatever its exit status."""
    command = [program, *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


# The output of TorchInductor's programs of torch 2.15 where weights are shared (pytorch/src/inductor/aot_runner.cpp).
OF_TORCH = "Calling constant_folding in model, but compiled with config: aot_inductor.use_runtime_constant_folding=False"


def succeed(*arguments, **options):
    """Runs the program, which must have nothing to complain of."""
    done = tensoa(*arguments, **options)
    complaints = [line for line in done.stderr.splitlines() if OF_TORCH not in line]
    assert (done.returncode, complaints) == (0, [])
    return done


def refuse(*arguments, says, program=PROGRAM, **options):
    """Runs the program, which must end with status 2 and one line on stderr that has all of `says` in it."""
    done = tensoa(*arguments, program=program, **options)
    lines = done.stderr.splitlines()
    assert (done.returncode, len(lines)) == (2, 1), done.stderr
    assert lines[0].startswith(f"{program.name}: ") and len(lines[0]) < 800
    for part in says:
        assert part in lines[0]
    return done


def shared(name):
    """A path in the shared data; skips the test where it is absent."""
    path = SHARED_DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return path


def package(name):
    """A package of tests/pytorch/make_packages.py or tests/package/make_fused_packages.py; skips the test where they are not built."""
    path = next((folder / name for folder in (FUSED_PACKAGES, TRACK_PACKAGES, PACKAGES) if (folder / name).exists()), PACKAGES / name)
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return path


def edited(path, to, edit):
    """Writes the package with `edit(manifest, records)` done to it, and a checksum that is right."""
    from tensoa.package import archive

    records, manifest = archive.read(path)
    edit(manifest, records)
    archive.write(to, records, manifest)
    return to


# Events


def straight_tracks(seed=1, particles=8, noise=5):
    """Columns of an event: straight lines from the beam line through six layers, and noise."""
    random = np.random.default_rng(seed)
    radii = np.array([32.0, 72.0, 116.0, 172.0, 260.0, 360.0])  # mm
    phi = np.tile(random.uniform(-np.pi, np.pi, particles), len(radii))
    cot_theta = np.tile(random.uniform(-1.0, 1.0, particles), len(radii))
    r, layer = np.repeat(radii, particles), np.repeat(2 * np.arange(1, len(radii) + 1), particles)
    x, y, z = r * np.cos(phi), r * np.sin(phi), r * cot_theta
    particle_id = np.tile(4503668346847232 + np.arange(particles), len(radii))
    phi = random.uniform(-np.pi, np.pi, noise)
    x, y = np.append(x, 72.0 * np.cos(phi)), np.append(y, 72.0 * np.sin(phi))
    z, layer = np.append(z, random.uniform(-400.0, 400.0, noise)), np.append(layer, np.full(noise, 4))
    particle_id = np.append(particle_id, np.zeros(noise, dtype=np.int64))
    order = random.permutation(len(x))
    hit_id = 10 * np.arange(len(x)) + 7  # no row numbers
    columns = {"x": x.round(3), "y": y.round(3), "z": z.round(3), "layer_id": layer, "particle_id": particle_id}
    return {"hit_id": hit_id, **{name: column[order] for name, column in columns.items()}}


def csv(header, *columns):
    return "\n".join([header, *(",".join(map(str, row)) for row in zip(*columns, strict=True))]) + "\n"


def hits_csv(event):
    """The text of a file of hits as TrackML has them."""
    volume = np.full(len(event["x"]), 8)
    columns = (event["hit_id"], event["x"], event["y"], event["z"], volume, event["layer_id"])
    return csv("hit_id,x,y,z,volume_id,layer_id", *columns)


def truth_csv(event):
    return csv("hit_id,particle_id", event["hit_id"], event["particle_id"])


def large_radius_csv(event):
    """The same hits as a file without header: r / 1000 mm, phi / pi, z / 1000 mm."""
    r, phi = np.hypot(event["x"], event["y"]), np.arctan2(event["y"], event["x"])
    return "".join(f"{a:.9f},{b:.9f},{c:.9f}\n" for a, b, c in zip(r / 1000, phi / np.pi, event["z"] / 1000))


def write(path, contents):
    """Writes text or bytes, packed where the name ends in .gz."""
    data = contents.encode() if isinstance(contents, str) else contents
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


def write_event(folder, name, event=None):
    """Writes hits and truth; returns the file of hits."""
    event = straight_tracks() if event is None else event
    write(folder / f"{name}-truth.csv", truth_csv(event))
    return write(folder / f"{name}-hits.csv", hits_csv(event))


# Models


class Close(torch.nn.Module):
    """Hits at the same phi belong together."""

    def forward(self, x, edge_index):
        dphi = x[edge_index[0], 1] - x[edge_index[1], 1]
        return torch.exp(-500 * dphi.abs())


def save(module, path):
    torch.jit.script(module).save(str(path))
    return path


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A model that takes no training: x, edge_index -> scores."""
    return save(Close(), tmp_path_factory.mktemp("models") / "close.pt")


@pytest.fixture(scope="session")
def our_model(tmp_path_factory):
    """Our trained interaction network."""
    from tensoa import export

    path = tmp_path_factory.mktemp("models") / "tensoa.pt"
    export.main([str(ROOT / "models" / "interaction_network.safetensors"), "--out", str(path)])
    return path


@pytest.fixture
def out(tmp_path):
    """An empty folder for what a run writes."""
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def outputs(folder):
    """The arguments that make `tensoa track` write all that it can."""
    return ("--output", folder / "tracks.csv", "--report", folder / "report.html", "--json", folder / "run.json")


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())
