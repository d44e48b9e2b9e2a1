# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""`tensoa infer` loses no row without a word: nulls, numbers that do not fit, structs, groups; random tables against a reference."""

import json
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import torch
from exporting import bind, block
from test_infer import answers, close, columns, damage, events, read, write
from torch import nn

from conftest import edited, names_in, package, refuse, succeed, tensoa


class Mixed(nn.Module):
    """Floating point and integers, whose sum is exact."""

    def forward(self, jet, n, k):
        return jet[:, :1] * 2 + jet[:, 1:] + k, n + k


class Centred(nn.Module):
    """Each number less the mean of its group."""

    def forward(self, x):
        return x - x.mean(dim=0, keepdim=True)


class Means(nn.Module):
    """One row for each group."""

    def forward(self, x):
        return x.mean(dim=0, keepdim=True)


def integers(name, dtype, columns):
    return block(name, columns, column_dtype=dtype, dtype=dtype)


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """The modules as packages, by their class."""
    from tensoa.export import Options, export

    folder = tmp_path_factory.mktemp("models")
    x, answers = block("x", ["a", "b"]), block("answers", ["p", "q"])
    mixed = [block("jet", ["pt", "eta"]), integers("n", "int64", ["n"]), integers("k", "int32", ["k"])]
    bindings = {
        Mixed: bind(mixed, [block("score", ["score"]), integers("sum", "int64", ["sum"])]),
        Centred: bind([x], [answers]),
        Means: bind([x], [answers]),
    }
    for module, binding in bindings.items():
        export(module(), binding, folder / f"{module.__name__}.pt2", Options(report=lambda line: None))
    return {module: folder / f"{module.__name__}.pt2" for module in bindings}


def run(model, data, out, *options):
    """(exit status, stderr, table of answers or None, what --json says)"""
    more = ["--output", out / "a.parquet", "--json", out / "run.json"]
    done = tensoa("infer", "--model", model, "--input", data, *more, *options)
    assert done.returncode in (0, 2), done.stderr
    table = pq.read_table(out / "a.parquet") if (out / "a.parquet").exists() else None
    return done, table, json.loads((out / "run.json").read_text())


# Nulls, one by one


def with_nulls(data, rows, name="y"):
    values = [None if i in rows else float(v) for i, v in enumerate(data[name])]
    return {**data, name: pa.array(values, pa.float32())}


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".ipc", ".csv"])
@pytest.mark.parametrize("to", [".parquet", ".arrow", ".csv"])
def test_a_null_costs_its_row_and_the_rest_has_numbers(tmp_path, out, ending, to):
    data = columns(1000)
    rows = [i for i in range(1000) if i not in (130, 131, 700)]
    path = write(tmp_path / f"data{ending}", {**with_nulls(data, (130, 131, 700)), "name": ['a,"b"\nc'] * 1000})
    more = ["--output", out / f"a{to}", "--rows-per-chunk", 64, "--copy", "name", "--json", out / "run.json"]
    done = refuse(
        *("infer", "--model", package("fused.pt2"), "--input", path, *more),
        says=[f"{path}: 3 rows are skipped: the column y is null (rows 130, 131, 700)"],
    )
    assert "the column y is null (rows 130, 131, 700)\nthe column row has the numbers" in done.stdout
    got = pa.csv.read_csv(out / "a.csv", parse_options=pa.csv.ParseOptions(newlines_in_values=True)) if to == ".csv" else read(out / f"a{to}")
    assert got.column_names == ["row", "m", "n", "name"] and got["row"].to_pylist() == rows
    close(got["m"], answers(data)["m"][rows])
    assert set(got["name"].to_pylist()) == {'a,"b"\nc'}
    report = json.loads((out / "run.json").read_text())
    assert (report["rows"], report["rows_kept"], report["rows_skipped"], report["row_numbers"]) == (997, 997, 3, "row")
    assert report["lost"] == [] and [(s["reason"], s["rows"], s["first_rows"]) for s in report["skipped"]] == [("the column y is null", 3, [130, 131, 700])]


def test_many_nulls_are_counted_and_the_first_are_named(tmp_path, out):
    path = write(tmp_path / "data.parquet", with_nulls(columns(1000), range(0, 1000, 2)))
    done, got, _ = run(package("fused.pt2"), path, out, "--threads", 2)
    assert "500 rows are skipped: the column y is null (rows 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, … and 490 more)" in done.stderr
    assert got["row"].to_pylist() == list(range(1, 1000, 2))


def test_null_says_what_becomes_of_nulls(tmp_path, out):
    data = columns(100)
    path = write(tmp_path / "data.parquet", with_nulls(data, (7,)))
    model = package("fused.pt2")
    done, got, report = run(model, path, out, "--null", "skip")
    assert (done.returncode, done.stderr, report["rows_skipped"]) == (0, "", 1)
    assert "the column y is null (row 7)" in done.stdout and got["row"].to_pylist() == [i for i in range(100) if i != 7]
    done, got, report = run(model, path, out, "--null", "nan")
    assert (done.returncode, got.column_names, report["skipped"]) == (0, ["m", "n"], [])
    assert [i for i, m in enumerate(got["m"].to_pylist()) if math.isnan(m)] == [7]
    _, got, _ = run(model, path, out, "--null", "0.5")
    data["y"][7] = 0.5
    close(got["m"], answers(data)["m"])


def test_a_null_is_not_filled_with_what_its_column_cannot_hold(models, tmp_path, out):
    data = {"pt": [1.0, None, 2.0], "eta": [1.0, 1.0, None], "n": [1, 2, 3], "k": [None, 1, 1]}
    path = write(tmp_path / "data.csv", {name: pa.array(values) for name, values in data.items()})
    done, got, _ = run(models[Mixed], path, out, "--null", "nan")
    assert done.returncode == 2 and "1 row is skipped: the column k is null (row 0)" in done.stderr
    assert got["row"].to_pylist() == [1, 2] and got["sum"].to_pylist() == [3, 4]
    for value, says in {"0.5": "the model's n is int64", "3000000000": "the model's k is int32", "1e300": "the model's pt is float32"}.items():
        infer = ["infer", "--model", models[Mixed], "--input", path, "--output", out / "b.csv", "--null", value]
        refuse(*infer, says=["--null: got ", says, "expected a number that all its columns hold, nan or skip"])
    refuse(*infer[:-1], "zero", says=['--null: got "zero", expected skip, nan or a number'])


def test_integers_that_tables_without_nulls_have_as_floating_point(models, tmp_path, out):
    numbers = [3.0, -4.0, math.nan, 2.5, 2.0**31, 7.0]
    data = {"pt": np.ones(6, "f4"), "eta": np.ones(6, "f4"), "n": np.arange(6), "k": numbers}
    for ending in (".parquet", ".csv"):
        path = write(tmp_path / f"data{ending}", pa.table(data))
        done, got, _ = run(models[Mixed], path, out)
        assert got["row"].to_pylist() == [0, 1, 5] and got["sum"].to_pylist() == [3, -3, 12]
        null, fraction, large = sorted(done.stderr.splitlines(), key=len)
        assert "the column k is null (row 2: nan)" in null
        assert "the column k is not a whole number, which int32 needs (row 3: 2.5)" in fraction
        assert "the column k has a number that int32 does not hold (row 4: 2147483648)" in large
        assert "converted k: double to int32, each number is checked" in done.stdout
        done, got, _ = run(models[Mixed], path, out, "--convert", "--null", "-1")
        assert got["sum"].to_pylist() == [3, -3, 1, 5, 12] and done.returncode == 2


def test_integers_that_text_was_rounded_to_are_not_taken(models, tmp_path, out):
    """One field of the column is "3.0", so it is read as floating point, which has no 2^53 + 1."""
    lines = ["pt,eta,n,k", "1,2,3.0,1", "1,2,9007199254740993,1", "1,2,9007199254740991,1"]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines) + "\n")
    done, got, report = run(models[Mixed], path, out)
    assert done.returncode == 2 and "so large that floating point has not every whole number" in done.stderr
    assert got["sum"].to_pylist() == [4, 9007199254740992] and report["skipped"][0]["first_rows"] == [1]


def test_output_in_place_has_row_numbers_from_the_start(tmp_path):
    path = write(tmp_path / "data.parquet", with_nulls(columns(3), (1,)))
    done = tensoa("infer", "--model", package("fused.pt2"), "--input", path, "--output", "-")
    assert [line.split(",")[0] for line in done.stdout.splitlines()] == ['"row"', "0", "2"]
    assert done.returncode == 2 and "the column y is null (row 1)" in done.stderr


def test_rows_without_numbers_where_the_call_wants_that(tmp_path, out):
    path = write(tmp_path / "data.parquet", with_nulls(columns(3), (1,)))
    done, got, report = run(package("fused.pt2"), path, out, "--no-row-numbers")
    assert got.column_names == ["m", "n"] and report["row_numbers"] is None
    assert "the rows that are written have no numbers (--no-row-numbers)" in done.stdout


def test_a_copied_column_called_row_leaves_its_name(tmp_path, out):
    path = write(tmp_path / "data.parquet", {**with_nulls(columns(3), (1,)), "row": [5, 6, 7]})
    _, got, report = run(package("fused.pt2"), path, out, "--copy", "row")
    assert got.to_pydict()["row"] == [5, 7] and got["input_row"].to_pylist() == [0, 2]
    assert report["row_numbers"] == "input_row"


def test_lost_rows_and_files_get_the_rest_row_numbers(tmp_path, out):
    first, second, third = (write(tmp_path / f"{i}.parquet", columns(1000, i)) for i in range(3))
    damage(second, 1)
    done = tensoa("infer", "--model", package("fused.pt2"), "--input", first, second, third, "--output", out / "a.arrow")
    assert done.returncode == 2 and "row group 1" in done.stderr
    assert read(out / "a.arrow")["row"].to_pylist() == [*range(1300), *range(1600, 3000)]


def test_rows_that_were_skipped_and_cannot_be_written_are_lost_once(tmp_path, out):
    first = write(tmp_path / "0.parquet", {**columns(300), "tag": pa.array([1] * 300)})
    second = write(tmp_path / "1.parquet", {**with_nulls(columns(300), (7, 8)), "tag": pa.array(["1"] * 300)})
    damage(first, 0)
    (out / "a.parquet").write_text("of before")
    call = ["infer", "--model", package("fused.pt2"), "--input", first, second, "--output", out / "a.parquet", "--copy", "tag"]
    done = tensoa(*call, "--json", out / "run.json")
    report = json.loads((out / "run.json").read_text())
    assert done.returncode == 2 and "0 rows of 2 files" in done.stdout
    assert (report["rows"], report["rows_skipped"], [one["rows"] for one in report["lost"]]) == (0, 0, [300, 300])
    assert (out / "a.parquet").read_text() == "of before"


def test_copied_columns_keep_nulls_and_types_and_null_is_kept_by_no_comparison(tmp_path, out):
    data = with_nulls(columns(6), (5,), "z")
    copied = pa.table(
        {
            "name": ["a", None, "", "d", "e", "f"],
            "when": pa.array([1, None, 3, 4, 5, 6], pa.timestamp("s")),
            "kind": pa.array(["u", "v", None, "u", "v", "u"]).dictionary_encode(),
            "code": pa.array([1, 2, None, 1, 2, 1], pa.int64()).dictionary_encode(),
            "cut": pa.array([1, 2, None, 4, 5, 6], pa.int8()),
            "jet": [{"pt": 1}, None, {"pt": None}, {"pt": 4}, {"pt": 5}, {"pt": 6}],
            **data,
        }
    )
    path = write(tmp_path / "data.arrow", copied, rows_of_part=2)
    for to in ("a.parquet", "a.arrow"):
        more = ["--output", out / to, "--copy", "name,when,kind,code,cut,jet,jet.pt", "--rows-per-chunk", 2]
        tensoa("infer", "--model", package("fused.pt2"), "--input", path, *more)
        got = read(out / to)
        assert got["row"].to_pylist() == [0, 1, 2, 3, 4]
        for name in ("name", "when", "kind", "code", "cut", "jet"):
            assert got[name].to_pylist() == copied[name].to_pylist()[:5]
        assert got["jet.pt"].to_pylist() == [1, None, None, 4, 5]
    for condition, rows in {"cut!=4": [0, 1, 4], "cut<=4": [0, 1, 3]}.items():
        _, got, _ = run(package("fused.pt2"), path, out, "--keep", condition)
        assert got["row"].to_pylist() == rows


def test_each_row_group_may_have_another_dictionary(tmp_path, out):
    tags = [f"of {i // 300}" for i in range(1000)]
    path = write(tmp_path / "data.parquet", {**columns(1000), "tag": pa.array(tags).dictionary_encode()}, rows_of_part=300)
    for to in ("a.parquet", "a.arrow", "a.csv"):
        succeed("infer", "--model", package("fused.pt2"), "--input", path, "--output", out / to, "--copy", "tag")
        assert read(out / to)["tag"].to_pylist() == tags


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_dictionaries_of_each_file_and_at_any_depth_are_copied_as_their_values(tmp_path, out, ending):
    """The last row is left out, so the rows before it get their numbers afterwards."""
    copied = {name: [] for name in ("kind", "code", "jet", "hits", "names")}
    paths = []
    for words, numbers in ((["u", "v", None], [1, 2, None]), (["w", None, "u"], [7, None, 1])):
        kind, code = (pa.array(values).dictionary_encode() for values in (words, numbers))
        jet = pa.StructArray.from_arrays([kind, code], ["kind", "code"], mask=pa.array([False, True, False]))
        hits = pa.ListArray.from_arrays(pa.array([0, 2, 2, 3], pa.int32()), jet)
        names = pa.MapArray.from_arrays([0, 1, 2, 3], pa.array(["a", "b", "c"]).dictionary_encode(), code)
        table = pa.table(dict(zip(copied, (kind, code, jet, hits, names), strict=True)))
        for name, values in copied.items():
            values += table[name].to_pylist()
        rows = with_nulls(columns(3), (2,), "z") if paths else columns(3)
        paths.append(write(tmp_path / f"{len(paths)}.arrow", pa.table({**{n: table[n] for n in copied}, **rows})))
    more = ["--output", out / f"a{ending}", "--copy", ",".join(copied), "--rows-per-chunk", 2]
    done = tensoa("infer", "--model", package("fused.pt2"), "--input", *paths, *more)
    assert done.returncode == 2 and "null" in done.stderr
    got = read(out / f"a{ending}")
    assert got["row"].to_pylist() == [0, 1, 2, 3, 4]
    assert {name: got[name].to_pylist() for name in copied} == {name: values[:5] for name, values in copied.items()}


def test_an_output_that_is_replaced_is_named(tmp_path, out):
    path = write(tmp_path / "data.parquet", columns(3))
    first, _, _ = run(package("fused.pt2"), path, out)
    second, _, _ = run(package("fused.pt2"), path, out)
    assert "replaces" not in first.stdout and f"{out / 'a.parquet'}: replaces the file that was there" in second.stdout


# Structs, text


def awkward_array():
    """The file of ak.to_parquet(ak.zip({"a": …, "b": …})): one column without a name, lists of records."""
    records = [[{"a": 1.0, "b": 5.0}, {"a": 3.0, "b": 7.0}], [], [{"a": 9.0, "b": 9.0}]]
    type_ = pa.large_list(pa.field("item", pa.struct([pa.field("a", pa.float32()), pa.field("b", pa.float32())]), nullable=False))
    return pa.array(records, type_)


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
@pytest.mark.parametrize(("name", "chosen"), [("", []), ("jets", ["--columns", "jets.a=a,jets.b=b"]), ("x", [])])
def test_lists_of_records_are_columns_of_lists(models, tmp_path, out, ending, name, chosen):
    path = write(tmp_path / f"data{ending}", pa.table({name: awkward_array(), "other": [1, 2, 3]}), rows_of_part=2)
    done, got, _ = run(models[Centred], path, out, *chosen)
    assert (done.returncode, got["p"].to_pylist(), got["q"].to_pylist()) == (0, [[-1, 1], [], [0]], [[-1, 1], [], [0]])


def test_a_field_is_named_where_its_column_is_not_found(models, tmp_path, out):
    path = write(tmp_path / "data.parquet", pa.table({"jets": awkward_array()}))
    says = ["has no column a, which the model reads as float32", "there are jets, jets.a, jets.b", "the nearest is jets.a"]
    refuse("infer", "--model", models[Centred], "--input", path, "--output", out / "a.arrow", says=says)


def test_text_with_other_delimiters_and_without_names(tmp_path, out):
    data = columns(50)
    text = [",".join(map(str, row)) for row in zip(*data.values(), strict=True)]
    for delimiter in (",", ";", "\t"):
        path = tmp_path / "data.csv"
        path.write_text("\n".join(["x,y,z", *text]).replace(",", delimiter) + "\n")
        _, got, _ = run(package("fused.pt2"), path, out)
        close(got["m"], answers(data)["m"])
    path.write_text("\n".join(text) + "\n")
    infer = ["infer", "--model", package("fused.pt2"), "--input", path, "--output", out / "b.arrow"]
    refuse(*infer, says=["has no column x", "the first line of a CSV file has the names of its columns: add one"])


# Groups


def group_answers(data, groups):
    """Of each group the first row and the means; of nothing what has a null."""
    for first, end in groups:
        rows = [(data["a"][i], data["b"][i]) for i in range(first, end)]
        if not any(value is None for row in rows for value in row):
            yield first, [float(np.mean([row[i] for row in rows])) for i in (0, 1)]


def table_of(data, event):
    return pa.table({"event": pa.array(event, pa.int64()), **{n: pa.array(v, pa.float32()) for n, v in data.items()}})


@pytest.mark.parametrize("seed", range(8))
def test_a_null_costs_the_group_of_a_model_whose_rows_depend(models, tmp_path, out, seed):
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 30, 40)
    event = np.repeat(random.integers(0, 3, 40), sizes)  # neighbours may have one number: one group
    borders = [0, *(np.flatnonzero(np.diff(event)) + 1), len(event)]
    groups = list(zip(borders[:-1], borders[1:], strict=True))
    data = {n: [None if random.random() < 0.02 else float(np.float32(random.normal())) for _ in event] for n in "ab"}
    path = write(tmp_path / "data.parquet", table_of(data, event), rows_of_part=int(random.integers(5, 200)))
    options = ["--group", "event", "--rows-per-chunk", int(random.integers(1, 100)), "--threads", int(random.integers(1, 4))]
    done, got, report = run(models[Means], path, out, *options)
    expected = list(group_answers(data, groups))
    assert got["row"].to_pylist() == [first for first, _ in expected]
    close(got["p"], [means[0] for _, means in expected])
    kept = {first for first, _ in expected}
    assert report["rows_skipped"] == sum(end - first for first, end in groups if first not in kept)
    assert report["rows"] + report["rows_skipped"] == len(event)
    assert done.returncode == (2 if len(kept) < len(groups) else 0)
    assert f"group{'s' if len(groups) - len(kept) > 1 else ''} are skipped" in done.stderr or len(kept) == len(groups)
    # Groups are separate calls, whether rows are known to depend on each other or nothing is known.
    unknown = {"answer": "unknown", "reason": "nothing was said", "analysis": 1}
    silent = edited(models[Centred], tmp_path / "silent.pt2", lambda manifest, records: manifest.update(row_dependence=unknown))
    filled = {n: np.array([0 if v is None else v for v in values]) for n, values in data.items()}
    for model in (models[Centred], silent):
        done, got, _ = run(model, path, out, *options, "--null", "0")
        assert done.returncode == 0
        close(got["p"], np.concatenate([filled["a"][i:j] - filled["a"][i:j].mean() for i, j in groups]))


@pytest.mark.parametrize("seed", range(8))
def test_what_has_no_group_costs_its_neighbours(models, tmp_path, out, seed):
    """They may lack it: rows whose group is null, and row groups that are damaged."""
    random = np.random.default_rng(seed)
    event = np.repeat(np.arange(30), random.integers(1, 12, 30))
    data = {n: random.normal(size=len(event)).astype("f4") for n in "ab"}
    lost = sorted(set(map(int, random.integers(0, len(event), 4))))
    lost += [lost[-1] + 1] if lost[-1] + 1 < len(event) else []
    ids = [None if i in lost else int(e) for i, e in enumerate(event)]
    path = write(tmp_path / "data.parquet", table_of(data, ids), rows_of_part=int(random.integers(5, 100)))
    runs, first = [], 0
    for i in range(1, len(ids) + 1):
        if i == len(ids) or ids[i] != ids[first]:
            runs.append((first, i))
            first = i
    good = [(i, j) for i, j in runs if ids[i] is not None and i - 1 not in lost and j not in lost]
    done, got, report = run(models[Means], path, out, "--group", "event", "--rows-per-chunk", int(random.integers(1, 50)), "--null", "skip")
    assert done.returncode == 2 and "the number of its group is null" in done.stderr
    assert got["row"].to_pylist() == [i for i, _ in good]
    close(got["p"], [data["a"][i:j].mean() for i, j in good])
    assert sum(one["rows"] for one in report["lost"]) == len(ids) - sum(j - i for i, j in good)


def test_groups_with_one_answer_are_not_joined_on_the_word_of_the_call(models, tmp_path, out):
    event = np.repeat(np.arange(5), 20)
    path = write(tmp_path / "data.parquet", table_of({n: event.astype("f4") for n in "ab"}, event))
    infer = ["infer", "--model", models[Means], "--input", path, "--output", out / "a.csv", "--group", "event"]
    refuse(*infer, "--rows", "independent", says=["--rows independent", "gives one row for each group"])
    assert names_in(out) == []


def test_groups_with_one_answer_are_not_joined_on_the_word_of_the_model(models, tmp_path, out):
    def lie(manifest, records):
        manifest["row_dependence"] = {**manifest["row_dependence"], "answer": "independent"}

    event = np.repeat(np.arange(5), 20)
    data = {n: event.astype("f4") for n in "ab"}
    path = write(tmp_path / "data.parquet", table_of(data, event))
    _, got, _ = run(edited(models[Means], tmp_path / "lies.pt2", lie), path, out, "--group", "event")
    assert got["event"].to_pylist() == got["p"].to_pylist() == list(range(5))


def test_groups_next_to_a_damaged_row_group_are_lost_where_rows_depend(models, tmp_path, out):
    event = np.repeat(np.arange(10), 100)
    data = {n: np.random.default_rng(1).normal(size=1000).astype("f4") for n in "ab"}
    path = write(tmp_path / "data.parquet", table_of(data, event), rows_of_part=250)
    damage(path, 1)  # rows 250 to 499: the end of event 2, all of 3, the last row of 4
    done, got, _ = run(models[Means], path, out, "--group", "event")
    assert done.returncode == 2 and "group 2: rows of it may be lost" in done.stderr
    assert got["event"].to_pylist() == [0, 1, 6, 7, 8, 9]


# Random tables


class Skipped(Exception):
    def __init__(self, is_null):
        self.is_null = is_null


LIMITS = {"int64": 63, "int32": 31}


def number(value, dtype, convert, fill):
    """The value that a model with a column of `dtype` gets, as in docs/infer.md."""
    is_integer = dtype in LIMITS
    if value is None or (is_integer and isinstance(value, float) and math.isnan(value)):
        if fill is None or (is_integer and math.isnan(fill)):
            raise Skipped(True)
        return fill
    if is_integer:
        if not isinstance(value, int):
            if not (convert or value == value // 1):
                raise Skipped(False)
            if isinstance(value, float) and math.isinf(value):
                raise Skipped(False)
            if isinstance(value, float) and not convert and abs(value) >= 1 << 53:
                raise Skipped(False)
            value = round(value)
        if not -(1 << LIMITS[dtype]) <= value < 1 << LIMITS[dtype]:
            raise Skipped(False)
        return value
    with np.errstate(over="ignore"):
        rounded = float(np.float32(float(value)))
    if isinstance(value, int) and not convert and int(rounded) != value:
        raise Skipped(False)
    if math.isinf(rounded) and not math.isinf(float(value)):
        raise Skipped(False)
    return rounded


FLOATS = [pa.float32(), pa.float16(), pa.int8(), pa.uint16(), pa.int32(), pa.uint64(), pa.float64(), pa.decimal128(12, 3)]
INTEGERS = [pa.int64(), pa.int8(), pa.uint8(), pa.int32(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(25, 2), pa.decimal256(40, 0)]


def random_values(random, type_, rows, nulls, faults):
    """Values of a type, few of which a column of the model cannot hold."""

    def value():
        if random.random() < nulls:
            return None
        if pa.types.is_integer(type_):
            bits = type_.bit_width - (0 if "u" in str(type_) else 1)
            if random.random() < faults:
                return int(random.integers(0, 1 << 62)) * 2 % (1 << bits)
            return int(random.integers(0 if "u" in str(type_) else -100, 100))
        if pa.types.is_decimal(type_):
            scale = 2 if type_.scale > 0 and random.random() < faults else 1
            return Decimal(int(random.integers(-1000, 1000))) / scale
        whole = float(random.integers(-100, 100))
        if random.random() < faults:
            return float(random.choice([0.5, -2.25, math.nan, math.inf, 60000.0]))
        return whole

    return [value() for _ in range(rows)]


def stored(random, values, type_, name):
    """(column name in the file, array): plain, a dictionary, inside structs that may be null themselves."""
    array = pa.array(values, type_)
    shape = random.choice(["plain", "dictionary", "struct", "structs"])
    if shape == "dictionary" and not pa.types.is_decimal(type_) and not pa.types.is_float16(type_):
        return name, array.dictionary_encode(), name
    if shape == "struct":
        mask = pa.array([v is None and bool(random.integers(0, 2)) for v in values])
        garbage = pa.array([v if v is not None or not m.as_py() else 1 for v, m in zip(values, mask, strict=True)], type_)
        return name, pa.StructArray.from_arrays([pa.array(range(len(values))), garbage], ["i", "v"], mask=mask), f"{name}.v"
    if shape == "structs":
        inner = pa.StructArray.from_arrays([array], ["v"])
        return name, pa.StructArray.from_arrays([inner], ["in"]), f"{name}.in.v"
    return name, array, name


@pytest.mark.parametrize("seed", range(60))
def test_random_tables_of_numbers(models, tmp_path, out, seed):
    random = np.random.default_rng(seed)
    rows = int(random.choice([1, 7, 300, 2000]))
    nulls, faults = random.choice([0, 0.01, 0.3]), random.choice([0, 0.01])
    ending = str(random.choice([".parquet", ".arrow", ".ipc"]))
    model_columns = {"pt": "float32", "eta": "float32", "n": "int64", "k": "int32"}
    types = {name: (FLOATS if dtype == "float32" else INTEGERS) for name, dtype in model_columns.items()}
    types = {name: of[int(random.integers(len(of)))] for name, of in types.items()}
    if ending == ".parquet":
        types = {name: pa.float32() if pa.types.is_float16(t) else t for name, t in types.items()}
    values = {name: random_values(random, t, rows, nulls, faults) for name, t in types.items()}
    table, chosen = {"event": pa.array(range(rows))}, []
    for name, t in types.items():
        column, array, full = stored(random, values[name], t, name)
        table[column] = array
        chosen.append(f"{full}={name}")
    needs = any(t in (pa.float64(), pa.decimal128(12, 3)) for t in (types["pt"], types["eta"]))
    convert = needs or bool(random.integers(0, 2))
    policy = [None, "skip", "nan", "3"][int(random.integers(4))]
    fill = {"nan": math.nan, "3": 3}.get(policy)
    path = write(tmp_path / f"data{ending}", pa.table(table), rows_of_part=int(random.integers(1, rows + 1)))
    options = ["--columns", ",".join(chosen), "--rows-per-chunk", int(random.integers(1, rows + 50)), "--threads", int(random.integers(1, 4)), "--copy", "event"]
    options += ["--convert"] if convert else []
    options += ["--null", policy] if policy else []
    done, got, report = run(models[Mixed], path, out, *options)
    expected, skipped = {}, []
    for row in range(rows):
        try:
            expected[row] = [number(values[name][row], dtype, convert, fill) for name, dtype in model_columns.items()]
        except Skipped:
            skipped.append(row)
    accepted = policy == "skip" and all(one["reason"].endswith("is null") for one in report["skipped"])
    assert done.returncode == (2 if skipped and not accepted else 0), done.stderr
    assert report["rows_skipped"] == len(skipped) == sum(one["rows"] for one in report["skipped"])
    if not expected:
        assert got is None or got.num_rows == 0
        return
    kept = list(expected)
    assert ("row" in got.column_names) == bool(skipped)
    assert got["event"].to_pylist() == kept and (not skipped or got["row"].to_pylist() == kept)
    with np.errstate(all="ignore"):
        pt, eta, n, k = (np.array([expected[row][i] for row in kept], t) for i, t in enumerate(["f4", "f4", "i8", "i4"]))
        score = torch.from_numpy(pt) * 2 + torch.from_numpy(eta) + torch.from_numpy(k)
        np.testing.assert_allclose(got["score"].to_numpy(), score.numpy(), rtol=1e-5, equal_nan=True)
        assert got["sum"].to_pylist() == (torch.from_numpy(n) + torch.from_numpy(k)).tolist()


@pytest.mark.parametrize("seed", range(40))
def test_random_tables_of_lists(models, tmp_path, out, seed):
    random = np.random.default_rng(seed)
    rows = int(random.choice([1, 20, 300]))
    nulls = random.choice([0, 0.02])
    lists, bad = {"a": [], "b": []}, set()
    shape = str(random.choice(["lists", "records", "record of lists"]))
    for row in range(rows):
        size = int(random.integers(0, 6))
        for name in "ab":
            values = [float(np.float32(random.normal())) for _ in range(size)]
            if values and random.random() < nulls:
                values[int(random.integers(size))] = None
                bad.add(row)
            if shape != "records" and random.random() < nulls:
                values = None
                bad.add(row)
            elif shape != "records" and random.random() < nulls:
                values = [*values, 1.0]
            lists[name].append(values)
        a, b = lists["a"][row], lists["b"][row]
        if a is not None and b is not None and len(a) != len(b):
            bad.add(row)
    make = pa.large_list if random.integers(0, 2) else pa.list_
    arrays = [pa.array(lists[name], make(pa.float32())) for name in "ab"]
    if shape == "records":
        records = [[{"a": a, "b": b} for a, b in zip(*pair, strict=True)] for pair in zip(lists["a"], lists["b"], strict=True)]
        for row in range(rows):
            if random.random() < nulls:
                records[row] = None
                bad.add(row)
        type_ = make(pa.struct({"a": pa.float32(), "b": pa.float32()}))
        table = pa.table({"x": pa.array(records, type_)})
    elif shape == "record of lists":
        table = pa.table({"x": pa.StructArray.from_arrays(arrays, ["a", "b"])})
    else:
        table = pa.table(dict(zip("ab", arrays, strict=True)))
    path = write(tmp_path / f"data{random.choice(['.parquet', '.arrow', '.ipc'])}", table, rows_of_part=int(random.integers(1, rows + 1)))
    done, got, report = run(models[Centred], path, out, "--rows-per-chunk", int(random.integers(1, rows + 50)), "--threads", 2)
    kept = [row for row in range(rows) if row not in bad]
    assert done.returncode == (2 if bad else 0) and report["rows_skipped"] == len(bad), done.stderr
    if not kept:
        assert names_in(out) == ["run.json"]
        return
    assert not bad or got["row"].to_pylist() == kept
    for name, answer in (("a", "p"), ("b", "q")):
        for row, values in zip(kept, got[answer].to_pylist(), strict=True):
            expected = np.array(lists[name][row], "f4")
            close(np.array(values), expected - expected.mean() if len(expected) else expected)
