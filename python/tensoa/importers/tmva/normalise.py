# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The transformation Normalize of TMVA, which puts variables between -1 and 1, and takes targets back from there."""

import xml.etree.ElementTree as xml

import numpy as np
import torch
from torch import nn

from tensoa.importers.tmva.setup import Setup

Range = tuple[np.float32, np.float32]


class Normalise(nn.Module):
    """(x - least) * scale - shift; scale is 2 / (largest - least), and shift 1. Leaves alone what has no range."""

    least: torch.Tensor
    scale: torch.Tensor
    shift: torch.Tensor

    def __init__(self, ranges: list[Range | None]) -> None:
        super().__init__()
        one, two = np.float32(1), np.float32(2)
        rows = [(one * 0, one, one * 0) if r is None else (r[0], one / (r[1] - r[0]) * two, one) for r in ranges]
        for name, values in zip(("least", "scale", "shift"), zip(*rows)):
            self.register_buffer(name, torch.tensor(np.array(values, np.float32)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x - self.least) * self.scale - self.shift

    def inverse(self, x: torch.Tensor) -> torch.Tensor:
        return self.least + (x + self.shift) / self.scale


def transformations(setup: Setup, root: xml.Element, targets: list[str]) -> tuple[nn.Sequential, Normalise | None]:
    """(those of the variables, that of the targets if any)."""
    if setup.options.get("Normalise", "False") != "False":
        setup.fail("its variables are transformed by the option Normalise, expected VarTransform=N")
    before, after = nn.Sequential(), []
    for transform in root.findall("Transformations/Transform"):
        name = transform.get("Name", "?")
        if name != "Normalize":
            setup.fail(f"its variables are transformed by {name}, expected Normalize (N) or none")
        found = _ranges(setup, transform, targets)
        before.append(Normalise([found.get(("Variable", i)) for i in range(len(setup.variables))]))
        if any(kind == "Target" for kind, _ in found):
            after.append(Normalise([found.get(("Target", i)) for i in range(len(targets))]))
    if len(after) > 1:
        setup.fail(f"its targets are transformed {len(after)} times, expected once")
    return before, after[0] if after else None


def _ranges(setup: Setup, transform: xml.Element, targets: list[str]) -> dict[tuple[str, int], Range]:
    """By Variable or Target, and number: the ranges of the last class, which is all classes together."""
    classes = transform.findall("Class")
    if not classes or [one.get("ClassIndex") for one in classes] != [str(i) for i in range(len(classes))]:
        setup.fail(f"Normalize: got the classes {[one.get('ClassIndex') for one in classes]}, expected 0, 1, …")
    selection = transform.find("Selection")
    if selection is not None:
        places = _selected(setup, selection, targets)
        return _indexed(setup, classes[-1].find("Ranges"), "Index", places)
    variables = [("Variable", i) for i in range(len(setup.variables))]
    older = _indexed(setup, classes[-1].find("Variables"), "VarIndex", variables)
    return older | _indexed(setup, classes[-1].find("Targets"), "TargetIndex", [("Target", i) for i in range(len(targets))])


def _selected(setup: Setup, selection: xml.Element, targets: list[str]) -> list[tuple[str, int]]:
    """The variables of the ranges."""
    given, put = ([dict(one.attrib) for one in selection.findall(f"{name}/{name}")] for name in ("Input", "Output"))
    if given != put:
        setup.fail("Normalize: it rearranges its variables, expected one that leaves them where they are")
    places = []
    for one in given:
        kind, label = one.get("Type", ""), one.get("Label", "")
        names = {"Variable": setup.variables, "Target": targets}.get(kind, [label])
        if label not in names:
            setup.fail(f"Normalize: there is no {kind} {label}, there are {', '.join(names)}")
        places.append((kind, names.index(label)))
    return places


def _indexed(
    setup: Setup, ranges: xml.Element | None, index: str, places: list[tuple[str, int]]
) -> dict[tuple[str, int], Range]:
    found: dict[tuple[str, int], Range] = {}
    entries = [] if ranges is None else list(ranges)
    if [one.get(index) for one in entries] != [str(i) for i in range(len(places))]:
        setup.fail(f"Normalize: got {len(entries)} ranges, expected {len(places)}, with {index} 0, 1, …")
    for place, one in zip(places, entries):
        try:
            least, largest = (np.float32(float(one.get(name, "missing"))) for name in ("Min", "Max"))
        except ValueError as error:
            setup.fail(f"Normalize, {place[0]} {place[1]}: {error}")
        if not least < largest or not np.isfinite(largest - least):
            setup.fail(f"Normalize, {place[0]} {place[1]}: got Min {least} and Max {largest}, expected a finite range")
        found[place] = least, largest
    return found
