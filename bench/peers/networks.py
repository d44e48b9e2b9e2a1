#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Packages made of ONNX files next to ONNX Runtime on the same files on this CPU, calls of one thread and of all.

    .venv/bin/python bench/peers/networks.py --out FILE.json [INPUT...]

Writes networks with torch.onnx, makes packages of the files with `python -m tensoa.export FILE.onnx`, and runs both:
ONNX Runtime by its C interface on tensors that are row-major and lie there already, the packages on columns. Times are
processor time of the process, in turns. INPUT: events for the graph network, as `tensoa graph` takes them.

torch, onnx and onnxruntime are those of the environment that runs this. What is made lies in BUILD/networks.
"""

import argparse
import os
import subprocess
import sys
import warnings
from pathlib import Path

import torch
from torch import nn
from write_models import export, our_network, write_network

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
import measuring  # noqa: E402

EVENTS = ("generate:1:77:50", "generate:1:77:475")
INPUTS = ["features"]


class DeepSets(nn.Module):
    """One network for every particle of a jet, and one for the mean of what it makes of them."""

    def __init__(self) -> None:
        super().__init__()
        self.particle = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.jet = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 5), nn.Softmax(dim=-1))

    def forward(self, particles: torch.Tensor) -> torch.Tensor:
        return self.jet(self.particle(particles).mean(dim=1))


def dense(*sizes: int, normalised: bool = False, last: nn.Module | None = None) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in zip(sizes, sizes[1:-1]):
        layers += [nn.Linear(inputs, outputs), *([nn.BatchNorm1d(outputs)] if normalised else []), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(*sizes[-2:]), *([last] if last else []))


def networks() -> dict[str, tuple[nn.Module, tuple[int, ...], str]]:
    """By the names that compare_networks has for them: the network, the sizes of a row, the name of its output."""
    torch.manual_seed(1)
    return {
        "mlp_3x64x64x2": (dense(3, 64, 64, 2), (3,), "preds"),
        "mlp_15x64x64x1": (nn.Sequential(dense(15, 64, 64, 1, last=nn.Sigmoid()), nn.Flatten(0)), (15,), "answers"),
        "jet_tagger_16x64x32x32x5": (
            dense(16, 64, 32, 32, 5, normalised=True, last=nn.Softmax(dim=-1)),
            (16,),
            "answers",
        ),
        "deep_sets_16x4": (DeepSets(), (16, 4), "answers"),
    }


def write_files(folder: Path) -> list[str]:
    """The ONNX files; each is run and compared with the module. Returns the names of the networks."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    made = networks()
    for name, (network, sizes, output) in made.items():
        names = [*INPUTS, output]
        export(network.eval(), (torch.randn(5, *sizes),), names, folder / f"{name}.onnx", {one: {0: "n"} for one in names})
    write_network(our_network(), folder / "edge_network.onnx")
    return [*made, "edge_network"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="*", metavar="INPUT", default=EVENTS)
    parser.add_argument("--out", required=True, metavar="FILE.json")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="where the project is built")
    options = parser.parse_args()
    folder = options.build / "networks"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cmake", "--build", options.build, "--target", "compare_networks"], check=True)
    program = options.build / "bench" / "peers" / "compare_networks"
    subprocess.run([program, "describe", folder], check=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    for name in write_files(folder):
        model, binding, package = (folder / f"{name}.{kind}" for kind in ("onnx", "json", "pt2"))
        export_package = [sys.executable, "-m", "tensoa.export", model, "--binding", binding, "--out", package]
        subprocess.run(export_package, check=True, env=environment)
    library = measuring.onnxruntime_library()
    sys.exit(subprocess.run([program, "run", library, folder, options.out, *options.inputs], check=False).returncode)


if __name__ == "__main__":
    main()
