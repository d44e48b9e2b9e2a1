# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""An image network of ResNet-50's size and form: deployed, served by a real Triton, called with columns of pixels.

The weights are random: what is compared is the answer of the server with that of the same network here.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

ROOT = Path(__file__).parents[2]
PROGRAM = Path(os.environ.get("TENSOA_PROGRAM", ROOT / "build" / "tensoa"))
CLIENT = Path(os.environ.get("TENSOA_TEST_SERVERS", ROOT / "build" / "tests" / "remote" / "test_servers"))
SERVICE_PYTHON = Path(os.environ.get("TENSOA_SERVICE_VENV", ROOT / ".venv-service")) / "bin" / "python"
NOT_INSTALLED = 77
SIDE, CLASSES, IMAGES = 224, 1000, 8
TOLERANCE = 1e-4  # of the scores, in test_servers.cpp

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")


def convolution(before, after, size, stride=1):
    layer = nn.Conv2d(before, after, size, stride, padding=size // 2, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(after, momentum=None))


class Bottleneck(nn.Module):
    def __init__(self, before, width, stride):
        super().__init__()
        self.path = nn.Sequential(
            convolution(before, width, 1),
            nn.ReLU(),
            convolution(width, width, 3, stride),
            nn.ReLU(),
            convolution(width, 4 * width, 1),
        )
        is_same = before == 4 * width and stride == 1
        self.shortcut = nn.Identity() if is_same else convolution(before, 4 * width, 1, stride)

    def forward(self, x):
        return torch.relu(self.path(x) + self.shortcut(x))


class ResNet50(nn.Module):
    """Planes of pixels [3, images * 224 * 224] -> scores [1, images * 1000]."""

    def __init__(self):
        super().__init__()
        parts = [convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)]
        before = 64
        for width, blocks, stride in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
            for block in range(blocks):
                parts.append(Bottleneck(before, width, stride if block == 0 else 1))
                before = 4 * width
        self.parts = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, CLASSES))

    def forward(self, planes):
        images = planes.view(3, -1, 224, 224).transpose(0, 1)
        return self.parts(images).view(1, -1)


def block(name, collection, columns):
    described = [{"name": column, "plane": plane} for plane, column in enumerate(columns)]
    kind = {"kind": "plain", "element": [], "column_dtype": "float32", "dtype": "float32"}
    return {"name": name, "collection": collection, "shape": "columns", **kind, "columns": described}


def write_network(folder):
    """Writes network.pt, its binding.json, and pixels.f32 with its answers scores.f32."""
    torch.manual_seed(50)
    torch.set_num_threads(2)
    network = ResNet50()
    assert 25.5e6 < sum(parameter.numel() for parameter in network.parameters()) < 25.6e6  # 25 557 032 of torchvision's
    large_spots = nn.functional.interpolate(torch.randn(IMAGES, 3, 7, 7), scale_factor=SIDE // 7)
    pixels = (large_spots + 0.3 * torch.randn(IMAGES, 3, SIDE, SIDE)).transpose(0, 1).reshape(3, -1).contiguous()
    with torch.no_grad():
        network(pixels)  # the means and variances of its normalisations
        scores = network.eval()(pixels)
    between_images = scores.view(IMAGES, -1).std(dim=0).mean()
    assert between_images > 100 * TOLERANCE, between_images
    torch.jit.script(network).save(str(folder / "network.pt"))
    described = {"inputs": [block("pixels", 0, ["r", "g", "b"])], "outputs": [block("scores", 1, ["score"])]}
    (folder / "binding.json").write_text(json.dumps({"schema": 1, "match": "auto", **described}))
    pixels.numpy().tofile(folder / "pixels.f32")
    scores.numpy().tofile(folder / "scores.f32")


def make_python(folder):
    """Writes a virtual environment of Triton's own Python, to which the torch of this one is added; skips where it cannot be.

    Triton 2.51 sends empty answers where the numpy is a numpy 2, so it must be its own.
    """
    version = f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    if not SERVICE_PYTHON.exists() or subprocess.run([SERVICE_PYTHON, "-c", version], check=False).returncode != 0:
        pytest.skip(f"{SERVICE_PYTHON} is not a Python of the version that has torch here")
    subprocess.run([SERVICE_PYTHON, "-m", "venv", "--without-pip", folder], check=True, timeout=60)
    packages = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    torch_there = Path(torch.__file__).parents[1]
    (folder / packages / "torch.pth").write_text(f"{SERVICE_PYTHON.parents[1] / packages}\n{torch_there}\n")
    return folder


@pytest.fixture
def folder(tmp_path):
    yield tmp_path
    shutil.rmtree(tmp_path)  # 100 MB, twice


def test_a_network_of_the_size_of_resnet_50_answers_as_here(folder):
    python = make_python(folder / "python")
    write_network(folder)
    deploy = [PROGRAM, "deploy", folder / "network.pt", "--binding", folder / "binding.json", "--variant", "python"]
    subprocess.run([*deploy, "--name", "images", "--to", folder / "models"], check=True, capture_output=True, timeout=60)
    with (folder / "models" / "images" / "config.pbtxt").open("a") as config:
        config.write(f'parameters {{ key: "EXECUTION_ENV_PATH" value {{ string_value: "{python}" }} }}\n')
    done = subprocess.run(
        [ROOT / "tests/service/run.py", "--repository", folder / "models", "--", CLIENT, "--gtest_filter=Images.*"],
        env={**os.environ, "TENSOA_TEST_IMAGES": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode == NOT_INSTALLED:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[  PASSED  ] 1 test" in done.stdout, done.stdout
