# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A package of a model and words for its columns."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest
import torch
from torch import nn

import tensoa
from conftest import ROOT
from tensoa import binding, compiling
from tensoa.binding import examples
from tensoa.errors import InputError
from tensoa.package import archive
from tensoa.package.manifest import Manifest


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.table = nn.Linear(3, 4), nn.Embedding(5, 4)

    def forward(self, features, charge):
        x = torch.relu(self.layer(features) + self.table(charge[:, 0] + 2))
        return {"score": x.softmax(1), "energy": x.sum(1)}


class OfEdges(nn.Module):
    def forward(self, x, edge_index):
        return torch.sigmoid((x[edge_index[0]] * x[edge_index[1]]).sum(1))


class OfMany(nn.Module):
    def forward(self, *tensors):
        return tensors[0]


class WithoutFeatures(nn.Module):
    """Gives None for what its options leave out, as PointNet does; `form` makes the value."""

    def __init__(self, form):
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.form = nn.Linear(3, 2), form

    def forward(self, x):
        return self.form(self.layer(x), x)


class Answers(NamedTuple):
    score: torch.Tensor
    features: torch.Tensor | None
    energy: torch.Tensor


WITHOUT_BLOCKS = {"schema": 1, "match": "auto", "inputs": [], "outputs": []}


class OfEvent(nn.Module):
    def forward(self, x):
        return x.sum(0, keepdim=True), x * 2


def example():
    random = np.random.default_rng(0)
    columns = {name: random.normal(size=50).astype(np.float32) for name in ("pt", "eta", "phi")}
    return {**columns, "charge": random.integers(-2, 3, 50).astype(np.int32)}


def compiled(model, path, **options):
    """(lines for people, the binding in the package)"""
    said = []
    tensoa.compile(model, path / "m.pt2", report=said.append, **options)
    _, text = archive.read(path / "m.pt2")
    return said, Manifest.from_json(text, "").binding


def blocks(described):
    return [(one["name"], one["collection"], one["dtype"], [each["name"] for each in one["columns"]]) for one in described]


def refusal(model, path, **options):
    with pytest.raises(InputError) as caught:
        compiled(model, path, **options)
    assert not any(path.iterdir())
    return str(caught.value)


def test_arguments_are_named_and_results_are_found(tmp_path):
    said, made = compiled(Tagger(), tmp_path, columns=["charge=charge", "features=pt,eta,phi"], example=example())
    assert said[:4] == [
        "input charge=charge:int32",
        "input features=pt,eta,phi",
        "output score=score_0,score_1,score_2,score_3",
        "output energy=energy",
    ]
    assert blocks(made["inputs"]) == [("charge", 0, "int32", ["charge"]), ("features", 0, "float32", ["pt", "eta", "phi"])]
    assert blocks(made["outputs"]) == [
        ("score", 0, "float32", ["score_0", "score_1", "score_2", "score_3"]),
        ("energy", 0, "float32", ["energy"]),
    ]


def test_names_of_columns_in_python(tmp_path):
    columns = {"x": ["r", "phi"], "edge_index.T": "from,to:int64@edges"}
    _, made = compiled(OfEdges(), tmp_path, columns=columns, outputs=["score"])
    assert blocks(made["inputs"]) == [("x", 0, "float32", ["r", "phi"]), ("edge_index", 1, "int64", ["from", "to"])]
    assert made["inputs"][1]["shape"] == "columns"
    assert blocks(made["outputs"]) == [("score", 0, "float32", ["score"])]


def test_results_of_other_numbers_of_rows_are_other_collections(tmp_path):
    outputs = {"total": ["a", "b"], "twice": ["c", "d"]}
    _, made = compiled(OfEvent(), tmp_path, columns=["x=u,v"], outputs=outputs)
    assert blocks(made["outputs"]) == [("total", 0, "float32", ["a", "b"]), ("twice", 1, "float32", ["c", "d"])]


@pytest.mark.parametrize("table", [pyarrow.table, pandas.DataFrame, dict])
def test_the_columns_of_an_example_are_those_of_the_only_argument(table, tmp_path):
    model = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    columns = {name: numbers for name, numbers in example().items() if name != "charge"}
    _, made = compiled(model, tmp_path, example=table(columns))
    assert blocks(made["inputs"]) == [("input", 0, "float32", ["pt", "eta", "phi"])]
    assert blocks(made["outputs"]) == [("output", 0, "float32", ["output_0", "output_1"])]


@pytest.mark.parametrize("ending", [".arrow", ".feather", ".csv.gz"])
def test_an_example_may_be_a_file_of_arrow_or_packed_text(ending, tmp_path):
    table = pyarrow.table({"pt": np.float32([1, 2]), "n": np.int16([3, 4])})
    path = tmp_path / f"rows{ending}"
    if ending == ".arrow":
        with pyarrow.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    elif ending == ".feather":
        pyarrow.feather.write_feather(table, path, compression="lz4")
    else:
        path.write_bytes(gzip.compress(b"pt,n\n1,3\n2,4\n"))
    assert list(examples.read(path)) == ["pt", "n"]
    assert examples.read(path)["n"].tolist() == [3, 4]


def test_results_with_names_go_by_these(tmp_path):
    columns = ["features=pt,eta,phi", "charge=charge:int32"]  # integers that the table takes are found without an example
    _, made = compiled(Tagger(), tmp_path, columns=columns, outputs={"energy": ["e"], "score": ["a", "b", "c", "d"]})
    assert blocks(made["outputs"]) == [("score", 0, "float32", ["a", "b", "c", "d"]), ("energy", 0, "float32", ["e"])]
    with pytest.raises(InputError, match="outputs: got p, q; expected the names that the model gives: score, energy"):
        compiled(Tagger(), tmp_path, columns=columns, outputs=["p", "q"])


def test_the_lists_of_an_example_are_columns_of_what_they_hold(tmp_path):
    awkward = pytest.importorskip("awkward")
    jets = awkward.Array([[{"pt": 1.5, "hits": 3, "name": "a"}], [], [{"pt": 2.5, "hits": 4, "name": "b"}] * 2])
    columns = examples.columns_of(jets)
    assert {name: numbers.tolist() for name, numbers in columns.items()} == {"pt": [1.5, 2.5, 2.5], "hits": [3, 4, 4]}
    assert columns["hits"].dtype == torch.int64
    assert examples.columns_of(awkward.Array({"jets": jets}))["jets.pt"].tolist() == [1.5, 2.5, 2.5]
    assert examples.columns_of(awkward.Array([{"pt": 1.0}, {"pt": None}]))["pt"] is None


def test_columns_that_an_example_lacks_are_refused_with_the_nearest_names(tmp_path):
    columns = ["x=r,phi@hits", "edge_index.T=from,to:int64@edges"]
    rows = {"hits": {"r": torch.rand(9, requires_grad=True), "phi": np.ones(9, np.float32)}, "name": ["a"] * 9}
    assert refusal(OfEdges(), tmp_path, columns=columns, example=rows) == (
        "columns: block x: the example has no r, phi in numbers; it has hits.r, hits.phi, name (string); the nearest names are "
        "hits.r, hits.phi"
    )
    columns[0] = "x=hits.r,hits.phi@hits"
    assert refusal(OfEdges(), tmp_path, columns=columns, example=rows).startswith(
        "columns: block edge_index: the example has no from, to in numbers; it has hits.r, hits.phi, name (string)"
    )
    assert refusal(OfEvent(), tmp_path, columns=["x=name"], example=rows).startswith(
        "columns: block x: the example has no name"
    )
    message = refusal(OfEvent(), tmp_path, columns=["x=name"], example={"name": ["a"], "x": np.ones((3, 2))})
    assert message == (
        "example: has no columns of numbers; it has name (string), x (an array [3, 2], expected one for each column)"
    )


def events(path):
    """A file of events: lists of hits, of edges with indices of hits in their own event, and a number."""
    random = np.random.default_rng(0)
    counts = [150, 400, 90]
    hits = [[{"r": i / 7 + event, "phi": -i / 7} for i in range(count)] for event, count in enumerate(counts)]
    edges = [[{"from": int(random.integers(count)), "to": count - 1} for _ in range(2 * count)] for count in counts]
    table = pyarrow.table({"hits": hits, "edges": edges, "met": [1.5, 2.5, 3.5], "name": ["a", "b", "c"]})
    pyarrow.parquet.write_table(table, path / "events.parquet")
    return path / "events.parquet", [hit for event in hits for hit in event]


def kept(path):
    """(kind, the planes of float32 of the inputs) of each case that the package keeps."""
    files, text = archive.read(path / "m.pt2")
    manifest = Manifest.from_json(text, "")
    cases = []
    for case in manifest.recorded.cases:
        content, at, planes = files["model/" + case.file], 0, {}
        for one in manifest.binding["inputs"]:
            rows, size = case.rows * (1 + 2 * one["collection"]), np.dtype(one["dtype"]).itemsize
            for column in one["columns"]:
                planes[column["name"]] = np.frombuffer(content, one["dtype"], rows, at)
                at += rows * size
        cases.append((case.numbers, planes))
    return cases


def test_the_rows_of_lists_in_a_file_are_what_a_package_is_checked_with(tmp_path):
    class OfHits(nn.Module):
        def forward(self, x, m):
            return x.sum(1), m * 2

    file, hits = events(tmp_path)
    compiled(OfHits(), tmp_path, columns=["x=hits.r,hits.phi@hits", "m=met@events"], example=file)
    rows = {(np.float32(hit["r"]), np.float32(hit["phi"])) for hit in hits}
    cases = kept(tmp_path)
    assert {kind for kind, _ in cases} == {"normal"} and len(cases) == 4
    for _, planes in cases:
        assert set(zip(planes["hits.r"], planes["hits.phi"])) <= rows and set(planes["met"]) <= {1.5, 2.5, 3.5}


def test_the_command_takes_the_lists_of_its_example_or_refuses_them(tmp_path):
    (tmp_path / "net.py").write_text("from torch import nn\n\n\ndef make():\n    return nn.Linear(2, 1)\n")
    file, _ = events(tmp_path)
    line = ["compile", f"{tmp_path}/net.py:make", "--out", tmp_path / "m.pt2", "--example", file, "--columns"]
    status, said = command(*line, "input=r,phi")
    assert status == 2 and "the example has no r, phi in numbers" in said and "nearest names are hits.r, hits.phi" in said
    assert not (tmp_path / "m.pt2").exists()
    status, said = command(*line, "input=hits.r,hits.phi")
    assert status == 0 and {kind for kind, _ in kept(tmp_path)} == {"normal"}


def test_indices_of_an_example_are_made_up_and_said(tmp_path):
    file, hits = events(tmp_path)
    columns = ["x=hits.r,hits.phi@hits", "edge_index.T=edges.from,edges.to:int64@edges"]
    said, _ = compiled(OfEdges(), tmp_path, columns=columns, example=file)
    assert said[:2] == ["input x=hits.r,hits.phi@hits", "input edge_index.T=edges.from,edges.to:int64@edges"]
    assert said[3].startswith("example: rows of edge_index are made up: those of the example are indices")
    for _, planes in kept(tmp_path):
        assert set(planes["hits.r"]) <= {np.float32(hit["r"]) for hit in hits}
        assert planes["edges.from"].max() < len(planes["hits.r"])


def test_integers_that_the_model_does_not_take_are_refused(tmp_path):
    message = refusal(
        Tagger(), tmp_path, example={**{"features.a": [1.0], "features.b": [1.0], "features.c": [1.0]}, "charge": [7]}
    )
    assert message.startswith("the model fails on features float32[n, 3], charge int64[n, 1]: index out of range")


def test_arguments_have_the_records_of_their_names_and_the_rest_of_the_example_is_said(tmp_path):
    class OfRecords(nn.Module):
        def forward(self, hits, met):
            return hits.sum(1), met * 2

    said, made = compiled(OfRecords(), tmp_path, example=events(tmp_path)[0])
    assert blocks(made["inputs"]) == [("hits", 0, "float32", ["hits.r", "hits.phi"]), ("met", 1, "float32", ["met"])]
    assert said[:2] == ["input hits=hits.r,hits.phi@hits", "input met=met@met"]
    assert "example: no argument takes edges.from, edges.to, name (string)" in said


def test_a_structured_array_is_an_example(tmp_path):
    rows = np.array([(1.5, 0.5), (2.5, -0.5)], [("pt", "f4"), ("eta", "f8")])
    _, made = compiled(nn.Linear(2, 1), tmp_path, example=rows)
    assert blocks(made["inputs"]) == [("input", 0, "float32", ["pt", "eta"])]


def test_inputs_of_an_onnx_file_are_the_columns_of_their_names(tmp_path):
    onnx = pytest.importorskip("onnx")
    inputs = [onnx.helper.make_tensor_value_info(name, 1, [None, 1]) for name in ("pt", "eta")]
    nodes = [onnx.helper.make_node("Concat", ["pt", "eta"], ["both"], axis=1), onnx.helper.make_node("Exp", ["both"], ["y"])]
    graph = onnx.helper.make_graph(nodes, "test", inputs, [onnx.helper.make_tensor_value_info("y", 1, [None, 2])])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    said, _ = compiled(tmp_path / "m.onnx", tmp_path)
    assert said[:3] == ["input pt=pt", "input eta=eta", "output y=y_0,y_1"]


def states(module):
    weights = [(one.requires_grad, one.data_ptr(), id(one.grad), one.detach().clone()) for one in module.parameters()]
    return [part.training for part in module.modules()], weights


@pytest.mark.parametrize("what", ["package", "program", "refused"])
def test_the_module_of_the_caller_stays_as_it_is(what, tmp_path):
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 1))
    model[0].requires_grad_(False)
    model[1].eval()
    model(torch.rand(5, 3)).sum().backward()
    before = states(model)
    columns = ["input=pt,eta" if what == "refused" else "input=pt,eta,phi"]
    try:
        tensoa.compile(model, tmp_path / "m.pt2", columns=columns, just_in_time=what == "program", report=lambda line: None)
    except InputError:
        assert what == "refused"
    after = states(model)
    assert after[0] == before[0] and model.training and not model[1].training
    for one, other in zip(after[1], before[1]):
        assert one[:3] == other[:3] and torch.equal(one[3], other[3])


def test_arguments_with_a_default_need_no_columns(tmp_path):
    class Masked(nn.Module):
        def forward(self, x, mask=None):
            return x if mask is None else x * mask

    _, made = compiled(Masked(), tmp_path, example={"u": np.ones(5, np.float32)})
    assert blocks(made["inputs"]) == [("x", 0, "float32", ["u"])]


def test_programs_of_torch_export_are_compiled(tmp_path):
    program = torch.export.export(OfEvent(), (torch.ones(7, 2),), dynamic_shapes=({0: torch.export.Dim("n")},))
    torch.export.save(program, tmp_path / "program.pt2")
    _, made = compiled(tmp_path / "program.pt2", tmp_path, columns=["x=u,v"])
    assert [name for name, *_ in blocks(made["outputs"])] == ["output_0", "output_1"]


def test_what_is_missing_is_said_with_the_line_to_type(tmp_path):
    assert refusal(Tagger(), tmp_path) == (
        "columns: the model takes features, charge; expected the columns of each: "
        "--columns features=COLUMN,COLUMN,… charge=COLUMN,COLUMN,…"
    )
    message = refusal(Tagger(), tmp_path, columns=["features=pt,eta,phi"])
    assert message == ("columns: the model takes features, charge; expected the columns of charge, too: charge=COLUMN,COLUMN,…")
    message = refusal(Tagger(), tmp_path, columns=["feature=pt,eta,phi", "charge=q:int32"])
    assert message == "columns: the model takes features, charge; got feature, expected the names of its arguments"
    message = refusal(Tagger(), tmp_path, columns=["features=pt,eta", "charge=q:int32"])
    assert message.startswith("the model fails on features float32[n, 2], charge int32[n, 1]: ") and "mat1 and mat2" in message
    assert refusal(OfEvent(), tmp_path, columns=["x=u"], outputs=["a"]).startswith("outputs: got a; expected 2 of them")
    message = refusal(OfEvent(), tmp_path, columns=["x=u"], outputs=["a=b,c", "d"])
    assert message == "outputs: a has 2 columns, expected 1, the number that the model returns"
    assert refusal(OfEvent(), tmp_path, columns="x=u").startswith("columns: got the text 'x=u', expected a list of texts")
    assert refusal(OfEvent(), tmp_path, columns=["x=u"], outputs=["a=b:int32", "c"]).startswith("outputs: got 'a=b:int32'")
    message = refusal(OfEvent(), tmp_path, columns=["x=u"], outputs=["a,b", "c"])
    assert message == "outputs: got 'a,b', expected the name of a block, or BLOCK=a,b for the names of its columns"
    message = refusal(OfEvent(), tmp_path, columns=["x=u"], outputs=["a", "a"])
    assert message == "outputs: there are two blocks called a; name them: --outputs BLOCK BLOCK"
    seven = [f"x{i}=c{i}@of{i}" for i in range(7)]
    assert refusal(OfMany(), tmp_path, columns=seven) == "columns: got 7 collections, at most 6 are possible"
    assert refusal("/dev/null:make", tmp_path, columns=["x=u"]).startswith("/dev/null:make: ")
    assert refusal(OfEvent(), tmp_path, columns=["x=u"], example=3).startswith("example: got a int (")


@pytest.mark.parametrize("model, got", [(OfEvent, "type"), (OfEvent().state_dict(), "OrderedDict"), (None, "NoneType")])
def test_what_is_not_a_model_is_refused(model, got, tmp_path):
    message = refusal(model, tmp_path, columns=["x=u"])
    assert message == f"the model is a {got}, expected a torch.nn.Module or the path of a file"


def test_columns_and_outputs_are_texts_or_names_by_block(tmp_path):
    expected = "expected texts BLOCK=COLUMN,COLUMN or {block: names of its columns}"
    for columns, got in (([["u", "v"]], "list"), (3, "int"), (binding.parse(WITHOUT_BLOCKS), "Binding")):
        assert refusal(OfEvent(), tmp_path, columns=columns) == f"columns: got a {got}, {expected}"
    for outputs, got in (([["a"], "b"], "list"), (3, "int")):
        assert refusal(OfEvent(), tmp_path, columns=["x=u"], outputs=outputs) == f"outputs: got a {got}, {expected}"
    assert refusal(OfEvent(), tmp_path, columns={"x": 3}) == "columns: block x has [3], expected names of columns"
    message = refusal(OfEvent(), tmp_path, columns=["x=u"], outputs={"a": 3})
    assert message == "outputs: block a has [3], expected names of columns"
    _, made = compiled(OfEvent(), tmp_path, columns={"x": pandas.Index(["u", "v"])})
    assert blocks(made["inputs"]) == [("x", 0, "float32", ["u", "v"])]


def test_an_example_is_called_example(tmp_path):
    for name, message in (
        ("a.root", "expected a file that ends in .parquet, .csv, .csv.gz, .arrow"),
        ("none.csv", "cannot be read: "),
    ):
        assert refusal(OfEvent(), tmp_path, columns=["x=u"], example=name).startswith(f"example {name}: {message}")


def test_features_of_trees_are_named_by_the_file(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    random = np.random.default_rng(0)
    x = random.normal(size=(200, 2)).astype(np.float32)
    matrix = xgboost.DMatrix(x, (x[:, 0] * x[:, 1] > 0).astype(np.float32), feature_names=["pt", "eta"])
    booster = xgboost.train({"objective": "binary:logistic", "max_depth": 3}, matrix, 4)
    file, package = tmp_path / "trees.json", tmp_path / "m.pt2"
    booster.save_model(file)
    said = []
    tensoa.compile(file, package, report=said.append)
    assert said[:2] == ["input features=pt,eta", "output score=score"]
    program = Path(os.environ.get("TENSOA_PROGRAM", ROOT / "build" / "tensoa"))
    if program.exists():
        pyarrow.parquet.write_table(pyarrow.table({"pt": x[:, 0], "eta": x[:, 1]}), tmp_path / "rows.parquet")
        command = [
            program,
            "infer",
            "--model",
            package,
            "--input",
            tmp_path / "rows.parquet",
            "--output",
            tmp_path / "out.parquet",
        ]
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
        found = pyarrow.parquet.read_table(tmp_path / "out.parquet")["score"].to_numpy()
        np.testing.assert_allclose(found, booster.predict(matrix), rtol=1e-6)
    with pytest.raises(InputError, match="which run on any device; expected no options of networks, got target, just_in_time$"):
        tensoa.compile(file, package, target="cuda", just_in_time=True)
    with pytest.raises(
        InputError, match="^the model: is not an ensemble of trees; expected no .*, got best_iteration, margin$"
    ):
        tensoa.compile(OfEvent(), package, columns=["x=u"], best_iteration=True, margin=True)


@pytest.mark.parametrize("names", [None, ["pt", "eta", "phi"]])
def test_features_of_trees_are_those_of_the_example(names, tmp_path):
    """LightGBM calls features Column_0, … that have no names."""
    lightgbm = pytest.importorskip("lightgbm")
    x = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    data = lightgbm.Dataset(x, x[:, 0] > 0, feature_name=names or "auto")
    (tmp_path / "trees").mkdir()
    file, out = tmp_path / "trees" / "trees.txt", tmp_path / "out"
    out.mkdir()
    lightgbm.train({"objective": "binary", "verbose": -1, "num_threads": 1}, data, 3).save_model(file)
    rows = dict(zip(("pt", "eta", "phi"), x.T))
    if names is None:
        assert refusal(file, out, example={**rows, "m": x[:, 0]}) == (
            "columns: the model has 3 features without names; expected these: --columns features=COLUMN,COLUMN,…; the example "
            "has 4 columns: pt, eta, phi, m"
        )
        said, _ = compiled(file, out)
        assert said[0] == "input features=Column_0,Column_1,Column_2"
    else:
        message = refusal(file, out, example={"m": x[:, 0]})
        assert message == "example: has none of the features pt, eta, phi of the model; it has m"
        message = refusal(file, out, example={"pt": x[:, 0]})
        assert message == "columns: block features: the example has no eta, phi in numbers; it has pt"
    said, _ = compiled(file, out, example=rows)
    assert said[0] == "input features=pt,eta,phi"


def command(*arguments):
    run = subprocess.run(
        [sys.executable, "-m", "tensoa", *map(str, arguments)], cwd=ROOT / "python", capture_output=True, text=True
    )
    return run.returncode, run.stdout + run.stderr


def test_the_command(tmp_path):
    (tmp_path / "net.py").write_text("from torch import nn\n\n\ndef make():\n    return nn.Sequential(nn.Linear(2, 1))\n")
    package = tmp_path / "m.pt2"
    status, said = command(
        "compile", f"{tmp_path}/net.py:make", "--out", package, "--columns", "input=pt,eta", "--outputs", "score"
    )
    assert status == 0 and "output score=score" in said and package.exists()
    assert command("compile", f"{tmp_path}/net.py:make", "--out", tmp_path / "m.pt") == (
        2,
        f"error: --out {tmp_path}/m.pt: a package is called FILE.pt2; FILE.pt is TorchScript, made of nothing but "
        "FILE.safetensors or weights of Exa.TrkX\n",
    )
    assert command("export") == (2, "python -m tensoa: got export, expected compile; see --help of that\n")
    assert json.dumps(command("compile", "--help")[1]).count("edge_index.T=from,to:int64@edges") == 1


# ---- results that are None


@pytest.mark.parametrize(
    "form, names, left_out",
    [
        (lambda y, x: (y, None, x[:, 0]), ["output_0", "output_1"], "result 2"),
        (lambda y, x: [None, [y, None], x[:, 0]], ["output_0", "output_1"], "result 1, result 3"),
        (lambda y, x: {"score": y, "features": None, "energy": x[:, 0]}, ["score", "energy"], "features"),
        (lambda y, x: Answers(y, None, x[:, 0]), ["score", "energy"], "features"),
        (lambda y, x: (y.unflatten(1, (2, 1)), None, x[:, 0]), ["output_0", "output_1"], "result 2"),  # rows first
    ],
)
def test_results_that_are_none_are_left_out_with_a_line(form, names, left_out, tmp_path):
    module, said = WithoutFeatures(form), []
    tensoa.compile(module, tmp_path / "m.pt2", columns=["x=a,b,c"], report=said.append)
    assert f"outputs: {left_out} of the model: None, left out" in said
    x = torch.randn(5, 3)
    got = tensoa.Model(tmp_path / "m.pt2")(x.numpy())
    assert [*got] == names
    np.testing.assert_allclose(got[names[0]], module.layer(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(got[names[1]].reshape(-1), x[:, 0].numpy())


def test_results_that_are_none_are_left_out_of_programs_that_run_just_in_time(tmp_path):
    module = WithoutFeatures(lambda y, x: (y, None, x[:, :1]))
    tensoa.compile(module, tmp_path / "m.pt2", columns=["x=a,b,c"], just_in_time=True, report=lambda line: None)
    x = torch.randn(5, 3)
    got = tensoa.Model(tmp_path / "m.pt2", columns=["x=a,b,c"], outputs=["score=u,v", "energy=w"])(x.numpy())
    np.testing.assert_allclose(got["score"], module.layer(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(got["energy"], x[:, :1].numpy())


@pytest.mark.parametrize(
    "form, message",
    [
        (lambda y, x: None, "the model gave a NoneType, expected a tensor"),
        (lambda y, x: (None, None), "the model gave no results, expected one or more"),
        (lambda y, x: (y, None if len(x) > 120 else y), "the model gave 2 and 1 results for other numbers of rows"),
    ],
)
def test_a_model_without_results_or_with_other_ones_for_other_rows_is_refused(form, message, tmp_path):
    with pytest.raises(InputError, match=message):
        tensoa.compile(WithoutFeatures(form), tmp_path / "m.pt2", columns=["x=a,b,c"], report=lambda line: None)
    assert [*tmp_path.iterdir()] == []


def test_a_file_whose_columns_make_it_no_other_module_is_read_once(tmp_path, monkeypatch):
    onnx = pytest.importorskip("onnx")
    sizes = (("x", onnx.TensorProto.FLOAT), ("y", onnx.TensorProto.FLOAT))
    given, result = (onnx.helper.make_tensor_value_info(name, kind, ["n", 2]) for name, kind in sizes)
    graph = onnx.helper.make_graph([onnx.helper.make_node("Tanh", ["x"], ["y"])], "test", [given], [result])
    imports = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=imports, ir_version=8), tmp_path / "m.onnx")
    read = []

    load_module = compiling.load_module

    def load(source, columns=None, sizes=None):
        read.append(columns)
        return load_module(source, columns, sizes or {})

    monkeypatch.setattr(compiling, "load_module", load)
    tensoa.compile(tmp_path / "m.onnx", tmp_path / "a.pt2", columns=["x=a,b"], report=lambda line: None)
    assert read == [None]
    tensoa.compile(tmp_path / "m.onnx", tmp_path / "b.pt2", columns=["x=a,b"], outputs=["z=c,d"], report=lambda line: None)
    assert read[-1] is not None  # a block of another name


def test_of_results_of_many_columns_the_sizes_are_said():
    class Wide(nn.Module):
        def __init__(self, sizes):
            super().__init__()
            self.sizes = sizes

        def forward(self, x):
            return x[:, :1].expand(-1, *self.sizes)

    for sizes, said in (([48], "output output[n,48]"), ([3], "output output=output_0,output_1,output_2")):
        lines = []
        compiling._in_words(Wide(sizes), [*compiling._words(["x=a,b"])], [], None, lines.append)
        assert lines[1] == said
