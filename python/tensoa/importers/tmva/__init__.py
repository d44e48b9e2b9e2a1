# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Networks of TMVA (MLP, DNN, and DL of dense layers) in weights.xml, as modules of torch.

Their input is the variables before the file's own normalisation, their results are what TMVA's Reader gives, but for NaN,
for which it gives -999.
"""

import xml.etree.ElementTree as xml
from os import PathLike
from pathlib import Path

import torch
from torch import nn

from tensoa.binding import Binding
from tensoa.binding.defaults import Taken
from tensoa.errors import InputError
from tensoa.importers.columns import order_of
from tensoa.importers.tmva import layers
from tensoa.importers.tmva.normalise import transformations
from tensoa.importers.tmva.setup import NETWORKS, Setup

KINDS = ("Classification", "Multiclass", "Regression")


def import_tmva(path: str | PathLike, columns: Binding | None = None) -> "Tmva":
    """The network in a file; where a binding is given, for its columns: by the labels or expressions of the variables where
    a block has them, in any order, else in order. Raises InputError.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}") from error
    network = Tmva(Setup(content, f"{path}: "))
    if columns is not None:
        try:
            network.order_by(columns)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
    return network


class Tmva(nn.Module):
    """[n, variables] to [n, 1], or to a column for each class or target."""

    def __init__(self, setup: Setup) -> None:
        super().__init__()
        root = setup.root()
        if setup.method == "BDT":
            setup.fail("it is an ensemble of trees (BDT), expected a network; tensoa compile makes packages of trees")
        if setup.method not in NETWORKS:
            setup.fail(f'its method is "{setup.method}", expected one of {", ".join(NETWORKS)}')
        kind = setup.info.get("AnalysisType", "Classification")
        if kind not in KINDS:
            setup.fail(f"its AnalysisType is {kind}, expected one of {', '.join(KINDS)}")
        weights = root.find("Weights")
        if weights is None:
            setup.fail("its Weights are missing")
        network = (layers.of_mlp if setup.method == "MLP" else layers.of_dnn)(setup, weights)
        self.variables, self.expressions, self.layers = setup.variables, setup.expressions, network.layers
        if len(self.variables) != network.inputs:
            setup.fail(f"it has {len(self.variables)} variables, its first layer takes {network.inputs}")
        self.labels = _labels(root, kind)
        if network.outputs != (len(self.labels) or 1):
            expected = f"{len(self.labels)} ({', '.join(self.labels)})" if self.labels else "1"
            setup.fail(f"its last layer has {network.outputs} neurons, expected {expected}")
        self.before, self.after = transformations(setup, root, self.labels if kind == "Regression" else [])
        self.notes: list[str] = []
        self.result_names: list[str] = []  # one result, without a name
        self.taken_by_file = [Taken("x", torch.float32, (None, len(self.variables)), tuple(self.variables))]
        self.order: list[int] | None = None
        self.result_order: list[int] | None = None

    def order_by(self, columns: Binding) -> None:
        """Raises InputError for a block whose columns are not the variables, or not the classes or targets."""
        if len(columns.inputs) != 1 or len(columns.outputs) != 1:
            raise InputError(
                f"the binding has {len(columns.inputs)} input and {len(columns.outputs)} output blocks, expected one of each, "
                f"the first with the variables {', '.join(self.variables)}"
            )
        given = columns.inputs[0].columns
        names = [b if a not in given and b in given else a for a, b in zip(self.variables, self.expressions)]
        self.order = order_of(names, given, f'block "{columns.inputs[0].name}"', self.notes)
        if len(self.labels) > 1:
            order = order_of(self.labels, columns.outputs[0].columns, f'block "{columns.outputs[0].name}"', self.notes)
            self.result_order = None if order is None else [order.index(i) for i in range(len(order))]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[-1] != len(self.variables):
            raise InputError(f"got {x.shape[-1]} columns, the network takes {', '.join(self.variables)}")
        x = self.layers(self.before(x if self.order is None else x[:, self.order]))
        x = x if self.after is None else self.after.inverse(x)
        return x if self.result_order is None else x[:, self.result_order]


def _labels(root: xml.Element, kind: str) -> list[str]:
    """Of the results, where there may be several."""
    if kind == "Multiclass":
        return [element.get("Name", "") for element in root.findall("Classes/Class")]
    found = root.findall("Targets/Target") if kind == "Regression" else []
    return [element.get("Label") or element.get("Expression") or "" for element in found]
