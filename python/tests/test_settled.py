# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Traces of training in models: counters, branches on numbers, checks that raise, selections by masks."""

import pytest
import torch
from torch import nn

import tensoa
from tensoa.binding.evaluation import evaluated
from tensoa.compiling import _in_words, _words
from tensoa.settled import Changes, settled
from test_carried import Noise


class Counting(nn.Module):
    def __init__(self, step=0):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(3, 2)
        self.register_buffer("step", torch.tensor(step))

    def forward(self, x):
        self.step += 1
        return self.layer(x)


class AfterWarmUp(Counting):
    def forward(self, x):
        return x[:, :2] if self.step < 100 else self.layer(x)


class WarmingUp(Counting):
    def forward(self, x):
        self.step += 1
        return x[:, :2] if self.step < 5 else self.layer(x)


class Check(Counting):
    def forward(self, x):
        if torch.isnan(x).any() or torch.max(x) > 100:
            raise ValueError("not in the domain")
        return self.layer(x)


class Selecting(Counting):
    def forward(self, x):
        chosen, out = x[:, 0] > 0, torch.zeros(x.shape[0], 2)
        if chosen.any():
            out[chosen] = self.layer(torch.log(x[chosen, 0])[:, None] * x[chosen])
        return out


class Pairs(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        x = x.view(-1, 3, 2)
        near = (x[:, :, None, 0] - x[:, None, :, 0]).abs() < 0.5
        row, i, j = near.nonzero(as_tuple=True)
        messages = self.layer(torch.cat([x[row, i], x[row, j]], 1))
        return torch.zeros(x.shape[0], 3, 2).index_put((row, i), messages, accumulate=True).flatten(1)


class MeanOfSome(Counting):
    """A selection whose rows depend on each other."""

    def forward(self, x):
        return x - x[x[:, 0] > 0].mean(0)


class CountOfSome(Counting):
    def forward(self, x):
        chosen = x[x[:, 0] > 0]
        return self.layer(x) + (1 if chosen.shape[0] > 0 else 0)


class Shortcut(Counting):
    """A branch that does something else where the condition does not hold."""

    def forward(self, x):
        if (x[:, 0] > 0).any():
            return self.layer(x) + 1
        return self.layer(x)


def found(model, columns="x=a,b,c"):
    with evaluated(model):  # as a compile has it: what is tried does not change the model
        binding = _in_words(model, [*_words([columns])], [], None, str)
    return settled(model.eval(), binding)


def test_a_counter_is_frozen_where_calls_give_the_same():
    model = Counting(7)
    module, (line,) = found(model)
    assert line.startswith("frozen: step, which each call changes, stays ") and line.endswith(
        "calls after each other give the same"
    )
    module(torch.randn(4, 3))
    before = model.step.clone()
    torch.testing.assert_close(module(torch.ones(4, 3)), model.layer(torch.ones(4, 3)))
    assert torch.equal(model.step, before)


def test_a_branch_on_what_nothing_changes_is_taken_as_that_is_and_its_line_is_said():
    model = AfterWarmUp(500)
    module, (line,) = found(model)
    assert line.startswith("branch: on what the model keeps, as that is now, at test_settled.py:")
    assert line.endswith("return x[:, :2] if self.step < 100 else self.layer(x)")
    torch.testing.assert_close(module(torch.ones(4, 3)), model.layer(torch.ones(4, 3)))


def test_a_model_in_its_warm_up_is_refused():
    with pytest.raises(Changes, match=r"the model changes itself \(step\): call \d gives other numbers than the first"):
        found(WarmingUp())


def test_rows_for_which_a_check_raises_are_nan_and_others_are_right():
    model = Check()
    module, lines = found(model)
    assert all(line.startswith("check: rows for which it raises are NaN, at test_settled.py:") for line in lines)
    x = torch.randn(6, 3)
    expected = model(x)
    x[1, 2], x[4, 0] = torch.nan, 1000.0
    with pytest.raises(ValueError, match="not in the domain"):
        model(x)
    results = module(x)
    assert results.isnan().all(1).tolist() == [False, True, False, False, True, False]
    kept = [0, 2, 3, 5]
    torch.testing.assert_close(results[kept], expected[kept])


@pytest.mark.parametrize("model, columns", [(Selecting, "x=a,b,c"), (Pairs, "x=a,b,c,d,e,f")])
@pytest.mark.parametrize("shift", [0.0, -10.0, 10.0])
def test_selections_are_all_that_may_be_selected(model, columns, shift):
    model = model()
    module, lines = found(model, columns)
    assert module is not model and any(line.startswith("selection: all are calculated") for line in lines)
    x = torch.randn(50, len(columns.split(","))) + shift
    torch.testing.assert_close(module(x), model(x))


@pytest.mark.parametrize(
    "model, reason",
    [
        (MeanOfSome(), "it gives other numbers than the model"),
        (CountOfSome(), "the number of what a selection selects is read"),
        (Shortcut(), "a branch on numbers"),
    ],
)
def test_what_is_not_shown_to_be_the_same_stays_as_it_is_and_a_line_says_why(model, reason):
    assert found(model) == (model, [f"branches and selections stay as they are: {reason}"])


class Watched(nn.Linear):
    """`calls`: how often it runs."""

    def __init__(self):
        super().__init__(3, 2)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return super().forward(x)


def test_a_model_that_has_nothing_of_it_is_called_twice():
    model = Watched().eval()
    binding = _in_words(model, [*_words(["x=a,b,c"])], [], None, str)
    model.calls = 0
    assert settled(model, binding) == (model, [])
    assert model.calls == 2


@pytest.mark.parametrize("model, columns", [(Counting, "x=a,b,c"), (Check, "x=a,b,c"), (Selecting, "x=a,b,c")])
def test_packages_of_such_models_are_fused(model, columns, tmp_path):
    lines = []
    tensoa.compile(model(), tmp_path / "m.pt2", columns=[columns], report=lines.append)
    assert "fused into 1 kernel:" in lines and "rows: each is calculated from itself alone" in lines


def test_random_numbers_are_reported_instead_of_their_counter():
    with pytest.raises(Changes, match="the model draws random numbers: calls of the same numbers, with the same state, give"):
        found(Noise())
