# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the models of python/tests/row_models.py, and random ones, as TorchScript and programs of torch.export.

    python make_row_models.py FOLDER

FOLDER/models.txt has a line for each file: NAME, whether an oracle in float64 sees a row change another one (0 or 1), and
whether its rows have to be proven independent. FOLDER/two.txt has the same for files with a second collection.
"""

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "tests"))
from row_models import ALONE, STEPS_WITH_OTHERS, TOGETHER, WIDTH, Function, RandomSteps, oracle_sees_dependence
from tensoa.row_numbers import limits_of

warnings.filterwarnings("ignore")
RANDOM, RANDOM_OF_TWO = 60, 20
AUTO = torch.export.Dim.AUTO


class Images(nn.Module):
    """Layers whose results have 1 MB for each row."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Conv2d(WIDTH, WIDTH, 3, padding=1), nn.BatchNorm2d(WIDTH), nn.ReLU()) for _ in range(8)
        )

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

    def forward(self, x, *others):
        return self.model(x, *others).reshape(x.shape[0], -1).sum(1, keepdim=True)


def models() -> Iterator[tuple[str, nn.Module, bool | None, bool]]:
    """Names, models, whether a row changes another one (None: the oracle says it), and whether they have to be proven."""
    for name, model in ALONE.items():
        yield name, model, False, True
    yield "images", Images(), False, True
    for name, (model, _) in TOGETHER.items():
        if name != "one for all":
            yield "all_" + name, model if isinstance(model, nn.Module) else Function(model), True, False
    for seed in range(RANDOM):
        yield f"random_{seed}", RandomSteps(seed), None, False


def is_seen(model: nn.Module, is_known: bool | None, x: torch.Tensor) -> tuple[bool, bool]:
    """Of the model, and of its trace, which follows one way of each branch."""
    if is_known is not None:
        return is_known, is_known
    trace = torch.jit.trace(model, x.double(), check_trace=False)
    return oracle_sees_dependence(model), oracle_sees_dependence(trace)


def program_of(model: nn.Module, tensors: tuple[torch.Tensor, ...]) -> torch.export.ExportedProgram:
    others = tuple({0: AUTO} for _ in tensors[1:])
    return torch.export.export(model, tensors, dynamic_shapes=({0: AUTO}, others) if others else ({0: AUTO},))


def has_free_rows(program: torch.export.ExportedProgram) -> bool:
    """Not where a branch of the model fixes them; the engine then takes no other number."""
    inputs = (
        node.meta["val"]
        for node in program.graph.nodes
        if node.op == "placeholder" and node.name in program.graph_signature.user_inputs
    )
    sizes = [value.shape[0] for value in inputs]
    limits = [limits_of(program, size) for size in sizes if isinstance(size, torch.SymInt)]
    return len(limits) == len(sizes) and all(one is not None and one.lower < one.upper for one in limits)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    x, e = (torch.randn(rows, width, generator=torch.Generator().manual_seed(1)) for rows, width in ((30, WIDTH), (20, 2)))
    lines = []
    for name, model, is_known, is_proven in models():
        name = name.replace(" ", "_")
        with torch.no_grad():
            seen, seen_of_trace = is_seen(model.eval().requires_grad_(False), is_known, x)
            module = OneColumn(model).eval()
            torch.jit.trace(module, x, check_trace=False).save(folder / f"{name}.pt")
            program = program_of(module, (x,))
        lines.append(f"{name}.pt {int(seen_of_trace)} {int(is_proven)}\n")
        if has_free_rows(program):
            torch.export.save(program, folder / f"{name}.pt2")
            lines.append(f"{name}.pt2 {int(seen)} {int(is_proven)}\n")
    (folder / "models.txt").write_text("".join(lines))
    lines = []
    for i in range(len(STEPS_WITH_OTHERS) + RANDOM_OF_TWO):
        model = RandomSteps(i, has_others=True)
        if i < len(STEPS_WITH_OTHERS):
            model.steps = [(STEPS_WITH_OTHERS[i], 0)]
        with torch.no_grad():
            program = program_of(OneColumn(model).eval(), (x, e))
        if has_free_rows(program):
            torch.export.save(program, folder / f"two_{i}.pt2")
            lines.append(f"two_{i}.pt2 {int(oracle_sees_dependence(model, has_others=True))} 0\n")
    (folder / "two.txt").write_text("".join(lines))


main(Path(sys.argv[1]))
