# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Columns of examples: of tables, lists, records and arrays."""

import decimal

import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
import pytest
import torch

from exporting import bind, block
from tensoa.binding import examples
from tensoa.errors import InputError

JETS = [[{"pt": 1.5, "eta": 0.5}], [], [{"pt": 2.5, "eta": -0.5}, {"pt": 3.5, "eta": 0.0}]]


def numbers(example):
    return {name: None if one is None else one.tolist() for name, one in examples.columns_of(example).items()}


def refusal(example):
    with pytest.raises(InputError) as caught:
        examples.columns_of(example)
    return str(caught.value)


def saved(path, table):
    pyarrow.parquet.write_table(pyarrow.table(table), path)
    return path


def test_lists_of_a_file_are_what_they_hold_and_fields_are_columns(tmp_path):
    table = {
        "jets": JETS,
        "met": [{"x": 1, "y": 2}] * 3,
        "tracks": [[[{"d0": 1.0}], []], [], [[{"d0": 2.0}]]],
        "pt": [[1.0, 2.0], [3.0], []],
        "run": [7, 7, 8],
    }
    assert numbers(saved(tmp_path / "jets.parquet", table)) == {
        "jets.pt": [1.5, 2.5, 3.5],
        "jets.eta": [0.5, -0.5, 0.0],
        "met.x": [1, 1, 1],
        "met.y": [2, 2, 2],
        "tracks.d0": [1.0, 2.0],
        "pt": [1.0, 2.0, 3.0],
        "run": [7, 7, 8],
    }


def test_files_of_awkward_are_read_as_its_arrays(tmp_path):
    awkward = pytest.importorskip("awkward")
    for array in (awkward.Array(JETS), awkward.Array({"jets": JETS, "run": [7, 7, 8]})):
        for has_types in (False, True):
            awkward.to_parquet(array, tmp_path / "a.parquet", extensionarray=has_types)
            assert numbers(tmp_path / "a.parquet") == numbers(array)
            found, of_file = examples.columns_of(array), examples.columns_of(str(tmp_path / "a.parquet"))
            assert found.lengths == of_file.lengths and len(found) >= 2


def test_dataframes_of_pandas_may_hold_lists_and_records_and_their_index_is_not_a_column(tmp_path):
    frame = pandas.DataFrame({"jets": JETS, "pt": [[1.0], [2.0], []], "run": [7, 7, 8]}, index=[3, 5, 9])
    expected = {"jets.pt": [1.5, 2.5, 3.5], "jets.eta": [0.5, -0.5, 0.0], "pt": [1.0, 2.0], "run": [7, 7, 8]}
    assert numbers(frame) == expected
    frame.to_parquet(tmp_path / "frame.parquet")
    assert numbers(tmp_path / "frame.parquet") == expected
    assert examples.columns_of(tmp_path / "frame.parquet").others == {"__index_level_0__": "the index of pandas"}


def test_columns_of_any_arrow_type_of_numbers_are_read(tmp_path):
    column = pyarrow.array([1.0, 2.0, 1.0])
    made = {
        "words": column.dictionary_encode(),
        "money": pyarrow.array([decimal.Decimal("1.5"), decimal.Decimal("2.5"), decimal.Decimal("3.5")]),
        "views": pyarrow.array([[1], [], [2]], pyarrow.list_view(pyarrow.int16())),
        "pairs": pyarrow.array([[1, 2], [3, 4], [5, 6]], pyarrow.list_(pyarrow.float32(), 2)),
        "large": pyarrow.array([[1], [2], []], pyarrow.large_list(pyarrow.uint8())),
    }
    expected = {"words": [1, 2, 1], "money": [1.5, 2.5, 3.5], "views": [1, 2], "pairs": [1, 2, 3, 4, 5, 6], "large": [1, 2]}
    assert numbers(pyarrow.table(made)) == numbers(made) == expected
    assert examples.columns_of(made)["views"].dtype == torch.int16


def test_fields_are_columns_of_structured_arrays():
    array = np.array([(1, 2.0), (3, 4.0)], [("charge", ">i4"), ("pt", "f4")])
    assert numbers(array) == numbers(array.view(np.recarray)) == {"charge": [1, 3], "pt": [2.0, 4.0]}
    assert examples.columns_of(array)["charge"].dtype == torch.int32
    nested = np.zeros(2, [("jets", [("pt", "f4"), ("eta", "f8")]), ("u", "f4", (3,))])
    found = examples.columns_of(nested)
    assert [*found] == ["jets.pt", "jets.eta"] and found.others == {"u": "an array [2, 3], expected one for each column"}


def test_records_and_lists_may_be_given_by_name():
    given = {
        "jets": {"pt": torch.ones(2, requires_grad=True), "eta": [1.0, 2.0]},
        "hits": np.zeros(3, [("r", "f4")]),
        "lists": [[1.0], [2.0, 3.0]],
        "array": pyarrow.chunked_array([[1], [2]]),
        "one": 5.0,
    }
    assert numbers(given) == {
        "jets.pt": [1.0, 1.0],
        "jets.eta": [1.0, 2.0],
        "hits.r": [0.0, 0.0, 0.0],
        "lists": [1.0, 2.0, 3.0],
        "array": [1, 2],
        "one": [5.0],
    }
    awkward = pytest.importorskip("awkward")
    assert numbers({"jets": awkward.Array(JETS), "x": awkward.Array([[1.0], []])})["jets.pt"] == [1.5, 2.5, 3.5]


def test_missing_numbers_are_known_at_any_depth():
    table = {
        "jets": [[{"pt": 1.0}], None],
        "met": [{"x": 1.0}, None],
        "met_y": [{"y": 1.0}, {"y": None}],
        "inner": [[1.0, None], [2.0]],
        "none": [None, None],
    }
    assert numbers(pyarrow.table(table)) == dict.fromkeys(["jets.pt", "met.x", "met_y.y", "inner", "none"])
    assert numbers({"x": np.ma.masked_array([1.0, 2.0], [False, True])}) == {"x": None}


def test_columns_that_hold_no_numbers_are_known_by_what_they_are():
    found = examples.columns_of(pyarrow.table({"name": ["a"], "jets": [[{"tag": "b", "pt": 1.0}]], "m": [{"k": {"t": "u"}}]}))
    assert [*found] == ["jets.pt"] and found.others == {"name": "string", "jets.tag": "string", "m.k.t": "string"}
    assert found.listed == "jets.pt, name (string), jets.tag (string), m.k.t (string)"
    twice = pyarrow.table([[1.0], [2.0], [3.0]], names=["x", "x", "y"])
    assert [*examples.columns_of(twice)] == ["y"] and examples.columns_of(twice).others == {"x": "there several times"}
    awkward = pytest.importorskip("awkward")
    found = examples.columns_of(awkward.Array([{"a": "b", "u": np.ones((2, 2)), "w": 1.0}]))
    assert [*found] == ["u", "w"] and found.others == {"a": "string"}
    assert examples.columns_of(awkward.Array([1.0])).others == {'""': "a column without a name"}


def test_the_name_of_a_column_wins_over_that_of_a_field():
    table = {"jet.pt": [1.0, 2.0], "jet": [{"pt": 3.0, "eta": 4.0}] * 2}
    assert numbers(pyarrow.table(table)) == {"jet.pt": [1.0, 2.0], "jet.eta": [4.0, 4.0]}


def test_what_is_not_an_example_is_refused():
    for got, example in (("int", 3), ("ndarray", np.ones((2, 2)))):
        assert refusal(example).startswith(f"example: got a {got} (")
    assert refusal({3: [1.0]}).startswith("example: got a dict (its name 3 is a int)")


def blocks_of(columns, **kinds):
    collections = {"x": 0, **kinds}
    return bind([block(name, names, collection=collections.get(name, 0)) for name, names in columns.items()], [])


def test_blocks_of_other_collections_have_their_own_rows():
    table = pyarrow.table({"a": [[1.0, 2.0], [3.0]], "b": [[1.0, 2.0], [3.0]], "c": [1.0, 2.0]})
    made = examples.with_columns(blocks_of({"x": "ab", "m": "c"}, m=1), examples.columns_of(table))
    assert [one.examples.tolist() for one in made.inputs] == [[[1, 2, 3], [1, 2, 3]], [[1, 2]]]


@pytest.mark.parametrize(
    "columns, message",
    [
        (
            {"x": "ac"},
            'block "x": the examples have 3 rows of a and 2 of c; expected the same rows in all blocks of a collection',
        ),
        ({"x": "a", "y": "c"}, 'block "y": the examples have 3 rows of a and 2 of c; expected the same rows'),
        ({"x": "ad"}, 'block "x": the examples have lists of other lengths in a and d; expected the same rows'),
        ({"x": "t"}, 'block "x": of the examples t is string; expected numbers'),
        ({"x": "at"}, 'block "x": of the examples t is string; expected numbers'),
    ],
)
def test_rows_that_do_not_belong_together_are_refused(columns, message):
    table = pyarrow.table({"a": [[1.0, 2.0], [3.0]], "c": [1.0, 2.0], "d": [[1.0], [2.0, 3.0]], "t": ["u", "v"]})
    with pytest.raises(InputError) as caught:
        examples.with_columns(blocks_of(columns), examples.columns_of(table))
    assert str(caught.value).startswith(message)
