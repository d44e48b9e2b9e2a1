# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Random modules as whole packages over random rows (random_packages.py), against torch; more of them in a night."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as f

import random_modules
import random_packages
from conftest import PROGRAM
from cpu_programs import RUNNABLE
from random_modules import EPS, KINDS, floats, is_wrong, runs_of

pytestmark = pytest.mark.filterwarnings("ignore")  # of torch.export
needs_program = pytest.mark.skipif(not (PROGRAM.exists() and RUNNABLE), reason="no program tensoa, or no CPU that it fuses for")


# ---- rows


def of_kind(kind, columns=8):
    return floats(np.random.default_rng(1), columns, [kind], 60)


def test_rows_are_as_real_files_have_them():
    assert (of_kind("equal columns") == of_kind("equal columns")[:, :1]).all()
    assert (of_kind("equal pairs")[:, ::2] == of_kind("equal pairs")[:, 1::2]).all()
    assert (of_kind("equal rows") == of_kind("equal rows")[:1]).all() and np.ptp(of_kind("equal rows")[0]) > 0
    assert np.ptp(of_kind("constant")) == 0 and not of_kind("zeros").any()
    for axis, kind in ((0, "far"), (1, "far rows")):
        ratio = np.abs(of_kind(kind, 40).mean(axis)) / of_kind(kind, 40).std(axis)
        assert (ratio > 500).all() and (ratio < 3e6).all() and np.ptp(np.log10(ratio)) > 1
    assert set(of_kind("small integers").flat) == set(range(-4, 5)) and len(set(of_kind("ties").flat)) == 3
    assert (np.diff(of_kind("sorted"), axis=1) >= 0).all()
    assert (of_kind("repeated")[::3] == of_kind("repeated")[2::3]).all()
    ended = of_kind("NaN at the end")
    assert np.isnan(ended[:, -1]).all() and np.isfinite(ended[:, 0]).all() and np.isnan(ended).mean() > 0.2
    assert (of_kind("padded")[:, -1] == 0).all()
    assert np.isinf(of_kind("infinite")).mean() > 0.2
    zeros = of_kind("negative zeros")
    assert (np.signbit(zeros) & (zeros == 0)).any() and (~np.signbit(zeros) & (zeros == 0)).any()
    tiny = np.abs(of_kind("denormal"))
    assert ((tiny > 0) & (tiny < np.finfo(np.float32).tiny)).mean() > 0.2


# ---- what is wrong


def judged(function, kind, got):
    """Which numbers are wrong where `got(x)` stands for what a package gives."""
    x = torch.from_numpy(of_kind(kind))

    def call(*arguments):
        return (function(*arguments),)

    (runs,) = runs_of(call, call, [x], {len(x): torch.zeros(len(x), dtype=torch.int64)})
    return is_wrong(got(x).double().numpy(), runs, EPS[torch.float32])


def test_a_contracted_difference_of_equal_products_is_wrong():
    def right(x):
        return torch.sqrt(x[:, :4] * x[:, :4] - x[:, 4:] * x[:, 4:])

    def contracted(x):
        product = (x[:, 4:] * x[:, 4:]).double()
        return torch.sqrt((x[:, :4].double() ** 2 - product).float())

    assert not judged(right, "equal columns", right).any()
    assert judged(right, "equal columns", contracted).mean() > 0.5


def naive_norm(x):
    mean = torch.zeros_like(x[:, :1])
    for i in range(x.shape[1]):
        mean = mean + x[:, i : i + 1] * (1 / x.shape[1])
    variance = (x * x).mean(1, keepdim=True) - mean * mean
    return (x - mean) / torch.sqrt(variance.clamp(min=0) + 1e-5)


def test_naive_means_and_variances_are_wrong():
    def norm(x):
        return f.layer_norm(x, x.shape[1:])

    for kind in ("equal columns", "far rows"):
        assert judged(norm, kind, naive_norm).mean() > 0.3, kind
        assert not judged(norm, kind, norm).any()
    assert not judged(norm, "normal", naive_norm).any()


@pytest.mark.parametrize("kind", KINDS)
def test_sums_in_another_order_are_right(kind):
    layer = nn.Linear(8, 3)
    weight = layer.weight.detach()

    def network(x):
        return torch.relu(f.linear(x, weight.to(x.dtype))).softmax(1).cumsum(1)

    def other(x):
        hidden = torch.zeros(len(x), 3)
        for i in reversed(range(8)):
            hidden = hidden + x[:, i : i + 1] * weight[:, i]
        return torch.relu(hidden).softmax(1).cumsum(1)

    assert not judged(network, kind, other).any()
    assert kind == "NaN at the end" or judged(network, kind, lambda x: other(x) * 1.0001).any()


def test_which_of_two_equal_zeros_is_taken_is_open():
    def angle(x, change=lambda x, zero: zero):
        return torch.atan2(x[:, :1] * 0, change(x, x.kthvalue(7, 1, keepdim=True).values))

    def other(x, number):
        has_both = [((x == 0) & (torch.signbit(x) == sign)).any(1, keepdim=True) for sign in (True, False)]
        return torch.where(has_both[0] & has_both[1] & (number == 0), -number, number)

    x = torch.from_numpy(of_kind("negative zeros"))
    assert (angle(x) != angle(x, other)).any()
    assert not judged(angle, "negative zeros", lambda x: angle(x, other)).any()
    assert judged(angle, "negative zeros", lambda x: angle(x, lambda x, zero: zero + 0.0)).any(), "rows of -0 alone"


def test_a_product_that_torch_adds_may_be_rounded_or_not():
    def added(x):
        return torch.addcmul(x[:, :4] * x[:, 4:], x[:, :4], x[:, 4:], value=-1.0).sign()

    assert not judged(added, "normal", lambda x: torch.zeros(len(x), 4)).any()
    assert judged(added, "normal", lambda x: added(x) + 4.0).mean() > 0.5


def test_what_is_right_may_lie_on_one_side_of_what_torch_gives():
    def place(x):
        return torch.searchsorted(f.group_norm(x, 2).sort(1).values, torch.zeros(len(x), 1, dtype=x.dtype), right=True)

    assert not judged(place, "equal columns", lambda x: torch.full((len(x), 1), 8)).any()
    assert judged(place, "normal", lambda x: torch.full((len(x), 1), 8)).mean() > 0.5


class Attention(nn.Module):
    """Of six elements in a row: torch's, or from its sums of products in another order."""

    def __init__(self, is_other=False):
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.is_other = nn.MultiheadAttention(4, 2, batch_first=True).eval(), is_other

    def forward(self, x):
        s = x.unflatten(1, (6, 4))
        if not self.is_other:
            return (self.layer(s, s, s, need_weights=False)[0].mean(1),)
        weights, biases = (one.detach().chunk(3) for one in (self.layer.in_proj_weight, self.layer.in_proj_bias))
        q, k, v = (self.product(s, w.T, b).unflatten(2, (2, 2)).transpose(1, 2) for w, b in zip(weights, biases))
        mixed = (self.product(q, k.mT) / 2**0.5).softmax(3) @ v
        last = self.layer.out_proj
        return (self.product(mixed.transpose(1, 2).flatten(2), last.weight.detach().T, last.bias.detach()).mean(1),)

    @staticmethod
    def product(x, y, bias=0.0):
        return sum(x[..., i, None] * y[..., i, None, :] for i in reversed(range(x.shape[-1]))) + bias


@pytest.mark.parametrize("kind", ["normal", "ties", "far", "far rows"])
def test_choices_of_attention_that_float32_cannot_make_are_right(kind):
    """Scores of rows far from zero lie nearer to each other than the numbers of float32."""
    x = torch.from_numpy(floats(np.random.default_rng(1), 24, [kind], 3000))
    with torch.no_grad():
        (got,) = Attention(is_other=True)(x)
    (runs,) = runs_of(Attention(), Attention().double(), [x], {len(x): torch.arange(len(x)) // random_modules.ROWS})
    assert not is_wrong(got.double().numpy(), runs, EPS[torch.float32]).any()
    if kind in ("normal", "ties"):
        assert is_wrong(1.0001 * got.double().numpy(), runs, EPS[torch.float32]).mean() > 0.5


def test_not_numbers_and_infinities_are_those_of_torch():
    runs = np.broadcast_to([[1.0, np.nan, np.inf, 1e30, np.nan]], (4, 1, 5)).copy()
    runs[1, 0, 3:] = np.inf, 2.0  # of these nothing is known
    assert not is_wrong(np.array([[1.0, np.nan, np.inf, 7.0, 7.0]]), runs, 1e-7).any()
    assert is_wrong(np.array([[np.nan, 1.0, 1e30, 7.0, 7.0]]), runs, 1e-7).tolist() == [[True, True, True, False, False]]


# ---- modules and packages


@pytest.mark.parametrize("kind", random_modules.MODULES)
def test_a_seed_is_always_the_same_module(kind):
    seeds = range(24)
    task = next(t for t in (random_packages.Task((8 * i,), "") for i in range(20)) if t.kind == kind)
    example = random_packages.Example(task)
    call = random_packages._as_tuple
    for seed in seeds:
        one, two = (random_modules.MODULES[kind](seed).eval() for _ in range(2))
        with torch.no_grad():
            first, again = call(one)(*example.calls[0]), call(two)(*example.calls[0])
            double = call(copy.deepcopy(one).double())(*(a.double() if a.is_floating_point() else a for a in example.calls[0]))
        for a, b, c in zip(first, again, double):
            torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)
            assert a.shape == c.shape


@needs_program
@pytest.mark.parametrize("seeds", [(0, 1), (8, 9), (40, 41), (76, 77)], ids=lambda seeds: random_packages.Task(seeds, "").kind)
def test_packages_give_what_torch_gives(seeds):
    lines, counts = random_packages.search(random_packages.Task(seeds, str(PROGRAM)))
    assert lines == [] and counts == {"fused": 2, "wrong": 0}


@needs_program
def test_a_wrong_package_is_found_and_can_be_repeated(monkeypatch):
    infer = random_packages.infer

    def wrong(*arguments):
        return {name: numbers * 1.001 for name, numbers in infer(*arguments).items()}

    monkeypatch.setattr(random_packages, "infer", wrong)
    lines, counts = random_packages.search(random_packages.Task((40, 41), str(PROGRAM)))
    assert counts["wrong"] == 2
    assert lines[0].startswith("seed 40 (graphs, fused): ") and lines[0].endswith(
        "make fuzz-packages PACKAGE_SEEDS=40:42 PACKAGE_DEVICE=cpu"
    )
