# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the models of `tensoa bench forward`: TorchScript, and packages, plain and fused, for each target.

    python make_packages.py FOLDER [WEIGHTS]     reads FOLDER/NAME.json (tensoa bench describe-forward FOLDER)

WEIGHTS: of the Exa.TrkX network (python -m tensoa.import_exatrkx); left out where they are not there. Packages for CUDA are written where there is a GPU.
"""

import sys
import warnings
from pathlib import Path

import torch
from torch import nn

from tensoa import aot, binding, interaction_network
from tensoa.import_exatrkx import read_weights

WEIGHTS = Path(__file__).parents[1] / "models" / "interaction_network.safetensors"


def mlp():
    """3 -> 64 -> 64 -> 2, ReLU."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


MODELS = {"mlp": mlp, "edge_network": lambda: interaction_network.load(WEIGHTS)}


def main(folder: Path, exatrkx: Path | None = None):
    if exatrkx:
        MODELS["exatrkx"] = lambda: read_weights(exatrkx)
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    targets = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    for name, model in MODELS.items():
        torch.jit.script(model()).save(folder / f"{name}.pt")
        columns = binding.load(folder / f"{name}.json")
        for target in targets:
            for kind in ("plain", "fused"):
                print(f"exporting {name} for {target}, {kind}", flush=True)
                aot.export(model(), columns, folder / f"{name}-{target}-{kind}.pt2", target, fuse=kind == "fused")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
