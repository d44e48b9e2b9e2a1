# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks of a model for which no columns were given."""

import numpy as np
import pytest
import torch
from torch import nn

from tensoa.binding.defaults import Taken, left_out, words_of_model
from tensoa.binding.examples import columns_of
from tensoa.errors import InputError

F, I = torch.float32, torch.int64  # noqa: E741


class OfFile(nn.Module):
    """As importers make them."""

    def __init__(self, *taken):
        super().__init__()
        self.taken_by_file, self.argument_names = [Taken(*one) for one in taken], [one[0] for one in taken]


class OfTwo(nn.Module):
    def forward(self, pt, eta, mask=None):
        return pt


class OfRecords(nn.Module):
    def forward(self, jets, met):
        return jets


class OfX(nn.Module):
    def forward(self, x, mask=None):
        return x


def example(*names, **lists):
    return columns_of({**{name: np.ones(3) for name in names}, **lists})


def blocks(module, rows=None):
    return [(one.name, ",".join(one.columns), one.dtype, one.rows) for one in words_of_model(module, rows)]


def refusal(module, rows=None):
    with pytest.raises(InputError) as caught:
        words_of_model(module, rows)
    return str(caught.value)


def test_inputs_of_width_1_are_the_columns_of_their_names():
    model = OfFile(("pt", F, (None, 1)), ("n", I, (None, 1)))
    expected = [("pt", "pt", "float32", ""), ("n", "n", "int64", "")]
    assert blocks(model) == blocks(model, example("n", "pt", "more")) == expected
    assert blocks(OfFile(("input", F, (None, 1))), example("pt")) == [("input", "pt", "", "")]


def test_variables_that_a_file_names_are_columns():
    model = OfFile(("x", F, (None, 2), ("pt", "eta")))
    assert blocks(model) == blocks(model, example("eta", "pt", "phi")) == [("x", "pt,eta", "float32", "")]


def test_columns_of_an_example_go_to_the_arguments_of_their_names():
    assert blocks(OfTwo(), example("eta", "pt")) == [("pt", "pt", "", ""), ("eta", "eta", "", "")]
    assert blocks(OfTwo(), example("eta", "pt", "mask"))[2] == ("mask", "mask", "", "")
    rows = example("eta", "pt", "more")
    assert left_out(words_of_model(OfTwo(), rows), rows) == ["more"]


def test_records_of_an_example_go_to_the_arguments_of_their_names():
    rows = example(jets={"pt": np.ones(3), "eta": np.ones(3)}, met={"x": np.ones(3)})
    assert blocks(OfRecords(), rows) == [("jets", "jets.pt,jets.eta", "", ""), ("met", "met.x", "", "")]
    rows = example("met", jets={"pt": [[1.0], [2.0, 3.0], []]})
    assert blocks(OfRecords(), rows) == [("jets", "jets.pt", "", "jets"), ("met", "met", "", "met")]


def test_a_single_argument_has_the_record_of_its_name_or_all_columns():
    assert blocks(OfX(), example("x", "y", "z")) == [("x", "x,y,z", "", "")]
    assert blocks(OfX(), example("y", x={"a": [1.0], "b": [2.0]})) == [("x", "x.a,x.b", "", "")]
    assert blocks(OfX(), example("x", "mask")) == [("x", "x", "", ""), ("mask", "mask", "", "")]


def test_what_the_model_takes_is_said_with_a_place_for_each_column():
    assert refusal(OfFile(("features", F, (None, 3)), ("charge", I, (None, 1, 2)))).startswith(
        "columns: the model takes features float32[n, 3], charge int64[n, 1, 2]; expected [n, k]"
    )
    model = OfFile(("features", F, (None, 3)), ("charge", I, (None, 2)), ("w", F, (None, 1)))
    assert refusal(model) == (
        "columns: the model takes features float32[n, 3], charge int64[n, 2], w float32[n, 1]; expected the columns of each: "
        "--columns features=COLUMN,COLUMN,COLUMN charge=COLUMN,COLUMN:int64 w=w"
    )
    assert refusal(model, example("w", "features")).endswith(  # one column is not three
        "--columns features=COLUMN,COLUMN,COLUMN charge=COLUMN,COLUMN:int64 w=w; the example has w, features"
    )
    assert refusal(OfFile(("features", F, (None, 3))), example("pt", "eta")).endswith(
        "--columns features=COLUMN,COLUMN,COLUMN; the example has pt, eta"
    )
    assert "features=COLUMN,COLUMN,…" in refusal(OfFile(("features", F, (None, 300))))
    assert refusal(OfFile(("x", F, None))).startswith("columns: the model takes x float32; expected")


def test_programs_of_torch_export_say_what_they_take():
    program = torch.export.export(nn.Linear(3, 2), (torch.ones(4, 3),), dynamic_shapes=({0: torch.export.Dim("n")},))
    assert refusal(program.module()) == (
        "columns: the model takes input float32[n, 3]; expected the columns of each: --columns input=COLUMN,COLUMN,COLUMN"
    )
