# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Messages about models that torch.export cannot follow: one line, with the author's, and a slower way."""

import inspect
import json

import numpy as np
import pytest
import torch
from torch import nn

from exporting import Module, block
from tensoa.command import run
from tensoa.export import main
from tensoa.tracing import signature_of, traced, with_place


class CountsRows(nn.Module):
    def forward(self, x):
        found = x[x[:, 0].nonzero()[:, 0]]
        if found.shape[0] > 3:  # HERE
            return x + found.sum()
        return x


class Branch(nn.Module):
    def forward(self, x):
        if x.max() > 1:  # HERE
            x = x / 2
        return x


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(nn.Linear(3, 3), Branch())

    def forward(self, x):
        return self.parts(x)


class Loop(nn.Module):
    def forward(self, x):
        while bool((x.abs() > 100).any()):  # HERE
            x = x / 2
        return x


class Foreign(nn.Module):
    def forward(self, x):
        return torch.from_numpy(np.sin(x.detach().numpy()))  # HERE


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x / 2 if x.min() < -1 else x  # HERE


class OwnFunction(nn.Module):
    def forward(self, x):
        return Own.apply(x)


def place_of(model):
    """(number, text) of the line that torch.export does not follow."""
    lines, start = inspect.getsourcelines({Inner: Branch, OwnFunction: Own}.get(model, model))
    return next((start + i, line.strip()) for i, line in enumerate(lines) if line.rstrip().endswith("# HERE"))


@pytest.mark.parametrize("how", [[], ["--just-in-time"]], ids=["package", "just in time"])
@pytest.mark.parametrize("model", [CountsRows, Branch, Inner, Loop, Foreign, OwnFunction])
def test_what_torch_export_cannot_follow_runs_by_torchscript_with_a_word_or_is_refused(model, how, tmp_path, capfd):
    text = {"schema": 1, "match": "auto", "inputs": [block("x", "abc")], "outputs": [block("y", "uvw")]}
    (tmp_path / "b.json").write_text(json.dumps(text))
    arguments = [f"{__file__}:{model.__name__}", "--binding", str(tmp_path / "b.json"), "--out", str(tmp_path / "m.pt2"), *how]
    is_scripted = model not in (Foreign, OwnFunction)
    assert run(lambda: main(arguments)) == (0 if is_scripted else 2)
    out, err = (text.splitlines() for text in capfd.readouterr())
    errors = [line for line in err if not line.endswith(" …")]  # long steps
    kinds = (
        "run just in time by torch.export" if how else "fused, fused in part, compiled by TorchInductor or run just in time by"
    )
    (said,) = [line for line in [*out, *errors] if line.startswith((f"not {kinds}", f"error: not {kinds}"))]
    number, line = place_of(model)
    assert "torch.export cannot follow it (" in said and f"at test_tracing.py:{number}: {line}" in said
    if is_scripted:
        assert said.endswith("; run just in time by TorchScript") and not errors
        x = torch.randn(40, 3)
        torch.testing.assert_close(torch.jit.load(tmp_path / "m.pt2")(x), model().eval()(x)) if model is not Inner else None
    else:
        assert errors == [said] and said.count("not run just in time by TorchScript: torch.jit.script: ") == 1
        assert not (tmp_path / "m.pt2").exists()


def test_the_line_of_the_author_is_found_behind_other_errors():
    def authors():
        raise ValueError("deep")

    try:
        try:
            authors()
        except ValueError as error:
            raise RuntimeError("first\nsecond") from error
    except RuntimeError as error:
        assert with_place(error).startswith("first, at test_tracing.py:")


def test_the_order_of_an_einsum_does_not_depend_on_the_number_of_rows(monkeypatch):
    """opt_einsum, which comes with some installations of torch, looks for the fastest order for a number of rows."""

    class Planner:
        @staticmethod
        def contract_path(equation, *operands, optimize):
            return ([(0, 1), (0, 1)] if operands[0].shape[0] > 64 else [(1, 2), (0, 1)]), None

    names = torch.backends.opt_einsum.set_flags.__globals__  # of the module, which an object stands before
    for name, value in {"is_available": lambda: True, "get_opt_einsum": lambda: Planner, "enabled": True}.items():
        monkeypatch.setitem(names, name, value)
    module = Module(lambda m, x: torch.einsum("ni,nj,jk->nk", x, x, m.weight))
    shapes = (({0: torch.export.Dim("rows")},),)  # of *inputs
    exported = traced(module, (torch.randn(100, 3),), shapes)
    x = torch.randn(7, 3)
    torch.testing.assert_close(exported.module()(x), module(x))
    assert torch.backends.opt_einsum.enabled


class Keeps(nn.Module):
    """A model whose call changes its buffers, in the way that is given."""

    def __init__(self, changes):
        super().__init__()
        self.changes = changes
        self.register_buffer("kept", torch.zeros(3))
        self.register_buffer("variance", torch.ones(3))

    def forward(self, x):
        return self.changes(self, x)


def in_place(model, x):
    return x + model.kept.add_(x.sum())


def in_a_view(model, x):
    model.kept.view(-1)[:2].copy_(x[0, :2])
    return x + model.kept


def as_an_output(model, x):
    torch.add(x.sum(0), 1.0, out=model.kept)
    return x + model.kept


def under_autocast(model, x):
    with torch.autocast("cpu", torch.bfloat16):
        model.kept.add_(x.sum())
        return x @ x.T


def as_statistics(model, x):
    return nn.functional.batch_norm(x, model.kept, model.variance, training=True)


def not_at_all(model, x):
    return nn.functional.linear(x, torch.ones(3, 3)) * model.kept


@pytest.mark.parametrize("changes", [in_place, in_a_view, as_an_output, under_autocast, as_statistics, not_at_all])
def test_a_signature_says_which_buffers_a_program_changes(changes):
    program = traced(Keeps(changes).eval(), (torch.randn(7, 3),), ({0: torch.export.Dim.AUTO},))
    changed = {*signature_of(program).buffers_to_mutate.values()}
    assert changed == {as_statistics: {"kept", "variance"}, not_at_all: set()}.get(changes, {"kept"})
    assert changed == {*program.run_decompositions({}).graph_signature.buffers_to_mutate.values()}
