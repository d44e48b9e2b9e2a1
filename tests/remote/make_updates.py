# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Versions of one model, for servers that are updated: `make_updates.py FOLDER` writes

first.pt2     x, y, z (float32) to a, b
second.pt2    the same columns, other weights
order.pt2     columns z, y, x
integers.pt2  columns of int32
models/       a repository for Triton: the model "updated.tensoa", which is first.pt2
"""

import json
import shutil
import sys
from pathlib import Path

import torch
from torch import nn

from tensoa import binding, export


class Network(nn.Module):
    def __init__(self, seed: int):
        super().__init__()
        torch.manual_seed(seed)
        self.layers = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x):
        return self.layers(x.float())


def block(name, columns, dtype):
    kind = {"kind": "plain", "element": [], "column_dtype": dtype, "dtype": dtype}
    described = [{"name": column, "plane": plane} for plane, column in enumerate(columns)]
    return {"name": name, "collection": 0, "shape": "rows", **kind, "columns": described}


def main() -> None:
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    versions = {
        "first": (1, "xyz", "float32"),
        "second": (2, "xyz", "float32"),
        "order": (1, "zyx", "float32"),
        "integers": (1, "xyz", "int32"),
    }
    for name, (seed, columns, dtype) in versions.items():
        described = {"schema": 1, "match": "auto", "inputs": [block("x", columns, dtype)], "outputs": [block("y", "ab", "float32")]}
        (folder / "binding.json").write_text(json.dumps(described))
        export.export(Network(seed).eval(), binding.load(folder / "binding.json"), folder / f"{name}.pt2")
    (folder / "binding.json").unlink()
    served = folder / "models" / "updated.tensoa" / "1"
    served.mkdir(parents=True)
    shutil.copy(folder / "first.pt2", served / "model.pt2")


if __name__ == "__main__":
    main()
