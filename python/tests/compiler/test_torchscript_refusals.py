# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""TorchScript models that cannot be compiled, with the place of what they do."""

from typing import List  # as older files write them

import pytest
import torch
from torch import Tensor, nn

from exporting import bind, block, refusal
from tensoa.compiler import torchscript
from tensoa.compiler.frontend import exported_program
from tensoa.compiler.torchscript import values
from tensoa.errors import InputError
from torchscript_models import JET, PAIR, ROWS_AND_EDGES, TRACK, Collections, LoopOverModules, TrackNetwork, line_of, tensors

pytestmark = pytest.mark.filterwarnings("ignore")  # torch says that TorchScript is deprecated


# ---- what cannot be compiled


class OnData(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x + 1
        return x[:, :2]


class WhileOnData(nn.Module):
    def forward(self, x):
        while bool(x.sum() > 100):
            x = x / 2
        return x[:, :2]


class OverRows(nn.Module):
    def forward(self, x):
        parts: List[Tensor] = []
        for i in range(x.size(0)):
            parts.append(x[i, :2] * 2)
        return torch.stack(parts)


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = 0

    def forward(self, x):
        self.seen += 1
        return x[:, :2] * self.seen


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(12, 2), nn.Dropout(0.5))

    def forward(self, x):
        return self.layers(x)


class Sized(nn.Module):
    def forward(self, x):
        return x[:, :2] + torch.zeros(x.shape[0], 2)


class Fixed(nn.Module):
    def forward(self, x):
        return x[:, :2] + torch.zeros(int(x.shape[0]), 2)


class Cut(nn.Module):
    """Its trace holds a list of numbers as long as the rows were."""

    def forward(self, x):
        return torch.stack([row[:2] for row in x])


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: torch.jit.script(OnData()), ("a branch that depends on the data", "if x.sum() > 0:")),
        (lambda: torch.jit.script(WhileOnData()), ("a loop whose length depends on the data", "while bool(x.sum() > 100):")),
        (
            lambda: torch.jit.script(OverRows()),
            ("a loop whose length depends on the number of rows", "for i in range(x.size(0)):"),
        ),
        (lambda: torch.jit.script(Stateful()), ("it keeps seen between calls", "self.seen += 1")),
        (
            lambda: torch.jit.script(torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(12, 2)))),
            ("0._packed_params._packed_params is an object of C++, as quantized models have", None),
        ),
    ],
)
def test_what_torch_cannot_compile_is_refused_with_its_name_and_place(make, message, tmp_path):
    what, line = message
    got = refusal(make(), JET, tmp_path)
    assert got.startswith(f"the TorchScript model cannot be compiled ahead of time: {what}")
    assert line is None or got.endswith(f"{what} (test_torchscript_refusals.py:{line_of(line, __file__)})")


def test_trace_of_a_model_in_training_is_refused(tmp_path):
    trace = torch.jit.trace(Dropping().train(), torch.randn(5, 12), check_trace=False)
    assert "was saved while it was being trained (aten::dropout, test_torchscript_refusals.py:" in refusal(trace, JET, tmp_path)


@pytest.mark.parametrize("make, rows", [(Cut, 1), (Cut, 5), (Fixed, 5), (Fixed, 100)])
def test_trace_that_takes_one_number_of_rows_is_refused(make, rows, tmp_path):
    trace = torch.jit.trace(make(), torch.randn(rows, 12), check_trace=False)
    message = refusal(trace, JET, tmp_path)
    assert message.startswith(f"the TorchScript model takes {rows} rows and fails at 1021: torch.jit.trace made")


def test_sizes_that_a_trace_follows_stay_free():
    plain = torchscript.interpreted(torch.jit.trace(Sized(), torch.randn(5, 12)), JET)
    exported = exported_program(plain, JET).module(check_guards=False)
    assert [exported([torch.zeros(rows, 12)])[0].shape[0] for rows in (1, 9)] == [1, 9]


@pytest.mark.parametrize(
    "columns, message",
    [
        (bind([*ROWS_AND_EDGES, block("z", "z"), block("w", "w")], [block("y", "uv")]), "takes 3 arguments"),
        (bind([block("y", "abc")], [block("score", "s")], "name"), "the model takes ['x', 'edge_index', 'weight'], the blocks"),
    ],
)
def test_arguments_that_the_model_does_not_take_are_refused(columns, message, tmp_path):
    assert message in refusal(torch.jit.script(TrackNetwork()), columns, tmp_path)


def test_wrong_columns_are_refused_with_operator_and_place(tmp_path):
    message = refusal(torch.jit.script(TrackNetwork()), bind(JET.text["inputs"], JET.text["outputs"]), tmp_path)
    assert "takes 3 arguments ['x', 'edge_index', 'weight'], there are 1 blocks: ['x']" in message
    narrow = bind([block("x", "abc")], [block("y", "uv")])
    message = refusal(torch.jit.script(LoopOverModules()), narrow, tmp_path)
    assert message.startswith("the model fails on columns of the binding") and "aten::view, torchscript_models.py" in message


def test_wrong_interpretation_is_noticed(monkeypatch):
    monkeypatch.setitem(values.PLAIN, "floordiv", lambda a, b: a // b + 1)
    script = torch.jit.script(Collections())
    with pytest.raises(InputError, match="gives other results than its operators one by one"):
        torchscript.interpreted(script, PAIR)


class Hidden(nn.Module):
    """An operator whose effect few numbers show."""

    def __init__(self, kind):
        super().__init__()
        self.kind: str = kind

    def forward(self, x):
        step = x.shape[1] // 12
        if self.kind == "next to large numbers":
            return torch.stack([x[:, 0] * 1e6, x[:, 1] + step], 1)
        if self.kind == "for large numbers":
            return torch.where(x[:, :2] > 1e4, x[:, :2] * step, x[:, :2])
        return torch.where(x[:, :2] == 0, float(step), x[:, :2])


@pytest.mark.parametrize("kind", ["next to large numbers", "for large numbers", "for special numbers"])
def test_wrong_interpretation_that_few_numbers_show_is_noticed(kind, monkeypatch):
    script = torch.jit.script(Hidden(kind))
    torchscript.interpreted(script, JET)
    monkeypatch.setitem(values.PLAIN, "floordiv", lambda a, b: a // b + 1)
    with pytest.raises(InputError, match="gives other results than its operators one by one"):
        torchscript.interpreted(script, JET)


def test_operator_that_fails_in_the_interpretation_only_is_refused_with_its_place(monkeypatch):
    def failing(*_):
        raise ValueError("no such thing\nat all")

    monkeypatch.setitem(values.PLAIN, "floordiv", failing)
    with pytest.raises(InputError) as error:
        torchscript.interpreted(torch.jit.script(Collections()), PAIR)
    place = f"torchscript_models.py:{line_of('half = x.shape[1] // 2')}"
    assert f"ahead of time: no such thing (aten::floordiv, {place})" in str(error.value)


class Failing(nn.Module):
    def forward(self, x):
        return x[:, :2] + x[:, : x.shape[1] // 2]


def test_model_that_fails_itself_is_refused_though_its_interpretation_runs(monkeypatch):
    script = torch.jit.script(Failing())
    with pytest.raises(
        InputError, match=r"the model fails on columns of the binding with .*aten::add, test_torchscript_refusals.py"
    ):
        torchscript.interpreted(script, JET)
    monkeypatch.setitem(values.PLAIN, "floordiv", lambda a, b: 2)
    with pytest.raises(InputError, match="the TorchScript model fails on columns of the binding; expected"):
        torchscript.interpreted(script, JET)


def test_float64_of_the_model_is_that_of_the_module():
    module = TrackNetwork().eval()
    plain = torchscript.interpreted(torch.jit.script(module), TRACK).double()
    x, edges = tensors(TRACK, 9)
    torch.testing.assert_close(plain(x.double(), edges), module.double()(x.double(), edges), rtol=1e-12, atol=1e-12)
