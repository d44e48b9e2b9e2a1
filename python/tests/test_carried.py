# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models that keep a state between calls: what the package's module gives for it is compared with calls of the model itself."""

import copy

import pytest
import torch
from torch import nn

from tensoa.carried import Carried, state_of, with_state
from tensoa.compiling import _in_words, _words
from tensoa.rows_axis import rows_first


class Recurrent(nn.Module):
    """One step of an LSTM, whose state is of a batch of one."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.memory, self.last = nn.LSTM(5, 4), nn.Linear(4, 2)
        self.register_buffer("hidden", torch.zeros(1, 1, 4))
        self.register_buffer("cell", torch.full((1, 1, 4), 0.5))

    def forward(self, x):
        out, (hidden, cell) = self.memory(x.unsqueeze(0), (self.hidden, self.cell))
        self.hidden[:] = hidden
        self.cell[:] = cell
        return self.last(out.squeeze(0))


class Average(nn.Module):
    """A running mean [3] that a call replaces, for one row."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x
        return x - self.mean


class Counting(nn.Module):
    """Which gives the same at each call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.calls += 1
        return 2 * x


def found(model, *columns):
    """(the module of rows, its binding, what is said)."""
    said = []
    columns = _in_words(model, [*_words(columns)], [], None, said.append)
    module, lines = rows_first(with_state(model, [block.name for block in columns.inputs]), columns, {})
    return module, columns, [*said, *lines]


@pytest.mark.parametrize("make", [lambda: Recurrent().eval(), lambda: torch.jit.script(Recurrent().eval())])
@pytest.mark.parametrize("columns", [["x[n,5]"], []])
def test_a_state_that_a_call_changes_is_kept_by_the_caller_for_each_row(make, columns):
    module, binding, said = found(make(), *columns)
    assert [block.name for block in binding.inputs] == ["x", "hidden", "cell"]
    assert [block.name for block in binding.outputs] == ["output", "next_hidden", "next_cell"]
    assert any(
        "changes hidden; the caller keeps it for each row: columns of hidden, which begin with 0," in line for line in said
    )
    assert any("columns of cell, which begin with 0.5, 0.5, 0.5, 0.5, are those of next_cell" in line for line in said)
    torch.manual_seed(1)
    steps = torch.randn(3, 7, 5)
    state = [torch.zeros(7, 4), torch.full((7, 4), 0.5)]
    rows = [make() for _ in range(7)]
    for x in steps:
        output, *state = module(x, *state)
        expected = torch.cat([model(x[i : i + 1]) for i, model in enumerate(rows)])
        torch.testing.assert_close(output, expected)
    torch.testing.assert_close(state[0], torch.cat([model.hidden.reshape(1, 4) for model in rows]))


def test_a_buffer_that_a_call_replaces_is_a_state_too():
    module, binding, _ = found(Average(), "x[3]")
    assert [block.name for block in binding.inputs] == ["x", "mean"]
    x, mean = torch.randn(2, 6, 3)
    output, after = module(x, mean)
    torch.testing.assert_close(after, 0.9 * mean + 0.1 * x)
    torch.testing.assert_close(output, x - after)


class Largest(nn.Module):
    """Of all rows so far: the same rows again change nothing."""

    def __init__(self, name="largest"):
        super().__init__()
        self.name = name
        self.register_buffer(name, torch.zeros(3))

    def forward(self, x):
        setattr(self, self.name, torch.maximum(getattr(self, self.name), x))
        return 2 * getattr(self, self.name)


class Latch(nn.Module):
    """Which numbers above 100 set."""

    def __init__(self):
        super().__init__()
        self.register_buffer("is_set", torch.zeros(3))

    def forward(self, x):
        self.is_set[:] = torch.where(x > 100, 1.0, self.is_set)
        return x + self.is_set


def test_a_state_that_equal_rows_do_not_change_is_found():
    module, _, _ = found(Largest(), "x[3]")
    x, largest = torch.randn(2, 6, 3)
    output, after = module(x, largest)
    torch.testing.assert_close(after, torch.maximum(largest, x))
    torch.testing.assert_close(output, 2 * after)
    assert [block.name for block in found(Latch(), "x[3]")[1].inputs] == ["x", "is_set"]


class Noise(nn.Module):
    """Random numbers, and a counter."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls += 1
        return x + torch.rand_like(x)


def test_random_numbers_are_not_taken_for_those_of_a_state():
    x = torch.randn(3)
    for model, state in ((Average(), ["mean"]), (Noise(), [])):
        calls = [(1, lambda factor=1.0, model=model: model(factor * x))]
        assert state_of(model, iter(calls)) == state


def test_a_state_has_a_unique_name():
    """Where an argument, or a buffer of another part, has it, and where a result is called as the next state."""
    assert [block.name for block in found(Largest("x"), "x[3]")[1].inputs] == ["x", "x_"]

    class Parts(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = Average(), Average()
            self.register_buffer("a_mean", torch.zeros(3))

        def forward(self, x):
            self.a_mean = self.a_mean + x
            return {"y": self.a(x) + self.b(x) + self.a_mean, "next_a_mean": x}

    module, binding, _ = found(Parts(), "x[3]")
    assert [block.name for block in binding.inputs] == ["x", "a_mean", "a_mean_", "b_mean"]
    assert len({block.name for block in binding.outputs}) == 5
    x, *state = torch.randn(4, 6, 3)
    module(x, *state)


def test_the_model_stays_as_it_was():
    model = Recurrent().eval()
    before = copy.deepcopy(model.state_dict())
    found(model, "x[n,5]")
    assert all(torch.equal(one, before[name]) for name, one in model.state_dict().items())


class Together(Average):
    """A mean of all rows of a call, of any number of them."""

    def forward(self, x):
        self.mean += 0.1 * x.mean(0)
        return x - self.mean


def test_a_state_that_rows_of_a_call_have_together_is_not_carried():
    assert [block.name for block in found(Together(), "x=a,b,c")[1].inputs] == ["x"]


def test_what_gives_the_same_at_each_call_has_no_state():
    assert [block.name for block in found(Counting(), "x=a,b")[1].inputs] == ["x"]
    assert not isinstance(with_state(Counting(), ["x"]), Carried)


class WithoutANumber(nn.Module):
    """Whose result has no number at its end, and whose state is `sum`."""

    def __init__(self, is_kept):
        super().__init__()
        self.is_kept = is_kept
        self.register_buffer("sum", torch.tensor([0.0, torch.nan]))

    def forward(self, x):
        if self.is_kept:
            self.sum = self.sum + x
        return torch.cat([x + self.sum[:1], torch.full((1,), torch.nan)])


@pytest.mark.parametrize("is_kept", [True, False])
def test_results_that_are_no_numbers_neither_hide_a_state_nor_are_one(is_kept):
    model, x = WithoutANumber(is_kept), torch.randn(1)
    calls = [(1, lambda factor=1.0: model(factor * x))]
    assert state_of(model, iter(calls)) == ["sum"] * is_kept
