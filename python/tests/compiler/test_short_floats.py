# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""float16 and bfloat16 inside of models: programs calculate in float32, casts and columns round (docs/decisions/0053)."""

import pytest
import torch
from torch import nn

from bindings import block, bound
from captured_programs import Results
from cpu_programs import needs_level
from everywhere import Everywhere
from exporting import bind
from tensoa.binding.columns import NORMAL
from tensoa.export import Options, export
from tensoa.package import float64
from tensoa.package.archive import read
from tensoa.package.cases import KINDS, cases_of
from tensoa.package.recorded import record, summary_lines
from width_models import mlp

pytestmark = needs_level

SHORT = (torch.float16, torch.bfloat16)
short = pytest.mark.parametrize("dtype", SHORT, ids=["float16", "bfloat16"])


def name(dtype):
    return str(dtype).removeprefix("torch.")


def relative(got, truth):
    return ((got.double() - truth).abs().max() / truth.abs().max()).item()


@short
def test_layers_of_short_floats_are_nearer_to_float64_than_the_module(dtype, tmp_path):
    torch.manual_seed(0)
    layers = mlp(6, 64, 64, 2).to(dtype)
    module = Results(lambda m, x: torch.softmax(m.layers(x.to(dtype)), 1).float(), layers=layers)
    program = Everywhere(module, bound([block("x", 6)], [block("y", 2)]), tmp_path)
    for where, (x,), (got,) in program.results():
        truth = torch.softmax(layers.double()(x.to(dtype).double()), 1).T
        own = torch.softmax(layers.to(dtype)(x.to(dtype)), 1).T
        assert relative(got, truth) < min(2e-6, relative(own, truth) / 10), where


@short
def test_modules_of_short_floats_read_and_write_such_columns(dtype, tmp_path):
    torch.manual_seed(1)
    module = nn.Sequential(nn.LayerNorm(5), *mlp(5, 32, 3), nn.Sigmoid()).to(dtype)
    program = Everywhere(module, bound([block("x", 5, name(dtype))], [block("y", 3, name(dtype))]), tmp_path)
    for where, (x,), (got,) in program.results():
        truth = module.double()(x.double()).T
        module.to(dtype)
        assert got.dtype == dtype
        assert ((got.double() - truth).abs() <= torch.finfo(dtype).eps * (truth.abs() / 2 + 1e-4)).all(), where


@short
def test_casts_round_as_torch_does(dtype, tmp_path):
    module = Results(lambda m, x, k: torch.cat([x.to(dtype).float(), x - x.to(dtype), k.to(dtype).float()], 1))
    inputs = [block("x", 4), block("k", 2, "int32")]
    program = Everywhere(module, bound(inputs, [block("y", 10)]), tmp_path)

    def fill(inputs):
        special = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 65519.0, 65520.0, 3e38, 1e-7, 6e-8, 1e-40])
        inputs[0][0, : len(special)] = special[: inputs[0].shape[1]]

    for numbers in ("normal", "small", "large", "special"):
        for where, (x, k), (got,) in program.results(fill=fill, numbers=numbers):
            truth = module(x, k).T
            assert torch.equal(got.nan_to_num(7.0), truth.nan_to_num(7.0)), (where, numbers)
            assert torch.equal(got.isnan(), truth.isnan()), (where, numbers)


@short
def test_float32_columns_are_rounded_where_the_model_takes_short_floats(dtype, tmp_path):
    module = Results(lambda m, x: (2 * x, x.float()))
    inputs, outputs = [block("x", 3, as_dtype=name(dtype))], [block("y", 3, as_dtype=name(dtype)), block("z", 3)]
    for where, (x,), (y, z) in Everywhere(module, bound(inputs, outputs), tmp_path).results():
        rounded = x.to(dtype).float().T
        assert torch.equal(y, 2 * rounded), where
        assert torch.equal(z, rounded), where


class Rounding(nn.Module):
    """A network of a short dtype between others."""

    def __init__(self, dtype):
        super().__init__()
        self.dtype, self.layers, self.last = dtype, mlp(4, 16, 8).to(dtype), nn.Linear(8, 2)

    def forward(self, x):
        return self.last(torch.tanh(self.layers(x.to(self.dtype))).float())


class Fixed(Rounding):
    """One whose weights stay of the short dtype."""

    def double(self):
        return self


class Strict(Fixed):
    """One that cannot be calculated in float64."""

    def forward(self, x):
        if x.dtype != torch.float32:
            raise TypeError("float32 only")
        return super().forward(x)


@pytest.mark.parametrize("target", ["cpu", "cuda"])
@short
def test_packages_are_judged_by_the_precision_of_their_model(dtype, target, tmp_path):
    eps = torch.finfo(dtype).eps
    binding = bind([block("x", 4)], [block("y", 2)])
    for kind in (Rounding, Fixed, Strict):
        torch.manual_seed(2)
        lines = []
        export(kind(dtype), binding, tmp_path / "package.pt2", Options(target, report=lines.append))
        assert any(line.startswith("fused into 1 kernel") for line in lines), (kind, lines)
        recorded = read(tmp_path / "package.pt2")[1]["recorded"]
        normal = [case for case in recorded["cases"] if case["numbers"] == "normal"]
        assert normal
        for case in normal:
            for tolerance in case["tolerances"][0]:
                assert eps / 8 < tolerance < 16 * eps


@short
def test_models_that_keep_their_dtypes_have_a_float64_reference(dtype):
    """Also rows far from zero, where the sums of short floats cancel."""
    binding, rules = bind([block("x", 4)], [block("y", 2)]), [{"collection": 0}]
    torch.manual_seed(2)
    kept = {case.numbers: case for case in cases_of(Fixed(dtype), binding, rules) if case.count == 100}
    torch.manual_seed(2)
    for case in cases_of(Rounding(dtype), binding, rules):
        if case.count == 100:
            other = kept[case.numbers]
            assert other.exact is not other.eager and other.epsilon == 0
            assert torch.equal(other.exact[0].nan_to_num(7.0), case.exact[0].nan_to_num(7.0)), case.numbers
    assert set(kept) == set(KINDS) - {NORMAL}


@short
def test_rows_that_short_floats_decide_are_named(dtype):
    """A line names what is not judged, with a float64 reference and without."""
    binding, rules = bind([block("x", 4)], [block("y", 2)]), [{"collection": 0}]
    for kind in (Rounding, Fixed, Strict):
        torch.manual_seed(2)
        model = kind(dtype)
        recorded, _ = record(model, binding, rules)
        assert recorded.unjudged["far"] == name(dtype), kind
        kinds = {case.numbers for case in recorded.cases}
        assert NORMAL in kinds and kinds.isdisjoint(recorded.unjudged)
        (line,) = summary_lines(recorded)
        assert line.startswith("not judged on ") and "far" in line and name(dtype) in line
    assert record(nn.Linear(4, 2), binding, rules)[0].unjudged is None


@short
def test_float64_reference_keeps_the_rounding_of_casts(dtype):
    module = Rounding(dtype)
    x = torch.randn(50, 4)
    exact = float64.in_double(module)
    with float64.calculating_in_double():
        got = exact(x.double())
    truth = module.last.double()(torch.tanh(module.layers.double()(x.to(dtype).double())))
    assert got.dtype == torch.float64
    assert torch.equal(got, truth)


def assigned(m, x, k):
    whole, short, truth = k.clone(), x.half(), x > 0
    whole[:, 1:2] = 100 * x[:, :1]
    short[:, 1] = x[:, 0] / 3
    truth[:, 2] = x[:, 1]
    filled = torch.zeros_like(x, dtype=torch.int32).copy_(10 * x)
    return torch.cat([whole.float(), short.float(), truth.float(), filled.float()], 1)


def test_what_is_assigned_becomes_of_the_dtype_that_is_there(tmp_path):
    module = Results(assigned)
    program = Everywhere(module, bound([block("x", 3), block("k", 3, "int64")], [block("y", 12)]), tmp_path)
    for where, tensors, (got,) in program.results():
        assert torch.equal(got.T, module(*tensors)), where
