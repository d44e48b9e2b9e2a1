# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks of a model for which no columns were given."""

import numpy as np
import pytest
import torch
from torch import nn

from tensoa.binding.defaults import Taken, left_out, unnamed_text, words_of_model
from tensoa.binding.examples import columns_of
from tensoa.binding.trial import only_shape
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


def test_numbers_of_a_row_are_counted_where_the_file_says_the_sizes():
    model = OfFile(("x", F, (None, 3)), ("image", F, (None, 2, 1, 2)), ("state", F, (2, None, 1)), ("i", I, (None,)))
    assert blocks(model) == [
        ("x", "x_0,x_1,x_2", "float32", ""),
        ("image", "image_0.0.0,image_0.0.1,image_1.0.0,image_1.0.1", "float32", ""),
        ("state", "state_0.0,state_1.0", "float32", ""),
        ("i", "i", "int64", ""),
    ]
    assert [one.sizes for one in words_of_model(model, None)][1:3] == [(None, 2, 1, 2), (2, None, 1)]
    assert blocks(OfFile(("x", F, (1, 2)))) == blocks(OfFile(("x", F, (None, 2))))  # for one row
    assert blocks(OfFile(("x", F, (None, 1, 2)))) == [("x", "x.0,x.1", "float32", "")]


def test_blocks_have_the_same_number_of_rows_if_they_do_in_the_file():
    model = OfFile(("x", F, (None, 2), (), "nodes"), ("y", F, (None, 1), (), "nodes"), ("edges", I, (2, None), (), "e"))
    assert [one[3] for one in blocks(model)] == ["x", "x", "edges"]


def test_the_line_for_unnamed_columns_has_the_way_to_names():
    model = OfFile(("x", F, (None, 3)), ("image", F, (None, 2, 4)))
    assert unnamed_text(words_of_model(model, None)) == (
        "columns: x_0 to x_2, image_0.0 to image_1.3, as the file has no names for them; yours: --columns x=COLUMN,… "
        "image[n,2,4]=COLUMN,…"
    )


class OfWidth(nn.Module):
    """`rows`: the only number of them, if any."""

    def __init__(self, rows=None, is_any=False):
        super().__init__()
        self.first, self.last = nn.Linear(7, 16), nn.Linear(16, 3)
        self.rows, self.is_any = rows, is_any

    def forward(self, x):
        x = x[..., :7] if self.is_any else x
        return self.last(self.first(x if self.rows is None else x.view(self.rows, 7)))


class OfSets(nn.Module):
    """Of any number of groups of 4 numbers in a row."""

    def __init__(self):
        super().__init__()
        self.each = nn.Linear(4, 3)

    def forward(self, x):
        return self.each(x.view(len(x), -1, 4)).sum(1)


def test_the_only_width_that_a_model_takes_is_found():
    assert only_shape(OfWidth()) == (None, 7)
    assert only_shape(OfWidth(rows=1)) == (1, 7)
    assert blocks(torch.jit.script(OfWidth()))[0][1].startswith("x_0,x_1,")
    for other in (OfWidth(is_any=True), OfSets(), nn.ReLU(), nn.Conv2d(3, 4, 3), nn.Conv1d(3, 16, 3), nn.Embedding(4, 5)):
        assert only_shape(other) is None
    assert "--columns x=COLUMN,COLUMN,…" in refusal(OfWidth(is_any=True))


def test_what_the_model_takes_is_said_with_a_place_for_each_column():
    model = OfFile(("x", F, (None, 3)), ("frames", F, (None, None)), ("sr", I, ()), ("w", F, (None, 1)))
    assert refusal(model) == (
        "columns: the model takes x float32[n, 3], frames float32[n, ?], sr int64[], w float32[n, 1]; expected the columns of "
        "each: --columns x[n,3] frames[n,SIZE] sr=COLUMN:int64@call w=w"
    )
    model = OfFile(("x", F, (None, 3)), ("y", F, (None, 2)))
    assert refusal(model, example("w", "x")).endswith(  # one column is not three
        "--columns x=COLUMN,COLUMN,COLUMN y=COLUMN,COLUMN; the example has w, x"
    )
    assert refusal(OfFile(("features", F, (None, 3))), example("pt", "eta")).endswith(
        "--columns features=COLUMN,COLUMN,COLUMN; the example has pt, eta"
    )
    assert "features=COLUMN,COLUMN,…" in refusal(OfFile(("features", F, (None, 300))), example("pt"))
    assert refusal(OfFile(("x", F, None))).startswith("columns: the model takes x float32; expected")


def test_programs_of_torch_export_say_what_they_take():
    program = torch.export.export(nn.Linear(3, 2), (torch.ones(4, 3),), dynamic_shapes=({0: torch.export.Dim("n")},))
    assert blocks(program.module()) == [("input", "input_0,input_1,input_2", "float32", "")]
