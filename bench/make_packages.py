# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the models of `tensoa-bench forward`: TorchScript, and packages, plain and fused, for each target.

    python make_packages.py FOLDER [WEIGHTS] [--target cpu|cuda]     reads FOLDER/NAME.json (tensoa-bench describe-forward FOLDER)

WEIGHTS: of the Exa.TrkX network (python -m tensoa.importers.exatrkx); left out where they are not there. Packages for CUDA need a GPU;
without --target both are written where there is one.
"""

import argparse
import warnings
from pathlib import Path

import torch
from torch import nn

from tensoa import binding, just_in_time
from tensoa.export import Options, export
from tensoa.options import TARGETS
from tensoa.tracking import interaction_network
from tensoa.importers.exatrkx import read_weights

WEIGHTS = Path(__file__).parents[1] / "models" / "interaction_network.safetensors"


def mlp():
    """3 -> 64 -> 64 -> 2, ReLU."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


MODELS = {"mlp": mlp, "edge_network": lambda: interaction_network.load(WEIGHTS)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("weights", type=Path, nargs="?")
    parser.add_argument("--target", choices=TARGETS)
    options = parser.parse_args()
    if options.weights:
        MODELS["exatrkx"] = lambda: read_weights(options.weights)
    warnings.filterwarnings("ignore", "`torch.jit")
    here = TARGETS if torch.cuda.is_available() else ("cpu",)
    for name, model in MODELS.items():
        torch.jit.script(model()).save(options.folder / f"{name}.pt")
        columns = binding.load(options.folder / f"{name}.json")
        just_in_time.write(model(), columns, options.folder / f"{name}-jit.pt2")
        for target in (options.target,) if options.target else here:
            for kind in ("plain", "fused"):
                print(f"exporting {name} for {target}, {kind}", flush=True)
                package = options.folder / f"{name}-{target}-{kind}.pt2"
                export(model(), columns, package, Options(target, fuse=kind == "fused"))


if __name__ == "__main__":
    main()
