# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""`tensoa infer`: files in, answers out; every way in which a file, a model or an option can be wrong."""

import json
import os
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import torch
from exporting import bind, block
from torch import nn

from conftest import PROGRAM, names_in, package, refuse, succeed, tensoa
from tensoa.package.manifest import ANALYSIS

ROWS = 1000


def columns(rows=ROWS, seed=1):
    random = np.random.default_rng(seed)
    return {name: random.uniform(-2, 2, rows).astype("f4") for name in "xyz"}


def answers(data):
    """The results of fused.pt2: tests/package/fused_fixture.cpp."""
    x, y, z = (np.asarray(data[name], dtype="f4") for name in "xyz")
    return {"m": x + 2 * y + 3 * z, "n": x * y - z}


def write(path, data, rows_of_part=300):
    table = data if isinstance(data, pa.Table) else pa.table(data)
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=rows_of_part)
    elif path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    else:
        make = pa.ipc.new_stream if path.suffix == ".ipc" else pa.ipc.new_file
        with make(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows_of_part)
    return path


def read(path):
    if path.suffix == ".parquet":
        return pq.read_table(path)
    return pa.csv.read_csv(path) if path.suffix == ".csv" else pa.ipc.open_file(path).read_all()


def infer(model, data, out, *options, run=succeed, **more):
    return run("infer", "--model", model, "--input", data, "--output", out, "--rows-per-chunk", 64, *options, **more)


@pytest.fixture
def model():
    return package("fused.pt2")


def close(got, expected):
    np.testing.assert_allclose(got.to_numpy() if hasattr(got, "to_numpy") else got, expected, rtol=1e-5, atol=1e-6)


# The outputs


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".ipc", ".feather", ".csv"])
@pytest.mark.parametrize("to", [".parquet", ".arrow", ".csv"])
@pytest.mark.parametrize("threads", [1, 3])
def test_answers_come_in_the_order_of_the_rows(model, tmp_path, out, ending, to, threads):
    data = columns()
    path = write(tmp_path / f"data{ending}", {"other": ["a"] * ROWS, **data})
    infer(model, path, out / f"a{to}", "--threads", threads, "--json", out / "run.json")
    got, expected = read(out / f"a{to}"), answers(data)
    assert got.column_names == ["m", "n"]
    close(got["m"], expected["m"])
    close(got["n"], expected["n"])
    run = json.loads((out / "run.json").read_text())
    assert (run["rows"], run["rows_kept"], run["lost"], run["unit"]) == (ROWS, ROWS, [], "rows")
    assert run["bytes_copied"]["converted"] == run["bytes_copied"]["model_out"] == 0
    assert len(run["busy_seconds"]) == threads and run["rows_per_s"] > 0


def test_model_and_files_need_no_options(model, tmp_path, out):
    files = [write(tmp_path / f"{i}.csv", columns(7, seed=i)) for i in range(2)]
    infer(model, files[0], out / "a.csv")
    for i, arguments in enumerate(([model, *files], ["--input", *files, "--model", model], ["--model", model, *files])):
        succeed("infer", *arguments, "--output", out / f"{i}.csv")
        rows = (out / f"{i}.csv").read_text()
        assert rows.startswith((out / "a.csv").read_text()) and rows.count("\n") == 15


def test_several_files_and_folders(model, tmp_path, out):
    folder = tmp_path / "data"
    folder.mkdir()
    parts = [columns(10, seed) for seed in range(3)]
    write(folder / "b.parquet", parts[1])
    write(folder / "a.arrow", parts[0])
    single = write(tmp_path / "c.csv", parts[2])
    succeed("infer", "--model", model, "--input", folder, single, "--output", out / "a.parquet", "--copy", "x", "--row-numbers")
    got = read(out / "a.parquet")
    assert got.column_names == ["row", "m", "n", "x"]
    assert got["row"].to_pylist() == list(range(30))
    close(got["m"], np.concatenate([answers(part)["m"] for part in parts]))


def test_kept_rows_come_with_their_numbers_and_copies(model, tmp_path, out):
    data = columns()
    names = [f"name {i}" for i in range(ROWS)]
    path = write(tmp_path / "data.parquet", {"name": names, "when": np.arange(ROWS).astype("datetime64[s]"), **data})
    infer(model, path, out / "a.parquet", "--keep", "m>0.5 && x <= 1", "--copy", "name,when", "--threads", 2)
    expected = answers(data)
    kept = np.flatnonzero((expected["m"] > 0.5) & (data["x"] <= 1))
    got = read(out / "a.parquet")
    assert got.column_names == ["row", "m", "n", "name", "when"]
    assert got["row"].to_pylist() == kept.tolist() and got["name"].to_pylist() == [names[i] for i in kept]
    close(got["n"], expected["n"][kept])
    infer(model, path, out / "b.parquet", "--keep", "m>1e9", "--no-row-numbers")
    assert read(out / "b.parquet").shape == (0, 2)


def test_columns_by_name_and_by_order(model, tmp_path, out):
    data = columns()
    path = write(tmp_path / "data.parquet", dict(zip(("px", "py", "pz"), data.values(), strict=True)))
    for chosen in ("px=x,py=y,pz=z", "px,py,pz", "pz=z,px=features.x,py=y"):
        infer(model, path, out / "a.parquet", "--columns", chosen)
        close(read(out / "a.parquet")["m"], answers(data)["m"])
    path = write(tmp_path / "same.parquet", data)
    infer(model, path, out / "a.parquet", "--columns", "z,y,x")  # names of the model's
    close(read(out / "a.parquet")["m"], answers(data)["m"])


def test_numbers_are_converted_and_the_run_says_so(model, tmp_path, out):
    data = {"x": np.arange(ROWS, dtype="u2"), "y": np.arange(ROWS, dtype="i8"), "z": np.full(ROWS, 0.1)}
    path = write(tmp_path / "data.parquet", data)
    says = ["column z is double", "the model's z is float32", "--convert rounds"]
    infer(model, path, out / "a.parquet", run=refuse, says=says)
    assert names_in(out) == []
    done = infer(model, path, out / "a.parquet", "--convert", "--json", out / "run.json")
    assert "converted x: uint16 to float32, every number is kept" in done.stdout
    assert "converted z: double to float32, rounded" in done.stdout
    close(read(out / "a.parquet")["m"], answers(data)["m"])
    assert json.loads((out / "run.json").read_text())["bytes_copied"]["converted"] == 12 * ROWS


def test_slices_and_empty_files(model, tmp_path, out):
    data = columns(0)
    for ending in (".parquet", ".arrow", ".ipc", ".csv"):
        infer(model, write(tmp_path / f"none{ending}", data), out / "a.parquet")
        assert read(out / "a.parquet").shape == (0, 2)
    infer(model, write(tmp_path / "one.parquet", columns(1)), out / "a.parquet")
    assert read(out / "a.parquet").num_rows == 1


def test_trees(tmp_path, out):
    xgboost = pytest.importorskip("xgboost")
    data = {name: values for name, values in columns().items()}
    x = np.stack(list(data.values()), axis=1)
    matrix = xgboost.DMatrix(x, x[:, 0] > x[:, 1], feature_names=list(data))
    booster = xgboost.train({"objective": "binary:logistic", "max_depth": 3, "nthread": 1}, matrix, 10)
    booster.save_model(tmp_path / "trees.json")
    infer(tmp_path / "trees.json", write(tmp_path / "data.parquet", data), out / "a.arrow")
    (column,) = read(out / "a.arrow").columns
    close(column, booster.predict(matrix))


def test_output_to_stdout_is_csv(model, tmp_path):
    done = tensoa("infer", "--model", model, "--input", write(tmp_path / "d.parquet", columns(2)), "--output", "-")
    assert done.returncode == 0 and done.stdout.startswith('"row","m","n"\n0,') and len(done.stdout.splitlines()) == 3
    assert "wall clock" in done.stderr


# Events


def events():
    """Lists of a graph model: two nodes and three edges, nothing, one node and one edge."""
    return {
        "charge": pa.array([[1.0, -2.0], [], [3.0]], pa.list_(pa.float32())),
        "mass": pa.array([[1.0, 10.0], [], [7.0]], pa.large_list(pa.float32())),
        "source": pa.array([[0, 1, 0], [], [0]], pa.list_(pa.int64())),
        "target": pa.array([[1, 1, 0], [], [0]], pa.list_(pa.int32())),
        "event": [7, 8, 9],
    }


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_lists_are_one_call_for_each_row(tmp_path, out, ending):
    path = write(tmp_path / f"events{ending}", events(), rows_of_part=2)
    infer(package("fused_graph.pt2"), path, out / f"a{ending}", "--copy", "event", "--json", out / "run.json")
    got = read(out / f"a{ending}")
    assert got["product"].to_pylist() == [[-2, 4, 1], [], [9]]
    assert got["total"].to_pylist() == [[1, 11], [], [7]]
    assert got["event"].to_pylist() == [7, 8, 9]
    assert json.loads((out / "run.json").read_text())["unit"] == "lists"
    infer(package("fused_graph.pt2"), path, out / f"b{ending}", "--keep", "event>=8", "--no-row-numbers")
    assert read(out / f"b{ending}")["product"].to_pylist() == [[], [9]]


@pytest.mark.parametrize(
    ("mass", "row", "says"),
    [
        ([[1.0], [], [7.0]], 0, "the list in mass is not as long as those of the other columns of block x (row 0: 1 elements, not 2)"),
        ([[1.0, 2.0], None, [7.0]], 1, "the column mass is null (row 1)"),
        ([[1.0, 2.0], [], [None]], 2, "the column mass is null (row 2)"),
    ],
)
def test_lists_that_are_wrong_cost_their_row(tmp_path, out, mass, row, says):
    path = write(tmp_path / "events.arrow", {**events(), "mass": pa.array(mass, pa.list_(pa.float32()))})
    infer(package("fused_graph.pt2"), path, out / "a.arrow", run=refuse, says=["1 row is skipped", says])
    assert read(out / "a.arrow")["row"].to_pylist() == [i for i in range(3) if i != row]


def test_lists_and_numbers_do_not_mix(tmp_path, out):
    path = write(tmp_path / "events.arrow", {**events(), "mass": pa.array([1.0, 2.0, 3.0], pa.float32())})
    says = ["has lists", "mass has numbers", "expected the columns that the model reads to be of one kind"]
    infer(package("fused_graph.pt2"), path, out / "a.arrow", run=refuse, says=says)
    path = write(tmp_path / "flat.arrow", {"charge": np.ones(2, "f4"), "mass": np.ones(2, "f4"), "source": [0, 1], "target": [0, 1]})
    says = ["reads 2 collections of rows", "has one", "expected a file whose columns are lists"]
    infer(package("fused_graph.pt2"), path, out / "a.arrow", run=refuse, says=says)
    says = ["--group", "each row is a group already"]
    infer(package("fused_graph.pt2"), write(tmp_path / "e.arrow", events()), out / "a", "--group", "event", run=refuse, says=says)
    infer(package("fused_graph.pt2"), tmp_path / "e.arrow", out / "a.csv", run=refuse, says=["is list", "which CSV has not"])
    says = ["--keep: total is a list for each row"]
    infer(package("fused_graph.pt2"), tmp_path / "e.arrow", out / "a.arrow", "--keep", "total>1", run=refuse, says=says)


class Centred(nn.Module):
    """Each number less the mean of its group."""

    def forward(self, x):
        return x - x.mean(dim=0, keepdim=True)


class Means(nn.Module):
    """One row for each group."""

    def forward(self, x):
        return x.mean(dim=0, keepdim=True)


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """The modules as packages, by their class."""
    from tensoa.export import Options, export

    folder = tmp_path_factory.mktemp("groups")
    made = {}
    for module in (Centred(), Means()):
        path = folder / f"{type(module).__name__}.pt2"
        binding = bind([block("x", ["a", "b"])], [block("answers", ["p", "q"])])
        export(module, binding, path, Options(report=lambda line: None))
        made[type(module)] = path
    return made


def grouped():
    sizes = [3, 1, 200, 1, 5, 90]
    event = np.repeat([4, 7, 4, 1, 2, 3], sizes)
    random = np.random.default_rng(2)
    data = {"event": event, "a": random.normal(size=len(event)).astype("f4"), "b": random.normal(size=len(event)).astype("f4")}
    ends = np.cumsum(sizes)
    return data, list(zip(ends - sizes, ends, strict=True))


@pytest.mark.parametrize("threads", [1, 3])
def test_groups_are_calls_across_chunks_and_row_groups(exported, tmp_path, out, threads):
    data, groups = grouped()
    path = write(tmp_path / "data.parquet", data, rows_of_part=70)
    infer(exported[Centred], path, out / "a.parquet", "--group", "event", "--copy", "event", "--threads", threads)
    got = read(out / "a.parquet")
    close(got["p"], np.concatenate([data["a"][i:j] - data["a"][i:j].mean() for i, j in groups]))
    assert got["event"].to_pylist() == data["event"].tolist()


def test_a_model_that_gives_one_row_for_each_group(exported, tmp_path, out):
    data, groups = grouped()
    path = write(tmp_path / "data.parquet", data, rows_of_part=70)
    infer(exported[Means], path, out / "a.parquet", "--group", "event", "--keep", "p>-10")
    got = read(out / "a.parquet")
    assert got.column_names == ["row", "p", "q", "event"]
    assert got["event"].to_pylist() == [4, 7, 4, 1, 2, 3]
    assert got["row"].to_pylist() == [i for i, _ in groups]
    close(got["q"], [data["b"][i:j].mean() for i, j in groups])
    says = ["--copy", "one row for each group"]
    infer(exported[Means], path, out / "b.parquet", "--group", "event", "--copy", "a", run=refuse, says=says)


def test_rows_that_depend_on_each_other_need_groups(exported, tmp_path, out):
    path = write(tmp_path / "data.parquet", grouped()[0])
    says = ["depend on the other rows", "--group COLUMN"]
    infer(exported[Centred], path, out / "a.parquet", run=refuse, says=says)
    infer(exported[Means], path, out / "a.parquet", run=refuse, says=["1 rows for each call", "--group COLUMN"])
    assert names_in(out) == []


class Near(nn.Module):
    """How many rows lie near a row: made-up rows lie far apart."""

    def forward(self, x):
        return torch.exp(-1e4 * torch.cdist(x, x) ** 2) @ x


class SmallAttention(nn.Module):
    """Answers below any tolerance that is not relative."""

    def forward(self, x):
        return torch.softmax(x @ x.t(), 1) @ x * 1e-6


@pytest.mark.parametrize("made", [Near, SmallAttention])
def test_rows_that_depend_little_or_seldom_on_each_other_are_not_joined(made, tmp_path, out):
    from tensoa.export import Options, export

    binding = bind([block("x", ["a", "b"])], [block("answers", ["p", "q"])])
    export(made(), binding, tmp_path / "model.pt2", Options(report=lambda line: None))
    data, groups = grouped()
    data = {**data, "a": data["a"] * 0.02, "b": data["b"] * 0.02}
    path = write(tmp_path / "data.parquet", data)
    says = [
        "its answers for a row depend on the other rows of the call (aten.",
        "of rows with others, at test_infer.py:",
    ]
    infer(tmp_path / "model.pt2", path, out / "a.parquet", run=refuse, says=says)
    infer(tmp_path / "model.pt2", path, out / "a.parquet", "--group", "event")
    x = torch.from_numpy(np.stack([data["a"], data["b"]], 1))
    expected = torch.cat([made()(x[i:j]) for i, j in groups]).numpy()
    got = read(out / "a.parquet")
    for i, name in enumerate("pq"):
        np.testing.assert_allclose(
            got[name].to_numpy(),
            expected[:, i],
            rtol=1e-3,
            atol=1e-4 * abs(expected[:, i]).max(),
        )


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_column_that_a_block_has_twice_is_one_column(tmp_path, out, dtype):
    data = {name: values.astype(dtype) for name, values in columns().items()}
    infer(package("fused_repeated.pt2"), write(tmp_path / "data.parquet", data), out / "a.parquet", "--convert")
    close(read(out / "a.parquet")["m"], answers(columns())["m"])


def test_what_no_package_says_is_taken_as_dependent_unless_the_user_knows(tmp_path, out):
    path = write(tmp_path / "data.parquet", {"event": np.repeat(np.arange(10), 100), **columns()})
    for name, why in (
        ("fused_no_row_dependence", "the package does not state it; export it again"),
        ("fused_unknown_row_dependence", "why"),
        ("fused_later_row_dependence", "written by a later version of tensoa"),
        ("fused_corrected_row_dependence", "rules that found independent rows were corrected; export it again"),
    ):
        says = [
            "may depend on the other rows",
            why,
            "--group COLUMN",
            "--rows independent",
        ]
        infer(package(f"{name}.pt2"), path, out / "a.parquet", run=refuse, says=says)
    assert names_in(out) == []
    older = package("fused_no_row_dependence.pt2")
    done = infer(
        older,
        path,
        out / "a.parquet",
        "--rows",
        "independent",
        "--json",
        out / "run.json",
    )
    close(read(out / "a.parquet")["m"], answers(columns())["m"])
    assert "rows: independent, as --rows says; of the model: unknown: the package does not state it" in done.stdout
    assert json.loads((out / "run.json").read_text())["row_dependence"] == {
        "answer": "unknown",
        "reason": "the package does not state it; export it again",
        "rows": "independent",
    }
    infer(older, path, out / "b.parquet", "--group", "event")  # one group is one call, which is right in any case
    close(read(out / "b.parquet")["m"], answers(columns())["m"])


def test_the_user_may_say_that_rows_depend_on_each_other(model, tmp_path, out):
    path = write(tmp_path / "data.parquet", columns())
    says = ["its answers for a row depend on the other rows of the call; --group COLUMN"]
    infer(model, path, out / "a.parquet", "--rows", "dependent", run=refuse, says=says)
    infer(model, path, out / "a.parquet", "--rows", "perhaps", run=refuse, says=["--rows"])


def test_a_package_that_was_edited_to_say_otherwise_is_refused(exported, tmp_path, out):
    lies = tmp_path / "lies.pt2"
    with (
        zipfile.ZipFile(exported[Centred]) as archive,
        zipfile.ZipFile(lies, "w") as changed,
    ):
        for entry in archive.infolist():
            content = archive.read(entry)
            if entry.filename.endswith("extra/tensoa.json"):
                manifest = json.loads(content)
                assert manifest["row_dependence"]["answer"] == "dependent"
                content = json.dumps(
                    {
                        **manifest,
                        "row_dependence": {"answer": "independent", "analysis": ANALYSIS},
                    }
                )
            changed.writestr(entry, content)
        changed.comment = archive.comment
    infer(
        lies,
        write(tmp_path / "data.parquet", grouped()[0]),
        out / "a.parquet",
        run=refuse,
        says=["checksum"],
    )
    assert names_in(out) == []


def test_a_package_that_says_neither_is_refused(tmp_path, out):
    path = write(tmp_path / "data.parquet", columns())
    says = ['its "row_dependence" is "maybe", expected independent, dependent or unknown; export it again']
    infer(
        package("fused_other_row_dependence.pt2"),
        path,
        out / "a.parquet",
        run=refuse,
        says=says,
    )


@pytest.mark.parametrize("ending", [".pt", ".pt2"])
def test_rows_of_models_that_are_compiled_just_in_time_are_known_from_their_graphs(ending, tmp_path, out):
    torch.manual_seed(1)
    alone = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 2)).eval()
    data, groups = grouped()
    path = write(tmp_path / "data.parquet", data)
    x = torch.from_numpy(np.stack([data["a"], data["b"]], 1))
    description = {"schema": 1, "match": "order"}
    description |= {
        "inputs": [block("x", ["a", "b"])],
        "outputs": [block("answers", ["p", "q"])],
    }
    (tmp_path / "binding.json").write_text(json.dumps(description))
    for module in (alone, Near()):
        model = tmp_path / f"{type(module).__name__}{ending}"
        if ending == ".pt":
            torch.jit.script(module).save(model)
        else:
            program = torch.export.export(module, (x,), dynamic_shapes=({0: torch.export.Dim.AUTO},))
            torch.export.save(program, model)
        options = [
            model,
            path,
            out / f"{type(module).__name__}.parquet",
            "--binding",
            tmp_path / "binding.json",
        ]
        if module is alone:
            infer(*options)
            with torch.no_grad():
                close(read(options[2])["p"], alone(x)[:, 0].numpy())
            words = ["--columns", "input=a,b", "--outputs", "answers=p,q"]
            infer(model, path, out / "words.parquet", *words)
            assert read(out / "words.parquet") == read(options[2])
            infer(model, path, out / "a.parquet", run=refuse, says=["does not state which columns it reads", "--columns input=COLUMN"])
            infer(model, path, out / "a.parquet", *words[:2], run=refuse, says=["--outputs", "or --binding FILE (docs/infer.md)"])
            infer(model, path, out / "a.parquet", *words[:1], "a,b", *words[2:], run=refuse, says=["got 'a,b', expected BLOCK="])
            infer(model, path, out / "a.parquet", *words[:3], "p,q", run=refuse, says=["got 'p,q', expected COLUMN or BLOCK="])
            infer(model, path, out / "a.parquet", *words[:1], "input=a,c", *words[2:], run=refuse, says=["has no column c"])
        else:
            infer(*options, run=refuse, says=["depend on the other rows of the call (aten."])


def test_words_are_for_models_that_do_not_say_their_columns(model, tmp_path, out):
    path = write(tmp_path / "data.parquet", columns())
    infer(model, path, out / "a.parquet", "--outputs", "m", run=refuse, says=["states its columns; expected no names of outputs"])


def test_a_group_column_bounds_chunks_of_other_models(model, tmp_path, out):
    data = {"event": np.repeat(np.arange(100), 10), **columns()}
    infer(model, write(tmp_path / "data.parquet", data), out / "a.parquet", "--group", "event")
    close(read(out / "a.parquet")["m"], answers(data)["m"])


# Bad input


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"x": None}, ["has no column x, which the model reads as float32", "there are y, z; --columns FILE_NAME=x"]),
        ({"x": ["a"] * ROWS}, ["column x is string", "the model's x is float32"]),
        ({"x": pa.array([[1.0]] * ROWS, pa.list_(pa.float32()))}, ["column x has lists", "y has numbers"]),
        ({"y": np.full(ROWS, 1 << 24 | 1)}, ["1000 rows are skipped: the column y has a number that float32 does not hold (rows 0: 16777217,"]),
    ],
)
def test_columns_that_do_not_fit_are_refused(model, tmp_path, out, change, says):
    data = {name: column for name, column in {**columns(), **change}.items() if column is not None}
    path = write(tmp_path / "data.parquet", data, rows_of_part=ROWS)
    done = tensoa("infer", "--model", model, "--input", path, "--output", out / "a.parquet", "--rows-per-chunk", ROWS)
    assert done.returncode == 2
    for part in says:
        assert part in done.stderr
    assert names_in(out) == []


def damage(path, row_group):
    """Overwrites the first page of a row group."""
    where = pq.ParquetFile(path).metadata.row_group(row_group).column(0)
    offset = where.dictionary_page_offset or where.data_page_offset
    content = bytearray(path.read_bytes())
    content[offset : offset + 16] = b"\xff" * 16
    path.write_bytes(content)


@pytest.mark.parametrize("options", [[], ["--group", "event"]])
def test_a_damaged_row_group_is_lost_and_no_other(model, tmp_path, out, options):
    data = {**columns(), "event": np.arange(ROWS) // 300}
    path = write(tmp_path / "data.parquet", data)
    damage(path, 1)
    infer(model, path, out / "a.parquet", "--json", out / "run.json", "--row-numbers", *options, run=refuse, says=["row group 1"])
    run = json.loads((out / "run.json").read_text())
    assert [(lost["first_row"], lost["rows"]) for lost in run["lost"]] == [(300, 300)]
    rows = [*range(300), *range(600, ROWS)]
    assert read(out / "a.parquet")["row"].to_pylist() == rows
    close(read(out / "a.parquet")["m"], answers(data)["m"][rows])


def test_a_file_that_cannot_be_read_is_lost_and_no_other(model, tmp_path, out):
    parts = [columns(100, seed) for seed in range(4)]
    paths = [write(tmp_path / f"{i}.parquet", part) for i, part in enumerate(parts)]
    paths[1].write_bytes(paths[1].read_bytes()[:-100])
    write(paths[2], {"x": parts[2]["x"]})
    done = tensoa("infer", "--model", model, "--input", *paths, "--output", out / "a.parquet", "--json", out / "run.json")
    assert done.returncode == 2 and "lost: 0 rows, and what follows in 2 files" in done.stdout
    first, second = done.stderr.splitlines()
    assert "1.parquet: is not a Parquet file, or is damaged or truncated" in first and "2.parquet: has no column y" in second
    close(read(out / "a.parquet")["m"], np.concatenate([answers(parts[i])["m"] for i in (0, 3)]))
    run = json.loads((out / "run.json").read_text())
    assert [lost["rows"] for lost in run["lost"]] == [None, None]
    # How many rows they have is not known: the numbers of the last file say what they count.
    assert [(one["first_number"], one["is_exact"]) for one in run["inputs"]] == [(0, True), (100, True), (100, False), (100, False)]
    assert f"from {paths[2]} on, numbers count only the rows of earlier files that were read: 100 is its first" in done.stdout
    assert read(out / "a.parquet")["row"].to_pylist() == list(range(200))


def test_text_that_ends_in_the_middle_keeps_the_rows_before(model, tmp_path, out):
    path = write(tmp_path / "data.csv", columns(100_000))
    path.write_text(path.read_text() + "1,2\n")
    done = tensoa("infer", "--model", model, "--input", path, "--output", out / "a.parquet")
    assert done.returncode == 2 and "Expected 3 columns, got 2" in done.stderr
    assert 10_000 < read(out / "a.parquet").num_rows <= 100_000


def test_nothing_is_written_where_all_is_lost(model, tmp_path, out):
    path = write(tmp_path / "data.parquet", columns(), rows_of_part=ROWS)
    damage(path, 0)
    infer(model, path, out / "a.parquet", run=refuse, says=["row group 0"])
    assert names_in(out) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow", ".json"])
def test_full_disk_is_reported(model, tmp_path, out, ending):
    full = tmp_path / f"full{ending}"
    full.symlink_to("/dev/full")
    output, json_file = (out / "a.csv", full) if ending == ".json" else (full, out / "run.json")
    says = [f"cannot write {full}: ", "No space left"]
    infer(model, write(tmp_path / "data.parquet", columns()), output, "--json", json_file, run=refuse, says=says)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--keep", "m"], ['got "m"', "which has no comparison"]),
        (["--keep", "m>"], ["compares with no number"]),
        (["--keep", "m!=nan"], ["nothing is equal to, less or more than NaN"]),
        (["--keep", ">1"], ["names no column"]),
        (["--keep", "m>1 && "], ['got ""']),
        (["--keep", "m>1 && q<2"], ["no column q", "there are m, n, x, y, z"]),
        (["--keep", "m=1"], ["has no comparison"]),
        (["--columns", "a,b"], ["got 2 names that are not the model's, expected 3", "x, y, z"]),
        (["--columns", "x,b,z"], ["the model has no column b"]),
        (["--columns", "x=X"], ["the model has no column X", "the nearest is x"]),
        (["--columns", "u=x"], ["has no column u, which --columns names for x"]),
        (["--copy", "u"], ["--copy", "has no column u"]),
        (["--copy", "m"], ["has no column m"]),
        (["--group", "u"], ["--group", "has no column u"]),
        (["--group", "name"], ["--group", "the column name is string, expected integers"]),
        (["--device", "cuda:99"], ["device cuda:99 is not there"]),
        (["--threads", "0"], ["--threads"]),
        (["--rows-per-chunk", "0"], ["--rows-per-chunk"]),
    ],
)
def test_wrong_options_are_refused(model, tmp_path, out, options, says):
    path = write(tmp_path / "data.parquet", {**columns(), "name": ["a"] * ROWS})
    refuse("infer", "--model", model, "--input", path, "--output", out / "a.parquet", *options, says=says)
    assert names_in(out) == []


def test_wrong_files_are_refused(model, tmp_path, out):
    path = write(tmp_path / "data.parquet", columns())
    for name, says in {
        "none.parquet": ["there is no such file or folder"],
        "data.root": ["python -m tensoa.from_root"],
        "data.txt": ['got the ending ".txt"'],
    }.items():
        if name != "none.parquet":
            (tmp_path / name).write_text("x")
        infer(model, tmp_path / name, out / "a.parquet", run=refuse, says=says)
    infer(model, path, out / "a.txt", run=refuse, says=["expected a file named .parquet, .arrow or .csv"])
    infer(model, path, path, run=refuse, says=["is named twice, and would be overwritten"])
    infer(model, path, out / "a.csv", "--json", out / "a.csv", run=refuse, says=["is named twice"])
    infer(tmp_path / "none.pt2", path, out / "a.csv", run=refuse, says=["none.pt2"])
    assert names_in(out) == []


# The page


def test_the_commands_of_the_page(model, tmp_path):
    (tmp_path / "model.pt2").write_bytes(model.read_bytes())
    (tmp_path / "graph.pt2").write_bytes(package("fused_graph.pt2").read_bytes())
    write(tmp_path / "data.parquet", columns())
    for year in ("2025", "2026"):
        (tmp_path / year).mkdir()
        write(tmp_path / year / "runs.parquet", {"run": [1] * ROWS, "event": np.arange(ROWS), **columns()})
    write(tmp_path / "jets.csv", dict(zip(("jet_pt", "jet_eta", "jet_phi"), columns().values(), strict=True)))
    write(tmp_path / "events.parquet", events())
    write(tmp_path / "gaps.parquet", {**columns(3), "x": pa.array([1, None, 2], pa.float32())})
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tensoa").symlink_to(PROGRAM)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    script = Path(__file__).parent / "infer_page.sh"
    subprocess.run([script], cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert read(tmp_path / "kept.parquet").column_names == ["row", "m", "n", "run", "event"]
    assert read(tmp_path / "scores.parquet").num_rows == 3
    assert read(tmp_path / "skipped.parquet")["row"].to_pylist() == [0, 2]
    assert read(tmp_path / "filled.parquet").num_rows == 3
