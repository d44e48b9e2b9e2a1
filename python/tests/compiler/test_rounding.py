# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers that rounding decides, as torch has them: on all that a program is generated for, also a GPU where there is one."""

import random

import pytest
import torch
from torch import nn

from bindings import block, bound
from captured_programs import Results
from cpu_programs import needs_level
from everywhere import Everywhere

pytestmark = needs_level
UNIT = torch.finfo(torch.float32).eps


def program(function, widths, folder, columns=8, dtype="float32", dtypes=None, **members):
    outputs = [block(f"y{i}", width, (dtypes or {}).get(i, dtype)) for i, width in enumerate(widths)]
    return Everywhere(Results(function, **members), bound([block("x", columns, dtype)], outputs), folder)


# ---- each operation is rounded


def expression(x, depth, draw):
    """A random tree of sums, differences and products of columns and constants."""
    if depth == 0:
        place = draw.randrange(x.shape[1])
        return x[:, place : place + 1]
    left = expression(x, depth - 1, draw)
    right = draw.uniform(-2, 2) if draw.random() < 0.2 else expression(x, depth - 1, draw)
    return {"+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right}[draw.choice("+--***")]()


def expressions(_, x):
    """Random ones, and differences of products that are zero in a row of equal numbers."""
    draw = random.Random(0)
    some = [expression(x, 3, draw) for _ in range(12)]
    a, b, c, d = (x[:, i : i + 1] for i in range(4))
    some += [a * b - c * d, torch.sqrt(a * a - b * b), torch.floor(a * 10 - b * 10), torch.sign(1.1 * a - 1.1 * b)]
    some += [(a + b) * (a - b) - (a * a - b * b), a * a + b * b - (a * b + b * a), a + b * c]
    return tuple(some)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_each_operation_between_columns_is_rounded(dtype, tmp_path):
    made = program(expressions, [1] * 19, tmp_path, dtype=dtype)
    for numbers in ("equal", "normal", "far"):
        for where, (x,), results in made.results(numbers=numbers):
            for i, (got, want) in enumerate(zip(results, expressions(None, x))):
                rtol = UNIT if i == 13 else 0  # torch's root of many numbers is not the nearest one
                torch.testing.assert_close(got[0], want[:, 0], rtol=rtol, atol=0, equal_nan=True, msg=f"{i} {where} {numbers}")


# ---- means and variances


def moments(m, x):
    sets = x.reshape(-1, 4, 16)
    return (
        m.norm(x),
        m.groups(x),
        m.instances(sets).flatten(1),
        m.after(x),
        x.mean(1, keepdim=True),
        x.var(1, keepdim=True),
        x.std(1, keepdim=True),
        sets.var(2),
        sets.mean(1),
        m.layer(m.batch(x)),
    )


@pytest.fixture(scope="module")
def of_moments(tmp_path_factory):
    torch.manual_seed(0)
    batch = nn.BatchNorm1d(64)
    batch.running_mean.uniform_(-20, 20)
    after = nn.Sequential(nn.Linear(64, 24), nn.LayerNorm(24))
    members = {"norm": nn.LayerNorm(64), "groups": nn.GroupNorm(8, 64), "instances": nn.InstanceNorm1d(4), "after": after}
    members |= {"batch": batch, "layer": nn.Linear(64, 8)}
    made = program(moments, [64, 64, 64, 24, 1, 1, 1, 4, 16, 8], tmp_path_factory.mktemp("moments"), columns=64, **members)
    return made, Results(moments, **members).eval()


@pytest.mark.parametrize("numbers", ["equal", "far", "normal", "tied"])
def test_means_and_variances_are_as_near_as_those_of_torch(numbers, of_moments):
    """Twice its error, and what few roundings make of the largest number."""
    made, module = of_moments
    with torch.no_grad():
        for where, (x,), results in made.results((7, 200), numbers=numbers):
            module.float()
            eager = module(x)
            exact = module.double()(x.double())
            for i, (got, own, truth) in enumerate(zip(results, eager, exact)):
                error, of_torch = (abs(one.double() - truth).max().item() for one in (got.T, own))
                assert error <= 2 * of_torch + 8 * UNIT * abs(truth).max().item(), (i, where, error, of_torch)


def test_norms_of_rows_far_from_zero_do_not_keep_what_their_mean_is_rounded_by(of_moments):
    """A last place of the mean is up to a tenth of the deviations here; the largest error is some last places of the norm."""
    made, module = of_moments
    with torch.no_grad():
        for where, (x,), results in made.results((7, 200), numbers="far"):
            for i, (got, truth) in enumerate(zip(results[:3], module.double()(x.double())[:3])):
                torch.testing.assert_close(
                    got.T.double(), truth, rtol=0, atol=64 * UNIT, msg=lambda text: f"{i} {where} {text}"
                )


def test_rows_of_equal_numbers_have_no_variance(of_moments):
    made, _ = of_moments
    for _, _, results in made.results((7, 200), fill=lambda inputs: inputs[0].copy_(inputs[0][:1] * 1000 + 3)):
        for i in (0, 1, 2, 5, 6, 7):
            assert (results[i] == 0).all(), i


def test_variances_whose_squares_float32_does_not_hold_are_those_of_torch(tmp_path):
    def function(m, x):
        spread, _ = torch.std_mean(x, 1, keepdim=True)
        first = torch.linalg.vector_norm(x[:, :1], dim=1, keepdim=True)
        return x.var(1, keepdim=True), x.std(1, keepdim=True), first, spread

    def fill(inputs):
        x = inputs[0]
        x.copy_(torch.randn(x.shape) * 10.0 ** torch.linspace(-19, 18.9, x.shape[1]))
        x[:, -1] = torch.tensor([1e38] + 7 * [-1e38] + 16 * [-2e38])  # whose sum is not, either
        x[:, 0] *= 1e-11  # whose variance is none, but its root is

    made = program(function, [1, 1, 1, 1], tmp_path, columns=24)
    for where, (x,), results in made.results((7, 200), fill=fill):
        assert x.abs().max() > 1e18 and x.abs().amax(1).min() < 1e-18
        for i, (got, right) in enumerate(zip(results, function(None, x.double()))):
            right = right.float().double()
            is_normal = (right == 0) | (right >= torch.finfo(torch.float32).tiny)
            assert (right > 1e37).any() or i
            close = torch.isclose(got.T.double(), right, rtol=2e-6, atol=0)
            assert (close | ~is_normal).all(), (where, i, got.T[~close][:3], right[~close][:3])


def test_what_pads_a_norm_stays_out_of_the_layer_behind_it(tmp_path):
    """A mean times 1 / sqrt(eps) is more than float32 holds; a layer multiplies padding with zeros."""
    torch.manual_seed(0)
    members = {"norm": nn.LayerNorm(6, eps=1e-12), "layer": nn.Linear(6, 3)}
    nn.init.uniform_(members["norm"].bias)
    made = program(lambda m, x: m.layer(m.norm(x)), [3], tmp_path, columns=6, **members)
    expected = members["layer"](members["norm"].bias).detach()
    for where, _, (got,) in made.results((1, 7, 100), fill=lambda inputs: inputs[0].fill_(2.0**120)):
        torch.testing.assert_close(got.T, expected.expand(got.shape[1], 3), msg=lambda text: f"{where} {text}")


def test_means_are_subtracted_before_a_layer_where_they_are_large(of_moments):
    made, module = of_moments
    module.float()

    def fill(inputs):
        inputs[0].add_(module.batch.running_mean[:, None].to(inputs[0].device))

    with torch.no_grad():
        for where, (x,), results in made.results((7, 200), fill=fill):
            eager = module.float()(x)[9]
            exact = module.double()(x.double())[9]
            error, of_torch = (abs(one.double() - exact).max() for one in (results[9].T, eager))
            assert error <= 2 * of_torch + 2 * UNIT * exact.abs().max(), where


# ---- running sums and products, places among edges, integers


def test_running_sums_and_products_are_made_in_float64_on_cpus(tmp_path):
    def function(m, x):
        scaled = x * torch.tensor([1e25, 1e15, 1e-30, 1e-20, 1.0, 1e30, 1e-35, 3.0])
        return scaled.cumprod(1), (x * 1e-3 + scaled[:, 4:5] * 1e5).cumsum(1)

    made = program(function, [8, 8], tmp_path)
    made.runs = {name: run for name, run in made.runs.items() if name.startswith("x86")}
    for where, (x,), results in made.results():
        for got, want in zip(results, function(None, x)):
            torch.testing.assert_close(got.T, want, rtol=UNIT, atol=1e-45, msg=where)


def test_a_running_product_that_is_zero_stays_zero(tmp_path):
    """Whatever the product of the numbers behind it is, in float64 too."""

    def function(m, x):
        return torch.cat([x[:, :1] * 0, x, x], 1).cumprod(1)

    def fill(inputs):
        for numbers in inputs:
            numbers[:] = 1e38

    made = program(function, [17], tmp_path)
    for where, (x,), (got,) in made.results(fill=fill):
        assert torch.equal(got.T, torch.zeros(x.shape[0], 17)), where


@pytest.mark.parametrize("is_right", [False, True])
def test_a_place_among_edges_of_the_row_is_where_torch_ends(is_right, tmp_path):
    """Also in rows that end with NaN, or are in disorder."""

    def function(m, x):
        return torch.searchsorted(x[:, :5].contiguous(), x[:, 5:].contiguous(), right=is_right)

    made = program(function, [3], tmp_path, dtypes={0: "int64"})
    for numbers in ("missing", "tied", "normal"):
        for where, (x,), (got,) in made.results(numbers=numbers):
            assert torch.equal(got.T, function(None, x)), (where, numbers)


NOT_HELD = [float("nan"), float("inf"), -float("inf"), 3e9, -3e9, 1e20, 300.7, -1.5, 130.0, 2.0**31, 2.0**63, 7e4, -7e4, -129.0]


def test_floats_become_integers_as_torch_has_it_on_x86(tmp_path):
    dtypes = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]

    def function(m, x):
        back = [x.to(dtype).float() for dtype in dtypes]
        return (*back, *(x.to(dtype) for dtype in dtypes[:3]), (x.long() > 0).float(), x.to(torch.int8).long() * 3 + 1)

    names = [str(dtype).removeprefix("torch.") for dtype in dtypes]
    made = program(function, [1] * 10, tmp_path, columns=1, dtypes=dict(zip(range(5, 8), names)) | {9: "int64"})

    def fill(inputs):
        row = torch.arange(inputs[0].shape[1])
        inputs[0].copy_(torch.where(row < 50, torch.tensor(NOT_HELD)[row % len(NOT_HELD)], 1000 * inputs[0].cpu()))

    for where, (x,), results in made.results((1, 7, 14, 100), fill=fill):
        for i, (got, want) in enumerate(zip(results, function(None, x))):
            assert torch.equal(got.T, want), (i, where)


def test_what_is_not_a_number_becomes_the_integer_of_torch_also_where_bounds_are_known(tmp_path):
    """Limits leave NaN as it is: what is known of them says nothing of that."""
    dtypes = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]

    def function(m, x):
        limited = x.clamp(0, 100)
        doubles = x.double().clamp(0, 100.5)
        integers = [one.to(dtype) for one in (limited, doubles) for dtype in dtypes]
        return (*integers, *(integer.float() for integer in integers[:5]), (limited.int() > 3).float())

    names = [str(dtype).removeprefix("torch.") for dtype in dtypes]
    made = program(function, [1] * 16, tmp_path, columns=1, dtypes=dict(enumerate(2 * names)))

    def fill(inputs):
        row = torch.arange(inputs[0].shape[1])
        inputs[0].copy_(torch.where(row % 2 == 0, torch.tensor(NOT_HELD)[row % len(NOT_HELD)], 100 * inputs[0].cpu()))

    for where, (x,), results in made.results((1, 7, 14, 100), fill=fill):
        for i, (got, want) in enumerate(zip(results, function(None, x))):
            assert torch.equal(got.T, want), (i, where)


def test_no_integer_is_minus_zero(tmp_path):
    """1 / -0 is another infinity, and the angle of (0, -0) half a turn."""

    def function(m, x):
        x = x.clamp(-10, 10)
        whole = x.int()  # -0.5 and -0
        none = whole - whole
        wide = x.double().int()
        products = [-none, none * -3, (-4 * (whole > -9)).int().fmod(2), torch.remainder(-4 * (whole > -9).int(), 2)]
        quotients = [torch.div(none, -2, rounding_mode="trunc"), torch.floor_divide(none, -2), (none - 1).cumprod(1) * none]
        places = torch.arange(2).expand(none.shape)
        scattered = none.scatter_reduce(1, places, whole - 3, "prod")
        return (*(1 / one.float() for one in (whole, wide, *products, *quotients, scattered)), torch.atan2(none, -none))

    made = program(function, [2] * 11, tmp_path, columns=2)

    def fill(inputs):
        inputs[0].copy_(torch.tensor([-0.5, -0.0, 0.0, -0.9])[torch.arange(inputs[0].shape[1]) % 4])

    for where, (x,), results in made.results((1, 7, 100), fill=fill):
        for i, (got, want) in enumerate(zip(results, function(None, x))):
            assert torch.equal(got.T, want), (i, where, got.T[:3], want[:3])
