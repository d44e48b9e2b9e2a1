# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The packages of the exporter, and the models that it refuses. Whole packages are made and run by tests/pytorch."""

import contextlib
import functools
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

from exporting import CASES, THREE_TO_TWO, Module, bind, block, refusal
from tensoa import just_in_time
from tensoa.binding.columns import Columns
from tensoa.binding.model import with_examples, with_lengths
from tensoa.compiler import cpu, inductor
from tensoa.compiler.cpu.processors import cpu_flags
from tensoa.errors import InputError, Unsupported
from tensoa.export import Made, Options, export, main
from tensoa.importers.files import load_module
from tensoa.package import archive
from tensoa.package.cases import KINDS

# ---- models that cannot be exported


@pytest.mark.parametrize(
    "function, message",
    [
        (lambda m, x: x.mul_(2) @ m.weight, "the model writes one of its inputs"),
        (lambda m, x: x @ m.weight if x.sum() > 0 else x[:, :2], "depend on the data; use torch.where"),
        (lambda m, x: (x @ m.weight).double(), 'block "preds": the model gave float64, expected float32'),
        (lambda m, x: x, r'block "preds": the model gave the shape [101, 3], expected [n, 2]'),
        (lambda m, x: (x @ m.weight, x), "the model gave 2 results, there are 1 output blocks"),
        (lambda m, x: {"other": x}, "the model gave a dict of ['other'], the output blocks are ['preds']"),
        (lambda m, x: "text", "the model gave a str, expected a tensor"),
        (lambda m, x: None, "the model gave a NoneType, expected a tensor"),
        (lambda m, x: {"preds": None}, "the model gave a NoneType, expected a tensor"),
        (lambda m, x: (None, None), "the model gave 0 results, there are 1 output blocks"),
        (lambda m, x: x[: len(x) // 2] @ m.weight, "expected the number of rows of one of the input collections"),
        (lambda m, x: x.view(-1, 2) @ m.weight, "the model fails on columns of the binding"),
        (lambda m, x, y: x, "the model fails on columns of the binding"),
    ],
)
def test_model_that_cannot_be_exported_is_refused_in_one_line(function, message, tmp_path):
    assert message in refusal(Module(function), bind(*THREE_TO_TWO), tmp_path)


def test_what_depends_on_the_data_is_refused_with_the_line_of_the_author(tmp_path):
    class Branches(nn.Module):
        def forward(self, x):
            return x[:, :2] if x.sum() > 0 else x[:, 1:]

    columns, place = bind(*THREE_TO_TWO), ": return x[:, :2] if x.sum() > 0 else x[:, 1:]"
    message = refusal(Branches(), columns, tmp_path)
    assert f", at {Path(__file__).name}:" in message and place in message
    with pytest.raises(InputError, match=re.escape(place)):
        just_in_time.write(Branches(), columns, tmp_path / "a.pt2")


def test_model_that_keeps_state_is_refused(tmp_path):
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(1))

        def forward(self, x):
            self.calls += 1
            return x[:, :2] + self.calls

    assert "the model changes itself (calls)" in refusal(Counts(), bind(*THREE_TO_TWO), tmp_path)


FOUR = [block(name, "x", collection=i) for i, name in enumerate("abcd")]


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda m, a, b, c, d: (a, b, c, d), {0: 0, 1: 1, 2: 2, 3: 3}),
        (lambda m, a, b, c, d: (a, b, c + a, d), {0: 0, 1: 1, 2: 0, 3: 3}),
        (lambda m, a, b, c, d: (a + d, b + c, c, d), {0: 0, 1: 1, 2: 1, 3: 0}),
        (lambda m, a, b, c, d: (a, b + c, c + d, d), {0: 0, 1: 1, 2: 1, 3: 1}),
        (lambda m, a, b, c, d: (a + b, b + c, c + d, d), {0: 0, 1: 0, 2: 0, 3: 0}),
        (lambda m, a, b, c, d: a.nothing, {0: 0, 1: 1, 2: 2, 3: 3}),
    ],
)
def test_collections_of_one_length_are_found(function, expected):
    columns, lengths = with_lengths(Module(function), bind(FOUR, FOUR))
    assert lengths == expected
    assert [one.collection for one in columns.inputs] == list(expected.values())


@pytest.mark.parametrize("is_few", [lambda n: n == 5, lambda n: n % 7 == 0], ids=["one number", "each seventh"])
def test_model_with_a_branch_on_its_number_of_rows_is_refused(is_few, tmp_path):
    module = Module(lambda m, x: (x * 2 if is_few(len(x)) else x) @ m.weight)
    assert "has a branch on its number of rows, and is followed only where" in refusal(module, bind(*THREE_TO_TWO), tmp_path)
    with pytest.raises(InputError, match="has a branch on its number of rows"):
        just_in_time.write(module, bind(*THREE_TO_TWO), tmp_path / "a.pt2", report=lambda line: None)


def test_collections_of_one_length_are_fused_and_the_package_says_so(tmp_path):
    """The noise and the condition of a generator."""
    columns = bind([block("noise", "xy"), block("condition", "e", collection=1)], [block("sample", "ab")])
    lines = []
    module = Module(lambda m, noise, condition: torch.cat([noise, condition], 1) @ m.weight)
    export(module, columns, tmp_path / "p.pt2", Options(report=lines.append))
    assert lines[0] == 'equal numbers of rows: the model needs them of the blocks "noise", "condition"'
    assert lines[1] == "fused into 1 kernel:"
    manifest = archive.read(tmp_path / "p.pt2")[1]
    assert manifest["lengths"] == [0, 0] and manifest["fused"]["domains"] == [0]


def test_model_of_one_number_of_rows_is_refused(tmp_path):
    function = lambda m, x: (x.view(1021, 3) if len(x) == 1021 else x) @ m.weight  # noqa: E731
    assert "follows it for exactly 1021 rows" in refusal(Module(function), bind(*THREE_TO_TWO), tmp_path)


def test_gpu_that_is_not_there_is_refused(tmp_path):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    message = refusal(Module(lambda m, x: torch.special.bessel_j0(x) @ m.weight), bind(*THREE_TO_TWO), tmp_path, target="cuda")
    assert "got cuda, expected one that is here" in message


def test_precision_is_for_gpus(tmp_path):
    message = refusal(Module(lambda m, x: x @ m.weight), bind(*THREE_TO_TWO), tmp_path, precision="tf32")
    assert "precision tf32 on cpu: expected one of tf32x3, ieee, tf32, bf16, for cuda" in message


# ---- what becomes of a model


def test_a_fused_program_that_writes_elsewhere_ends_the_export(tmp_path, monkeypatch):
    """Numbers that differ go the next way; memory that was overwritten may be of anything."""
    monkeypatch.setattr(Columns, "changed", lambda columns: True)
    assert "the fused program writes memory that is not its own" in refusal(
        Module(lambda m, x: x @ m.weight), bind(*THREE_TO_TWO), tmp_path
    )


def test_export_says_what_it_fused_and_why_it_did_not(tmp_path):
    def said_of(function):
        lines = []
        export(Module(function), bind(*THREE_TO_TWO), tmp_path / "p.pt2", Options(report=lines.append))
        return [line for line in lines if not line.startswith("rows: ")]

    assert said_of(lambda m, x: torch.relu(x @ m.weight)) == ["fused into 1 kernel:", "  linear 3 -> 2, relu"]
    assert said_of(lambda m, x: torch.cumsum(x, 0) @ m.weight) == [
        "fused in part, not whole: a running sum over the rows; 1 part, the rest by TorchInductor:",
        "  part of 1 kernel:",
        "    linear 3 -> 2",
        "  not fused: cumsum, because of a running sum over the rows",
    ]
    assert said_of(lambda m, x: torch.cumsum(x, 0)[:, :2]) == [
        "not fused: a running sum over the rows; not fused in part: no part of it is worth a kernel; compiled by TorchInductor",
    ]


def test_len_of_a_tensor_does_not_fix_the_number_of_rows(tmp_path):
    """torch.zeros(len(x), …) is what many graph networks sum into."""
    inputs = [block("nodes", "xyz"), block("source", "i", collection=1, column_dtype="int64", dtype="int64")]
    columns = bind(inputs, [block("sums", "abc")])

    class Sums(nn.Module):
        def forward(self, nodes, source):
            return torch.zeros(len(nodes), 3).index_add(0, source[:, 0], nodes[source[:, 0]])

    module = Sums()
    lines = []
    export(module, columns, tmp_path / "p.pt2", Options(report=lines.append))
    assert lines[0].startswith("fused into")
    just_in_time.write(module, columns, tmp_path / "j.pt2", report=lambda line: None)
    nodes, source = torch.randn(5, 3), torch.tensor([[1], [1], [4]])
    sums = torch.export.load(tmp_path / "j.pt2").module()(nodes, source)
    assert torch.equal(sums, nodes * torch.tensor([[0.0], [2], [0], [0], [1]]))


def test_model_may_view_rows_and_columns_as_one_dimension(tmp_path):
    """A view of row-major tensors, which columns as they lie do not have."""
    module, columns, rules = (
        Module(lambda m, x: x.view(-1).exp().view(-1, 3) @ m.weight),
        bind(*THREE_TO_TWO),
        [{"collection": 0}],
    )
    lines = []
    export(module, columns, tmp_path / "model.pt2", Options(report=lines.append))
    assert lines[0].startswith("fused into 1 kernel")
    data = Columns(columns, {0: 5}, rules, "cpu")
    inductor._export(module, columns, rules, "cpu").module()(data.inputs, data.outputs)
    torch.testing.assert_close(data.outputs[0][0].t(), columns.call(module, data.inputs)[0])


def test_last_states_of_an_lstm_have_their_shape_in_programs_of_torchinductor():
    class BothWays(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.LSTM(3, 2, bidirectional=True, batch_first=True)

        def forward(self, x):
            states = self.layer(x[:, None])[1][0]
            return torch.cat([states[-2], states[-1]], 1).cummax(0).values

    columns, rules = bind([block("x", "abc")], [block("y", "klmn")]), [{"collection": 0}]
    module = BothWays().eval().requires_grad_(False)
    program = inductor._export(module, columns, rules, "cpu")
    data = Columns(columns, {0: 7}, rules, "cpu")
    program.module()(data.inputs, data.outputs)
    torch.testing.assert_close(torch.cat(data.outputs[0]).t(), columns.call(module, data.inputs)[0])


@pytest.mark.parametrize("around", [contextlib.nullcontext, torch.enable_grad])
@pytest.mark.parametrize(("is_among_rows", "has_kernel"), [(True, False), (False, True)])
def test_attention_among_no_rows_does_not_end_the_process(is_among_rows, has_kernel, around):
    """torch's kernel of attention divides by the number of elements."""

    def attention(m, x):
        keys = (x @ m.weight)[None] if is_among_rows else (x[:, :, None] * m.weight[0])
        queries = m.weight.expand(len(keys), 1, 3, 2)
        with around():
            return functional.scaled_dot_product_attention(queries, keys[:, None], keys[:, None])[0, 0]

    columns, rules, module = bind([block("x", "abc")], [block("y", "mn", collection=1)]), [{"rows": 3}], Module(attention)
    program = inductor._export(module, columns, rules, "cpu")
    kernel = torch.ops.aten.scaled_dot_product_attention.default
    graphs = [part.graph for part in program.graph_module.modules() if isinstance(part, torch.fx.GraphModule)]
    assert len(graphs) == (1 if around is contextlib.nullcontext else 2)
    assert any(node.target is kernel for graph in graphs for node in graph.nodes) == has_kernel
    for rows in (0, 1, 7) if is_among_rows else (1, 7):
        data = Columns(columns, {0: rows}, rules, "cpu")
        program.module()(data.inputs, data.outputs)
        torch.testing.assert_close(torch.cat(data.outputs[0]).t(), columns.call(module, data.inputs)[0])


class Share(nn.Module):
    """Of the largest number, which is taken out of its tensor; `around` may put that into a subgraph."""

    def __init__(self, dtype, around=contextlib.nullcontext):
        super().__init__()
        self.dtype, self.around = dtype, around

    def forward(self, x):
        with self.around():
            return x[:, :2] / (1 + x.abs().amax().to(self.dtype).item())


WITHOUT_AUTOCAST = functools.partial(torch.autocast, "cpu", enabled=False)


@pytest.mark.parametrize("around", [contextlib.nullcontext, torch.enable_grad, WITHOUT_AUTOCAST])
def test_a_float_that_a_model_takes_out_of_a_tensor_is_refused_for_gpus(around):
    """There TorchInductor passes it on as an integer. An integer may be taken out."""

    def check(dtype):
        program = inductor._export(Share(dtype, around), bind(*THREE_TO_TWO), [{"collection": 0}], "cpu")
        inductor._suit(program, "cuda")

    check(torch.int64)
    place = ", at test_export.py:[0-9]+: return x.*item[()]+: TorchInductor truncates it to an integer on GPUs"
    for dtype in (torch.float32, torch.float64):
        with pytest.raises(Unsupported, match=place):
            check(dtype)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_package_for_gpus_of_a_model_that_takes_a_float_out_of_a_tensor_is_not_made(tmp_path):
    with pytest.raises(Unsupported, match="TorchInductor truncates it"):
        export(Share(torch.float32), bind(*THREE_TO_TWO), tmp_path / "model.pt2", Options(report=str, target="cuda"))


def test_the_reason_for_a_missing_program_is_that_of_the_compiler(tmp_path):
    compiler = tmp_path / "compiler"
    lines = ["#!/bin/sh", "[ $1 = --version ] && exec g++ --version", "echo 'In file included from a.h' >&2"]
    compiler.write_text("\n".join([*lines, "echo 'b.h:1: fatal error: no such file' >&2", "exit 1"]))
    compiler.chmod(0o755)
    uses = torch._inductor.config.patch({"cpp.cxx": (None, str(compiler))})
    with uses, pytest.raises(Unsupported, match="cannot be compiled for cpu: b.h:1: fatal error: no such file"):
        export(nn.Linear(3, 2), bind(*THREE_TO_TWO), tmp_path / "model.pt2", Options(report=str, fuse=False))


@pytest.mark.parametrize("first", [0, 1])
def test_categories_and_rows_of_a_collection_go_together(tmp_path, first):
    """Atomic numbers, from 1 on, of a table that says which, with fewer entries than there are rows, and an index of rows."""

    class Atoms(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(94, 2)

        def forward(self, element, neighbour):
            return self.table(element[:, 0] - first)[neighbour[:, 0]]

    names = ("element", "neighbour")
    integers = [block(name, "i", collection=i, column_dtype="int64", dtype="int64") for i, name in enumerate(names)]
    columns = bind(integers, [block("features", "ab")])
    element, neighbour = with_examples(Atoms(), columns).inputs
    assert (element.integers, neighbour.integers) == ((first, first + 93), None)
    lines = []
    export(Atoms(), columns, tmp_path / "p.pt2", Options(report=lines.append))
    assert lines[0].startswith("fused into")
    just_in_time.write(Atoms(), columns, tmp_path / "j.pt2", report=lambda line: None)


def test_just_in_time_program_of_a_model_that_takes_any_arguments(tmp_path):
    class Sum(nn.Module):
        def forward(self, first, *others):
            return first + sum(others)

    names = ("a", "b", "c")
    columns = bind([block(name, "xy") for name in names], [block("sum", "xy")])
    just_in_time.write(Sum(), columns, tmp_path / "j.pt2", report=lambda line: None)
    tensors = [torch.randn(5, 2) for _ in names]
    assert torch.equal(torch.export.load(tmp_path / "j.pt2").module()(*tensors), tensors[0] + (tensors[1] + tensors[2]))


def test_model_of_five_collections_is_fused(tmp_path):
    """Atoms, bonds in both directions and in one, angles, crystals."""
    inputs = [block(name, "x", collection=i) for i, name in enumerate("abcde")]
    lines = []
    module = Module(lambda m, *x: tuple(2 * one for one in x))
    export(module, bind(inputs, inputs), tmp_path / "p.pt2", Options(report=lines.append))
    assert lines[0].startswith("fused into")


def test_model_of_seven_collections_is_refused(tmp_path):
    inputs = [block(name, "x", collection=i) for i, name in enumerate("abcdefg")]
    message = refusal(Module(lambda m, *x: x), bind(inputs, inputs), tmp_path)
    assert "the binding has 7 input collections, at most 6 are possible" in message


def test_assignment_to_places_of_a_row_is_fused(tmp_path):
    """As in the Fourier expansion of CHGNet; the exporter compares the package with the module."""

    def expansion(module, x):
        found = x.new_zeros(len(x), 6)
        found[:, 0] = 1 / torch.sqrt(torch.tensor([2]))
        found[:, 1:4] = torch.sin(x)
        found[:, 4::2] = x[:, :1]
        found[:, -1:] = 0.5
        return found

    lines = []
    export(
        Module(expansion), bind([block("x", "abc")], [block("y", "abcdef")]), tmp_path / "p.pt2", Options(report=lines.append)
    )
    assert lines[0] == "fused into 1 kernel:"


def test_assignment_to_some_of_the_rows_is_not_fused(tmp_path):
    lines = []
    module = Module(lambda m, x: torch.slice_scatter(x @ m.weight, torch.zeros(1, 2), 0, 0, 1))
    export(module, bind(*THREE_TO_TWO), tmp_path / "p.pt2", Options(report=lines.append))
    assert "not whole: some of the rows changed among all" in lines[0] or "not fused: some of the rows" in lines[0]


class Kinds(nn.Module):
    """Reads a table with fewer rows than there are in the columns."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3)

    def forward(self, x, kind):
        return self.table(kind.squeeze(-1)) * x


def test_model_that_reads_a_short_table_is_fused_and_checked(tmp_path):
    inputs = [block("x", "abc"), block("kind", "k", column_dtype="int32", dtype="int32")]
    lines = []
    columns = bind(inputs, [block("y", "abc")])
    export(Kinds(), columns, tmp_path / "package.pt2", Options(report=lines.append))
    assert lines[:2] == ["fused into 1 kernel:", "  lookup 3, mul"]


class Classifier(nn.Module):
    """Reads a table by the charge, from -1 to 1; gives numbers, the class, a count and a mask."""

    def __init__(self):
        super().__init__()
        self.charges, self.layer = nn.Embedding(3, 4), nn.Linear(3, 4)

    def forward(self, x, charge, quality):
        y = self.layer(x) + self.charges(charge[:, 0] + 1) + (quality + 100).float() / 8
        return y, y.argmax(1, keepdim=True), (y > 0).sum(1, dtype=torch.int32), y[:, :3] > 0.5


def test_classes_masks_and_integers_before_a_table_are_fused(tmp_path):
    def whole(name, columns, dtype):
        return block(name, columns, column_dtype=dtype, dtype=dtype)

    inputs = [block("x", "abc"), whole("charge", "q", "int32"), whole("quality", "k", "int8")]
    outputs = [block("y", "abcd"), whole("class", "c", "int64"), whole("count", "n", "int32"), whole("is", "pqr", "bool")]
    lines = []
    export(Classifier(), bind(inputs, outputs), tmp_path / "package.pt2", Options(report=lines.append))
    assert lines[0] == "fused into 1 kernel:"
    checked = archive.read(tmp_path / "package.pt2")[1]["checks"]
    assert {check["numbers"] for check in checked} == set(KINDS)
    assert all(check["relative_error"][name] == 0 for check in checked for name in ("class", "count", "is"))


def test_fused_package_has_a_program_for_every_level_and_says_which_were_run(tmp_path):
    path = tmp_path / "p.pt2"
    export(Module(lambda m, x: x @ m.weight), bind(*THREE_TO_TWO), path, Options(report=lambda line: None))
    with zipfile.ZipFile(path) as file:
        manifest = json.loads(file.read("model/" + archive.RECORD))
        files = set(file.namelist())
    variants = manifest["fused"]["cpu"]
    assert [variant["name"] for variant in variants] == ["x86-64-v4", "x86-64-v3"]
    assert {"model/" + variant["file"] for variant in variants} < files
    for variant in variants:
        is_here = cpu_flags().issuperset(variant["cpu_flags"])
        assert variant["status"] == ("checked" if is_here else "built, not run")
    assert [(check["numbers"], check["rows"]) for check in manifest["checks"]] == CASES
    assert all(check["relative_error"]["preds"] < 1e-6 for check in manifest["checks"])


@pytest.mark.parametrize("match", ["order", "name", "auto"])
def test_torchscript_model_is_fused_as_the_module_it_was_made_of(match, tmp_path):
    class Sum(nn.Module):
        def forward(self, b, a):
            return torch.relu(a - b)

    columns = bind([block("b" if match == "order" else "a", "xy"), block("a" if match == "order" else "b", "z")],
                   [block("c", "uv")], match)  # fmt: skip
    lines = []
    export(torch.jit.script(Sum()), columns, tmp_path / "p.pt2", Options(report=lines.append))
    assert lines[0] == "fused into 1 kernel:"


@pytest.mark.parametrize("write", [export, just_in_time.write])
def test_columns_that_are_no_binding_are_refused_with_what_takes_them(write, tmp_path):
    for columns, got in (({"inputs": ["x", "y", "z"]}, "dict"), ("binding.json", "str"), (None, "NoneType")):
        with pytest.raises(InputError) as caught:
            write(nn.Linear(3, 2), columns, tmp_path / "a.pt2")
        assert str(caught.value) == (
            f'the columns are a {got}, expected a Binding, as tensoa.binding.load("binding.json") gives it; for columns in '
            'words: tensoa.compile(module, "model.pt2", columns={"features": ["pt", "eta"]})'
        )
    assert not any(tmp_path.iterdir())


# ---- the command


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["none.py:make", "--binding", "BINDING", "--out", "p.pt2"], "none.py: no such file"),
        (["model.py:none", "--binding", "BINDING", "--out", "p.pt2"], "model.py: has no none"),
        (["model.py:fails", "--binding", "BINDING", "--out", "p.pt2"], "fails() fails with ZeroDivisionError"),
        (["model.py:number", "--binding", "BINDING", "--out", "p.pt2"], "the model is a int, expected a torch.nn"),
        (["model.txt", "--binding", "BINDING", "--out", "p.pt2"], "got none of FILE.py:FACTORY"),
        (["model.py", "--binding", "BINDING", "--out", "p.pt2"], "got none of FILE.py:FACTORY"),
        (["none.pt2", "--binding", "BINDING", "--out", "p.pt2"], "none.pt2: no such file"),
        (["BINDING.pt2", "--binding", "BINDING", "--out", "p.pt2"], "expected an exported program"),
        (["model.py:number", "--binding", "none.json", "--out", "p.pt2"], "none.json: cannot read"),
        (["model.py:number", "--binding", "model.py", "--out", "p.pt2"], "got no JSON"),
        (["model.py:number", "--binding", "deep.json", "--out", "p.pt2"], "got no JSON"),
        (
            ["model.py:number", "--out", "p.pt2"],
            "--out p.pt2: got no columns; expected --binding BINDING.json, the description of a C++ layout, or columns in "
            "words: tensoa compile model.py:number --out p.pt2 --columns BLOCK=COLUMN,COLUMN\n",
        ),
        (["model.py:number", "--binding", "BINDING", "--out", "p.pt"], "a package is called FILE.pt2"),
        (["model.py:number", "--out", "p.pt"], "a TorchScript file is made of weights only"),
        (["model.py:number", "--out", "p.pt", "--examples", "e.csv"], "--example e.csv: expected --out FILE.pt2"),
        (["model.py:number", "--binding", "BINDING", "--out", "p.pt2", "--examples", "e.csv"], "e.csv: cannot be read"),
    ],
)
def test_command_refuses_in_one_line(arguments, message, tmp_path, monkeypatch, capsys):
    from tensoa import command

    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text("def fails():\n    return 1 / 0\n\n\ndef number():\n    return 1\n")
    text = {"schema": 1, "match": "order", "inputs": THREE_TO_TWO[0], "outputs": THREE_TO_TWO[1]}
    (tmp_path / "BINDING").write_text(json.dumps(text))
    (tmp_path / "BINDING.pt2").write_text("no model")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    assert command.run(lambda: main(arguments)) == 2
    output = capsys.readouterr()
    assert message in output.err
    assert output.err.startswith("error: ") and output.err.count("\n") == 1
    assert not list(tmp_path.glob("p.pt*"))


@pytest.mark.parametrize(
    "words, asked", [(["--deterministic"], True), (["--no-deterministic"], False), ([], Options.deterministic)]
)
def test_command_requests_sums_that_are_the_same_bits_at_every_call(words, asked, tmp_path, monkeypatch):
    got = []

    def recorded(*arguments):
        got.append(arguments[-1].deterministic)
        return [Made("fused", {}, [], None, [])]

    monkeypatch.setattr("tensoa.export.export", recorded)
    (tmp_path / "model.py").write_text("import torch\n\n\ndef make():\n    return torch.nn.Linear(3, 2)\n")
    text = {"schema": 1, "match": "order", "inputs": THREE_TO_TWO[0], "outputs": THREE_TO_TWO[1]}
    (tmp_path / "binding.json").write_text(json.dumps(text))
    model, columns = f"{tmp_path}/model.py:make", f"{tmp_path}/binding.json"
    main([model, "--binding", columns, "--out", f"{tmp_path}/p.pt2", "--target", "cuda", *words])
    assert got == [asked]


def test_command_line_program_gives_status_2(tmp_path):
    command = [sys.executable, "-m", "tensoa.export", "x.py:f", "--out", str(tmp_path / "p.pt2")]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert answer.stderr.count("\n") == 1


# ---- just in time


def test_program_of_torch_export_gives_what_the_module_gives_for_any_rows(tmp_path):
    columns = bind(*THREE_TO_TWO)
    (tmp_path / "binding.json").write_text(json.dumps(columns.text))
    (tmp_path / "model.py").write_text("import torch\n\ndef make():\n    return torch.nn.Linear(3, 2)\n")
    path = tmp_path / "model.pt2"
    main([f"{tmp_path}/model.py:make", "--binding", f"{tmp_path}/binding.json", "--out", str(path), "--just-in-time"])
    module = torch.export.load(path).module()
    assert [module(torch.zeros(n, 3)).shape for n in (2, 17)] == [(2, 2), (17, 2)]


def test_program_of_torch_export_of_one_number_of_rows_is_refused(tmp_path):
    with pytest.raises(InputError, match="the model fails on columns of the binding with 101 rows"):
        just_in_time.write(Module(lambda m, x: x.view(1021, 3) @ m.weight), bind(*THREE_TO_TWO), tmp_path / "a.pt2")
    assert not (tmp_path / "a.pt2").exists()


@pytest.mark.parametrize("saved", ["a.pt2", "a.pt"])
def test_program_of_torch_export_is_made_of_files_of_models(saved, tmp_path):
    path, x = tmp_path / saved, torch.randn(7, 3)
    model = nn.Linear(3, 2).eval()
    if saved == "a.pt":
        torch.jit.script(model).save(str(path))
    else:
        torch.export.save(torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)), path)
    just_in_time.write(load_module(str(path), bind(*THREE_TO_TWO)), bind(*THREE_TO_TWO), tmp_path / "b.pt2")
    torch.testing.assert_close(torch.export.load(tmp_path / "b.pt2").module()(x), model(x))


def test_program_of_torch_export_has_no_graph_within_autocast(tmp_path):
    def forward(module, x):
        with torch.autocast("cpu", torch.bfloat16):
            return (x @ module.weight).float()

    just_in_time.write(Module(forward), bind(*THREE_TO_TWO), tmp_path / "a.pt2", report=lambda line: None)
    graph = torch.export.load(tmp_path / "a.pt2").graph
    assert all(node.target.namespace == "aten" for node in graph.nodes if node.op == "call_function")


@pytest.mark.parametrize(
    "function, message",
    [
        (lambda m, x: x.mul_(2) @ m.weight, "the model writes one of its inputs"),
        (lambda m, x: x @ m.calls.add_(1)[:, :2], "the model changes itself .calls."),
        (lambda m, x: x @ functional.dropout(m.calls, training=False).add_(1)[:, :2], "the model changes itself .calls."),
        (
            lambda m, x: functional.batch_norm(x, m.calls[0], m.calls[1], training=True) @ m.weight,
            "the model changes itself .calls.",
        ),
        (
            lambda m, x: functional.batch_norm(x, *m.plain, training=True) @ m.weight + m.plain[0][:2],
            "the model changes itself .lifted_tensor_0, lifted_tensor_1.",
        ),
        (
            lambda m, x: (x + functional.batch_norm(x, m.weight[:, 0], m.weight[:, 1], training=True)) @ m.weight,
            "the model changes itself .weight.",
        ),
        (lambda m, x: (x @ m.weight).double(), 'block "preds": the model gave float64, expected float32'),
        (lambda m, x: x[:, :2] @ m.weight, "the model fails on columns of the binding"),
    ],
)
def test_program_of_torch_export_that_cannot_run_on_the_columns_is_refused(function, message, tmp_path):
    module = Module(function)
    module.register_buffer("calls", torch.zeros(3, 3))
    module.plain = torch.zeros(3), torch.ones(3)
    with pytest.raises(InputError, match=message):
        just_in_time.write(module, bind(*THREE_TO_TWO), tmp_path / "a.pt2")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("write", [just_in_time.write, just_in_time.write_script])
def test_a_program_that_writes_statistics_into_its_parameters_is_refused(write, tmp_path):
    class Normed(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean, self.variance = nn.Parameter(torch.zeros(3), False), nn.Parameter(torch.ones(3), False)

        def forward(self, x):
            return (functional.batch_norm(x, self.mean, self.variance, training=True) + self.mean)[:, :2]

    with pytest.raises(InputError, match=r"the model changes itself \(mean, variance\); expected one that keeps nothing"):
        write(Normed(), bind(*THREE_TO_TWO), tmp_path / "a.pt2", report=lambda line: None)
    assert list(tmp_path.iterdir()) == []


def test_a_large_model_is_called_large(tmp_path, monkeypatch):
    def rounds(m, x):
        for _ in range(5):
            x = torch.sin(x) + x.roll(1, 1)
        return x[:, :2]

    lines = []
    monkeypatch.setattr("tensoa.export.MANY_OPERATIONS", 10)
    monkeypatch.setattr("tensoa.export.MUCH_WEIGHT", 1 << 20)
    module = Module(lambda m, x: rounds(m, x) + m.table[0])
    module.register_buffer("table", torch.zeros(1 << 19, 2))
    export(module, bind(*THREE_TO_TWO), tmp_path / "p.pt2", Options(report=lines.append))
    assert re.fullmatch(
        r"a large model: \d\d operations, which are followed one by one some ten times, and 4 MiB of weights, "
        "of which this takes up to twenty times the memory: its export may take minutes",
        lines[0],
    )


def test_a_large_table_is_not_text_for_the_compiler(tmp_path, monkeypatch):
    """As numbers in C++ or in assembly, a table of 256 MiB took 5 GB and 3 minutes."""
    lines, sources, build = [], [], cpu.build
    columns = bind([block("k", ["k"], column_dtype="int64", dtype="int64")], THREE_TO_TWO[1])
    module = Module(lambda m, k: functional.embedding(k[:, 0], m.table) * 2)
    module.register_buffer("table", torch.randn(1 << 19, 2))
    monkeypatch.setattr(cpu, "build", lambda source, *args: sources.append(source) or build(source, *args))
    export(module, columns, tmp_path / "p.pt2", Options(report=lines.append))
    assert lines[0].startswith("fused into 1 kernel") and len(sources) == len(cpu.LEVELS)
    assert all(len(source.text) < 1e5 and len(source.weights) >= module.table.nbytes for source in sources)
