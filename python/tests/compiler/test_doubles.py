# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""float64 inside of models is float64 in programs: on CPUs, and kernels of GPUs on a CPU."""

import numpy as np
import pytest
import torch
from torch import nn

from bindings import block, bound
from captured_programs import Results, assert_same
from cpu_programs import needs_level
from everywhere import Everywhere
from tensoa.compiler.functions import FLOATS, FUNCTIONS
from tensoa.export import Options, export
from wide_models import Kinematics

pytestmark = needs_level

UNIT = 2.0**-52


def assert_near(got, truth, units, where):
    """Within `units` in the last place of float64; numbers that are not finite are the same."""
    finite = torch.isfinite(truth)
    assert torch.equal(torch.isfinite(got), finite), where
    assert torch.equal(got[~finite].nan_to_num(), truth[~finite].nan_to_num()), where
    error = (got - truth)[finite].abs() / truth[finite].abs().clamp(min=1e-300)
    assert not error.numel() or error.max() <= units * UNIT, (where, error.max() / UNIT)


#: Where functions are compared, as functions of what lies anywhere.
INSIDE = {
    "acosh": lambda x: 1 + x.abs(),
    "log1p": lambda x: x.abs(),
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "rsqrt"), lambda x: x.abs() + 1e-3),
    **dict.fromkeys(("asin", "acos", "atanh"), lambda x: torch.tanh(x) * 0.9),
}
OF_TORCH = {
    "neg": torch.neg, "relu": torch.relu, "identity": lambda x: x * 1.0, "erfc": torch.erfc, "rsqrt": torch.rsqrt,
}  # fmt: skip
OF_ONE = [name for name, one in FUNCTIONS.items() if one.arity == 1 and FLOATS in one.takes]
OF_TWO = "add sub mul div minimum maximum pow atan2 fmod hypot".split()


def of_one_number(m, x):
    x = x.double() / 3.0  # no number of float32
    named = {name: OF_TORCH.get(name) or getattr(torch, name) for name in OF_ONE}
    return torch.cat([function(INSIDE.get(name, lambda x: x)(x)) for name, function in named.items()], 1)


def of_two_numbers(m, x, y):
    x, y = x.double() / 3.0, y.double() / 7.0
    made = [getattr(torch, name)(x.abs() if name == "pow" else x, y) for name in OF_TWO]
    made += [getattr(torch, name)(x, y).double() for name in "lt le gt ge eq ne".split()]
    return torch.cat([*made, torch.where(x > y, x, 0.1), x * torch.tensor([0.1, 0.2, 1e300], dtype=torch.float64)], 1)


@pytest.mark.parametrize("function, inputs", [(of_one_number, 1), (of_two_numbers, 2)])
def test_functions_are_those_of_float64(function, inputs, tmp_path):
    module = Results(function)
    blocks = [block(name, 3) for name in "xy"[:inputs]]
    width = function(None, *(torch.zeros(1, 3) for _ in blocks)).shape[1]
    program = Everywhere(module, bound(blocks, [block("z", width, "float64")]), tmp_path)
    for numbers in ("normal", "special"):
        for where, tensors, (got,) in program.results(numbers=numbers):
            assert_near(got, module(*tensors).T, 4, (where, numbers))


WIDE = {  # what calculates in vectors, and asks libm elsewhere
    "exp": [-800, -745.5, -744, -708, -1e-300, 0, 1e-9, 0.34, 0.35, 1, 700, 709.7, 710],
    "log": [0, -1, 1e-310, 1e-300, 0.5, 0.7, 0.71, 1 - 2**-53, 1, 1 + 2**-52, 1.41, 1.42, 3, 1e300],
    "sin": [0, 1e-300, 0.78, 0.79, 3.14159265358979, 710 / 113, 99999.5, 1e5, 1e22, -1.57079632679489],
    "cos": [0, 1e-300, 0.78, 0.79, 1.57079632679489, 11, 99999.5, 1e5, 1e22, -4.71238898038469],
    "sinh": [0, -0.0, 1e-300, 1e-5, 0.99, 1, -1.01, 20, -699, 701, 711],
    "cosh": [0, -0.0, 1e-300, 1e-5, 0.99, 1, -1.01, 20, -699, 701, 711],
}


@pytest.mark.parametrize("name", WIDE)
def test_functions_are_those_of_libm_for_all_numbers(name, tmp_path):
    module = Results(lambda m, x: getattr(torch, name)(x))
    program = Everywhere(module, bound([block("x", 1, "float64")], [block("y", 1, "float64")]), tmp_path)
    low, high = {"exp": (-700, 700), "log": (-600, 600)}.get(name, (-6, 6) if name.endswith("h") else (-1e4, 1e4))
    many = torch.linspace(low, high, 2000, dtype=torch.float64)
    hard = [*WIDE[name], float("inf"), -float("inf"), float("nan")]
    numbers = torch.cat([torch.tensor(hard, dtype=torch.float64), many.exp() if name == "log" else many])
    for where, (x,), (got,) in program.results((len(numbers),), lambda inputs: inputs[0].copy_(numbers)):
        assert_near(got, module(x).T, 3, where)


def of_rows(m, x, y):
    x = x.double()
    p = x.unflatten(1, (5, 4))
    parts = [
        x.sum(1), x.mean(1), x.prod(1), x.amax(1), x.amin(1), x.norm(dim=1), x.abs().sum(1), x.var(1), p[:, 1, 2] / 3,
    ]  # fmt: skip
    parts = [part.unsqueeze(1) for part in parts]
    parts += [p.sum(1), torch.softmax(p, 2).flatten(1), nn.functional.gelu(x), nn.functional.elu(x), x.clamp(-0.3, 0.7)]
    parts += [p.transpose(1, 2).flatten(1), torch.cat([x, y], 1), m.layer(x), (m.turn @ p.transpose(1, 2)).flatten(1)]
    parts += [m.norm(x), m.batch(x), torch.log_softmax(x, 1)]
    parts += [torch.matmul(p, p.transpose(1, 2)).flatten(1), x.flip(1), torch.remainder(x, 0.3)]
    return torch.cat(parts, 1)


def test_sums_layers_and_moves_are_those_of_float64(tmp_path):
    torch.manual_seed(0)
    members = {"layer": nn.Linear(20, 33), "norm": nn.LayerNorm(20), "batch": nn.BatchNorm1d(20)}
    module = Results(of_rows, turn=torch.randn(4, 4), **members).double().eval()
    module.batch.running_mean.uniform_(-1, 1)
    width = of_rows(module, torch.ones(1, 20), torch.ones(1, 3)).shape[1]
    program = Everywhere(module, bound([block("x", 20), block("y", 3)], [block("z", width, "float64")]), tmp_path)
    for where, tensors, (got,) in program.results():
        truth = module(*tensors).T
        scale = truth.abs().amax(1, keepdim=True)
        assert ((got - truth).abs() <= 64 * UNIT * (1 + scale)).all(), where


def of_stages(m, x, edges):
    d = x.double() / 3
    there = (d[:, :1] + 1e-12).float() * x
    sums = torch.zeros_like(x).index_add(0, edges[1], there[edges[0]])
    return d - d.flip(1) * sums.double() / 7


def test_numbers_of_float64_go_from_stage_to_stage(tmp_path):
    inputs = [block("x", 5), block("edges", 2, "int64", 1, "columns")]
    program = Everywhere(Results(of_stages), bound(inputs, [block("y", 5, "float64")]), tmp_path)
    for where, tensors, (got,) in program.results():
        truth = Results(of_stages)(*tensors).T
        assert ((got - truth).abs() <= 1e-6 * (1 + truth.abs().max())).all(), where
        alone = ~torch.isin(torch.arange(len(tensors[0])), tensors[1][1])  # rows without sums
        assert torch.equal(got[:, alone], (tensors[0][alone].double() / 3).T), where


def test_large_energies_cancel_as_in_float64(tmp_path):
    module = Results(lambda m, e, p: (e.double() ** 2 - p.double() ** 2).float())
    program = Everywhere(module, bound([block("e", 1), block("p", 1)], [block("m2", 1)]), tmp_path)

    def fill(inputs):
        e, p = inputs
        e.copy_(torch.linspace(1e3, 7e3, e.shape[1]))
        p.copy_(e - 0.01 * torch.arange(e.shape[1], device=e.device))  # equal in the first row

    for where, (e, p), (got,) in program.results(fill=fill):
        truth = module(e, p)[:, 0]
        assert got[0, 0] == 0, where
        assert torch.equal(got[0], truth), where
    assert (e**2 - p**2 - truth).abs().max() > 0.1  # float32 does not do


def test_columns_of_float64_are_read_and_written_as_such(tmp_path):
    module = Results(lambda m, x, s, k: (x + s, torch.sin(x).float(), x[:, :1].float() + k, k.double() / 3))
    inputs = [block("x", 3, "float64"), block("s", 1, "float64", kind="scalar"), block("k", 1, "int16")]
    outputs = [block("a", 3, "float64"), block("b", 3), block("c", 1), block("d", 1, "float64")]
    program = Everywhere(module, bound(inputs, outputs), tmp_path)
    special = torch.tensor([1e300, -1e-300, 0.1, -0.0, float("inf"), float("nan"), 1 + UNIT], dtype=torch.float64)

    def fill(inputs):
        count = min(len(special), inputs[0].shape[1])
        inputs[0][0, :count] = special[:count]

    for _, tensors, got in program.results(fill=fill):
        for one, truth in zip(got, module(*tensors)):
            assert one.dtype == truth.dtype
            np.testing.assert_allclose(one.T.numpy(), truth.numpy(), rtol=4 * UNIT if one.dtype == torch.float64 else 1e-6)


def test_zeros_keep_their_sign(tmp_path):
    def run(m, x):
        zeros = x.double() * -0.0
        return 1 / zeros, 1 / (x.double() * torch.tensor([-0.0, 0.0, -0.0]).double()), 1 / zeros.sin()

    module = Results(run)
    outputs = [block(name, 3, "float64") for name in "abc"]
    for where, (x,), got in Everywhere(module, bound([block("x", 3)], outputs), tmp_path).results():
        for one, truth in zip(got, module(x)):
            assert torch.equal(one, truth.T), where


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_kinematics_are_fused_whole_and_checked(target, tmp_path):
    lines = []
    export(Kinematics(), bound([block("x", 6)], [block("y", 2)]), tmp_path / "p.pt2", Options(target, report=lines.append))
    assert lines[0] == "fused into 1 kernel:"
    assert "cosh of float64" in lines[1]


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x, k: x.double().argsort(1).float(),
        lambda m, x, k: (x.double() * k).float(),
        lambda m, x, k: x.double().long().float(),
        lambda m, x, k: x.double()[k[:, 0].clamp(0, 3)].float(),
        lambda m, x, k: (x.double() @ torch.ones(3, 600, dtype=torch.float64))[:, :3].float(),
    ],
)
def test_orders_integers_rows_and_layers_have_float64(function):
    assert_same(function, [block("x", 3), block("k", 1, "int64")], (3,))
