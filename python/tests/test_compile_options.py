# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The options of `tensoa compile`, which are keywords of tensoa.compile, too."""

import json
import re
import subprocess
import sys

import numpy as np
import pyarrow
import pytest
import torch
from torch import nn

import tensoa
from conftest import ROOT
from exporting import THREE_TO_TWO, bind, block
from tensoa import binding, compiling, export, options
from tensoa.compiler import cuda
from tensoa.errors import InputError
from tensoa.importers.trees import conifer
from tensoa.package import archive
from tensoa.package.manifest import Manifest
from tensoa.tracking import interaction_network

WEIGHTS = ROOT / "models" / "interaction_network.safetensors"


def command(*arguments):
    compiling.main(options.of_compile([*map(str, arguments)]))


def refusal(*arguments):
    with pytest.raises(InputError) as caught:
        command(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def manifest(path):
    return Manifest.from_json(archive.read(path)[1], str(path))


def write_network(folder):
    """FILE.py:FACTORY of a linear layer."""
    (folder / "net.py").write_text("import torch\n\n\ndef make():\n    return torch.nn.Linear(3, 2)\n")
    return f"{folder}/net.py:make"


def write_binding(folder, inputs, outputs):
    (folder / "binding.json").write_text(json.dumps(bind(inputs, outputs).text))
    return folder / "binding.json"


def write_trees(folder):
    xgboost = pytest.importorskip("xgboost")
    x = np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)
    matrix = xgboost.DMatrix(x, (x[:, 0] * x[:, 1] > 0).astype(np.float32), feature_names=["pt", "eta"])
    xgboost.train({"objective": "binary:logistic", "max_depth": 3}, matrix, 4).save_model(folder / "trees.json")
    return folder / "trees.json"


# ---- what the command line says


def test_choices_are_those_of_the_compiler_and_of_conifer():
    assert options.PRECISIONS == cuda.PRECISIONS and options.SPLITTINGS == tuple(conifer.CONVENTIONS)


WITHOUT_TORCH = """
import sys
from tensoa import options

try:
    options.of_compile(sys.argv[1:])
finally:
    print("torch" in sys.modules)
"""


def test_help_and_wrong_options_need_no_torch():
    for argument in ("--help", "--hlep"):
        run = [sys.executable, "-c", WITHOUT_TORCH, argument]
        done = subprocess.run(run, cwd=ROOT / "python", capture_output=True, text=True, check=False)
        assert done.stdout.endswith("False\n"), done.stderr


def test_help_is_one_page_that_names_no_other_command(capsys):
    with pytest.raises(SystemExit, match="^0$"):
        options.of_compile(["--help"])
    page = capsys.readouterr().out
    assert {*re.findall(r"python -m tensoa[\w .]*\w", page)} == {"python -m tensoa compile"}
    names = "binding precision deterministic no-fuse no-timing just-in-time check margin best-iteration trust-pickle splitting"
    assert all(f"\n  --{name}" in page for name in names.split())


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--colums", "a=b", "m.onnx"], '"--colums" is unknown; the nearest is --columns'),
        (["m.onnx", "--colums=a=b"], '"--colums" is unknown; the nearest is --columns'),
        (["m.onnx", "--out", "m.pt2", "--column", "a=b"], '"--column" is unknown; the nearest is --columns'),
        (["m.onnx", "--nofuse"], '"--nofuse" is unknown; the nearest is --no-fuse'),
        (["m.onnx", "-o", "m.pt2"], '"-o" is unknown; the nearest is --out'),
        (["m.onnx", "--zzz"], '"--zzz" is unknown'),
        (
            ["--columns", "a=b", "m.onnx", "--out", "m.pt2"],
            "MODEL is required, before --columns and --outputs, which take all that",
        ),
        ([], "MODEL is required"),
        (["m.onnx"], "--out is required"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_options_are_one_line_with_the_nearest_option_and_the_help(arguments, message):
    said = refusal(*arguments)
    assert said.startswith(message) and said.endswith("; `tensoa compile --help` lists what there is")
    assert "m.onnx" not in said


@pytest.mark.parametrize("given", ["gpu", "cpu,tpu", "cpu,cpu", ""])
def test_targets_that_are_unknown_or_named_twice_are_refused(given):
    expected = f"target: got '{given}', expected cpu, cuda or cpu,cuda, each once"
    assert refusal("m.onnx", "--out", "m.pt2", "--target", given) == expected


# ---- a description of C++


@pytest.mark.parametrize("example", [None, {name: np.full(9, 2.5, np.float32) for name in "xyz"}], ids=["made up", "example"])
def test_a_description_of_a_cpp_layout_replaces_columns_and_outputs(example, tmp_path):
    described = write_binding(tmp_path, *THREE_TO_TWO)
    for given in (described, binding.load(described)):
        torch.manual_seed(1)
        lines = []
        tensoa.compile(nn.Linear(3, 2), tmp_path / "m.pt2", binding=given, example=example, report=lines.append)
        assert manifest(tmp_path / "m.pt2").binding == binding.load(described).text and lines[0] == "fused into 1 kernel:"
        case = manifest(tmp_path / "m.pt2").recorded.cases[0]
        numbers = np.frombuffer(archive.read(tmp_path / "m.pt2")[0]["model/" + case.file], "f4", 3)
        assert (numbers == 2.5).all() == (example is not None)


def test_the_command_takes_a_description_for_networks_and_trees(tmp_path):
    features = [block("features", ["pt", "eta"])]
    described = write_binding(tmp_path, features, [block("score", ["score"])])
    command(write_trees(tmp_path), "--out", tmp_path / "t.pt2", "--binding", described)
    assert manifest(tmp_path / "t.pt2").binding == bind(features, [block("score", ["score"])]).text
    described = write_binding(tmp_path, *THREE_TO_TWO)
    command(write_network(tmp_path), "--out", tmp_path / "n.pt2", "--binding", described)
    assert manifest(tmp_path / "n.pt2").binding == binding.load(described).text


def test_a_description_together_with_columns_or_outputs_is_refused(tmp_path):
    described = write_binding(tmp_path, *THREE_TO_TWO)
    for words in ({"columns": ["features=x,y,z"]}, {"outputs": ["preds"]}):
        with pytest.raises(InputError, match="^binding: expected no columns and no outputs, which it describes$"):
            tensoa.compile(nn.Linear(3, 2), tmp_path / "m.pt2", binding=described, **words)
    with pytest.raises(InputError, match="^the columns are a dict, expected a Binding"):
        tensoa.compile(nn.Linear(3, 2), tmp_path / "m.pt2", binding={})
    with pytest.raises(InputError, match="none.json: cannot read"):
        tensoa.compile(nn.Linear(3, 2), tmp_path / "m.pt2", binding=tmp_path / "none.json")


# ---- networks


@pytest.mark.parametrize(
    "words, wanted",
    [
        ([], {}),
        (["--precision", "bf16", "--target", "cuda"], {"precision": "bf16", "target": "cuda"}),
        (["--deterministic"], {"deterministic": True}),
        (["--no-deterministic"], {}),
        (["--no-fuse"], {"fuse": False}),
        (["--no-timing"], {"timing": False}),
        (["--target", "cuda", "--program", "build/tensoa"], {"target": "cuda", "program": "build/tensoa"}),
        (["--target", "cpu,cuda"], {"target": "cpu,cuda"}),
    ],
    ids=" ".join,
)
def test_options_of_networks_are_those_of_the_exporter_and_keywords(words, wanted, tmp_path, monkeypatch):
    got = []

    def recorded(module, binding, path, asked):
        got.append(asked)
        return [export.Made("fused", {}, [], None, [])]

    monkeypatch.setattr(export, "export", recorded)
    columns = ["input=x,y,z"]
    command(write_network(tmp_path), "--out", tmp_path / "m.pt2", *words, "--columns", *columns)
    tensoa.compile(nn.Linear(3, 2), tmp_path / "m.pt2", columns=columns, **wanted, report=print)
    assert [{name: getattr(one, name) for name in wanted} for one in got] == [wanted, wanted]
    assert all(export.Options(**wanted, report=one.report) == one for one in got)


def test_just_in_time_writes_a_program_of_torch_export(tmp_path):
    network = nn.Linear(3, 2)
    tensoa.compile(network, tmp_path / "m.pt2", columns=["input=x,y,z"], just_in_time=True, report=lambda line: None)
    loaded, x = torch.export.load(tmp_path / "m.pt2").module(), torch.randn(17, 3)
    torch.testing.assert_close(loaded(x), network(x))
    command(write_network(tmp_path), "--out", tmp_path / "n.pt2", "--just-in-time", "--columns", "input=x,y,z")
    assert torch.export.load(tmp_path / "n.pt2").module()(x).shape == (17, 2)
    said = refusal(
        write_network(tmp_path), "--out", tmp_path / "m.pt2", "--just-in-time", "--no-fuse", "--columns", "input=x,y,z"
    )
    assert said.startswith("--just-in-time: expected no --target, --precision, --deterministic, --program, --no-fuse")


def test_check_runs_a_package_that_is_there(monkeypatch):
    got = []
    monkeypatch.setattr(export, "check_on_gpu", lambda path, program, report: got.append((path, program)))
    command("--check", "m.pt2", "--program", "build/tensoa")
    assert got == [("m.pt2", "build/tensoa")]
    for others in ([], ["m.onnx", "--program", "build/tensoa"], ["--program", "build/tensoa", "--out", "n.pt2"]):
        assert refusal("--check", "m.pt2", *others) == "--check m.pt2: expected also --program PROGRAM, no MODEL and no --out"


def test_weights_alone_become_torchscript(tmp_path):
    command(WEIGHTS, "--out", tmp_path / "m.pt")
    x, edges = torch.randn(5, 3), torch.tensor([[0, 1, 2], [3, 4, 4]])
    attributes, network = torch.randn(3, 4), interaction_network.load(WEIGHTS)
    torch.testing.assert_close(torch.jit.load(tmp_path / "m.pt")(x, edges, attributes), network(x, edges, attributes))
    expected = (
        f"--out {tmp_path}/n.pt: a package is called FILE.pt2; FILE.pt is TorchScript, made of nothing but FILE.safetensors or"
    )
    assert refusal(WEIGHTS, "--out", tmp_path / "n.pt", "--columns", "x=r,phi,z").startswith(expected)
    assert refusal(write_network(tmp_path), "--out", tmp_path / "n.pt").startswith(expected)
    assert not (tmp_path / "n.pt").exists()


# ---- trees


def test_margin_leaves_the_sums_of_leaves(tmp_path):
    trees = write_trees(tmp_path)
    command(trees, "--out", tmp_path / "answers.pt2")
    command(trees, "--out", tmp_path / "margins.pt2", "--margin")
    facts = [dict(manifest(tmp_path / f"{name}.pt2").forest.facts)["answers"] for name in ("answers", "margins")]
    assert facts == ["sigmoid", "margins"]


def test_options_of_the_other_kind_of_model_are_refused(tmp_path):
    trees, network = write_trees(tmp_path), write_network(tmp_path)
    said = refusal(trees, "--out", tmp_path / "m.pt2", "--deterministic", "--no-fuse")
    assert said.endswith("run on any device; expected no options of networks, got fuse, deterministic")
    said = refusal(network, "--out", tmp_path / "m.pt2", "--margin", "--splitting", "<", "--columns", "input=x,y,z")
    assert said.endswith("net.py:make: is not an ensemble of trees; expected no options of trees, got splitting, margin")


@pytest.mark.parametrize(
    "content, message",
    [
        (b"binf" + bytes(300), 'this model of XGBoost cannot be read: "gradient_booster"'),
        (b"CONFIG-offset:1", "is a serialised booster of XGBoost; save_model() it as JSON"),
        (b'{"name":"tree","version":"v4"}', "is a dump of LightGBM; save_model() it as text"),
    ],
)
def test_trees_in_a_form_that_is_not_read_are_named(content, message, tmp_path):
    (tmp_path / "trees.json").write_bytes(content)
    assert refusal(tmp_path / "trees.json", "--out", tmp_path / "m.pt2").startswith(f"{tmp_path}/trees.json: {message}")


# ---- an example


TIMES = 'times become numbers by x.cast("int64"), of pandas by x.astype("int64")'
TEXT = "text has no numbers: leave it out, or encode it, as integers that count categories"


@pytest.mark.parametrize(
    "column, kind, way",
    [
        (pyarrow.array([1, 2], pyarrow.timestamp("us")), "timestamp[us]", TIMES),
        (pyarrow.array([1, 2], pyarrow.duration("s")), "duration[s]", TIMES),
        (pyarrow.array([1, 2], pyarrow.date32()), "date32[day]", 'these times become numbers by x.cast("int32")'),
        (np.array(["2026-01-01"] * 2, "datetime64[ns]"), "timestamp[ns]", TIMES),
        (["a", "b"], "string", TEXT),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_columns_of_times_and_text_in_an_example_are_refused_with_a_way_out(column, kind, way, tmp_path):
    example, network = {"pt": np.ones(2, np.float32), "t": column}, nn.Linear(2, 1)
    for columns in (["input=pt,t"], []):
        with pytest.raises(InputError) as caught:
            tensoa.compile(network, tmp_path / "m.pt2", columns=columns, example=example)
        assert f"t ({kind}); {way}" in str(caught.value) and str(caught.value).endswith(way)
    described = bind([block("input", ["pt", "t"])], [block("y", ["y"])])
    with pytest.raises(InputError) as caught:
        tensoa.compile(network, tmp_path / "m.pt2", binding=described, example=example)
    assert str(caught.value) == f'block "input": of the examples t is {kind}; expected numbers; {way}'
