# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes packages that are fused in part, of the model in inductor/test_fused_parts.cpp, and two that are wrong. Those for GPUs
only where one is.

    python make_parts.py FOLDER MLP.json

MLP.json: the binding of the columns.
"""

import sys
from pathlib import Path

import torch
from torch import nn

from tensoa import binding
from tensoa.export import Options
from tensoa.export import export as write_package
from tensoa.package import archive


class RunningSum(nn.Module):
    """Layers before and after a sum along all rows."""

    def __init__(self, bias):
        super().__init__()
        self.first, self.second = nn.Linear(3, 2), nn.Linear(2, 2)
        with torch.no_grad():
            for layer, weight in ((self.first, [[1.0, 2, 0], [0, -1, 1]]), (self.second, [[1.0, 1], [2, -1]])):
                layer.weight.copy_(torch.tensor(weight))
                layer.bias.copy_(torch.tensor([bias, 0.0]))

    def forward(self, x):
        return self.second(torch.relu(self.first(x)).cumsum(0) / 1024)


def write(folder, columns, target):
    folder.mkdir(parents=True, exist_ok=True)
    for name, bias in (("sum", 1.0), ("sum_of_other_weights", 3.0)):
        write_package(RunningSum(bias), binding.load(columns), folder / f"{name}-{target}.pt2", Options(target))


def main(folder, columns):
    for target in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
        write(folder, columns, target)

    def changed(name, edit):
        records, manifest = archive.read(folder / "sum-cpu.pt2")
        assert len(manifest["parts"]) == 2
        edit(manifest)
        archive.write(folder / f"{name}-cpu.pt2", records, manifest)

    def for_another_processor(manifest):
        for variant in manifest["parts"][1]["cpu"]:
            variant["cpu_flags"].append("quantum")

    changed("other_processor", for_another_processor)
    changed("rows_of_nothing", lambda manifest: manifest["parts"][0]["outputs"][0].update(rows_of=7))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
