# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Which kind of program a model becomes, and what is said of those that it does not."""

import pytest
import torch
from torch import nn

import tensoa
from tensoa.errors import InputError, Unsupported
from tensoa.program_kinds import NoProgram, first_possible, summary, text_of


def raising(error):
    def attempt(_):
        raise error

    return attempt


def test_the_first_kind_that_is_possible_is_made_and_hears_why_those_before_it_are_not():
    heard = []
    attempts = {"a": raising(Unsupported("no")), "b": raising(Unsupported("never")), "c": heard.append, "d": heard.append}
    first_possible(attempts)
    assert heard == [{"a": "no", "b": "never"}]


def test_where_no_kind_is_possible_all_reasons_are_said():
    inner = {"a": raising(Unsupported("no")), "b": raising(Unsupported("never; it is not written"))}
    with pytest.raises(NoProgram) as caught:
        first_possible({"outer": lambda _: first_possible(inner), "c": raising(Unsupported("no"))})
    assert caught.value.reasons == {"a": "no", "b": "never", "c": "no"}
    assert str(caught.value) == "not a or c: no; not b: never"


def test_a_kind_that_an_earlier_one_excluded_is_not_tried():
    def needless(_):
        raise AssertionError("tried")

    attempts = {"a": raising(NoProgram({"a": "no time", "b": "no time"})), "b": needless}
    with pytest.raises(NoProgram) as caught:
        first_possible(attempts)
    assert caught.value.reasons == {"a": "no time", "b": "no time"}


def test_wrong_input_is_not_a_reason_to_try_another_kind():
    with pytest.raises(InputError, match="^wrong columns$"):
        first_possible({"a": raising(InputError("wrong columns")), "b": lambda _: None})


def test_the_line_says_the_reasons_and_the_kind():
    assert summary({"a": "x", "b": "x", "c": "x", "d": "y"}, "e") == "not a, b or c: x; not d: y; e"
    assert summary({}, "e") == "e" and text_of({}) == ""


class Halved(nn.Module):
    """Depends on the data: torch.export does not follow it, torch.jit.script does."""

    def forward(self, x):
        while bool((x.abs() > 4).any()):
            x = x / 2
        return x


class Written(nn.Module):
    """Writes its input, which TorchScript copies first."""

    def forward(self, x):
        return x.mul_(2)[:, :2]


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls += 1
        return x * self.calls


class CountsInPython(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls: int = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls if bool((x > 0).any()) else x


class Items(nn.Module):
    """A trace would have the number of its example."""

    def forward(self, x, *others):
        return x * float(x.max())


class AsItLies(nn.Module):
    def forward(self, x):
        if bool((x > 1e30).any()):
            return x
        return x if x.is_contiguous() else 2 * x


def compiled(model, path, **options):
    lines = []
    tensoa.compile(model, path, columns=["x=a,b,c"], report=lines.append, **options)
    return lines


@pytest.mark.parametrize("model", [Halved(), Written()], ids=["loop on data", "writes its input"])
def test_what_torch_export_does_not_take_becomes_torchscript_with_a_line(model, tmp_path):
    lines = compiled(model, tmp_path / "m.pt2")
    assert [line for line in lines if line.endswith("; run just in time by TorchScript")]
    x = 9 * torch.randn(5, 3)
    assert torch.equal(torch.jit.load(tmp_path / "m.pt2")(x.clone()), model(x.clone()))
    names = ",".join(f"output_{i}" for i in range(model(x.clone()).shape[1]))
    assert lines[-1] == f"the file says no columns: tensoa infer --columns x=a,b,c --outputs output={names}"


def test_a_model_that_gives_other_numbers_at_each_call_is_refused_before_any_kind_is_tried(tmp_path):
    with pytest.raises(Unsupported, match=r"the model changes itself \(calls\): call 2 gives other numbers than the first"):
        compiled(Counts(), tmp_path / "m.pt2")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    "model, reason",
    [
        (CountsInPython(), "the model changes itself (calls); expected one that keeps nothing between calls"),
        (Items(), "torch.jit.trace: Converting a tensor to a Python float might cause the trace to be incorrect"),
        (AsItLies(), "the model asks how its tensors lie in memory"),
    ],
)
def test_what_torchscript_would_have_otherwise_is_not_written(model, reason, tmp_path):
    with pytest.raises(NoProgram) as caught:
        compiled(model, tmp_path / "m.pt2")
    assert reason in caught.value.reasons["run just in time by TorchScript"]
    assert [*tmp_path.iterdir()] == []


def test_wrong_columns_are_refused_and_nothing_else_is_tried(tmp_path):
    with pytest.raises(InputError) as caught:
        tensoa.compile(nn.Linear(3, 2), tmp_path / "m.pt2", columns=["input=a,b"], report=lambda line: None)
    assert not isinstance(caught.value, Unsupported) and [*tmp_path.iterdir()] == []


def test_a_script_in_a_file_runs_as_it_is_where_no_package_can_be_made(tmp_path):
    torch.jit.script(Halved()).save(str(tmp_path / "a.pt"))
    lines = compiled(tmp_path / "a.pt", tmp_path / "m.pt2")
    assert "as it is in the file" in lines
    assert lines[-2].startswith("not compiled ahead of time or run just in time by torch.export: the TorchScript model cannot")
    assert "a loop whose length depends on the data (test_program_kinds.py:" in lines[-2]
    assert lines[-2].endswith("; run just in time by TorchScript")
    x = 9 * torch.randn(5, 3)
    assert torch.equal(torch.jit.load(tmp_path / "m.pt2")(x), Halved()(x))
