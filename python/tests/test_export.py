# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What the exporter refuses, and what it asks of a package. Whole packages are made and run by tests/pytorch."""

import json
import subprocess
import sys
import zipfile
from typing import NamedTuple, Optional

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest
import torch
from torch import nn

from tensoa import aot, binding, checks, examples, inductor, torchscript
from tensoa.columns import Columns
from tensoa.command import InputError
from tensoa.fusion import package


def block(name, columns, planes=None, collection=0, **other):
    text = {
        "name": name,
        "collection": collection,
        "shape": "rows",
        "kind": "plain",
        "element": [],
        "column_dtype": "float32",
        "dtype": "float32",
    }
    planes = planes or range(len(columns))
    return {**text, **other, "columns": [{"name": c, "plane": p} for c, p in zip(columns, planes)]}


def bind(inputs, outputs, match="order"):
    return binding.parse({"schema": 1, "match": match, "inputs": inputs, "outputs": outputs})


THREE_TO_TWO = ([block("features", "xyz")], [block("preds", "mn")])


class Module(nn.Module):
    """A module of one function."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.weight = nn.Parameter(torch.full((3, 2), 0.5))

    def forward(self, *inputs):
        return self.function(self, *inputs)


def refusal(module, columns, tmp_path, **options):
    """The message of the InputError; nothing may be left behind."""
    with pytest.raises(InputError) as caught:
        aot.export(module, columns, tmp_path / "package.pt2", **options)
    assert list(tmp_path.iterdir()) == []
    message = str(caught.value)
    assert "\n" not in message
    return message


# ---- blocks and their tensors


@pytest.mark.parametrize(
    "described, shape",
    [
        (block("b", "xyz"), (5, 3)),
        (block("b", "x"), (5, 1)),
        (block("b", "xyz", (0, 2, 4)), (5, 3)),
        (block("b", "xyz", (4, 0, 1)), (5, 3)),
        (block("b", "xyz", shape="columns"), (3, 5)),
        (block("b", "v", kind="vector", element=[3]), (5, 3)),
        (block("b", "vw", (0, 3), kind="vector", element=[3]), (5, 2, 3)),
        (block("b", "vw", (0, 5), kind="vector", element=[3]), (5, 2, 3)),
        (block("b", "m", kind="matrix", element=[2, 3]), (5, 2, 3)),
        (block("b", "mk", (0, 7), kind="matrix", element=[2, 3]), (5, 2, 2, 3)),
    ],
)
def test_block_is_the_tensor_that_cpp_binds(described, shape):
    one = bind([described], []).inputs[0]
    assert one.shape(5) == shape
    memory = torch.arange(20 * 8, dtype=torch.float32).view(20, 8)  # planes of pitch 8
    (argument,) = one.input_arguments()
    planes = memory[argument.first :: argument.step][: argument.planes, :5]
    tensor = one.tensor(planes)
    assert tensor.shape == shape

    # plane = start + row + column * R of a matrix, start + component of a vector
    for at in torch.cartesian_prod(*(torch.arange(size) for size in shape)).tolist():
        row, rest = (at[1], [at[0]]) if one.is_transposed else (at[0], at[1:])
        column = rest[0] if len(one.columns) > 1 or not one.element else 0
        inside = rest[-len(one.element) :] if one.element else [0]
        plane = one.starts[column] + inside[0] + (inside[1] * one.element[0] if len(inside) > 1 else 0)
        assert tensor[tuple(at)] == memory[plane, row]

    written = torch.zeros_like(memory)
    arguments = [written[a.first :: a.step][: a.planes, :5] for a in one.output_arguments()]
    one.write(tensor, arguments)
    for place in range(20):
        expected = memory[place, :5] if place in one.places else torch.zeros(5)
        assert torch.equal(written[place, :5], expected)
    assert not written[:, 5:].any()


def test_output_arguments_cover_nothing_but_the_columns():
    uneven = bind([], [block("b", "xyz", (0, 1, 3))]).outputs[0]
    covered = [a.first + i * a.step for a in uneven.output_arguments() for i in range(a.planes)]
    assert covered == [0, 1, 3]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"schema": 9}, "got schema 9, expected 1"),
        ({"match": "luck"}, 'expected one of auto, order, name'),
        ({"inputs": None}, '"inputs" is null, expected list'),
        ({"inputs": [block("b", "xy", (1, 2))]}, "expected to be counted from 0"),
        ({"inputs": [block("b", "x", dtype="complex64")]}, '"dtype" is "complex64"'),
        ({"inputs": [block("b", "x", kind="vector")]}, "expected 1 sizes for a vector column"),
    ],
)
def test_binding_that_cannot_be_read_says_why(change, message):
    with pytest.raises(InputError, match=message):
        binding.parse({"schema": 1, "match": "order", "inputs": [], "outputs": [], **change})


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
        (lambda m, x: x[: len(x) // 2] @ m.weight, "expected as many as one of the input collections has"),
        (lambda m, x: x.view(-1) @ m.weight, "the model fails on columns of the binding"),
        (lambda m, x, y: x, "the model fails on columns of the binding"),
    ],
)
def test_model_that_cannot_be_exported_is_refused_in_one_line(function, message, tmp_path):
    assert message in refusal(Module(function), bind(*THREE_TO_TWO), tmp_path)


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
    columns, lengths = checks.with_lengths(Module(function), bind(FOUR, FOUR))
    assert lengths == expected
    assert [one.collection for one in columns.inputs] == list(expected.values())


def test_collections_of_one_length_are_fused_and_the_package_says_so(tmp_path):
    """The noise and the condition of a generator."""
    columns = bind([block("noise", "xy"), block("condition", "e", collection=1)], [block("sample", "ab")])
    lines = []
    module = Module(lambda m, noise, condition: torch.cat([noise, condition], 1) @ m.weight)
    aot.export(module, columns, tmp_path / "p.pt2", report=lines.append)
    assert lines[0] == 'equal numbers of rows: the model needs them of the blocks "noise", "condition"'
    assert lines[1] == "fused into 1 kernel:"
    manifest = aot.read(tmp_path / "p.pt2")[1]
    assert manifest["lengths"] == [0, 0] and manifest["fused"]["domains"] == [0]


def test_model_of_one_number_of_rows_is_refused(tmp_path):
    function = lambda m, x: (x.view(1021, 3) if len(x) == 1021 else x) @ m.weight  # noqa: E731
    assert "needs exactly 1021 rows" in refusal(Module(function), bind(*THREE_TO_TWO), tmp_path)


def test_gpu_that_is_not_there_is_refused(tmp_path):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    message = refusal(Module(lambda m, x: x.sort(1).values @ m.weight), bind(*THREE_TO_TWO), tmp_path, target="cuda")
    assert "got cuda, expected one that is here" in message


def test_precision_is_for_gpus(tmp_path):
    message = refusal(Module(lambda m, x: x @ m.weight), bind(*THREE_TO_TWO), tmp_path, precision="tf32")
    assert "precision tf32 on cpu: expected one of tf32x3, ieee, tf32, bf16, for cuda" in message


# ---- what becomes of a model


def test_export_says_what_it_fused_and_why_it_did_not(tmp_path):
    def said_of(function):
        lines = []
        aot.export(Module(function), bind(*THREE_TO_TWO), tmp_path / "p.pt2", report=lines.append)
        return lines

    assert said_of(lambda m, x: torch.relu(x @ m.weight)) == ["fused into 1 kernel:", "  linear 3 -> 2, relu"]
    assert said_of(lambda m, x: torch.cumsum(x, 0) @ m.weight) == [
        "not fused, because of the operation cumsum; compiled by TorchInductor"
    ]


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
    aot.export(Kinds(), columns, tmp_path / "package.pt2", report=lines.append)
    assert lines == ["fused into 1 kernel:", "  lookup 3, mul"]


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
    aot.export(Classifier(), bind(inputs, outputs), tmp_path / "package.pt2", report=lines.append)
    assert lines[0] == "fused into 1 kernel:"
    checked = aot.read(tmp_path / "package.pt2")[1]["checks"]
    assert {check["numbers"] for check in checked} == {"normal", "small", "large", "special"}
    assert all(check["relative_error"][name] == 0 for check in checked for name in ("class", "count", "is"))


def test_fused_package_has_a_program_for_every_level_and_says_which_were_run(tmp_path):
    path = tmp_path / "p.pt2"
    aot.export(Module(lambda m, x: x @ m.weight), bind(*THREE_TO_TWO), path, report=lambda line: None)
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("model/" + aot.RECORD))
        files = {name for name in archive.namelist()}
    variants = manifest["fused"]["cpu"]
    assert [variant["name"] for variant in variants] == ["x86-64-v4", "x86-64-v3"]
    assert {"model/" + variant["file"] for variant in variants} < files
    for variant in variants:
        is_here = package.cpu_flags().issuperset(variant["cpu_flags"])
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
    aot.export(torch.jit.script(Sum()), columns, tmp_path / "p.pt2", report=lines.append)
    assert lines[0] == "fused into 1 kernel:"


# ---- arguments and results by name


class Weighted(nn.Module):
    def forward(self, x, charge, quality: Optional[torch.Tensor] = None):
        total = x + 10 * charge
        return total if quality is None else total + 100 * quality


def called(names, match="auto", module=None):
    """What Weighted gives for blocks of these names that hold 1, 2, …"""
    columns = bind([block(name, "u") for name in names], [block("out", "v")], match)
    return columns.apply(module or Weighted(), [torch.tensor(i + 1.0) for i in range(len(names))])[0].item()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("x charge quality", 321),
        ("charge x quality", 312),
        ("quality x charge", 132),
        ("x charge", 21),
        ("charge x", 12),
        ("hits cells flags", 321),
        ("hits charge", 21),
    ],
)
def test_names_of_arguments_decide_unless_the_order_is_asked_for(names, expected):
    assert called(names.split()) == called(names.split(), module=torch.jit.script(Weighted())) == expected
    assert called(names.split(), "order") == (321 if names.count(" ") == 2 else 21)


@pytest.mark.parametrize("names", [("charge", "hits"), ("hits", "x", "quality"), ("x", "quality", "cells")])
def test_a_block_with_the_name_of_another_argument_is_refused(names):
    with pytest.raises(InputError, match=r"the model takes \['x', 'charge', 'quality'\], block .* is number"):
        called(names)


def test_arguments_without_names_go_in_order():
    class Any(nn.Module):
        def forward(self, *all):
            return all[0] + 10 * all[1]

    assert called(["b", "a"], module=Any()) == 21


class Sums(NamedTuple):
    plus: torch.Tensor
    minus: torch.Tensor


@pytest.mark.parametrize(
    ("names", "match", "expected"),
    [
        (["plus", "minus"], "auto", [1, 2]),
        (["minus", "plus"], "auto", [2, 1]),
        (["minus", "plus"], "order", [1, 2]),
        (["minus", "plus"], "name", [2, 1]),
        (["first", "second"], "auto", [1, 2]),
        (["first", "minus"], "auto", [1, 2]),
        (["first", "plus"], "auto", 'gave "plus" in the place of block "first"'),
        (["first", "second"], "name", 'gave "plus", the output blocks are'),
    ],
)
def test_members_of_named_tuples_go_by_their_names(names, match, expected):
    columns = bind([], [block(name, "u") for name in names], match)
    if isinstance(expected, list):
        assert columns.results(Sums(1, 2)) == columns.results([Sums(1, 2)]) == expected
    else:
        with pytest.raises(InputError, match=expected):
            columns.results(Sums(1, 2))


def test_entries_of_dicts_go_by_name_and_the_others_take_what_is_left():
    columns = bind([], [block(name, "u") for name in ("a", "plus", "b", "key")])
    assert columns.results([{"key": 1}, 2, Sums(3, 4)]) == [2, 3, 4, 1]  # a, plus, b (minus is no block), key
    with pytest.raises(InputError, match='two results called "key"'):
        columns.results([{"key": 1}, {"key": 2}, 3, 4])


def test_a_torchscript_model_is_exported_by_the_names_of_its_arguments_and_results(tmp_path):
    class Both(nn.Module):
        def forward(self, x, charge) -> Sums:
            return Sums(x + charge, x - charge)

    columns = bind([block("charge", "u"), block("x", "v")], [block("minus", "m"), block("plus", "p")], "auto")
    plain = torchscript.interpreted(torch.jit.script(Both()), columns)
    minus, plus = columns.apply(plain, [torch.tensor([[2.0]] * 3), torch.tensor([[5.0]] * 3)])
    assert (minus[0].item(), plus[0].item()) == (3, 7)


# ---- programs that are compared with their model

CASES = [*(("normal", [n]) for n in (1, 2, 33, 1000)), *((kind, [100]) for kind in ("small", "large", "special"))]


def pretend_package(module, columns, spoil):
    """Packages whose program is the module itself, after which `spoil(inputs, outputs)` acts."""

    def run(data, rows):
        inductor.Program(module, columns)(data.inputs, data.outputs)
        spoil(data.inputs, data.outputs[0])

    with torch.no_grad():
        return checks.validate(run, module, columns, [{"collection": 0}])


def test_checks_several_numbers_of_rows():
    module = Module(lambda m, x: x @ m.weight)
    found = pretend_package(module, bind(*THREE_TO_TWO), lambda inputs, outputs: None)
    assert [(check["numbers"], check["rows"]) for check in found] == CASES
    assert all(check["relative_error"]["preds"] < 1e-6 for check in found)


def test_no_rows_are_tried_where_there_are_results_nevertheless():
    def each(m, x):
        return x @ m.weight

    def total(m, x):
        return each(m, x).sum(0, keepdim=True)

    for function, rule, expected in ((total, {"rows": 1}, [0, 1, 2, 33, 1000]), (each, {"collection": 0}, [1, 2, 33, 1000])):
        recorded, _ = checks.record(Module(function), bind(*THREE_TO_TWO), [rule])
        assert [case["rows"] for case in recorded["cases"] if case["numbers"] == "normal"] == expected


def test_every_plane_is_judged_by_itself():
    """A probability beside an energy."""

    def both(m, x):
        return torch.stack([1e5 * x.exp().sum(1), torch.sigmoid(x[:, 0])], 1)

    def spoil(inputs, outputs):
        outputs[0][1].mul_(1.001)

    with pytest.raises(InputError, match=r'block "preds", column n: the package differs from the model by 1.00e-03'):
        pretend_package(Module(both), bind(*THREE_TO_TWO), spoil)


@pytest.mark.parametrize(
    "wrong, numbers",
    [
        (lambda x: torch.where(x.abs() < 1e-4, 0, x), "small"),
        (lambda x: x.clamp(-1e4, 1e4), "large"),
        (lambda x: torch.where(x.abs().log2() % 1 == 0, x * 2, x), "special"),
        (lambda x: torch.where(x == 0, 1, x), "special"),
    ],
)
def test_numbers_of_many_magnitudes_zeros_and_powers_of_two_are_tried(wrong, numbers):
    def spoil(inputs, outputs):
        outputs[0].copy_(wrong(inputs[0][:2]))

    with pytest.raises(InputError, match=f"at 100 rows of {numbers} numbers"):
        pretend_package(Module(lambda m, x: x[:, :2].clone()), bind(*THREE_TO_TWO), spoil)


WHOLE = bind([block("k", "k", column_dtype="int64", dtype="int64")], [block("preds", "m")])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda k: k.clamp(min=0),
        lambda k: k.clamp(max=2**62),
        lambda k: torch.where(k == 0, 1, k),
        lambda k: torch.where(k == -(2**63), 0, k),
        lambda k: k.to(torch.int16),
    ],
)
def test_integers_have_negatives_zeros_and_extremes_where_the_model_takes_them(wrong):
    module = Module(lambda m, k: k.float())
    columns = checks.with_examples(module, WHOLE)
    assert columns.inputs[0].integers == (-(2**63), 2**63 - 1)
    pretend_package(module, columns, lambda inputs, outputs: None)
    with pytest.raises(InputError, match="the package differs from the model"):
        pretend_package(module, columns, lambda inputs, outputs: outputs[0].copy_(wrong(inputs[0]).float()))


LARGER = bind([block("k", "ab", column_dtype="int64", dtype="int64")], [block("at", "i", column_dtype="int64", dtype="int64")])


def test_neighbours_that_are_one_number_in_float32_are_tried():
    module = Module(lambda m, k: k.argmax(1))
    columns = checks.with_examples(module, LARGER)
    pretend_package(module, columns, lambda inputs, outputs: None)
    with pytest.raises(InputError, match="at 100 rows of special numbers"):
        pretend_package(module, columns, lambda inputs, outputs: outputs[0].copy_(inputs[0].float().argmax(0)))


def test_no_choice_between_integers_may_be_wrong():
    """One row of a thousand, which may be where the model gets floats."""

    def spoil(inputs, outputs):
        if outputs[0].shape[1] == 1000:
            outputs[0][0, 7] += 1

    module = Module(lambda m, k: k.argmax(1))
    with pytest.raises(InputError, match="differs from the model by 1.00e-03 .*expected at most 0e"):
        pretend_package(module, checks.with_examples(module, LARGER), spoil)
    floats = bind(THREE_TO_TWO[0], LARGER.text["outputs"])
    for function, model, expected in ((Module(lambda m, x: x.argmax(1)), floats, 2e-3), (module, LARGER, 3e-5)):
        for case in checks.record(function, checks.with_examples(function, model), [{"collection": 0}])[0]["cases"]:
            assert case["tolerances"] == [[expected]]
    pretend_package(Module(lambda m, x: x.argmax(1)), floats, spoil)


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda m, k: m.table(k), (0, 3)),
        (lambda m, k: m.table(k + 1), (-1, 2)),
        (lambda m, k: m.table(k.clamp(-1, 2) + 1), (-(2**63), 2**63 - 1)),
        (lambda m, k: k.float()[k.squeeze(1)], None),  # rows, which are never negative though torch takes that
    ],
)
def test_integers_stay_within_what_a_table_or_an_index_takes(function, expected):
    module = Module(function)
    module.table = nn.Embedding(4, 1)
    columns = checks.with_examples(module, bind(WHOLE.text["inputs"], WHOLE.text["outputs"]))
    assert columns.inputs[0].integers == expected
    for rows in (1, 2, 1000):
        drawn = Columns(columns, {0: rows}, (), "cpu").inputs[0]
        low, high = expected or (0, rows - 1)
        assert low <= drawn.min() and drawn.max() <= high
        if expected and rows > 1 and high < 2**62:
            assert (drawn.min(), drawn.max()) == expected


def test_a_mask_leaves_something_and_masks_something():
    columns = bind([block("mask", "abcd", column_dtype="bool", dtype="bool")], [])
    mask = Columns(columns, {0: 1000}, (), "cpu", seed=3).inputs[0]
    assert mask.any(0).all() and (~mask).any(0).all()


def test_what_is_no_number_in_both_is_right_and_only_there():
    def root(m, x):
        return x[:, :2].sqrt()

    found = pretend_package(Module(root), bind(*THREE_TO_TWO), lambda inputs, outputs: None)
    assert all(check["relative_error"]["preds"] < 1e-6 for check in found)
    with pytest.raises(InputError, match="differs from the model by inf"):
        pretend_package(Module(root), bind(*THREE_TO_TWO), lambda inputs, outputs: outputs[0].nan_to_num_(0))


class Encoder(nn.Module):
    """An encoder layer over the elements of a row, some of which are padding."""

    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)

    def forward(self, x, is_padding):
        return self.layer(x.unflatten(1, (3, 4)), src_key_padding_mask=is_padding)[:, 0]


def test_encoder_layers_with_a_mask_are_checked_as_torch_exports_them():
    """Rows that are masked throughout among them: they are no numbers by torch's fast path."""
    torch.manual_seed(0)
    module = Encoder().eval().requires_grad_(False)
    inputs = [block("x", "abcdefghijkl"), block("is_padding", "pqr", column_dtype="bool", dtype="bool")]
    columns = bind(inputs, [block("y", "stuv")])
    exported = aot.exported_program(module, columns).module()

    def run(data, rows):
        data.inputs[1][:, ::5] = True
        data.before[1].copy_(data.memory[1])
        results = exported([block.tensor(x) for block, x in zip(columns.inputs, data.inputs)])
        columns.outputs[0].write(results[0], data.outputs[0])

    class Masked(nn.Module):
        """The module on what run() makes of the mask."""

        def __init__(self):
            super().__init__()
            self.module = module

        def forward(self, x, is_padding):
            is_padding = is_padding.clone()
            is_padding[::5] = True
            return self.module(x, is_padding)

    with torch.no_grad():
        found = checks.validate(run, Masked().eval(), columns, [{"collection": 0}])
    assert [(check["numbers"], check["rows"]) for check in found] == CASES
    assert all(check["relative_error"]["y"] < 1e-5 for check in found)


def test_what_float32_cannot_hold_is_not_judged():
    found = pretend_package(Module(lambda m, x: x[:, :2].exp()), bind(*THREE_TO_TWO), lambda inputs, outputs: None)
    assert [check["relative_error"]["preds"] < 1e-6 for check in found] == [True] * len(CASES)


def test_numbers_of_which_the_model_itself_says_nothing_are_left_out():
    def rough(m, x):
        return torch.sin(1000 * x[:, :2])

    rules = [{"collection": 0}]
    found = pretend_package(Module(rough), bind(*THREE_TO_TWO), lambda inputs, outputs: None)
    assert "large" not in {check["numbers"] for check in found} and len(found) == len(CASES) - 1
    recorded = checks.record(Module(rough), bind(*THREE_TO_TWO), rules)[0]["cases"]
    assert [case["numbers"] for case in recorded] == ["normal"] * 4 + ["small", "special"]


def test_no_result_is_recorded_that_any_package_would_pass():
    def rough(m, x):
        return torch.sin(1e9 * x[:, :2])

    recorded, files = checks.record(Module(rough), bind(*THREE_TO_TWO), [{"collection": 0}])
    assert "normal" not in {case["numbers"] for case in recorded["cases"]} and len(files) == len(recorded["cases"])
    for case in recorded["cases"]:
        assert all(one < 0.5 for block in case.get("tolerances", []) for one in block)
    (line,) = checks.told_recorded(recorded)
    assert line.startswith("too rough to be judged: the model differs from itself in float64 by more than 1e-02")
    recorded, _ = checks.record(Module(lambda m, x: x @ m.weight), bind(*THREE_TO_TWO), [{"collection": 0}])
    assert not list(checks.told_recorded(recorded))


def test_recorded_results_are_bounded_however_wide_the_columns_are():
    names = [f"c{i}" for i in range(3000)]
    wide = bind([block("x", names)], [block("y", names)])
    entry, files = checks.record(Module(lambda m, x: x * 2), wide, [{"collection": 0}])
    assert 0 < sum(map(len, files.values())) <= checks.RECORDED_BYTES
    assert {one["file"] for one in entry["cases"]} == set(files)
    entry, files = checks.record(Module(lambda m, x: x @ m.weight), bind(*THREE_TO_TWO), [{"collection": 0}])
    assert [(one["numbers"], [one["rows"]]) for one in entry["cases"]] == CASES


def events(path, rows=50, **more):
    """A file of particles: charges of -1 and 1."""
    columns = {"x": np.linspace(0, 1, rows), "y": np.ones(rows), "z": np.arange(rows) / rows}
    columns |= {"q": np.where(np.arange(rows) % 3, 1, -1), "name": ["a"] * rows, **more}
    table = pyarrow.table({name: column for name, column in columns.items() if column is not None})
    write = pyarrow.parquet.write_table if path.suffix == ".parquet" else pyarrow.csv.write_csv
    write(table, path)
    return path


WITH_CHARGE = bind([*THREE_TO_TWO[0], block("q", "q", column_dtype="int8", dtype="int8")], [block("preds", "m")])


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_checks_take_rows_of_the_users_file_by_the_names_of_columns(suffix, tmp_path):
    columns = examples.with_columns(WITH_CHARGE, examples.read(events(tmp_path / f"particles{suffix}")))
    seen = []

    def model(m, x, q):
        seen.append((x, q))
        return torch.log(x[:, :1] + q.abs()) * m.weight[0, 0]

    columns = checks.with_examples(Module(model), columns)
    found = pretend_package(Module(model), columns, lambda inputs, outputs: None)
    assert {check["numbers"] for check in found} == {"normal"}
    for x, q in seen:
        assert torch.equal(x[:, 1], torch.ones(len(x), dtype=x.dtype)) and set(q.flatten().tolist()) <= {-1, 1}
        rows = (x[:, 2] * 50).round().long() % 50
        assert torch.equal(torch.where(rows % 3 > 0, 1, -1), q[:, 0].long())  # each row as it is in the file


@pytest.mark.parametrize(
    "columns, message",
    [
        ({"z": None}, 'block "features": the examples have no z; expected all of its columns'),
        (dict.fromkeys("xyzq"), "the examples have no columns; expected some of x, y, z, q"),
        ({"q": [None] * 50}, 'block "q": the examples have nulls in q; expected a number in every row'),
        ({"z": [None] + [1.0] * 49}, 'block "features": the examples have nulls in z; expected a number in every row'),
        ({"q": [1] * 9 + [300] * 41}, 'block "q": row 9 of q of the examples is 300; expected numbers that columns of int8'),
        ({"q": [0.7] * 50}, 'row 0 of q of the examples is 0.7; expected numbers that columns of int8 hold'),
        ({"q": [1.0, np.nan] * 25}, "row 1 of q of the examples is nan"),
        ({"z": [1e39] * 50}, 'block "features": row 0 of z of the examples is 1e+39; expected numbers that'),
    ],
)
def test_examples_that_do_not_fit_are_refused(columns, message, tmp_path):
    with pytest.raises(InputError) as caught:
        examples.with_columns(WITH_CHARGE, examples.read(events(tmp_path / "particles.parquet", **columns)))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "dtype, held, others",
    [
        (torch.uint8, [0, 255, 255.0], [-1, 256, 255.5, np.inf]),
        (torch.int64, [-(2**63), 2**63 - 1, -(2.0**63)], [2**63, 2.0**63]),
        (torch.bool, [0, 1, True, 1.0], [-1, 2, 0.5]),
        (torch.float32, [2**40 + 1, np.inf, np.nan, 0.1, True], [1e39]),
        (torch.float16, [65504], [70000]),
    ],
)
def test_examples_are_what_columns_hold(dtype, held, others):
    name = str(dtype).removeprefix("torch.")
    columns = bind([block("q", "q", column_dtype=name, dtype=name)], [])

    def examples_of(number):
        dtype = np.array(number).dtype.str  # of uint64 numpy has two, torch takes one
        return examples.with_columns(columns, {"q": torch.as_tensor(np.array([1, number], dtype))}).inputs[0].examples

    for number in held:
        assert torch.equal(examples_of(number)[0, 1:].nan_to_num(), torch.tensor([number]).to(dtype).nan_to_num())
    for number in others:
        with pytest.raises(InputError, match="row 1 of q of the examples"):
            examples_of(number)


@pytest.mark.parametrize(
    "name, message",
    [("no.csv", "no.csv: cannot be read"), ("bad.parquet", "cannot be read"), ("x.root", "FILE.parquet or FILE.csv")],
)
def test_examples_that_cannot_be_read_are_refused(name, message, tmp_path):
    (tmp_path / "bad.parquet").write_text("nothing")
    with pytest.raises(InputError, match=message):
        examples.read(tmp_path / name)
    (tmp_path / "empty.csv").write_text("x,y,z,q\n")
    with pytest.raises(InputError, match="examples have no"):
        examples.with_columns(WITH_CHARGE, examples.read(tmp_path / "empty.csv"))


def test_model_that_needs_several_rows_says_at_how_many_it_fails(tmp_path):
    function = lambda m, x: x.topk(5, dim=0).values.sum(0) + x @ m.weight[:, :1]  # noqa: E731
    columns = bind([block("features", "xyz")], [block("preds", "mno")])
    assert "with 1 rows: selected index k out of range" in refusal(Module(function), columns, tmp_path)


def beyond_the_rows(inputs, outputs):
    memory = outputs[0].as_strided((outputs[0].shape[1] + 1,), (1,))
    memory[-1] += 1


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda inputs, outputs: outputs[0][1, -1].add_(0.1), 'block "preds", column n: the package differs'),
        (lambda inputs, outputs: outputs[0].fill_(torch.nan), "differs from the model by inf"),
        (lambda inputs, outputs: inputs[0].add_(1), "writes memory that is not its own"),
        (beyond_the_rows, "writes memory that is not its own"),
    ],
)
def test_wrong_package_is_not_written(spoil, message):
    with pytest.raises(InputError, match=message):
        pretend_package(Module(lambda m, x: x @ m.weight), bind(*THREE_TO_TWO), spoil)


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
        (["model.py:number", "--out", "p.pt2"], "a package needs --binding"),
        (["model.py:number", "--binding", "BINDING", "--out", "p.pt"], "a package is called FILE.pt2"),
        (["model.py:number", "--out", "p.pt"], "a TorchScript file is made of weights only"),
        (["model.py:number", "--out", "p.pt", "--examples", "e.csv"], "--examples e.csv: expected --out FILE.pt2"),
        (["model.py:number", "--binding", "BINDING", "--out", "p.pt2", "--examples", "e.csv"], "e.csv: cannot be read"),
    ],
)
def test_command_refuses_in_one_line(arguments, message, tmp_path, monkeypatch, capsys):
    from tensoa import command, export

    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text("def fails():\n    return 1 / 0\n\n\ndef number():\n    return 1\n")
    text = {"schema": 1, "match": "order", "inputs": THREE_TO_TWO[0], "outputs": THREE_TO_TWO[1]}
    (tmp_path / "BINDING").write_text(json.dumps(text))
    (tmp_path / "BINDING.pt2").write_text("no model")
    assert command.run(lambda: export.main(arguments)) == 2
    output = capsys.readouterr()
    assert message in output.err
    assert output.err.startswith("error: ") and output.err.count("\n") == 1
    assert not list(tmp_path.glob("p.pt*"))


@pytest.mark.parametrize(
    "words, asked", [(["--deterministic"], True), (["--no-deterministic"], False), ([], aot.DETERMINISTIC)]
)
def test_command_asks_for_sums_that_are_the_same_bits_at_every_call(words, asked, tmp_path, monkeypatch):
    from tensoa import export

    got = []
    monkeypatch.setattr(aot, "export", lambda *arguments: got.append(arguments[-1]))
    (tmp_path / "model.py").write_text("import torch\n\n\ndef make():\n    return torch.nn.Linear(3, 2)\n")
    text = {"schema": 1, "match": "order", "inputs": THREE_TO_TWO[0], "outputs": THREE_TO_TWO[1]}
    (tmp_path / "binding.json").write_text(json.dumps(text))
    model, columns = f"{tmp_path}/model.py:make", f"{tmp_path}/binding.json"
    export.main([model, "--binding", columns, "--out", f"{tmp_path}/p.pt2", "--target", "cuda", *words])
    assert got == [asked]


def test_command_line_program_gives_status_2(tmp_path):
    command = [sys.executable, "-m", "tensoa.export", "x.py:f", "--out", str(tmp_path / "p.pt2")]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert answer.stderr.count("\n") == 1
