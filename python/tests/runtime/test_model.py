# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""tensoa.Model: arrays and tables of every kind give what torch gives, nothing is copied that C++ does not copy."""

import copy
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

import runtime_models as models
import tensoa

Model = models.require_runtime()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def row(folder):
    return Model(models.write_row(folder))


@pytest.fixture(scope="module")
def graph(folder):
    return Model(models.write_graph(folder))


def copied(model):
    return model.last_copies.bytes_in, model.last_copies.bytes_out


def assert_same(got, expected):
    if isinstance(got, (pa.Table, pa.RecordBatch)):
        got = got.to_pydict()
    assert list(got) == list(expected)
    for name, column in expected.items():
        np.testing.assert_allclose(np.asarray(got[name]), column, rtol=1e-5, atol=1e-6, err_msg=name)


def planes(rows, names, pitch=None, dtype=np.float32):
    """Columns at one distance in one piece of memory, as the package reads them without a copy."""
    memory = np.empty((len(names), pitch or rows), dtype)
    return {name: memory[i, :rows] for i, name in enumerate(names)}


# ---- what is given


def test_masked_numbers_are_refused(row):
    columns = models.row_columns(4)
    masked = np.ma.MaskedArray(columns["x"], [False, False, True, False])
    says = r"column x has masked numbers, expected none: fill them \(x.filled\(0.0\)\), or leave these rows out"
    for call in (lambda: row(**columns | {"x": masked}), lambda: row(columns | {"x": masked})):
        with pytest.raises(tensoa.BindingError, match=says):
            call()
    without = np.ma.MaskedArray(columns["x"], np.zeros(4, bool))
    assert_same(row(columns | {"x": without}), models.row_answers(columns))
    on_disk = np.asarray(columns["x"]).view(np.memmap)
    assert_same(row(columns | {"x": on_disk}), models.row_answers(columns))


def test_arrays_of_a_gpu_are_refused_on_the_cpu(row):
    class OnGpu:
        __cuda_array_interface__ = {"shape": (4,), "typestr": "<f4", "data": (1 << 40, False), "version": 3}

    columns = models.row_columns(4)
    with pytest.raises(tensoa.BindingError, match=r"column x is .*OnGpu, which lies on a GPU, and the model was loaded on cpu"):
        row(columns | {"x": OnGpu()})
    with pytest.raises(tensoa.BindingError, match=r"got a stream, and was loaded on the cpu; expected none"):
        row(columns, stream=1)


def test_tensors_whose_memory_has_other_numbers_are_refused(row):
    columns = {name: torch.from_numpy(column) for name, column in models.row_columns(4).items()}
    negative = torch.complex(columns["x"], columns["x"]).conj().imag
    with pytest.raises(tensoa.BindingError, match=r"column x has its negative bit set.*: x.resolve_neg\(\)"):
        row(columns | {"x": negative})
    assert_same(row(columns | {"x": negative.resolve_neg()}), models.row_answers(columns | {"x": -columns["x"]}))


def test_arrays_of_a_library_with_from_dlpack_give_arrays_of_it(row):
    class Array(np.ndarray):
        """Of a library that follows the array API."""

        def __array_namespace__(self, *, api_version=None):
            return Library

    class Library:
        from_dlpack = staticmethod(lambda array: np.from_dlpack(array).view(Array))

    columns = models.row_columns(33)
    answers = row({name: column.view(Array) for name, column in columns.items()})
    assert all(type(answer) is Array for answer in answers.values())
    assert_same(answers, models.row_answers(columns))
    block = row(np.stack(list(columns.values()), 1).view(Array))
    assert type(block) is Array and block.strides == (4, 4 * 33)  # without gaps, as JAX wants them


def test_columns_by_keyword_and_as_a_dict_are_the_same_call(row):
    columns = models.row_columns()
    assert_same(row(**columns), models.row_answers(columns))
    assert_same(row(columns), models.row_answers(columns))


def test_a_package_for_several_targets_runs_on_the_cpu_with_its_own_program(folder, row):
    columns = models.row_columns()
    both = Model(models.write_row(folder, target="cpu,cuda"))
    for name, column in both(**columns).items():
        np.testing.assert_array_equal(column, row(**columns)[name])


def test_columns_at_one_distance_are_not_copied(row):
    columns = models.row_columns()
    together = planes(10, "xyz", pitch=16)
    for name, column in columns.items():
        together[name][:] = column
    out = planes(10, "mn", pitch=32)
    assert row(together, out=out) is out
    assert_same(out, models.row_answers(columns))
    assert copied(row) == (0, 0)
    assert str(row.last_copies) == "0 bytes in, 0 bytes out"


def test_columns_anywhere_are_copied_once_and_it_is_said(row):
    memory = np.zeros(10_000, np.float32)
    columns = {name: memory[at : at + 1000] for name, at in (("x", 0), ("y", 2000), ("z", 5000))}
    row(columns)
    assert copied(row) == (3 * 4 * 1000, 0)


@pytest.mark.parametrize("order", ["F", "C"])
def test_a_whole_block_gives_an_array(row, order):
    columns = models.row_columns(33)
    features = np.array(np.stack(list(columns.values()), 1), order=order)
    answers = row(features)
    assert answers.shape == (33, 2)
    assert_same({"m": answers[:, 0], "n": answers[:, 1]}, models.row_answers(columns))
    assert copied(row) == ((0, 0) if order == "F" else (33 * 3 * 4, 0))
    out = np.empty((33, 2), np.float32, order=order)
    assert row(features, out=out) is out
    np.testing.assert_array_equal(out, answers)
    assert copied(row)[1] == (0 if order == "F" else 33 * 2 * 4)


def test_every_kind_of_block(graph):
    blocks = models.graph_blocks()
    expected = models.graph_answers(blocks)
    assert_same(graph(blocks), expected)
    assert_same(graph(models.graph_columns(blocks)), expected)
    assert_same(graph(*blocks.values()), {name: column[:, None] for name, column in expected.items()})
    columns = models.graph_columns(blocks)
    for name in ("u", "m"):  # a column that is a vector or a matrix
        columns = {key: column for key, column in columns.items() if not key.startswith(name + ".")} | {name: blocks[name]}
    assert_same(graph(columns), expected)
    turned = {name: np.array(array, order="F") for name, array in blocks.items()}
    assert_same(graph(turned), expected)


def test_one_name_serves_two_blocks(graph):
    blocks = models.graph_blocks(hits=25, edges=25)
    columns = models.graph_columns(blocks)
    columns["x"] = columns.pop("hits.x")
    columns["edges.x"] = columns["x"]
    expected = graph(columns)
    del columns["edges.x"]
    assert_same(graph(columns), expected)


@pytest.mark.parametrize("number", [3.8, np.float32(3.8), 4, np.array(3.8, np.float32), np.array([[3.8]], np.float32)])
def test_a_scalar_is_a_number_or_an_array_of_one(graph, number):
    blocks = models.graph_blocks()
    columns = models.graph_columns(blocks) | {"field": number}
    blocks["field"] = np.array([number], np.float32).reshape(1)
    assert_same(graph(columns), models.graph_answers(blocks))


def test_strides_as_they_are(row):
    random = np.random.default_rng(5)
    for _ in range(50):
        rows = int(random.integers(0, 40))
        columns = {}
        for name in "xyz":
            step = int(random.choice([1, 1, 2, 3, -1, -2]))
            memory = random.normal(size=(rows * abs(step) + 4)).astype(np.float32)
            if random.random() < 0.2:  # not aligned
                memory = np.frombuffer(b"x" + memory.tobytes(), np.uint8)[1:].view(np.float32)
            columns[name] = memory[::step][:rows]
        if random.random() < 0.2:
            columns["y"] = columns["x"]
        if random.random() < 0.2:
            columns["z"] = np.broadcast_to(np.float32(2), rows)
        out = {name: np.full(2 * rows + 1, np.nan, np.float32)[:: int(random.choice([1, 2]))][:rows] for name in "mn"}
        expected = models.row_answers(columns)
        assert_same(row(columns, out=out), expected)
        assert_same(row(columns), expected)


def test_an_output_may_be_an_input(row):
    columns = models.row_columns()
    expected = models.row_answers(columns)
    row(columns, out={"m": columns["x"], "n": columns["z"]})
    assert_same({"m": columns["x"], "n": columns["z"]}, expected)


def test_no_rows(row, graph):
    empty = np.empty(0, np.float32)
    assert [len(column) for column in row(x=empty, y=empty, z=empty).values()] == [0, 0]
    assert row(torch.empty(0, 3)).shape == (0, 2)
    answers = graph(models.graph_blocks(hits=3, edges=0))
    assert {name: len(column) for name, column in answers.items()} == {"score": 0, "node": 3}


# ---- tables


def test_structured_array(row):
    columns = models.row_columns()
    table = np.zeros(10, [("x", "f4"), ("id", "i8"), ("y", "f4"), ("z", "f4")])
    for name, column in columns.items():
        table[name] = column
    answers = row(table)
    assert answers.dtype.names == ("m", "n")
    assert_same({name: answers[name] for name in "mn"}, models.row_answers(columns))
    assert copied(row) == (120, 80)


@pytest.mark.parametrize("make", [pa.table, pa.RecordBatch.from_pydict])
def test_pyarrow(row, make):
    columns = models.row_columns()
    table = make({**columns, "name": ["a"] * 10})
    answers = row(table.slice(2, 5))
    assert type(answers) is type(table)
    expected = models.row_answers({name: column[2:7] for name, column in columns.items()})
    assert_same(answers, expected)


def test_pyarrow_in_unequal_chunks(row):
    columns = models.row_columns(100)
    cut = {name: [column[:at], column[at:]] for (name, column), at in zip(columns.items(), (10, 50, 77))}
    table = pa.table({name: pa.chunked_array(parts) for name, parts in cut.items()})
    assert_same(row(table), models.row_answers(columns))
    assert copied(row)[0] == 2 * 1200  # put together, then as planes
    assert_same(row({name: table[name] for name in "xyz"}), models.row_answers(columns))


@pytest.mark.parametrize("kind", ["list_", "large_list", "list_view", "large_list_view", "of one size"])
def test_lists_of_arrow_are_for_awkward(row, kind):
    given = pa.list_(pa.float32(), 2) if kind == "of one size" else getattr(pa, kind)(pa.float32())
    lists = pa.array([[1.0, 2.0], [3.0, 4.0]], given)
    with pytest.raises(
        tensoa.BindingError, match=r"column x is lists, expected float32 in a table; .*: awkward.from_arrow\(x\)"
    ):
        row(pa.table({"x": lists, "y": lists, "z": lists}))


def test_pyarrow_fields_of_a_struct(folder, row):
    columns = models.row_columns()
    struct = pa.StructArray.from_arrays([pa.array(column) for column in columns.values()], ["x", "y", "z"])
    model = Model(row.path, columns={f"jet.{name}": name for name in "xyz"})
    assert_same(model(pa.table({"jet": struct})), models.row_answers(columns))
    assert_same(model(pa.table({"jet": struct}).slice(3)), models.row_answers({n: c[3:] for n, c in columns.items()}))


def test_pandas(row):
    pandas = pytest.importorskip("pandas")
    columns = models.row_columns()
    columns["x"][3] = np.nan  # a number like others
    table = pandas.DataFrame(columns, index=np.arange(5, 15))
    answers = row(table)
    assert isinstance(answers, pandas.DataFrame) and list(answers.index) == list(table.index)
    assert_same({name: answers[name] for name in "mn"}, models.row_answers(columns))
    assert_same(row(x=table["x"], y=table["y"], z=table["z"]), models.row_answers(columns))


def test_polars(row):
    polars = pytest.importorskip("polars")
    columns = models.row_columns()
    table = polars.DataFrame({**columns, "name": ["a"] * 10})
    answers = row(table)
    assert isinstance(answers, polars.DataFrame)
    assert_same({name: answers[name].to_numpy() for name in "mn"}, models.row_answers(columns))
    assert_same(row({name: table[name] for name in "xyz"}), models.row_answers(columns))


def test_torch(row):
    columns = models.row_columns()
    answers = row({name: torch.from_numpy(column) for name, column in columns.items()})
    assert all(isinstance(column, torch.Tensor) for column in answers.values())
    assert_same(answers, models.row_answers(columns))
    features = torch.stack([torch.from_numpy(column) for column in columns.values()])
    out = torch.empty(10, 2)
    assert row(features.T, out=out) is out and copied(row) == (0, 80)
    assert_same({"m": out[:, 0], "n": out[:, 1]}, models.row_answers(columns))


def test_other_objects_with_memory(row):
    columns = models.row_columns()
    assert_same(row({name: memoryview(column) for name, column in columns.items()}), models.row_answers(columns))

    class Lazy:  # made again each time, as a column of h5py
        def __init__(self, column):
            self.column = column

        def __array__(self, dtype=None, copy=None):
            if copy is False:
                raise ValueError("makes a copy")
            return self.column.copy()

    assert_same(row({name: Lazy(column) for name, column in columns.items()}), models.row_answers(columns))
    assert copied(row)[0] == 240


# ---- names


def test_own_names_in_order_or_by_name(row):
    columns = models.row_columns()
    expected = models.row_answers(columns)
    own = dict(zip(("pt", "eta", "phi"), columns.values()))
    assert_same(Model(row.path, columns=["pt", "eta", "phi"])(own), expected)
    assert_same(Model(row.path, columns={"pt": "x", "eta": "y", "phi": "features.z"})(**own), expected)
    assert_same(Model(row.path, columns={"pt": "x"})(pt=columns["x"], y=columns["y"], z=columns["z"]), expected)


@pytest.mark.parametrize(
    "columns, message",
    [
        ({"pt": "q"}, "columns: the model has no column q; it has x, y, z"),
        (["pt"], "columns: got 1 names that are not the model's, expected 3"),
        ("xyz", "columns: got the text 'xyz', expected a list of names"),
        ([1, 2, 3], "columns: got 1 of type int, expected names"),
    ],
)
def test_wrong_own_names(row, columns, message):
    with pytest.raises(tensoa.ConfigError) as caught:
        Model(row.path, columns=columns)
    assert message in str(caught.value)


# ---- what a model says of itself


def test_description(row, graph):
    (features,) = row.inputs
    assert (features.name, features.dtype, features.shape, features.columns) == (
        "features",
        "float32",
        (None, 3),
        ("x", "y", "z"),
    )
    assert [block.columns for block in graph.inputs] == [
        ("hits.x", "y"),
        ("source", "target"),
        ("edges.x",),
        ("u.0", "u.1", "u.2"),
        ("m.0.0", "m.1.0", "m.0.1", "m.1.1"),
        ("field",),
    ]
    assert [block.collection for block in graph.outputs] == [1, 0]
    assert row.rows_are_independent is True and graph.rows_are_independent is None
    assert row.device == "cpu"
    lines = repr(graph).splitlines()
    assert lines[0] == f"tensoa.Model({graph.path!r}, device='cpu')"
    assert lines[2].split() == ["in", "index", "int64[2,", "n1]", "source,", "target"]
    assert lines[-1].startswith("  rows: unknown: ")


def test_last_copies_are_those_of_the_thread(row):
    row(models.row_columns())
    seen = []
    thread = threading.Thread(target=lambda: seen.append(row.last_copies))
    thread.start()
    thread.join()
    assert seen == [None] and copied(row) == (120, 0)


class BeforeDlpack1:
    """An array by DLPack before 1.0, which does not say whether it may be written; as those of JAX, which may not."""

    def __init__(self, memory, as_numpy=None):
        self.memory, self.as_numpy = memory, as_numpy

    def __dlpack__(self, stream=None):
        return self.memory.__dlpack__()

    def __dlpack_device__(self):
        return self.memory.__dlpack_device__()

    def __array__(self, dtype=None, copy=None):
        if self.as_numpy is None:
            raise TypeError("no")
        return self.as_numpy


def test_out_is_written_only_where_it_says_that_it_may_be(row):
    x, y, z, m, n = np.ones((5, 8), "f4")
    of_jax = m.view()
    of_jax.flags.writeable = False
    for kept in (BeforeDlpack1(m, of_jax), BeforeDlpack1(m), BeforeDlpack1(m, m.copy())):
        with pytest.raises(
            tensoa.BindingError, match="column m of out is .*BeforeDlpack1, which does not state that it may be written"
        ):
            row(x=x, y=y, z=z, out={"m": kept, "n": n})
    np.testing.assert_array_equal(m, 1)
    np.testing.assert_array_equal(row(x=BeforeDlpack1(x, of_jax), y=y, z=z)["m"], 2)
    row(x=x, y=y, z=z, out={"m": BeforeDlpack1(m, m), "n": n})
    np.testing.assert_array_equal(m, 2)


# ---- trees


@pytest.fixture(scope="module")
def trees(folder):
    xgboost = pytest.importorskip("xgboost")
    random = np.random.default_rng(0)
    x = random.normal(size=(300, 4)).astype(np.float32)
    booster = xgboost.train(
        {"max_depth": 3, "objective": "binary:logistic"},
        xgboost.DMatrix(x, (x.sum(1) > 0), feature_names=["pt", "eta", "phi", "mass"]),
        num_boost_round=5,
    )
    booster.save_model(folder / "trees.json")
    return Model(folder / "trees.json"), x, booster.predict(xgboost.DMatrix(x, feature_names=booster.feature_names))


def test_trees_read_numbers_of_any_kind_where_they_lie(trees):
    model, x, expected = trees
    assert model.inputs[0].dtype == "number" and model.rows_are_independent
    for features in (x, np.asfortranarray(x), x.astype(np.float64), np.repeat(x, 2, axis=0)[::2]):
        np.testing.assert_allclose(model(features)[:, 0], expected, rtol=1e-5)
        assert copied(model) == (0, 0)
    mixed = {"pt": x[:, 0], "eta": x[:, 1].astype("f8"), "phi": x[:, 2], "mass": x[:, 3].astype("f8")}
    for dtype in ("f4", "f8"):
        out = np.zeros((300, 3), dtype)
        model(mixed, out={"answer_0": out[:, 1]})
        np.testing.assert_allclose(out[:, 1], expected, rtol=1e-5)
        assert copied(model) == (0, 0) and not out[:, ::2].any()
    with pytest.raises(tensoa.BindingError, match="column answer_0 of out is int32, expected float32 or float64"):
        model(mixed, out={"answer_0": np.zeros(300, "i4")})


# ---- bad input


def bad_calls():
    columns = models.row_columns()
    x, y, z = columns.values()
    out = {"m": np.empty(10, np.float32), "n": np.empty(10, np.float32)}
    nulls = pa.table({name: pa.array([1.0, None, 2.0], pa.float32()) for name in "xyz"})
    swapped, locked = z.astype(">f4"), z.copy()
    locked.flags.writeable = False
    return {
        "nothing": ((), {}, "got no columns; it reads x, y, z"),
        "a missing column": (
            (),
            {"x": x, "y": y},
            "got no column z, which it reads as float32; there are x, y",
        ),
        "one too many": (
            (),
            {**columns, "zz": z},
            "got the column zz, which it does not read; it reads x, y, z; the nearest is z",
        ),
        "a wrong dtype": ((), {**columns, "z": z.astype("f8")}, 'column z is float64, expected float32: x.astype("float32")'),
        "no dtype of ours": ((), {**columns, "z": z.astype("u4")}, "column z is uint32, expected float32"),
        "text": (
            (),
            {**columns, "z": np.array(["a"] * 10)},
            "text has none: leave the column out, or encode it",
        ),
        "times": (
            (),
            {**columns, "z": np.full(10, 3, "datetime64[s]")},
            'column z is datetime64[s], expected float32: x.astype("int64").astype("float32")',
        ),
        "times in Arrow": (
            (pa.table({**columns, "z": pa.array([1] * 10, pa.timestamp("us"))}),),
            {},
            'column z is times, expected float32: x.cast("int64").cast("float32")',
        ),
        "days in Arrow": (
            (pa.table({**columns, "z": pa.array([1] * 10, pa.date32())}),),
            {},
            'column z is times, expected float32: x.cast("int32").cast("float32")',
        ),
        "torch's wrong dtype": ((), {**columns, "z": torch.zeros(10).double()}, "expected float32: x.to(torch.float32)"),
        "another length": ((), {**columns, "z": z[:3]}, "column z has 3 rows, column x has 10; expected equal numbers"),
        "another order of bytes": ((), {**columns, "z": swapped}, "has the bytes of another machine's order"),
        "a list": (
            (),
            {**columns, "z": [1.0] * 10},
            'column z is list, expected an array of float32: numpy.asarray(x, dtype="float32")',
        ),
        "too many dimensions": ((), {**columns, "z": z[:, None]}, "column z has the shape [10, 1], expected [rows]"),
        "a block that is too narrow": (
            (np.zeros((10, 2), "f4"),),
            {},
            "block features has the shape [10, 2], expected [rows, 3]",
        ),
        "too many blocks": ((x, y), {}, "got 2 arrays, expected 1, one for each of its blocks (features)"),
        "both ways": ((x,), {"y": y}, "got 1 positional and 1 named arguments"),
        "text for a table": (("jets.parquet",), {}, "block features is str, expected an array of float32"),
        "keys that are not text": (({1: x, "y": y, "z": z},), {}, "got the key 1 of type int, expected names of columns"),
        "nulls": ((nulls,), {}, "column x has nulls, the first in row 1; expected none"),
        "text in Arrow": (
            (pa.table({"x": ["a"], "y": ["b"], "z": ["c"]}),),
            {},
            "column x is text, expected float32, and text has no numbers",
        ),
        "a column of Arrow twice": (
            (pa.Table.from_arrays([pa.array(x)] * 4, ["x", "y", "z", "x"]),),
            {},
            "column x is there 2 times, expected once",
        ),
        "an output that is missing": (
            (),
            {**columns, "out": {"m": out["m"]}},
            "out has no column n; there are m, expected m, n",
        ),
        "an output too many": (
            (),
            {**columns, "out": {**out, "o": z.copy()}},
            "out has the column o, which the model does not give",
        ),
        "an output of a wrong dtype": (
            (),
            {**columns, "out": {**out, "n": np.empty(10)}},
            "column n of out is float64, expected float32",
        ),
        "an output that is too short": (
            (),
            {**columns, "out": {**out, "n": np.empty(3, "f4")}},
            "column n of out has 3 rows, expected 10",
        ),
        "an output to be read": (
            (),
            {**columns, "out": {**out, "n": locked}},
            "column n of out is read-only, and is to be written",
        ),
        "an output of Arrow": (
            (),
            {**columns, "out": pa.table(columns)},
            "out is pyarrow.lib.Table, whose memory cannot be written",
        ),
        "outputs in one memory": ((), {**columns, "out": {"m": out["m"], "n": out["m"]}}, "written to the same memory"),
    }


@pytest.mark.parametrize("name", bad_calls())
def test_bad_calls_say_what_is_wrong(row, name):
    args, kwargs, message = bad_calls()[name]
    with pytest.raises(tensoa.BindingError) as caught:
        row(*args, **kwargs)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value) and isinstance(caught.value, ValueError)
    columns = models.row_columns()
    assert_same(row(columns), models.row_answers(columns))  # the next call is as if nothing had been


def test_bad_scalars(graph):
    columns = models.graph_columns(models.graph_blocks())
    for number, message in ((np.zeros(2, "f4"), "expected one number for the whole call"), ("3", "field is str")):
        with pytest.raises(tensoa.BindingError, match=message):
            graph(columns | {"field": number})


@pytest.mark.parametrize(
    "content, message",
    [(None, "there is no such file"), (b"PK\x03\x04 cut off", "was cut off"), (b"hello, world\n", "is text and not a model")],
)
def test_files_that_are_no_model(tmp_path, content, message):
    path = tmp_path / "model.pt2"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(tensoa.LoadError, match=message) as caught:
        Model(path)
    assert str(path) in str(caught.value) and isinstance(caught.value, OSError)


def test_devices_that_are_not_there(row):
    with pytest.raises(tensoa.ConfigError, match="device"):
        Model(row.path, device="tpu")


def test_errors_of_arrays_come_through(row):
    class Failing:
        def __array__(self, dtype=None, copy=None):
            raise KeyError("gone")

    with pytest.raises(KeyError, match="gone"):
        row(models.row_columns() | {"z": Failing()})


# ---- threads, processes


def test_one_model_for_all_threads(row):
    failures = []

    def work(seed):
        try:
            for i in range(200):
                columns = models.row_columns(1 + (seed * 37 + i) % 50, seed * 1000 + i)
                assert_same(row(columns), models.row_answers(columns))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_other_threads_run_while_a_model_runs(row):
    columns = models.row_columns(1_000_000)
    out = {name: np.empty(1_000_000, "f4") for name in "mn"}
    with models.others_run():
        for _ in range(50):
            row(columns, out=out)


def test_a_call_within_a_call(row):
    columns = models.row_columns()

    class Nested:
        def __array__(self, dtype=None, copy=None):
            return row(columns)["m"]

    answers = row({**columns, "z": Nested()})
    assert_same(answers, models.row_answers({**columns, "z": models.row_answers(columns)["m"]}))


def test_pickle_is_the_path_and_the_digest(row):
    model = Model(row.path, columns=["a", "b", "c"])
    text = pickle.dumps(model)
    assert len(text) < 1000
    again = pickle.loads(text)
    columns = dict(zip("abc", models.row_columns().values()))
    assert_same(again(columns), model(columns))
    assert_same(copy.deepcopy(model)(columns), model(columns))


def test_pickle_of_a_file_that_changed(tmp_path, row):
    path = tmp_path / "model.pt2"
    path.write_bytes(Path(row.path).read_bytes())
    model = Model(path)
    text = pickle.dumps(model)
    path.unlink()
    there = pickle.loads(text)  # an error of what is done with it, not of its transport
    with pytest.raises(tensoa.LoadError, match="there is no such file"):
        there.inputs  # noqa: B018
    with pytest.raises(tensoa.LoadError, match="there is no such file"):
        there(models.row_columns())
    assert pickle.dumps(there) == text
    path.write_bytes(Path(row.path).read_bytes() + b" ")
    with pytest.raises(tensoa.LoadError, match="is not the file that was pickled"):
        there(models.row_columns())
    with pytest.raises(tensoa.LoadError, match="was written after it was loaded"):
        pickle.dumps(model)


def run(code, *arguments, timeout=120, **variables):
    """Runs code in a new process, which must end as expected. `variables`: of its environment."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    environment = os.environ | variables
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=True, env=environment).stdout


@pytest.mark.parametrize(
    ("options", "does"),
    [
        ("-shared", 'set -- "$@" -static-libstdc++'),  # links its own copy of the standard library into each program
        ("-mavx512*|-mamx*", "echo 'g++: error: no such option' >&2; exit 1"),  # older than the processor
    ],
)
def test_programs_of_other_compilers_run(options, does, tmp_path):
    compiler = tmp_path / "compiler"
    script = f"""
        #!/bin/sh
        for option; do
          case $option in {options}) {does}; break;; esac
        done
        exec {shutil.which("g++")} "$@"
    """
    compiler.write_text(textwrap.dedent(script).lstrip())
    compiler.chmod(0o755)
    code = """
        import sys
        from pathlib import Path

        import numpy as np
        import runtime_models as models
        import tensoa

        columns = models.row_columns()
        answers = tensoa.Model(models.write_row(Path(sys.argv[1]), fuse=False))(columns)
        for name, right in models.row_answers(columns).items():
            np.testing.assert_allclose(answers[name], right, rtol=1e-5, atol=1e-6)
    """
    run(code, tmp_path, timeout=600, CXX=str(compiler), PYTHONPATH=os.pathsep.join(sys.path))


def test_import_is_light():
    out = run("""
        import sys
        import tensoa
        heavy = [name for name in ("numpy", "torch", "pyarrow", "tensoa._runtime") if name in sys.modules]
        tensoa.Model
        peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
        print(heavy, "numpy" in sys.modules, int(peak.split()[1]) < 30 << 10)
    """)
    assert out.split() == ["[]", "False", "True"]


def test_the_stub_is_current(tmp_path):
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, root / "scripts" / "write_stub.py", tmp_path / "stub.pyi"], check=True)
    stub = root / "python" / "tensoa" / "_runtime.pyi"
    assert stub.read_text() == (tmp_path / "stub.pyi").read_text(), "make stub"


def test_names_that_are_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'Modelx'"):
        tensoa.Modelx  # noqa: B018


def test_a_process_that_forks_after_loading(row):
    out = run(
        """
        import os, sys
        import numpy as np, tensoa
        model = tensoa.Model(sys.argv[1])
        x = np.ones(4, "f4")
        model(x=x, y=x, z=x)
        child = os.fork()
        answer = model(x=x, y=x, z=x)["m"].sum()
        if child == 0:
            os._exit(int(answer))
        print(answer, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
        row.path,
    )
    assert out.split() == ["8.0", "8"]


def test_a_pool_of_processes_gives_back_what_is_wrong_with_a_model(tmp_path, row):
    """Tasks that fail while they are unpickled are lost, and waited for."""
    path = tmp_path / "model.pt2"
    path.write_bytes(Path(row.path).read_bytes())
    code = """
        import multiprocessing, os, pickle, sys
        import tensoa
        def columns(model):
            return model.inputs[0].columns
        with multiprocessing.Pool(2) as pool:
            model = tensoa.Model(sys.argv[1])
            print(pool.map_async(columns, [model] * 3).get(60))
            there = pickle.loads(pickle.dumps(model))
            os.unlink(sys.argv[1])
            try:
                pool.map_async(columns, [there]).get(60)
            except tensoa.LoadError as error:
                print(error)
    """
    first, second = run(code, path).splitlines()
    assert first == str([("x", "y", "z")] * 3)
    assert second == f"model {path}: there is no such file"


def test_an_interpreter_that_shuts_down_while_calls_run(row):
    code = """
        import sys, threading, time
        import numpy as np, tensoa
        model = tensoa.Model(sys.argv[1])
        x = np.ones(2_000, "f4")
        def work():
            while True:
                model(x=x, y=x, z=x)
        for _ in range(8):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.05)
        print("end")
    """
    for _ in range(10):  # one of 60 crashed, where threads that were ended let Python objects go
        assert run(code, row.path) == "end\n"
