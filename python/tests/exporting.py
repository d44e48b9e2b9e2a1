# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Common parts of tests of the exporter."""

import pytest
import torch
from torch import nn

from tensoa import binding
from tensoa.errors import InputError
from tensoa.export import Options, export
from tensoa.package.cases import KINDS


def block(name, columns, planes=None, collection=0, **other):
    text = {
        "name": name,
        "collection": collection,
        "shape": "rows",
        "kind": "plain",
        "element": [],
        "column_dtype": "float32",
        "dtype": "float32",
    }
    planes = planes or range(len(columns))
    return {**text, **other, "columns": [{"name": c, "plane": p} for c, p in zip(columns, planes)]}


def bind(inputs, outputs, match="order"):
    return binding.parse({"schema": 1, "match": match, "inputs": inputs, "outputs": outputs})


#: (kind of numbers, rows) of what a package of floats is checked with.
CASES = [*(("normal", [n]) for n in (1, 2, 33, 1000)), *((kind, [100]) for kind in KINDS[1:])]


def agreement(framework, less=0):
    """The lines of the export of a model of floats that agrees with its framework in all cases, but for `less`."""
    return f"compared with {framework}: the same in {len(CASES) - less} sets of columns"


THREE_TO_TWO = ([block("features", "xyz")], [block("preds", "mn")])


class Module(nn.Module):
    """A module of one function."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.weight = nn.Parameter(torch.full((3, 2), 0.5))

    def forward(self, *inputs):
        return self.function(self, *inputs)


def refusal(module, columns, tmp_path, **options):
    """The message of the InputError; nothing may be left behind."""
    with pytest.raises(InputError) as caught:
        export(module, columns, tmp_path / "package.pt2", Options(**options))
    assert list(tmp_path.iterdir()) == []
    message = str(caught.value)
    assert "\n" not in message
    return message
