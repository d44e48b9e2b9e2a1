# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the models of python/tests/row_models.py, and random ones, as TorchScript and programs of torch.export.

    python make_row_models.py FOLDER

FOLDER/models.txt has a line for each: NAME, whether an oracle in float64 sees a row change another one (0 or 1), and whether its
rows have to be proven independent.
"""

import sys
import warnings
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "tests"))
from row_models import ALONE, TOGETHER, WIDTH, Function, RandomSteps, oracle_sees_dependence  # noqa: E402

warnings.filterwarnings("ignore")
RANDOM = 60


class Images(nn.Module):
    """Layers whose results have 1 MB for each row."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Conv2d(WIDTH, WIDTH, 3, padding=1), nn.BatchNorm2d(WIDTH), nn.ReLU()) for _ in range(8))

    def forward(self, x):
        y = x[:, :, None, None].expand(-1, WIDTH, 256, 256)
        for layer in self.layers:
            y = y + layer(y)
        return y.mean((2, 3))


class OneColumn(nn.Module):
    """Of what a model gives for a row, one number."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x).reshape(x.shape[0], -1).sum(1, keepdim=True)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    models = {name: (model, False, True) for name, model in ALONE.items()}
    models["images"] = (Images(), False, True)
    for name, (model, _) in TOGETHER.items():
        if name != "one for all":
            models["all_" + name] = (model if isinstance(model, nn.Module) else Function(model), True, False)
    for seed in range(RANDOM):
        module = RandomSteps(seed)
        models[f"random_{seed}"] = (module, oracle_sees_dependence(module), False)
    lines = []
    for name, (model, is_seen, is_proven) in models.items():
        name = name.replace(" ", "_")
        module = OneColumn(model).eval().requires_grad_(False)
        x = torch.randn(30, WIDTH, generator=torch.Generator().manual_seed(1))
        with torch.no_grad():
            torch.jit.trace(module, x, check_trace=False).save(folder / f"{name}.pt")
            program = torch.export.export(module, (x,), dynamic_shapes=({0: torch.export.Dim.AUTO},))
        torch.export.save(program, folder / f"{name}.pt2")
        lines.append(f"{name} {int(is_seen)} {int(is_proven)}\n")
    (folder / "models.txt").write_text("".join(lines))


main(Path(sys.argv[1]))
